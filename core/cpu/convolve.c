/* Convolution of a grid with the kernel: periodic, or zero-padded to twice its side.
 *
 * Half of all padded rows and columns are zero before the convolution and unused after it, and no pass touches them.
 * First, the side^(d-1) rows that hold charges are transformed along x. Then, for SL_LINES frequencies of x at a time
 * and within a scratch that fits the cache: transforms along y (and z), the product, transforms back along z (and y).
 * Then the rows are transformed back along x. The kernel's spectrum is real and even, so it has (length / 2 + 1)^d
 * numbers. */
#include "core/cpu/cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

int sl__grid_stride(const struct sl_grid *g)
{
	return (g->side + SL_WINDOW_LANES + 15) / 16 * 16;
}

static size_t rows_of(const struct sl_grid *g)
{
	size_t side = (size_t)g->side;
	return g->dims == 1 ? 1 : g->dims == 2 ? side : side * side;
}

size_t sl__grid_floats(const struct sl_grid *g)
{
	return rows_of(g) * (size_t)sl__grid_stride(g) + 16;
}

static int grow(void *pointer, size_t *have, size_t need, size_t size)
{
	void **p = pointer;
	if (need <= *have)
		return 0;
	free(*p);
	*have = 0;
	/* passes along z touch one page per node; large pages, if available, save TLB misses */
	size_t bytes = need * size, align = bytes < 2 * LARGE_PAGE ? 64 : LARGE_PAGE;
	*p = aligned_alloc(align, (bytes + align - 1) / align * align);
	if (!*p)
		return SL_NOMEM;
	if (align == LARGE_PAGE)
		madvise(*p, bytes, MADV_HUGEPAGE);
	memset(*p, 0, need * size);
	*have = need;
	return 0;
}

/* Complex numbers from one z-plane of half-spectra to the next: y may be padded, the last group of rows is whole,
 * and cache lines at the same place of successive planes do not all fall into the same few sets. */
static size_t plane_numbers(const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side, length = (size_t)plan->length;
	size_t whole = (side + SL_LINES - 1) / SL_LINES * SL_LINES;
	return ((length > whole ? length : whole) * (size_t)plan->pitch / SL_LINES | 1) * SL_LINES;
}

/* Partial sums of a convolution: one for each task of the last dimension. */
static size_t parts_of(const struct sl_plan *plan)
{
	if (plan->grid.dims == 1)
		return 1;
	return (size_t)plan->pitch / SL_LINES * (plan->grid.dims == 3 ? (size_t)plan->length : 1);
}

/* Allocates memory for one grid's transforms, and for the grid at *grid. */
static int reserve(struct sl_work *work, const struct sl_plan *plan, float **grid, size_t *floats, int threads)
{
	const struct sl_grid *g = &plan->grid;
	size_t length = (size_t)plan->length, rows = rows_of(g);
	size_t numbers = g->dims == 3 ? (size_t)g->side * plane_numbers(plan) : rows * (size_t)plan->pitch;
	numbers += SL_LINES * (size_t)plan->pitch;  /* rows come in groups */
	size_t scratch = (length * (size_t)plan->transforms->lines * 4 + 63) / 64 * 64;
	int code = grow(grid, floats, sl__grid_floats(g), sizeof(float));
	if (!code)
		code = grow(&work->spectrum, &work->spectrum_numbers, numbers, sizeof(fftwf_complex));
	if (!code && scratch > work->scratch_floats) {
		size_t have = 0;
		code = grow(&work->scratch, &have, scratch * (size_t)threads, sizeof(float));
		work->scratch_floats = code ? 0 : scratch;
	}
	if (!code)
		code = grow(&work->part, &work->parts, parts_of(plan), sizeof(double));
	return code;
}

int sl__cpu_work_reserve(struct sl_work *work, const struct sl_plan *plan, const struct sl_plan *far, int threads,
			 struct sl_error *err)
{
	int code = reserve(work, plan, &work->grid, &work->grid_floats, threads);
	if (!code && far)
		code = reserve(work, far, &work->coarse, &work->coarse_floats, threads);
	if (!code && far)
		code = grow(&work->spectrum, &work->spectrum_numbers,
			    (sl__transfer_floats(&far->transfer, &far->grid) + 1) / 2, sizeof(fftwf_complex));
	if (code)
		return sl_error_memory(err, "a grid of %d nodes a side in %d-D", plan->grid.side, plan->grid.dims);
	return 0;
}

void sl__work_finish(struct sl_work *work)
{
	free(work->grid);
	free(work->coarse);
	free(work->spectrum);
	free(work->scratch);
	free(work->part);
	memset(work, 0, sizeof *work);
}

static float *own_scratch(struct sl_work *work)
{
	return work->scratch + work->scratch_floats * (size_t)omp_get_thread_num();
}

/* The place of SL_LINES transformed columns whose input is in the scratch. */
static float *transformed(float *scratch, const struct sl_plan *plan)
{
	return scratch + (plan->transforms->out_of_place ? (size_t)plan->length * SL_LINES * 2 : 0);
}

static void lines_forward(float *scratch, const struct sl_plan *plan)
{
	fftwf_execute_dft(plan->transforms->lines_forward, (fftwf_complex *)scratch,
			  (fftwf_complex *)transformed(scratch, plan));
}

static void lines_inverse(float *scratch, const struct sl_plan *plan)
{
	fftwf_execute_dft(plan->transforms->lines_inverse, (fftwf_complex *)transformed(scratch, plan),
			  (fftwf_complex *)scratch);
}

/* The start of row r (y, or z * side + y) of half-spectra. */
static fftwf_complex *spectrum_row(struct sl_work *work, const struct sl_plan *plan, size_t r)
{
	size_t side = (size_t)plan->grid.side;
	if (plan->grid.dims < 3)
		return work->spectrum + r * (size_t)plan->pitch;
	return work->spectrum + r / side * plane_numbers(plan) + r % side * (size_t)plan->pitch;
}

/* ---- x ----------------------------------------------------------------------------- */

/* Rows r .. r + count - 1, at most `lines`. */
static void rows_forward(struct sl_work *work, const struct sl_plan *plan, const float *grid, size_t r, size_t count)
{
	size_t side = (size_t)plan->grid.side, length = (size_t)plan->length, lines = (size_t)plan->transforms->lines;
	size_t stride = (size_t)sl__grid_stride(&plan->grid);
	float *scratch = own_scratch(work);
	for (size_t l = 0; l < lines; l++) {
		size_t here = l < count ? side : 0;
		memcpy(scratch + l * length, grid + (r + l) * stride, sizeof(float) * here);
		memset(scratch + l * length + here, 0, sizeof(float) * (length - here));
	}
	fftwf_execute_dft_r2c(plan->transforms->rows_forward, scratch, spectrum_row(work, plan, r));
}

static void rows_inverse(struct sl_work *work, const struct sl_plan *plan, float *grid, size_t r, size_t count)
{
	size_t side = (size_t)plan->grid.side, length = (size_t)plan->length;
	size_t stride = (size_t)sl__grid_stride(&plan->grid);
	float *scratch = own_scratch(work);
	fftwf_execute_dft_c2r(plan->transforms->rows_inverse, spectrum_row(work, plan, r), scratch);
	for (size_t l = 0; l < count; l++)
		memcpy(grid + (r + l) * stride, scratch + l * length, sizeof(float) * side);
}

/* ---- other dimensions ---------------------------------------------------------------- */

/* Copies SL_LINES columns to the scratch: `count` elements, `step` complex numbers apart, then zeros. */
static void lines_load(float *scratch, const fftwf_complex *from, size_t step, size_t count, size_t length)
{
	for (size_t i = 0; i < count; i++)
		memcpy(scratch + i * SL_LINES * 2, from + i * step, sizeof(float) * SL_LINES * 2);
	if (count < length)
		memset(scratch + count * SL_LINES * 2, 0, sizeof(float) * SL_LINES * 2 * (length - count));
}

static void lines_store(const float *scratch, fftwf_complex *to, size_t step, size_t count)
{
	for (size_t i = 0; i < count; i++)
		memcpy(to + i * step, scratch + i * SL_LINES * 2, sizeof(float) * SL_LINES * 2);
}

/* Transforms SL_LINES columns, from x0 on, along y in z-plane z. */
static void plane_forward_y(struct sl_work *work, const struct sl_plan *plan, size_t z, size_t x0)
{
	size_t side = (size_t)plan->grid.side, length = (size_t)plan->length, pitch = (size_t)plan->pitch;
	fftwf_complex *at = work->spectrum + z * plane_numbers(plan) + x0;
	float *scratch = own_scratch(work);
	lines_load(scratch, at, pitch, side, length);
	lines_forward(scratch, plan);
	lines_store(transformed(scratch, plan), at, pitch, length);
}

static void plane_inverse_y(struct sl_work *work, const struct sl_plan *plan, size_t z, size_t x0)
{
	size_t side = (size_t)plan->grid.side, length = (size_t)plan->length, pitch = (size_t)plan->pitch;
	fftwf_complex *at = work->spectrum + z * plane_numbers(plan) + x0;
	float *scratch = own_scratch(work);
	lines_load(transformed(scratch, plan), at, pitch, length, length);
	lines_inverse(scratch, plan);
	lines_store(scratch, at, pitch, side);
}

/* Transforms along all but the last dimension: x, and in 3-D y while the plane is in cache. */
static void first_dimensions(struct sl_work *work, const struct sl_plan *plan, float *grid, bool inverse)
{
	size_t rows = rows_of(&plan->grid), pitch = (size_t)plan->pitch, lines = (size_t)plan->transforms->lines;
	size_t task_rows = plan->grid.dims == 3 ? (size_t)plan->grid.side : lines;
	bool solid = plan->grid.dims == 3;
#pragma omp for schedule(static)
	for (size_t first = 0; first < rows; first += task_rows) {
		size_t end = rows - first < task_rows ? rows : first + task_rows;
		for (size_t x0 = 0; solid && inverse && x0 < pitch; x0 += SL_LINES)
			plane_inverse_y(work, plan, first / task_rows, x0);
		for (size_t r = first; r < end; r += lines) {
			size_t count = end - r < lines ? end - r : lines;
			if (inverse)
				rows_inverse(work, plan, grid, r, count);
			else
				rows_forward(work, plan, grid, r, count);
		}
		for (size_t x0 = 0; solid && !inverse && x0 < pitch; x0 += SL_LINES)
			plane_forward_y(work, plan, first / task_rows, x0);
	}
}

/* Multiplies the scratch by the spectrum. Lanes are frequencies x0 .. x0 + SL_LINES - 1 of x, elements those of the
 * last dimension. Returns its part of sum_k spectrum |charges|^2. */
static double lines_multiply(const struct sl_cpu_kernels *kernels, float *scratch, const struct sl_plan *plan,
			     size_t x0, size_t middle)
{
	size_t half = (size_t)plan->length / 2, count = half + 1;
	middle = middle <= half ? middle : (size_t)plan->length - middle;
	float weight[SL_LINES];
	for (size_t l = 0; l < SL_LINES; l++)  /* x counts for -x, too, except at the ends */
		weight[l] = x0 + l > half ? 0 : x0 + l == 0 || x0 + l == half ? 1 : 2;
	return kernels->multiply(scratch, plan->length, plan->spectrum + middle * count + x0,
				 plan->grid.dims == 3 ? count * count : count, weight);
}

/* Transforms along the last dimension, multiplies, and transforms back. */
static void last_dimension(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side, length = (size_t)plan->length;
	size_t pitch = (size_t)plan->pitch, blocks = pitch / SL_LINES;
	size_t middles = plan->grid.dims == 3 ? length : 1;
	size_t step = plan->grid.dims == 3 ? plane_numbers(plan) : pitch;
	float *scratch = own_scratch(work);
#pragma omp for schedule(static)
	for (size_t task = 0; task < middles * blocks; task++) {
		size_t middle = task / blocks, x0 = task % blocks * SL_LINES;
		fftwf_complex *at = work->spectrum + middle * pitch + x0;
		lines_load(scratch, at, step, side, length);
		lines_forward(scratch, plan);
		work->part[task] = lines_multiply(kernels, transformed(scratch, plan), plan, x0, middle);
		lines_inverse(scratch, plan);
		lines_store(scratch, at, step, side);
	}
}

/* 1-D: x is the only dimension. */
static void only_dimension(struct sl_work *work, const struct sl_plan *plan)
{
	size_t half = (size_t)plan->length / 2;
#pragma omp single
	{
		double sum = 0;
		for (size_t i = 0; i <= half; i++) {
			float *value = work->spectrum[i], s = plan->spectrum[i];
			sum += (double)(s * (value[0] * value[0] + value[1] * value[1])) * (i == 0 || i == half ? 1 : 2);
			value[0] *= s;
			value[1] *= s;
		}
		work->part[0] = sum;
	}
}

double sl__convolve(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *plan, float *grid)
{
	size_t parts = parts_of(plan);
	first_dimensions(work, plan, grid, false);
	if (plan->grid.dims == 1)
		only_dimension(work, plan);
	else
		last_dimension(work, kernels, plan);
	double sum = 0;
	for (size_t i = 0; i < parts; i++)
		sum += work->part[i];
	first_dimensions(work, plan, grid, true);
	return sum;
}
