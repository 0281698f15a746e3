/* A graph's record as JSON, for clients and for the data base. The record in the data base has no data on the
 * neighbours that were found; they are in the neighbours' file. */
#include <string.h>

#include <sodium.h>

#include "core/host_memory.h"
#include "core/taken/taken.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/files/taken_json.h"
#include "daemon/users/users.h"
#include "daemon/json/problem.h"
#include "daemon/util/time_text.h"

static const char *const kind_name[] = {"graph", "points", "neighbours"};

const char *sl__kind_name(enum sl_kind kind)
{
	return kind_name[kind];
}

static json_t *report_json(const struct sl_graph_report *r)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "entries_read", (json_int_t)r->entries_read,
			 "self_loops", (json_int_t)r->self_loops, "zero_weights", (json_int_t)r->zero_weights,
			 "duplicates", (json_int_t)r->duplicates, "isolated", (json_int_t)r->isolated, "leaves",
			 (json_int_t)r->leaves, "components", (json_int_t)r->components, "largest_component",
			 (json_int_t)r->largest_component);
}

static void report_read(const json_t *from, struct sl_graph_report *r)
{
#define FIELD(name) r->name = (__typeof__(r->name))json_integer_value(json_object_get(from, #name))
	FIELD(entries_read);
	FIELD(self_loops);
	FIELD(zero_weights);
	FIELD(duplicates);
	FIELD(isolated);
	FIELD(leaves);
	FIELD(components);
	FIELD(largest_component);
#undef FIELD
}

static void warn(json_t *list, uint64_t count, const char *one, const char *many)
{
	if (count == 1)
		json_array_append_new(list, json_sprintf("1 %s", one));
	else if (count)
		json_array_append_new(list, json_sprintf("%llu %s", (unsigned long long)count, many));
}

static void warn_graph(json_t *list, const struct sl__graph *g)
{
	const struct sl_graph_report *r = &g->report;
	warn(list, r->self_loops, "self-loop was dropped", "self-loops were dropped");
	warn(list, r->zero_weights, "entry of weight 0 was dropped", "entries of weight 0 were dropped");
	warn(list, r->duplicates, "duplicate entry was merged", "duplicate entries were merged");
	warn(list, r->isolated, "node has no edge and is placed around the layout",
	     "nodes have no edge and are placed around the layout");
	if (r->components > 1)
		json_array_append_new(list, json_sprintf("the graph has %u components, the largest with %u nodes",
							 r->components, r->largest_component));
}

static void warn_points(json_t *list, const struct sl__graph *g)
{
	const struct sl_points_report *r = &g->points_report;
	warn(list, r->not_finite, "row with a NaN or an infinity was dropped; it is placed around the layout",
	     "rows with a NaN or an infinity were dropped; they are placed around the layout");
	warn(list, r->duplicates, "row is equal to an earlier one", "rows are equal to an earlier one");
	if (g->wanted.metric == SL_COSINE)  /* for correlations, rows of zeros are like other constant rows */
		warn(list, r->zero_rows, "row is all zero and at distance 1 from everything",
		     "rows are all zero and at distance 1 from everything");
	warn(list, r->constant_columns, "column is constant and does not distinguish points",
	     "columns are constant and do not distinguish points");
	warn(list, g->merged,
	     "row differs from an earlier one by less than single precision can hold; they are taken as equal",
	     "rows differ from earlier ones by less than single precision can hold; they are taken as equal");
}

/* What changes the geometry though nobody asked for it. */
static void warn_taken(json_t *list, const struct sl_taken *t)
{
	for (uint32_t k = 0; t && k < t->notes; k++)
		if (t->note[k].changes)
			json_array_append_new(list, json_string(t->note[k].text));
}

static json_t *warnings(const struct sl__graph *g)
{
	json_t *list = json_array();
	if (!list)
		return NULL;
	if (g->record.state == SL_GRAPH_DAMAGED)
		json_array_append_new(list, json_string("the stored file is damaged: delete the graph and upload it again"));
	if (g->record.kind == SL_KIND_GRAPH)
		warn_graph(list, g);
	else
		warn_points(list, g);
	warn_taken(list, g->taken);
	return list;
}

static char *hex(const unsigned char digest[SL_GRAPH_DIGEST_BYTES], char out[2 * SL_GRAPH_DIGEST_BYTES + 1])
{
	return sodium_bin2hex(out, 2 * SL_GRAPH_DIGEST_BYTES + 1, digest, SL_GRAPH_DIGEST_BYTES);
}

/* ---- points and neighbours ------------------------------------------------------------- */

static json_t *points_report_json(const struct sl__graph *g)
{
	const struct sl_points_report *r = &g->points_report;
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "not_finite", (json_int_t)r->not_finite, "duplicates",
			 (json_int_t)r->duplicates, "merged", (json_int_t)g->merged, "zero_rows", (json_int_t)r->zero_rows,
			 "constant_columns", (json_int_t)r->constant_columns);
}

#define CENTER_LISTED 64

/* The center of the points: how many columns have one, and the first of them. NULL: none. */
static json_t *center_json(const struct sl_points *p, const char *coarse)
{
	json_t *listed = p->center ? json_array() : NULL;
	json_int_t columns = 0;
	for (uint32_t k = 0; listed && k < p->center_columns; k++) {
		if (p->center[k] != 0 && columns < CENTER_LISTED)
			json_array_append_new(listed, json_pack("{s:I, s:f}", "column", (json_int_t)k + 1, "value", p->center[k]));
		columns += p->center[k] != 0;
	}
	return listed ? json_pack("{s:I, s:o, s:s?}", "columns", columns, "first", listed, "coarse", coarse) : NULL;
}

static void points_report_read(const json_t *from, struct sl_points_report *r)
{
#define FIELD(name) r->name = (uint32_t)json_integer_value(json_object_get(from, #name))
	FIELD(not_finite);
	FIELD(duplicates);
	FIELD(zero_rows);
	FIELD(constant_columns);
#undef FIELD
}

static json_t *number_or_null(double value, bool there)
{
	return there ? json_real(value) : json_null();
}

/* The requested search, and its result so far. */
static json_t *search_json(const struct sl__graph *g)
{
	static const char *const states[] = {"none", "searching", "ready", "failed"};
	const struct sl_graph_record *r = &g->record;
	const struct sl_neighbours_summary *f = &g->found;
	bool there = r->k > 0;
	json_t *problem = r->search == SL_SEARCH_FAILED ? sl_problem_json(&g->problem) : json_null();
	json_t *out = json_pack("{s:s, s:f, s:I, s:I, s:s, s:o, s:f}", "state", states[r->search], "progress",
				sl__finder_progress(g), "k", (json_int_t)r->k, "wanted", (json_int_t)r->wanted, "metric",
				sl_distance_name(g->wanted.metric), "metric_p", number_or_null(g->wanted.p, g->wanted.metric == SL_LP),
				"wanted_recall", g->wanted.recall);
	json_object_set_new(out, "recall", number_or_null(f->recall, there));
	json_object_set_new(out, "method", there ? json_string(f->method) : json_null());
	json_object_set_new(out, "seconds", number_or_null(f->seconds, there));
	json_object_set_new(out, "problem", problem);
	return out;
}

static json_t *pca_json(const struct sl__graph *g)
{
	json_t *columns = g->pca_columns ? json_integer(g->pca_columns) : json_null();
	return json_pack("{s:I, s:o, s:f}", "dims", (json_int_t)g->pca, "columns", columns, "variance", g->pca_kept);
}

static void add_points(const struct sl__graph *g, json_t *out, bool for_reply)
{
	const struct sl_graph_record *r = &g->record;
	json_object_set_new(out, "rows", json_integer(r->points));
	json_object_set_new(out, "report", points_report_json(g));
	if (r->kind == SL_KIND_POINTS) {
		json_object_set_new(out, "columns", json_integer(r->columns));
		json_object_set_new(out, "type", json_string(g->type == SL_POINTS_U8 ? "uint8" : "float32"));
		json_object_set(out, "center", g->center ? g->center : json_null());
		json_object_set_new(out, "pca", g->pca ? pca_json(g) : json_null());
	}
	json_object_set_new(out, "neighbours", for_reply ? search_json(g) :
			    json_pack("{s:I, s:s, s:f, s:f}", "wanted", (json_int_t)g->wanted.k, "metric",
				      sl_distance_name(g->wanted.metric), "metric_p", g->wanted.p, "wanted_recall",
				      g->wanted.recall));
}

static int read_points(struct sl__graph *g, const json_t *document)
{
	struct sl_graph_record *r = &g->record;
	const json_t *pca = json_object_get(document, "pca"), *wanted = json_object_get(document, "neighbours");
	const char *type = json_string_value(json_object_get(document, "type"));
	const char *metric = json_string_value(json_object_get(wanted, "metric"));
	g->type = type && !strcmp(type, "uint8") ? SL_POINTS_U8 : SL_POINTS_F32;
	g->pca = (uint32_t)json_integer_value(json_object_get(pca, "dims"));
	g->pca_columns = (uint32_t)json_integer_value(json_object_get(pca, "columns"));
	g->pca_kept = json_number_value(json_object_get(pca, "variance"));
	points_report_read(json_object_get(document, "report"), &g->points_report);
	g->merged = (uint32_t)json_integer_value(json_object_get(json_object_get(document, "report"), "merged"));
	json_t *center = json_object_get(document, "center");
	g->center = json_is_object(center) ? json_incref(center) : NULL;
	r->centered = g->center && !g->pca;
	r->coarse = json_string_value(json_object_get(g->center, "coarse"));
	r->points = (uint32_t)json_integer_value(json_object_get(document, "rows"));
	r->columns = (uint32_t)json_integer_value(json_object_get(document, "columns"));
	g->wanted = (struct sl_neighbours_params){
		.k = (uint32_t)json_integer_value(json_object_get(wanted, "wanted")),
		.p = json_number_value(json_object_get(wanted, "metric_p")),
		.recall = json_number_value(json_object_get(wanted, "wanted_recall")),
	};
	return !metric || sl_distance_parse(metric, &g->wanted.metric, NULL) || !r->points ? SL_BADDATA : 0;
}

/* ---- the whole record -------------------------------------------------------------------- */

static void add_memory(const struct sl__graph *g, json_t *out)
{
	const struct sl_graph_record *r = &g->record;
	uint64_t memory = 0;
	for (int i = 0; i < SL_PARTS; i++)
		memory += g->part[i].content ? g->part[i].content->bytes : 0;
	/* the part that jobs need */
	enum sl_content_part part = r->search == SL_SEARCH_NONE ? SL_PART_DATA : SL_PART_NEIGHBOURS;
	json_object_set_new(json_object_get(out, "bytes"), "memory", json_integer((json_int_t)memory));
	json_object_set_new(out, "state", json_string(r->state == SL_GRAPH_DAMAGED ? "damaged" : "ready"));
	json_object_set_new(out, "resident", json_boolean(g->part[part].content != NULL));
	json_object_set_new(out, "warnings", warnings(g));
}

/* Of all its files. */
static uint64_t disk_bytes(const struct sl__graph *g)
{
	/* the file of given neighbours counts as the file of the graph */
	uint64_t found = g->record.kind == SL_KIND_POINTS ? g->found_bytes : 0;
	return g->record.file_bytes + found + g->column_bytes;
}

static uint64_t bytes_of(const struct sl_graph_record *g, uint32_t k)
{
	uint32_t most = g->points - 1;
	return (uint64_t)g->points * (k < most ? k : most) * (sizeof(uint32_t) + sizeof(float));
}

/* Of the neighbours that are known or being searched, or of k of each point if that is more. */
static uint64_t neighbours_bytes(const struct sl_graph_record *g, uint32_t k)
{
	uint32_t most = g->search == SL_SEARCH_RUNNING && g->wanted > g->k ? g->wanted : g->k;
	return g->kind == SL_KIND_POINTS ? bytes_of(g, k > most ? k : most) : 0;
}

uint64_t sl_graphs_search_bytes(const struct sl_graph_record *g, uint32_t k)
{
	return neighbours_bytes(g, k) - neighbours_bytes(g, 0);
}

bool sl_graphs_search_fits(const struct sl_graph_record *g, uint32_t k)
{
	return bytes_of(g, k) <= sl_host_memory() / 2;
}

uint64_t sl__graph_disk_booked(const struct sl__graph *g)
{
	uint64_t expected = neighbours_bytes(&g->record, 0);
	return disk_bytes(g) + (expected > g->found_bytes ? expected - g->found_bytes : 0);
}

json_t *sl__graph_json(const struct sl_graphs *s, const struct sl__graph *g, bool for_reply)
{
	const struct sl_graph_record *r = &g->record;
	char created[SL_TIME_BYTES];
	uint64_t disk = for_reply ? disk_bytes(g) : r->file_bytes;
	json_t *out = json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:b, s:I, s:b, s:{s:I}}", "id", r->id, "name",
				r->name, "kind", sl__kind_name(r->kind), "digest", json_sprintf("blake2b:%s", r->digest), "format",
				g->format, "created", sl_time_text(sl_ulid_time_ms(r->id), created), "nodes", (json_int_t)r->nodes,
				"entries", (json_int_t)r->entries, "named", r->named, "labels", (json_int_t)r->labels, "pinned",
				r->pinned, "bytes", "disk", (json_int_t)disk);
	if (!out)
		return NULL;
	if (r->kind == SL_KIND_GRAPH) {
		json_object_set_new(out, "symmetric", json_boolean(r->symmetric));
		json_object_set_new(out, "weighted", json_boolean(r->weighted));
		json_object_set_new(out, "report", report_json(&g->report));
	} else {
		add_points(g, out, for_reply);
	}
	json_object_set_new(out, "taken", sl_taken_json(g->taken));
	if (g->labels_taken)
		json_object_set(out, "labels_taken", g->labels_taken);
	json_object_set_new(out, "kept", json_boolean(g->kept));
	if (for_reply) {
		const char *project = sl_users_project_of(s->d->users, r->id);
		json_object_set_new(out, "version", json_integer(g->version));
		json_object_set_new(out, "project", project ? json_string(project) : json_null());
		sl_users_add_owner(s->d->users, r->id, out);
		json_object_set_new(out, "may_change", json_true());  /* corrected for each receiver (users.h) */
		json_object_set_new(out, "label_columns", sl__graph_columns(g));
		json_object_set_new(out, "holds", json_integer((json_int_t)json_array_size(g->holds)));
		add_memory(g, out);
		return out;
	}
	if (json_array_size(g->holds))
		json_object_set_new(out, "holds", json_deep_copy(g->holds));
	if (strcmp(r->label_title, SL__OWN_LABELS) != 0)
		json_object_set_new(out, "label_title", json_string(r->label_title));
	return out;
}

static int read_kind(const json_t *document, enum sl_kind *kind)
{
	const char *text = json_string_value(json_object_get(document, "kind"));
	for (int i = SL_KIND_GRAPH; text && i <= SL_KIND_NEIGHBOURS; i++) {
		if (!strcmp(text, sl__kind_name((enum sl_kind)i))) {
			*kind = (enum sl_kind)i;
			return 0;
		}
	}
	return SL_BADDATA;
}

struct sl__graph *sl__graph_from_json(const char *id, const json_t *document)
{
	struct sl__graph *g = calloc(1, sizeof *g);
	const char *name = json_string_value(json_object_get(document, "name"));
	const char *digest = json_string_value(json_object_get(document, "digest"));
	const char *format = json_string_value(json_object_get(document, "format"));
	size_t bytes = 0;
	if (!g)
		return NULL;
	struct sl_graph_record *r = &g->record;
	if (!sl_ulid_valid(id) || !name || !digest || strncmp(digest, "blake2b:", 8) ||
	    sodium_hex2bin(g->digest, sizeof g->digest, digest + 8, strlen(digest + 8), NULL, &bytes, NULL) ||
	    bytes != sizeof g->digest || !format || strlen(format) >= sizeof g->format ||
	    read_kind(document, &r->kind) || !(r->name = strdup(name))) {
		sl__graph_free(g);
		return NULL;
	}
	snprintf(r->id, sizeof r->id, "%s", id);
	snprintf(g->format, sizeof g->format, "%s", format);
	hex(g->digest, r->digest);
	r->nodes = (uint32_t)json_integer_value(json_object_get(document, "nodes"));
	r->entries = (uint64_t)json_integer_value(json_object_get(document, "entries"));
	r->labels = (uint32_t)json_integer_value(json_object_get(document, "labels"));
	const char *title = json_string_value(json_object_get(document, "label_title"));
	snprintf(r->label_title, sizeof r->label_title, "%s", title ? title : SL__OWN_LABELS);
	r->file_bytes =
		(uint64_t)json_integer_value(json_object_get(json_object_get(document, "bytes"), "disk"));
	r->symmetric = json_is_true(json_object_get(document, "symmetric"));
	r->weighted = json_is_true(json_object_get(document, "weighted"));
	r->named = json_is_true(json_object_get(document, "named"));
	r->pinned = json_is_true(json_object_get(document, "pinned"));
	g->taken = sl_taken_read(json_object_get(document, "taken"));
	g->labels_taken = json_incref(json_object_get(document, "labels_taken"));
	g->kept = json_is_true(json_object_get(document, "kept"));
	g->holds = json_deep_copy(json_object_get(document, "holds"));
	if (r->kind == SL_KIND_GRAPH) {
		report_read(json_object_get(document, "report"), &g->report);
	} else if (read_points(g, document)) {
		sl__graph_free(g);
		return NULL;
	}
	return g;
}

void sl__graph_found(struct sl__graph *g, const struct sl_neighbours_summary *found)
{
	struct sl_graph_record *r = &g->record;
	g->found = *found;
	r->k = found->k;
	r->wanted = r->wanted > found->k ? r->wanted : found->k;
	r->entries = (uint64_t)found->n * found->k;
}

void sl__graph_of_file(struct sl__graph *g, const struct sl_graph *graph, const struct sl_points *points,
		       const char *coarse)
{
	sl_taken_destroy(g->taken);
	g->taken = sl_taken_copy(graph ? graph->taken : points->taken);
	if (graph) {
		g->report = graph->report;
		return;
	}
	g->points_report = points->report;
	g->merged = points->merged;
	json_decref(g->center);
	g->center = center_json(points, coarse);
	g->record.coarse = json_string_value(json_object_get(g->center, "coarse"));
}

json_t *sl__graph_json_of_file(const struct sl_graphs *s, const struct sl__graph *g, const struct sl__graph *file)
{
	struct sl__graph view = *g;
	memcpy(view.format, file->format, sizeof view.format);
	view.taken = file->taken;
	view.labels_taken = file->labels_taken;
	view.report = file->report;
	view.points_report = file->points_report;
	view.merged = file->merged;
	view.center = file->center;
	return sl__graph_json(s, &view, true);
}

void sl__graph_describe(struct sl__graph *g, const struct sl_content *from, const char *coarse)
{
	struct sl_graph_record *r = &g->record;
	r->nodes = from->nodes.n;
	r->named = from->nodes.name_at != NULL;
	r->labels = from->nodes.label ? from->nodes.labels : 0;
	snprintf(r->label_title, sizeof r->label_title, "%s", from->nodes.label_title[0] ?
		 from->nodes.label_title : SL__OWN_LABELS);
	hex(g->digest, r->digest);
	sl__graph_of_file(g, from->graph, from->points, coarse);
	if (from->graph) {
		r->entries = from->graph->m;
		r->weighted = from->graph->weight != NULL;
		r->symmetric = from->graph->symmetric;
	} else {
		r->points = from->points->n;
		r->columns = from->points->d;
		g->type = from->points->type;
		r->centered = sl_points_own_center(from->points) != NULL;
	}
}

void sl__graph_free(struct sl__graph *g)
{
	if (!g)
		return;
	for (int i = 0; i < SL_PARTS; i++)
		sl__content_unref(g->part[i].content);
	json_decref(g->columns);
	sl_taken_destroy(g->taken);
	json_decref(g->labels_taken);
	json_decref(g->holds);
	json_decref(g->center);
	free(g->record.name);
	free(g);
}
