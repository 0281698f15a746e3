/* Answers queries of names, nodes, neighbours and edges: loads the graph, then makes the answer on the pool. */
#include "daemon/graphs/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/graphs/nodes_internal.h"
#include "daemon/http/http.h"
#include "daemon/json/json.h"
#include "daemon/util/buffer.h"
#include "daemon/util/caseless.h"
#include "daemon/util/pool.h"

/* ---- a query, from request to reply ---------------------------------------------------- */

static void question_free(struct sl__question *q)
{
	for (int p = 0; p < SL_PARTS; p++)
		sl_graphs_release(q->s, q->part[p]);
	sl_buffer_unref(q->bytes);
	free(q->text);
	if (q->more_free)
		q->more_free(q->more);
	struct sl_graphs *s = q->s;
	free(q);
	sl__graphs_work_end(s);
}

static void reply(struct sl__question *q)
{
	if (q->status) {
		sl_reply_error(q->r, &q->err);
		return;
	}
	sl_reply_header(q->r, "Vary", "Accept");
	const char *type = q->media_type ? q->media_type : q->etag[0] ? "application/octet-stream" : "application/json";
	sl_reply_buffer(q->r, type, q->etag[0] ? q->etag : NULL,
			q->bytes);
	q->bytes = NULL;
}

static void made(void *arg)
{
	struct sl__question *q = arg;
	if (q->r)
		reply(q);
	question_free(q);
}

static bool wanted(void *arg)
{
	const struct sl__question *q = arg;
	return q->r != NULL;
}

static void make(void *arg)
{
	struct sl__question *q = arg;
	q->status = q->make(q);
	if (!q->status && !q->bytes) {
		size_t length = 0;
		char *text = q->more ? sl_json_text_exact(q->answer, &length) : sl_json_text(q->answer, &length);
		q->status = text ? sl_buffer_of(&q->bytes, text, length, &q->err)
				 : sl_error_memory(&q->err, "the reply");
	}
	/* freed on the pool, because that also takes long with millions of names */
	json_decref(q->answer);
	sl_columns_free(q->columns);
	q->answer = NULL;
	q->columns = NULL;
}

static void fetch(struct sl__question *q);

static void fetched(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct sl__question *q = arg;
	if (!c) {
		q->status = err->code;
		q->err = *err;
		made(q);
		return;
	}
	q->part[q->fetching] = c;
	q->wanted &= ~(1u << q->fetching);
	fetch(q);
}

/* Fetches the next part that is needed; if there is none, starts the work on the pool. */
static void fetch(struct sl__question *q)
{
	for (int p = 0; p < SL_PARTS; p++) {
		if (!(q->wanted & 1u << p))
			continue;
		q->fetching = (enum sl_content_part)p;
		q->status = sl_graphs_acquire(q->s, q->id, q->fetching, fetched, q, &q->err);
		if (q->status)
			made(q);
		return;
	}
	sl_pool_answer(q->s->d->loop, sl_request_whose(q->r), wanted, make, made, q);
}

void sl__question_ask(struct sl_graphs *s, const char *id, const struct sl_nodes_query *query, unsigned parts,
		      int (*make_answer)(struct sl__question *q), struct sl_request *r)
{
	sl__question_ask_more(s, id, query, parts, make_answer, NULL, NULL, r);
}

void sl__question_ask_more(struct sl_graphs *s, const char *id, const struct sl_nodes_query *query, unsigned parts,
			   int (*make_answer)(struct sl__question *q), void *more, void (*more_free)(void *more),
			   struct sl_request *r)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	struct sl__question *q = g ? calloc(1, sizeof *q) : NULL;
	if (!q || (query->text && !(q->text = strdup(query->text)))) {
		free(q);
		if (more_free)
			more_free(more);
		sl_reply_problem(r, g ? SL_NOMEM : SL_NOTFOUND,
				 g ? SL_NO_MEMORY "the request." : "there is no graph %.64s", id);
		return;
	}
	q->s = s;
	q->r = r;
	q->query = *query;
	q->query.text = q->text;
	memcpy(q->id, g->record.id, sizeof q->id);
	q->kind = g->record.kind;
	q->nodes = g->record.nodes;
	memcpy(q->own, g->record.label_title, sizeof q->own);
	q->make = make_answer;
	q->more = more;
	q->more_free = more_free;
	q->wanted = parts;
	sl__graphs_work_begin(s);
	sl_park(&q->r, 0);
	fetch(q);
}

/* ---- names ----------------------------------------------------------------------------- */

static const char *name_of(const struct sl__question *q, uint32_t i, char number[16])
{
	const char *name = sl_graph_name(&q->part[SL_PART_DATA]->nodes, i);
	if (!name)
		snprintf(number, 16, "%u", i);
	return name ? name : number;
}

static json_t *name_json(const struct sl__question *q, uint32_t i)
{
	char number[16];
	return json_string(name_of(q, i, number));
}

static int make_names(struct sl__question *q)
{
	json_t *names = json_array();
	uint64_t end = q->query.count < q->nodes && q->query.from < q->nodes - q->query.count
		     ? q->query.from + q->query.count : q->nodes;
	for (uint64_t i = q->query.from; i < end; i++)
		json_array_append_new(names, name_json(q, (uint32_t)i));
	q->answer = json_pack("{s:I, s:I, s:o}", "from", (json_int_t)q->query.from, "total", (json_int_t)q->nodes,
			      "names", names);
	return 0;
}

void sl_nodes_names(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r)
{
	sl__question_ask(s, id, q, 1u << SL_PART_DATA, make_names, r);
}

static json_t *node_json(const struct sl__question *q, uint32_t i)
{
	return json_pack("{s:I, s:o}", "node", (json_int_t)i, "name", name_json(q, i));
}

/* Lists names that equal the text (in upper or lower case) first, then names that contain it. */
static int make_found(struct sl__question *q)
{
	json_t *equal = json_array(), *others = json_array();
	uint64_t limit = q->query.count;
	struct sl_caseless text;
	bool fine = sl_caseless_init(&text, q->text);
	for (uint32_t i = 0; fine && i < q->nodes && json_array_size(equal) < limit; i++) {
		char number[16];
		enum sl_match match = sl_caseless_match(&text, name_of(q, i, number));
		if (match == SL_MATCH_ALL)
			json_array_append_new(equal, node_json(q, i));
		else if (match == SL_MATCH_PART && json_array_size(others) < limit)
			json_array_append_new(others, node_json(q, i));
	}
	sl_caseless_finish(&text);
	for (size_t i = 0; i < json_array_size(others) && json_array_size(equal) < limit; i++)
		json_array_append(equal, json_array_get(others, i));
	json_decref(others);
	q->answer = json_pack("{s:o}", "nodes", equal);
	return fine ? 0 : sl_error_memory(&q->err, "the search");
}

void sl_nodes_search(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r)
{
	sl__question_ask(s, id, q, 1u << SL_PART_DATA, make_found, r);
}

/* ---- neighbours and edges ---------------------------------------------------------------- */

static int no_such_node(struct sl__question *q)
{
	return sl_error_field(&q->err, SL_BADPARAM, "?node", "node is %u; it must be from 0 to %u", q->query.node,
			      q->nodes - 1);
}

static json_t *pair_json(const struct sl__question *q, uint32_t node, const char *what, double value)
{
	return json_pack("{s:I, s:o, s:f}", "node", (json_int_t)node, "name", name_json(q, node), what, value);
}

static int answer_pairs(struct sl__question *q, const char *what, json_t *pairs)
{
	q->answer = json_pack("{s:I, s:o, s:o}", "node", (json_int_t)q->query.node, "name",
			      name_json(q, q->query.node), what, pairs);
	return 0;
}

/* The row of a node; n: its point was dropped. Rows are in the user's order. */
static uint32_t row_of(const struct sl_neighbours *nb, uint32_t node)
{
	uint32_t low = 0, high = nb->n;
	if (!nb->user)
		return node;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (nb->user[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nb->n && nb->user[low] == node ? low : nb->n;
}

static int make_neighbours(struct sl__question *q)
{
	const struct sl_neighbours *nb = q->part[SL_PART_NEIGHBOURS]->neighbours;
	if (q->query.node >= q->nodes)
		return no_such_node(q);
	json_t *list = json_array();
	uint32_t row = row_of(nb, q->query.node);
	for (uint32_t k = 0; row < nb->n && k < nb->k && k < q->query.count; k++) {
		uint32_t other = nb->index[(size_t)row * nb->k + k];
		if (other == SL_NO_NEIGHBOUR)
			break;
		json_array_append_new(list, pair_json(q, nb->user ? nb->user[other] : other, "distance",
						      (double)nb->distance[(size_t)row * nb->k + k]));
	}
	return answer_pairs(q, "neighbours", list);
}

void sl_nodes_neighbours(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r)
{
	const struct sl_graph_record *g = sl_graphs_find(s, id);
	if (g && g->kind == SL_KIND_GRAPH)
		sl_reply_problem(r, SL_CONFLICT, "graph %s has edges, not neighbours: ask for /v1/graphs/%s/edges", id, id);
	else
		sl__question_ask(s, id, q, 1u << SL_PART_DATA | 1u << SL_PART_NEIGHBOURS, make_neighbours, r);
}

static int make_edges(struct sl__question *q)
{
	const struct sl_graph *g = q->part[SL_PART_DATA]->graph;
	if (q->query.node >= g->n)
		return no_such_node(q);
	json_t *list = json_array();
	uint64_t end = g->start[q->query.node + 1];
	for (uint64_t e = g->start[q->query.node]; e < end && json_array_size(list) < q->query.count; e++)
		json_array_append_new(list, pair_json(q, g->node[e], "weight", g->weight ? (double)g->weight[e] : 1));
	return answer_pairs(q, "edges", list);
}

/* ---- the strongest edges of all --------------------------------------------------------------- */

struct edge {
	float weight;
	uint32_t from, to;
};

/* The order of edges: the strongest first, equal ones by their nodes. */
static int by_strength(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Lets the weakest edge of the heap, which is on top, sink to its place. */
static void sink(struct edge *heap, uint64_t count, uint64_t at)
{
	for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && by_strength(&heap[child + 1], &heap[child]) > 0)
			child++;
		if (by_strength(&heap[child], &heap[at]) <= 0)
			return;
		struct edge moved = heap[at];
		heap[at] = heap[child];
		heap[child] = moved;
	}
}

/* Entries between different nodes, each pair once if the matrix is symmetric: the `count` strongest, by a heap. */
static int make_strongest(struct sl__question *q)
{
	const struct sl_graph *g = q->part[SL_PART_DATA]->graph;
	uint64_t most = q->query.count, count = 0, total = 0;
	struct edge *heap = malloc((most + 1) * sizeof *heap);
	if (!heap)
		return sl_error_memory(&q->err, "the edges");
	for (uint32_t i = 0; i < g->n; i++)
		for (uint64_t e = g->start[i]; e < g->start[i + 1]; e++) {
			struct edge one = {g->weight ? g->weight[e] : 1, i, g->node[e]};
			if (one.to == i || (g->symmetric && one.to < i))
				continue;
			total++;
			if (count < most) {
				heap[count++] = one;
				for (uint64_t at = count / 2; count == most && at-- > 0;)
					sink(heap, count, at);
			} else if (by_strength(&one, &heap[0]) < 0) {
				heap[0] = one;
				sink(heap, count, 0);
			}
		}
	qsort(heap, count, sizeof *heap, by_strength);
	json_t *list = json_array();
	for (uint64_t k = 0; k < count; k++)
		json_array_append_new(list, json_pack("[I, I, f]", (json_int_t)heap[k].from, (json_int_t)heap[k].to,
						      (double)heap[k].weight));
	free(heap);
	q->answer = json_pack("{s:I, s:o}", "total", (json_int_t)total, "edges", list);
	return 0;
}

static int make_edges_asked(struct sl__question *q)
{
	return q->query.strongest ? make_strongest(q) : make_edges(q);
}

void sl_nodes_edges(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r)
{
	const struct sl_graph_record *g = sl_graphs_find(s, id);
	if (g && g->kind != SL_KIND_GRAPH)
		sl_reply_problem(r, SL_CONFLICT, "graph %s holds points, which have neighbours: ask for "
				 "/v1/graphs/%s/neighbours", id, id);
	else
		sl__question_ask(s, id, q, 1u << SL_PART_DATA, make_edges_asked, r);
}
