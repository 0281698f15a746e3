/* Runs the passes over the points on a device (passes.h). The host still moves centroids, fills empty clusters and
 * draws seeds, and fetches the labels and sums that it needs for this. */
#include <stdlib.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/kmeans/passes.h"

#define CHUNK 1024  /* blocks of the first calls: a launch takes longer than a few blocks */

int sl__kmeans_fetch(struct sl_kmeans *m, struct sl_error *err)
{
	if (!m->passes.arg || !m->stale)
		return 0;
	int code = m->passes.get(m->passes.arg, m->label, m->before, m->sum, m->count, err);
	m->stale = code != 0;
	return code;
}

int sl__kmeans_fetch_sums(struct sl_kmeans *m, struct sl_error *err)
{
	return m->passes.arg ? m->passes.get(m->passes.arg, NULL, NULL, m->sum, m->count, err) : 0;
}

int sl__kmeans_send(struct sl_kmeans *m, struct sl_error *err)
{
	m->stale = m->filled = false;
	return m->passes.put(m->passes.arg, m->label, m->before, m->sum, m->count, err);
}

int sl__kmeans_device_seed(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	return m->passes.seed(m->passes.arg, m->seeded, m->centroid + (size_t)m->seeded * m->d, m->passed, to, m->block_sum,
			      err);
}

int sl__kmeans_device_assign(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	int code = m->packed ? 0 : m->passes.centroids(m->passes.arg, m->centroid, err);
	m->packed = !code;
	if (!code)
		code = m->passes.assign(m->passes.arg, m->passed, to, &m->moved, err);
	m->stale = true;
	return code;
}

int sl__kmeans_device_move(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	m->stale = true;
	return m->passes.move(m->passes.arg, m->passed, to, err);
}

int sl__kmeans_device_inertia(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	int code = m->packed ? 0 : m->passes.centroids(m->passes.arg, m->centroid, err);
	m->packed = !code;
	return code ? code : m->passes.inertia(m->passes.arg, m->passed, to, m->block_sum, err);
}

/* Seeding: fetches the distances of a block's points to their nearest seeds. */
int sl__kmeans_device_nearest(struct sl_kmeans *m, uint32_t block, struct sl_error *err)
{
	uint32_t first = block * m->block, count = m->n - first < m->block ? m->n - first : m->block;
	return m->passes.nearest(m->passes.arg, first, count, m->upper + first, err);
}

int sl_kmeans_attach(struct sl_kmeans *m, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err)
{
	struct sl_kmeans_table table = {.x = m->x, .n = m->n, .d = m->d, .k = m->k, .block = m->block, .blocks = m->blocks,
					.centroid = m->centroid, .sum = m->sum};
	struct sl_kmeans_passes passes;
	int code = sl_kmeans_opener(engine)(device, &table, &passes, err);
	if (code)
		return code;
	m->passes = passes;
	code = sl__kmeans_send(m, err);
	if (code) {
		passes.close(passes.arg);
		m->passes = (struct sl_kmeans_passes){0};
		return code;
	}
	m->search = m->search && m->params.batch;  /* the host computes batches */
	sl__kmeans_drop_axes(m);
	m->packed = m->ordered = false;
	m->seeded = m->phase == SL__KMEANS_SEED ? 0 : m->seeded;  /* distances to seeds are not sent */
	m->passed = m->phase == SL__KMEANS_SEED ? 0 : m->passed;
	sl__kmeans_drop_over(m);
	for (size_t phase = 0; phase < sizeof m->chunk / sizeof *m->chunk; phase++)
		m->chunk[phase] = CHUNK < m->blocks ? CHUNK : m->blocks;
	/* only the host's passes use these */
	free(m->lower);
	free(m->panel);
	m->lower = m->panel = NULL;
	return 0;
}

/* The arrays of gpu/kmeans/: points in single and in half precision, with two labels, a distance and two lengths each;
 * centroids in double and in half precision, sums in double; lists of up to 2^18 open points; and a staging buffer of
 * up to 16 MB for points if the device pads rows. */
uint64_t sl_kmeans_device_bytes(uint32_t clusters, uint32_t n, uint32_t d)
{
	uint64_t k = clusters, halves = ((d <= 21 ? 3ull : 1ull) * d + 31) / 32 * 64, room = n < 1u << 18 ? n : 1u << 18;
	uint64_t row = 4ull * d, rows = n * row, stage = d % 4 == 0 ? 0 : rows < 16 << 20 ? rows : (16 << 20) + row;
	uint64_t points = n * (4ull * ((d + 3) / 4 * 4) + halves + 24);
	return points + stage + k * (16 * d + 16) + (k + 127) / 128 * 128 * (halves + 4) + room * 330 + (2 << 20);
}
