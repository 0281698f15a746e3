/* Columns of labels: that of the upload, called `label`, and those set later, in graphs/ID.sll. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/graphs/column_values.h"
#include "daemon/graphs/nodes_internal.h"
#include "daemon/http/http.h"
#include "daemon/util/json.h"
#include "daemon/util/pool.h"

#define OWN "label"   /* the column that came with the upload */

/* ---- reading ------------------------------------------------------------------------------- */

static json_t *summary(const struct sl_column *c)
{
	json_t *out = json_copy(c->description), *categories = json_object_get(out, "categories");
	if (categories)
		json_object_set_new(out, "categories", json_integer((json_int_t)json_array_size(categories)));
	return out;
}

static int read_columns(struct sl__question *q, const char *only)
{
	char *path = sl__graphs_path(q->s, q->id, "sll");
	int rc = path ? sl_columns_read(path, q->nodes, only, &q->columns, &q->err)
		      : sl_error_set(&q->err, SL_NOMEM, "no memory for a path");
	free(path);
	return rc;
}

static int make_list(struct sl__question *q)
{
	int rc = read_columns(q, "");
	if (rc)
		return rc;
	json_t *list = json_array();
	if (q->query.node && !sl_columns_find(q->columns, OWN))
		json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", OWN, "kind", "category", "categories",
						      (json_int_t)q->query.node));
	for (int i = 0; i < q->columns->count; i++)
		if (strcmp(sl_column_kind(&q->columns->column[i]), "none") != 0)
			json_array_append_new(list, summary(&q->columns->column[i]));
	q->answer = json_pack("{s:o}", "columns", list);
	return 0;
}

void sl_nodes_columns(struct sl_graphs *s, const char *id, struct sl_request *r)
{
	const struct sl_graph_record *g = sl_graphs_find(s, id);
	struct sl_nodes_query query = {.node = g ? g->labels : 0};
	sl__question_ask(s, id, &query, 0, make_list, r);
}

/* The column as it came with the upload; value is borrowed. */
static bool own_column(const struct sl__question *q, struct sl_column *out)
{
	const struct sl_graph *nodes = &q->part[SL_PART_DATA]->nodes;
	if (strcmp(q->text, OWN) || !nodes->label)
		return false;
	json_t *list = json_array();
	for (uint32_t i = 0; i < nodes->labels; i++)
		json_array_append_new(list, json_string(nodes->label_name[i]));
	*out = (struct sl_column){json_pack("{s:s, s:s, s:o}", "name", OWN, "kind", "category", "categories", list),
				  nodes->label};
	return out->description;
}

static json_t *values_json(const struct sl__question *q, const struct sl_column *c, bool number)
{
	json_t *out = json_array();
	uint64_t end = q->query.count < q->nodes && q->query.from < q->nodes - q->query.count
		     ? q->query.from + q->query.count : q->nodes;
	for (uint64_t i = q->query.from; i < end; i++) {
		uint32_t code = ((const uint32_t *)c->value)[i];
		float x;
		memcpy(&x, &code, sizeof x);
		json_array_append_new(out, number ? x - x == 0 ? json_real((double)x) : json_null()
						  : code == SL_NO_CODE ? json_null() : json_integer(code));
	}
	return out;
}

static int give_bytes(struct sl__question *q, const struct sl_column *c)
{
	unsigned char digest[16];
	char hex[33];
	size_t bytes = (size_t)q->nodes * 4;
	q->bytes = sl_buffer_create(bytes);
	if (!q->bytes)
		return sl_error_set(&q->err, SL_NOMEM, "no memory for a reply of %zu bytes", bytes);
	memcpy(q->bytes->data, c->value, bytes);
	crypto_generichash(digest, sizeof digest, q->bytes->data, bytes, NULL, 0);
	sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
	snprintf(q->etag, sizeof q->etag, "%s-%s", q->id, hex);
	return 0;
}

static int give_column(struct sl__question *q, const struct sl_column *c)
{
	bool number = !strcmp(sl_column_kind(c), "number");
	if (q->query.binary)
		return give_bytes(q, c);
	q->answer = json_copy(c->description);
	json_object_set_new(q->answer, "from", json_integer((json_int_t)q->query.from));
	json_object_set_new(q->answer, "total", json_integer(q->nodes));
	json_object_set_new(q->answer, number ? "values" : "codes", values_json(q, c, number));
	return 0;
}

static int make_column(struct sl__question *q)
{
	struct sl_column own = {0};
	int rc = read_columns(q, q->text);
	if (rc)
		return rc;
	const struct sl_column *c = sl_columns_find(q->columns, q->text);
	if (!c && own_column(q, &own))
		c = &own;
	if (c && c->value)
		rc = give_column(q, c);
	else
		rc = sl_error_set(&q->err, SL_NOTFOUND, "graph %s has no column of labels called %.64s", q->id, q->text);
	json_decref(own.description);
	return rc;
}

void sl_nodes_column(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r)
{
	sl__question_ask(s, id, q, 1u << SL_PART_DATA, make_column, r);
}

/* ---- changing ------------------------------------------------------------------------------ */

struct column_change {
	struct sl_graphs *s;
	struct sl_request *r;      /* NULL: the client is gone */
	char id[SL_ULID_BYTES];
	uint32_t nodes;
	bool own;                  /* the upload had labels */
	bool remove;
	char *column, *kind, *path;
	struct sl__input input;
	struct sl_account account;
	json_t *summary;
	int status;
	struct sl_error err;
};

static int remove_column(struct column_change *c, struct sl_columns *columns)
{
	struct sl_column *column = sl_columns_find(columns, c->column);
	bool own = c->own && !strcmp(c->column, OWN);
	if (column ? !strcmp(sl_column_kind(column), "none") : !own)
		return sl_error_set(&c->err, SL_NOTFOUND, "graph %s has no column of labels called %.64s", c->id, c->column);
	if (own)  /* it stays in the graph's file, but is not shown */
		return sl_columns_set(columns, json_pack("{s:s, s:s}", "name", OWN, "kind", "none"), NULL, &c->err);
	sl_columns_remove(columns, column);
	return 0;
}

static int set_column(struct column_change *c, struct sl_columns *columns)
{
	json_t *description = NULL;
	void *value = NULL;
	int rc = sl__column_parse(&c->input, c->column, c->kind, c->nodes, &description, &value, &c->err);
	if (rc)
		return rc;
	struct sl_column fresh = {description, value};
	c->summary = summary(&fresh);
	return sl_columns_set(columns, description, value, &c->err);
}

static void change_work(void *arg)
{
	struct column_change *c = arg;
	struct sl_columns *columns = NULL;
	sl_account_open(&c->account);
	c->status = sl_columns_read(c->path, c->nodes, NULL, &columns, &c->err);
	if (!c->status)
		c->status = c->remove ? remove_column(c, columns) : set_column(c, columns);
	if (!c->status)
		c->status = sl_columns_write(c->path, columns, &c->err);
	if (c->status && c->account.refusal.code)
		c->err = c->account.refusal;
	sl_columns_free(columns);
	sl_account_open(NULL);
	sl_account_close(&c->account);
}

static void change_free(struct column_change *c)
{
	if (c->input.path)
		unlink(c->input.path);
	free(c->input.path);
	free(c->input.data);
	free(c->column);
	free(c->kind);
	free(c->path);
	json_decref(c->summary);
	free(c);
}

static void change_done(void *arg)
{
	struct column_change *c = arg;
	struct sl_graphs *s = c->s;
	struct sl__graph *g = sl__graphs_find(s, c->id);
	if (g)
		g->changing--;
	else  /* deleted meanwhile */
		unlink(c->path);
	if (c->r && c->status)
		sl_reply_error(c->r, &c->err);
	else if (c->r && c->remove)
		sl_reply_empty(c->r, 204);
	else if (c->r)
		sl_reply_json(c->r, 200, json_incref(c->summary));
	change_free(c);
	sl__graphs_work_end(s);
}

static int fill_change(struct column_change *c, struct sl__graph *g, const char *column, const char *kind,
		       struct sl_request *r, struct sl_error *err)
{
	struct sl_part *part = c->remove ? NULL : sl_request_part(r, "file");
	int rc = sl_name_check(column, "", err);
	if (rc)
		return rc;
	if (!c->remove && !part)
		return sl_error_set(err, SL_BADPARAM, "the form has no part named 'file'");
	memcpy(c->id, g->record.id, sizeof c->id);
	c->nodes = g->record.nodes;
	c->own = g->record.labels > 0;
	c->account = sl_budget_account(&c->s->budget);
	c->column = strdup(column);
	c->kind = kind ? strdup(kind) : NULL;
	c->path = sl__graphs_path(c->s, c->id, "sll");
	if (!c->column || (kind && !c->kind) || !c->path)
		return sl_error_set(err, SL_NOMEM, "no memory for the change");
	if (part) {
		c->input = (struct sl__input){.path = sl_part_take(part), .data = part->data, .bytes = part->bytes};
		part->data = NULL;
		snprintf(c->input.name, sizeof c->input.name, "%s", part->filename ? part->filename : "labels");
	}
	return 0;
}

static void change(struct sl_graphs *s, const char *id, const char *column, const char *kind, bool remove,
		   struct sl_request *r)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	struct sl_error err;
	if (!g || g->changing) {
		sl_reply_problem(r, g ? SL_CONFLICT : SL_NOTFOUND,
				 g ? "graph %.64s is being changed at this moment; try again" : "there is no graph %.64s", id);
		return;
	}
	struct column_change *c = calloc(1, sizeof *c);
	if (!c) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the change");
		return;
	}
	c->s = s;
	c->remove = remove;
	if (fill_change(c, g, column, kind, r, &err)) {
		sl_reply_error(r, &err);
		change_free(c);
		return;
	}
	c->r = r;
	g->changing++;
	sl__graphs_work_begin(s);
	sl_park(&c->r, 0);
	sl_pool_run(s->d->loop, change_work, change_done, c);
}

void sl_nodes_put_column(struct sl_graphs *s, const char *id, const char *column, const char *kind,
			 struct sl_request *r)
{
	change(s, id, column, kind, false, r);
}

void sl_nodes_delete_column(struct sl_graphs *s, const char *id, const char *column, struct sl_request *r)
{
	change(s, id, column, NULL, true, r);
}
