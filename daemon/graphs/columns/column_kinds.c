/* A column of categories is stored beside the labels, which it is. Numbers are, too, if float32 holds them exactly, so
 * that they colour pictures without a conversion; other values are wider, and get a file of their own. */
#include "daemon/graphs/columns/column_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/source/source.h"
#include "core/formats/text/date.h"
#include "daemon/files/taken_json.h"
#include "daemon/files/values_file.h"
#include "daemon/json/json.h"

#define EXAMPLES 3
#define EXAMPLE_BYTES 120

struct storing {
	const struct sl_label_column *c;
	const char *name;
	uint32_t n;
	enum sl_column_kind kind;
	const char *why;
	bool warns;
	uint64_t unmatched;
	const char *path;
	struct sl_columns *columns;
	struct sl_account *account;
	struct sl_error *err;
};

static int memory_error(const struct storing *s)
{
	return sl_error_memory(s->err, "a column of %u nodes", s->n);
}

/* ---- descriptions ------------------------------------------------------------------------- */

/* A text cut to EXAMPLE_BYTES, between two characters. */
static json_t *example(const char *text)
{
	size_t length = strlen(text);
	if (length > EXAMPLE_BYTES)
		for (length = EXAMPLE_BYTES; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--;
	return json_stringn(text, length);
}

static json_t *describe(const struct storing *s)
{
	uint64_t read = 0;
	json_t *examples = json_array();
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->c->label[i] == SL_UNLABELLED)
			continue;
		if (read++ < EXAMPLES)
			json_array_append_new(examples, example(s->c->text[s->c->label[i]]));
	}
	json_t *out = json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "name", s->name, "kind", sl_column_kind_name(s->kind),
				"read", (json_int_t)read, "missing", (json_int_t)(s->n - read), "unmatched", (json_int_t)s->unmatched,
				"examples", examples);
	if (out && s->why && *s->why) {
		json_object_set_new(out, "why", json_string(s->why));
		json_object_set_new(out, "warns", json_boolean(s->warns));
	}
	return out;
}

json_t *sl__kinds_shown(const json_t *description, bool labels)
{
	static const char *const inner[] = {"place", "digest", "stored", NULL};
	static const char *const beyond[] = {"read", "missing", "unmatched", "examples", "why", "warns", "type", NULL};
	json_t *out = json_copy((json_t *)description);
	for (const char *const *key = inner; *key; key++)
		json_object_del(out, *key);
	for (const char *const *key = beyond; labels && *key; key++)
		json_object_del(out, *key);
	return out;
}

int sl__kinds_set(struct sl_columns *columns, json_t *description, int place, const char *digest, uint64_t stored,
		  struct sl_error *err)
{
	if (description) {
		json_object_set_new(description, "place", json_integer(place));
		json_object_set_new(description, "digest", json_string(digest));
		json_object_set_new(description, "stored", json_integer((json_int_t)stored));
	}
	return sl_columns_set(columns, description, NULL, err);
}

/* ---- values ------------------------------------------------------------------------------- */

static int store_categories(struct storing *s)
{
	json_t *description = describe(s), *list = json_array();
	uint32_t *value = sl_account_alloc(s->account, (uint64_t)s->n + 1, sizeof *value);
	bool whole = description && value && list;
	for (uint32_t k = 0; k < s->c->labels && whole; k++)
		whole = !json_array_append_new(list, json_string(s->c->text[k]));
	if (!whole) {
		json_decref(description);
		json_decref(list);
		free(value);
		return memory_error(s);
	}
	memcpy(value, s->c->label, (size_t)s->n * sizeof *value);
	json_object_set_new(description, "categories", list);
	return sl_columns_set(s->columns, description, value, s->err);
}

/* Writes the parts as the values of a new place, and sets the column. Takes the description. */
static int store_wide(struct storing *s, json_t *description, const struct sl_array *parts, int count)
{
	struct sl_values_writer *w = NULL;
	char path[SL_COLUMNS_PATH], digest[SL_VALUES_DIGEST_BYTES];
	uint64_t stored = 0;
	int place = description ? sl_columns_free_place(s->path, s->columns, s->err) : memory_error(s);
	int rc = place < 0 ? place : 0;
	if (!rc) {
		sl_columns_place_path(s->path, place, path);
		rc = sl_values_create(&w, path, s->account, s->err);
	}
	for (int i = 0; i < count && !rc; i++)
		rc = sl_values_add(w, parts[i].data, parts[i].bytes, s->err);
	if (rc)
		sl_values_abandon(w);
	else
		rc = sl_values_finish(w, digest, &stored, s->err);
	if (rc) {
		json_decref(description);
		return rc;
	}
	return sl__kinds_set(s->columns, description, place, digest, stored, s->err);
}

struct numbers {
	double *of_text, *value;
	double low, high;
	bool narrow;          /* float32 holds all of them */
	uint64_t found, whole;
};

static void collect_numbers(const struct storing *s, struct numbers *x)
{
	x->low = INFINITY;
	x->high = -INFINITY;
	x->narrow = true;
	for (uint32_t k = 0; k < s->c->labels; k++)
		sl_column_number(s->c->text[k], &x->of_text[k]);
	for (uint32_t i = 0; i < s->n; i++) {
		double v = x->value[i] = s->c->label[i] == SL_UNLABELLED ? NAN : x->of_text[s->c->label[i]];
		x->found += !isnan(v);
		x->whole += v == trunc(v);
		x->narrow = x->narrow && (isnan(v) || (double)(float)v == v);
		x->low = isfinite(v) && v < x->low ? v : x->low;
		x->high = isfinite(v) && v > x->high ? v : x->high;
	}
}

static int store_numbers(struct storing *s)
{
	struct numbers x = {.of_text = sl_account_alloc(s->account, (uint64_t)s->c->labels + 1, sizeof *x.of_text),
			    .value = sl_account_alloc(s->account, (uint64_t)s->n + 1, sizeof *x.value)};
	json_t *description = x.of_text && x.value ? describe(s) : NULL;
	int rc = description ? 0 : memory_error(s);
	if (!rc) {
		collect_numbers(s, &x);
		bool any = x.low <= x.high;
		json_object_set_new(description, "min", any ? json_real(x.low) : json_null());
		json_object_set_new(description, "max", any ? json_real(x.high) : json_null());
		if (x.found > 1 && x.whole == x.found && s->c->labels >= x.found)  /* numbers of rows, or the like */
			json_object_set_new(description, "ids", json_true());
	}
	if (!rc && x.narrow) {
		float *narrow = (float *)(void *)x.value;   /* in place, from the left */
		for (uint32_t i = 0; i < s->n; i++) {
			float v = (float)x.value[i];
			memcpy(&narrow[i], &v, sizeof v);
		}
		rc = sl_columns_set(s->columns, description, narrow, s->err);
		x.value = NULL;
	} else if (!rc) {
		json_object_set_new(description, "type", json_string("float64"));
		rc = store_wide(s, description, &(struct sl_array){x.value, (uint64_t)s->n * sizeof *x.value}, 1);
	}
	free(x.of_text);
	free(x.value);
	return rc;
}

static int store_dates(struct storing *s)
{
	int64_t *of_text = sl_account_alloc(s->account, (uint64_t)s->c->labels + 1, sizeof *of_text);
	int64_t *value = sl_account_alloc(s->account, (uint64_t)s->n + 1, sizeof *value);
	int64_t low = INT64_MAX, high = INT64_MIN;
	json_t *description = of_text && value ? describe(s) : NULL;
	int rc = description ? 0 : memory_error(s);
	for (uint32_t k = 0; k < s->c->labels && !rc; k++)
		if (!sl_date_parse(s->c->text[k], &of_text[k], NULL))
			of_text[k] = SL_NO_DATE;
	for (uint32_t i = 0; i < s->n && !rc; i++) {
		int64_t v = value[i] = s->c->label[i] == SL_UNLABELLED ? SL_NO_DATE : of_text[s->c->label[i]];
		low = v != SL_NO_DATE && v < low ? v : low;
		high = v > high ? v : high;
	}
	if (!rc) {
		json_object_set_new(description, "min", high == INT64_MIN ? json_null() : json_integer(low));
		json_object_set_new(description, "max", high == INT64_MIN ? json_null() : json_integer(high));
		rc = store_wide(s, description, &(struct sl_array){value, (uint64_t)s->n * sizeof *value}, 1);
	}
	free(of_text);
	free(value);
	return rc;
}

/* The different texts, one after the other, and each node's place. */
static int store_texts(struct storing *s)
{
	uint64_t bytes = 0, longest = 0, at = 0;
	for (uint32_t k = 0; k < s->c->labels; k++) {
		uint64_t length = strlen(s->c->text[k]);
		bytes += length;
		longest = length > longest ? length : longest;
	}
	char *text = sl_account_alloc(s->account, bytes + 1, 1);
	struct sl_value_place *of_text = sl_account_alloc(s->account, (uint64_t)s->c->labels + 1, sizeof *of_text);
	struct sl_value_place *place = sl_account_alloc(s->account, (uint64_t)s->n + 1, sizeof *place);
	json_t *description = text && of_text && place ? describe(s) : NULL;
	int rc = description ? 0 : memory_error(s);
	for (uint32_t k = 0; k < s->c->labels && !rc; k++) {
		of_text[k] = (struct sl_value_place){at, strlen(s->c->text[k])};
		memcpy(text + at, s->c->text[k], of_text[k].bytes);
		at += of_text[k].bytes;
	}
	for (uint32_t i = 0; i < s->n && !rc; i++)
		place[i] = s->c->label[i] == SL_UNLABELLED ? (struct sl_value_place){0, SL_NO_VALUE} : of_text[s->c->label[i]];
	if (!rc) {
		const struct sl_array parts[] = {{text, bytes}, {place, (uint64_t)s->n * sizeof *place}};
		json_object_set_new(description, "longest", json_integer((json_int_t)longest));
		rc = store_wide(s, description, parts, 2);
	}
	free(text);
	free(of_text);
	free(place);
	return rc;
}

static int store(struct storing *s)
{
	int rc = sl_name_check(s->name, "", s->err);
	if (!rc)
		rc = sl_column_kind_check(s->c, s->kind, s->err);
	if (rc)
		return rc;
	switch (s->kind) {
	case SL_COLUMN_NUMBER:
		return store_numbers(s);
	case SL_COLUMN_DATE:
		return store_dates(s);
	case SL_COLUMN_CATEGORY:
		return store_categories(s);
	default:
		return store_texts(s);
	}
}

/* ---- the wanted kinds --------------------------------------------------------------------- */

static int bad_kind(const char *text, size_t length, struct sl_error *err)
{
	return sl_error_field(err, SL_BADPARAM, "?kind", "kind \"%.*s\" is none of category, number, date, text and link; "
			"write "
			      "kind=text for all columns, or kind=TITLE:text,TITLE:date", (int)(length < 60 ? length : 60), text);
}

/* True if an item of the list is for the column of this title; then *kind: its kind. An item without a title is for
 * all. */
static int kind_of(const char *list, const char *title, bool *found, enum sl_column_kind *kind, struct sl_error *err)
{
	*found = false;
	while (list && *list) {
		size_t length = strcspn(list, ",");
		const char *colon = memrchr(list, ':', length), *name = colon ? colon + 1 : list;
		char word[16] = "";
		if ((size_t)(list + length - name) < sizeof word)
			memcpy(word, name, (size_t)(list + length - name));
		enum sl_column_kind is;
		if (!sl_column_kind_parse(word, &is) || is == SL_COLUMN_IMAGE)
			return bad_kind(list, length, err);
		bool mine = !colon || (strlen(title) == (size_t)(colon - list) && !strncmp(title, list, strlen(title)));
		if (mine && (colon || !*found)) {
			*found = true;
			*kind = is;
		}
		list += length + (list[length] == ',');
	}
	return 0;
}

/* Each title of the list must be that of a column. */
static int check_titles(const char *list, const struct sl_label_table *t, struct sl_error *err)
{
	while (list && *list) {
		size_t length = strcspn(list, ",");
		const char *colon = memrchr(list, ':', length);
		bool known = !colon;
		for (uint32_t k = 0; k < t->columns && colon; k++)
			known = known || (strlen(t->column[k].title) == (size_t)(colon - list) &&
					  !strncmp(t->column[k].title, list, (size_t)(colon - list)));
		if (!known)
			return sl_error_field(err, SL_BADPARAM, "?kind", "kind names the column \"%.*s\", but the file has none "
					"of this "
					      "title", (int)(colon - list < 60 ? colon - list : 60), list);
		list += length + (list[length] == ',');
	}
	return 0;
}

/* ---- whole bodies --------------------------------------------------------------------------- */

static int store_column(const struct sl_label_column *c, const char *name, const char *kinds, uint64_t unmatched,
			const struct sl_label_nodes *nodes, struct sl_account *account, const char *path,
			struct sl_columns *columns, struct sl_error *err)
{
	struct sl_column_guess guess;
	enum sl_column_kind kind;
	bool wanted;
	int rc = kind_of(kinds, c->title, &wanted, &kind, err);
	if (rc)
		return rc;
	sl_column_recognise(c, nodes->n, &guess);
	bool told = !wanted || kind == guess.kind;
	struct storing s = {.c = c, .name = name, .n = nodes->n, .kind = wanted ? kind : guess.kind, .why = told ? guess.why
			: "",
			    .warns = !wanted && guess.warns, .unmatched = unmatched, .path = path, .columns = columns,
			    .account = account, .err = err};
	return store(&s);
}

static const char *title_of(const struct sl_label_column *c)
{
	return *c->title ? c->title : "label";
}

/* Texts need not be few: nobody colours by them. */
static void forget_colours(struct sl_taken *t)
{
	uint32_t kept = 0;
	for (uint32_t k = 0; k < t->notes; k++)
		if (!strstr(t->note[k].text, "too many for colours"))
			t->note[kept++] = t->note[k];
	t->notes = kept;
}

int sl__kinds_table(const struct sl_uploaded *in, const struct sl__column_wish *wish, const char *kinds,
		    const struct sl_label_nodes *nodes, const char *path, struct sl_columns *columns, json_t **names,
		    json_t **taken, struct sl_error *err)
{
	struct sl_label_table table = {0};
	struct sl_source *source = NULL;
	const unsigned char *bytes;
	*names = json_array();
	int rc = sl_uploaded_open(in, wish->account, &source, err);
	if (!rc) {
		sl__source_set_options(source, &wish->options);
		int64_t size = sl__source_peek_text(source, &bytes, err);
		rc = size < 0 ? (int)size : 0;
		if (!rc && size >= 2 && (!memcmp(bytes, "PK", 2) || (size >= 6 && !memcmp(bytes, "\x93NUMPY", 6)) || *bytes ==
				'{'))
			rc = sl_error_at(err, SL_BADFORMAT, in->name, 0, "Only a text has columns with titles; set an array, JSON "
					 "or images by PUT /v1/graphs/ID/columns/COLUMN.");
	}
	if (!rc)
		rc = sl_label_table_read(&table, nodes, wish->only, NULL, source, err);
	if (!rc && !table.columns)
		rc = sl_error_at(err, SL_BADDATA, in->name, 0, "The file has no column beside the nodes' names or numbers.");
	if (!rc)
		rc = check_titles(kinds, &table, err);
	for (uint32_t k = 0; k < table.columns && !rc; k++) {
		rc = store_column(&table.column[k], title_of(&table.column[k]), kinds, table.taken->rows_left_out, nodes,
				  wish->account, path, columns, err);
		json_array_append_new(*names, json_string(title_of(&table.column[k])));
	}
	if (!rc) {
		forget_colours(table.taken);
		*taken = sl_taken_json(table.taken);
	}
	sl_source_close(source);
	sl_label_table_finish(&table);
	return rc;
}

int sl__kinds_column(const struct sl_uploaded *in, const struct sl__column_wish *wish, const char *kind,
		     const struct sl_label_nodes *nodes, const char *path, struct sl_columns *columns, json_t **taken,
		     struct sl_error *err)
{
	struct sl_label_column c = {0};
	struct sl_source *source = NULL;
	const unsigned char *bytes;
	uint64_t unmatched = 0;
	int rc = sl_name_check(wish->name, "", err);
	if (!rc && kind && strchr(kind, ':'))
		rc = sl_error_field(err, SL_BADPARAM, "?kind", "kind has no title here, since there is one column");
	if (!rc)
		rc = sl_uploaded_open(in, wish->account, &source, err);
	int64_t size = rc ? 0 : sl__source_peek(source, &bytes, err);
	if (size < 0)
		rc = (int)size;
	bool asked = kind && !strcmp(kind, "image") && size >= 6 && !memcmp(bytes, "\x93NUMPY", 6);
	if (!rc && (asked || sl__images_is(bytes, (size_t)size))) {
		sl__source_set_options(source, &wish->options);
		if (kind && strcmp(kind, "image") != 0)
			rc = sl_error_field(err, SL_BADPARAM, "?kind", "the body holds images, not values of kind %.20s", kind);
		if (!rc)
			rc = sl__images_store(source, wish->name, nodes, wish->account, wish->options.max_bytes, path, columns,
					      taken, err);
		sl_source_close(source);
		return rc;
	}
	sl_source_close(source);
	if (!rc && kind && !strcmp(kind, "image"))
		rc = sl_error_field(err, SL_BADPARAM, "?kind", "the body holds no images; send an array of uint8 (n x height x "
				    "width, or n x height x width x 3), or a zip of image files");
	if (!rc)
		rc = sl__column_texts(in, wish, nodes, &c, &unmatched, taken, err);
	if (!rc)
		rc = store_column(&c, wish->name, kind, unmatched, nodes, wish->account, path, columns, err);
	for (uint32_t k = 0; k < c.labels; k++)
		free(c.text[k]);
	free(c.text);
	free(c.label);
	return rc;
}
