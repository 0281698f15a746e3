/* distances.c -- detects a sparse matrix of distances that was uploaded as a graph of similarities.
 *
 * scikit-learn's kneighbors_graph(mode="distance") and radius_neighbors_graph write the same kind of file as a graph of
 * similarities. If one is mistaken for the other, the layout is wrong, but this is not obvious. First the pattern is
 * tested: rows of equal length, nothing on the diagonal, equal values at (i, j) and (j, i) if both exist. Then the
 * values: mutual entries, those with (i, j) and (j, i), belong to nearer pairs. So they are smaller than the others if
 * the values are distances, and larger if they are similarities. In a complete matrix all entries are mutual; if its
 * values obey the triangle inequality, it may be either. */
#include <math.h>
#include <stdlib.h>

#include "core/account.h"
#include "core/formats/graphs/readers.h"

#define FEWEST_NODES 8
#define FEWEST_ROWS 8         /* least rows with entries of both kinds for a vote */
#define ROUNDING 1e-3f        /* relative: distances are sometimes computed from float32 products */
#define ASYMMETRIC_MOST 0.01  /* share of the pairs */
#define TRIANGLES 2000
#define PATHS 2000
#define PATHS_TRIED 200000
#define PATHS_FEWEST 50       /* least paths for a decision */

struct row {
	uint32_t count, both;     /* entries; mutual entries */
	float sum, both_sum;
};

struct votes {
	uint64_t pairs, unequal;
	uint32_t rows, smaller;   /* rows with entries of both kinds; rows whose mutual ones are smaller */
};

/* The entry (row, column), or -1. Rows of a column ascend. */
static int64_t find(const struct sl_graph *g, uint32_t row, uint32_t column)
{
	uint64_t low = g->start[column], high = g->start[column + 1];
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (g->node[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->start[column + 1] && g->node[low] == row ? (int64_t)low : -1;
}

/* The number of entries of each row, or 0 if the rows differ. Zeros of the file, which a graph drops, are counted. */
static uint32_t row_length(const struct sl_graph *g, const struct row *rows)
{
	uint32_t longest = 0;
	for (uint32_t i = 0; i < g->n; i++)
		longest = rows[i].count > longest ? rows[i].count : longest;
	uint64_t entries = g->m + g->report.zero_weights;
	return entries % g->n == 0 && entries / g->n >= longest &&
	       (g->report.zero_weights || entries / g->n == longest) ? (uint32_t)(entries / g->n) : 0;
}

static bool all_equal(const struct sl_graph *g)
{
	for (uint64_t e = 1; e < g->m; e++)
		if (g->weight[e] != g->weight[0])
			return false;
	return true;
}

static void compare(const struct sl_graph *g, struct row *rows, struct votes *v)
{
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++) {
			struct row *row = rows + g->node[e];
			int64_t other = find(g, j, g->node[e]);
			row->sum += g->weight[e];
			if (other < 0)
				continue;
			float a = g->weight[e], b = g->weight[other];
			v->pairs++;
			v->unequal += fabsf(a - b) > ROUNDING * fmaxf(a, b);
			row->both++;
			row->both_sum += a;
		}
	for (uint32_t i = 0; i < g->n; i++) {
		const struct row *r = rows + i;
		if (!r->both || r->both == r->count)
			continue;
		v->rows++;
		v->smaller += r->both_sum / (float)r->both < (r->sum - r->both_sum) / (float)(r->count - r->both);
	}
}

/* True if the matrix may contain all distances up to a radius. Then for entries d_ij and d_jk with d_ij + d_jk at most
 * the radius, d_ik exists and is at most d_ij + d_jk. Random paths i, j, k test this; the largest value serves as the
 * radius. */
static bool within_radius(const struct sl_graph *g)
{
	uint64_t random = 1, paths = 0, broken = 0;
	float radius = 0;
	for (uint64_t e = 0; e < g->m; e++)
		radius = g->weight[e] > radius ? g->weight[e] : radius;
	for (int t = 0; t < PATHS_TRIED && paths < PATHS; t++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uint32_t j = (uint32_t)((random >> 32) % g->n), count = (uint32_t)(g->start[j + 1] - g->start[j]);
		if (count < 2)
			continue;
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uint64_t a = g->start[j] + (random >> 32) % count, b = g->start[j] + (random >> 16 & 0xffff) % count;
		float way = g->weight[a] + g->weight[b];
		if (a == b || way > radius)
			continue;
		int64_t direct = find(g, g->node[a], g->node[b]);
		paths++;
		broken += direct < 0 ? !g->report.zero_weights : g->weight[direct] > way * (1 + ROUNDING);
	}
	return paths >= PATHS_FEWEST && (double)broken <= ASYMMETRIC_MOST * (double)paths;
}

/* Tests the triangle inequality in a complete matrix, at random triples. */
static bool triangles_hold(const struct sl_graph *g)
{
	uint64_t random = 1;
	for (int t = 0; t < TRIANGLES; t++) {
		uint32_t v[3];
		for (int k = 0; k < 3; k++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			v[k] = (uint32_t)((random >> 32) % g->n);
		}
		int64_t a = find(g, v[0], v[1]), b = find(g, v[1], v[2]), c = find(g, v[0], v[2]);
		if (a >= 0 && b >= 0 && c >= 0 && g->weight[c] > (g->weight[a] + g->weight[b]) * (1 + ROUNDING))
			return false;
	}
	return true;
}

static int refuse(const char *file, uint32_t length, const char *why, struct sl_error *err)
{
	int rc = sl_error_field(err, SL_BADGRAPH, "/values", "Each row has %u entries, none of them on the diagonal, and "
				"the two values of a pair are equal, as in a matrix of distances (kneighbors_graph with "
				"mode=\"distance\"); %s. values must say which it is: distances (the smaller, the closer) or "
				"similarities (the larger, the closer).", length, why);
	if (err)
		snprintf(err->file, sizeof err->file, "%s", file);
	return rc;
}

static int refuse_radius(const char *file, struct sl_error *err)
{
	int rc = sl_error_field(err, SL_BADGRAPH, "/values", "The two values of a pair are equal, none is on the diagonal, "
				"and the values obey the triangle inequality, as in a matrix of the distances within a radius "
				"(radius_neighbors_graph with mode=\"distance\"). values must say which it is: distances (the "
				"smaller, the closer) or similarities (the larger, the closer).");
	if (err)
		snprintf(err->file, sizeof err->file, "%s", file);
	return rc;
}

int sl__check_similarities(const struct sl_graph *g, struct sl_source *source, struct sl_error *err)
{
	const char *file = sl__source_name(source);
	struct sl_account *account = sl__source_account(source);
	struct votes v = {0};
	int rc = 0;
	if (!g->weight || g->n < FEWEST_NODES || !g->m || g->report.self_loops || g->report.duplicates)
		return 0;
	struct row *rows = sl_account_alloc(account, g->n, sizeof *rows);
	if (!rows)
		return sl_error_memory_at(err, file, "%u rows", g->n);
	for (uint32_t i = 0; i < g->n; i++)
		rows[i] = (struct row){0};
	for (uint64_t e = 0; e < g->m; e++)
		rows[g->node[e]].count++;
	uint32_t length = row_length(g, rows);
	if (all_equal(g))
		goto out;
	compare(g, rows, &v);
	bool pairwise = v.pairs == g->m && (double)v.unequal <= ASYMMETRIC_MOST * (double)v.pairs;
	if (pairwise && length != g->n - 1 && within_radius(g))
		rc = refuse_radius(file, err);
	if (rc || length < 2 || !v.pairs || (double)v.unequal > ASYMMETRIC_MOST * (double)v.pairs)
		goto out;
	if (length == g->n - 1 && triangles_hold(g))
		rc = refuse(file, length, "they also obey the triangle inequality", err);
	else if (v.rows >= FEWEST_ROWS && v.smaller > 0.6 * v.rows)
		rc = refuse(file, length, "in most rows, the entries that the other row has, too, are the smaller ones",
			    err);
	else if (v.rows >= FEWEST_ROWS && v.smaller >= 0.4 * v.rows)
		rc = refuse(file, length, "nothing shows whether larger or smaller values mean closer", err);
out:
	free(rows);
	sl_account_give(account, SL_MEMORY, g->n * sizeof *rows);
	return rc;
}
