/* An inverted file on the device. Points are sorted into the cells of a k-means partition, trained on a sample; all
 * members of a cell ask together, so that the same kernels as in an exact search scan, for each block of rows, the
 * tiles of the nearest cells instead of all. How many: for a sample of rows the neighbours are found exactly, and where
 * each of them stands in its row's order of tiles tells the recall of any number of tiles. Rows for which too few
 * neighbours turn up are searched exactly.
 *
 * Given up, for the exact search to do, when the recall asked for would take most tiles, or memory is short. */
#include "gpu/neighbours/find.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CELL_POINTS 512u      /* mean size of a cell */
#define SAMPLE_CELL 64u       /* points of the training sample, a cell */
#define LLOYD_STEPS 7
#define QUERIES 2048u         /* rows that the recall is estimated from */
#define MARGIN 0.004          /* of the estimate */
#define SHARE_MOST 4          /* at most a 4th of the tiles is worth it */
#define ORDER_SHARE 8         /* and their order at most an 8th of the memory */

struct ivf {
	struct sl_cells cells;
	struct sl_side centres;
	uint32_t *which, *cell, *cell_sorted, *row, *row_sorted;  /* [n] */
	uint32_t *start;                     /* [cells + 1] */
	uint32_t *place;                     /* [n] */
	uint32_t *member;                    /* [positions] row or SL_NOBODY */
	struct sl_side side;                 /* [positions] rows and columns in one */
	uint32_t *order;
	uint32_t most, tiles;                /* places of `order` a block; of these are scanned */
	uint32_t *sample_index, *histogram;
	float *sample_distance;
	uint32_t *index;                     /* [n][k] */
	float *distance;
	void *room;
	uint64_t room_bytes;
	uint32_t *host;                      /* max(cells + 1, most + 1, tiles) */
	void *block[40];
	int blocks;
};

static int take(struct sl_search *s, struct ivf *v, uint64_t bytes, void *out, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaMallocAsync((void **)out, bytes ? bytes : 1, s->stream));
	v->block[v->blocks++] = *(void **)out;
out:
	return code;
}

/* The nearest centre of each of which[count] (NULL: of all rows, then count is n). */
static int assign(struct sl_search *s, struct ivf *v, const uint32_t *which, uint32_t count, struct sl_error *err)
{
	struct sl_table centres = {.value = v->cells.centre, .n = v->cells.count, .d = s->points->d, .type = SL_POINTS_F32};
	int code = 0;
	SL_CUDA(sl__side_fill(&s->frame, &centres, NULL, 1, true, &v->centres, s->stream));
	for (uint32_t at = 0; at < count; at += s->batch) {
		uint32_t n = count - at < s->batch ? count - at : s->batch;
		struct sl_table t = s->columns;
		struct sl_side rows = s->rows;
		rows.precision = SL_HALF;
		rows.width = sl__search_width(s->points->d, SL_HALF);
		rows.count = sl__round_up(n, SL_ROWS);
		if (!which) {
			t.value = (const char *)t.value + at * s->row_bytes;
			t.inverse = t.inverse ? t.inverse + at : NULL;
			t.first = at;
			t.n = n;
			SL_CUDA(sl__side_fill(&s->frame, &t, NULL, 1, false, &rows, s->stream));
		} else {
			rows.count = n / SL_ROWS * SL_ROWS;
			SL_CUDA(sl__side_fill(&s->frame, &t, which + at, 1, false, &rows, s->stream));
		}
		struct sl_scan scan = {.rows = rows, .columns = v->centres, .from = 0, .to = v->centres.count / SL_TILE,
				       .metric = s->params->metric, .best = v->cell + at};
		SL_CUDA(sl__scan(&scan, s->stream));
	}
out:
	return code;
}

static int bits_for(uint32_t most)
{
	int bits = 1;
	while (bits < 32 && most >> bits)
		bits++;
	return bits;
}

static int train(struct sl_search *s, struct ivf *v, struct sl_error *err)
{
	uint32_t n = s->points->n, sample = v->cells.count * SAMPLE_CELL;
	int code = 0;
	sample = (sample < n ? sample : n) / SL_ROWS * SL_ROWS;
	SL_CUDA(sl__spread_rows(v->which, sample, n, s->stream));
	SL_CUDA(sl__cells_begin(&v->cells, &s->columns, s->stream));
	for (int step = 0; !code && step < LLOYD_STEPS; step++) {
		code = assign(s, v, v->which, sample, err);
		if (code)
			break;
		SL_CUDA(sl__sort_pairs(v->room, v->room_bytes, v->cell, v->cell_sorted, v->which, v->row_sorted, sample,
				       bits_for(v->cells.count), s->stream));
		SL_CUDA(sl__cells_move(&v->cells, &s->columns, v->cell_sorted, v->row_sorted, sample, s->stream));
	}
out:
	return code;
}

/* All points to their cells; each cell begins a tile. */
static int lay_out_cells(struct sl_search *s, struct ivf *v, struct sl_error *err)
{
	uint32_t n = s->points->n, cells = v->cells.count, tile = 0;
	uint64_t width = (uint64_t)sl__search_width(s->points->d, SL_HALF);
	int code = assign(s, v, NULL, n, err);
	if (code)
		return code;
	SL_CUDA(sl__spread_rows(v->row, n, n, s->stream));
	SL_CUDA(sl__sort_pairs(v->room, v->room_bytes, v->cell, v->cell_sorted, v->row, v->row_sorted, n, bits_for(cells),
			       s->stream));
	SL_CUDA(sl__cells_starts(cells, v->cell_sorted, n, v->start, s->stream));
	v->host = malloc((n / SL_TILE + 2ull * cells + 16) * 4);
	if (!v->host)
		return sl_error_set(err, SL_NOMEM, "No memory for %u cells.", cells);
	SL_CUDA(cudaMemcpyAsync(v->host, v->start, (cells + 1) * 4ull, cudaMemcpyDeviceToHost, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
	for (uint32_t c = 0; c < cells; c++) {
		uint32_t size = v->host[c + 1] - v->host[c];
		v->host[c] = tile;
		tile += (size + SL_TILE - 1) / SL_TILE;
	}
	v->host[cells] = v->cells.tiles = tile;
	code = take(s, v, (cells + 1) * 4ull, &v->cells.first_tile, err);
	if (!code)
		code = take(s, v, tile * 4ull, &v->cells.tile_cell, err);
	if (code)
		return code;
	SL_CUDA(cudaMemcpyAsync(v->cells.first_tile, v->host, (cells + 1) * 4ull, cudaMemcpyHostToDevice, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
	for (uint32_t c = cells, t = tile; c--;)
		for (uint32_t first = v->host[c]; t > first;)
			v->host[--t + cells + 1] = c;
	SL_CUDA(cudaMemcpyAsync(v->cells.tile_cell, v->host + cells + 1, tile * 4ull, cudaMemcpyHostToDevice, s->stream));
	v->side.count = sl__round_up((uint64_t)tile * SL_TILE, SL_ROWS);
	v->side.precision = SL_HALF;
	v->side.width = (int)width;
	code = take(s, v, v->side.count * width * 2, &v->side.value, err);
	if (!code)
		code = take(s, v, v->side.count * 4ull, &v->side.index, err);
	if (!code)
		code = take(s, v, v->side.count * 4ull, &v->side.bias, err);
	if (!code)
		code = take(s, v, v->side.count * 8ull, &v->side.norm, err);
	if (!code)
		code = take(s, v, v->side.count * 4ull, &v->member, err);
	if (code)
		return code;
	SL_CUDA(cudaMemsetAsync(v->member, 0xff, v->side.count * 4ull, s->stream));
	SL_CUDA(sl__cells_place(&v->cells, v->cell_sorted, v->row_sorted, n, v->start, v->member, v->place, s->stream));
	SL_CUDA(sl__side_fill(&s->frame, &s->columns, v->member, 1, true, &v->side, s->stream));
	SL_CUDA(sl__cells_apart(&v->cells, s->points->d, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));  /* `host` is used again */
out:
	return code;
}

/* How many tiles, for the recall that is asked for. */
static int choose_tiles(struct sl_search *s, struct ivf *v, bool *given_up, struct sl_error *err)
{
	uint32_t n = s->points->n, k = s->k, ignored, least = s->lists.capacity / SL_TILE;
	uint64_t seen = 0, all = (uint64_t)QUERIES * k;
	int code = 0;
	/* an order for each block of rows would grow with the square of n: of many points, fewer tiles are ranked */
	uint64_t room = s->budget / ORDER_SHARE / ((uint64_t)v->side.count / SL_ROWS * 4);
	v->most = v->cells.tiles / SHARE_MOST;
	v->most = v->most < room ? v->most : (uint32_t)room;
	if (v->most <= least) {
		*given_up = true;
		return 0;
	}
	code = take(s, v, (uint64_t)v->side.count / SL_ROWS * v->most * 4, &v->order, err);
	if (!code)
		code = take(s, v, all * 4, &v->sample_index, err);
	if (!code)
		code = take(s, v, all * 4, &v->sample_distance, err);
	if (!code)
		code = take(s, v, (v->most + 1ull) * 4, &v->histogram, err);
	if (code)
		return code;
	SL_CUDA(sl__cells_rank(&v->cells, v->side.count / SL_ROWS, v->most, v->order, s->stream));
	SL_CUDA(sl__spread_rows(v->which, QUERIES, n, s->stream));
	SL_CUDA(cudaMemsetAsync(v->histogram, 0, (v->most + 1ull) * 4, s->stream));
	struct sl_pass pass = {.table = &s->columns, .which = v->which, .count = QUERIES, .base = SL_NOBODY,
			       .precision = SL_HALF, .index = v->sample_index, .distance = v->sample_distance};
	code = sl__search_pass(s, &pass, &ignored, err);
	if (code)
		return code;
	SL_CUDA(sl__cells_histogram(v->which, QUERIES, v->sample_index, k, v->place, v->order, v->most, v->histogram,
				    s->stream));
	SL_CUDA(cudaMemcpyAsync(v->host, v->histogram, (v->most + 1ull) * 4, cudaMemcpyDeviceToHost, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
	double wanted = s->params->recall + MARGIN;
	wanted = wanted > 0.9995 ? 0.9995 : wanted;
	for (v->tiles = 0; v->tiles < v->most && (v->tiles < least + 1 || (double)seen < wanted * (double)all); v->tiles++)
		seen += v->host[v->tiles];
	*given_up = (double)seen < wanted * (double)all;
	s->out->recall = (double)seen / (double)all;
out:
	return code;
}

/* The nearest tiles are not an even sample of what is to come, so at first no more than a list has room for at most;
 * then as many again as have been scanned. */
static uint32_t next_round(const struct sl_search *s, int round, uint32_t scanned, uint32_t tiles)
{
	uint32_t room = (s->lists.capacity - s->lists.keep) / SL_TILE;
	uint32_t next = round == 0 ? s->lists.capacity / SL_TILE : round < 4 ? scanned + (room ? room : 1) : 2 * scanned;
	return next < tiles ? next : tiles;
}

static int search_cells(struct sl_search *s, struct ivf *v, uint32_t first, uint32_t count, struct sl_error *err)
{
	struct sl_side rows = v->side;
	uint32_t scanned = 0, tiles = s->lists.capacity / SL_TILE, width = (uint32_t)v->side.width;
	int code = 0, round = 0;
	rows.value = (char *)rows.value + (uint64_t)first * width * 2;
	rows.index += first;
	rows.norm += first;
	rows.bias = NULL;
	rows.count = count;
	struct sl_scan scan = {
		.rows = rows, .columns = v->side, .lists = s->lists, .metric = s->params->metric, .dense = true,
		.order = v->order + (uint64_t)first / SL_ROWS * v->most, .order_stride = v->most,
	};
	struct sl_finish finish = {
		.frame = s->frame, .rows = s->columns, .columns = s->columns, .side = rows, .lists = s->lists, .k = s->k,
		.index = v->index, .distance = v->distance, .certify = true, .doubtful = s->doubtful,
		.doubtful_count = s->note,
	};
	uint32_t from[32];
	SL_CUDA(sl__lists_start(&s->lists, &rows, s->stream));
	while (scanned < v->tiles && round < 31) {
		from[round] = scanned;
		scan.from = scanned;
		scanned = next_round(s, round, scanned, v->tiles);
		scan.to = scanned;
		scan.dense = round == 0;
		scan.round = round;
		SL_CUDA(sl__scan(&scan, s->stream));
		SL_CUDA(sl__lists_cut(&s->lists, count, round ? 0 : tiles * SL_TILE, round, false, s->stream));
		round++;
	}
	from[round] = v->tiles;
	for (bool again = true; !code && again;) {
		SL_CUDA(cudaMemsetAsync(s->note, 0, 4, s->stream));
		SL_CUDA(sl__finish(&finish, s->stream));
		SL_CUDA(cudaMemcpyAsync(s->seen, s->note, 8, cudaMemcpyDeviceToHost, s->stream));
		SL_CUDA(cudaStreamSynchronize(s->stream));
		uint32_t bits = s->seen[1];
		again = bits != 0;
		SL_CUDA(cudaMemsetAsync(s->lists.any, 0, 4, s->stream));
		scan.repeat = true;
		scan.dense = false;
		for (int r = 1; r < round; r++)
			if (bits >> r & 1) {
				scan.from = from[r];
				scan.to = from[r + 1];
				scan.round = r;
				SL_CUDA(sl__scan(&scan, s->stream));
				SL_CUDA(sl__lists_cut(&s->lists, count, 0, r, true, s->stream));
			}
		code = sl__search_checkpoint(s, 0.1 + 0.8 * first / v->side.count, err);
	}
	if (!code && s->seen[0]) {
		struct sl_pass pass = {.table = &s->columns, .precision = SL_HALF, .index = v->index, .distance = v->distance};
		code = sl__search_doubtful(s, &pass, s->seen[0], err);
	}
out:
	return code;
}

static int make(struct sl_search *s, struct ivf *v, struct sl_error *err)
{
	uint64_t n = s->points->n, cells = n / CELL_POINTS, d = s->points->d;
	int code = 0;
	cells = cells < 16 ? 16 : cells < SL_CELLS_MAX ? cells : SL_CELLS_MAX;
	v->cells.count = (uint32_t)cells;
	v->room_bytes = sl__sort_bytes(n);
	v->centres = (struct sl_side){.count = sl__round_up(cells, SL_TILE), .precision = SL_HALF,
				      .width = sl__search_width(s->points->d, SL_HALF)};
	uint32_t **lists[] = {&v->which, &v->cell, &v->cell_sorted, &v->row, &v->row_sorted, &v->place};
	for (int i = 0; !code && i < 6; i++)
		code = take(s, v, (n + SL_ROWS) * 4, lists[i], err);
	if (!code)
		code = take(s, v, (cells + 1) * 4, &v->start, err);
	if (!code)
		code = take(s, v, v->room_bytes, &v->room, err);
	if (!code)
		code = take(s, v, cells * d * 4, &v->cells.centre, err);
	if (!code)
		code = take(s, v, cells * cells * 4, &v->cells.apart, err);
	if (!code)
		code = take(s, v, v->centres.count * (uint64_t)v->centres.width * 2, &v->centres.value, err);
	if (!code)
		code = take(s, v, v->centres.count * 4ull, &v->centres.index, err);
	if (!code)
		code = take(s, v, v->centres.count * 4ull, &v->centres.bias, err);
	return code;
}

int sl__search_ivf(struct sl_search *s, bool *given_up, struct sl_error *err)
{
	struct ivf v = {0};
	uint64_t n = s->points->n, k = s->k;
	int code = 0;
	*given_up = true;
	/* what follows, generously, beside what there is */
	if (s->budget < 4 * n * (k * 8 + 4ull * (uint32_t)sl__search_width(s->points->d, SL_HALF) + 64))
		return 0;
	*given_up = false;
	s->side.count = sl__round_up(n, SL_TILE);
	s->side.precision = SL_HALF;
	s->side.width = sl__search_width(s->points->d, SL_HALF);
	SL_CUDA(sl__cells_init());
	SL_CUDA(sl__side_fill(&s->frame, &s->columns, NULL, sl__search_stride(s->points->n), true, &s->side, s->stream));
	code = make(s, &v, err);
	if (!code)
		code = train(s, &v, err);
	if (!code)
		code = lay_out_cells(s, &v, err);
	if (!code)
		code = choose_tiles(s, &v, given_up, err);
	if (!code)
		code = sl__search_checkpoint(s, 0.1, err);
	if (code || *given_up)
		goto out;
	code = take(s, &v, n * k * 4, &v.index, err);
	if (!code)
		code = take(s, &v, n * k * 4, &v.distance, err);
	for (uint32_t at = 0; !code && at < v.side.count; at += s->batch)
		code = search_cells(s, &v, at, v.side.count - at < s->batch ? v.side.count - at : s->batch, err);
	if (!code)
		code = sl__search_download(s, s->out->index, v.index, n * k * 4, err);
	if (!code)
		code = sl__search_download(s, s->out->distance, v.distance, n * k * 4, err);
	snprintf(s->out->method, sizeof s->out->method, "ivf");
out:
	for (int i = 0; i < v.blocks; i++)
		cudaFreeAsync(v.block[i], s->stream);
	free(v.host);
	if (code == SL_DEVMEM || *given_up) {  /* the exact search needs less */
		s->out->recall = 1;
		*given_up = true;
		code = 0;
	}
	return code;
}
