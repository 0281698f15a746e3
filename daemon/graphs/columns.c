/* Columns of labels: the column of the upload, and columns that were set later, in graphs/ID.sll. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/graphs/columns/column_kinds.h"
#include "daemon/graphs/columns/column_values.h"
#include "daemon/graphs/more_labels.h"
#include "daemon/graphs/nodes_internal.h"
#include "daemon/graphs/rows/rows.h"
#include "daemon/graphs/rows/text_index.h"
#include "daemon/http/http.h"
#include "daemon/users/bookings.h"
#include "daemon/users/limits.h"
#include "daemon/users/users.h"
#include "daemon/json/json.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

/* ---- reading ------------------------------------------------------------------------------- */

static int read_columns(struct sl__question *q, const char *only)
{
	char *path = sl__graphs_path(q->s, q->id, "sll");
	int rc = path ? sl_columns_read(path, q->nodes, only, &q->columns, &q->err)
		      : sl_error_memory(&q->err, "a path");
	free(path);
	return rc;
}

static void add_index_bytes(const struct sl_graphs *s, struct sl__graph *g)
{
	char *path = sl__graphs_path(s, g->record.id, "index");
	g->column_bytes += path ? sl__index_bytes(path) : 0;
	free(path);
}

void sl__graph_read_columns(const struct sl_graphs *s, struct sl__graph *g)
{
	struct sl_columns *columns = NULL;
	struct sl_error err;
	char *path = sl__graphs_path(s, g->record.id, "sll");
	if (path && !sl_columns_describe(path, g->record.nodes, &columns, &err))
		g->columns = sl__columns_summaries(columns);
	else if (path)
		sl_log_error("graphs", "labels of %s (%s): %s", g->record.id, g->record.name, err.detail);
	g->column_bytes = path ? sl_columns_bytes(path, columns) : 0;
	if (columns && columns->count)
		add_index_bytes(s, g);
	sl_columns_free(columns);
	free(path);
}

static bool has_column(const struct sl__graph *g, const char *name)
{
	json_t *one;
	size_t i;
	json_array_foreach(g->columns, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "name")), name))
			return true;
	return false;
}

json_t *sl_graph_columns_shown(struct sl_graphs *s, const char *id, bool (*shows)(void *arg, const char *column),
			       void *arg)
{
	const struct sl__graph *g = sl__graphs_find(s, id);
	json_t *list = g ? sl__graph_columns(g) : json_array();
	for (size_t i = json_array_size(list); i-- > 0;) {
		json_t *one = json_array_get(list, i);
		json_object_del(one, "auto");
		if (!shows(arg, json_string_value(json_object_get(one, "name"))))
			json_array_remove(list, i);
	}
	if (g)
		sl__columns_mark(list, g->record.labels && !has_column(g, g->record.label_title) ? g->record.label_title : "",
			    g->record.nodes);
	return list;
}

enum sl_column_choice sl_column_choose(struct sl_graphs *s, const char *id, char *name, size_t bytes)
{
	const struct sl__graph *g = sl__graphs_find(s, id);
	json_t *list = g ? sl__graph_columns(g) : NULL, *one;
	const char *chosen = NULL;
	size_t i;
	json_array_foreach(list, i, one)
		if (json_object_get(one, "auto"))
			chosen = json_string_value(json_object_get(one, "name"));
	snprintf(name, bytes, "%s", chosen ? chosen : "");
	enum sl_column_choice choice = !chosen ? g && g->record.labels ? SL_CHOICE_DENSITY : SL_CHOICE_USUAL
				       : g->record.labels && !has_column(g,
						chosen) ? SL_CHOICE_USUAL : SL_CHOICE_COLUMN;
	json_decref(list);
	return choice;
}

/* Makes the list from the file, not from the record, so that damage is an error. */
static int make_list(struct sl__question *q)
{
	int rc = read_columns(q, "");
	if (rc)
		return rc;
	json_t *all = sl__columns_summaries(q->columns);
	q->answer = json_pack("{s:o}", "columns", sl__columns_shown(q->own, q->query.node, q->nodes, all));
	json_decref(all);
	return 0;
}

void sl_nodes_columns(struct sl_graphs *s, const char *id, struct sl_request *r)
{
	const struct sl_graph_record *g = sl_graphs_find(s, id);
	struct sl_nodes_query query = {.node = g ? g->labels : 0};
	sl__question_ask(s, id, &query, 0, make_list, r);
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
	int code = sl_buffer_book(&q->bytes, bytes, &q->err);
	if (code)
		return code;
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
	q->answer = sl__kinds_shown(c->description, true);
	json_object_del(q->answer, "main");
	json_object_set_new(q->answer, "from", json_integer((json_int_t)q->query.from));
	json_object_set_new(q->answer, "total", json_integer(q->nodes));
	json_object_set_new(q->answer, number ? "values" : "codes", values_json(q, c, number));
	return 0;
}

static int make_column(struct sl__question *q)
{
	const struct sl_column_source from = {
		.path = sl__graphs_path(q->s, q->id, "sll"), .id = q->id, .own = q->own, .nodes = q->nodes,
		.data = q->part[SL_PART_DATA], .neighbours = q->part[SL_PART_NEIGHBOURS],
	};
	struct sl_column_read c;
	int rc = sl_column_read(&c, &from, q->text, &q->err);
	if (!rc)
		rc = give_column(q, &c.column);
	sl_column_read_finish(&c);
	free((char *)from.path);
	return rc;
}

static bool needs_neighbours(const struct sl__graph *g, const char *name)
{
	bool own = g->record.labels && !strcmp(g->record.label_title, SL_DEGREE);
	return g->record.kind != SL_KIND_GRAPH && !strcmp(name, SL_DEGREE) && !own && !has_column(g, SL_DEGREE);
}

char *sl_graphs_columns_path(const struct sl_graphs *s, const char *id)
{
	return sl__graphs_path(s, id, "sll");
}

bool sl_column_needs_neighbours(struct sl_graphs *s, const char *id, const char *name)
{
	const struct sl__graph *g = sl__graphs_find(s, id);
	return g && needs_neighbours(g, name);
}

void sl_nodes_column(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r)
{
	const struct sl__graph *g = sl__graphs_find(s, id);
	unsigned parts = 1u << SL_PART_DATA | (g && needs_neighbours(g, q->text) ? 1u << SL_PART_NEIGHBOURS : 0);
	sl__question_ask(s, id, q, parts, make_column, r);
}

/* ---- changing ------------------------------------------------------------------------------ */

struct column_change {
	struct sl_graphs *s;
	struct sl_request *r;      /* NULL: the client is gone */
	char id[SL_ULID_BYTES];
	uint32_t nodes;
	bool own;                  /* the upload had labels, in a column of this title */
	char title[64];
	bool remove;
	char *column, *kind, *only, *path;  /* column NULL: all columns of the file */
	char *rename;              /* the column's new name; NULL: it keeps its name */
	bool any;                  /* columns of any kind; `kind` may be a list */
	char *index_path;          /* of the index of texts */
	bool keeps;                /* the column keeps its values: it is renamed, or its categories get an order */
	struct sl__column_order order;   /* of the categories; owned */
	struct sl_content *content;  /* for the nodes' names; NULL: they have none */
	struct sl_uploaded input;
	struct sl_account account;
	uint64_t max_bytes;        /* of the input, decompressed */
	json_t *all;               /* of all columns, as they are now */
	json_t *set;               /* names of the columns of a file that were set, or NULL */
	json_t *taken;             /* what was taken of a text, or NULL */
	uint64_t bytes;            /* of their file */
	int status;
	struct sl_error err;
};

static int remove_column(struct column_change *c, struct sl_columns *columns)
{
	struct sl_column *column = sl_columns_find(columns, c->column);
	bool own = c->own && !strcmp(c->column, c->title);
	if (column ? !strcmp(sl_column_kind(column), "none") : !own)
		return sl_error_set(&c->err, SL_NOTFOUND, "graph %s has no column of labels named %.64s", c->id,
				    c->column);
	if (own)  /* it stays in the graph's file, but is not shown */
		return sl_columns_set(columns, json_pack("{s:s, s:s}", "name", c->title, "kind", "none"), NULL, &c->err);
	sl_columns_remove(columns, column);
	return 0;
}

/* Copies the labels of the upload, which are in the graph's file, to a column of this name. */
static int copy_own(struct column_change *c, struct sl_columns *columns, const char *name)
{
	const struct sl_graph *nodes = &c->content->nodes;
	size_t bytes = (size_t)c->nodes * sizeof *nodes->label;
	uint32_t *value = malloc(bytes);
	json_t *words = json_array();
	if (!value || !words) {
		free(value);
		json_decref(words);
		return sl_error_memory(&c->err, "the change");
	}
	memcpy(value, nodes->label, bytes);
	for (uint32_t k = 0; k < nodes->labels; k++)
		json_array_append_new(words, json_string(nodes->label_name[k]));
	json_t *description = json_pack("{s:s, s:s, s:o}", "name", name, "kind", "category", "categories", words);
	return sl_columns_set(columns, description, value, &c->err);
}

/* Gives the labels of the upload a new name; their own one is hidden. */
static int rename_own(struct column_change *c, struct sl_columns *columns)
{
	int rc = copy_own(c, columns, c->rename);
	json_t *hidden = rc ? NULL : json_pack("{s:s, s:s}", "name", c->title, "kind", "none");
	return rc ? rc : sl_columns_set(columns, hidden, NULL, &c->err);
}

static int rename_column(struct column_change *c, struct sl_columns *columns)
{
	struct sl_column *column = sl_columns_find(columns, c->column), *other = sl_columns_find(columns, c->rename);
	bool own = c->own && !strcmp(c->column, c->title) && !column;
	bool taken = other ? strcmp(sl_column_kind(other), "none") != 0 : c->own && !strcmp(c->rename, c->title);
	if (column ? !strcmp(sl_column_kind(column), "none") : !own)
		return sl_error_set(&c->err, SL_NOTFOUND, "graph %s has no column of labels named %.64s", c->id,
				    c->column);
	if (taken)
		return sl_error_field(&c->err, SL_CONFLICT, "/name", "graph %s has a column of labels named %.64s already",
				      c->id, c->rename);
	if (own)
		return rename_own(c, columns);
	json_object_set_new(column->description, "name", json_string(c->rename));
	if (other && other != column)  /* it hides the upload's labels, which this column replaces now */
		sl_columns_remove(columns, other);
	if (c->own && !strcmp(c->column, c->title))  /* it had replaced the upload's, which stay hidden */
		return sl_columns_set(columns, json_pack("{s:s, s:s}", "name", c->title, "kind", "none"), NULL, &c->err);
	return 0;
}

/* Gives the categories their order and colours. The labels of the upload are copied first, and stay the main ones. */
static int arrange_column(struct column_change *c, struct sl_columns *columns)
{
	struct sl_column *column = sl_columns_find(columns, c->column);
	if (!column && c->own && !strcmp(c->column, c->title)) {
		if (copy_own(c, columns, c->title))
			return c->err.code;
		column = sl_columns_find(columns, c->title);
		json_object_set_new(column->description, "main", json_true());
	}
	if (!column || !strcmp(sl_column_kind(column), "none"))
		return sl_error_set(&c->err, SL_NOTFOUND, "graph %s has no column of labels named %.64s", c->id,
				    c->column);
	return sl__column_order_apply(column, c->nodes, &c->order, &c->account, &c->err);
}

static int keep_column(struct column_change *c, struct sl_columns *columns)
{
	int rc = c->order.categories || c->order.colors ? arrange_column(c, columns) : 0;
	return !rc && c->rename ? rename_column(c, columns) : rc;
}

static int set_column(struct column_change *c, struct sl_columns *columns)
{
	json_t *description = NULL;
	void *value = NULL;
	const struct sl__column_wish wish = {.name = c->column, .only = c->only, .kind = c->kind,
					    .account = &c->account,
					    .options = {.max_bytes = c->max_bytes, .cancel = &c->s->cancel}};
	struct sl_label_nodes nodes = {.n = c->nodes, .ranks = c->any};
	if (c->content) {
		nodes.name_bytes = c->content->nodes.name_bytes;
		nodes.name_at = c->content->nodes.name_at;
	}
	if (c->any && c->column)
		return sl__kinds_column(&c->input, &wish, c->kind, &nodes, c->path, columns, &c->taken, &c->err);
	if (c->any)
		return sl__kinds_table(&c->input, &wish, c->kind, &nodes, c->path, columns, &c->set, &c->taken, &c->err);
	if (!c->column)
		return sl__columns_parse(&c->input, &wish, &nodes, columns, &c->set, &c->taken, &c->err);
	int rc = sl__column_parse(&c->input, &wish, &nodes, &description, &value, &c->taken, &c->err);
	if (rc)
		return rc;
	return sl_columns_set(columns, description, value, &c->err);
}

/* Files of values that were written for a change that failed. */
static void clear_places(struct column_change *c)
{
	struct sl_columns *columns = NULL;
	struct sl_error err;
	if (!sl_columns_describe(c->path, c->nodes, &columns, &err))
		sl_columns_clear_places(c->path, columns);
	sl_columns_free(columns);
}

static void change_work(void *arg)
{
	struct column_change *c = arg;
	struct sl_columns *columns = NULL;
	c->status = sl_columns_read(c->path, c->nodes, NULL, &columns, &c->err);
	if (!c->status)
		c->status = c->remove ? remove_column(c, columns) : c->keeps ? keep_column(c, columns) :
			    set_column(c, columns);
	if (!c->status && c->index_path)
		c->status = sl__index_settle(c->index_path, c->path, columns, &c->s->cancel, &c->err);
	if (!c->status)
		c->status = sl_columns_write(c->path, columns, &c->bytes, &c->err);
	else if (c->any)
		clear_places(c);
	c->bytes += c->index_path ? sl__index_bytes(c->index_path) : 0;
	if (!c->status)
		c->all = sl__columns_summaries(columns);
	if (c->status && c->account.refusal.code)
		c->err = c->account.refusal;
	sl_columns_free(columns);
	sl_account_close(&c->account);
	sl_uploaded_finish(&c->input);
}

static void change_free(struct column_change *c)
{
	sl_uploaded_finish(&c->input);
	free(c->column);
	free(c->kind);
	free(c->only);
	free(c->rename);
	free(c->path);
	free(c->index_path);
	json_decref((json_t *)c->order.categories);
	json_decref((json_t *)c->order.colors);
	json_decref(c->all);
	json_decref(c->set);
	json_decref(c->taken);
	free(c);
}

/* The column of this name in a list; a new reference. */
static json_t *column_of(const json_t *all, const char *name)
{
	size_t i;
	json_t *one;
	json_array_foreach(all, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "name")), name))
			return json_incref(one);
	return NULL;
}

static void append_shown(json_t *list, const struct column_change *c, const char *name)
{
	json_t *column = column_of(c->all, name);
	json_array_append_new(list, sl__kinds_shown(column, !c->any));
	json_decref(column);
}

/* The reply: the column, or the columns that were set; and what was taken of a text. */
static json_t *changed_json(const struct column_change *c)
{
	json_t *out, *list;
	size_t i;
	json_t *name;
	if (c->column) {
		json_t *column = column_of(c->all, c->rename ? c->rename : c->column);
		out = sl__kinds_shown(column, !c->any);
		json_object_del(out, "main");
		json_decref(column);
	} else {
		list = json_array();
		json_array_foreach(c->set, i, name)
			append_shown(list, c, json_string_value(name));
		out = json_pack("{s:o}", "columns", list);
	}
	if (c->taken)
		json_object_set(out, "taken", c->taken);
	return out;
}

static void noted(void *arg, int status, const struct sl_error *err)
{
	if (status)
		sl_log_warning("graphs", "what was taken of a file of labels is not in its graph's record: %s", err->detail);
}

/* Keeps what was taken of a file of labels in the graph's record, where all its users find it. */
static void note_taken(struct sl_graphs *s, struct sl__graph *g, json_t *taken)
{
	struct sl_error err;
	json_decref(g->labels_taken);
	g->labels_taken = json_incref(taken);
	int rc = sl__graph_put(s, g, noted, NULL);
	if (rc) {
		sl_error_memory(&err, "the record");
		noted(NULL, rc, &err);
	}
}

static void remove_files(const struct column_change *c)
{
	unlink(c->path);
	unlink(c->index_path);
	sl_columns_clear_places(c->path, &(struct sl_columns){.count = 0});
}

static void change_done(void *arg)
{
	struct column_change *c = arg;
	struct sl_graphs *s = c->s;
	struct sl__graph *g = sl__graphs_find(s, c->id);
	if (g)
		g->changing--;
	else  /* deleted meanwhile */
		remove_files(c);
	if (g && !c->status) {
		json_decref(g->columns);
		g->columns = json_incref(c->all);
		g->column_bytes = c->bytes;
		if (c->taken && !c->column && !c->any)
			note_taken(s, g, c->taken);
		sl__graph_changed(s, c->id);
	}
	if (c->r && c->status)
		sl_reply_error(c->r, &c->err);
	else if (c->r && c->remove)
		sl_reply_empty(c->r, 204);
	else if (c->r)
		sl_reply_json(c->r, 200, changed_json(c));
	sl_graphs_release(s, c->content);
	change_free(c);
	sl__graphs_work_end(s);
}

static int fill_change(struct column_change *c, struct sl__graph *g, const struct sl__column_wish *wish,
		       struct sl_request *r, struct sl_error *err)
{
	const char *column = wish->name, *kind = wish->kind;
	struct sl_part *part = c->remove || c->keeps ? NULL : sl_request_part(r, "file");
	int rc = column ? sl_name_check(column, "", err) : 0;
	if (rc)
		return rc;
	if (!c->remove && !c->keeps && !part)
		return sl_error_set(err, SL_BADPARAM, "the form has no part named 'file'");
	for (int i = 0; part && i < sl_request_parts(r); i++)
		if (sl_request_part_at(r, i) != part)
			return sl_error_set(err, SL_BADPARAM, "The form must have one part, named 'file'.");
	memcpy(c->id, g->record.id, sizeof c->id);
	c->nodes = g->record.nodes;
	c->own = g->record.labels > 0;
	memcpy(c->title, g->record.label_title, sizeof c->title);
	c->account = sl_bookings_account(c->s->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	c->max_bytes = (uint64_t)c->s->d->config.max_decompressed_bytes;
	bool other_name = (c->remove || c->keeps) && c->own && !strcmp(column, SL__OWN_LABELS) &&
			  !has_column(g, column);
	c->column = column ? strdup(other_name ? c->title : column) : NULL;
	c->kind = kind ? strdup(kind) : NULL;
	c->only = wish->only ? strdup(wish->only) : NULL;
	c->path = sl__graphs_path(c->s, c->id, "sll");
	c->index_path = sl__graphs_path(c->s, c->id, "index");
	c->any = wish->any;
	c->rename = wish->rename ? strdup(wish->rename) : NULL;
	c->order.categories = json_incref((json_t *)wish->order.categories);
	c->order.colors = json_incref((json_t *)wish->order.colors);
	if ((wish->rename && !c->rename) || (column && !c->column) || (kind && !c->kind) || (wish->only && !c->only) ||
	    !c->path || !c->index_path)
		return sl_error_memory(err, "the change");
	if (part)
		sl_uploaded_of(r, &c->input, part, c->any ? "columns" : "labels");
	return 0;
}

#define WORD_BYTES 24  /* longest value that may be a number; longer ones are words, which are stored */

/* True if the column exceeds the disk limit of the user or the graph's project. Its size is estimated: a code or a
 * number for each node, and words. */
static bool refuse(struct column_change *c, const struct sl_request *r, struct sl_limit_hit *hit)
{
	uint64_t plain = (uint64_t)WORD_BYTES * c->nodes, sent = c->input.bytes;
	uint64_t more = 4ull * c->nodes + (sent > plain ? sent - plain : 0);
	return sl_graphs_exceed(c->s, sl_request_who(r)->account, more, hit) ||
	       sl_graphs_exceed(c->s, sl_users_project_account(c->s->d->users, c->id), more, hit);
}

/* Makes the change even if the client has disconnected. */
static bool always(void *arg)
{
	return true;
}

static void start_work(struct column_change *c)
{
	sl_pool_answer(c->s->d->loop, sl_request_whose(c->r), always, change_work, change_done, c);
}

/* The graph is in memory, with its names. */
static void names_ready(void *arg, struct sl_content *content, const struct sl_error *err)
{
	struct column_change *c = arg;
	c->content = content;
	if (content) {
		start_work(c);
		return;
	}
	c->status = err->code;
	c->err = *err;
	change_done(c);
}

static void change(struct sl_graphs *s, const char *id, const struct sl__column_wish *wish, bool remove,
		   struct sl_request *r)
{
	struct sl_limit_hit hit;
	struct sl__graph *g = sl__graphs_find(s, id);
	struct sl_error err;
	if (!g || g->changing) {
		sl_reply_problem(r, g ? SL_CONFLICT : SL_NOTFOUND,
				 g ? "graph %.64s is being changed at this moment; try again" : "there is no graph %.64s", id);
		return;
	}
	struct column_change *c = calloc(1, sizeof *c);
	if (!c) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the change.");
		return;
	}
	c->s = s;
	c->remove = remove;
	c->keeps = wish->rename || wish->order.categories || wish->order.colors;
	if (fill_change(c, g, wish, r, &err)) {
		sl_reply_error(r, &err);
		change_free(c);
		return;
	}
	if (!remove && !c->keeps && refuse(c, r, &hit)) {
		sl_reply_limit(r, &hit);
		change_free(c);
		return;
	}
	c->r = r;
	g->changing++;
	sl__graphs_work_begin(s);
	sl_park(&c->r, 0);
	if (remove || (c->keeps ? !c->own : !g->record.named))
		start_work(c);
	else if ((c->status = sl_graphs_acquire(s, c->id, SL_PART_DATA, names_ready, c, &c->err)))
		change_done(c);
}

void sl_nodes_put_column(struct sl_graphs *s, const char *id, const char *column, const char *only, const char *kind,
			 struct sl_request *r)
{
	const struct sl__column_wish wish = {.name = column, .only = only, .kind = kind};
	change(s, id, &wish, false, r);
}

void sl_rows_put(struct sl_graphs *s, const char *id, const char *column, const char *only, const char *kinds,
		 struct sl_request *r)
{
	const struct sl__column_wish wish = {.name = column, .only = only, .kind = kinds, .any = true};
	change(s, id, &wish, false, r);
}

void sl_nodes_arrange_column(struct sl_graphs *s, const char *id, const char *column, const json_t *categories,
			     const json_t *colors, const char *name, struct sl_request *r)
{
	const struct sl__column_wish wish = {.name = column, .rename = name, .order = {categories, colors}};
	change(s, id, &wish, false, r);
}

void sl_nodes_delete_column(struct sl_graphs *s, const char *id, const char *column, struct sl_request *r)
{
	const struct sl__column_wish wish = {.name = column};
	change(s, id, &wish, true, r);
}
