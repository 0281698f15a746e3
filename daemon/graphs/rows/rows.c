/* Finds rows: each condition clears bits of the nodes that do not meet it, so the count is exact; then the nodes are
 * put into order, and a page of them is read. A cursor names the place in that order and the version of the columns:
 * after a change it is refused, so no row is left out or given twice in silence. */
#include "daemon/graphs/rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/account.h"
#include "core/formats/text/date.h"
#include "daemon/graphs/columns/column_kinds.h"
#include "daemon/graphs/rows/rows_internal.h"
#include "daemon/graphs/rows/text_index.h"
#include "daemon/json/json.h"
#include "daemon/store/seal.h"
#include "daemon/users/bookings.h"
#include "daemon/users/users.h"

#define REPLY_MOST (8u << 20)     /* bytes of texts, about; then the page ends early */
#define TEXTS 8                   /* of a query */
#define TURN 65536                /* nodes between two looks at the clock */

/* A request, while it waits and while the pool answers it; `more` of its question. */
struct asked {
	struct sl_rows_query query;
	char *text[TEXTS];            /* the query's, owned */
	struct sl_account account;
};

struct finding {
	struct sl__rows *r;
	const struct sl_rows_query *query;
	uint32_t n;
	uint64_t *keep;               /* [n bits] */
	float *rank;                  /* [n], if rows are in the order of their rank */
	uint32_t *node;               /* [total], in order */
	uint32_t total;
	struct sl_error *err;
};

static int memory_error(struct finding *f)
{
	if (f->r->account->refusal.code) {
		*f->err = f->r->account->refusal;
		return f->err->code;
	}
	return sl_error_memory(f->err, "rows of %u nodes", f->n);
}

static bool kept(const struct finding *f, uint32_t i)
{
	return f->keep[i / 64] >> (i % 64) & 1;
}

static void drop(struct finding *f, uint32_t i)
{
	f->keep[i / 64] &= ~(1ull << (i % 64));
}

/* ---- conditions ----------------------------------------------------------------------------------- */

struct hits {
	uint64_t *bit;
	float *rank;
};

static void hit(void *arg, uint32_t node, double rank)
{
	const struct hits *h = arg;
	h->bit[node / 64] |= 1ull << (node % 64);
	if (h->rank)
		h->rank[node] = (float)rank;
}

static bool ranked(const struct sl_rows_query *q)
{
	return q->search && !q->nodes && (!q->sort || !strcmp(q->sort, "rank"));
}

static int apply_search(struct finding *f)
{
	const struct sl_rows_query *q = f->query;
	struct sl__rows *r = f->r;
	uint64_t words = (uint64_t)f->n / 64 + 1;
	struct hits h = {.bit = sl_account_zeros(r->account, words, sizeof *h.bit)};
	char *path = sl__graphs_path(r->q->s, r->q->id, "index");
	if (h.bit && ranked(q))
		h.rank = f->rank = sl_account_zeros(r->account, (uint64_t)f->n + 1, sizeof *f->rank);
	int rc = h.bit && path && (!ranked(q) || h.rank) ? 0 : memory_error(f);
	if (!rc)
		rc = sl__index_settle(path, r->path, r->columns, &r->q->s->cancel, f->err);
	if (!rc)
		rc = sl__index_search(path, r->columns, q->search, q->in, ranked(q), r->deadline_ns, hit, &h, f->err);
	for (uint64_t k = 0; k < words && !rc; k++)
		f->keep[k] &= h.bit[k];
	free(h.bit);
	free(path);
	return rc;
}

/* One end of a range. Dates: the end of a day or month is its last millisecond. */
static int parse_end(struct finding *f, const struct sl__row_column *c, const char *text, size_t length, bool high,
		     double *number, int64_t *date)
{
	*number = high ? INFINITY : -INFINITY;
	*date = high ? INT64_MAX : SL_NO_DATE + 1;
	if (!length)
		return 0;
	char *copy = strndup(text, length);
	if (!copy)
		return memory_error(f);
	bool of_numbers = c->kind == SL_COLUMN_NUMBER;
	bool fits = of_numbers ? sl_column_number(copy, number) && !isnan(*number)
			       : high ? sl_date_parse_end(copy, date) : sl_date_parse(copy, date, NULL);
	if (!fits)
		sl_error_field(f->err, SL_BADPARAM, "?range", "\"%.60s\" is not a %s; write %.60s:%s, with either end left out "
			       "if there is no limit", copy, of_numbers ? "number" : "date", c->name,
			       of_numbers ? "1.5..20" : "2020-01-01..2020-12-31");
	free(copy);
	return fits ? 0 : f->err->code;
}

static int apply_range(struct finding *f, struct sl__row_column *c, const char *text, size_t length)
{
	const char *dots = memmem(text, length, "..", 2);
	double low, high;
	int64_t first, last;
	if (c->kind != SL_COLUMN_NUMBER && c->kind != SL_COLUMN_DATE)
		return sl_error_field(f->err, SL_BADPARAM, "?range", "column \"%.60s\" is of kind %s; ranges are of numbers "
				      "and dates", c->name, sl_column_kind_name(c->kind));
	if (!dots)
		return sl_error_field(f->err, SL_BADPARAM, "?range", "range must have two dots: %.60s:LOW..HIGH", c->name);
	int rc = parse_end(f, c, text, (size_t)(dots - text), false, &low, &first);
	if (!rc)
		rc = parse_end(f, c, dots + 2, (size_t)(text + length - dots - 2), true, &high, &last);
	if (!rc)
		rc = sl__rows_load(f->r, c);
	for (uint32_t i = 0; i < f->n && !rc; i++) {
		bool in = c->kind == SL_COLUMN_NUMBER ? sl__row_number(c, i) >= low && sl__row_number(c, i) <= high
						      : sl__row_date(c, i) >= first && sl__row_date(c, i) <= last;
		if (!in)
			drop(f, i);
		if (i % TURN == 0)
			rc = sl__rows_check(f->r);
	}
	return rc;
}

static int no_column(struct finding *f, const char *field, const char *text)
{
	return sl_error_field(f->err, SL_BADPARAM, field, "\"%.60s\" does not begin with the name of a column and a colon",
			text);
}

static int apply_ranges(struct finding *f)
{
	int rc = 0;
	for (const char *at = f->query->range; at && *at && !rc;) {
		const char *rest;
		struct sl__row_column *c = sl__rows_prefix(f->r, at, &rest);
		if (!c)
			return no_column(f, "?range", at);
		size_t length = strcspn(rest, ";");
		rc = apply_range(f, c, rest, length);
		at = rest + length + (rest[length] == ';');
	}
	return rc;
}

/* The category with which the text begins, before a ';' or its end: the longest one. */
static uint32_t category_of(const struct sl__row_column *c, const char *text, size_t *length)
{
	uint32_t best = SL_NO_CODE;
	*length = 0;
	for (uint32_t k = 0; k < c->words_count; k++) {
		size_t own = strlen(c->words[k]);
		if (own >= *length && !strncmp(text, c->words[k], own) && (!text[own] || text[own] == ';')) {
			best = k;
			*length = own;
		}
	}
	return best;
}

/* Marks the wanted categories of each column first, since those of one column are alternatives. */
static int apply_categories(struct finding *f)
{
	bool **wanted = calloc((size_t)f->r->count + 1, sizeof *wanted);
	int rc = wanted ? 0 : memory_error(f);
	for (const char *at = f->query->category; at && *at && !rc;) {
		const char *rest;
		size_t length;
		struct sl__row_column *c = sl__rows_prefix(f->r, at, &rest);
		if (!c || c->kind != SL_COLUMN_CATEGORY) {
			rc = c ? sl_error_field(f->err, SL_BADPARAM, "?category", "column \"%.60s\" is of kind %s, not category",
					c->name,
						sl_column_kind_name(c->kind)) : no_column(f, "?category", at);
			break;
		}
		uint32_t code = category_of(c, rest, &length);
		bool **mine = &wanted[c - f->r->column];
		if (code == SL_NO_CODE)
			rc = sl_error_field(f->err, SL_BADPARAM, "?category", "column \"%.60s\" has no category \"%.60s\"", c->name,
					rest);
		if (!rc && !*mine && !(*mine = calloc((size_t)c->words_count + 1, 1)))
			rc = memory_error(f);
		if (!rc)
			(*mine)[code] = true;
		at = rest + length + (rest[length] == ';');
	}
	for (int k = 0; k < f->r->count && !rc; k++) {
		struct sl__row_column *c = &f->r->column[k];
		if (!wanted[k] || (rc = sl__rows_load(f->r, c)))
			continue;
		for (uint32_t i = 0; i < f->n; i++)
			if (sl__row_code(c, i) >= c->words_count || !wanted[k][sl__row_code(c, i)])
				drop(f, i);
		rc = sl__rows_check(f->r);
	}
	for (int k = 0; wanted && k < f->r->count; k++)
		free(wanted[k]);
	free(wanted);
	return rc;
}

/* ---- order ------------------------------------------------------------------------------------------ */

struct key {
	union {
		double number;
		int64_t date;
		const char *text;
	} of;
	uint32_t node, length;        /* of the text */
	bool none;
};

enum by { BY_NUMBER, BY_DATE, BY_TEXT };

struct order {
	enum by by;
	bool down;
};

static int compare_texts(const struct key *a, const struct key *b)
{
	uint32_t most = a->length < b->length ? a->length : b->length;
	int rc = strncasecmp(a->of.text, b->of.text, most);
	return rc ? rc : (a->length > b->length) - (a->length < b->length);
}

/* Nodes without a value come last in either direction; equal ones in the order of their numbers. */
static int compare(const void *x, const void *y, void *arg)
{
	const struct key *a = x, *b = y;
	const struct order *o = arg;
	int rc = 0;
	if (a->none != b->none)
		return a->none - b->none;
	if (!a->none && o->by == BY_NUMBER)
		rc = (a->of.number > b->of.number) - (a->of.number < b->of.number);
	else if (!a->none && o->by == BY_DATE)
		rc = (a->of.date > b->of.date) - (a->of.date < b->of.date);
	else if (!a->none)
		rc = compare_texts(a, b);
	return rc ? (o->down ? -rc : rc) : (a->node > b->node) - (a->node < b->node);
}

/* The texts of the nodes, each zero-terminated, in *bytes. */
static int load_texts(struct finding *f, struct sl__row_column *c, struct key *key, char **bytes)
{
	uint64_t room;
	struct sl_value_place *place = sl_account_alloc(f->r->account, (uint64_t)f->n + 1, sizeof *place);
	int rc = place ? sl__rows_open_values(f->r, c) : memory_error(f);
	if (!rc)
		rc = sl_values_places(&c->values, 0, f->n, place, f->err);
	room = rc ? 0 : c->values.bytes - (uint64_t)f->n * sizeof *place;
	if (!rc && !(*bytes = sl_account_alloc(f->r->account, room + 1, 1)))
		rc = memory_error(f);
	if (!rc)
		rc = sl_values_read(&c->values, 0, *bytes, room, f->err);
	for (uint32_t k = 0; k < f->total && !rc; k++) {
		const struct sl_value_place *p = &place[key[k].node];
		key[k].none = p->bytes == SL_NO_VALUE;
		if (key[k].none)
			continue;
		key[k].of.text = *bytes + p->from;
		key[k].length = p->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)p->bytes;
	}
	free(place);
	return rc;
}

static void fill_keys(struct finding *f, const struct sl__row_column *c, struct key *key)
{
	bool ordered = c && json_is_true(json_object_get(c->description, "ordered"));
	for (uint32_t k = 0; k < f->total; k++) {
		uint32_t node = key[k].node;
		if (!c) {
			key[k].of.number = (double)f->rank[node];
		} else if (c->kind == SL_COLUMN_NUMBER) {
			key[k].of.number = sl__row_number(c, node);
			key[k].none = isnan(key[k].of.number);
		} else if (c->kind == SL_COLUMN_DATE) {
			key[k].of.date = sl__row_date(c, node);
			key[k].none = key[k].of.date == SL_NO_DATE;
		} else {
			uint32_t code = sl__row_code(c, node);
			key[k].none = code >= c->words_count;
			if (ordered)
				key[k].of.number = code;
			else if (!key[k].none)
				key[k].of.text = c->words[code], key[k].length = (uint32_t)strlen(c->words[code]);
		}
	}
}

static int order_by_name(struct finding *f, struct key *key)
{
	const struct sl_content *data = f->r->q->part[SL_PART_DATA];
	for (uint32_t k = 0; k < f->total; k++) {
		const char *name = data ? sl_graph_name(&data->nodes, key[k].node) : NULL;
		key[k].none = !name;
		key[k].of.text = name ? name : "";
		key[k].length = (uint32_t)strlen(key[k].of.text);
	}
	return 0;
}

static int order_by(struct finding *f, struct sl__row_column *c, bool by_name, bool down)
{
	struct key *key = sl_account_zeros(f->r->account, (uint64_t)f->total + 1, sizeof *key);
	char *bytes = NULL;
	bool words = c && (c->kind == SL_COLUMN_TEXT || c->kind == SL_COLUMN_LINK);
	bool ordered = c && json_is_true(json_object_get(c->description, "ordered"));
	struct order o = {.down = down, .by = by_name || words || (c && c->kind == SL_COLUMN_CATEGORY && !ordered) ? BY_TEXT
			  : c && c->kind == SL_COLUMN_DATE ? BY_DATE : BY_NUMBER};
	int rc = key ? 0 : memory_error(f);
	for (uint32_t k = 0; k < f->total && !rc; k++)
		key[k].node = f->node[k];
	if (!rc && by_name)
		rc = order_by_name(f, key);
	else if (!rc && words)
		rc = load_texts(f, c, key, &bytes);
	else if (!rc && c)
		rc = sl__rows_load(f->r, c);
	if (!rc && !words && !by_name)
		fill_keys(f, c, key);
	if (!rc)
		rc = sl__rows_check(f->r);
	if (!rc)
		qsort_r(key, f->total, sizeof *key, compare, &o);
	for (uint32_t k = 0; k < f->total && !rc; k++)
		f->node[k] = key[k].node;
	free(bytes);
	free(key);
	return rc;
}

static int sort(struct finding *f)
{
	const char *name = f->query->sort;
	if (ranked(f->query))
		return order_by(f, NULL, false, false);
	if (!name || !strcmp(name, "node"))
		return 0;
	if (!strcmp(name, "rank"))
		return sl_error_field(f->err, SL_BADPARAM, "?sort", "sort=rank is for a search; give search, too");
	bool down = *name == '-';
	if (down && !strcmp(name, "-node")) {
		for (uint32_t a = 0, b = f->total; a + 1 < b; a++, b--) {
			uint32_t node = f->node[a];
			f->node[a] = f->node[b - 1];
			f->node[b - 1] = node;
		}
		return 0;
	}
	if (!strcmp(name + down, "name"))
		return order_by(f, NULL, true, down);
	struct sl__row_column *c = sl__rows_column(f->r, name + down, "?sort");
	if (!c)
		return f->err->code;
	if (c->kind == SL_COLUMN_IMAGE)
		return sl_error_field(f->err, SL_BADPARAM, "?sort", "column \"%.60s\" is of kind image, which has no order",
				c->name);
	return order_by(f, c, false, down);
}

/* ---- the nodes ---------------------------------------------------------------------------------------- */

static int list_nodes(struct finding *f)
{
	uint32_t *wanted = NULL, count = 0;
	int rc = 0;
	if (f->query->nodes) {
		rc = sl__rows_nodes(f->query->nodes, f->n, SL_ROWS_MOST, &wanted, &count, f->err);
		for (uint32_t k = 0; k < count && !rc; k++)
			if (kept(f, wanted[k]))
				wanted[f->total++] = wanted[k];
		f->node = wanted;
		return rc;
	}
	for (uint64_t k = 0; k < (uint64_t)f->n / 64 + 1; k++)
		f->total += (uint32_t)__builtin_popcountll(f->keep[k]);
	if (!(f->node = sl_account_alloc(f->r->account, (uint64_t)f->total + 1, sizeof *f->node)))
		return memory_error(f);
	uint32_t at = 0;
	for (uint32_t i = 0; i < f->n; i++)
		if (kept(f, i))
			f->node[at++] = i;
	return 0;
}

static int find(struct finding *f)
{
	uint64_t words = (uint64_t)f->n / 64 + 1;
	if (!(f->keep = sl_account_zeros(f->r->account, words, sizeof *f->keep)))
		return memory_error(f);
	memset(f->keep, 0xff, words * sizeof *f->keep);
	f->keep[words - 1] = (1ull << (f->n % 64)) - 1;
	int rc = f->query->search ? apply_search(f) : f->query->in ? sl_error_field(f->err, SL_BADPARAM, "?in",
			"in is for a search; "
			"give search, too") : 0;
	if (!rc)
		rc = apply_ranges(f);
	if (!rc && f->query->category)
		rc = apply_categories(f);
	if (!rc)
		rc = list_nodes(f);
	return rc ? rc : sort(f);
}

/* ---- pages -------------------------------------------------------------------------------------------- */

/* Of the version of the columns and of all that decides the order. */
static uint64_t version_of(const struct finding *f)
{
	const struct sl_rows_query *q = f->query;
	const char *const texts[] = {q->search, q->in, q->range, q->category, q->sort, q->nodes};
	unsigned char digest[16];
	uint64_t out;
	struct stat st = {0};
	crypto_generichash_state state;
	if (f->r->fd >= 0)
		fstat(f->r->fd, &st);
	struct sl_file_mark mark = sl_file_mark(&st);
	crypto_generichash_init(&state, NULL, 0, sizeof digest);
	crypto_generichash_update(&state, (const unsigned char *)&mark, sizeof mark);
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		crypto_generichash_update(&state, (const unsigned char *)(texts[k] ? texts[k] : ""),
					  texts[k] ? strlen(texts[k]) + 1 : 1);
	crypto_generichash_final(&state, digest, sizeof digest);
	memcpy(&out, digest, sizeof out);
	return out;
}

static int read_cursor(const struct finding *f, uint32_t *from)
{
	unsigned long long version;
	unsigned at;
	char end;
	*from = 0;
	if (!f->query->cursor)
		return 0;
	if (sscanf(f->query->cursor, "%u-%llx%c", &at, &version, &end) != 2)
		return sl_error_field(f->err, SL_BADPARAM, "?cursor", "cursor must be the `next` of a page");
	if (version != version_of(f))
		return sl_error_field(f->err, SL_CONFLICT, "?cursor", "the columns have changed since that page, or the "
				      "request is another one; begin again without cursor");
	*from = at;
	return 0;
}

/* The columns to show, as indices; -1 ends the list. */
static int choose(struct finding *f, int *shown)
{
	int count = 0;
	const char *list = f->query->columns;
	for (int i = 0; !list && i < f->r->count; i++)
		shown[count++] = i;
	while (list && *list) {
		struct sl__row_column *c = NULL;
		size_t length = 0;
		for (int i = 0; i < f->r->count; i++) {   /* the longest name before a ';' or the end */
			size_t own = strlen(f->r->column[i].name);
			if (own >= length && !strncmp(list, f->r->column[i].name, own) && (!list[own] || list[own] == ';')) {
				c = &f->r->column[i];
				length = own;
			}
		}
		if (!c)
			return sl_error_field(f->err, SL_BADPARAM, "?columns", "the graph has no column named \"%.60s\"; names are "
					      "separated by ';'", list);
		if (count < f->r->count)
			shown[count++] = (int)(c - f->r->column);
		list += length + (list[length] == ';');
	}
	shown[count] = -1;
	return 0;
}

static json_t *row_json(struct finding *f, uint32_t node, const int *shown, uint64_t *bytes)
{
	const struct sl_content *data = f->r->q->part[SL_PART_DATA];
	const char *name = data ? sl_graph_name(&data->nodes, node) : NULL;
	json_t *values = json_object(), *cut = NULL;
	for (; *shown >= 0; shown++) {
		struct sl__row_column *c = &f->r->column[*shown];
		bool was_cut = false;
		json_t *one = sl__row_json(f->r, c, node, f->query->cut, &was_cut);
		if (!one) {
			json_decref(values);
			json_decref(cut);
			return NULL;
		}
		*bytes += 16 + json_string_length(one);
		json_object_set_new(values, c->name, one);
		if (was_cut) {
			cut = cut ? cut : json_array();
			json_array_append_new(cut, json_string(c->name));
		}
	}
	json_t *out = json_pack("{s:I, s:o, s:o}", "node", (json_int_t)node, "name", name ? json_string(name) : json_null(),
				"values", values);
	if (cut)
		json_object_set_new(out, "cut", cut);
	return out;
}

static int answer_page(struct finding *f, struct sl__question *q)
{
	uint32_t from, at;
	uint64_t bytes = 0;
	int *shown = malloc(((size_t)f->r->count + 2) * sizeof *shown), rc = shown ? read_cursor(f, &from) :
			memory_error(f);
	json_t *rows = json_array();
	if (!rc)
		rc = choose(f, shown);
	for (at = rc ? 0 : from; !rc && at < f->total && at - from < f->query->limit && bytes < REPLY_MOST; at++) {
		json_t *row = row_json(f, f->node[at], shown, &bytes);
		if (row)
			json_array_append_new(rows, row);
		else
			rc = f->err->code;
		if (!rc && at % 256 == 0)
			rc = sl__rows_check(f->r);
	}
	free(shown);
	if (rc) {
		json_decref(rows);
		return rc;
	}
	char next[40] = "";
	if (at < f->total)
		snprintf(next, sizeof next, "%u-%llx", at, (unsigned long long)version_of(f));
	q->answer = json_pack("{s:I, s:o, s:o}", "total", (json_int_t)f->total, "next", *next ? json_string(next) :
			json_null(),
			      "rows", rows);
	return 0;
}

static int answer_ids(struct finding *f, struct sl__question *q)
{
	int rc = sl_buffer_book(&q->bytes, (size_t)f->total * sizeof *f->node, f->err);
	if (rc)
		return rc;
	if (f->total)
		memcpy(q->bytes->data, f->node, (size_t)f->total * sizeof *f->node);
	snprintf(q->etag, sizeof q->etag, "%s-%llx", q->id, (unsigned long long)version_of(f));
	return 0;
}

static int answer(struct sl__question *q)
{
	struct asked *a = q->more;
	struct sl__rows r = {0};
	struct finding f = {.r = &r, .query = &a->query, .n = q->nodes, .err = &q->err};
	int rc = sl__rows_open(&r, q, &a->account, &q->err);
	if (!rc)
		rc = find(&f);
	if (!rc)
		rc = a->query.ids ? answer_ids(&f, q) : answer_page(&f, q);
	free(f.keep);
	free(f.rank);
	free(f.node);
	sl__rows_close(&r);
	return rc;
}

/* A column that was replaced while it was read is read again, once. */
static int make_rows(struct sl__question *q)
{
	struct asked *a = q->more;
	int rc = answer(q);
	if (rc == SL_NOTFOUND)
		rc = answer(q);
	sl_account_close(&a->account);
	return rc;
}

static void asked_free(void *more)
{
	struct asked *a = more;
	for (int k = 0; k < TEXTS; k++)
		free(a->text[k]);
	sl_account_close(&a->account);
	free(a);
}

static const char **text_of(struct sl_rows_query *q, int k)
{
	const char **const field[TEXTS] = {&q->search, &q->in, &q->range, &q->category, &q->sort, &q->columns, &q->nodes,
					   &q->cursor};
	return field[k];
}

void sl_rows_find(struct sl_graphs *s, const char *id, const struct sl_rows_query *query, struct sl_request *r)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	struct asked *a = calloc(1, sizeof *a);
	bool whole = a;
	if (a)
		a->query = *query;
	for (int k = 0; a && k < TEXTS; k++) {
		const char **field = text_of(&a->query, k);
		if (*field && !(*field = a->text[k] = strdup(*field)))
			whole = false;
	}
	if (!whole) {
		if (a)
			asked_free(a);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return;
	}
	a->account = sl_bookings_account(s->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	bool data = g && (g->record.named || g->record.labels);
	sl__question_ask_more(s, id, &(struct sl_nodes_query){0}, data ? 1u << SL_PART_DATA : 0, make_rows, a, asked_free,
			r);
}
