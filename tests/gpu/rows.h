/* rows.h -- a random P on the host, packed on the device by gpu/graph/pack.cu, and read back. After cmocka.h. */
#ifndef SL_TEST_ROWS_H
#define SL_TEST_ROWS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/graph/graph.h"
#include "tests/gpu/device_memory.h"
#include "tests/unit/graphs.h"

#define GUARD 4096
#define ROUNDING 0x1p-24  /* what a float is off by at most */

/* P on the host. */
struct table {
	uint32_t n;
	uint64_t *start;  /* [n + 1] */
	uint32_t *node;   /* [start[n]] */
	double *p;
	double *slack;    /* how far off what is packed may be */
};

struct rig {
	cudaStream_t stream;
	struct device_memory memory;
	struct table given, packed;  /* packed: with what fills it up */
	struct sl_matrix a;
	struct sl_rows_report *rows;
	struct sl_orders orders, *device_orders;
	struct sl_report report, *device_report;
	float *mass;                 /* [n], as packed */
};

static inline uint64_t below(uint64_t *seed, uint64_t n) { return (uint64_t)(test_uniform(seed) * (double)n); }

/* ---- tables --------------------------------------------------------------------------------- */

static inline void table_alloc(struct table *t, uint32_t n, const uint64_t *length)
{
	t->n = n;
	t->start = calloc(n + 1ull, sizeof *t->start);
	for (uint32_t i = 0; i < n; i++)
		t->start[i + 1] = t->start[i] + length[i];
	t->node = malloc(sizeof *t->node * (t->start[n] + 1));
	t->p = malloc(sizeof *t->p * (t->start[n] + 1));
	t->slack = calloc(t->start[n] + 1, sizeof *t->slack);
}

static inline void table_free(struct table *t)
{
	free(t->start);
	free(t->node);
	free(t->p);
	free(t->slack);
}

/* Of all kinds, in any order. There is always one that takes a block more than once, and, for pieces of 2 and of 4, one
 * that is just not long with what fills it up. */
static inline uint64_t length_of(uint64_t *seed, uint32_t i, uint32_t n)
{
	double kind = test_uniform(seed);
	if (i == n / 2)
		return 3 * SL_LONG_ROW + below(seed, SL_LONG_ROW);
	if (i == n / 3 || i == n / 4)
		return SL_LONG_ROW - (i == n / 3 ? 1 : 3);
	if (kind > 0.996)
		return SL_LONG_ROW + below(seed, 5000);
	if (kind > 0.992)
		return SL_LONG_ROW - 12 + below(seed, 16);
	return kind < 0.04 ? 0 : kind < 0.1 ? 1 : kind < 0.9 ? 2 + below(seed, 14) : 16 + below(seed, 500);
}

/* Rows differ in size; some are zero, as are some entries. Every other neighbour is near in number. */
static inline void table_init(struct table *t, uint32_t n, uint64_t *seed)
{
	uint64_t *length = calloc(n, sizeof *length);
	for (uint32_t i = 0; i < n; i++)
		length[i] = length_of(seed, i, n);
	table_alloc(t, n, length);
	for (uint32_t i = 0; i < n; i++) {
		double size = below(seed, 100) ? 1e-3 * exp(4 * test_uniform(seed)) : 0;
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++) {
			uint32_t j = (uint32_t)(below(seed, 2) ? below(seed, n) : (i + 1 + below(seed, 20)) % n);
			t->node[e] = j != i ? j : (i + 1) % n;
			t->p[e] = (double)(float)(below(seed, 50) ? size * exp(6 * test_uniform(seed) - 6) : 0);
		}
	}
	free(length);
}

static inline double row_largest(const struct table *t, uint32_t i)
{
	double largest = 0;
	for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++)
		largest = fmax(largest, t->p[e]);
	return largest;
}

static inline double row_sum(const struct table *t, uint32_t i)
{
	double sum = 0;
	for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++)
		sum += t->p[e];
	return sum;
}

/* An entry is largest (q / most)^2, q the nearest whole number as far as floats tell. */
static inline void allow_rounding(struct table *t, int bits)
{
	double most = (double)((1u << bits) - 1), off = (0.5 + 4 * ROUNDING * most) / most;
	for (uint32_t i = 0; i < t->n && bits; i++) {
		double largest = row_largest(t, i);
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++)
			t->slack[e] = largest * off * (2 * sqrt(largest > 0 ? t->p[e] / largest : 0) + off) +
				      4 * ROUNDING * t->p[e];
	}
}

/* ---- tables of several components --------------------------------------------------------- */

struct edge { uint32_t i, j; };

/* Nodes of one part in eight are alone, those of the first all hang on one of them, those of others on any, or on the
 * one before, in a long path. */
static inline size_t make_edges(struct edge *edge, uint32_t n, uint32_t parts, uint64_t *seed)
{
	uint32_t *member = malloc(sizeof *member * n);
	size_t edges = 0;
	for (uint32_t part = 0; part < parts; part++) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < n; i++) {  /* half of all in the first */
			uint32_t place = (uint32_t)(((uint64_t)i * 2654435761u >> 7) % (2 * parts));
			if ((place < parts ? 0 : place - parts) != part)
				continue;
			member[count++] = i;
			uint32_t other = (uint32_t)below(seed, count), had = member[other];
			member[other] = i;
			member[count - 1] = had;
		}
		for (uint32_t k = 1; k < count && part % 8 != 7; k++) {
			uint64_t to = !part ? 0 : part % 8 == 3 ? k - 1 : below(seed, k);
			edge[edges++] = (struct edge){member[k], member[to]};
		}
	}
	free(member);
	return edges;
}

static inline uint32_t root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* Each edge in both its rows. label[n]: the smallest number in a node's component. */
static inline void make_components(struct table *t, uint32_t n, uint32_t *label, uint64_t *seed)
{
	struct edge *edge = malloc(sizeof *edge * n);
	size_t edges = make_edges(edge, n, 1 + (uint32_t)below(seed, 60), seed);
	uint64_t *length = calloc(n, sizeof *length);
	for (size_t e = 0; e < edges; e++) {
		length[edge[e].i]++;
		length[edge[e].j]++;
	}
	table_alloc(t, n, length);
	memset(length, 0, sizeof *length * n);
	for (uint32_t i = 0; i < n; i++)
		label[i] = i;
	for (size_t e = 0; e < edges; e++) {
		uint32_t i = edge[e].i, j = edge[e].j, a = root_of(label, i), b = root_of(label, j);
		uint64_t here = t->start[i] + length[i]++, there = t->start[j] + length[j]++;
		t->node[here] = j;
		t->node[there] = i;
		t->p[here] = t->p[there] = (double)(float)exp(6 * test_uniform(seed) - 6);
		label[a > b ? a : b] = a < b ? a : b;
	}
	for (uint32_t i = 0; i < n; i++)
		label[i] = root_of(label, i);
	free(edge);
	free(length);
}

/* ---- packing ----------------------------------------------------------------------------------- */

/* In so many pieces, which may be empty. */
static inline void pack(struct rig *r, uint32_t pieces, uint64_t *seed)
{
	const struct table *t = &r->given;
	for (uint32_t k = 0, first = 0, next; k < pieces; k++, first = next) {
		struct device_memory here = {.guard = GUARD};
		next = k + 1 == pieces ? t->n : first + (uint32_t)below(seed, 2 * (t->n - first) / (pieces - k) + 1);
		next = next < t->n ? next : t->n;
		uint64_t base = t->start[first], entries = t->start[next] - base;
		float *p = malloc(sizeof *p * (entries + 1));
		for (uint64_t e = 0; e < entries; e++)
			p[e] = (float)t->p[base + e];
		struct sl_rows rows = {
			.first = first, .n = next - first, .base = base,
			.start = take(&here, (next - first + 1ull) * sizeof *rows.start, t->start + first),
			.node = take(&here, entries * sizeof *rows.node, t->node + base),
			.p = take(&here, entries * sizeof *p, p),
		};
		CUDA(cudaDeviceSynchronize());  /* the stream waits for no other */
		CUDA(sl__pack_rows(&rows, &r->a, r->rows, r->stream));
		CUDA(cudaStreamSynchronize(r->stream));
		give_back(&here);
		free(p);
	}
}

static inline void *read_back(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);
	CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
	return to;
}

/* The table that the pieces are; a row's scale is that of its largest entry. */
static inline void open_pieces(struct rig *r)
{
	const struct sl_matrix *a = &r->a;
	uint32_t *start = read_back(a->start, sizeof *start * (a->n + 1ull)), in_piece = sl__piece(a->bits);
	uint64_t *length = malloc(sizeof *length * a->n);
	float *scale = a->bits ? read_back(a->scale, sizeof *scale * a->n) : NULL;
	assert_int_equal(start[0], 0);
	for (uint32_t i = 0; i < a->n; i++) {
		assert_int_equal(start[i + 1], sl__first_piece(r->given.start[i + 1], i + 1, in_piece));
		length[i] = (uint64_t)in_piece * (start[i + 1] - start[i]);
	}
	table_alloc(&r->packed, a->n, length);
	uint32_t *word = read_back(a->piece, 16ull * start[a->n]);
	for (uint32_t i = 0; i < a->n; i++) {
		double most = a->bits ? (double)((1u << a->bits) - 1) : 1, largest = row_largest(&r->given, i);
		if (a->bits && !(fabs((double)scale[i] * most * most - largest) <= 4 * ROUNDING * largest))
			fail_msg("%d bits: row %u, of largest entry %g, has scale %g", a->bits, i, largest, (double)scale[i]);
		for (uint64_t e = r->packed.start[i]; e < r->packed.start[i + 1]; e++) {
			double q = a->bits ? (double)(word[e] & ((1u << a->bits) - 1)) : 0;
			float p = 0;
			if (!a->bits)
				memcpy(&p, &word[2 * e + 1], sizeof p);
			r->packed.node[e] = a->bits ? word[e] >> a->bits : word[2 * e];
			r->packed.p[e] = a->bits ? (double)scale[i] * q * q : (double)p;
		}
	}
	free(start);
	free(length);
	free(scale);
	free(word);
}

/* Not yet packed. */
static inline void rig_init(struct rig *r, struct table *given, int bits)
{
	memset(r, 0, sizeof *r);
	r->memory.guard = GUARD;
	r->given = *given;
	allow_rounding(&r->given, bits);
	uint32_t n = given->n;
	uint64_t m = given->start[n], longest = m / (SL_LONG_ROW / 2) + 1;
	CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
	r->a = (struct sl_matrix){
		.n = n, .m = m, .bits = bits, .start = take(&r->memory, sizeof(uint32_t) * (n + 1ull), NULL),
		.piece = take(&r->memory, 16 * sl__first_piece(m, n, sl__piece(bits)), NULL),
		.scale = bits ? take(&r->memory, sizeof(float) * n, NULL) : NULL,
		.mass = take(&r->memory, sizeof(float) * n, NULL),
		.long_rows = take(&r->memory, sizeof(uint32_t) * longest, NULL),
	};
	r->rows = take(&r->memory, sizeof *r->rows, NULL);
	r->orders.reach = 25;
	r->report.z = 1234.5;
	for (int k = 0; k < 3; k++)
		r->report.corner[k] = (float)(10.3 * k - 4);
	r->device_orders = take(&r->memory, sizeof r->orders, &r->orders);
	r->device_report = take(&r->memory, sizeof r->report, &r->report);
}

static inline void rig_pack(struct rig *r, uint32_t pieces, uint64_t *seed)
{
	struct sl_rows_report report;
	pack(r, pieces, seed);
	table_free(&r->packed);
	free(r->mass);
	open_pieces(r);
	r->mass = read_back(r->a.mass, sizeof *r->mass * r->a.n);
	CUDA(cudaMemcpy(&report, r->rows, sizeof report, cudaMemcpyDeviceToHost));
	r->a.long_count = report.long_count;
}

static inline void rig_finish(struct rig *r)
{
	CUDA(cudaStreamDestroy(r->stream));
	give_back(&r->memory);
	table_free(&r->given);
	table_free(&r->packed);
	free(r->mass);
}

/* ---- points ---------------------------------------------------------------------------------- */

static inline size_t stride_of(int dims) { return dims == 3 ? 4 : (size_t)dims; }

/* Points in the grids, [n * stride]; what pads them is no number. */
static inline float *make_points(const struct rig *r, int dims, uint64_t *seed)
{
	size_t stride = stride_of(dims);
	float *y = malloc(sizeof *y * r->a.n * stride);
	for (size_t c = 0; c < r->a.n * stride; c++)
		y[c] = c % stride < (size_t)dims ?
			r->report.corner[c % stride] + r->orders.reach * (float)test_uniform(seed) : NAN;
	return y;
}

static inline int rounding_bits(int dims) { return dims == 3 ? 21 : 16; }

/* Positions as rounded ones say, opened as kernels do it. */
static inline float *open_points(const struct rig *r, int dims, const uint32_t *rounded)
{
	size_t stride = stride_of(dims);
	float *y = malloc(sizeof *y * r->a.n * stride);
	float step = r->orders.reach / (float)((1 << rounding_bits(dims)) - 1);
	for (size_t i = 0; i < r->a.n; i++) {
		uint64_t all = dims == 2 ? rounded[i] : 0, q[3] = {all & 0xffff, all >> 16, 0};
		if (dims == 3) {
			q[0] = rounded[2 * i] & 0x1fffff;
			q[1] = rounded[2 * i + 1] & 0x1fffff;
			q[2] = rounded[2 * i] >> 21 | rounded[2 * i + 1] >> 21 << 11;
		}
		for (size_t k = 0; k < stride; k++)
			y[i * stride + k] = fmaf((float)q[k % 3], step, r->report.corner[k % 3]);
	}
	return y;
}

/* How far a coordinate may be from its rounded one. */
static inline double jump_of(const struct rig *r, int dims)
{
	double most = (double)((1 << rounding_bits(dims)) - 1), reach = (double)r->orders.reach, far = reach;
	for (int k = 0; k < dims; k++)
		far = fmax(far, fabs((double)r->report.corner[k]) + reach);
	return reach / most * (0.5 + 4 * ROUNDING * most) + 2 * ROUNDING * far;
}

#endif
