/* Makes P from a graph. The weights are uploaded only after the entries are sorted, since sorting takes the most
 * memory; and P is filled and packed some rows at a time, so that it exists in one form only. */
#include "gpu/affinities/affinities.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/graph.h"
#include "core/graph/order.h"

#define FILL_LEAST (1ull << 20)  /* entries that are filled at a time, at least and at most, beside a row's own */
#define FILL_MOST (1ull << 26)

/* ---- filling ------------------------------------------------------------------------------------ */

/* Where rows of P are filled, some at a time. */
struct bench {
	struct sl_device *device;
	struct sl_filling *filling;
	uint64_t most;               /* entries of a piece */
	uint32_t rows, pieces;       /* rows of a piece, at most; pieces */
	uint32_t *bound;             /* host, [pieces + 1] */
	uint64_t *at;
	double *part, *sum;
	char *memory;
	uint64_t bytes;
};

static uint64_t bench_lay_out(struct bench *b, char *memory)
{
	struct sl_filling *f = b->filling;
	char *at = memory;
	f->rows.start = sl__carve(&at, (b->rows + 1ull) * 8);
	f->rows.node = sl__carve(&at, b->most * 4);
	f->rows.p = sl__carve(&at, b->most * 4);
	f->entropy = sl__carve(&at, b->rows * 8ull);
	f->wide = sl__carve(&at, b->rows * 4ull);
	f->longest = sl__carve(&at, b->rows * 4ull);
	f->report = sl__carve(&at, sizeof *f->report);
	b->part = sl__carve(&at, SL_FILL_PARTS * 8);
	b->sum = sl__carve(&at, 8);
	return (uint64_t)(at - memory);
}

/* Divides the rows into pieces of about `step` entries. */
static int divide(struct bench *b, uint32_t n, uint64_t step, struct sl_error *err)
{
	struct sl_device *d = b->device;
	uint64_t bytes = sl__aligned((b->pieces + 1ull) * 4) + sl__aligned((b->pieces + 1ull) * 8);
	char *memory = NULL;
	int code = sl__device_alloc(d, bytes, "Rows of P", &memory, err);
	b->bound = malloc((b->pieces + 1ull) * sizeof *b->bound);
	b->at = malloc((b->pieces + 1ull) * sizeof *b->at);
	if (!code && (!b->bound || !b->at))
		code = sl_error_memory(err, "rows of P");
	if (code)
		goto out;
	uint32_t *bound = (uint32_t *)memory;
	uint64_t *at = (uint64_t *)(memory + sl__aligned((b->pieces + 1ull) * 4));
	SL_CUDA(sl__fill_bounds(b->filling->start, n, step, b->pieces, bound, at, d->stream));
	SL_CUDA(sl__fetch(b->bound, bound, (b->pieces + 1ull) * 4, d->stream));
	SL_CUDA(sl__fetch(b->at, at, (b->pieces + 1ull) * 8, d->stream));
	for (uint32_t k = 0; k < b->pieces; k++) {
		b->most = b->at[k + 1] - b->at[k] > b->most ? b->at[k + 1] - b->at[k] : b->most;
		b->rows = b->bound[k + 1] - b->bound[k] > b->rows ? b->bound[k + 1] - b->bound[k] : b->rows;
	}
out:
	sl__device_free(d, memory, bytes);
	return code;
}

static int bench_open(struct bench *b, uint32_t n, uint64_t m, struct sl_error *err)
{
	struct sl_device *d = b->device;
	uint64_t step = m / 16;
	step = step < FILL_LEAST ? FILL_LEAST : step > FILL_MOST ? FILL_MOST : step;
	if (sl__small_takes(d, n))
		step = m + 1;  /* gpu/small/ needs it whole */
	b->pieces = (uint32_t)(m / step + 1);
	int code = divide(b, n, step, err);
	if (code)
		return code;
	b->bytes = bench_lay_out(b, NULL);
	code = sl__device_alloc(d, b->bytes, "Rows of P", &b->memory, err);
	if (!code)
		bench_lay_out(b, b->memory);
	return code;
}

static void bench_close(struct bench *b)
{
	sl__device_free(b->device, b->memory, b->bytes);
	free(b->bound);
	free(b->at);
}

/* The rows that no block can hold. */
static int fill_longest(struct bench *b, const struct sl_affinity_report *report, struct sl_error *err)
{
	struct sl_device *d = b->device;
	uint64_t count = report->longest_entries, room_bytes = sl__sort_bytes(count);
	uint64_t keys = sl__aligned(count * 8), values = sl__aligned(count * 4);
	uint64_t bytes = 2 * keys + 2 * values + 256 + room_bytes;
	char *memory = NULL;
	int code = sl__device_alloc(d, bytes, "The longest rows of P", &memory, err);
	if (code)
		return code;
	uint64_t *key = (uint64_t *)memory, *key_sorted = (uint64_t *)(memory + keys);
	uint32_t *value = (uint32_t *)(memory + 2 * keys), *value_sorted = (uint32_t *)(memory + 2 * keys + values);
	unsigned long long *next = (unsigned long long *)(memory + 2 * keys + 2 * values);
	SL_CUDA(sl__fill_longest(b->filling, report->longest, key, value, next, d->stream));
	SL_CUDA(sl__sort_pairs_long(next + 32, room_bytes, key, key_sorted, value, value_sorted, count, d->stream));
	SL_CUDA(sl__fill_sorted(b->filling, report->longest, count, key_sorted, value_sorted, d->stream));
out:
	sl__device_free(d, memory, bytes);
	return code;
}

static int fill_piece(struct bench *b, uint32_t k, double *entropy, struct sl_error *err)
{
	struct sl_filling *f = b->filling;
	cudaStream_t stream = b->device->stream;
	struct sl_affinity_report report;
	double sum;
	int code = 0;
	f->rows.first = b->bound[k];
	f->rows.n = b->bound[k + 1] - b->bound[k];
	f->rows.base = b->at[k];
	SL_CUDA(cudaMemcpyAsync(f->rows.start, f->start + f->rows.first, (f->rows.n + 1ull) * 8, cudaMemcpyDeviceToDevice,
				stream));
	SL_CUDA(sl__fill_rows(f, stream));
	SL_CUDA(sl__fetch(&report, f->report, sizeof report, stream));
	if (report.longest)
		SL_TRY(fill_longest(b, &report, err));
	SL_CUDA(sl__fill_sum(f->entropy, f->rows.n, b->part, b->sum, stream));
	SL_CUDA(sl__fetch(&sum, b->sum, sizeof sum, stream));
	*entropy += sum;
out:
	return code;
}

int sl__fill_all(struct sl_device *d, struct sl_filling *f, uint32_t n, uint64_t m, sl__rows_fn fn, void *arg,
		 double *entropy, struct sl_error *err)
{
	struct bench b = {.device = d, .filling = f};
	int code = bench_open(&b, n, m, err);
	*entropy = 0;
	for (uint32_t k = 0; k < b.pieces && !code; k++) {
		if (b.bound[k] == b.bound[k + 1])
			continue;
		SL_TRY(fill_piece(&b, k, entropy, err));
		SL_TRY(fn(arg, &f->rows, err));
	}
out:
	bench_close(&b);
	return code;
}

/* ---- the graph on the device ---------------------------------------------------------------------- */

struct making {
	struct sl_device *device;
	const struct sl_graph *graph;
	const struct sl_affinities_params *params;
	struct sl_filling filling;
	struct sl_affinity_report *report, host;
	uint32_t *length, *old_of;
	uint32_t kept, dropped;
	uint64_t m;
	double entropy;
	struct piece {               /* memory that is given back at the end, or before */
		void *memory;
		uint64_t bytes;
	} piece[16];
	int pieces;
};

static int take(struct making *k, uint64_t bytes, void *out, struct sl_error *err)
{
	char what[96];
	struct piece *p = &k->piece[k->pieces];
	snprintf(what, sizeof what, "Making P of a graph of %u nodes and %llu entries", k->graph->n,
		 (unsigned long long)k->graph->m);
	p->bytes = sl__aligned(bytes + 4);
	int code = sl__device_alloc(k->device, p->bytes, what, &p->memory, err);
	if (!code) {
		*(void **)out = p->memory;
		k->pieces++;
	}
	return code;
}

/* Gives back what was taken after the first `count` pieces. */
static void give_back(struct making *k, int count)
{
	while (k->pieces > count) {
		k->pieces--;
		sl__device_free(k->device, k->piece[k->pieces].memory, k->piece[k->pieces].bytes);
	}
}

static int upload(struct making *k, const void *from, uint64_t bytes, void *out, struct sl_error *err)
{
	void *to = NULL;
	int code = take(k, bytes, &to, err);
	if (code)
		return code;
	SL_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, k->device->stream));
	*(void **)out = to;
out:
	return code;
}

/* Sorts the entries by row. */
static int make_rows(struct making *k, struct sl_error *err)
{
	struct sl_sides *s = &k->filling.sides;
	cudaStream_t stream = k->device->stream;
	uint64_t *row_start = NULL, room_bytes = sl__sort_bytes(s->m);
	uint32_t *source = NULL, *of_column = NULL, *row = NULL;
	void *room = NULL;
	int code = 0, before;
	if (k->graph->symmetric) {
		s->row_start = s->start;
		s->source = s->node;
		return 0;
	}
	SL_TRY(take(k, (s->n + 1ull) * 8, &row_start, err));
	SL_TRY(take(k, s->m * 4, &source, err));
	s->row_start = row_start;
	s->source = source;
	before = k->pieces;
	SL_TRY(take(k, s->m * 4, &of_column, err));
	SL_TRY(take(k, s->m * 4, &row, err));
	SL_TRY(take(k, room_bytes, &room, err));
	SL_CUDA(sl__sides_columns(s->n, s->start, of_column, stream));
	SL_CUDA(sl__sort_pairs(room, room_bytes, s->node, row, of_column, source, s->m, sl__bits_for(s->n - 1), stream));
	SL_CUDA(sl__sides_starts(s->n, row, s->m, row_start, stream));
	give_back(k, before);
out:
	return code;
}

static int count_kept(struct making *k, uint32_t *kept, struct sl_error *err)
{
	cudaStream_t stream = k->device->stream;
	int code = 0;
	SL_CUDA(sl__sides_lengths(&k->filling.sides, k->length, k->report, stream));
	SL_CUDA(sl__fetch(&k->host, k->report, sizeof k->host, stream));
	*kept = k->host.kept;
out:
	return code;
}

static int measure_rows(struct making *k, struct sl_error *err)
{
	struct sl_sides *s = &k->filling.sides;
	uint8_t *left_out = NULL;
	uint32_t before = 0;
	int code = 0;
	SL_TRY(take(k, s->n * 4ull, &k->length, err));
	SL_TRY(count_kept(k, &k->kept, err));
	if (!k->params->drop_leaf_edges)
		return 0;
	before = k->kept;
	SL_TRY(take(k, s->n, &left_out, err));
	SL_CUDA(sl__sides_flags(k->length, s->n, 1, true, left_out, k->device->stream));
	s->left_out = left_out;
	SL_TRY(count_kept(k, &k->kept, err));
	k->dropped = before - k->kept;
out:
	return code;
}

static int make_columns(struct making *k, struct sl_error *err)
{
	struct sl_column_form *column = NULL;
	struct sl_sides *s = &k->filling.sides;
	cudaStream_t stream = k->device->stream;
	int code = 0;
	if (k->graph->weight)
		SL_TRY(upload(k, k->graph->weight, s->m * 4, &s->weight, err));
	SL_TRY(take(k, s->n * sizeof *column, &column, err));
	SL_CUDA(sl__columns_rescale(s, k->params->lambda, column, k->report, stream));
	SL_CUDA(sl__fetch(&k->host, k->report, sizeof k->host, stream));
	k->filling.column = column;
	k->filling.scale = k->host.filled ? 0.5 / k->host.filled : 0;
out:
	return code;
}

/* The order of the rows, their starts, and each node's row. */
static int number_rows(struct making *k, struct sl_error *err)
{
	struct sl_device *d = k->device;
	uint32_t n = k->filling.sides.n, *new_of = NULL, *new_length = NULL;
	uint64_t *start = NULL, room_bytes = sl__sort_bytes(k->kept);
	enum sl_order order = k->params->order == SL_ORDER_AUTO ? sl__order_choose(k->kept) : k->params->order;
	void *room = NULL;
	int code = 0, before;
	SL_TRY(take(k, k->kept * 4ull, &k->old_of, err));
	SL_TRY(sl__affinities_order(d, &k->filling, (int)order, k->length, k->kept, k->old_of, err));
	SL_TRY(take(k, n * 4ull, &new_of, err));
	SL_TRY(take(k, (k->kept + 1ull) * 8, &start, err));
	before = k->pieces;
	SL_TRY(take(k, k->kept * 4ull, &new_length, err));
	SL_TRY(take(k, room_bytes, &room, err));
	SL_CUDA(cudaMemsetAsync(new_of, 0xff, n * 4ull, d->stream));
	SL_CUDA(sl__fill_number(k->old_of, k->kept, new_of, d->stream));
	SL_CUDA(sl__fill_gather(k->length, k->old_of, k->kept, new_length, d->stream));
	SL_CUDA(sl__sum_before(room, room_bytes, new_length, start, k->kept, d->stream));
	SL_CUDA(sl__fetch(&k->m, start + k->kept, 8, d->stream));
	give_back(k, before);
	k->filling.old_of = k->old_of;
	k->filling.new_of = new_of;
	k->filling.start = start;
out:
	return code;
}

/* Everything but the rows of P. */
static int begin(struct making *k, struct sl_error *err)
{
	const struct sl_graph *g = k->graph;
	struct sl_sides *s = &k->filling.sides;
	int code = 0;
	SL_TRY(sl__device_enter(k->device, err));
	SL_TRY(take(k, sizeof *k->report, &k->report, err));
	SL_CUDA(cudaMemsetAsync(k->report, 0, sizeof *k->report, k->device->stream));
	s->n = g->n;
	s->m = g->m;
	SL_TRY(upload(k, g->start, (g->n + 1ull) * 8, &s->start, err));
	SL_TRY(upload(k, g->node, g->m * 4, &s->node, err));
	SL_TRY(make_rows(k, err));
	SL_TRY(measure_rows(k, err));
	if (!k->kept) {
		code = sl_error_set(err, SL_BADPARAM, "No node has an edge.");
		goto out;
	}
	SL_TRY(make_columns(k, err));
	SL_TRY(number_rows(k, err));
out:
	return code;
}

static int summarise(const struct making *k, struct sl_affinities **out, struct sl_error *err)
{
	struct sl_affinities *a = calloc(1, sizeof *a);
	int code = 0;
	if (!a || !(a->user = malloc(k->kept * 4ull + 4))) {
		code = sl_error_memory(err, "%u nodes", k->kept);
		goto out;
	}
	SL_CUDA(sl__fetch(a->user, k->old_of, k->kept * 4ull, k->device->stream));
	a->n = k->kept;
	a->n_user = k->graph->n;
	a->m = k->m;
	a->entropy = k->entropy;
	a->unreachable = k->host.unreachable;
	a->dropped = k->dropped;
out:
	if (code)
		sl_affinities_destroy(a);
	else
		*out = a;
	return code;
}

int sl__affinities_make(struct sl_device *d, const struct sl_graph *graph, const struct sl_affinities_params *params,
			const struct sl_affinity_sink *sink, struct sl_affinities **summary, struct sl_error *err)
{
	struct making k = {.device = d, .graph = graph, .params = params};
	int code = 0;
	SL_TRY(sl_affinities_params_check(params, err));
	SL_TRY(sl__graph_fits(graph->n, err));
	SL_TRY(begin(&k, err));
	SL_TRY(sink->begin(sink->arg, k.kept, k.m, k.filling.start, err));
	SL_TRY(sl__fill_all(d, &k.filling, k.kept, k.m, sink->rows, sink->arg, &k.entropy, err));
	code = summarise(&k, summary, err);
out:
	give_back(&k, 0);
	return code;
}

/* ---- P, packed --------------------------------------------------------------------------------------- */

struct packing {
	struct sl_device *device;
	struct sl_device_graph *graph;
	uint64_t *start;  /* host, [n + 1], if the graph is divided among the ranks of a group */
};

/* Chooses this rank's share. Every rank makes all rows, and keeps its own. */
static int choose_share(struct packing *p, const uint64_t *start, struct sl_share *share, uint32_t *parts,
			struct sl_error *err)
{
	uint64_t bytes = (share->n + 1ull) * 8;
	int code = 0;
	p->start = malloc(bytes);
	if (!p->start)
		return sl_error_memory(err, "%u rows of P", share->n);
	SL_CUDA(sl__fetch(p->start, start, bytes, p->device->stream));
	sl__graph_divide(share->n, p->start, p->device->ranks, parts);
	share->first = parts[p->device->rank];
	share->rows = parts[p->device->rank + 1] - share->first;
	share->begin = p->start[share->first];
	share->end = p->start[share->first + share->rows];
out:
	return code;
}

static int packing_begin(void *arg, uint32_t n, uint64_t m, const uint64_t *start, struct sl_error *err)
{
	struct packing *p = arg;
	struct sl_share share = {n, m, 0, n, 0, m};
	uint32_t parts[SL_RANKS_MAX + 1] = {0};
	if (sl__graph_divides(p->device, n))
		SL_RETURN(choose_share(p, start, &share, parts, err));
	SL_RETURN(sl__graph_alloc(p->device, &share, &p->graph, err));
	memcpy(p->graph->parts, parts, sizeof parts);
	return 0;
}

/* Those of the rows that are this rank's, numbered from its first row on. */
static struct sl_rows own_rows(const struct packing *p, const struct sl_rows *rows)
{
	const struct sl_share *s = &p->graph->share;
	uint32_t end = rows->first + rows->n, last = s->first + s->rows;
	uint32_t from = rows->first > s->first ? rows->first : s->first, to = end < last ? end : last;
	if (!p->start || from >= to)
		return p->start ? (struct sl_rows){.first = rows->first} : *rows;
	uint64_t skipped = p->start[from] - rows->base;
	return (struct sl_rows){.first = from - s->first, .n = to - from, .base = p->start[from],
				.start = rows->start + (from - rows->first), .node = rows->node + skipped,
				.p = rows->p + skipped};
}

static int packing_rows(void *arg, const struct sl_rows *rows, struct sl_error *err)
{
	struct packing *p = arg;
	const struct sl_rows own = p->graph->rows;
	int code = 0;
	p->graph->rows = own_rows(p, rows);
	if (p->graph->rows.n)
		code = sl__graph_pack(p->graph, err);
	p->graph->rows = own;
	return code;
}

int sl__graph_make(struct sl_device *d, const struct sl_graph *graph, const struct sl_affinities_params *params,
		   struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err)
{
	struct packing p = {.device = d};
	const struct sl_affinity_sink sink = {packing_begin, packing_rows, &p};
	struct sl_affinities *a = NULL;
	int code = sl__affinities_make(d, graph, params, &sink, &a, err);
	free(p.start);
	if (!code)
		code = sl__graph_finish(p.graph, err);
	if (code) {
		sl_affinities_destroy(a);
		sl__graph_drop(p.graph);
		return code;
	}
	p.graph->entropy = a->entropy;
	*out = p.graph;
	*summary = a;
	return 0;
}
