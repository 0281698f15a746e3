/* Crank and Nicolson's step by conjugate gradients, as in core/signal/implicit.c. An iteration is three kernels: the
 * first computes q = A p and p'q; the second x, r and r'r; the third p. The last block of a kernel computes the numbers
 * that the next kernel needs, so several iterations run without the host. Tests: tests/gpu/test_signal.c. */
#include <math.h>

#include "gpu/signal/rows.cuh"

struct system_of {
	double *x;                /* values, [n + 1]: the solution so far */
	double *r, *p, *q;
	const double *degree;
	const struct sl_signal_orders *o;
	struct sl_signal_report *report;

	__device__ __forceinline__ double theta() const { return o->h * o->rates.diffusion / 2; }
	__device__ __forceinline__ double diagonal(uint32_t i) const
	{
		return capacity(o->rates.random_walk, degree[i]) + theta() * degree[i];
	}
	__device__ __forceinline__ void judge()
	{
		report->failed = !isfinite(report->rz) || !isfinite(report->bz) || report->iterations > SL__CG_MOST;
		report->done = report->failed || report->rz <= SL__CG_CLOSE * SL__CG_CLOSE * report->bz;
	}
};

/* Computes the right side b, and the residual r at the initial values, which are u or u*. Sums: r'z, b'b / diagonal. */
template <int MODEL, int SOLVE> struct right_side {
	enum { SUMS = 2 };
	struct system_of s;
	const double *y[SL_SIGNAL_FIELDS];
	double *at[SL_SIGNAL_FIELDS], *known, *slope[SL_SIGNAL_FIELDS];
	const uint8_t *stimulated;

	/* not report->done, which still belongs to the prediction when the correction starts */
	__device__ __forceinline__ bool idle() const { return s.report->failed != 0; }
	__device__ __forceinline__ const double *gathered() const { return SOLVE ? at[0] : y[0]; }
	__device__ __forceinline__ void row(uint32_t i, double sum, double *part)
	{
		const struct sl__rates &k = s.o->rates;
		double x = gathered()[i], v = MODEL == SL_SIGNAL_HEAT ? 0 : (SOLVE ? at[1] : y[1])[i], du, dv = 0;
		double degree = s.degree[i], held = capacity(k.random_walk, degree), h = s.o->h;
		double moved = s.theta() * (degree * x - sum);
		react<MODEL>(k, x, v, &du, &dv);
		if (stimulated && k.stimulus != 0 && stimulated[i])
			du += k.stimulus;
		if (!SOLVE) {
			known[i] = held * x - moved;
			slope[0][i] = du;
			at[0][i] = x;
		}
		double f = SOLVE ? (slope[0][i] + du) / 2 : du;
		double b = known[i] + h * held * f, d = s.diagonal(i), r = b - (held * x + moved);
		s.r[i] = r;
		s.p[i] = r / d;
		part[0] += r * (r / d);
		part[1] += b * b / d;
		if (MODEL == SL_SIGNAL_HEAT)
			return;
		if (!SOLVE)
			slope[1][i] = dv;
		at[1][i] = y[1][i] + h * (SOLVE ? (slope[1][i] + dv) / 2 : dv);
	}
	__device__ __forceinline__ void end(const double *total)
	{
		s.report->rz = total[0];
		s.report->bz = total[1];
		s.report->iterations = 0;
		s.judge();
	}
};

struct product {
	enum { SUMS = 1 };
	struct system_of s;

	__device__ __forceinline__ bool idle() const { return s.report->done != 0; }
	__device__ __forceinline__ const double *gathered() const { return s.p; }
	__device__ __forceinline__ void row(uint32_t i, double sum, double *part)
	{
		double p = s.p[i], q = s.diagonal(i) * p - s.theta() * sum;
		s.q[i] = q;
		part[0] += p * q;
	}
	__device__ __forceinline__ void end(const double *total) { s.report->alpha = s.report->rz / total[0]; }
};

struct advance {
	enum { SUMS = 1 };
	struct system_of s;

	__device__ __forceinline__ bool idle() const { return s.report->done != 0; }
	__device__ __forceinline__ void row(uint32_t i, double *part)
	{
		double alpha = s.report->alpha, r = s.r[i] - alpha * s.q[i];
		s.x[i] += alpha * s.p[i];
		s.r[i] = r;
		part[0] += r * r / s.diagonal(i);
	}
	__device__ __forceinline__ void end(const double *total)
	{
		s.report->beta = total[0] / s.report->rz;
		s.report->rz = total[0];
		s.report->iterations++;
		s.judge();
	}
};

struct turn {
	enum { SUMS = 0 };
	struct system_of s;

	__device__ __forceinline__ bool idle() const { return s.report->done != 0; }
	__device__ __forceinline__ void end(const double *) {}
	__device__ __forceinline__ void row(uint32_t i, double *)
	{
		s.p[i] = s.r[i] / s.diagonal(i) + s.report->beta * s.p[i];
	}
};

static struct system_of system_of_step(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
				       const struct sl_signal_orders *o, struct sl_signal_report *r)
{
	struct system_of s = {v->at[0][0], v->r, v->p, v->q, a->degree, o, r};
	return s;
}

template <int MODEL, int SOLVE>
static cudaError_t queue_start(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
			       const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream)
{
	struct right_side<MODEL, SOLVE> f = {system_of_step(a, v, o, r), {v->y[0], v->y[1]}, {v->at[0][0], v->at[0][1]},
					     v->known, {v->slope[0][0], v->slope[0][1]}, a->stimulated};
	return queue_rows(a, f, v->part, r, stream);
}

cudaError_t sl__signal_start(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v, int model, int solve,
			     const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream)
{
	switch (2 * model + solve) {
	case 2 * SL_SIGNAL_FITZHUGH_NAGUMO: return queue_start<SL_SIGNAL_FITZHUGH_NAGUMO, 0>(a, v, o, r, stream);
	case 2 * SL_SIGNAL_FITZHUGH_NAGUMO + 1: return queue_start<SL_SIGNAL_FITZHUGH_NAGUMO, 1>(a, v, o, r, stream);
	case 2 * SL_SIGNAL_NAGUMO: return queue_start<SL_SIGNAL_NAGUMO, 0>(a, v, o, r, stream);
	case 2 * SL_SIGNAL_NAGUMO + 1: return queue_start<SL_SIGNAL_NAGUMO, 1>(a, v, o, r, stream);
	default: return queue_start<SL_SIGNAL_HEAT, 0>(a, v, o, r, stream);
	}
}

cudaError_t sl__signal_iterate(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
			       const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream)
{
	struct system_of s = system_of_step(a, v, o, r);
	cudaError_t status = queue_rows(a, product{s}, v->part, r, stream);
	status = first_error(status, queue_values(a, advance{s}, v->part, r, stream));
	return first_error(status, queue_values(a, turn{s}, v->part, r, stream));
}
