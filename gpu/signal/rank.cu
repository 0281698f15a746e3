/* PageRank, as in core/signal/rank.c. An iteration is one kernel. Its last block stores the change and the rank of
 * nodes without edges for the next iteration, and ends the run when the change is small. Tests:
 * tests/gpu/test_signal.c. */
#include <math.h>

#include "gpu/signal/rows.cuh"

/* Runs before the first iteration: sums the rank of nodes without edges. It sums in the same order as iterations do,
 * so that a run from a checkpoint has the same bytes; the sums over entries are not used. */
struct begin {
	enum { SUMS = 1 };
	const double *y, *degree;
	double *divided;
	struct sl_signal_report *r;

	__device__ __forceinline__ bool idle() const { return false; }
	__device__ __forceinline__ const double *gathered() const { return y; }
	__device__ __forceinline__ void row(uint32_t i, double, double *part)
	{
		divided[i] = degree[i] > 0 ? y[i] / degree[i] : 0;
		part[0] += degree[i] > 0 ? 0 : y[i];
	}
	__device__ __forceinline__ void end(const double *total) { r->hanging = total[0]; }
};

struct iteration {
	enum { SUMS = 2 };
	const double *y, *divided, *degree, *restart;
	double *to, *to_divided;
	double damping;
	const struct sl_signal_orders *o;
	struct sl_signal_report *r;

	__device__ __forceinline__ bool idle() const { return r->done != 0; }
	__device__ __forceinline__ const double *gathered() const { return divided; }
	__device__ __forceinline__ void row(uint32_t i, double sum, double *part)
	{
		double back = damping * r->hanging + 1 - damping, d = degree[i];
		double x = damping * sum + back * restart[i];
		part[0] += fabs(x - y[i]);
		part[1] += d > 0 ? 0 : x;
		to[i] = x;
		to_divided[i] = d > 0 ? x / d : 0;
	}
	__device__ __forceinline__ void end(const double *total)
	{
		r->change[r->iterations++] = total[0];
		r->hanging = total[1];
		r->done = total[0] < o->tolerance || r->iterations == SL_SIGNAL_RANKS;
	}
};

cudaError_t sl__signal_rank_begin(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
				  struct sl_signal_report *r, cudaStream_t stream)
{
	return queue_rows(a, begin{v->y[0], a->degree, v->at[1][0], r}, v->part, r, stream);
}

cudaError_t sl__signal_rank(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v, double damping,
			    const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream)
{
	struct iteration f = {v->y[0], v->at[1][0], a->degree, v->restart, v->at[0][0], v->at[1][1], damping, o, r};
	return queue_rows(a, f, v->part, r, stream);
}
