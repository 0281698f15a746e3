/* The list of columns, and the values of one. */
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "daemon/graphs/columns/column_kinds.h"
#include "daemon/graphs/rows/rows_internal.h"
#include "daemon/json/json.h"
#include "daemon/users/bookings.h"
#include "daemon/users/users.h"

struct asked {
	struct sl_values_query query;
	char *column;
	struct sl_account account;
};

static void asked_free(void *more)
{
	struct asked *a = more;
	free(a->column);
	sl_account_close(&a->account);
	free(a);
}

/* ---- the list ------------------------------------------------------------------------------------- */

/* A column as in the list: categories are counted. Labels that were not sent as columns are counted as far as it is
 * known. */
static json_t *listed(const struct sl__row_column *c)
{
	static const char *const counted[] = {"read", "missing", "unmatched", NULL};
	json_t *out = sl__kinds_shown(c->description, false);
	json_object_del(out, "main");
	if (c->kind == SL_COLUMN_CATEGORY)
		json_object_set_new(out, "categories", json_integer(c->words_count));
	for (const char *const *key = counted; *key; key++)
		if (!json_object_get(out, *key))
			json_object_set_new(out, *key, json_null());
	if (!json_object_get(out, "examples"))
		json_object_set_new(out, "examples", json_array());
	json_object_set_new(out, "stored", json_integer(c->column && sl_column_place(c->column) >= 0 ?
			    json_integer_value(json_object_get(c->description, "stored")) : 0));
	return out;
}

static int make_list(struct sl__question *q)
{
	struct asked *a = q->more;
	struct sl__rows r = {0};
	json_t *list = json_array();
	int rc = sl__rows_open(&r, q, &a->account, &q->err);
	for (int i = 0; i < r.count && !rc; i++) {
		json_t *one = listed(&r.column[i]);
		if (r.column[i].column && sl_column_place(r.column[i].column) < 0)
			json_object_set_new(one, "stored", json_integer((json_int_t)q->nodes * 4));
		json_array_append_new(list, one);
	}
	sl__rows_close(&r);
	q->answer = json_pack("{s:o}", "columns", list);
	return rc;
}

/* ---- values --------------------------------------------------------------------------------------- */

static int give_binary(struct sl__rows *r, struct sl__row_column *c, struct sl__question *q)
{
	bool wide = c->kind == SL_COLUMN_DATE || c->wide;
	if (c->kind != SL_COLUMN_NUMBER && c->kind != SL_COLUMN_DATE && c->kind != SL_COLUMN_CATEGORY)
		return sl_error_set(r->err, SL_CONFLICT, "column \"%.60s\" is of kind %s; ask for its values as JSON", c->name,
				    sl_column_kind_name(c->kind));
	size_t bytes = (size_t)q->nodes * (wide ? 8 : 4);
	unsigned char digest[16];
	char hex[33];
	int rc = sl__rows_load(r, c);
	if (!rc)
		rc = sl_buffer_book(&q->bytes, bytes, r->err);
	if (rc)
		return rc;
	memcpy(q->bytes->data, c->all, bytes);
	crypto_generichash(digest, sizeof digest, q->bytes->data, bytes, NULL, 0);
	sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
	snprintf(q->etag, sizeof q->etag, "%s-%s", q->id, hex);
	return 0;
}

#define REPLY_MOST (8u << 20)

static int give_page(struct sl__rows *r, struct sl__row_column *c, const struct asked *a, struct sl__question *q)
{
	json_t *values = json_array();
	uint32_t from = a->query.from < q->nodes ? a->query.from : q->nodes, at = from;
	uint32_t most = a->query.count < q->nodes - from ? a->query.count : q->nodes - from;
	uint64_t bytes = 0;
	for (; at - from < most && bytes < REPLY_MOST; at++) {
		bool cut = false;
		json_t *one = sl__row_json(r, c, at, 0, &cut);
		if (!one || (at % 1024 == 0 && sl__rows_check(r))) {
			json_decref(one);
			json_decref(values);
			return r->err->code;
		}
		bytes += json_string_length(one);
		json_array_append_new(values, one);
	}
	q->answer = listed(c);
	if (c->kind == SL_COLUMN_CATEGORY) {
		json_t *words = json_array();
		for (uint32_t k = 0; k < c->words_count; k++)
			json_array_append_new(words, json_string(c->words[k]));
		json_object_set_new(q->answer, "categories", words);
	}
	json_object_set_new(q->answer, "from", json_integer(from));
	json_object_set_new(q->answer, "total", json_integer(q->nodes));
	json_object_set_new(q->answer, "next", at < q->nodes ? json_integer(at) : json_null());
	json_object_set_new(q->answer, "values", values);
	return 0;
}

static int answer_column(struct sl__question *q)
{
	struct asked *a = q->more;
	struct sl__rows r = {0};
	int rc = sl__rows_open(&r, q, &a->account, &q->err);
	struct sl__row_column *c = rc ? NULL : sl__rows_column(&r, a->column, NULL);
	if (!rc)
		rc = !c ? q->err.code : a->query.binary ? give_binary(&r, c, q) : give_page(&r, c, a, q);
	sl__rows_close(&r);
	return rc;
}

static int make_column(struct sl__question *q)
{
	struct asked *a = q->more;
	int rc = answer_column(q);
	sl_account_close(&a->account);
	return rc;
}

/* ---- requests ----------------------------------------------------------------------------------------- */

static void ask(struct sl_graphs *s, const char *id, const struct sl_values_query *query,
		int (*make)(struct sl__question *q), struct sl_request *r)
{
	const struct sl_graph_record *g = sl_graphs_find(s, id);
	struct asked *a = calloc(1, sizeof *a);
	if (a && query)
		a->query = *query;
	if (!a || (query && !(a->column = strdup(query->column)))) {
		free(a);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return;
	}
	a->account = sl_bookings_account(s->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	sl__question_ask_more(s, id, &(struct sl_nodes_query){0}, g && g->labels ? 1u << SL_PART_DATA : 0, make, a,
			asked_free, r);
}

void sl_rows_columns(struct sl_graphs *s, const char *id, struct sl_request *r)
{
	ask(s, id, NULL, make_list, r);
}

void sl_rows_column(struct sl_graphs *s, const char *id, const struct sl_values_query *query, struct sl_request *r)
{
	ask(s, id, query, make_column, r);
}
