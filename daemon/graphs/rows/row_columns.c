/* Opens a graph's columns for a request, and reads their values: those of single nodes from the file, whole columns
 * only for conditions and for an order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/account.h"
#include "core/formats/images/images.h"
#include "core/formats/text/date.h"
#include "daemon/graphs/rows/rows_internal.h"
#include "daemon/json/json.h"

int64_t sl__rows_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int sl__rows_check(const struct sl__rows *r)
{
	if (sl__rows_now_ns() < r->deadline_ns)
		return 0;
	return sl_error_set(r->err, SL_CANCELLED, "The request took more than %d s, so it was ended; ask for fewer rows, "
			    "or for conditions that fewer rows meet.", SL__ROWS_SECONDS);
}

/* ---- opening ---------------------------------------------------------------------------------- */

static int add_words(struct sl__row_column *c, const json_t *list)
{
	size_t i, count = json_array_size(list);
	const char **words = calloc(count + 1, sizeof *words);
	json_t *one;
	if (!words)
		return SL_NOMEM;
	json_array_foreach(list, i, one)
		words[i] = json_string_value(one);
	c->words = words;
	c->words_count = (uint32_t)count;
	return 0;
}

static int add(struct sl__rows *r, json_t *description, const struct sl_column *column)
{
	struct sl__row_column *c = &r->column[r->count];
	enum sl_column_kind kind;
	const char *type = json_string_value(json_object_get(description, "type"));
	if (!sl_column_kind_parse(json_string_value(json_object_get(description, "kind")), &kind))
		return 0;   /* "none" */
	*c = (struct sl__row_column){.name = json_string_value(json_object_get(description, "name")), .kind = kind,
				     .description = description, .column = column, .values = {.fd = -1},
				     .wide = type && !strcmp(type, "float64")};
	r->count++;
	return kind == SL_COLUMN_CATEGORY ? add_words(c, json_object_get(description, "categories")) : 0;
}

/* The labels of the upload, unless they are hidden or replaced. */
static int add_own(struct sl__rows *r)
{
	const struct sl__question *q = r->q;
	const struct sl_content *data = q->part[SL_PART_DATA];
	if (!data || !data->nodes.label || sl_columns_find(r->columns, q->own))
		return 0;
	json_t *list = json_array();
	for (uint32_t k = 0; k < data->nodes.labels; k++)
		json_array_append_new(list, json_string(data->nodes.label_name[k]));
	r->own = json_pack("{s:s, s:s, s:o}", "name", q->own, "kind", "category", "categories", list);
	return r->own ? add(r, r->own, NULL) : SL_NOMEM;
}

int sl__rows_open(struct sl__rows *r, const struct sl__question *q, struct sl_account *account, struct sl_error *err)
{
	*r = (struct sl__rows){.q = q, .path = sl__graphs_path(q->s, q->id, "sll"), .fd = -1, .account = account, .err =
			err,
			       .deadline_ns = sl__rows_now_ns() + SL__ROWS_SECONDS * 1000000000ll};
	int rc = r->path ? sl_columns_open(r->path, q->nodes, &r->columns, &r->fd, err) : sl_error_memory(err, "a path");
	if (!rc && !(r->column = calloc((size_t)r->columns->count + 2, sizeof *r->column)))
		rc = sl_error_memory(err, "the columns");
	if (!rc && add_own(r))
		rc = sl_error_memory(err, "the columns");
	for (int i = 0; !rc && i < r->columns->count; i++)
		if (add(r, r->columns->column[i].description, &r->columns->column[i]))
			rc = sl_error_memory(err, "the columns");
	return rc;
}

void sl__rows_close(struct sl__rows *r)
{
	for (int i = 0; i < r->count; i++) {
		sl_values_close(&r->column[i].values);
		free((void *)r->column[i].words);
		free(r->column[i].all);
	}
	free(r->column);
	if (r->fd >= 0)
		close(r->fd);
	sl_columns_free(r->columns);
	json_decref(r->own);
	free(r->path);
}

struct sl__row_column *sl__rows_column(struct sl__rows *r, const char *name, const char *field)
{
	for (int i = 0; i < r->count; i++)
		if (!strcmp(r->column[i].name, name))
			return &r->column[i];
	sl_error_field(r->err, field ? SL_BADPARAM : SL_NOTFOUND, field ? field : "",
			"graph %s has no column named \"%.64s\"",
		       r->q->id, name);
	return NULL;
}

struct sl__row_column *sl__rows_prefix(struct sl__rows *r, const char *text, const char **rest)
{
	struct sl__row_column *best = NULL;
	size_t length = 0;
	for (int i = 0; i < r->count; i++) {
		size_t own = strlen(r->column[i].name);
		if (strncmp(text, r->column[i].name, own) || text[own] != ':' || (best && own < length))
			continue;
		best = &r->column[i];
		length = own;
	}
	if (best)
		*rest = text + length + 1;
	return best;
}

int sl__rows_open_values(struct sl__rows *r, struct sl__row_column *c)
{
	char path[SL_COLUMNS_PATH];
	if (c->values.fd >= 0)
		return 0;
	sl_columns_place_path(r->path, sl_column_place(c->column), path);
	return sl_values_open(&c->values, path, json_string_value(json_object_get(c->description, "digest")), r->q->nodes,
			r->err);
}

int sl__rows_load(struct sl__rows *r, struct sl__row_column *c)
{
	uint32_t n = r->q->nodes;
	bool place = c->column && sl_column_place(c->column) >= 0;
	size_t size = place ? 8 : 4;
	if (c->all)
		return 0;
	if (!(c->all = sl_account_alloc(r->account, (uint64_t)n + 1, size)))
		return r->account->refusal.code ? (*r->err = r->account->refusal, r->err->code)
						: sl_error_memory(r->err, "a column of %u nodes", n);
	if (!c->column) {
		memcpy(c->all, r->q->part[SL_PART_DATA]->nodes.label, (size_t)n * size);
		return 0;
	}
	int rc = place ? sl__rows_open_values(r, c) : 0;
	if (!rc)
		rc = place ? sl_values_read(&c->values, 0, c->all, (uint64_t)n * size, r->err)
			   : sl_columns_part(r->fd, r->path, r->columns, c->column, 0, n, c->all, r->err);
	return rc;
}

/* ---- values ------------------------------------------------------------------------------------- */

double sl__row_number(const struct sl__row_column *c, uint32_t node)
{
	return c->wide ? ((const double *)c->all)[node] : (double)((const float *)c->all)[node];
}

int64_t sl__row_date(const struct sl__row_column *c, uint32_t node)
{
	return ((const int64_t *)c->all)[node];
}

uint32_t sl__row_code(const struct sl__row_column *c, uint32_t node)
{
	return ((const uint32_t *)c->all)[node];
}

static json_t *number_json(double x)
{
	return isfinite(x) ? json_real(x) : isnan(x) ? json_null() : json_string(x > 0 ? "inf" : "-inf");
}

static json_t *date_json(int64_t ms)
{
	char text[SL_DATE_BYTES];
	return ms == SL_NO_DATE ? json_null() : json_string(sl_date_text(ms, text));
}

/* Cuts a text between two characters. */
static size_t cut_at(const char *text, size_t length, uint32_t cut)
{
	if (!cut || length <= cut)
		return length;
	for (length = cut; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
		length--;
	return length;
}

static json_t *text_json(struct sl__rows *r, struct sl__row_column *c, uint32_t node, uint32_t cut, bool *was_cut)
{
	struct sl_value_place p;
	if (sl_values_places(&c->values, node, 1, &p, r->err))
		return NULL;
	if (p.bytes == SL_NO_VALUE)
		return json_null();
	uint64_t want = cut && p.bytes > (uint64_t)cut + 4 ? (uint64_t)cut + 4 : p.bytes;
	char *text = malloc(want + 1);
	if (!text || sl_values_read(&c->values, p.from, text, want, r->err)) {
		if (!text)
			sl_error_memory(r->err, "a text");
		free(text);
		return NULL;
	}
	size_t length = cut_at(text, (size_t)want, cut);
	*was_cut |= length < p.bytes;
	json_t *out = json_stringn(text, length);
	free(text);
	if (!out)
		sl_error_memory(r->err, "a text");
	return out;
}

/* The media type of the image, or null. */
static json_t *image_json(struct sl__rows *r, struct sl__row_column *c, uint32_t node)
{
	const json_t *images = json_object_get(c->description, "images");
	const char *encoding = json_string_value(json_object_get(images, "encoding"));
	unsigned char head[64] = {0};
	struct sl_value_place p;
	struct sl_image_head is;
	if (encoding && !strcmp(encoding, "raw"))
		return json_string("image/png");
	if (sl_values_places(&c->values, node, 1, &p, r->err))
		return NULL;
	if (p.bytes == SL_NO_VALUE)
		return json_null();
	if (sl_values_read(&c->values, p.from, head, p.bytes < sizeof head ? p.bytes : sizeof head, r->err))
		return NULL;
	return sl_image_look(head, sizeof head, &is) ? json_string(sl_image_media_type(is.type)) : json_null();
}

static json_t *wide_json(struct sl__rows *r, struct sl__row_column *c, uint32_t node, uint32_t cut, bool *was_cut)
{
	int64_t date;
	double number;
	if (sl__rows_open_values(r, c))
		return NULL;
	if (c->kind == SL_COLUMN_IMAGE)
		return image_json(r, c, node);
	if (c->kind == SL_COLUMN_NUMBER)
		return sl_values_read(&c->values, (uint64_t)node * 8, &number, 8, r->err) ? NULL : number_json(number);
	if (c->kind == SL_COLUMN_DATE)
		return sl_values_read(&c->values, (uint64_t)node * 8, &date, 8, r->err) ? NULL : date_json(date);
	return text_json(r, c, node, cut, was_cut);
}

json_t *sl__row_json(struct sl__rows *r, struct sl__row_column *c, uint32_t node, uint32_t cut, bool *was_cut)
{
	uint32_t code;
	float number;
	if (c->column && sl_column_place(c->column) >= 0)
		return wide_json(r, c, node, cut, was_cut);
	if (!c->column)
		code = r->q->part[SL_PART_DATA]->nodes.label[node];
	else if (sl_columns_part(r->fd, r->path, r->columns, c->column, node, 1, &code, r->err))
		return NULL;
	if (c->kind == SL_COLUMN_CATEGORY)
		return code < c->words_count ? json_string(c->words[code]) : json_null();
	memcpy(&number, &code, sizeof number);
	return number_json((double)number);
}

int sl__rows_nodes(const char *text, uint32_t n, uint32_t most, uint32_t **out, uint32_t *count, struct sl_error *err)
{
	*count = 0;
	*out = malloc((strlen(text) / 2 + 2) * sizeof **out);
	if (!*out)
		return sl_error_memory(err, "the nodes");
	while (*text) {
		char *end;
		unsigned long node = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : n;
		if (node >= n)
			return sl_error_field(err, SL_BADPARAM, "?nodes", "nodes has \"%.20s\"; it must be numbers of nodes from 0 "
					      "to %u, with commas between them", text, n - 1);
		if (*count == most)
			return sl_error_field(err, SL_BADPARAM, "?nodes", "nodes has more than %u numbers; ask for fewer at once",
					most);
		(*out)[(*count)++] = (uint32_t)node;
		if (*end && *end != ',')
			return sl_error_field(err, SL_BADPARAM, "?nodes", "nodes must be numbers with commas between them, not "
					      "\"%.20s\"", text);
		text = end + (*end == ',');
	}
	return *count ? 0 : sl_error_field(err, SL_BADPARAM, "?nodes", "nodes is empty");
}
