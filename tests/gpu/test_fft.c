/* The 2-D convolution of gpu/fft/square.cu at every length, and the charges for a far grid, against sums in double
 * precision. The kernels' spectra are sums of few cosines, which are stencils of few nodes at any length, so the right
 * result costs little. Each run has other charges; SPACELAND_TEST_SEED repeats those of a printed seed.
 * SPACELAND_LONGEST_2D: the longest length to test. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "gpu/fft/fft.h"
#include "gpu/layout/layout.h"
#include "tests/gpu/device_memory.h"
#include "tests/unit/graphs.h"

#define SCALE 65536.0  /* fixed point */
#define CONSTANT 3.0
#define MOST_ERROR 4e-7  /* of RMS, relative to the potential; grows with the logarithm of the length */

/* The spectrum is the sum of weight cos(2 pi a x / N) cos(2 pi b y / N), x and y exchanged as well. */
static const struct wave {
	int a, b;
	double weight;
} waves[] = {{0, 0, 1}, {1, 4, 0.4}, {7, 2, -0.3}, {13, 13, 0.2}};
#define WAVES (sizeof waves / sizeof *waves)

static uint64_t seed;

struct rig {
	cudaStream_t stream;
	struct sl_orders orders, *device_orders;
	struct sl_report report, *device_report;
	double *part;
	struct sl_grid_memory grid[SL_LEVELS];
	double *in[SL_LEVELS];  /* [side][side] charges, expected of the far level */
	float *weight;          /* [taps][coarse] */
	int *first, taps;
	struct device_memory memory;
};

static double spectrum_at(int x, int y, int length)
{
	double sum = 0, turn = 2 * acos(-1) / length;
	for (size_t i = 0; i < WAVES; i++)
		sum += 0.5 * waves[i].weight * (cos(turn * waves[i].a * x) * cos(turn * waves[i].b * y) +
						cos(turn * waves[i].b * x) * cos(turn * waves[i].a * y));
	return sum / length / length;
}

/* The tilt of frequency x: half of each charge goes to the neighbours. */
static double tilt_at(int x, int length) { return 2 + cos(2 * acos(-1) * x / length); }

static void level_init(struct rig *r, int level, int side, int length, int coarse)
{
	struct sl_grid_memory *g = &r->grid[level];
	struct sl_level *o = &r->orders.level[level];
	size_t half = (size_t)length / 2 + 1, nodes = (size_t)side * (size_t)side;
	float *spectrum = malloc(half * half * sizeof(float)), *tilt = malloc(half * sizeof(float));
	*g = (struct sl_grid_memory){.level = level, .dims = 2, .side = side, .length = length, .pairs = side / 2 + 1,
				     .coarse = coarse, .pitch = side, .plane = nodes};
	for (size_t y = 0; y < half; y++)
		for (size_t x = 0; x < half; x++)
			spectrum[y * half + x] = (float)spectrum_at((int)x, (int)y, length);
	for (size_t x = 0; x < half; x++)
		tilt[x] = (float)tilt_at((int)x, length);
	o->spectrum = take(&r->memory, half * half * sizeof(float), spectrum);
	o->tilt = level ? take(&r->memory, half * sizeof(float), tilt) : NULL;
	o->weight_inverse = (float)(1 / SCALE);
	o->constant = CONSTANT;
	if (coarse)
		g->half = take(&r->memory, (size_t)side * (size_t)coarse * sizeof(float), NULL);
	g->spectrum = take(&r->memory, (size_t)side * half * sizeof(float2), NULL);
	g->potential = take(&r->memory, nodes * sizeof(float), NULL);
	r->in[level] = calloc(nodes, sizeof(double));
	free(spectrum);
	free(tilt);
}

/* A tenth of the nodes have charges. */
static void charge(struct rig *r)
{
	struct sl_grid_memory *g = &r->grid[0];
	size_t words = 2 * (size_t)g->pairs, side = (size_t)g->side;
	uint32_t *charges = calloc(side * words, sizeof(uint32_t));
	for (size_t y = 0; y < side; y++)
		for (size_t x = 0; x < side; x++) {
			double u = sl_random_uniform(seed + side, y * side + x);
			charges[y * words + x] = u < 0.1 ? (uint32_t)(u * 3e6) : 0;
			r->in[0][y * side + x] = charges[y * words + x] / SCALE;
		}
	g->charges = take(&r->memory, side * words * sizeof(uint32_t), charges);
	free(charges);
}

/* Arbitrary weights, with taps that overlap like the engine's; and the expected charges of the far level. */
static void feed(struct rig *r)
{
	int side = r->grid[0].side, coarse = r->grid[1].side, taps = 6 * side / coarse + 3;
	r->taps = taps < side ? taps : side;
	r->weight = malloc(sizeof(float) * (size_t)(r->taps * coarse));
	r->first = malloc(sizeof(int) * (size_t)coarse);
	for (int i = 0; i < coarse; i++)
		r->first[i] = (int)((double)i * (side - r->taps) / (coarse - 1));
	for (int i = 0; i < r->taps * coarse; i++)
		r->weight[i] = (float)sl_random_uniform(seed, (uint64_t)i) / (float)r->taps;
	struct sl_level *o = &r->orders.level[1];
	o->gather_taps = r->taps;
	o->gather_weight = take(&r->memory, sizeof(float) * (size_t)(r->taps * coarse), r->weight);
	o->gather_first = take(&r->memory, sizeof(int) * (size_t)coarse, r->first);
	double *half = calloc((size_t)(side * coarse), sizeof(double));
	for (int y = 0; y < side; y++)
		for (int k = 0; k < r->taps; k++)
			for (int i = 0; i < coarse; i++)
				half[y * coarse + i] += (double)r->weight[k * coarse + i] * r->in[0][y * side + r->first[i] + k];
	for (int j = 0; j < coarse; j++)
		for (int k = 0; k < r->taps; k++)
			for (int i = 0; i < coarse; i++)
				r->in[1][j * coarse + i] += (double)r->weight[k * coarse + j] *
							    half[(r->first[j] + k) * coarse + i];
	free(half);
}

static void rig_init(struct rig *r, int side, int length, int coarse)
{
	memset(r, 0, sizeof *r);
	CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
	level_init(r, 0, side, length, coarse);
	charge(r);
	if (coarse) {
		level_init(r, 1, coarse, 2 * coarse, 0);
		feed(r);
	}
	r->device_orders = take(&r->memory, sizeof r->orders, &r->orders);
	r->device_report = take(&r->memory, sizeof r->report, &r->report);
	r->part = take(&r->memory, sizeof(double) * SL_PARTS, NULL);
	CUDA(cudaDeviceSynchronize());  /* the stream does not wait for others */
}

static void rig_finish(struct rig *r)
{
	CUDA(cudaStreamDestroy(r->stream));
	give_back(&r->memory);
	for (int i = 0; i < SL_LEVELS; i++)
		free(r->in[i]);
	free(r->weight);
	free(r->first);
}

static double node(const double *a, int side, int length, int y, int x)
{
	x = (x + length) % length;
	y = (y + length) % length;
	return x < side && y < side ? a[(size_t)y * (size_t)side + (size_t)x] : 0;
}

/* out = `in` convolved with the stencil of the spectrum, over the whole length; `in` has the first `side` of it. */
static double *stencil(const double *in, int side, int length)
{
	double *out = malloc(sizeof(double) * (size_t)length * (size_t)length);
	for (int y = 0; y < length; y++)
		for (int x = 0; x < length; x++) {
			double sum = 0;
			for (size_t i = 0; i < WAVES; i++)
				for (int way = 0; way < 2; way++) {
					int a = way ? waves[i].a : waves[i].b, b = way ? waves[i].b : waves[i].a;
					for (int corner = 0; corner < 4; corner++)
						sum += 0.125 * waves[i].weight *
						       node(in, side, length, corner & 1 ? y + a : y - a, corner & 2 ? x + b : x - b);
				}
			out[(size_t)y * (size_t)length + (size_t)x] = sum;
		}
	return out;
}

/* sum |spectrum of charges|^2 times kernel and tilt. */
static double sum_of(const double *in, const double *out, int side, int length, bool tilt)
{
	double sum = 0;
	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++) {
			double there = 0;
			for (int j = -1; j <= 1; j++)
				for (int i = -1; i <= 1; i++)
					there += tilt ? (j ? 0.5 : 2) * (i ? 0.5 : 2) * node(out, length, length, y + j, x + i) :
							i || j ? 0 : node(out, length, length, y, x);
			sum += in[(size_t)y * (size_t)side + (size_t)x] * there;
		}
	return sum;
}

static void check_level(struct rig *r, int level)
{
	const struct sl_grid_memory *g = &r->grid[level];
	int side = g->side;
	size_t nodes = (size_t)side * (size_t)side;
	float *potential = malloc(nodes * sizeof(float));
	double *right = stencil(r->in[level], side, g->length), error = 0, square = 0;
	double z = CONSTANT + sum_of(r->in[level], right, side, g->length, level);
	CUDA(cudaMemcpy(potential, g->potential, nodes * sizeof(float), cudaMemcpyDeviceToHost));
	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++) {
			double should = right[(size_t)y * (size_t)g->length + (size_t)x];
			double diff = (double)potential[(size_t)y * (size_t)side + (size_t)x] - should;
			error += diff * diff;
			square += should * should;
		}
	error = sqrt(error / square);
	printf("side %4d, length %4d, level %d: potential within %.1e, Z %.1e\n", side, g->length, level, error,
	       fabs(r->report.level_z[level] / z - 1));
	assert_true(error < MOST_ERROR);
	assert_true(fabs(r->report.level_z[level] / z - 1) < 1e-6);
	free(potential);
	free(right);
}

static void run(struct rig *r)
{
	for (int k = 0; k < (r->grid[0].coarse ? 2 : 1); k++) {
		CUDA(sl__fft_rows(&r->grid[k], &r->grid[0], r->device_orders, r->device_report, r->stream));
		CUDA(sl__fft_convolve(&r->grid[k], r->device_orders, r->device_report, r->part, r->stream));
	}
	CUDA(cudaStreamSynchronize(r->stream));
	CUDA(cudaMemcpy(&r->report, r->device_report, sizeof r->report, cudaMemcpyDeviceToHost));
}

static int longest(void)
{
	const char *given = getenv("SPACELAND_LONGEST_2D");
	return given ? atoi(given) : 1 << 30;
}

static void check(int side, int length, int coarse)
{
	struct rig r;
	if (side > longest())
		return;
	if (!sl__fft_has(2, length, length != side) || (coarse && !sl__fft_has_far(2, 2 * coarse))) {
		printf("length %d is too much for this device\n", length);
		return;
	}
	rig_init(&r, side, length, coarse);
	size_t words = (size_t)side * 2 * (size_t)r.grid[0].pairs;
	uint32_t *charges = malloc(words * sizeof(uint32_t));
	run(&r);
	check_level(&r, 0);
	if (coarse)
		check_level(&r, 1);
	CUDA(cudaMemcpy(charges, r.grid[0].charges, words * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < words; i++)
		assert_int_equal(charges[i], 0);
	free(charges);
	rig_finish(&r);
}

static const int padded[] = {64, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 0};

static void padded_grids(void **state)
{
	if (!have_gpu)
		skip();
	for (const int *length = padded; *length && *length <= longest(); length++)
		check(*length / 2, *length, 0);
}

static void pairs_of_grids(void **state)
{
	static const int sides[][2] = {{768, 128}, {1024, 192}, {1280, 256}, {1536, 256}, {2048, 384}, {2560, 512},
				       {3072, 512}, {4096, 768}, {4096, 1024}, {4096, 1280}};
	if (!have_gpu)
		skip();
	for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
		check(sides[i][0], sides[i][0], sides[i][1]);
}

/* The far grid's input if cuFFT transforms the near one: in two steps, into a padded input. */
static void check_feed(int side, int coarse)
{
	struct rig r;
	size_t length = 2 * (size_t)coarse, nodes = (size_t)coarse * (size_t)coarse, count = 0;
	double error = 0, square = 0;
	memset(&r, 0, sizeof r);
	CUDA(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
	r.grid[0] = (struct sl_grid_memory){.dims = 2, .side = side, .length = side, .pairs = side / 2 + 1,
					    .coarse = coarse};
	r.grid[1] = (struct sl_grid_memory){.level = 1, .dims = 2, .side = coarse, .length = 2 * coarse,
					    .pitch = 2 * coarse};
	r.grid[0].half = take(&r.memory, (size_t)side * (size_t)coarse * sizeof(float), NULL);
	r.grid[1].input = take(&r.memory, length * length * sizeof(float), NULL);
	CUDA(cudaMemset(r.grid[1].input, 0, length * length * sizeof(float)));
	r.orders.level[0].weight_inverse = (float)(1 / SCALE);
	r.in[0] = calloc((size_t)side * (size_t)side, sizeof(double));
	r.in[1] = calloc(nodes, sizeof(double));
	charge(&r);
	feed(&r);
	r.device_orders = take(&r.memory, sizeof r.orders, &r.orders);
	r.device_report = take(&r.memory, sizeof r.report, &r.report);
	CUDA(cudaDeviceSynchronize());
	CUDA(sl__feed(&r.grid[0], r.device_orders, r.device_report, r.stream));
	CUDA(sl__restrict(&r.grid[0], &r.grid[1], r.device_orders, r.device_report, r.stream));
	CUDA(cudaStreamSynchronize(r.stream));
	float *input = malloc(length * length * sizeof(float));
	CUDA(cudaMemcpy(input, r.grid[1].input, length * length * sizeof(float), cudaMemcpyDeviceToHost));
	for (size_t y = 0; y < length; y++)
		for (size_t x = 0; x < length; x++) {
			bool inside = x < (size_t)coarse && y < (size_t)coarse;
			double should = inside ? r.in[1][y * (size_t)coarse + x] : 0, is = (double)input[y * length + x];
			error += (is - should) * (is - should);
			square += should * should;
			count += !inside && is != 0;
		}
	error = sqrt(error / square);
	printf("side %4d to %4d: charges within %.1e\n", side, coarse, error);
	assert_true(error < MOST_ERROR);
	assert_int_equal(count, 0);
	free(input);
	rig_finish(&r);
}

/* With 99 KiB of shared memory, blocks of the last length take fewer rows. */
static void feeds(void **state)
{
	static const int sides[][2] = {{768, 128}, {1280, 256}, {6144, 1024}};
	if (!have_gpu)
		skip();
	for (size_t i = 0; i < sizeof sides / sizeof *sides && sides[i][0] <= longest(); i++)
		check_feed(sides[i][0], sides[i][1]);
}

/* An iteration that must not run changes nothing. */
static void nothing_moves_unless_it_may(void **state)
{
	struct rig r;
	if (!have_gpu)
		skip();
	rig_init(&r, 1024, 1024, 192);
	size_t bytes = (size_t)1024 * 2 * (size_t)r.grid[0].pairs * sizeof(uint32_t);
	char *before = malloc(bytes), *after = malloc(bytes);
	CUDA(cudaMemcpy(before, r.grid[0].charges, bytes, cudaMemcpyDeviceToHost));
	r.report.state = SL_OUTGROWN;
	r.report.level_z[0] = r.report.level_z[1] = -7;
	CUDA(cudaMemcpy(r.device_report, &r.report, sizeof r.report, cudaMemcpyHostToDevice));
	CUDA(cudaDeviceSynchronize());
	run(&r);
	CUDA(cudaMemcpy(after, r.grid[0].charges, bytes, cudaMemcpyDeviceToHost));
	assert_memory_equal(before, after, bytes);
	assert_true(r.report.level_z[0] == -7 && r.report.level_z[1] == -7);
	free(before);
	free(after);
	rig_finish(&r);
}

/* Cosine transforms with few nonzero numbers, compared with the definition. */
static void cosine_transforms(void **state)
{
	enum { FEW = 6 };
	if (!have_gpu)
		skip();
	for (const int *length = padded; *length && *length <= longest(); length++) {
		int last = *length / 2, half = last + 1, step = half > 500 ? 7 : 1, at[FEW][2];
		size_t bytes = (size_t)half * (size_t)half * sizeof(float);
		float *square = calloc(1, bytes), *device;
		double *cosine = malloc(sizeof *cosine * (size_t)*length), factor[FEW], error = 0;
		if (!sl__fft_has(2, *length, true)) {
			printf("length %d is too much for this device\n", *length);
			free(square);
			free(cosine);
			continue;
		}
		for (int i = 0; i < *length; i++)
			cosine[i] = cos(2 * acos(-1) * i / *length);
		for (int i = 0; i < FEW; i++) {  /* the first and the last frequency among them, along x and along y */
			double weight = sl_random_uniform(seed + 1, (uint64_t)(*length + i)) - 0.3;
			for (int k = 0; k < 2; k++)
				at[i][k] = i % 4 == 2 * k ? 0 : i % 4 == 2 * k + 1 ? last :
					   (int)(sl_random_uniform(seed + 2, (uint64_t)(*length + 2 * i + k)) * half);
			float *to = &square[(size_t)at[i][1] * (size_t)half + (size_t)at[i][0]];
			factor[i] = (float)weight * (at[i][0] % last ? 2 : 1) * (at[i][1] % last ? 2 : 1);
			*to += (float)weight;
		}
		CUDA(cudaMalloc((void **)&device, bytes));
		CUDA(cudaMemcpy(device, square, bytes, cudaMemcpyHostToDevice));
		CUDA(sl__fft_cosines(2, *length, device, 0));
		CUDA(cudaDeviceSynchronize());
		CUDA(cudaMemcpy(square, device, bytes, cudaMemcpyDeviceToHost));
		for (int y = 0; y < half; y += y + step < half || y == last ? step : last - y)
			for (int x = 0; x < half; x++) {
				double should = 0;
				for (int i = 0; i < FEW; i++)
					should += factor[i] * cosine[at[i][0] * x % *length] * cosine[at[i][1] * y % *length];
				error = fmax(error, fabs((double)square[(size_t)y * (size_t)half + (size_t)x] - should));
			}
		printf("length %4d: cosines within %.1e\n", *length, error);
		assert_true(error < 1e-5);
		CUDA(cudaFree(device));
		free(square);
		free(cosine);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(padded_grids),
		cmocka_unit_test(pairs_of_grids),
		cmocka_unit_test(nothing_moves_unless_it_may),
		cmocka_unit_test(cosine_transforms),
		cmocka_unit_test(feeds),
	};
	seed = fresh_seed();
	find_gpu(sl__fft_init);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
