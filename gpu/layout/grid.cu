/* Charges on the grid: spreading points, the steps before, between and after cuFFT's transforms, and the far grid's
 * input from the near grid. window.cuh describes the window that joins a point to a grid. */
#include "gpu/layout/window.cuh"

cudaError_t sl__upload_windows(const struct sl_window *windows)
{
	cudaError_t status = window_upload(windows);
	if (status == cudaSuccess)
		status = sl__upload_step_windows(windows);
	return status == cudaSuccess ? sl__upload_move_windows(windows) : status;
}

/* ---- spread ------------------------------------------------------------------------- */

/* spread adds the window of each point y [n * stride] to f.charges [side^(D - 1)][pairs], fixed point. LANES threads
 * per point. Bound by atomic additions. */
template <int D, int W>
static __global__ void __launch_bounds__(BLOCK)
spread(uint32_t n, const float *__restrict__ y, struct field f, int level, const struct sl_orders *__restrict__ o,
       const struct sl_report *r)
{
	const int LANES = shape<W>::LANES, lane = (int)threadIdx.x % LANES;
	if (r->state != SL_GO)
		return;
	struct tap<W> c;
	tap_init(&c, lane, false);
	field_orders(&f, &o->level[level]);
	uint32_t step = gridDim.x * (BLOCK / LANES), group = threadIdx.x / LANES;
	const float corner[3] = {r->corner[0], r->corner[1], r->corner[2]};
	for (uint32_t base = blockIdx.x * (BLOCK / LANES) + group; base - group < n; base += step) {
		float place[3];
		load_point<D>(y, base < n ? base : n - 1, place);
		spread_point<D>(&c, lane, &f, place, corner, base < n);
	}
}

/* convert writes charges [rows][pairs] as floats to input [length]^dims, for cuFFT, and zeroes the charges if `clear`.
 * One thread per pair. */
static __global__ void __launch_bounds__(BLOCK)
convert(uint64_t *__restrict__ charges, bool clear, float *__restrict__ input, int side, int length, int pairs,
	uint32_t rows, bool cube, const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	uint32_t row = (uint32_t)(at / (uint32_t)pairs), pair = (uint32_t)(at % (uint32_t)pairs);
	if (r->state != SL_GO || row >= rows)
		return;
	uint64_t both = charges[at];
	float scale = o->weight_inverse;
	uint32_t x = 2 * pair;
	size_t plane_row = cube ? (size_t)(row / side) * length + row % side : row;
	float *out = input + plane_row * length + x;
	if (clear)
		charges[at] = 0;
	if (x < (uint32_t)side)
		out[0] = scale * (float)(uint32_t)both;
	if (x + 1 < (uint32_t)side)
		out[1] = scale * (float)(uint32_t)(both >> 32);
}

#define FEED_BLOCK 128

/* feed_rows spreads the near grid's rows over the coarse grid along x: charges [rows][words] to half [rows][coarse].
 * A block of 128 threads takes `count` rows, a multiple of ROWS; a thread computes ROWS rows at a time. Shared memory:
 * the block's rows. */
template <int ROWS>
static __global__ void __launch_bounds__(FEED_BLOCK)
feed_rows(const uint32_t *__restrict__ charges, float *__restrict__ half, int side, int words, int rows, int count,
	  int coarse, const struct sl_level *__restrict__ near, const struct sl_level *__restrict__ far,
	  const struct sl_report *r)
{
	extern __shared__ float lines[];
	const int pitch = side + side / 8 + 1, first_row = (int)blockIdx.x * count;
	if (r->state != SL_GO)
		return;
	for (int row = 0; row < count; row++) {
		const uint32_t *from = charges + (size_t)(first_row + row) * words;
		for (int x = (int)threadIdx.x; x < side; x += FEED_BLOCK)  /* threads read about every 8th */
			lines[row * pitch + x + x / 8] = first_row + row < rows ? (float)from[x] : 0;
	}
	__syncthreads();
	const float scale = near->weight_inverse, *weights = far->gather_weight;
	int taps = far->gather_taps;
	for (int at = (int)threadIdx.x; at < coarse * (count / ROWS); at += FEED_BLOCK) {
		int x = at % coarse, row = at / coarse * ROWS, first = far->gather_first[x];
		float sum[ROWS] = {0};
#pragma unroll 4
		for (int k = 0; k < taps; k++) {
			const float *line = lines + row * pitch + first + k + (first + k) / 8;
			float w = weights[k * coarse + x];
#pragma unroll
			for (int i = 0; i < ROWS; i++)
				sum[i] = fmaf(w, line[i * pitch], sum[i]);
		}
#pragma unroll
		for (int i = 0; i < ROWS; i++)
			if (first_row + row + i < rows)
				half[(size_t)(first_row + row + i) * coarse + x] = scale * sum[i];
	}
}

/* The index in sl__restrict()'s output of node i of the axis, for inner index j and outer index o. */
struct target {
	float *out;
	int row;
	size_t outer_step, axis_step, row_step;
};

/* restrict_axis spreads in [outers][side][inner] over the coarse grid along the middle axis. One thread per number of
 * the result; `to` gives its index. */
static __global__ void __launch_bounds__(BLOCK)
restrict_axis(const float *__restrict__ in, int outers, int side, int inner, int coarse, struct target to,
	      const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	uint32_t j = (uint32_t)(at % (uint32_t)inner), i = (uint32_t)(at / (uint32_t)inner % (uint32_t)coarse);
	uint32_t outer = (uint32_t)(at / (uint32_t)inner / (uint32_t)coarse);
	if (r->state != SL_GO || outer >= (uint32_t)outers)
		return;
	const float *from = in + ((size_t)outer * side + o->gather_first[i]) * inner + j, *weight = o->gather_weight + i;
	int taps = o->gather_taps;
	float sum = 0;
#pragma unroll 8
	for (int k = 0; k < taps; k++)
		sum = fmaf(weight[k * coarse], from[(size_t)k * inner], sum);
	to.out[outer * to.outer_step + i * to.axis_step + j / (uint32_t)to.row * to.row_step + j % (uint32_t)to.row] = sum;
}

static uint32_t rows_of(const struct sl_grid_memory *g)
{
	uint32_t side = (uint32_t)g->side;
	return g->dims == 1 ? 1 : g->dims == 2 ? side : side * side;
}

cudaError_t sl__spread(const struct sl_particles *p, const struct sl_grid_memory *g, const struct sl_orders *o,
		       const struct sl_report *r, cudaStream_t stream)
{
	struct field f = field_of(g);
#define LAUNCH(d, w) \
	if (p->dims == d && g->window == w) \
		spread<d, w><<<blocks_of_points<w>(p->n), BLOCK, 0, stream>>>(p->n, p->y, f, g->level, o, r)
	LAUNCH(2, 4); LAUNCH(3, 4);
	LAUNCH(1, 6); LAUNCH(2, 6); LAUNCH(3, 6);
#undef LAUNCH
	return cudaGetLastError();
}

cudaError_t sl__convert(const struct sl_grid_memory *g, const struct sl_orders *o, const struct sl_report *r,
			cudaStream_t stream)
{
	uint32_t rows = rows_of(g);
	convert<<<blocks_for((uint64_t)rows * (uint32_t)g->pairs, BLOCK), BLOCK, 0, stream>>>(
		g->charges, !g->coarse, g->input, g->side, g->length, g->pairs, rows, g->dims == 3, &o->level[g->level], r);
	return cudaGetLastError();
}

static size_t feed_bytes(const struct sl_grid_memory *near, uint32_t count)
{
	return count * ((size_t)near->side + (size_t)near->side / 8 + 1) * sizeof(float);
}

template <int ROWS>
static cudaError_t launch_feed(const struct sl_grid_memory *near, uint32_t count, const struct sl_orders *o,
			       const struct sl_report *r, cudaStream_t stream)
{
	uint32_t rows = rows_of(near);
	size_t bytes = feed_bytes(near, count);
	cudaError_t status = cudaSuccess;
	if (bytes > 48 << 10)
		status = cudaFuncSetAttribute((const void *)feed_rows<ROWS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
					      (int)bytes);
	if (status != cudaSuccess)
		return status;
	feed_rows<ROWS><<<blocks_for(rows, count), FEED_BLOCK, bytes, stream>>>(
		(const uint32_t *)near->charges, near->half, near->side, 2 * near->pairs, (int)rows, (int)count, near->coarse,
		&o->level[0], &o->level[1], r);
	return cudaGetLastError();
}

cudaError_t sl__feed(const struct sl_grid_memory *near, const struct sl_orders *o, const struct sl_report *r,
		     cudaStream_t stream)
{
	if (near->dims == 3)
		return launch_feed<4>(near, 16, o, r, stream);
	if (feed_bytes(near, 4) <= shared_most())
		return launch_feed<4>(near, 4, o, r, stream);
	return launch_feed<2>(near, 2, o, r, stream);  /* for the largest grids on devices whose blocks have 99 KiB */
}

/* charges[count] = 0, unless the run has stopped. Bound by memory. */
static __global__ void __launch_bounds__(BLOCK)
clear(uint64_t *charges, uint64_t count, const struct sl_report *r)
{
	if (r->state != SL_GO)
		return;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < count; at += (uint64_t)gridDim.x * BLOCK)
		charges[at] = 0;
}

cudaError_t sl__clear(const struct sl_grid_memory *g, const struct sl_report *r, cudaStream_t stream)
{
	uint64_t count = (uint64_t)rows_of(g) * (uint32_t)g->pairs;
	clear<<<blocks_for(count, 8 * BLOCK), BLOCK, 0, stream>>>(g->charges, count, r);
	return cudaGetLastError();
}

cudaError_t sl__restrict(const struct sl_grid_memory *near, const struct sl_grid_memory *far, const struct sl_orders *o,
			 const struct sl_report *r, cudaStream_t stream)
{
	bool cube = near->dims == 3;
	int side = near->side, coarse = near->coarse, inner = cube ? coarse * coarse : coarse;
	size_t pitch = (size_t)far->pitch;  /* the input has the same pitch */
	struct target middle = {near->half2, coarse, (size_t)inner, (size_t)coarse, 0};
	struct target last = {far->input, coarse, 0, cube ? pitch * pitch : pitch, pitch};
	const struct sl_level *level = &o->level[1];
	if (cube)
		restrict_axis<<<blocks_for((uint64_t)side * (uint32_t)inner, BLOCK), BLOCK, 0, stream>>>(
			near->half, side, side, coarse, coarse, middle, level, r);
	restrict_axis<<<blocks_for((uint64_t)coarse * (uint32_t)inner, BLOCK), BLOCK, 0, stream>>>(
		cube ? near->half2 : near->half, 1, side, inner, coarse, last, level, r);
	return cudaGetLastError();
}

/* ---- multiply ------------------------------------------------------------------------- */

/* multiply multiplies spectrum [length]^(D - 1)[length / 2 + 1] by the kernel's spectrum, between cuFFT's transforms,
 * and sums Z. At most 1,056 blocks; part [blocks]; the last block writes *z. Bound by memory. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
multiply(float2 *__restrict__ spectrum, uint32_t length, uint64_t numbers, const struct sl_level *__restrict__ o,
	 const struct sl_report *r, double *z, uint32_t *arrived, double *part)
{
	if (r->state != SL_GO)
		return;
	const float *kernel = o->spectrum, *tilt = o->tilt;
	uint32_t count = length / 2 + 1;
	double sum = 0;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint32_t row = (uint32_t)(at / count), x = (uint32_t)(at % count), y = D == 3 ? row % length : row;
		y = y < count ? y : length - y;
		size_t mirrored = D == 1 ? 0 : y;
		float tilted = tilt ? tilt[x] * (D > 1 ? tilt[y] : 1) : 1;
		if (D == 3) {
			uint32_t z = row / length;
			z = z < count ? z : length - z;
			mirrored += (size_t)z * count;
			tilted *= tilt ? tilt[z] : 1;
		}
		float s = kernel[mirrored * count + x];
		float2 c = spectrum[at];
		float square = tilted * s * (c.x * c.x + c.y * c.y);
		sum += x == 0 || x == length / 2 ? square : 2 * square;
		spectrum[at] = make_float2(s * c.x, s * c.y);
	}
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
	if (last_block(arrived)) {
		sum = sum_parts(part, gridDim.x);
		if (threadIdx.x == 0)
			*z = o->constant + sum;
	}
}

cudaError_t sl__multiply(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r, double *part,
			 cudaStream_t stream)
{
	uint64_t length = (uint64_t)g->length, rows = g->dims == 1 ? 1 : g->dims == 2 ? length : length * length;
	uint64_t numbers = rows * (length / 2 + 1);
	uint32_t blocks = blocks_for(numbers, 2 * BLOCK);
	const struct sl_level *level = &o->level[g->level];
	double *z = &r->level_z[g->level];
	uint32_t *arrived = &r->arrived[g->level];
	blocks = blocks < 1056 ? blocks : 1056;
	part += g->level * SL_LEVEL_PARTS;
#define LAUNCH(d) multiply<d><<<blocks, BLOCK, 0, stream>>>(g->spectrum, (uint32_t)length, numbers, level, r, z, \
							     arrived, part)
	BY_DIMS(g->dims, LAUNCH);
#undef LAUNCH
	return cudaGetLastError();
}

/* ---- spectra ------------------------------------------------------------------------------- */

/* Extends a kernel, given for 0 <= x <= side in each of dims dimensions, to the whole period of 2 side:
 * out(x) = octant(|x|). x is adjacent. Runs once per plan. */
static __global__ void mirror(float *__restrict__ out, const float *__restrict__ octant, int dims, int side,
			      uint64_t numbers)
{
	uint32_t length = 2 * (uint32_t)side, count = (uint32_t)side + 1;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint64_t rest = at, from = 0, step = 1;
		for (int k = 0; k < dims; k++, step *= count) {
			uint32_t x = (uint32_t)(rest % length);
			rest /= length;
			from += step * (x < count ? x : length - x);
		}
		out[at] = octant[from];
	}
}

/* octant[count^dims]: the real parts of the lowest count = side + 1 frequencies of each dimension. */
static __global__ void real_part(const float2 *__restrict__ spectrum, float *__restrict__ octant, int dims, int side,
				 uint64_t numbers)
{
	uint32_t length = 2 * (uint32_t)side, count = (uint32_t)side + 1;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint64_t x = at % count, y = at / count % count, z = at / count / count;
		octant[at] = spectrum[(z * length + y) * count + x].x;
	}
}

cudaError_t sl__mirror(const struct sl_grid_memory *g, const float *octant, cudaStream_t stream)
{
	uint64_t numbers = 1;
	for (int k = 0; k < g->dims; k++)
		numbers *= 2 * (uint64_t)g->side;
	mirror<<<blocks_for(numbers, 4 * BLOCK), BLOCK, 0, stream>>>(g->input, octant, g->dims, g->side, numbers);
	return cudaGetLastError();
}

cudaError_t sl__real_part(const struct sl_grid_memory *g, float *octant, cudaStream_t stream)
{
	uint64_t numbers = 1;
	for (int k = 0; k < g->dims; k++)
		numbers *= (uint64_t)g->side + 1;
	real_part<<<blocks_for(numbers, 4 * BLOCK), BLOCK, 0, stream>>>(g->spectrum, octant, g->dims, g->side, numbers);
	return cudaGetLastError();
}
