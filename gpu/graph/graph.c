/* Brings P to the device: uploads rows as the affinities hold them, then packs them to 4 bytes per entry. */
#include "core/graph/affinities.h"
#include "gpu/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_FEW 300000  /* fewer threads do not fill a GPU */
#define PIECES_MAX 0xffff0000u  /* a 32-bit counter may exceed it by a few strides of a block */

/* The number of threads that share a row: enough that their loads hide each other's latency, few enough that most of
 * them have work. It follows from the mean length of the rows that are not long; if there are few rows, they get
 * more. */
static int lanes_for(uint32_t n, double mean)
{
	int lanes = mean < 16 ? 2 : mean < 64 ? 4 : mean < 256 ? 8 : 16;
	while (lanes < 16 && lanes * 4 < mean && (uint64_t)n * (uint64_t)lanes < THREADS_FEW)
		lanes *= 2;
	return lanes;
}

/* The number of bits left for the weight beside a node's number; 0 if they are too few. */
static int bits_for(uint32_t n)
{
	int bits = 32;
	while (bits > 0 && (uint64_t)n > 1ull << (32 - bits))
		bits--;
	bits = bits > 24 ? 24 : bits;  /* a float's mantissa has no more */
	return bits < SL_BITS_LEAST ? 0 : bits;
}

static void rows_drop(struct sl_device_graph *g)
{
	if (g->rows.start)
		g->device->graph_bytes -= g->rows_bytes;
	sl__device_free(g->device, g->rows.start, g->rows_bytes);
	memset(&g->rows, 0, sizeof g->rows);
}

/* start, node and p in one block. */
int sl__graph_rows(struct sl_device_graph *g, uint32_t n, uint64_t entries, struct sl_error *err)
{
	uint64_t start_bytes = sl__aligned((n + 1ull) * sizeof *g->rows.start), entry_bytes = sl__aligned(entries * 4 + 4);
	char what[80], *memory;
	g->rows_bytes = start_bytes + 2 * entry_bytes;
	snprintf(what, sizeof what, "A graph of %u nodes and %llu entries", g->matrix.n, (unsigned long long)g->matrix.m);
	int code = sl__device_alloc(g->device, g->rows_bytes, what, &memory, err);
	if (code)
		return code;
	g->device->graph_bytes += g->rows_bytes;
	g->rows = (struct sl_rows){
		.n = n, .start = (uint64_t *)memory, .node = (uint32_t *)(memory + start_bytes),
		.p = (float *)(memory + start_bytes + entry_bytes),
	};
	return 0;
}

static int matrix_alloc(struct sl_device_graph *g, struct sl_error *err)
{
	struct sl_matrix *p = &g->matrix;
	const struct sl_share *share = &g->share;
	uint32_t piece = sl__piece(p->bits);
	uint64_t last = sl__first_piece(share->end, share->first + (uint64_t)share->rows, piece);
	uint64_t pieces = last - p->base, piece_bytes = sl__aligned(16 * pieces + 16);
	uint64_t start_bytes = sl__aligned((p->n + 1ull) * 4), node_bytes = sl__aligned(p->n * 4ull + 4);
	uint64_t long_bytes = sl__aligned((p->m / (SL_LONG_ROW / 2) + 1) * 4);
	char what[80];
	g->bytes = piece_bytes + start_bytes + 2 * node_bytes + long_bytes + sl__aligned(sizeof(struct sl_rows_report));
	snprintf(what, sizeof what, "A graph of %u nodes and %llu entries", p->n, (unsigned long long)p->m);
	int code = sl__device_alloc(g->device, g->bytes, what, &g->memory, err);
	if (code)
		return code;
	g->device->graph_bytes += g->bytes;
	char *at = g->memory;
	p->piece = (uint4 *)at;
	p->start = (uint32_t *)(at += piece_bytes);
	p->scale = (float *)(at += start_bytes);
	p->mass = (float *)(at += node_bytes);
	p->long_rows = (uint32_t *)(at += node_bytes);
	g->report = (struct sl_rows_report *)(at + long_bytes);
	return 0;
}

int sl__graph_fits(uint32_t n, struct sl_error *err)
{
	if (n <= SL_GPU_NODES_MAX)
		return 0;
	return sl_error_set(err, SL_TOOBIG, "The graph has %u nodes; engines on a GPU take at most %u.", n,
			    SL_GPU_NODES_MAX);
}

int sl__graph_alloc(struct sl_device *d, const struct sl_share *share, struct sl_device_graph **out,
		    struct sl_error *err)
{
	uint32_t n = share->rows;
	uint64_t m = share->end - share->begin;
	int code = sl__graph_fits(share->n, err);
	if (code)
		return code;
	if (m / 2 + n > PIECES_MAX)
		return sl_error_set(err, SL_TOOBIG, "The graph has %u nodes and %llu entries; on a GPU, nodes and half of the "
				    "entries together must not be more than %u.", n, (unsigned long long)m, PIECES_MAX);
	struct sl_device_graph *g = calloc(1, sizeof *g);
	if (!g)
		return sl_error_memory(err, "a graph of %u nodes", n);
	g->device = d;
	g->share = *share;
	g->matrix.n = n;
	g->matrix.m = m;
	g->matrix.first = share->first;
	g->matrix.bits = bits_for(share->n);
	g->matrix.base = sl__first_piece(share->begin, share->first, sl__piece(g->matrix.bits));
	code = matrix_alloc(g, err);
	if (code)
		sl__graph_drop(g);
	else
		*out = g;
	return code;
}

int sl__graph_pack(struct sl_device_graph *g, struct sl_error *err)
{
	bool whole = g->rows.n == g->share.n;
	int code = 0;
	SL_TRY(whole ? sl__small_attach(g->device, &g->rows, g->matrix.m, &g->small, err) : 0);
	SL_CUDA(sl__pack_rows(&g->rows, &g->matrix, g->report, g->device->stream));
out:
	return code;
}

int sl__graph_finish(struct sl_device_graph *g, struct sl_error *err)
{
	struct sl_matrix *p = &g->matrix;
	struct sl_rows_report report;
	cudaStream_t stream = g->device->stream;
	int code = 0;
	SL_CUDA(sl__fetch(&report, g->report, sizeof report, stream));
	p->long_count = report.long_count;
	/* of the whole graph, so that rows are summed as on one GPU */
	uint64_t count[2] = {report.long_count, report.long_entries}, all[2 * SL_RANKS_MAX];
	if (sl__is_divided(g)) {
		SL_TRY(sl__group_tell(g->device, 0, count, 2, all, err));
		for (int r = 1; r < g->device->ranks; r++) {
			all[0] += all[2 * r];
			all[1] += all[2 * r + 1];
		}
		memcpy(count, all, sizeof count);
	}
	uint64_t short_count = g->share.n - count[0];
	p->lanes = lanes_for(g->share.n, short_count ? (double)(g->share.m - count[1]) / (double)short_count : 0);
	rows_drop(g);
out:
	return code;
}

/* ---- shares of a group ------------------------------------------------------------------------- */

#define NODE_ENTRIES 15  /* a node takes as long as so many entries of P (an H200, 2-D) */
#define NODES_APART 64   /* parts begin at multiples of it, so that arrays of points are aligned */

void sl__graph_divide(uint32_t n, const uint64_t *start, int ranks, uint32_t *parts)
{
	double whole = (double)start[n] + NODE_ENTRIES * (double)n;
	parts[0] = 0;
	parts[ranks] = n;
	for (int r = 1; r < ranks; r++) {
		uint32_t low = parts[r - 1], high = n;
		while (low < high) {
			uint32_t middle = low + (high - low) / 2;
			if ((double)start[middle] + NODE_ENTRIES * (double)middle < whole * r / ranks)
				low = middle + 1;
			else
				high = middle;
		}
		uint32_t unit = low / NODES_APART + (low % NODES_APART > NODES_APART / 2);
		uint32_t least = parts[r - 1] / NODES_APART + 1, most = n / NODES_APART - (uint32_t)(ranks - r);
		parts[r] = (unit < least ? least : unit > most ? most : unit) * NODES_APART;  /* none is empty */
	}
}

bool sl__graph_divides(const struct sl_device *d, uint32_t n)
{
	return d->group && !sl__small_takes(d, n) && n >= NODES_APART * (uint32_t)d->ranks && n >= d->divide_nodes;
}

/* ---- from the host ------------------------------------------------------------------------- */

/* Limits of a chunk: its entries are on the device in both forms at the same time. */
#define ENTRIES_LEAST (1u << 15)
#define ENTRIES_MOST (1u << 23)

struct chunk {
	uint64_t entries;
	uint32_t rows;
};

/* The size of the largest chunk. A small graph is one chunk, since small.c needs it whole. */
static struct chunk chunk_of(const struct sl_device *d, const struct sl_affinities *a, const struct sl_share *s)
{
	uint64_t m = s->end - s->begin, share = m / 16;
	struct chunk c = {m, s->rows};
	if (sl__small_takes(d, a->n) && s->rows == s->n)
		return c;
	c.entries = share < ENTRIES_LEAST ? ENTRIES_LEAST : share > ENTRIES_MOST ? ENTRIES_MOST : share;
	for (uint32_t i = s->first; i < s->first + s->rows; i++)
		c.entries = a->start[i + 1] - a->start[i] > c.entries ? a->start[i + 1] - a->start[i] : c.entries;
	c.entries = c.entries < m ? c.entries : m;
	c.rows = c.entries / 2 + 1 < s->rows ? (uint32_t)(c.entries / 2 + 1) : s->rows;
	return c;
}

/* Packs as many of the share's rows from `first` on as fit into a chunk. */
static int put_rows(struct sl_device_graph *g, const struct sl_affinities *a, uint32_t first, const struct chunk *c,
		    struct sl_error *err)
{
	struct sl_rows *r = &g->rows;
	cudaStream_t stream = g->device->stream;
	uint32_t end = g->share.first + g->share.rows;
	int code = 0;
	r->first = first;
	first += g->share.first;
	r->base = a->start[first];
	r->n = 0;
	while (r->n < c->rows && first + r->n < end && a->start[first + r->n + 1] - r->base <= c->entries)
		r->n++;
	uint64_t entries = a->start[first + r->n] - r->base;
	SL_CUDA(cudaMemcpyAsync(r->start, a->start + first, (r->n + 1ull) * 8, cudaMemcpyHostToDevice, stream));
	SL_CUDA(cudaMemcpyAsync(r->node, a->node + r->base, entries * 4, cudaMemcpyHostToDevice, stream));
	SL_CUDA(cudaMemcpyAsync(r->p, a->p + r->base, entries * 4, cudaMemcpyHostToDevice, stream));
	code = sl__graph_pack(g, err);
out:
	return code;
}

int sl__graph_put(struct sl_device *d, const struct sl_affinities *a, const uint32_t *parts,
		  struct sl_device_graph **out, struct sl_error *err)
{
	struct sl_device_graph *g = NULL;
	struct chunk c = {0};
	uint32_t first = parts ? parts[d->rank] : 0, end = parts ? parts[d->rank + 1] : a->n;
	struct sl_share share = {a->n, a->m, first, end - first, a->start[first], a->start[end]};
	int code = sl__graph_alloc(d, &share, &g, err);
	if (!code)
		c = chunk_of(d, a, &share);
	if (!code)
		code = sl__graph_rows(g, c.rows, c.entries, err);
	for (uint32_t i = 0; i < share.rows && !code; i += g->rows.n)
		code = put_rows(g, a, i, &c, err);
	if (!code)
		code = sl__graph_finish(g, err);
	if (code) {
		sl__graph_drop(g);
		return code;
	}
	g->entropy = a->entropy;
	if (parts)
		memcpy(g->parts, parts, sizeof *parts * ((size_t)d->ranks + 1));
	*out = g;
	return 0;
}

void sl__graph_drop(struct sl_device_graph *g)
{
	if (!g)
		return;
	sl__small_drop(g->device, &g->small);
	rows_drop(g);
	if (g->memory)
		g->device->graph_bytes -= g->bytes;
	sl__device_free(g->device, g->memory, g->bytes);
	free(g);
}
