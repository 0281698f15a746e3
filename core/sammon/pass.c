/* A pass over the pairs. For each tile of pairs it reads or computes the distances in the input, and adds the forces of
 * the pairs to the sums of both blocks.
 *
 * Tiles are processed in rounds. In a round no block is in two tiles, so threads share nothing, and the sums of a block
 * are added in the order of rounds. The first round pairs each block with itself, the others pair the blocks as in a
 * round-robin tournament (the circle method). If not all pairs count, a pass has only some of these rounds, drawn at
 * random, so that each block is paired with equally many others. */
#include <math.h>
#include <stdlib.h>

#include "core/sammon/sammon_internal.h"

#define ALONE 262144  /* a chunk with fewer pairs and coordinates runs on one thread */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- the plan ----------------------------------------------------------------------------- */

/* ---- a tile ------------------------------------------------------------------------------- */

static struct sl__sammon_block block(const struct sl_sammon *m, uint32_t number)
{
	size_t at = (size_t)number * m->side;
	struct sl__sammon_block b = {.panel = m->panel + at * m->d, .norm = m->norm + at, .mass = m->mass + at};
	for (int q = 0; q < m->params.dims; q++)
		b.y[q] = m->rounded + (size_t)q * m->room + at;
	return b;
}

static struct sl__sammon_sums sums(const struct sl_sammon *m, uint32_t number)
{
	size_t at = (size_t)number * m->side;
	struct sl__sammon_sums s = {{NULL}, {NULL}};
	for (int q = 0; q < m->params.dims; q++) {
		s.force[q] = m->trial.force + (size_t)q * m->room + at;
		s.curve[q] = m->trial.curve ? m->trial.curve + (size_t)q * m->room + at : NULL;
	}
	return s;
}

static const float *distances_of(struct sl_sammon *m, uint64_t number, const struct sl__sammon_block *a,
				 const struct sl__sammon_block *b, float *room)
{
	bool kept = number < m->slots;
	float *out = kept ? m->kept + number * m->side * m->side : room;
	if (!kept || !m->known[number])
		m->kernels->distances(m->side, m->d, m->differences, a, b, out);
	if (kept)
		m->known[number] = 1;
	return out;
}

static void do_tile(struct sl_sammon *m, uint32_t round, uint32_t tile, float *room)
{
	bool metric = m->params.stress == SL_SAMMON_METRIC, first = sl__sammon_weighs(m);
	uint32_t i, j;
	m->tile_sum[tile] = m->tile_sum[m->blocks + tile] = 0;
	if (!sl__sammon_blocks(m, round, tile, &i, &j))
		return;
	struct sl__sammon_block a = block(m, i), b = block(m, j), *other = i == j ? &a : &b;
	struct sl__sammon_sums sum_a = sums(m, i), sum_b = sums(m, j);
	double half = i == j ? 0.5 : 1;  /* a tile of a block with itself has each pair twice */
	const float *distance = distances_of(m, sl__sammon_tile_number(m, round, tile), &a, other, room);
	if (first)
		m->tile_sum[m->blocks + tile] = half *
			m->kernels->weights(m->side, metric, &a, other, distance, m->weight + (size_t)i * m->side,
					    i == j ? NULL : m->weight + (size_t)j * m->side);
	m->tile_sum[tile] = half * m->kernels->pairs(m->side, m->params.dims, metric, &a, other, distance, &sum_a,
						     i == j ? NULL : &sum_b);
}

/* ---- the pass ----------------------------------------------------------------------------- */

/* Adds the sums of tiles from .. to - 1 of a round. */
static void add(struct sl_sammon *m, uint32_t from, uint32_t to)
{
	for (uint32_t t = from; t < to; t++) {
		m->sum += m->tile_sum[t];
		m->total += m->tile_sum[m->blocks + t];
	}
}

bool sl__sammon_pass(struct sl_sammon *m, uint32_t count, int *code)
{
	if (m->terms)
		return sl__terms_go(m, count, code);
	if (m->passes.arg)
		return sl__sammon_device_pass(m, count, code);
	size_t bytes = (size_t)m->side * m->side * sizeof(float);
	uint32_t round = m->round, tile = m->tile;
	uint64_t work = (uint64_t)count * m->side * m->side * (m->d < 16 ? 16 : m->d);
	int failed = 0;
#pragma omp parallel if (work > ALONE) firstprivate(round, tile) reduction(| : failed)
	{
		float *room = aligned_alloc(64, bytes);
		uint32_t left = count;
		failed |= !room;
		while (left && round < m->rounds) {
			uint32_t to = least(sl__sammon_tiles(m, round), tile + left);
#pragma omp for schedule(dynamic)
			for (uint32_t t = tile; t < to; t++)
				if (room)
					do_tile(m, round, t, room);
#pragma omp single
			add(m, tile, to);
			left -= to - tile;
			tile = to == sl__sammon_tiles(m, round) ? 0 : to;
			round += tile == 0;
		}
#pragma omp single
		{
			m->round = round;
			m->tile = tile;
		}
		free(room);
	}
	*code = failed ? SL_NOMEM : 0;
	return m->round == m->rounds;
}
