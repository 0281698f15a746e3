/* The kernels that read the rows of P (pack.cu, attract.cu, walk.cu) against sums in double precision. The sums over P
 * as given must agree within P's rounding, those over P as packed (read back and unpacked here) within float's
 * precision. The error of each row is compared with the size of its terms, so that no wrong row hides behind others. P
 * differs in each run; all variants of the kernels are called. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/graph/walk.h"
#include "gpu/layout/layout.h"
#include "tests/gpu/rows.h"

#define COLUMNS 8  /* of the walk's vectors */

/* Expected values, for P as packed and as given, and permitted errors; INFINITY: any value. */
struct value {
	double right[2], within[2];
};

/* Most nodes, and bits of a weight. */
static const struct kind {
	uint32_t most;
	int bits;
} kinds[] = {{2000, 0}, {2000, SL_BITS_LEAST}, {2000, 14}, {2000, 21}, {250, 24}, {250, 0}, {5, 24}, {5, 0}};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Error of a float sum relative to the size of its terms: a few roundings of each, and of partial sums. */
static double precision_of(const struct table *t, uint32_t i)
{
	return 1e-6 + 0.5 * ROUNDING * sqrt((double)(t->start[i + 1] - t->start[i]));
}

static void rig_random(struct rig *r, const struct kind *kind, uint64_t *seed)
{
	struct table given;
	table_init(&given, kind->most - (uint32_t)below(seed, kind->most / 4 + 1), seed);
	rig_init(r, &given, kind->bits);
	rig_pack(r, 1 + (uint32_t)below(seed, 4), seed);
}

/* ---- packing ------------------------------------------------------------------------------------- */

static void check_entries(const struct rig *r)
{
	const struct table *g = &r->given, *p = &r->packed;
	for (uint32_t i = 0; i < g->n; i++) {
		uint64_t length = g->start[i + 1] - g->start[i], room = p->start[i + 1] - p->start[i];
		assert_true(room >= length && room < length + 2 * sl__piece(r->a.bits));
		for (uint64_t e = 0; e < room; e++) {
			uint64_t to = p->start[i] + e, from = g->start[i] + e;
			uint32_t node = e < length ? g->node[from] : i;
			double weight = e < length ? g->p[from] : 0, off = e < length ? g->slack[from] : 0;
			if (p->node[to] != node || !(fabs(p->p[to] - weight) <= off))
				fail_msg("%d bits: entry %llu of %llu of row %u is %u with %.9g, not %u with %.9g", r->a.bits,
					 (unsigned long long)e, (unsigned long long)length, i, p->node[to], p->p[to], node, weight);
		}
		double sum = row_sum(g, i);
		if (!(fabs((double)r->mass[i] - sum) <= precision_of(g, i) * sum))
			fail_msg("%d bits: the mass of row %u is %.9g, not %.9g", r->a.bits, i, (double)r->mass[i], sum);
	}
}

static void check_long_rows(const struct rig *r)
{
	struct sl_rows_report report;
	CUDA(cudaMemcpy(&report, r->rows, sizeof report, cudaMemcpyDeviceToHost));
	uint32_t *listed = read_back(r->a.long_rows, sizeof *listed * report.long_count), count = 0;
	uint64_t entries = 0;
	for (uint32_t i = 0; i < r->a.n; i++) {
		bool is_long = r->packed.start[i + 1] - r->packed.start[i] > SL_LONG_ROW;
		uint32_t times = 0;
		for (uint32_t k = 0; k < report.long_count; k++)
			times += listed[k] == i;
		assert_int_equal(times, is_long);
		count += is_long;
		entries += is_long ? r->given.start[i + 1] - r->given.start[i] : 0;
	}
	assert_int_equal(report.long_count, count);
	assert_int_equal(report.long_entries, entries);
	free(listed);
}

static void rows_are_packed(void **state)
{
	if (!have_gpu)
		skip();
	uint64_t seed = fresh_seed();
	for (size_t c = 0; c < KINDS; c++) {
		struct rig r;
		struct table given;
		table_init(&given, kinds[c].most - (uint32_t)below(&seed, kinds[c].most / 4 + 1), &seed);
		rig_init(&r, &given, kinds[c].bits);
		for (uint32_t pieces = 1; pieces < 8; pieces += 3) {
			uint64_t bytes = 16 * sl__first_piece(r.a.m, r.a.n, sl__piece(r.a.bits));
			CUDA(cudaMemset(r.a.piece, 0xff, bytes));
			CUDA(cudaMemset(r.a.mass, 0xff, sizeof(float) * r.a.n));
			rig_pack(&r, pieces, &seed);
			check_entries(&r);
			check_long_rows(&r);
		}
		rig_finish(&r);
	}
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* got[n][stride] */
static void compare(const struct rig *r, const char *what, const struct value *v, const float *got, size_t stride)
{
	double worst = 0;
	for (size_t c = 0; c < r->a.n * stride; c++)
		for (int k = 0; k < 2; k++) {
			size_t i = c / stride;
			double off = fabs((double)got[c] - v[c].right[k]);
			if (!isinf(v[c].within[k]) && !(off <= v[c].within[k]))
				fail_msg("%s, %d bits, %u nodes: row %zu, of %llu entries, has %.9g, not %.9g +- %.1g by P as %s", what,
					 r->a.bits, r->a.n, i, (unsigned long long)(r->given.start[i + 1] - r->given.start[i]),
					 (double)got[c], v[c].right[k], v[c].within[k], k ? "given" : "packed");
			if (!k && v[c].within[k] > 0)
				worst = fmax(worst, off / v[c].within[k]);
		}
	if (r->a.n > 1000)
		printf("%s, %d bits: off by %.2f of what is allowed\n", what, r->a.bits, worst);
}

/* ---- attraction --------------------------------------------------------------------------------- */

/* Adds row i's attraction to v[dims].right[which]; neighbours are at `their`, within an error of `jump`. */
static void attraction_of(const struct table *t, uint32_t i, int dims, const float *y, const float *their, double jump,
			  int which, struct value *v)
{
	size_t stride = stride_of(dims);
	double precision = precision_of(t, i);
	for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++) {
		double diff[3], r2 = 1;
		for (size_t k = 0; k < (size_t)dims; k++) {
			diff[k] = (double)y[i * stride + k] - (double)their[t->node[e] * stride + k];
			r2 += diff[k] * diff[k];
		}
		for (int k = 0; k < dims; k++) {  /* d / (1 + |d|^2) changes by no more than d */
			v[k].right[which] += t->p[e] / r2 * diff[k];
			v[k].within[which] += (precision * t->p[e] + t->slack[e]) / r2 * fabs(diff[k]) +
					      (t->p[e] + t->slack[e]) * jump;
		}
	}
}

static void run_attract(struct rig *r, const struct sl_particles *p, enum sl_state state)
{
	size_t floats = p->n * stride_of(p->dims);
	r->report.state = (int)state;
	CUDA(cudaMemcpy(r->device_report, &r->report, sizeof r->report, cudaMemcpyHostToDevice));
	CUDA(cudaMemset(p->attraction, 0xff, sizeof(float) * floats));
	CUDA(cudaDeviceSynchronize());
	CUDA(sl__attract(&r->a, p, r->device_orders, r->device_report, r->stream));
	CUDA(cudaStreamSynchronize(r->stream));
}

/* With this number of threads per row; and an iteration that must not run changes nothing. */
static void check_lanes(struct rig *r, const struct sl_particles *p, int lanes, const struct value *right)
{
	size_t floats = p->n * stride_of(p->dims);
	char what[80];
	r->a.lanes = lanes;
	run_attract(r, p, lanes % 3 == 1 ? SL_OUTGROWN : SL_DIVERGED);
	unsigned char *before = read_back(p->attraction, sizeof(float) * floats);
	for (size_t i = 0; i < sizeof(float) * floats; i++)
		assert_int_equal(before[i], 0xff);
	run_attract(r, p, SL_GO);
	float *got = read_back(p->attraction, sizeof *got * floats);
	snprintf(what, sizeof what, "attraction, %d-D, %s positions, %d threads", p->dims, p->rounded ? "rounded" : "exact",
		 lanes);
	compare(r, what, right, got, stride_of(p->dims));
	free(before);
	free(got);
}

static void check_attraction(struct rig *r, int dims, bool rounded, uint64_t *seed)
{
	struct device_memory here = {.guard = GUARD};
	uint32_t n = r->a.n;
	size_t floats = n * stride_of(dims), words = n * (dims == 3 ? 2ull : 1);
	float *y = make_points(r, dims, seed), *their = y;
	struct sl_particles p = {
		.n = n, .dims = dims, .y = take(&here, sizeof *y * floats, y),
		.attraction = take(&here, sizeof *y * floats, NULL),
		.rounded = rounded ? take(&here, sizeof(uint32_t) * words, NULL) : NULL,
	};
	if (rounded) {
		CUDA(cudaDeviceSynchronize());
		CUDA(sl__round(&p, r->device_orders, r->device_report, r->stream));
		CUDA(cudaStreamSynchronize(r->stream));
		uint32_t *q = read_back(p.rounded, sizeof *q * words);
		their = open_points(r, dims, q);
		free(q);
	}
	struct value *right = calloc(floats, sizeof *right);
	for (uint32_t i = 0; i < n; i++) {
		struct value *v = right + i * stride_of(dims);
		attraction_of(&r->packed, i, dims, y, their, 0, 0, v);
		attraction_of(&r->given, i, dims, y, y, rounded ? sqrt(dims) * jump_of(r, dims) : 0, 1, v);
	}
	for (int lanes = 2; lanes <= 16; lanes *= 2)
		check_lanes(r, &p, lanes, right);
	give_back(&here);
	if (rounded)
		free(their);
	free(y);
	free(right);
}

static void attraction_is_the_sum(void **state)
{
	if (!have_gpu)
		skip();
	uint64_t seed = fresh_seed();
	for (size_t c = 0; c < KINDS; c++) {
		struct rig r;
		rig_random(&r, &kinds[c], &seed);
		assert_true(r.a.long_count > 0);
		for (int dims = 1; dims <= 3; dims++)
			for (int rounded = 0; rounded <= (dims > 1); rounded++)
				check_attraction(&r, dims, rounded, &seed);
		rig_finish(&r);
	}
}

/* Rounded to steps of the grids' reach; points outside are clamped. */
static void positions_are_rounded(void **state)
{
	if (!have_gpu)
		skip();
	uint64_t seed = fresh_seed();
	for (int dims = 2; dims <= 3; dims++) {
		struct rig r;
		rig_random(&r, &kinds[4], &seed);
		struct device_memory here = {.guard = GUARD};
		uint32_t n = r.a.n;
		size_t stride = stride_of(dims), words = n * (dims == 3 ? 2ull : 1);
		float *y = make_points(&r, dims, &seed), reach = r.orders.reach;
		for (size_t i = 0; i < n; i += 7)
			y[i * stride + i % (size_t)dims] += i % 2 ? 3 * reach : -3 * reach;
		struct sl_particles p = {.n = n, .dims = dims, .y = take(&here, sizeof *y * n * stride, y),
					 .rounded = take(&here, sizeof(uint32_t) * words, NULL)};
		CUDA(cudaDeviceSynchronize());
		CUDA(sl__round(&p, r.device_orders, r.device_report, r.stream));
		CUDA(cudaStreamSynchronize(r.stream));
		uint32_t *q = read_back(p.rounded, sizeof *q * words);
		float *got = open_points(&r, dims, q);
		for (size_t c = 0; c < n * stride; c++) {
			size_t k = c % stride;
			double low = (double)r.report.corner[k % 3];
			if (k < (size_t)dims && !(fabs((double)got[c] - fmin(fmax((double)y[c], low), low + (double)reach)) <=
						  jump_of(&r, dims)))
				fail_msg("%d-D: coordinate %zu of point %zu is %.9g, not %.9g", dims, k, c / stride, (double)got[c],
					 (double)y[c]);
		}
		give_back(&here);
		free(y);
		free(q);
		free(got);
		rig_finish(&r);
	}
}

/* ---- measures -------------------------------------------------------------------------------------- */

/* sum p log(1 + |y_i - y_j|^2), and how far off it may be. */
static double divergence_of(const struct table *t, int dims, const float *y, double *within)
{
	size_t stride = stride_of(dims);
	double sum = 0;
	*within = 0;
	for (uint32_t i = 0; i < t->n; i++)
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++) {
			double r2 = 0;
			for (size_t k = 0; k < (size_t)dims; k++)
				r2 += pow((double)y[i * stride + k] - (double)y[t->node[e] * stride + k], 2);
			sum += t->p[e] * log1p(r2);
			*within += t->slack[e] * log1p(r2);
		}
	return sum;
}

static void check_measure(struct rig *r, int dims, uint64_t *seed)
{
	struct device_memory here = {.guard = GUARD};
	struct sl_report want = r->report, got;
	uint32_t n = r->a.n, blocks = (n + 7) / 8 < 1024 ? (n + 7) / 8 : 1024;  /* 8 rows per block, at most 1,024 blocks */
	size_t stride = stride_of(dims), floats = n * stride;
	float *y = make_points(r, dims, seed), *force[2] = {make_points(r, dims, seed), make_points(r, dims, seed)};
	double square = 0, within, packed, given;
	for (size_t c = 0; c < floats; c++)
		square += c % stride < (size_t)dims ? pow((double)force[0][c] - (double)force[1][c] / r->report.z, 2) : 0;
	struct sl_particles p = {
		.n = n, .dims = dims, .y = take(&here, sizeof *y * floats, y),
		.attraction = take(&here, sizeof *y * floats, force[0]), .repulsion = take(&here, sizeof *y * floats, force[1]),
	};
	double *part = take(&here, 2 * sizeof *part * blocks, NULL);
	CUDA(cudaMemcpy(r->device_report, &want, sizeof want, cudaMemcpyHostToDevice));
	CUDA(cudaDeviceSynchronize());
	CUDA(sl__measure(&r->a, &p, part, r->device_report, r->stream));
	CUDA(cudaStreamSynchronize(r->stream));
	CUDA(cudaMemcpy(&got, r->device_report, sizeof got, cudaMemcpyDeviceToHost));
	packed = divergence_of(&r->packed, dims, y, &within);
	if (!(fabs(got.divergence - packed) <= 3e-7 * packed))
		fail_msg("%u nodes, %d bits, %d-D: sum %.9g, not %.9g", n, r->a.bits, dims, got.divergence, packed);
	given = divergence_of(&r->given, dims, y, &within);
	assert_true(fabs(got.divergence - given) <= 3e-7 * given + within);
	assert_true(fabs(got.square - square) <= 1e-12 * square);
	want.divergence = got.divergence;
	want.square = got.square;
	assert_memory_equal(&want, &got, sizeof got);  /* counters are 0 again */
	if (n > 1000)
		printf("%u nodes, %d bits, %d-D: sum within %.1e\n", n, r->a.bits, dims, fabs(got.divergence / packed - 1));
	give_back(&here);
	free(y);
	free(force[0]);
	free(force[1]);
}

static void measures_are_the_sums(void **state)
{
	static const struct kind many[] = {{10500, 0}, {10500, 18}};  /* more rows than there are warps */
	if (!have_gpu)
		skip();
	uint64_t seed = fresh_seed();
	for (size_t c = 0; c < KINDS + 2; c++) {
		struct rig r;
		rig_random(&r, c < KINDS ? &kinds[c] : &many[c - KINDS], &seed);
		for (int dims = 1; dims <= 3; dims++)
			check_measure(&r, dims, &seed);
		rig_finish(&r);
	}
}

/* ---- the walk ------------------------------------------------------------------------------------- */

static float *numbers(size_t count, double low, double high, uint64_t *seed)
{
	float *x = malloc(sizeof *x * count);
	for (size_t i = 0; i < count; i++)
		x[i] = (float)(low + (high - low) * test_uniform(seed));
	return x;
}

/* Writes row i of sl__walk_step()'s result to v[COLUMNS].right[which]. An empty row gives 0. */
static void step_of(const struct table *t, uint32_t i, double mass, const float *slope, const float *shift,
		    const float *x, const float *before, int which, struct value *v)
{
	double precision = precision_of(t, i);
	for (uint32_t k = 0; k < COLUMNS; k++) {
		double sum = 0, off = 0, own = (double)x[(size_t)i * COLUMNS + k];
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++) {
			double their = (double)x[(size_t)t->node[e] * COLUMNS + k];
			sum += t->p[e] * their / mass;
			off += (precision * t->p[e] + t->slack[e]) * fabs(their) / mass;
		}
		if (slope) {
			sum = (double)slope[i] * sum - (double)shift[i] * own;
			off = (double)slope[i] * off + precision * fabs((double)shift[i] * own);
		}
		if (before) {
			double had = (double)before[(size_t)i * COLUMNS + k];
			sum = 2 * sum - had;
			off = 2 * off + precision * fabs(had);
		}
		v[k].right[which] = sum;
		v[k].within[which] = mass > 0 ? off : INFINITY;
	}
}

static void check_step(struct rig *r, bool plain, bool first, uint64_t *seed)
{
	struct device_memory here = {.guard = GUARD};
	uint32_t n = r->a.n;
	size_t count = (size_t)n * COLUMNS;
	float *slope = plain ? NULL : numbers(n, 1, 1.5, seed), *shift = plain ? NULL : numbers(n, -0.4, 0.4, seed);
	float *x = numbers(count, -0.5, 0.5, seed), *before = first ? NULL : numbers(count, -0.5, 0.5, seed);
	float *device_slope = plain ? NULL : take(&here, sizeof *slope * n, slope);
	float *device_shift = plain ? NULL : take(&here, sizeof *shift * n, shift);
	float *device_x = take(&here, sizeof *x * count, x), *to = take(&here, sizeof *to * count, before);
	CUDA(cudaDeviceSynchronize());
	CUDA(sl__walk_step(&r->a, device_slope, device_shift, device_x, first, to, r->stream));
	CUDA(cudaStreamSynchronize(r->stream));
	struct value *right = calloc(count, sizeof *right);
	for (uint32_t i = 0; i < n; i++) {
		step_of(&r->packed, i, (double)r->mass[i], slope, shift, x, before, 0, right + (size_t)i * COLUMNS);
		step_of(&r->given, i, row_sum(&r->given, i), slope, shift, x, before, 1, right + (size_t)i * COLUMNS);
	}
	float *got = read_back(to, sizeof *got * count);
	compare(r, plain ? first ? "first product" : "product" : first ? "first step" : "step", right, got, COLUMNS);
	give_back(&here);
	free(slope);
	free(shift);
	free(x);
	free(before);
	free(right);
	free(got);
}

static void steps_are_the_sums(void **state)
{
	if (!have_gpu)
		skip();
	uint64_t seed = fresh_seed();
	for (size_t c = 0; c < KINDS; c++) {
		struct rig r;
		rig_random(&r, &kinds[c], &seed);
		for (int form = 0; form < 4; form++)
			check_step(&r, form & 1, form & 2, &seed);
		rig_finish(&r);
	}
}

/* ---- components ------------------------------------------------------------------------------------ */

static void components_are_found(void **state)
{
	if (!have_gpu)
		skip();
	uint64_t seed = fresh_seed();
	for (int round = 0; round < 8; round++) {
		struct device_memory here = {.guard = GUARD};
		struct table given;
		struct rig r;
		uint32_t n = round < 6 ? 4000 + (uint32_t)below(&seed, 2000) : 1 + (uint32_t)below(&seed, 70);
		uint32_t *label = malloc(sizeof *label * n), *found = take(&here, sizeof *found * n, NULL);
		make_components(&given, n, label, &seed);
		rig_init(&r, &given, round % 2 ? 0 : round == 6 ? 24 : SL_BITS_LEAST + 5 * (round / 2));
		rig_pack(&r, 2, &seed);
		CUDA(cudaDeviceSynchronize());
		CUDA(sl__walk_label(&r.a, r.a.n, found, r.stream));
		CUDA(cudaStreamSynchronize(r.stream));
		uint32_t *got = read_back(found, sizeof *got * n);
		assert_memory_equal(label, got, sizeof *got * n);
		give_back(&here);
		rig_finish(&r);
		free(label);
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_packed),
		cmocka_unit_test(attraction_is_the_sum),
		cmocka_unit_test(positions_are_rounded),
		cmocka_unit_test(measures_are_the_sums),
		cmocka_unit_test(steps_are_the_sums),
		cmocka_unit_test(components_are_found),
	};
	find_gpu(sl__attract_init);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
