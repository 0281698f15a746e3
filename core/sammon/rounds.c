/* The rounds of a pass over the pairs, as pass.c tells: which tiles a round has, which blocks a tile, and which
 * rounds a pass has that does not compare all pairs. Begins a pass. */
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "core/sammon/sammon_internal.h"

int sl__sammon_by_key(const void *a, const void *b)
{
	const struct sl__sammon_keyed *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void sl__sammon_shuffle(struct sl__sammon_keyed *keyed, uint32_t count, uint64_t seed)
{
	for (uint32_t i = 0; i < count; i++)
		keyed[i] = (struct sl__sammon_keyed){sl_random_bits(seed, i), i};
	qsort(keyed, count, sizeof *keyed, sl__sammon_by_key);
}

uint32_t sl__sammon_rounds(const struct sl_sammon *m)
{
	return m->blocks + m->blocks % 2;
}

void sl__sammon_draw(struct sl_sammon *m)
{
	if (m->sampled)
		sl__sammon_shuffle(m->keyed, sl__sammon_rounds(m) - 1, sl_random_bits(m->params.seed,
										      (uint64_t)m->status.iteration));
	for (uint32_t round = 0; round + 1 < m->rounds; round++)
		m->turn[round] = m->sampled ? m->keyed[round].number : round;
}

static uint32_t even(uint32_t x)
{
	return x + x % 2;
}

uint32_t sl__sammon_tiles(const struct sl_sammon *m, uint32_t round)
{
	return round == 0 ? m->blocks : even(m->blocks) / 2;
}

/* The tile's number among the tiles of all rounds. */
uint64_t sl__sammon_tile_number(const struct sl_sammon *m, uint32_t round, uint32_t tile)
{
	return round == 0 ? tile : m->blocks + (round - 1) * (uint64_t)(even(m->blocks) / 2) + tile;
}

void sl__sammon_plan(struct sl_sammon *m)
{
	uint64_t bytes = (uint64_t)m->side * m->side * sizeof(float);
	m->tiles = sl__sammon_tile_number(m, m->rounds, 0);
	m->slots = m->tiles < SL_SAMMON_CACHE_BYTES / bytes ? m->tiles : SL_SAMMON_CACHE_BYTES / bytes;
	m->slots = m->sampled ? 0 : m->slots;  /* the next pass has other tiles */
}

/* The blocks of a tile. False: the tile is empty, since with an odd number of blocks one has no partner in a round. */
bool sl__sammon_blocks(const struct sl_sammon *m, uint32_t round, uint32_t tile, uint32_t *a, uint32_t *b)
{
	uint32_t circle = even(m->blocks) - 1, turn = round ? m->turn[round - 1] : 0;
	*a = *b = tile;
	if (round == 0)
		return true;
	*a = tile ? (turn + tile) % circle : turn;
	*b = tile ? (turn + circle - tile) % circle : circle;
	if (*a > *b) {
		uint32_t swap = *a;
		*a = *b;
		*b = swap;
	}
	return *b < m->blocks;
}

static void list_partners(struct sl_sammon *m)
{
	memset(m->partner, 0xff, (size_t)m->blocks * m->rounds * sizeof *m->partner);
	for (uint32_t round = 0, a, b; round < m->rounds; round++)
		for (uint32_t tile = 0; tile < sl__sammon_tiles(m, round); tile++)
			if (sl__sammon_blocks(m, round, tile, &a, &b)) {
				m->partner[(size_t)a * m->rounds + round] = b;
				m->partner[(size_t)b * m->rounds + round] = a;
			}
}

void sl__sammon_clear(const struct sl_sammon *m)
{
	memset(m->trial.force, 0, sl__sammon_values(m) * sizeof(double));
	if (m->trial.curve)
		memset(m->trial.curve, 0, sl__sammon_values(m) * sizeof(double));
}

void sl__sammon_pass_begin(struct sl_sammon *m)
{
	if (m->terms) {
		sl__terms_pass_begin(m);
		return;
	}
	size_t values = sl__sammon_values(m);
	if (!m->passes.arg)
		sl__sammon_clear(m);
	for (size_t at = 0; at < values; at++)
		m->rounded[at] = (float)m->trial.y[at];
	if (sl__sammon_weighs(m)) {
		memset(m->weight, 0, m->room * sizeof(double));
		m->total = 0;
	}
	m->sum = 0;
	m->round = m->tile = 0;
	m->begun = false;
	sl__sammon_draw(m);
	if (m->partner)
		list_partners(m);
}
