/* Chooses the numbers of tiles and candidates, as described in coded.c. The rows of the sample are searched exactly
 * once, and by codes with one choice after the other. */
#include "gpu/neighbours/codes/coded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 0.002          /* safety margin of the estimated recall, beside its standard error */
#define SHARE_FIRST 0.9       /* fraction of the missed neighbours that may lie in tiles that are not scanned */
#define SHARE_STEP 0.8
#define SHARE_LAST 0.01

struct sample {
	uint32_t blocks, rows;
	uint32_t *number;          /* [rows] */
	uint32_t *index;           /* [rows][k] exact */
	float *distance, *found;
	uint64_t *histogram;       /* [tiles + 1] neighbours in the t-th tile of their row's order */
	uint32_t *order, *at;      /* [blocks][tiles]; [tiles] */
	uint64_t entries;
};

static void sample_finish(struct sample *m)
{
	free(m->number);
	free(m->index);
	free(m->distance);
	free(m->found);
	free(m->histogram);
	free(m->order);
	free(m->at);
}

static int sample_make(struct sl_search *s, struct sl_coded *v, struct sample *m, struct sl_error *err)
{
	uint32_t all = v->positions / SL_ROWS, tiles = v->coarse.cells.tiles, cell[2 * SL_SAMPLE_BLOCKS];
	uint64_t entries;
	int code = 0;
	m->blocks = SL_SAMPLE_BLOCKS < s->batch / SL_ROWS ? SL_SAMPLE_BLOCKS : s->batch / SL_ROWS;
	m->blocks = m->blocks < all ? m->blocks : all;
	m->rows = m->blocks * SL_ROWS;
	entries = (uint64_t)m->rows * s->k;
	m->number = malloc(m->rows * 4ull);
	m->index = malloc(entries * 4);
	m->distance = malloc(entries * 4);
	m->found = malloc(entries * 4);
	m->histogram = calloc(tiles + 1ull, 8);
	m->order = malloc((uint64_t)m->blocks * tiles * 4);
	m->at = malloc(tiles * 4ull);
	if (!m->number || !m->index || !m->distance || !m->found || !m->histogram || !m->order || !m->at)
		return sl_error_memory(err, "a sample of %u points", m->rows);
	for (uint32_t b = 0; b < m->blocks; b++) {
		uint32_t block = (uint32_t)((b + 0.5) * all / m->blocks);
		memcpy(m->number + b * SL_ROWS, v->member + (size_t)block * SL_ROWS, SL_ROWS * 4);
		cell[2 * b] = v->tile_cell[2 * block];
		cell[2 * b + 1] = v->tile_cell[2 * block + 1];
	}
	for (uint32_t i = 0; i < m->rows; i++)
		m->entries += m->number[i] != SL_NOBODY ? s->k : 0;
	SL_CUDA(cudaMemcpyAsync(v->some_cells, cell, m->blocks * 8ull, cudaMemcpyHostToDevice, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
out:
	return code;
}

/* Finds the exact neighbours of the sample, and the place of each in its row's order of tiles. */
static int sample_search(struct sl_search *s, struct sl_coded *v, struct sample *m, struct sl_error *err)
{
	uint32_t tiles = v->coarse.cells.tiles;
	uint64_t entries = (uint64_t)m->rows * s->k;
	struct sl_table rows;
	int code = 0;
	SL_TRY(sl__coded_rows(s, v, m->number, m->rows, &rows, err));
	SL_TRY(sl__search_blocks(s, &rows, 0, 0.1, 0.05, err));
	SL_TRY(sl__search_download(s, m->index, s->index[0], entries * 4, err));
	SL_TRY(sl__search_download(s, m->distance, s->distance[0], entries * 4, err));
	SL_TRY(sl__coded_rank(s, v, v->some_cells, m->blocks, tiles, err));
	SL_CUDA(cudaStreamSynchronize(s->stream));
	SL_TRY(sl__search_download(s, m->order, v->order, (uint64_t)m->blocks * tiles * 4, err));
	for (uint32_t i = 0; i < m->rows; i++) {
		const uint32_t *order = m->order + (size_t)(i / SL_ROWS) * tiles;
		for (uint32_t t = 0; i % SL_ROWS == 0 && t < tiles; t++)
			m->at[order[t]] = t;
		for (uint32_t e = 0; m->number[i] != SL_NOBODY && e < s->k; e++)
			m->histogram[m->at[v->place[m->index[(size_t)i * s->k + e]] / SL_TILE]]++;
	}
out:
	return code;
}

/* Mean and standard error of the recall of the blocks. */
static void sample_recall(const struct sl_search *s, const struct sample *m, double *recall, double *error)
{
	uint32_t k = s->k;
	double sum = 0, square = 0, count = 0;
	for (uint32_t b = 0; b < m->blocks; b++) {
		uint64_t hits = 0, all = 0;
		for (uint32_t i = b * SL_ROWS; i < (b + 1) * SL_ROWS; i++) {
			for (uint32_t e = 0; m->number[i] != SL_NOBODY && e < k; e++)
				hits += m->found[(size_t)i * k + e] <= m->distance[(size_t)i * k + k - 1];
			all += m->number[i] != SL_NOBODY ? k : 0;
		}
		double share = all ? (double)hits / (double)all : 1;
		sum += share;
		square += share * share;
		count++;
	}
	*recall = sum / count;
	*error = count > 1 ? sqrt(fmax(0, square / count - *recall * *recall) / (count - 1)) : 0;
}

/* Measures the recall with these numbers of tiles and candidates. */
static int sample_try(struct sl_search *s, struct sl_coded *v, struct sample *m, struct sl_error *err)
{
	int code = 0;
	for (uint32_t at = 0; at < m->rows; at += v->rows) {
		uint32_t count = m->rows - at < v->rows ? m->rows - at : v->rows;
		SL_TRY(sl__coded_rank(s, v, v->some_cells + at / SL_TILE, count / SL_ROWS, v->tiles, err));
		SL_TRY(sl__coded_search(s, v, m->number + at, count, v->tiles, err));
		SL_CUDA(cudaStreamSynchronize(s->stream));
		SL_TRY(sl__search_download(s, m->found + (size_t)at * s->k, s->distance[0], (uint64_t)count * s->k * 4, err));
		SL_TRY(sl__search_checkpoint(s, 0.15, err));
	}
out:
	return code;
}

/* The least number of tiles that always holds a list's candidates, even if these tiles have the fewest members. */
static uint32_t tiles_least(const struct sl_search *s, const struct sl_coded *v)
{
	uint32_t tiles = v->coarse.cells.tiles, sized[SL_TILE + 1] = {0}, least = s->lists.capacity / SL_TILE + 1;
	uint32_t taken = 0;
	uint64_t held = 0;
	for (uint32_t t = 0; t < tiles; t++) {
		uint32_t size = 0;
		for (uint32_t i = 0; i < SL_TILE; i++)
			size += v->member[(size_t)t * SL_TILE + i] != SL_NOBODY;
		sized[size]++;
	}
	for (uint32_t size = 1; size <= SL_TILE; size++)
		for (uint32_t i = 0; i < sized[size] && held <= s->k; i++, taken++)
			held += size;
	least = least > taken ? least : taken;
	return least < tiles ? least : tiles;
}

static uint32_t tiles_for(const struct sl_coded *v, const struct sample *m, double recall, double *reached)
{
	uint32_t t = 0, tiles = v->coarse.cells.tiles;
	uint64_t seen = 0;
	while (t < tiles && (double)seen < recall * (double)m->entries)
		seen += m->histogram[t++];
	*reached = m->entries ? (double)seen / (double)m->entries : 1;
	return t;
}

/* Increases tiles and candidates, few tiles first. A neighbour is missed if its tile is not scanned or if it is not
 * among the candidates; the larger of the two causes is reduced. */
int sl__coded_choose(struct sl_search *s, struct sl_coded *v, bool *given_up, struct sl_error *err)
{
	struct sample m = {0};
	double wanted = s->params->recall + MARGIN, share = SHARE_FIRST, recall = 0, error = 0, reached;
	int code = 0;
	wanted = wanted < 0.9995 ? wanted : 0.9995;
	*given_up = true;
	SL_TRY(sample_make(s, v, &m, err));
	SL_TRY(sample_search(s, v, &m, err));
	while (share > SHARE_LAST) {
		s->lists.capacity = sl__coded_capacity(s, v->keep);
		uint64_t rows = v->entries / s->lists.capacity / SL_ROWS * SL_ROWS;
		uint32_t least = tiles_least(s, v);
		v->rows = rows < s->batch ? (uint32_t)rows : s->batch;
		v->tiles = tiles_for(v, &m, 1 - (1 - wanted) * share, &reached);
		v->tiles = v->tiles > least ? v->tiles : least;
		if (!v->rows)
			break;
		SL_TRY(sample_try(s, v, &m, err));
		sample_recall(s, &m, &recall, &error);
		*given_up = recall - error < wanted;
		if (!*given_up)
			break;
		if (reached - recall > 1 - reached) {
			if (2 * v->keep > SL_KEEP_MOST)
				break;
			v->keep *= 2;
		} else {
			share *= SHARE_STEP;
		}
	}
out:
	s->out->recall = *given_up ? 1 : recall;
	sample_finish(&m);
	return code;
}
