/* The 3-D convolution of gpu/fft/cube.cu at every length, against sums in double precision, by the method of
 * test_fft.c. Each run has other charges; SPACELAND_TEST_SEED repeats those of a printed seed. With the argument
 * `bench` it prints the time of each length. */
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
#include "tests/gpu/device_memory.h"
#include "tests/unit/graphs.h"

#define SCALE 65536.0  /* fixed point */
#define CONSTANT 3.0
#define MOST_ERROR 5e-7  /* of RMS, relative to the potential */
#define SAMPLED 6        /* planes that are checked if a grid has many */

/* The spectrum is the sum of weight cos(2 pi a x / N) cos(2 pi b y / N) cos(2 pi c z / N). */
static const struct wave {
	int a, b, c;
	double weight;
} waves[] = {{0, 0, 0, 1}, {1, 4, 2, 0.4}, {7, 2, 0, -0.3}, {3, 13, 11, 0.2}};
#define WAVES (sizeof waves / sizeof *waves)

static uint64_t seed;

struct rig {
	cudaStream_t stream;
	struct sl_orders orders, *device_orders;
	struct sl_report report, *device_report;
	double *part;
	struct sl_grid_memory grid;
	float *in;         /* [side]^3 charges */
	struct device_memory memory;
};

static size_t cube(int side) { return (size_t)side * (size_t)side * (size_t)side; }

/* Spectrum [half]^3, half = length / 2 + 1; tables of cosines for each wave and axis. */
static float *make_spectrum(int length)
{
	int half = length / 2 + 1;
	double turn = 2 * acos(-1) / length, norm = 1 / (double)cube(length);
	float *out = malloc(cube(half) * sizeof(float)), *to = out;
	double *table = malloc(sizeof(double) * (size_t)length);
	for (int i = 0; i < length; i++)
		table[i] = cos(turn * i);
	for (int z = 0; z < half; z++)
		for (int y = 0; y < half; y++)
			for (int x = 0; x < half; x++) {
				double sum = 0;
				for (size_t i = 0; i < WAVES; i++)
					sum += waves[i].weight * table[waves[i].a * x % length] *
					       table[waves[i].b * y % length] * table[waves[i].c * z % length];
				*to++ = (float)(sum * norm);
			}
	free(table);
	return out;
}

/* A hundredth of the nodes have charges; at level 1 all, of both signs. */
static void charge(struct rig *r)
{
	struct sl_grid_memory *g = &r->grid;
	size_t words = 2 * (size_t)g->pairs, side = (size_t)g->side, rows = side * side;
	uint32_t *charges = g->level ? NULL : calloc(rows * words, sizeof(uint32_t));
	r->in = malloc(rows * side * sizeof(float));
	for (size_t row = 0; row < rows; row++)
		for (size_t x = 0; x < side; x++) {
			double u = sl_random_uniform(seed + (uint64_t)g->length, row * side + x);
			r->in[row * side + x] = (float)(u - 0.3);
			if (g->level)
				continue;
			charges[row * words + x] = u < 0.01 ? (uint32_t)(u * 3e7) : 0;
			r->in[row * side + x] = (float)(charges[row * words + x] / SCALE);
		}
	if (g->level)
		g->input = take(&r->memory, rows * side * sizeof(float), r->in);
	else
		g->charges = take(&r->memory, rows * words * sizeof(uint32_t), charges);
	free(charges);
}

/* tilt of frequency k is 2 + cos(2 pi k / length): half of each charge goes to the neighbours. */
static void rig_init(struct rig *r, int side, int length, int level, int coarse)
{
	struct sl_grid_memory *g = &r->grid;
	size_t half = (size_t)length / 2 + 1;
	float *spectrum = make_spectrum(length), *tilt = malloc(half * sizeof(float));
	memset(r, 0, sizeof *r);
	CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
	*g = (struct sl_grid_memory){.level = level, .dims = 3, .side = side, .length = length, .pairs = side / 2 + 1,
				     .coarse = coarse, .pitch = side, .plane = (size_t)side * (size_t)side};
	for (size_t x = 0; x < half; x++)
		tilt[x] = (float)(2 + cos(2 * acos(-1) * (double)x / length));
	struct sl_level *o = &r->orders.level[level];
	o->spectrum = take(&r->memory, half * half * half * sizeof(float), spectrum);
	o->tilt = level ? take(&r->memory, half * sizeof(float), tilt) : NULL;
	o->weight_inverse = (float)(1 / SCALE);
	o->constant = CONSTANT;
	g->spectrum = take(&r->memory, (size_t)side * (size_t)length * half * sizeof(float2), NULL);
	g->potential = take(&r->memory, cube(side) * sizeof(float), NULL);
	charge(r);
	r->device_orders = take(&r->memory, sizeof r->orders, &r->orders);
	r->device_report = take(&r->memory, sizeof r->report, &r->report);
	r->part = take(&r->memory, sizeof(double) * SL_PARTS, NULL);
	free(spectrum);
	free(tilt);
	CUDA(cudaDeviceSynchronize());  /* the stream does not wait for others */
}

static void rig_finish(struct rig *r)
{
	CUDA(cudaStreamDestroy(r->stream));
	give_back(&r->memory);
	free(r->in);
}

static void queue(struct rig *r)
{
	CUDA(sl__fft_rows(&r->grid, &r->grid, r->device_orders, r->device_report, r->stream));
	CUDA(sl__fft_convolve(&r->grid, r->device_orders, r->device_report, r->part, r->stream));
}

static void run(struct rig *r)
{
	queue(r);
	CUDA(cudaStreamSynchronize(r->stream));
	CUDA(cudaMemcpy(&r->report, r->device_report, sizeof r->report, cudaMemcpyDeviceToHost));
}

/* ---- what is right --------------------------------------------------------------------------- */

static int wrapped(int x, int length) { return x < 0 ? x + length : x >= length ? x - length : x; }

/* `in` convolved with the stencil of the spectrum, at one node of the period; `in` has the first `side` of it. */
static double potential_at(const struct rig *r, int z, int y, int x)
{
	int side = r->grid.side, length = r->grid.length;
	double sum = 0;
	for (size_t i = 0; i < WAVES; i++)
		for (int corner = 0; corner < 8; corner++) {
			int at[3] = {wrapped(corner & 1 ? x + waves[i].a : x - waves[i].a, length),
				     wrapped(corner & 2 ? y + waves[i].b : y - waves[i].b, length),
				     wrapped(corner & 4 ? z + waves[i].c : z - waves[i].c, length)};
			if (at[0] < side && at[1] < side && at[2] < side)
				sum += 0.125 * waves[i].weight * (double)r->in[((size_t)at[2] * (size_t)side + (size_t)at[1]) *
									       (size_t)side + (size_t)at[0]];
		}
	return sum;
}

/* The weight of a node's potential in the sum of |spectrum of charges|^2 times kernel and, at level 1, tilt: its
 * charge, or its share of the charges around it, also beyond the grid's edge. */
static double share_at(const struct rig *r, int z, int y, int x)
{
	int side = r->grid.side, reach = r->grid.level;
	double sum = 0;
	for (int dz = -reach; dz <= reach; dz++)
		for (int dy = -reach; dy <= reach; dy++)
			for (int dx = -reach; dx <= reach; dx++) {
				int at[3] = {x + dx, y + dy, z + dz};
				double part = !reach ? 1 : (dx ? 0.5 : 2) * (dy ? 0.5 : 2) * (dz ? 0.5 : 2);
				if (at[0] >= 0 && at[0] < side && at[1] >= 0 && at[1] < side && at[2] >= 0 && at[2] < side)
					sum += part * (double)r->in[((size_t)at[2] * (size_t)side + (size_t)at[1]) * (size_t)side +
								    (size_t)at[0]];
			}
	return sum;
}

static void check_potential(const struct rig *r)
{
	int side = r->grid.side, step = side / SAMPLED > 8 ? side / SAMPLED : 1;
	float *potential = malloc(cube(side) * sizeof(float));
	double error = 0, square = 0;
	CUDA(cudaMemcpy(potential, r->grid.potential, cube(side) * sizeof(float), cudaMemcpyDeviceToHost));
	for (int z = step / 2; z < side; z += step)
		for (int y = 0; y < side; y++)
			for (int x = 0; x < side; x++) {
				double should = potential_at(r, z, y, x);
				size_t at = ((size_t)z * (size_t)side + (size_t)y) * (size_t)side + (size_t)x;
				double diff = (double)potential[at] - should;
				error += diff * diff;
				square += should * should;
			}
	error = sqrt(error / square);
	printf("side %3d, length %3d, level %d: potential within %.1e", side, r->grid.length, r->grid.level, error);
	assert_true(error < MOST_ERROR);
	free(potential);
}

static void check_z(const struct rig *r)
{
	int length = r->grid.length, reach = r->grid.level, end = r->grid.side + reach;
	double sum = CONSTANT;
	for (int z = -reach; z < end; z++)
		for (int y = -reach; y < end; y++)
			for (int x = -reach; x < end; x++) {
				double share = share_at(r, z, y, x);
				sum += share != 0 ? share * potential_at(r, wrapped(z, length), wrapped(y, length),
									 wrapped(x, length)) : 0;
			}
	double error = fabs(r->report.level_z[r->grid.level] / sum - 1);
	printf(", Z %.1e\n", error);
	assert_true(error < 1e-6);
}

static void check_charges(struct rig *r, bool cleared)
{
	struct sl_grid_memory *g = &r->grid;
	size_t words = 2 * (size_t)g->pairs, rows = (size_t)g->side * (size_t)g->side;
	uint32_t *charges = malloc(rows * words * sizeof(uint32_t));
	CUDA(cudaMemcpy(charges, g->charges, rows * words * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < rows; i++)
		for (size_t x = 0; x < (size_t)g->side; x++)
			if (charges[i * words + x] != (cleared ? 0 : (uint32_t)(r->in[i * (size_t)g->side + x] * SCALE)))
				fail_msg("charge %zu of row %zu is %u", x, i, charges[i * words + x]);
	free(charges);
}

static void check(int side, int length, int level, int coarse)
{
	struct rig r;
	if (level ? !sl__fft_has_far(3, length) : !sl__fft_has(3, length, length != side)) {
		printf("length %d is too much for this device\n", length);
		return;
	}
	rig_init(&r, side, length, level, coarse);
	run(&r);
	check_potential(&r);
	check_z(&r);
	if (!level)
		check_charges(&r, !coarse);
	rig_finish(&r);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static const int padded[] = {48, 64, 80, 96, 128, 144, 160, 192, 256, 320, 384, 512, 640, 0};
static const int far[] = {48, 64, 80, 96, 128, 144, 160, 192, 0};
static const int other[] = {64, 80, 96, 128, 144, 160, 192, 256, 288, 320, 384, 0};

static int longest(void)
{
	const char *given = getenv("SPACELAND_LONGEST");
	return given ? atoi(given) : 1 << 30;
}

static void padded_cubes(void **state)
{
	if (!have_gpu)
		skip();
	for (const int *length = padded; *length && *length <= longest(); length++)
		check(*length / 2, *length, 0, 0);
}

static void cubes(void **state)
{
	if (!have_gpu)
		skip();
	for (const int *length = other; *length && *length <= longest(); length++)
		check(*length, *length, 0, 0);
}

/* Charges that a far grid still needs are not cleared; the far grid's own are floats, and its Z is tilted. */
static void pairs_of_cubes(void **state)
{
	if (!have_gpu)
		skip();
	check(64, 64, 0, 24);
	for (const int *length = far; *length && *length <= longest(); length++)
		check(*length / 2, *length, 1, 0);
}

/* An iteration that must not run changes nothing. */
static void nothing_moves_unless_it_may(void **state)
{
	struct rig r;
	if (!have_gpu)
		skip();
	rig_init(&r, 32, 64, 0, 0);
	r.report.state = SL_OUTGROWN;
	r.report.level_z[0] = -7;
	CUDA(cudaMemcpy(r.device_report, &r.report, sizeof r.report, cudaMemcpyHostToDevice));
	CUDA(cudaMemset(r.grid.potential, 0, cube(32) * sizeof(float)));
	CUDA(cudaDeviceSynchronize());
	run(&r);
	check_charges(&r, false);
	assert_true(r.report.level_z[0] == -7);
	float *potential = malloc(cube(32) * sizeof(float));
	CUDA(cudaMemcpy(potential, r.grid.potential, cube(32) * sizeof(float), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < cube(32); i++)
		assert_true(potential[i] == 0);
	free(potential);
	rig_finish(&r);
}

/* Cosine transforms with few nonzero numbers, compared with the definition. */
static void cosine_transforms(void **state)
{
	static const struct wave few[] = {{0, 3, 0, 1.5}, {2, 0, 7, -0.75}, {9, 10, 11, 0.5}, {24, 0, 5, 2}};
	if (!have_gpu)
		skip();
	for (const int *length = padded; *length && *length <= longest(); length++) {
		int half = *length / 2 + 1, step = half > 60 ? half / 13 : 1;
		double turn = 2 * acos(-1) / *length, error = 0;
		float *octant = calloc(cube(half), sizeof(float)), *device;
		if (!sl__fft_has(3, *length, true))
			continue;
		for (size_t i = 0; i < sizeof few / sizeof *few; i++)
			octant[((size_t)few[i].c * (size_t)half + (size_t)few[i].b) * (size_t)half + (size_t)few[i].a] =
				(float)few[i].weight;
		CUDA(cudaMalloc((void **)&device, cube(half) * sizeof(float)));
		CUDA(cudaMemcpy(device, octant, cube(half) * sizeof(float), cudaMemcpyHostToDevice));
		CUDA(sl__fft_cosines(3, *length, device, 0));
		CUDA(cudaDeviceSynchronize());
		CUDA(cudaMemcpy(octant, device, cube(half) * sizeof(float), cudaMemcpyDeviceToHost));
		for (int z = 0; z < half; z += step)
			for (int y = 0; y < half; y++)
				for (int x = 0; x < half; x++) {
					double should = 0;
					for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
						const int at[3] = {few[i].a, few[i].b, few[i].c}, to[3] = {x, y, z};
						double product = few[i].weight;
						for (int k = 0; k < 3; k++)
							product *= (at[k] && at[k] != *length / 2 ? 2 : 1) * cos(turn * at[k] * to[k]);
						should += product;
					}
					error = fmax(error, fabs((double)octant[((size_t)z * (size_t)half + (size_t)y) * (size_t)half +
										(size_t)x] - should));
				}
		printf("length %3d: cosines within %.1e\n", *length, error);
		assert_true(error < 1e-5);
		CUDA(cudaFree(device));
		free(octant);
	}
}

/* ---- bench ------------------------------------------------------------------------------------ */

/* Microseconds per convolution, of many in sequence, as in a CUDA graph. */
static double time_of(int side, int length)
{
	struct rig r;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaEvent_t from, to;
	const int repeats = 20;
	float best = INFINITY, ms;
	rig_init(&r, side, length, 0, 0);
	CUDA(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < repeats; i++)
		queue(&r);
	CUDA(cudaStreamEndCapture(r.stream, &graph));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaEventCreate(&from));
	CUDA(cudaEventCreate(&to));
	for (int i = 0; i < 6; i++) {
		CUDA(cudaEventRecord(from, r.stream));
		CUDA(cudaGraphLaunch(exec, r.stream));
		CUDA(cudaEventRecord(to, r.stream));
		CUDA(cudaEventSynchronize(to));
		CUDA(cudaEventElapsedTime(&ms, from, to));
		best = i && ms < best ? ms : best;
	}
	CUDA(cudaEventDestroy(from));
	CUDA(cudaEventDestroy(to));
	CUDA(cudaGraphExecDestroy(exec));
	CUDA(cudaGraphDestroy(graph));
	rig_finish(&r);
	return 1e3 * (double)best / repeats;
}

static void bench(void **state)
{
	if (!have_gpu)
		skip();
	for (const int *length = padded; *length; length++)
		if (sl__fft_has(3, *length, true))
			printf("side %3d, padded to %3d: %7.1f us\n", *length / 2, *length, time_of(*length / 2, *length));
	for (const int *length = other; *length; length++)
		if (sl__fft_has(3, *length, false))
			printf("side %3d, not padded:    %7.1f us\n", *length, time_of(*length, *length));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(padded_cubes),
		cmocka_unit_test(cubes),
		cmocka_unit_test(pairs_of_cubes),
		cmocka_unit_test(nothing_moves_unless_it_may),
		cmocka_unit_test(cosine_transforms),
	};
	const struct CMUnitTest measure[] = {cmocka_unit_test(bench)};
	seed = fresh_seed();
	find_gpu(sl__fft_init);
	if (argc > 1 && !strcmp(argv[1], "bench"))
		return cmocka_run_group_tests(measure, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
