/* The search by an inverted file on the device. Points are sorted into the cells of a k-means partition, which is
 * trained on a sample. The members of a cell are searched together, by the kernels of the exact search; but each block
 * of rows scans only the tiles of the nearest cells. The number of tiles comes from a sample of rows whose neighbours
 * are found exactly: the places of these neighbours in their row's order of tiles give the recall of every number of
 * tiles. Rows that find too few neighbours are searched exactly.
 *
 * The search gives up, and the exact search runs, if the requested recall would take most tiles or memory is short. */
#include "gpu/neighbours/inverted/inverted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CELL_POINTS 512u      /* mean size of a cell */
#define QUERIES 2048u         /* rows in the sample that estimates the recall */
#define MARGIN 0.004          /* safety margin of the estimate */
#define SHARE_MOST 4          /* scanning more than a 4th of the tiles does not pay */
#define ORDER_SHARE 8         /* the order of tiles takes at most an 8th of the memory */

struct ivf {
	struct sl_coarse coarse;             /* its arrays have n places */
	uint32_t *row;                       /* [n] */
	uint32_t *start;                     /* [cells + 1] */
	uint32_t *place;                     /* [n] */
	uint32_t *member;                    /* [positions] row or SL_NOBODY */
	struct sl_side side;                 /* [positions] serves as rows and as columns */
	uint32_t *order;
	uint32_t ranked, tiles;              /* length of an order of tiles; tiles that are scanned */
	uint32_t *sample_index, *histogram;
	float *sample_distance;
	uint32_t *index;                     /* [n][k] */
	float *distance;
	uint32_t *host;                      /* max(cells + 1, ranked + 1, tiles) */
	struct sl_held held;
};

/* Sorts all points into their cells; each cell begins a new tile. */
static int lay_out_cells(struct sl_search *s, struct ivf *v, struct sl_error *err)
{
	struct sl_coarse *c = &v->coarse;
	uint32_t n = s->points->n, cells = c->cells.count, tile = 0;
	uint64_t width = (uint64_t)sl__search_width(s->points->d, SL_HALF);
	int code = 0;
	SL_TRY(sl__coarse_assign(s, c, NULL, n, err));
	SL_CUDA(sl__spread_rows(v->row, n, n, s->stream));
	SL_CUDA(sl__sort_pairs(c->room, c->room_bytes, c->cell, c->cell_sorted, v->row, c->row_sorted, n,
			       sl__bits_for(cells), s->stream));
	SL_CUDA(sl__run_starts(cells, c->cell_sorted, n, v->start, s->stream));
	v->host = malloc((n / SL_TILE + 2ull * cells + 16) * 4);
	if (!v->host)
		return sl_error_memory(err, "%u cells", cells);
	SL_CUDA(sl__fetch(v->host, v->start, (cells + 1) * 4ull, s->stream));
	for (uint32_t i = 0; i < cells; i++) {
		uint32_t size = v->host[i + 1] - v->host[i];
		v->host[i] = tile;
		tile += (size + SL_TILE - 1) / SL_TILE;
	}
	v->host[cells] = c->cells.tiles = tile;
	SL_TRY(SL_TAKE(s, &v->held, err, {&c->cells.first_tile, (cells + 1) * 4ull}, {&c->cells.tile_cell, tile * 4ull}));
	SL_CUDA(cudaMemcpyAsync(c->cells.first_tile, v->host, (cells + 1) * 4ull, cudaMemcpyHostToDevice, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
	for (uint32_t i = cells, t = tile; i--;)
		for (uint32_t first = v->host[i]; t > first;)
			v->host[--t + cells + 1] = i;
	SL_CUDA(cudaMemcpyAsync(c->cells.tile_cell, v->host + cells + 1, tile * 4ull, cudaMemcpyHostToDevice, s->stream));
	v->side.count = sl__round_up((uint64_t)tile * SL_TILE, SL_ROWS);
	v->side.precision = SL_HALF;
	v->side.width = (int)width;
	const uint64_t count = v->side.count;
	SL_TRY(SL_TAKE(s, &v->held, err, {&v->side.value, count * width * 2}, {&v->side.index, count * 4},
		       {&v->side.bias, count * 4}, {&v->side.norm, count * 8}, {&v->member, count * 4}));
	SL_CUDA(cudaMemsetAsync(v->member, 0xff, count * 4, s->stream));
	SL_CUDA(sl__cells_place(&c->cells, c->cell_sorted, c->row_sorted, n, v->start, v->member, v->place, s->stream));
	SL_CUDA(sl__side_fill(&s->frame, &s->columns, v->member, 1, true, &v->side, s->stream));
	SL_CUDA(sl__cells_apart(&c->cells, s->points->d, false, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));  /* `host` is used again */
out:
	return code;
}

/* Chooses the number of tiles that reaches the requested recall. */
static int choose_tiles(struct sl_search *s, struct ivf *v, bool *given_up, struct sl_error *err)
{
	uint32_t n = s->points->n, k = s->k, ignored, least = s->lists.capacity / SL_TILE;
	uint64_t seen = 0, all = (uint64_t)QUERIES * k;
	int code = 0;
	/* the orders of all blocks of rows grow with the square of n; for many points, each keeps fewer tiles */
	uint64_t room = s->budget / ORDER_SHARE / ((uint64_t)v->side.count / SL_ROWS * 4);
	v->ranked = v->coarse.cells.tiles / SHARE_MOST;
	v->ranked = v->ranked < room ? v->ranked : (uint32_t)room;
	if (v->ranked <= least) {
		*given_up = true;
		return 0;
	}
	SL_TRY(SL_TAKE(s, &v->held, err, {&v->order, (uint64_t)v->side.count / SL_ROWS * v->ranked * 4},
		       {&v->sample_index, all * 4}, {&v->sample_distance, all * 4},
		       {&v->histogram, (v->ranked + 1ull) * 4}));
	SL_CUDA(sl__cells_rank(&v->coarse.cells, v->side.count / SL_ROWS, v->ranked, v->order, s->stream));
	SL_CUDA(sl__spread_rows(v->coarse.which, QUERIES, n, s->stream));
	SL_CUDA(cudaMemsetAsync(v->histogram, 0, (v->ranked + 1ull) * 4, s->stream));
	struct sl_pass pass = {.table = &s->columns, .which = v->coarse.which, .count = QUERIES, .base = SL_NOBODY,
			       .precision = SL_HALF, .index = v->sample_index, .distance = v->sample_distance};
	SL_TRY(sl__search_pass(s, &pass, &ignored, err));
	SL_CUDA(sl__cells_histogram(v->coarse.which, QUERIES, v->sample_index, k, v->place, v->order, v->ranked,
				    v->histogram, s->stream));
	SL_CUDA(sl__fetch(v->host, v->histogram, (v->ranked + 1ull) * 4, s->stream));
	double wanted = s->params->recall + MARGIN;
	wanted = wanted > 0.9995 ? 0.9995 : wanted;
	for (v->tiles = 0; v->tiles < v->ranked && (v->tiles <= least || (double)seen < wanted * (double)all); v->tiles++)
		seen += v->host[v->tiles];
	*given_up = (double)seen < wanted * (double)all;
	s->out->recall = (double)seen / (double)all;
out:
	return code;
}

static int search_cells(struct sl_search *s, struct ivf *v, uint32_t first, uint32_t count, struct sl_error *err)
{
	struct sl_side rows = v->side;
	int code = 0;
	rows.value = (char *)rows.value + (uint64_t)first * (uint32_t)v->side.width * 2;
	rows.index += first;
	rows.norm += first;
	rows.bias = NULL;
	rows.count = count;
	struct sl_finish finish = {
		.frame = s->frame, .rows = s->columns, .columns = s->columns, .side = rows, .lists = s->lists, .k = s->k,
		.index = v->index, .distance = v->distance, .certify = true, .doubtful = s->doubtful,
		.doubtful_count = s->note,
	};
	SL_TRY(sl__search_ordered(s, &rows, &v->side, v->order + (uint64_t)first / SL_ROWS * v->ranked, v->ranked, v->tiles,
				  err));
	SL_CUDA(cudaMemsetAsync(s->note, 0, 4, s->stream));
	SL_CUDA(sl__finish(&finish, s->stream));
	SL_TRY(sl__search_notes(s, err));
	SL_TRY(sl__search_checkpoint(s, 0.1 + 0.8 * first / sl__search_from(s, v->side.count, s->rank + 1), err));
	struct sl_pass pass = {.table = &s->columns, .precision = SL_HALF, .index = v->index, .distance = v->distance};
	if (s->note_copy[0])
		SL_TRY(sl__search_doubtful(s, &pass, s->note_copy[0], err));
out:
	return code;
}

static int make(struct sl_search *s, struct ivf *v, struct sl_error *err)
{
	uint64_t n = s->points->n, cells = n / CELL_POINTS;
	cells = cells < 16 ? 16 : cells < SL_CELLS_MAX ? cells : SL_CELLS_MAX;
	SL_RETURN(sl__coarse_make(s, &v->coarse, (uint32_t)cells, n, &v->held, err));
	return SL_TAKE(s, &v->held, err, {&v->row, (n + SL_ROWS) * 4}, {&v->place, (n + SL_ROWS) * 4},
		       {&v->start, (cells + 1) * 4});
}

/* ---- results of one GPU of several ---- */

/* A thread that copies the results of one batch to the host while the next batch is searched. Each GPU has its own; one
 * GPU alone copies everything at the end. */
struct delivery {
	struct sl_search *s;
	const uint32_t *member;      /* host: the rows of the batch, or SL_NOBODY */
	uint32_t count;
	int index, turn, code;
	bool running;
	pthread_t thread;
	struct sl_error err;
};

static void *deliver(void *arg)
{
	struct delivery *d = arg;
	struct sl_search *s = d->s;
	struct sl_error *err = &d->err;
	int code = 0;
	SL_CUDA(cudaSetDevice(d->index));
	SL_CUDA(cudaStreamWaitEvent(s->copying, s->ready[d->turn], 0));
	SL_TRY(sl__search_deliver(s, s->out->index, s->index[d->turn], d->member, d->count, err));
	SL_TRY(sl__search_deliver(s, (uint32_t *)s->out->distance, s->distance[d->turn], d->member, d->count, err));
out:
	d->code = code;
	return NULL;
}

static int delivery_end(struct delivery *d, struct sl_error *err)
{
	if (!d->running)
		return 0;
	pthread_join(d->thread, NULL);
	d->running = false;
	if (d->code && err)
		*err = d->err;
	return d->code;
}

/* Collects the results of a batch of positions, and begins to copy them. */
static int delivery_begin(struct delivery *d, struct ivf *v, uint32_t at, uint32_t count, const uint32_t *member,
			  struct sl_error *err)
{
	struct sl_search *s = d->s;
	int code = 0, turn = d->turn ^ 1;
	SL_CUDA(sl__cells_collect(v->member + at, count, s->k, v->index, s->index[turn], s->stream));
	SL_CUDA(sl__cells_collect(v->member + at, count, s->k, v->distance, s->distance[turn], s->stream));
	SL_CUDA(cudaEventRecord(s->ready[turn], s->stream));
	SL_TRY(delivery_end(d, err));
	d->turn = turn;
	d->member = member;
	d->count = count;
	d->running = !pthread_create(&d->thread, NULL, deliver, d);
	if (!d->running) {
		deliver(d);
		code = d->code;
		if (code && err)
			*err = d->err;
	}
out:
	return code;
}

/* Searches and delivers the rows at positions from .. to - 1. */
static int search_part(struct sl_search *s, struct ivf *v, uint32_t from, uint32_t to, struct sl_error *err)
{
	uint32_t *member = malloc((to - from) * 4ull + 4);
	struct delivery delivery = {.s = s};
	int code = member ? 0 : sl_error_memory(err, "%u rows", to - from);
	SL_TRY(code);
	SL_CUDA(cudaGetDevice(&delivery.index));
	SL_CUDA(sl__fetch(member, v->member + from, (to - from) * 4ull, s->stream));
	for (uint32_t at = from; at < to; at += s->batch) {
		uint32_t count = to - at < s->batch ? to - at : s->batch;
		SL_TRY(search_cells(s, v, at, count, err));
		SL_TRY(delivery_begin(&delivery, v, at, count, member + (at - from), err));
	}
out:
	if (code)
		delivery_end(&delivery, NULL);
	else
		code = delivery_end(&delivery, err);
	free(member);
	return code;
}

int sl__search_ivf(struct sl_search *s, bool *given_up, struct sl_error *err)
{
	struct ivf v = {0};
	uint64_t n = s->points->n, k = s->k;
	int code = 0;
	*given_up = true;
	/* a generous estimate of the arrays below */
	if (s->budget < 4 * n * (k * 8 + 4ull * (uint32_t)sl__search_width(s->points->d, SL_HALF) + 64))
		return 0;
	*given_up = false;
	SL_CUDA(sl__cells_init());
	SL_TRY(sl__search_side(s, SL_HALF, err));
	SL_TRY(make(s, &v, err));
	SL_TRY(sl__coarse_train(s, &v.coarse, err));
	SL_TRY(lay_out_cells(s, &v, err));
	SL_TRY(choose_tiles(s, &v, given_up, err));
	SL_TRY(sl__search_checkpoint(s, 0.1, err));
	if (*given_up)
		goto out;
	SL_TRY(SL_TAKE(s, &v.held, err, {&v.index, n * k * 4}, {&v.distance, n * k * 4}));
	uint32_t from = sl__search_from(s, v.side.count, s->rank), to = sl__search_from(s, v.side.count, s->rank + 1);
	if (s->ranks > 1) {
		SL_TRY(search_part(s, &v, from, to, err));
	} else {
		for (uint32_t at = from; at < to; at += s->batch)
			SL_TRY(search_cells(s, &v, at, to - at < s->batch ? to - at : s->batch, err));
		SL_TRY(sl__search_download(s, s->out->index, v.index, n * k * 4, err));
		SL_TRY(sl__search_download(s, s->out->distance, v.distance, n * k * 4, err));
	}
	snprintf(s->out->method, sizeof s->out->method, "ivf");
out:
	sl__search_free(s, &v.held);
	free(v.host);
	if (code == SL_DEVMEM || *given_up) {  /* the exact search needs less */
		s->out->recall = 1;
		*given_up = true;
		code = 0;
	}
	return code;
}
