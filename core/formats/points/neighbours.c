/* neighbours.c -- reads neighbours that another program has found, from two arrays or a sparse matrix of distances.
 *
 * The result has the form of spaceland's own search: rows are sorted by distance, ties by index, and no point is its
 * own neighbour. Rows with fewer neighbours than others end in SL_NO_NEIGHBOUR. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/numpy/archive.h"
#include "core/formats/points/table.h"
#include "core/neighbours/tile.h"
#include "core/taken/taken.h"

static int create(struct sl_neighbours **out, uint64_t n, uint64_t k, struct sl_account *account)
{
	struct sl_neighbours *nb = calloc(1, sizeof *nb);
	*out = nb;
	if (!nb)
		return SL_NOMEM;
	nb->n = nb->n_user = (uint32_t)n;
	nb->k = (uint32_t)k;
	nb->recall = 1;
	snprintf(nb->method, sizeof nb->method, "given");
	nb->index = sl_account_alloc(account, n * k + 1, sizeof *nb->index);
	nb->distance = sl_account_alloc(account, n * k + 1, sizeof *nb->distance);
	return nb->index && nb->distance ? 0 : SL_NOMEM;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Writes row i of nb from entry[count]; fills it up with SL_NO_NEIGHBOUR. */
static void set_row(struct sl_neighbours *nb, uint32_t i, uint64_t *entry, uint32_t count)
{
	uint32_t *index = nb->index + (size_t)i * nb->k;
	float *distance = nb->distance + (size_t)i * nb->k;
	qsort(entry, count, sizeof *entry, by_value);
	for (uint32_t e = 0; e < nb->k; e++) {
		index[e] = e < count ? sl__entry_number(entry[e]) : SL_NO_NEIGHBOUR;
		distance[e] = e < count ? sl__entry_key(entry[e]) : INFINITY;
	}
	nb->short_rows += count < nb->k;
}

/* Reduces the number of columns to the length of the longest row. */
static int trim(struct sl_neighbours *nb, uint32_t longest)
{
	if (longest == nb->k)
		return 0;
	uint32_t old = nb->k;
	nb->short_rows = 0;
	for (uint32_t i = 0; i < nb->n; i++) {
		memmove(nb->index + (size_t)i * longest, nb->index + (size_t)i * old, longest * sizeof *nb->index);
		memmove(nb->distance + (size_t)i * longest, nb->distance + (size_t)i * old, longest * sizeof *nb->distance);
		nb->short_rows += longest && nb->index[(size_t)(i + 1) * longest - 1] == SL_NO_NEIGHBOUR;
	}
	nb->k = longest;
	return 0;
}

/* ---- two arrays -------------------------------------------------------------------- */

struct arrays {
	struct sl__archive *archive;
	struct sl__member index, distance;
	uint64_t n, k;
	uint32_t longest;
	uint64_t selves, none;     /* entries that are the row itself, or -1 */
	struct sl_error *err;
};

static int open_array(struct arrays *f, struct sl__member *m, const char *name, bool integers)
{
	bool found;
	int rc = sl__member_open(f->archive, m, name, &found);
	if (!rc && !found)
		rc = sl_error_at(f->err, SL_BADFORMAT, sl__source_name(f->archive->source), 0, "The archive has no "
				 "array %s; neighbours need two arrays, indices and distances.", name);
	if (!rc && (m->array.dims != 2 || m->array.fortran))
		rc = sl_error_at(f->err, SL_BADDATA, m->name, 0, m->array.dims != 2 ? "The array has %d dimensions; it "
				 "must have two: (points, "
				 "neighbours)." : "The array is in Fortran order; save numpy.ascontiguousarray(array) "
				 "(%d dimensions).", m->array.dims);
	if (!rc && integers && (!sl__npy_is_integer(&m->array) || m->array.kind == 'b'))
		rc = sl_error_at(f->err, SL_BADFORMAT, m->name, 0, "The array's type is '%s'; indices must be integers.",
				 m->array.descr);
	if (!rc && !integers && !sl__npy_is_number(&m->array))
		rc = sl_error_at(f->err, SL_BADFORMAT, m->name, 0, "The array's type is '%s'; distances must be float32 or "
				 "float64.", m->array.descr);
	return rc;
}

static int check_shapes(struct arrays *f, const struct sl_read_options *o)
{
	const struct sl__npy *a = &f->index.array, *b = &f->distance.array;
	uint64_t limit = o->max_nodes && o->max_nodes < SL__MAX_NODES ? o->max_nodes : SL__MAX_NODES;
	f->n = a->shape[0];
	f->k = a->shape[1];
	if (a->shape[0] != b->shape[0] || a->shape[1] != b->shape[1])
		return sl_error_at(f->err, SL_BADDATA, f->distance.name, 0, "The shape is (%" PRIu64 ", %" PRIu64 "), but "
				   "indices.npy has the shape (%" PRIu64 ", %" PRIu64 "); both must be the same.", b->shape[0],
				   b->shape[1], a->shape[0], a->shape[1]);
	if (f->n < 2 || f->k < 1 || f->k > f->n)
		return sl_error_at(f->err, SL_BADDATA, f->index.name, 0, "The shape is (%" PRIu64 ", %" PRIu64 "); it "
				   "must be (points, neighbours), with at least 2 points, and neighbours from 1 to the "
				   "number of points.", f->n, f->k);
	if (f->n > limit)
		return sl_error_at(f->err, SL_TOOBIG, f->index.name, 0, "The file has %" PRIu64 " points; the limit "
				   "(max_nodes) is %" PRIu64 ".", f->n, limit);
	if (o->max_entries && a->count > o->max_entries)
		return sl_error_at(f->err, SL_TOOBIG, f->index.name, 0, "The file has %" PRIu64 " entries; the limit "
				   "(max_entries) is %llu.", a->count, (unsigned long long)o->max_entries);
	return 0;
}

/* Collects the neighbours of a row in entry[]. */
static int collect_row(struct arrays *f, uint64_t i, const int64_t *index, const double *distance, uint64_t *entry,
		       uint32_t *seen, uint32_t *count)
{
	*count = 0;
	for (uint64_t e = 0; e < f->k; e++) {
		f->selves += index[e] == (int64_t)i;
		f->none += index[e] == -1;
		if (index[e] == (int64_t)i || index[e] == -1)
			continue;
		if (index[e] < 0 || (uint64_t)index[e] >= f->n)
			return sl_error_at(f->err, SL_BADDATA, f->index.name, 0, "Row %" PRIu64 ", column %" PRIu64 " (counted "
					   "from 0) is %" PRId64 "; with %" PRIu64 " points it must be from 0 to %" PRIu64 ", or -1 for "
					   "none.", i, e, index[e], f->n, f->n - 1);
		if (!(distance[e] >= 0 && distance[e] <= (double)FLT_MAX))
			return sl_error_at(f->err, SL_BADDATA, f->distance.name, 0, "Row %" PRIu64 ", column %" PRIu64 " (counted "
					   "from 0) is %g; distances must be finite and not negative.", i, e, distance[e]);
		if (seen[index[e]] == i + 1)
			return sl_error_at(f->err, SL_BADDATA, f->index.name, 0, "Row %" PRIu64 " (counted from 0) has the "
					   "neighbour %" PRId64 " twice.", i, index[e]);
		seen[index[e]] = (uint32_t)(i + 1);
		entry[(*count)++] = sl__entry((float)distance[e], (uint32_t)index[e]);
	}
	return 0;
}

static int read_rows(struct arrays *f, struct sl_neighbours *nb)
{
	size_t k = (size_t)f->k;
	unsigned char *stored = malloc(k * 8);
	int64_t *index = malloc(k * sizeof *index);
	double *distance = malloc(k * sizeof *distance);
	uint64_t *entry = malloc(k * sizeof *entry);
	int rc = sl_account_take(sl__source_account(f->archive->source), SL_MEMORY, f->n * sizeof(uint32_t), f->err);
	uint32_t *seen = rc ? NULL : calloc(f->n, sizeof *seen), count;
	if (!rc && !(stored && index && distance && entry && seen))
		rc = SL_NOMEM;
	for (uint32_t i = 0; !rc && i < f->n; i++) {
		if (i % 1024 == 0)
			rc = sl__source_check(f->archive->source, f->err);
		if (!rc)
			rc = sl__member_read(f->archive, &f->index, f->k, stored);
		if (rc)
			break;
		sl__npy_to_i64(&f->index.array, stored, f->k, index);
		rc = sl__member_read(f->archive, &f->distance, f->k, stored);
		if (rc)
			break;
		sl__npy_to_double(&f->distance.array, stored, f->k, distance);
		rc = collect_row(f, i, index, distance, entry, seen, &count);
		if (rc)
			break;
		set_row(nb, i, entry, count);
		f->longest = count > f->longest ? count : f->longest;
	}
	free(stored);
	free(index);
	free(distance);
	free(entry);
	free(seen);
	return rc;
}

/* Says what was taken of the two arrays. */
static int tell(const struct arrays *f, struct sl_neighbours *nb)
{
	struct sl_taken *t = nb->taken = sl_taken_create();
	if (!t)
		return SL_NOMEM;
	t->rows = t->rows_used = f->n;
	sl_taken_add_columns(t, 1, (uint32_t)f->k, SL_TAKEN_NEIGHBOUR, "indices", NULL);
	sl_taken_add_columns(t, (uint32_t)f->k + 1, (uint32_t)f->k, SL_TAKEN_DISTANCE, "distances", NULL);
	if (f->selves)
		sl_taken_add_note(t, false, "%llu %s; a point is no neighbour of itself", (unsigned long long)f->selves,
				  f->selves == 1 ? "entry is its own row" : "entries are their own rows");
	if (f->none)
		sl_taken_add_note(t, false, "%llu %s -1: no neighbour", (unsigned long long)f->none,
				  f->none == 1 ? "entry is" : "entries are");
	return 0;
}

static int memory_error(struct sl_error *err, const char *file, uint64_t n, uint64_t k)
{
	return sl_error_memory_at(err, file, "%" PRIu64 " neighbours of each of %" PRIu64 " points", k, n);
}

static int no_neighbours(struct sl_error *err, const char *file)
{
	return sl_error_at(err, SL_BADDATA, file, 0, "No point has a neighbour other than itself.");
}

int sl__read_neighbours_npz(struct sl_neighbours **out, const struct sl_input_options *options,
			    struct sl__archive *archive, struct sl_error *err)
{
	struct arrays f = {.archive = archive, .err = err};
	struct sl_neighbours *nb = NULL;
	int rc = open_array(&f, &f.index, "indices", true);
	const char *file = sl__source_name(archive->source);

	if (!rc)
		rc = open_array(&f, &f.distance, "distances", false);
	if (!rc)
		rc = check_shapes(&f, &options->read);
	if (!rc)
		rc = create(&nb, f.n, f.k, sl__source_account(archive->source));
	if (!rc)
		rc = read_rows(&f, nb);
	if (rc == SL_NOMEM)
		memory_error(err, file, f.n, f.k);
	if (!rc && !f.longest)
		rc = no_neighbours(err, file);
	sl__member_close(&f.index);
	sl__member_close(&f.distance);
	if (!rc)
		rc = trim(nb, f.longest);
	if (!rc && tell(&f, nb))
		rc = memory_error(err, file, f.n, f.k);
	if (rc)
		sl_neighbours_destroy(nb);
	else
		*out = nb;
	return rc;
}

/* ---- sparse matrices ---------------------------------------------------------------- */

void sl__tell_neighbours(struct sl_neighbours *nb, const struct sl_graph *g)
{
	uint32_t cut = 0;
	for (uint32_t i = 0; i < g->n; i++)
		cut += g->start[i + 1] - g->start[i] > nb->k;
	if (cut)
		sl_taken_add_note(nb->taken, true, "%u %s more than %u distances, many times as many as others; of %s only the "
				  "nearest %u are taken", cut, cut == 1 ? "row has" : "rows have", nb->k, cut == 1 ? "it" : "each",
				  nb->k);
	if (g->report.self_loops)
		sl_taken_add_note(nb->taken, false, "%llu %s on the diagonal; a point is no neighbour of itself",
				  (unsigned long long)g->report.self_loops, g->report.self_loops == 1 ? "entry is" :
				  "entries are");
}

int sl__neighbours_from_graph(struct sl_neighbours **out, const struct sl_graph *g, struct sl_source *source,
			      struct sl_error *err)
{
	const char *file = sl__source_name(source);
	struct sl_neighbours *nb = NULL;
	uint64_t longest = 0, *entry = NULL;
	for (uint32_t i = 0; i < g->n; i++)
		longest = g->start[i + 1] - g->start[i] > longest ? g->start[i + 1] - g->start[i] : longest;
	if (g->report.duplicates)
		return sl_error_at(err, SL_BADDATA, file, 0, "%" PRIu64 " distances are given more than once; each "
				   "pair of points must have only one.", g->report.duplicates);
	if (!longest)
		return no_neighbours(err, file);
	/* a few long rows must not make the table wide, so they keep only their nearest neighbours */
	uint64_t most = 4 * (g->m / g->n) + 64, k = longest < most ? longest : most;
	int rc = create(&nb, g->n, k, sl__source_account(source));
	entry = malloc(longest * sizeof *entry);
	if (rc || !entry) {
		rc = memory_error(err, file, g->n, k);
		goto out;
	}
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t count = 0;
		for (uint64_t e = g->start[i]; e < g->start[i + 1]; e++) {
			float weight = g->weight ? g->weight[e] : 1, distance = weight == SL__DISTANCE_ZERO ? 0 : weight;
			entry[count++] = sl__entry(distance, g->node[e]);
		}
		set_row(nb, i, entry, count);
	}
out:
	free(entry);
	if (rc)
		sl_neighbours_destroy(nb);
	else
		*out = nb;
	return rc;
}
