/* A graph's record as JSON: what clients see, and what the data base keeps. */
#include <string.h>

#include <sodium.h>

#include "daemon/graphs_internal.h"
#include "daemon/time_text.h"

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

static json_t *warnings(const struct sl__graph *g)
{
	const struct sl_graph_report *r = &g->report;
	json_t *list = json_array();
	if (!list)
		return NULL;
	if (g->record.state == SL_GRAPH_DAMAGED)
		json_array_append_new(list, json_string("the stored file is damaged: delete the graph and upload it again"));
	warn(list, r->self_loops, "self-loop was dropped", "self-loops were dropped");
	warn(list, r->zero_weights, "entry of weight 0 was dropped", "entries of weight 0 were dropped");
	warn(list, r->duplicates, "duplicate entry was merged", "duplicate entries were merged");
	warn(list, r->isolated, "node has no edge and is placed around the layout",
	     "nodes have no edge and are placed around the layout");
	if (r->components > 1)
		json_array_append_new(list, json_sprintf("the graph falls into %u parts, the largest of %u nodes",
							 r->components, r->largest_component));
	return list;
}

static char *hex(const unsigned char digest[SL_GRAPH_DIGEST_BYTES], char out[2 * SL_GRAPH_DIGEST_BYTES + 1])
{
	return sodium_bin2hex(out, 2 * SL_GRAPH_DIGEST_BYTES + 1, digest, SL_GRAPH_DIGEST_BYTES);
}

json_t *sl__graph_json(const struct sl__graph *g, bool for_reply)
{
	const struct sl_graph_record *r = &g->record;
	char created[SL_TIME_BYTES];
	json_t *out = json_pack(
		"{s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:b, s:b, s:b, s:I, s:b, s:o*}", "id", r->id, "name", r->name, "digest",
		json_sprintf("blake2b:%s", r->digest), "format", sl_graph_format_name(g->format), "created",
		sl_time_text(sl_ulid_time_ms(r->id), created), "nodes", (json_int_t)r->nodes, "entries",
		(json_int_t)r->entries, "symmetric", r->symmetric, "weighted", r->weighted, "named", r->named, "labels",
		(json_int_t)r->labels, "pinned", r->pinned, "report", report_json(&g->report));
	if (!out)
		return NULL;
	json_object_set_new(out, "bytes", json_pack("{s:I, s:I}", "disk", (json_int_t)r->file_bytes, "memory",
						    (json_int_t)(for_reply ? g->memory : 0)));
	if (for_reply) {
		json_object_set_new(out, "state", json_string(r->state == SL_GRAPH_DAMAGED ? "damaged" : "ready"));
		json_object_set_new(out, "resident", json_boolean(r->loaded));
		json_object_set_new(out, "warnings", warnings(g));
	}
	return out;
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
	    bytes != sizeof g->digest || !format || sl_graph_format_parse(format, &g->format, NULL) ||
	    !(r->name = strdup(name))) {
		sl__graph_free(g);
		return NULL;
	}
	snprintf(r->id, sizeof r->id, "%s", id);
	hex(g->digest, r->digest);
	r->nodes = (uint32_t)json_integer_value(json_object_get(document, "nodes"));
	r->entries = (uint64_t)json_integer_value(json_object_get(document, "entries"));
	r->labels = (uint32_t)json_integer_value(json_object_get(document, "labels"));
	r->file_bytes =
		(uint64_t)json_integer_value(json_object_get(json_object_get(document, "bytes"), "disk"));
	r->symmetric = json_is_true(json_object_get(document, "symmetric"));
	r->weighted = json_is_true(json_object_get(document, "weighted"));
	r->named = json_is_true(json_object_get(document, "named"));
	r->pinned = json_is_true(json_object_get(document, "pinned"));
	report_read(json_object_get(document, "report"), &g->report);
	return g;
}

void sl__graph_describe(struct sl__graph *g, const struct sl_graph *from)
{
	struct sl_graph_record *r = &g->record;
	r->nodes = from->n;
	r->entries = from->m;
	r->weighted = from->weight != NULL;
	r->symmetric = from->symmetric;
	r->named = from->name_at != NULL;
	r->labels = from->label ? from->labels : 0;
	g->report = from->report;
	hex(g->digest, r->digest);
}

void sl__graph_free(struct sl__graph *g)
{
	if (!g)
		return;
	sl_graph_destroy(g->g);
	free(g->record.name);
	free(g);
}
