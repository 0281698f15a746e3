/* dense.c -- graphs in dense square matrices: value (i, j) is the weight of the edge from node i to node j, as in a
 * sparse matrix. */
#include <stdio.h>

#include "core/formats/graphs/adjacency.h"
#include "core/formats/graphs/dense.h"
#include "core/formats/graphs/edge_columns.h"
#include "core/formats/graphs/network.h"
#include "core/formats/source/source.h"
#include "core/points/points.h"
#include "core/taken/taken.h"

#define COLUMNS_LEAST 4    /* a table of fewer columns is a list of edges */
#define COLUMNS_MANY 20    /* a list of edges has fewer */

int sl__text_is_dense(bool *out, const unsigned char *bytes, size_t size, bool all,
		      const struct sl_read_options *options, const char *file, struct sl_account *account)
{
	const char *at = (const char *)bytes, *end = at + size;
	struct sl__edge_columns c;
	struct sl__line line;
	uint64_t rows = 0;
	int rc = sl__edge_columns_find(&c, bytes, size, all, options, "", account, NULL);
	bool dense = !rc && c.count >= COLUMNS_LEAST && sl__adjacency_of(bytes, size, all, file) == SL__NO_ADJACENCY &&
		     sl__network_of(bytes, size, all, file) == SL__NO_NETWORK &&
		     !c.pair && !c.chosen && !c.konect && !options->weight_column;
	for (uint32_t k = 1; dense && k < c.count; k++)
		dense = !(c.seen[k] & (SL__SEEN_WORD | SL__SEEN_DICT | SL__SEEN_TIME));
	while (dense && all && sl__next_record(&at, end, &line))
		rows += line.end > line.at && *line.at != '#' && *line.at != '%';
	rows -= rows && c.header;
	bool named = dense && (c.shifted || c.seen[0] & SL__SEEN_WORD || (c.titled && !c.title[0][0]));
	dense = dense && (all ? rows == c.count - named : c.count >= COLUMNS_MANY);
	sl__edge_columns_finish(&c);
	*out = dense;
	return rc == SL_BADPARAM ? 0 : rc;  /* a list of edges, whose reader names the missing column */
}

static double value_of(const struct sl_points *p, size_t at)
{
	return p->type == SL_POINTS_U8 ? ((const uint8_t *)p->value)[at] : (double)((const float *)p->value)[at];
}

int sl__graph_of_dense(struct sl_graph **out, struct sl_points *p, const struct sl_read_options *options,
		       struct sl_source *source, struct sl_error *err)
{
	const char *file = sl__source_name(source);
	struct sl_graph_builder *b = NULL;
	if (p->n != p->d || p->n != p->n_user)
		return sl_error_at(err, SL_BADGRAPH, file, 0, "The table has %u rows and %u columns of numbers; a matrix of "
				   "edges must be square. For a list of edges, name its columns: source=1, target=2.", p->n_user, p->d);
	bool weighted = false;
	uint64_t entries = 0, above = 0, below = 0;  /* the diagonal */
	for (size_t k = 0; k < (size_t)p->n * p->d; k++) {
		double w = value_of(p, k) + (p->center ? p->center[k % p->d] : 0);
		if (w < 0)
			return sl_error_at(err, SL_BADGRAPH, file, 0, "Row %zu, column %zu of the matrix is %g; weights must not "
					   "be negative.", k / p->d + 1, k % p->d + 1, w);
		weighted |= w != 0 && w != 1;
		entries += w != 0;
		above += w != 0 && k / p->d < k % p->d;
		below += w != 0 && k / p->d > k % p->d;
	}
	bool half = !options->directed && (above > 0) != (below > 0);
	if (options->max_entries && entries > options->max_entries)
		return sl_error_at(err, SL_TOOBIG, file, 0, "The matrix has %llu entries; the limit (max_entries) is %llu.",
				   (unsigned long long)entries, (unsigned long long)options->max_entries);
	int rc = sl__graph_builder_create(&b, half ? SL_SYMMETRIC : SL_GENERAL, weighted, entries,
					  sl__source_account(source), err);
	for (size_t k = 0; !rc && k < (size_t)p->n * p->d; k++) {
		double w = value_of(p, k) + (p->center ? p->center[k % p->d] : 0);
		if (w != 0 && (rc = sl_graph_builder_add(b, (uint32_t)(k / p->d), (uint32_t)(k % p->d), (float)w)))
			rc = sl_error_set(err, rc, SL_NO_MEMORY "the edges of %s.", file);
	}
	if (rc) {
		sl_graph_builder_destroy(b);
		return rc;
	}
	rc = sl__finish_graph(b, p->n, source, out, err);
	if (rc)
		return rc;
	struct sl_graph *g = *out;
	g->name_bytes = p->name_bytes;
	g->name_at = p->name_at;
	p->name_bytes = NULL;
	p->name_at = NULL;
	if (!(g->taken = sl_taken_create()))
		return 0;
	snprintf(g->taken->sign, sizeof g->taken->sign, "a matrix with as many rows as columns");
	g->taken->rows = entries;
	g->taken->rows_left_out = g->report.self_loops;
	g->taken->rows_used = entries - g->report.self_loops;
	g->taken->directed = !g->symmetric;
	if (half)
		sl_taken_add_note(g->taken, true, "All values are %s the diagonal, so each is an edge in both directions; "
				  "directed=true makes it one from its row to its column", above ? "above" : "below");
	sl_taken_add_columns(g->taken, 1, 1, SL_TAKEN_SOURCE, "row", NULL);
	sl_taken_add_columns(g->taken, 2, 1, SL_TAKEN_TARGET, "column", NULL);
	if (weighted)
		sl_taken_add_columns(g->taken, 3, 1, SL_TAKEN_WEIGHT, "value", NULL);
	return 0;
}
