/* signal.h -- steps of signals on the device (core/signal/passes.h): the weights in device memory, and launchers of the
 * kernels. matrix.c copies the weights to the device, passes.c is the rest of the host code.
 *
 * Rows and values are those of the coupling, in its order. Vectors have n + 1 values. The last one is 0: padding
 * entries of the weights refer to it and add nothing to a sum.
 *
 * One thread sums a row of at most SL_SIGNAL_WIDE entries in the order of the entries, as the processor does. A warp
 * sums a longer row, and a thread block one of more than SL_SIGNAL_HUB entries, in another order, which is fixed. */
#ifndef SL_GPU_SIGNAL_H
#define SL_GPU_SIGNAL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/signal/passes.h"
#include "core/signal/signal.h"

struct sl_device;

#ifdef __cplusplus
extern "C" {
#endif

#define SL_SIGNAL_SLICE 32u   /* rows of a slice */
#define SL_SIGNAL_WIDE 64u    /* the most entries of a row that one thread sums */
#define SL_SIGNAL_HUB 2048u   /* the most entries of a row that one warp sums */

/* Entry k of row 32 s + l is at slice[s] + 32 k + l, so that the threads of a warp read neighbouring words. All rows of
 * a slice are padded to the length of its longest row of at most SL_SIGNAL_WIDE entries. The rows of a block are sorted
 * by length (core/signal/coupling.h), so there is little padding. Longer rows are empty in the slices; a list holds
 * them, hubs first. */
struct sl_signal_matrix {
	uint32_t n, linked;       /* rows; rows with entries, which come first */
	uint32_t slices;
	uint32_t hubs, wide;      /* rows in the list: hubs, and all others */
	uint64_t *slice;          /* [slices + 1] */
	uint32_t *elsewhere;      /* [slices] bit l: row l of the slice is in the list */
	uint32_t *node;           /* [slice[slices]]; n: padding */
	float *weight;            /* likewise; NULL: all 1 */
	uint32_t *row;            /* [hubs + wide] of the list */
	uint64_t *start;          /* [hubs + wide + 1] */
	uint32_t *listed_node;    /* [start[hubs + wide]] */
	float *listed_weight;     /* likewise, or NULL */
	double *degree, *inverse; /* [n] as in the coupling */
	uint32_t *user;           /* [n] */
	uint8_t *stimulated;      /* [n], or NULL */
};

/* The parameters that change from step to step. They are in device memory, so that a captured sequence of launches can
 * be reused. */
struct sl_signal_orders {
	struct sl__rates rates;
	double h;
	double tolerance;         /* pagerank */
	uint64_t step;            /* the number of the first step */
};

/* The results that the host reads; in device memory. */
struct sl_signal_report {
	double error, sum;
	double rz, bz, alpha, beta;   /* conjugate gradients (core/signal/implicit.c) */
	double hanging;               /* pagerank */
	double change[SL_SIGNAL_RANKS];
	uint32_t iterations;          /* of conjugate gradients; of pagerank */
	uint32_t done, failed;        /* 1: the solution is found; 1: there is none */
	uint32_t arrived;             /* number of blocks of the running kernel that have finished */
};

/* The vectors of a run; those that its model does not need are NULL. y and at are exchanged after a step. */
struct sl_signal_vectors {
	double *y[SL_SIGNAL_FIELDS];               /* after the last whole step */
	double *at[2][SL_SIGNAL_FIELDS];
	double *slope[SL__SIGNAL_STAGES][SL_SIGNAL_FIELDS];
	double *known, *r, *p, *q;
	double *restart;
	double *part;                              /* [2][sl__signal_blocks()] sums of blocks */
};

/* The number of thread blocks of a kernel that processes all rows. */
static inline uint32_t sl__signal_blocks(const struct sl_signal_matrix *a)
{
	return a->hubs + (a->wide + 7) / 8 + (a->slices + 7) / 8;
}

/* Copies the weights to the device, in one allocation of *bytes. The caller frees *memory, unless it is NULL, also
 * after an error. SL_NOMEM, SL_DEVMEM. */
int sl__signal_matrix_put(struct sl_device *d, const struct sl_signal_table *t, struct sl_signal_matrix *out,
			  char **memory, uint64_t *bytes, struct sl_error *err);

/* Each function below queues one kernel.
 *
 * Stage `stage` of an explicit step (core/signal/explicit.c): computes the slope from the values of the stage, and the
 * values of the next stage. The last stage of an adaptive method computes report->error. known: slope 0 is known. */
cudaError_t sl__signal_stage(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
			     const struct sl__tableau *t, int model, int stage, bool known,
			     const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream);
/* A step by Crank and Nicolson (core/signal/implicit.c). _start: computes the right side of the prediction (solve 0) or
 * the correction (1), and the residual. _iterate: the three parts of an iteration of conjugate gradients; does nothing
 * once report->done is set. */
cudaError_t sl__signal_start(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v, int model, int solve,
			     const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream);
cudaError_t sl__signal_iterate(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
			       const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream);
/* Step number orders->step + k of a stochastic epidemic (core/signal/chance.c): from y to at[0]. */
cudaError_t sl__signal_chance(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v, uint64_t seed, int k,
			      const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream);
/* pagerank (core/signal/rank.c). _begin: at[1][0] = y / degrees, and report->hanging. sl__signal_rank(): an iteration,
 * from y and at[1][0] to at[0][0] and at[1][1]; does nothing once report->done is set. */
cudaError_t sl__signal_rank_begin(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v,
				  struct sl_signal_report *r, cudaStream_t stream);
cudaError_t sl__signal_rank(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v, double damping,
			    const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream);
/* report->sum = sum of y[i], weighted by degrees (1 for rows without entries). */
cudaError_t sl__signal_sum(const struct sl_signal_matrix *a, const double *y, bool weighted, double *part,
			   struct sl_signal_report *r, cudaStream_t stream);

int sl__signal_passes(struct sl_device *d, const struct sl_signal_table *t, struct sl_signal_passes *out,
		      struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
