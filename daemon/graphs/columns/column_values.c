/* Collects the values of a column of labels. Texts are collected as codes of distinct texts; at the end, a column whose
 * texts are all numbers becomes a column of numbers. Arrays of numbers stay numbers, unless the user asks for
 * categories. */
#include "daemon/graphs/columns/column_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/source/source.h"
#include "core/formats/text/date.h"
#include "core/formats/text/names.h"
#include "daemon/files/columns_file.h"
#include "daemon/files/taken_json.h"
#include "daemon/graphs/columns/column_json.h"
#include "daemon/json/json.h"

#define BLOCK 4096
#define COUNTED 1000000  /* values beyond those of the nodes that are counted for an error */

struct values {
	const char *file, *kind;
	const struct sl_label_nodes *nodes;
	uint32_t n, count;
	uint64_t found;          /* values of a JSON body, also those beyond n */
	bool strings;            /* the body has strings, which become numbers only on request */
	bool exact;              /* numbers become texts of float64, not of float32 */
	struct sl__names names;  /* distinct texts */
	uint32_t *code;          /* [n] */
	struct sl_account *account;
	struct sl_error *err;
};

static int memory_error(struct values *v)
{
	return sl_error_memory(v->err, "labels of %u nodes", v->n);
}

static int count_error(struct values *v, uint64_t found)
{
	return sl_error_at(v->err, SL_BADDATA, v->file, 0,
			   "the list has %llu values%s, but the graph has %u nodes; there must be one value for each node, "
			   "in their order", (unsigned long long)found, found > (uint64_t)v->n + COUNTED ? " or more" : "", v->n);
}

/* Adds a value; text NULL: a missing value. */
static int add(struct values *v, const char *text, size_t length)
{
	if (v->count == v->n)
		return count_error(v, (uint64_t)v->n + 1);
	uint32_t *code = &v->code[v->count++];
	*code = SL_NO_CODE;
	if (!text)
		return 0;
	if (!sl__valid_utf8(text, length))
		return sl_error_at(v->err, SL_BADDATA, v->file, v->count, "The value is not valid UTF-8.");
	return sl__names_add(&v->names, text, length, code) ? memory_error(v) : 0;
}

static int add_number(struct values *v, double x)
{
	char text[40];
	if (isnan(x))
		return add(v, NULL, 0);
	int length = snprintf(text, sizeof text, "%.*g", v->exact ? 15 : 9, x);
	if (v->exact && strtod(text, NULL) != x)
		length = snprintf(text, sizeof text, "%.17g", x);
	return add(v, text, (size_t)length);
}

/* A whole number with all of its digits. */
static int add_whole(struct values *v, int64_t x, bool unsign)
{
	char text[24];
	int length = unsign ? snprintf(text, sizeof text, "%" PRIu64, (uint64_t)x) : snprintf(text, sizeof text, "%" PRId64,
			x);
	return add(v, text, (size_t)length);
}

/* Milliseconds since 1970; what is not a date is none. */
static int add_date(struct values *v, int64_t ms)
{
	char text[SL_DATE_BYTES];
	bool fits = ms >= SL_DATE_FIRST && ms < SL_DATE_BEYOND;
	if (ms == SL_NO_DATE)
		return add(v, NULL, 0);
	if (!fits)
		return sl_error_at(v->err, SL_BADDATA, v->file, 0, "Value %u is a date beyond the years 0 to 9999.", v->count);
	sl_date_text(ms, text);
	return add(v, text, strlen(text));
}

/* ---- JSON -------------------------------------------------------------------------------- */

static int add_json(void *arg, const json_t *one)
{
	struct values *v = arg;
	if (v->found++ >= v->n)  /* counted for the error */
		return v->found > (uint64_t)v->n + COUNTED ? count_error(v, v->found) : 0;
	v->strings |= json_is_string(one);
	if (json_is_string(one))
		return add(v, json_string_value(one), json_string_length(one));
	if (v->exact && json_is_integer(one))
		return add_whole(v, json_integer_value(one), false);
	if (json_is_number(one))
		return add_number(v, json_number_value(one));
	return json_is_boolean(one) ? add_number(v, json_is_true(one)) : add(v, NULL, 0);
}

static int read_json(struct values *v, struct sl_source *source)
{
	int rc = sl__column_json(source, v->file, add_json, v, v->err);
	return rc ? rc : v->found != v->n ? count_error(v, v->found) : 0;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Takes the texts and codes of a column of a table. */
static int take_column(struct values *v, const struct sl_label_column *c)
{
	uint32_t *to = sl_account_alloc(v->account, (uint64_t)c->labels + 1, sizeof *to);
	int rc = to ? 0 : memory_error(v);
	for (uint32_t k = 0; k < c->labels && !rc; k++)
		rc = sl__names_add(&v->names, c->text[k], strlen(c->text[k]), &to[k]) ? memory_error(v) : 0;
	for (uint32_t i = 0; i < v->n && !rc; i++)
		v->code[i] = c->label[i] == SL_UNLABELLED ? SL_NO_CODE : to[c->label[i]];
	v->count = v->n;
	free(to);
	return rc;
}

static int several(struct values *v, const struct sl_label_table *t)
{
	char list[200] = "";
	size_t used = 0;
	for (uint32_t k = 0; k < t->columns && k < 4 && used < sizeof list; k++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%.32s\"", k ? ", " : "",
				t->column[k].title);
	return sl_error_field(v->err, SL_BADPARAM, "?column",
			"%s has %u columns of labels: %s%s. Choose one with column=TITLE, "
			      "or set all of them by PUT /v1/graphs/ID/labels.", v->file, t->columns, list,
			      t->columns > 4 ? ", ..." : "");
}

/* The column of a text that is meant: the only one, or that of the same title. */
static int read_text(struct values *v, struct sl_source *source, const char *name, const char *only,
		     struct sl_label_table *t)
{
	int rc = sl_label_table_read(t, v->nodes, only, NULL, source, v->err);
	if (rc)
		return rc;
	uint32_t at = 0;
	while (at < t->columns && strcmp(t->column[at].title, name) != 0)
		at++;
	if (at == t->columns && t->columns > 1)
		return several(v, t);
	if (t->columns > 1)
		sl_taken_add_note(t->taken, false, "only the column \"%.60s\" was set; the other columns of labels were not",
				  t->column[at].title);
	return t->columns ? take_column(v, &t->column[at == t->columns ? 0 : at]) : 0;
}

/* ---- arrays -------------------------------------------------------------------------------- */

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000)
		return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
			out[2] = (char)(0x80 | (c & 63)), 3;
	return out[0] = (char)(0xf0 | (c >> 18 & 7)), out[1] = (char)(0x80 | (c >> 12 & 63)),
	       out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
}

/* Adds an element of type <U or |S, which is padded with zeros. */
static int add_string(struct values *v, const struct sl__npy *a, const unsigned char *element, char *text)
{
	size_t length = 0;
	if (a->kind == 'S') {
		length = strnlen((const char *)element, (size_t)a->size);
		memcpy(text, element, length);
	}
	for (int i = 0; a->kind == 'U' && i + 4 <= a->size; i += 4) {
		uint32_t c;
		memcpy(&c, element + i, sizeof c);
		c = a->swapped ? __builtin_bswap32(c) : c;
		if (!c)
			break;
		length += put_utf8(text + length, c);
	}
	return add(v, length ? text : NULL, length);
}

/* The unit of an array of dates, [ms] of "<M8[ms]": how many of them are `per` milliseconds. False: another unit. */
static bool date_unit(const struct sl__npy *a, int64_t *times, int64_t *parts)
{
	static const struct { const char *name; int64_t times, parts; } units[] = {
		{"[D]", 86400000, 1}, {"[h]", 3600000, 1}, {"[m]", 60000, 1}, {"[s]", 1000, 1}, {"[ms]", 1, 1}, {"[us]", 1,
				1000},
		{"[ns]", 1, 1000000},
	};
	const char *unit = strchr(a->descr, '[');
	for (size_t k = 0; unit && k < sizeof units / sizeof *units; k++)
		if (!strcmp(unit, units[k].name)) {
			*times = units[k].times;
			*parts = units[k].parts;
			return a->size == 8;
		}
	return false;
}

static int64_t element64(const struct sl__npy *a, const unsigned char *element)
{
	uint64_t bits;
	memcpy(&bits, element, sizeof bits);
	return (int64_t)(a->swapped ? __builtin_bswap64(bits) : bits);
}

static int add_date_element(struct values *v, const struct sl__npy *a, const unsigned char *element, int64_t times,
			    int64_t parts)
{
	int64_t value = element64(a, element), ms;
	if (value == INT64_MIN)   /* NaT */
		return add(v, NULL, 0);
	if (__builtin_mul_overflow(value, times, &ms))
		ms = INT64_MAX;
	return add_date(v, ms / parts - (ms % parts < 0));
}

static int read_elements(struct values *v, struct sl_source *source, const struct sl__npy *a)
{
	size_t size = (size_t)a->size;
	uint32_t block = size > 65536 ? 1 : BLOCK;
	unsigned char *bytes = malloc(size * block);
	char *text = malloc(size + 8);
	double *number = malloc(block * sizeof *number);
	int64_t times = 1, parts = 1;
	bool dates = a->kind == 'M' && date_unit(a, &times, &parts);
	bool whole = v->exact && a->size == 8 && (a->kind == 'i' || a->kind == 'u');
	int rc = bytes && text && number ? 0 : memory_error(v);
	while (!rc && v->count < v->n) {
		uint32_t count = v->n - v->count < block ? v->n - v->count : block;
		int64_t got = sl__source_read(source, bytes, count * size, v->err);
		if (got < 0)
			rc = (int)got;
		else if ((uint64_t)got < count * size)
			rc = sl_error_at(v->err, SL_BADDATA, v->file, 0, "The file ends within the array.");
		else if (!v->strings && !dates && !whole)
			sl__npy_to_double(a, bytes, count, number);
		for (uint32_t i = 0; i < count && !rc; i++)
			rc = v->strings ? add_string(v, a, bytes + i * size, text)
			   : whole ? add_whole(v, element64(a, bytes + i * size), a->kind == 'u')
			   : dates ? add_date_element(v, a, bytes + i * size, times, parts) : add_number(v, number[i]);
	}
	free(bytes);
	free(text);
	free(number);
	return rc;
}

static int read_array(struct values *v, struct sl_source *source)
{
	struct sl__npy a;
	int rc = sl__npy_read_header(&a, sl__source_read_for, source, v->file, v->err);
	if (rc)
		return rc;
	v->strings = (a.kind == 'U' || a.kind == 'S') && a.size > 0 && a.size <= 1 << 20;
	int64_t times, parts;
	if (v->exact && a.kind == 'M' && !date_unit(&a, &times, &parts))
		return sl_error_at(v->err, SL_BADFORMAT, v->file, 0, "The array's type is '%s'; dates must be of unit D, h, m, "
				   "s, ms, us or ns.", a.descr);
	if (!v->strings && !sl__npy_is_real(&a) && !(v->exact && a.kind == 'M'))
		return sl_error_at(v->err, SL_BADFORMAT, v->file, 0, "The array's type is '%s'; labels must be numbers "
				   "or strings (<U, |S).", a.descr);
	if (a.count != v->n || a.shape[0] != v->n)
		return count_error(v, a.count);
	return read_elements(v, source, &a);
}

/* ---- the finished column --------------------------------------------------------------------- */

static const char *text_of(const struct values *v, uint32_t code)
{
	return v->names.bytes + v->names.at[code];
}

/* Converts all texts to numbers: number [names]; false: a text is no number. Sets *large to a text that float32 cannot
 * represent, if there is one. */
static bool to_numbers(const struct values *v, float *number, const char **large)
{
	for (uint32_t i = 0; i < v->names.n; i++) {
		char *end;
		const char *text = text_of(v, i);
		bool missing = !strcasecmp(text, "na") || !strcasecmp(text, "nan");
		number[i] = missing ? NAN : strtof(text, &end);
		if (!missing && (end == text || *end))
			return false;
		if (isinf(number[i]) && isfinite(strtod(text, NULL)))
			*large = text;
	}
	return true;
}

static int give_numbers(struct values *v, const char *name, const float *number, json_t **description, void **value)
{
	float low = INFINITY, high = -INFINITY, *out = (float *)(void *)v->code;  /* in place: the same size */
	uint32_t found = 0, whole = 0;
	for (uint32_t i = 0; i < v->n; i++) {
		float x = v->code[i] == SL_NO_CODE ? NAN : number[v->code[i]];
		memcpy(&out[i], &x, sizeof x);
		found += !isnan(x);
		whole += x == truncf(x);
		low = isfinite(x) && x < low ? x : low;
		high = isfinite(x) && x > high ? x : high;
	}
	bool any = low <= high;
	*description = json_pack("{s:s, s:s, s:o, s:o}", "name", name, "kind", "number", "min",
				 any ? json_real((double)low) : json_null(), "max",
						any ? json_real((double)high) : json_null());
	if (found > 1 && whole == found && v->names.n >= found)  /* numbers of rows, or the like */
		json_object_set_new(*description, "ids", json_true());
	*value = v->code;
	v->code = NULL;
	return 0;
}

static int give_categories(struct values *v, const char *name, json_t **description, void **value)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < v->names.n; i++)
		json_array_append_new(list, json_string(text_of(v, i)));
	*description = json_pack("{s:s, s:s, s:o}", "name", name, "kind", "category", "categories", list);
	*value = v->code;
	v->code = NULL;
	return 0;
}

static int give(struct values *v, const char *name, json_t **description, void **value)
{
	bool words = v->kind && !strcmp(v->kind, "category");
	float *number = words ? NULL : sl_account_alloc(v->account, v->names.n, sizeof *number);
	const char *large = NULL;
	bool numbers = number && (!v->strings || v->kind) && to_numbers(v, number, &large);
	int rc;
	if (!words && !number)
		rc = memory_error(v);
	else if (v->kind && !words && !numbers)
		rc = sl_error_at(v->err, SL_BADDATA, v->file, 0, "kind is number, but not all values are numbers.");
	else if (numbers && large)
		rc = sl_error_at(v->err, SL_BADDATA, v->file, 0, "The value %.40s is too large: numbers are float32 here, up "
				 "to 3.4e38.", large);
	else
		rc = numbers ? give_numbers(v, name, number, description, value) : give_categories(v, name,
				description, value);
	free(number);
	return rc;
}

enum body { BODY_ARRAY, BODY_JSON, BODY_TEXT };

static int recognise(struct sl_source *source, const struct sl_read_options *options, enum body *out,
		     struct sl_error *err)
{
	const unsigned char *bytes;
	sl__source_set_options(source, options);
	int64_t size = sl__source_peek_text(source, &bytes, err), at = 0;
	if (size < 0)
		return (int)size;
	while (at < size && strchr(" \t\r\n", bytes[at]))
		at++;
	bool json = at < size && bytes[at] == '{';
	*out = size >= 6 && !memcmp(bytes, "\x93NUMPY", 6) ? BODY_ARRAY : json ? BODY_JSON : BODY_TEXT;
	return 0;
}

static int begin(struct values *v)
{
	sl__names_init(&v->names, v->account);
	v->code = sl_account_alloc(v->account, v->n, sizeof *v->code);
	for (uint32_t i = 0; v->code && i < v->n; i++)
		v->code[i] = SL_NO_CODE;
	return v->code ? 0 : memory_error(v);
}

static void finish(struct values *v)
{
	sl__names_finish(&v->names);
	free(v->code);
	v->code = NULL;
}

/* Reads the body as one column. */
static int read_body(struct values *v, const struct sl_uploaded *in, const struct sl__column_wish *wish,
		     struct sl_label_table *table)
{
	struct sl_source *source = NULL;
	enum body body = BODY_TEXT;
	int rc = begin(v);
	if (!rc)
		rc = sl_uploaded_open(in, wish->account, &source, v->err);
	if (!rc)
		rc = recognise(source, &wish->options, &body, v->err);
	if (!rc)
		rc = body == BODY_ARRAY ? read_array(v, source) : body == BODY_JSON ? read_json(v, source)
		   : read_text(v, source, wish->name, wish->only, table);
	sl_source_close(source);
	return rc;
}

/* Gives the texts and codes to a column. */
static int give_texts(struct values *v, struct sl_label_column *out)
{
	uint32_t count = v->names.n;
	uint64_t bytes = v->names.bytes_used + (uint64_t)count * 32;
	int rc = sl_account_take(v->account, SL_MEMORY, bytes, v->err);
	out->text = rc ? NULL : sl_account_zeros(v->account, (uint64_t)count + 1, sizeof *out->text);
	if (!out->text)
		return rc ? rc : memory_error(v);
	for (; out->labels < count; out->labels++)
		if (!(out->text[out->labels] = strdup(text_of(v, out->labels))))
			return memory_error(v);
	out->label = v->code;
	v->code = NULL;
	return 0;
}

/* Whole numbers have no more digits than float64 holds, or they are words. */
int sl__column_texts(const struct sl_uploaded *in, const struct sl__column_wish *wish, const struct sl_label_nodes
		     *nodes, struct sl_label_column *out, uint64_t *unmatched, json_t **taken, struct sl_error *err)
{
	struct values v = {.file = in->name, .nodes = nodes, .n = nodes->n, .exact = true, .account = wish->account, .err =
			err};
	struct sl_label_table table = {0};
	int rc = read_body(&v, in, wish, &table);
	if (!rc)
		rc = give_texts(&v, out);
	if (!rc && table.taken) {
		*taken = sl_taken_json(table.taken);
		*unmatched = table.taken->rows_left_out;
	}
	sl_label_table_finish(&table);
	finish(&v);
	return rc;
}

static int describe(const struct sl_label_column *c, const char *name, const char *kind, uint32_t n,
		    struct sl_account *account, json_t **description, void **value, struct sl_error *err)
{
	struct values v = {.file = name, .kind = kind, .n = n, .account = account, .err = err};
	int rc = begin(&v);
	if (!rc)
		rc = take_column(&v, c);
	if (!rc)
		rc = give(&v, name, description, value);
	if (!rc && !*description)
		rc = memory_error(&v);
	finish(&v);
	return rc;
}

int sl__column_parse(const struct sl_uploaded *in, const struct sl__column_wish *wish, const struct sl_label_nodes
		     *nodes, json_t **description, void **value, json_t **taken, struct sl_error *err)
{
	struct values v = {.file = in->name, .kind = wish->kind, .nodes = nodes, .n = nodes->n,
			   .account = wish->account, .err = err};
	struct sl_label_table table = {0};
	int rc = read_body(&v, in, wish, &table);
	if (!rc)
		rc = give(&v, wish->name, description, value);
	if (!rc && !*description)
		rc = memory_error(&v);
	if (!rc && table.taken)
		*taken = sl_taken_json(table.taken);
	sl_label_table_finish(&table);
	finish(&v);
	return rc;
}

/* ---- all columns of a file ------------------------------------------------------------------- */

int sl__label_columns_set(struct sl_columns *columns, const struct sl_label_table *t, const char *kind, uint32_t n,
			  struct sl_account *account, struct sl_error *err)
{
	int rc = 0;
	for (uint32_t k = 0; k < t->columns && !rc; k++) {
		const char *title = *t->column[k].title ? t->column[k].title : "label";
		json_t *description = NULL;
		void *value = NULL;
		rc = sl_name_check(title, "", err);
		if (!rc)
			rc = describe(&t->column[k], title, kind, n, account, &description, &value, err);
		if (!rc)
			rc = sl_columns_set(columns, description, value, err);
	}
	return rc;
}

int sl__columns_parse(const struct sl_uploaded *in, const struct sl__column_wish *wish, const struct sl_label_nodes
		      *nodes, struct sl_columns *columns, json_t **names, json_t **taken, struct sl_error *err)
{
	struct sl_label_table table = {0};
	struct sl_source *source = NULL;
	enum body body = BODY_TEXT;
	int rc = sl_uploaded_open(in, wish->account, &source, err);
	if (!rc)
		rc = recognise(source, &wish->options, &body, err);
	if (!rc && body != BODY_TEXT)
		rc = sl_error_at(err, SL_BADFORMAT, in->name, 0, "Only a text has columns with titles; set an array or JSON by "
				 "PUT /v1/graphs/ID/labels/COLUMN.");
	if (!rc)
		rc = sl_label_table_read(&table, nodes, wish->only, NULL, source, err);
	if (!rc && !table.columns)
		rc = sl_error_at(err, SL_BADDATA, in->name, 0,
				"The file has no column of labels beside the nodes' names or numbers.");
	if (!rc)
		rc = sl__label_columns_set(columns, &table, wish->kind, nodes->n, wish->account, err);
	*names = json_array();
	for (uint32_t k = 0; k < table.columns && !rc; k++)
		json_array_append_new(*names, json_string(*table.column[k].title ? table.column[k].title : "label"));
	if (!rc)
		*taken = sl_taken_json(table.taken);
	sl_source_close(source);
	sl_label_table_finish(&table);
	return rc;
}
