/* Convolution of the grid with the kernel, zero-padded to twice its side.
 *
 * Half of all padded rows and columns are zero before and of no use after, so each pass touches only
 * what it must: x-transforms of the side^(d-1) rows that hold something; then, SL_LINES
 * frequencies of x at a time, y (and z) forward, product, z (and y) back, within a
 * cache-sized scratch; then x back. The kernel's spectrum is real and even, so (side + 1)^d
 * numbers hold all of it. */
#include "core/cpu/cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

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
	*p = aligned_alloc(64, (need * size + 63) / 64 * 64);
	if (!*p)
		return SL_NOMEM;
	memset(*p, 0, need * size);
	*have = need;
	return 0;
}

/* Complex numbers from one z-plane of half-spectra to the next: in 3-D, y is padded. */
static size_t plane_numbers(const struct sl_plan *plan)
{
	return (size_t)plan->grid.side * 2 * (size_t)plan->pitch;
}

int sl__work_reserve(struct sl_work *work, const struct sl_plan *plan, int threads, struct sl_error *err)
{
	const struct sl_grid *g = &plan->grid;
	size_t side = (size_t)g->side, rows = rows_of(g);
	size_t numbers = g->dims == 3 ? side * plane_numbers(plan) : rows * (size_t)plan->pitch;
	numbers += SL_LINES * (size_t)plan->pitch;  /* rows come in groups */
	size_t scratch = (2 * side * (size_t)plan->transforms->lines * 2 + 63) / 64 * 64;
	int code = grow(&work->grid, &work->grid_floats, sl__grid_floats(g), sizeof(float));
	if (!code)
		code = grow(&work->spectrum, &work->spectrum_numbers, numbers, sizeof(fftwf_complex));
	if (!code && scratch > work->scratch_floats) {
		size_t have = 0;
		code = grow(&work->scratch, &have, scratch * (size_t)threads, sizeof(float));
		work->scratch_floats = code ? 0 : scratch;
	}
	if (!code)
		code = grow(&work->part, &work->parts, 2 * side * ((size_t)plan->pitch / SL_LINES) + 1, sizeof(double));
	if (code)
		return sl_error_set(err, SL_NOMEM, "No memory for a grid of %d nodes a side in %d-D.", g->side, g->dims);
	return 0;
}

void sl__work_finish(struct sl_work *work)
{
	free(work->grid);
	free(work->spectrum);
	free(work->scratch);
	free(work->part);
	memset(work, 0, sizeof *work);
}

static float *own_scratch(struct sl_work *work)
{
	return work->scratch + work->scratch_floats * (size_t)omp_get_thread_num();
}

/* Where row r (y, or z * side + y) of half-spectra starts. */
static fftwf_complex *spectrum_row(struct sl_work *work, const struct sl_plan *plan, size_t r)
{
	size_t side = (size_t)plan->grid.side;
	if (plan->grid.dims < 3)
		return work->spectrum + r * (size_t)plan->pitch;
	return work->spectrum + r / side * plane_numbers(plan) + r % side * (size_t)plan->pitch;
}

/* ---- x ----------------------------------------------------------------------------- */

static void rows_forward(struct sl_work *work, const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side, rows = rows_of(&plan->grid), length = 2 * side;
	size_t stride = (size_t)sl__grid_stride(&plan->grid);
	size_t lines = (size_t)plan->transforms->lines;
	float *scratch = own_scratch(work);
	size_t group_rows = plan->grid.dims == 3 ? side : rows;  /* groups do not cross planes */
	size_t groups = (group_rows + lines - 1) / lines, planes = rows / group_rows;
#pragma omp for schedule(static)
	for (size_t group = 0; group < groups * planes; group++) {
		size_t r = group / groups * group_rows + group % groups * lines;
		size_t count = (group / groups + 1) * group_rows - r;
		count = count < lines ? count : lines;
		memset(scratch, 0, sizeof(float) * length * lines);
		for (size_t l = 0; l < count; l++)
			memcpy(scratch + l * length, work->grid + (r + l) * stride, sizeof(float) * side);
		fftwf_execute_dft_r2c(plan->transforms->rows_forward, scratch, spectrum_row(work, plan, r));
	}
}

static void rows_inverse(struct sl_work *work, const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side, rows = rows_of(&plan->grid), length = 2 * side;
	size_t stride = (size_t)sl__grid_stride(&plan->grid);
	size_t lines = (size_t)plan->transforms->lines;
	float *scratch = own_scratch(work);
	size_t group_rows = plan->grid.dims == 3 ? side : rows;
	size_t groups = (group_rows + lines - 1) / lines, planes = rows / group_rows;
#pragma omp for schedule(static)
	for (size_t group = 0; group < groups * planes; group++) {
		size_t r = group / groups * group_rows + group % groups * lines;
		size_t count = (group / groups + 1) * group_rows - r;
		count = count < lines ? count : lines;
		fftwf_execute_dft_c2r(plan->transforms->rows_inverse, spectrum_row(work, plan, r), scratch);
		for (size_t l = 0; l < count; l++)
			memcpy(work->grid + (r + l) * stride, scratch + l * length, sizeof(float) * side);
	}
}

/* ---- other dimensions ---------------------------------------------------------------- */

/* SL_LINES columns: `count` elements from, `step` complex numbers apart, to the scratch; rest zero. */
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

/* Times the spectrum, in the scratch; lanes are frequencies x0 .. x0 + SL_LINES - 1 of x, elements
 * those of the last dimension. Returns the part of sum_k spectrum |charges|^2. */
static double lines_multiply(float *scratch, const struct sl_plan *plan, size_t x0, size_t middle)
{
	size_t side = (size_t)plan->grid.side, count = side + 1, length = 2 * side;
	size_t lanes = count - x0 < SL_LINES ? count - x0 : SL_LINES;
	double sum = 0;
	for (size_t i = 0; i < length; i++) {
		size_t mirrored = i <= side ? i : length - i;
		const float *s = plan->spectrum + (mirrored * (plan->grid.dims == 3 ? count : 1) + middle) * count + x0;
		float *value = scratch + i * SL_LINES * 2;
		float row[SL_LINES] = {0};
		for (size_t l = 0; l < lanes; l++) {
			float a = value[2 * l], b = value[2 * l + 1];
			row[l] = s[l] * (a * a + b * b);
			value[2 * l] = a * s[l];
			value[2 * l + 1] = b * s[l];
		}
		for (size_t l = 0; l < lanes; l++)  /* x and -x, but for the ends */
			sum += (double)(x0 + l == 0 || x0 + l == side ? row[l] : 2 * row[l]);
	}
	return sum;
}

static void planes_forward_y(struct sl_work *work, const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side, pitch = (size_t)plan->pitch, blocks = pitch / SL_LINES;
	float *scratch = own_scratch(work);
#pragma omp for schedule(static)
	for (size_t task = 0; task < side * blocks; task++) {
		fftwf_complex *at = work->spectrum + task / blocks * plane_numbers(plan) + task % blocks * SL_LINES;
		lines_load(scratch, at, pitch, side, 2 * side);
		fftwf_execute_dft(plan->transforms->lines_forward, (fftwf_complex *)scratch, (fftwf_complex *)scratch);
		lines_store(scratch, at, pitch, 2 * side);
	}
}

static void planes_inverse_y(struct sl_work *work, const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side, pitch = (size_t)plan->pitch, blocks = pitch / SL_LINES;
	float *scratch = own_scratch(work);
#pragma omp for schedule(static)
	for (size_t task = 0; task < side * blocks; task++) {
		fftwf_complex *at = work->spectrum + task / blocks * plane_numbers(plan) + task % blocks * SL_LINES;
		lines_load(scratch, at, pitch, 2 * side, 2 * side);
		fftwf_execute_dft(plan->transforms->lines_inverse, (fftwf_complex *)scratch, (fftwf_complex *)scratch);
		lines_store(scratch, at, pitch, side);
	}
}

/* The last dimension, there and back. */
static void last_dimension(struct sl_work *work, const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side, pitch = (size_t)plan->pitch, blocks = pitch / SL_LINES;
	size_t middles = plan->grid.dims == 3 ? 2 * side : 1;
	size_t step = plan->grid.dims == 3 ? plane_numbers(plan) : pitch;
	float *scratch = own_scratch(work);
#pragma omp for schedule(static)
	for (size_t task = 0; task < middles * blocks; task++) {
		size_t middle = task / blocks, x0 = task % blocks * SL_LINES;
		fftwf_complex *at = work->spectrum + middle * pitch + x0;
		lines_load(scratch, at, step, side, 2 * side);
		fftwf_execute_dft(plan->transforms->lines_forward, (fftwf_complex *)scratch, (fftwf_complex *)scratch);
		work->part[task] = lines_multiply(scratch, plan, x0, middle <= side ? middle : 2 * side - middle);
		fftwf_execute_dft(plan->transforms->lines_inverse, (fftwf_complex *)scratch, (fftwf_complex *)scratch);
		lines_store(scratch, at, step, side);
	}
}

/* 1-D: there is x alone. */
static void only_dimension(struct sl_work *work, const struct sl_plan *plan)
{
	size_t side = (size_t)plan->grid.side;
#pragma omp single
	{
		double sum = 0;
		for (size_t i = 0; i <= side; i++) {
			float *value = work->spectrum[i], s = plan->spectrum[i];
			sum += (double)(s * (value[0] * value[0] + value[1] * value[1])) * (i == 0 || i == side ? 1 : 2);
			value[0] *= s;
			value[1] *= s;
		}
		work->part[0] = sum;
	}
}

double sl__convolve(struct sl_work *work, const struct sl_plan *plan)
{
	size_t parts = 1;
	rows_forward(work, plan);
	if (plan->grid.dims == 1) {
		only_dimension(work, plan);
	} else {
		if (plan->grid.dims == 3)
			planes_forward_y(work, plan);
		last_dimension(work, plan);
		if (plan->grid.dims == 3)
			planes_inverse_y(work, plan);
		parts = (size_t)plan->pitch / SL_LINES * (plan->grid.dims == 3 ? 2 * (size_t)plan->grid.side : 1);
	}
	double sum = 0;
	for (size_t i = 0; i < parts; i++)
		sum += work->part[i];
	rows_inverse(work, plan);
	return sum;
}
