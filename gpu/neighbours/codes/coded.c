/* Searches points that exceed the device's memory, by an inverted file that holds codes instead of points (Jegou, Douze
 * and Schmid, Product quantization for nearest neighbor search, TPAMI 2011). codes.cu makes the codes, scan_wide.cu
 * decodes them.
 *
 * The points stay on the host and are uploaded block by block, three times: to compute mean and scale; to assign each
 * point to a cell, whose centre was trained on a sample; to encode the difference from the centre, as finely as memory
 * allows. Then the members of some cells at a time are searched with their exact values. They get several times as many
 * candidates as neighbours. The candidates are uploaded once more, and exact distances select the neighbours. Cells are
 * numbered so that near cells follow one another, so the members of a few hundred cells share most of their candidates.
 *
 * The numbers of tiles to scan and of candidates to keep come from a sample: some blocks of rows, spread over all
 * cells, are also searched exactly, which shows the tiles that hold their neighbours. Then tiles and candidates are
 * increased until the recall of the sample, less its standard error, reaches the requested recall. If that fails, the
 * search gives up and the exact search runs. */
#include "gpu/neighbours/codes/coded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_POINTS 512u      /* mean size of a cell */
#define CELLS_MOST 4096u
#define WORD_SAMPLE 65536u    /* rows in the training sample of the words */
#define WORD_STEPS 10
#define BATCH_LEAST 4096u
#define BLOCK_LEAST 16384u

/* ---- what fits ----------------------------------------------------------------------- */

uint32_t sl__coded_capacity(const struct sl_search *s, uint32_t keep)
{
	uint32_t capacity = sl__round_up(4 * keep < 384 ? 384 : 4 * keep, SL_TILE);
	return capacity < s->list_most ? capacity : s->list_most;
}

static uint32_t tiles_most(const struct sl_coded *v) { return v->positions / SL_TILE; }

static uint64_t bytes_needed(const struct sl_search *s, const struct sl_coded *v)
{
	struct sl_search trial = *s;
	const struct sl_codes *c = &v->side.codes;
	uint64_t n = s->points->n, groups = sl__codes_groups(c);
	return sl__search_lay_out(&trial, NULL) + sl__coarse_bytes(s, v->cells, s->block) +
	       v->positions * (c->bytes + 8ull) + n * 4 + n / 8 + groups * (SL_WORDS * c->length * 6ull + WORD_SAMPLE) +
	       s->batch * 4ull + s->block * 4ull + s->batch / SL_ROWS * (tiles_most(v) * 4ull) + tiles_most(v) * 4ull +
	       v->cells * 4ull + (1 << 20);
}

static bool fit_rows(struct sl_search *s, struct sl_coded *v, uint32_t block)
{
	uint32_t n = s->points->n;
	for (s->block = block; s->block >= BLOCK_LEAST; s->block = sl__round_up(s->block / 2, SL_TILE))
		for (s->batch = n < SL_BATCH ? sl__round_up(n, SL_ROWS) : SL_BATCH; s->batch >= BATCH_LEAST;
		     s->batch = sl__round_up(s->batch / 2, SL_ROWS))
			if (bytes_needed(s, v) <= s->budget)
				return true;
	return false;
}

/* Plans the memory: the finest codes that fit, then the longest blocks of columns, then the most rows. */
static bool plan(struct sl_search *s, struct sl_coded *v)
{
	uint32_t n = s->points->n, d = s->points->d, slack = s->k / 2 > 64 ? s->k / 2 : 64;
	if (s->row_bytes > SL_STAGE / 16)
		return false;
	for (v->cells = n / CELL_POINTS; v->cells > CELLS_MOST || v->cells * 4ull * v->cells > s->budget / 16;)
		v->cells = v->cells > CELLS_MOST ? CELLS_MOST : v->cells / 2;
	v->cells = v->cells < 16 ? 16 : v->cells;
	v->positions = sl__round_up(n + (uint64_t)v->cells * SL_TILE, SL_ROWS);
	v->width = (int)sl__round_up((uint32_t)sl__search_width(d, SL_HALF), SL_CHUNK);
	v->keep = 2 * s->k > s->k + slack ? 2 * s->k : s->k + slack;
	v->keep = v->keep < SL_KEEP_MOST ? v->keep : SL_KEEP_MOST;
	s->capacity = sl__coded_capacity(s, v->keep);
	if (s->capacity < v->keep + SL_TILE || tiles_most(v) <= s->capacity / SL_TILE + 1)
		return false;
	uint32_t block = v->cells * SL_SAMPLE_CELL > 65536 ? v->cells * SL_SAMPLE_CELL : 65536;
	block = sl__round_up(block < n / 2 ? block : n / 2, SL_TILE);
	for (uint32_t length = 2; length <= 16; length *= 2) {
		uint32_t pieces = (d + 7) / 8;
		v->side.codes = (struct sl_codes){.length = length, .pieces = pieces};
		v->side.codes.bytes = sl__codes_groups(&v->side.codes);
		if (v->side.codes.bytes <= UINT16_MAX && fit_rows(s, v, block))
			return true;
	}
	return false;
}

static int make(struct sl_search *s, struct sl_coded *v, struct sl_error *err)
{
	uint64_t n = s->points->n, groups = sl__codes_groups(&v->side.codes);
	SL_RETURN(sl__coarse_make(s, &v->coarse, v->cells, s->block, &v->held, err));
	SL_RETURN(SL_TAKE(s, &v->held, err,
		{&v->code, (uint64_t)v->positions * v->side.codes.bytes}, {&v->side.index, v->positions * 4ull},
		{&v->side.bias, v->positions * 4ull}, {&v->slot, n * 4}, {&v->bits, (n / 32 + 1) * 4},
		{&v->book, groups * SL_WORDS * v->side.codes.length * 4},
		{&v->side.codes.book, groups * SL_WORDS * v->side.codes.length * 2}, {&v->trial, groups * WORD_SAMPLE},
		{&v->number, s->batch * 4ull}, {&v->list, s->block * 4ull},
		{&v->order, s->batch / SL_ROWS * (tiles_most(v) * 4ull)}, {&v->some_cells, SL_SAMPLE_BLOCKS * 8},
		{&v->side.codes.tile_cell, tiles_most(v) * 4ull}, {&v->coarse.cells.first_tile, (v->cells + 1) * 4ull}));
	v->entries = (uint64_t)s->batch * s->capacity;
	v->side.codes.code = v->code;
	v->side.codes.centre = v->coarse.centres.value;
	v->side.codes.centre_width = (uint32_t)v->coarse.centres.width;
	v->side.precision = SL_HALF;
	v->side.width = v->width;
	v->coarse.cells.tile_cell = (uint32_t *)v->side.codes.tile_cell;
	v->member = malloc(v->positions * 4ull);
	v->place = malloc(n * 4);
	v->cell = malloc(n * 4 + SL_ROWS * 4);
	v->tile_cell = malloc(tiles_most(v) * 4ull + 4);
	v->needed = malloc(n * 4);
	v->host_bits = malloc((n / 32 + 1) * 4);
	if (!v->member || !v->place || !v->cell || !v->tile_cell || !v->needed || !v->host_bits)
		return sl_error_memory(err, "searching %u points in blocks", s->points->n);
	return 0;
}

/* ---- training ------------------------------------------------------------------------ */

struct centre {
	const float *value;
	uint32_t cell;
};

static int by_column(const void *a, const void *b, void *column)
{
	const struct centre *x = a, *y = b;
	uint32_t k = *(uint32_t *)column;
	float u = x->value[k], v = y->value[k];
	return u < v ? -1 : u > v ? 1 : x->cell < y->cell ? -1 : x->cell > y->cell;
}

/* Orders the cells so that near cells follow one another: splits them in half along the column that varies most, and
 * continues with each half. */
static void order_centres(struct centre *c, uint32_t count, uint32_t d)
{
	while (count > 2) {
		double most = -1;
		uint32_t column = 0;
		for (uint32_t k = 0; k < d; k++) {
			double sum = 0, square = 0;
			for (uint32_t i = 0; i < count; i++) {
				double x = (double)c[i].value[k] - (double)c[0].value[k];
				sum += x;
				square += x * x;
			}
			if (square - sum * sum / count > most) {
				most = square - sum * sum / count;
				column = k;
			}
		}
		qsort_r(c, count, sizeof *c, by_column, &column);
		order_centres(c, count / 2, d);
		c += count / 2;
		count -= count / 2;
	}
}

static int order_cells(struct sl_search *s, struct sl_coded *v, struct sl_error *err)
{
	uint32_t d = s->points->d, count = v->cells;
	uint64_t bytes = (uint64_t)count * d * 4;
	float *value = malloc(bytes), *sorted = malloc(bytes);
	struct centre *c = malloc(count * sizeof *c);
	int code = 0;
	SL_TRY(value && sorted && c ? 0 : sl_error_memory(err, "%u cells", count));
	SL_CUDA(sl__fetch(value, v->coarse.cells.centre, bytes, s->stream));
	for (uint32_t i = 0; i < count; i++)
		c[i] = (struct centre){value + (size_t)i * d, i};
	order_centres(c, count, d);
	for (uint32_t i = 0; i < count; i++)
		memcpy(sorted + (size_t)i * d, c[i].value, d * sizeof *sorted);
	SL_CUDA(cudaMemcpyAsync(v->coarse.cells.centre, sorted, bytes, cudaMemcpyHostToDevice, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
out:
	free(value);
	free(sorted);
	free(c);
	return code;
}

/* Trains centres and words on a sample of at most one block. */
static int train(struct sl_search *s, struct sl_coded *v, struct sl_error *err)
{
	uint32_t n = s->points->n, sample = v->cells * SL_SAMPLE_CELL;
	sample = (sample < s->block ? sample : s->block) / SL_ROWS * SL_ROWS;
	uint32_t words = sample < WORD_SAMPLE ? sample : WORD_SAMPLE;
	for (uint32_t i = 0; i < sample; i++)
		v->needed[i] = (uint32_t)(((uint64_t)i * n + n / 2) / sample % n);
	int code = 0;
	SL_TRY(sl__coded_columns(s, v->needed, sample, err));
	SL_TRY(sl__coarse_train(s, &v->coarse, err));
	SL_TRY(order_cells(s, v, err));
	SL_CUDA(sl__spread_rows(v->coarse.which, words, sample, s->stream));
	SL_TRY(sl__coarse_assign(s, &v->coarse, v->coarse.which, words, err));
	struct sl_coding c = {.frame = s->frame, .table = s->columns, .which = v->coarse.which, .cell = v->coarse.cell,
			      .count = words, .codes = v->side.codes, .book = v->book, .code = v->trial, .step = 1,
			      .group_step = words};
	SL_CUDA(sl__codes_begin(&c, s->stream));
	for (int step = 0; step < WORD_STEPS; step++) {
		SL_CUDA(sl__codes_assign(&c, s->stream));
		SL_CUDA(sl__codes_move(&c, s->stream));
	}
	SL_CUDA(sl__codes_round(&c, (void *)v->side.codes.book, s->stream));
	code = sl__search_checkpoint(s, 0.02, err);
out:
	return code;
}

/* ---- all points into cells and codes --------------------------------------------------- */

/* Lays out the cells, each from a new tile on: fills place, member and tile_cell. */
static int lay_out_cells(struct sl_search *s, struct sl_coded *v, struct sl_error *err)
{
	uint32_t n = s->points->n, cells = v->cells, tiles = 0, *first = calloc(cells + 1, 4), *next = calloc(cells, 4);
	int code = 0;
	SL_TRY(first && next ? 0 : sl_error_memory(err, "%u cells", cells));
	for (uint32_t i = 0; i < n; i++)
		next[v->cell[i]]++;
	for (uint32_t c = 0; c < cells; c++) {
		first[c] = tiles;
		for (uint32_t t = 0; t < (next[c] + SL_TILE - 1) / SL_TILE; t++)
			v->tile_cell[tiles++] = c;
		next[c] = first[c] * SL_TILE;
	}
	first[cells] = v->coarse.cells.tiles = tiles;
	v->positions = sl__round_up((uint64_t)tiles * SL_TILE, SL_ROWS);
	v->tile_cell[tiles] = v->tile_cell[tiles - 1];
	memset(v->member, 0xff, v->positions * 4ull);
	for (uint32_t i = 0; i < n; i++) {
		v->place[i] = next[v->cell[i]]++;
		v->member[v->place[i]] = i;
	}
	v->side.count = v->positions;
	SL_CUDA(cudaMemcpyAsync(v->coarse.cells.first_tile, first, (cells + 1) * 4ull, cudaMemcpyHostToDevice, s->stream));
	SL_CUDA(cudaMemcpyAsync(v->coarse.cells.tile_cell, v->tile_cell, v->positions / SL_TILE * 4ull,
				cudaMemcpyHostToDevice, s->stream));
	SL_CUDA(cudaMemcpyAsync(v->side.index, v->member, v->positions * 4ull, cudaMemcpyHostToDevice, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
out:
	free(first);
	free(next);
	return code;
}

static int assign_all(struct sl_search *s, struct sl_coded *v, struct sl_error *err)
{
	uint32_t n = s->points->n;
	int code = 0;
	for (uint64_t at = 0; at < n; at += s->block) {
		SL_TRY(sl__search_columns(s, (uint32_t)at, false, err));
		SL_TRY(sl__coarse_assign(s, &v->coarse, NULL, s->columns.n, err));
		SL_CUDA(sl__fetch(v->cell + at, v->coarse.cell, s->columns.n * 4ull, s->stream));
		SL_TRY(sl__search_checkpoint(s, 0.02 + 0.04 * (double)at / n, err));
	}
out:
	return code;
}

static int encode_all(struct sl_search *s, struct sl_coded *v, struct sl_error *err)
{
	uint32_t n = s->points->n;
	int code = 0;
	SL_CUDA(cudaMemsetAsync(v->code, 0, (uint64_t)v->positions * v->side.codes.bytes, s->stream));
	for (uint64_t at = 0; at < n; at += s->block) {
		SL_TRY(sl__search_columns(s, (uint32_t)at, false, err));
		SL_CUDA(cudaMemcpyAsync(v->list, v->place + at, s->columns.n * 4ull, cudaMemcpyHostToDevice, s->stream));
		struct sl_coding c = {.frame = s->frame, .table = s->columns, .place = v->list, .count = s->columns.n,
				      .codes = v->side.codes, .book = v->book, .code = v->code,
				      .step = v->side.codes.bytes, .group_step = 1, .bias = v->side.bias};
		SL_CUDA(sl__codes_assign(&c, s->stream));
		SL_TRY(sl__search_checkpoint(s, 0.06 + 0.04 * (double)at / n, err));
	}
	SL_CUDA(sl__codes_bias(&v->side, s->params->metric != SL_INNER_PRODUCT, s->stream));
	SL_CUDA(sl__cells_apart(&v->coarse.cells, s->points->d, s->params->metric == SL_INNER_PRODUCT, s->stream));
	SL_CUDA(cudaMemsetAsync(v->slot, 0xff, n * 4ull, s->stream));
out:
	return code;
}

/* ---- all of it ----------------------------------------------------------------------------- */

int sl__search_coded(struct sl_search *s, bool *given_up, struct sl_error *err)
{
	struct sl_coded v = {0};
	int code = 0;
	*given_up = true;
	if (!plan(s, &v))
		return 0;
	SL_TRY(sl__search_reserve(s, err));
	SL_TRY(sl__search_frame(s, err));
	SL_CUDA(sl__cells_init());
	SL_TRY(make(s, &v, err));
	SL_TRY(train(s, &v, err));
	SL_TRY(assign_all(s, &v, err));
	SL_TRY(lay_out_cells(s, &v, err));
	SL_TRY(encode_all(s, &v, err));
	SL_TRY(sl__coded_choose(s, &v, given_up, err));
	if (*given_up)
		goto out;
	SL_TRY(sl__coded_search_all(s, &v, err));
	snprintf(s->out->method, sizeof s->out->method, "ivf-pq");
out:
	sl__search_free(s, &v.held);
	free(v.member);
	free(v.place);
	free(v.cell);
	free(v.tile_cell);
	free(v.needed);
	free(v.host_bits);
	if (code == SL_DEVMEM) {  /* the exact search needs less */
		s->out->recall = 1;
		*given_up = true;
		code = 0;
	}
	return code;
}
