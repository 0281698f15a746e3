/* Stages of explicit Runge-Kutta steps, as in core/signal/explicit.c. For each row, a kernel sums the neighbours'
 * values, adds the reaction, and computes the row's value at the next stage. So an Euler step writes each value only
 * once. Tests: tests/gpu/test_signal.c. */
#include <math.h>

#include "gpu/signal/rows.cuh"

/* Pointers and weights of one stage. slope[0 .. stage - 1] are the slopes of the stages before; slope[stage], which the
 * stage computes, is NULL if no later stage needs it. */
struct stage_of {
	const double *in[SL_SIGNAL_FIELDS], *y[SL_SIGNAL_FIELDS];
	double *out[SL_SIGNAL_FIELDS], *slope[SL__SIGNAL_STAGES][SL_SIGNAL_FIELDS];
	double a[SL__SIGNAL_STAGES];
	int stage;
	const double *degree, *inverse;
	const uint8_t *stimulated;
	uint32_t linked;
	const struct sl_signal_orders *o;
	struct sl_signal_report *r;
};

template <int MODEL>
static __device__ __forceinline__ void slopes_at(const struct stage_of &s, uint32_t i, double sum, double *d)
{
	const struct sl__rates &k = s.o->rates;
	bool stimulated = s.stimulated && k.stimulus != 0 && s.stimulated[i];
	double u = s.in[0][i], v = MODEL == SL_SIGNAL_HEAT ? 0 : s.in[1][i];
	if (MODEL == SL_SIGNAL_SIR) {
		double infected = u * pressure(k, s.degree[i], sum, stimulated);
		d[0] = -infected;
		d[1] = infected - k.recovery * v;
		return;
	}
	react<MODEL>(k, u, v, &d[0], &d[1]);
	if (i < s.linked)
		d[0] += k.diffusion * (k.random_walk ? sum * s.inverse[i] - u : sum - s.degree[i] * u);
	if (stimulated)
		d[0] += k.stimulus;
}

/* Computes the row's values at the next stage. */
template <int FIELDS>
static __device__ __forceinline__ void go_on(const struct stage_of &s, uint32_t i, const double *d)
{
	double h = s.o->h;
#pragma unroll
	for (int f = 0; f < FIELDS; f++) {
		if (s.slope[s.stage][f])
			s.slope[s.stage][f][i] = d[f];
		double sum = s.a[s.stage] * d[f];
		for (int k = 0; k < s.stage; k++)
			if (s.a[k] != 0)
				sum += s.a[k] * s.slope[k][f][i];
		s.out[f][i] = s.y[f][i] + h * sum;
	}
}

template <int MODEL> struct between {
	enum { SUMS = 0, FIELDS = MODEL == SL_SIGNAL_HEAT ? 1 : 2 };
	struct stage_of s;

	__device__ __forceinline__ bool idle() const { return false; }
	__device__ __forceinline__ const double *gathered() const { return s.in[MODEL == SL_SIGNAL_SIR]; }
	__device__ __forceinline__ void end(const double *) {}
	__device__ __forceinline__ void row(uint32_t i, double sum, double *)
	{
		double d[2];
		slopes_at<MODEL>(s, i, sum, d);
		go_on<FIELDS>(s, i, d);
	}
};

/* The first stage, if its slope was computed by the step before. */
template <int FIELDS_> struct known {
	enum { SUMS = 0, FIELDS = FIELDS_ };
	struct stage_of s;

	__device__ __forceinline__ bool idle() const { return false; }
	__device__ __forceinline__ void end(const double *) {}
	__device__ __forceinline__ void row(uint32_t i, double *)
	{
		double d[2];
		for (int f = 0; f < FIELDS; f++)
			d[f] = s.slope[0][f][i];
		go_on<FIELDS>(s, i, d);
	}
};

/* ---- the error of a step ------------------------------------------------------------------------- */

static __device__ __forceinline__ double block_max(double x)
{
	__shared__ double warp_most[32];
	for (int step = 16; step; step >>= 1)
		x = fmax(x, __shfl_down_sync(~0u, x, step));
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		warp_most[threadIdx.x / 32] = x;
	__syncthreads();
	x = threadIdx.x < blockDim.x / 32 ? warp_most[threadIdx.x] : 0;
	if (threadIdx.x < 32)
		for (int step = 16; step; step >>= 1)
			x = fmax(x, __shfl_down_sync(~0u, x, step));
	return x;
}

/* The last stage of an adaptive method: computes the slope at the new values. s.a: weights of the error. */
template <int MODEL> struct after {
	enum { SUMS = 0, FIELDS = MODEL == SL_SIGNAL_HEAT ? 1 : 2 };
	struct stage_of s;

	__device__ __forceinline__ bool idle() const { return false; }
	__device__ __forceinline__ const double *gathered() const { return s.in[MODEL == SL_SIGNAL_SIR]; }
	__device__ __forceinline__ void end(const double *) {}
	__device__ __forceinline__ void row(uint32_t i, double sum, double *)
	{
		double d[2];
		slopes_at<MODEL>(s, i, sum, d);
		for (int f = 0; f < FIELDS; f++)
			s.slope[s.stage][f][i] = d[f];
	}
};

/* report->error = the largest error of the new values, relative to 1 + |value|. One thread for each row, 256 in a
 * block. A maximum does not depend on the order. Bound by reading the slopes. */
template <int FIELDS>
static __global__ void __launch_bounds__(BLOCK) largest_error(uint32_t n, const struct stage_of s, double *part)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	double largest = 0;
	await_previous();
	for (int f = 0; f < FIELDS && i < n; f++) {
		double e = s.a[s.stage] * s.slope[s.stage][f][i];
		for (int k = 0; k < s.stage; k++)
			e += s.a[k] * s.slope[k][f][i];
		e = fabs(s.o->h * e) / (1 + fmax(fabs(s.y[f][i]), fabs(s.in[f][i])));
		largest = e <= largest ? largest : isnan(e) ? INFINITY : e;
	}
	largest = block_max(largest);
	if (threadIdx.x == 0)
		part[blockIdx.x] = largest;
	if (!last_block(&s.r->arrived))
		return;
	largest = 0;
	for (uint32_t b = threadIdx.x; b < gridDim.x; b += BLOCK)
		largest = fmax(largest, __ldcg(part + b));
	largest = block_max(largest);
	if (threadIdx.x == 0)
		s.r->error = largest;
}

/* ---- launches -------------------------------------------------------------------------------------- */

template <int MODEL>
static cudaError_t queue(const struct sl_signal_matrix *a, const struct stage_of &s, double *part, bool last,
			 bool known_, cudaStream_t stream)
{
	const int FIELDS = MODEL == SL_SIGNAL_HEAT ? 1 : 2;
	if (known_)
		return queue_values(a, known<FIELDS>{s}, part, s.r, stream);
	if (!last)
		return queue_rows(a, between<MODEL>{s}, part, s.r, stream);
	cudaError_t status = queue_rows(a, after<MODEL>{s}, part, s.r, stream);
	launch(largest_error<FIELDS>, blocks_for(a->n, BLOCK), BLOCK, 0, stream, a->n, s, part);
	return first_error(status, cudaGetLastError());
}

cudaError_t sl__signal_stage(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
			     const struct sl__tableau *t, int model, int stage, bool known,
			     const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream)
{
	struct stage_of s = {};
	bool last = t->adaptive && stage + 1 == t->stages;
	for (int f = 0; f < SL_SIGNAL_FIELDS; f++) {
		s.in[f] = stage ? v->at[stage & 1][f] : v->y[f];
		s.out[f] = v->at[(stage + 1) & 1][f];
		s.y[f] = v->y[f];
		for (int k = 0; k <= stage; k++)
			s.slope[k][f] = v->slope[k][f];
	}
	for (int k = 0; k <= stage; k++)
		s.a[k] = last ? t->error[k] : t->a[stage + 1][k];
	s.stage = stage;
	s.degree = a->degree;
	s.inverse = a->inverse;
	s.stimulated = a->stimulated;
	s.linked = a->linked;
	s.o = o;
	s.r = r;
	switch (model) {
	case SL_SIGNAL_FITZHUGH_NAGUMO:
		return queue<SL_SIGNAL_FITZHUGH_NAGUMO>(a, s, v->part, last, known, stream);
	case SL_SIGNAL_NAGUMO:
		return queue<SL_SIGNAL_NAGUMO>(a, s, v->part, last, known, stream);
	case SL_SIGNAL_SIR:
		return queue<SL_SIGNAL_SIR>(a, s, v->part, last, known, stream);
	default:
		return queue<SL_SIGNAL_HEAT>(a, s, v->part, last, known, stream);
	}
}

/* ---- the sum of the values ------------------------------------------------------------------------- */

struct level {
	enum { SUMS = 1 };
	const double *y, *degree;
	bool weighted;
	struct sl_signal_report *r;

	__device__ __forceinline__ bool idle() const { return false; }
	__device__ __forceinline__ void row(uint32_t i, double *part)
	{
		part[0] += weighted ? capacity(true, degree[i]) * y[i] : y[i];
	}
	__device__ __forceinline__ void end(const double *total) { r->sum = total[0]; }
};

cudaError_t sl__signal_sum(const struct sl_signal_matrix *a, const double *y, bool weighted, double *part,
			   struct sl_signal_report *r, cudaStream_t stream)
{
	return queue_values(a, level{y, a->degree, weighted, r}, part, r, stream);
}
