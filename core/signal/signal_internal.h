/* signal_internal.h -- the fields of a run, and functions that the files of core/signal/ share.
 *
 * A step in time is a sequence of passes over the blocks of rows. In a pass each block depends only on values from
 * before the pass, and sums are added in the order of the blocks. So an advance may return between two blocks, and
 * neither that nor the number of threads changes a byte. The values before the step are kept until it ends: a saved
 * state is that of the last whole step. */
#ifndef SL_SIGNAL_INTERNAL_H
#define SL_SIGNAL_INTERNAL_H

#include "core/signal/coupling.h"
#include "core/signal/passes.h"
#include "core/signal/signal.h"

struct sl__integrator {
	int (*prepare)(struct sl_signal *s);                          /* allocates memory; 0 or SL_NOMEM */
	void (*begin)(struct sl_signal *s);                           /* begins a step of s->now_h */
	void (*pass)(struct sl_signal *s, uint32_t block);            /* computes a block; any thread */
	int (*passed)(struct sl_signal *s, struct sl_error *err);     /* ends a pass; sets s->stepped after the last */
};
extern const struct sl__integrator sl__signal_explicit, sl__signal_implicit, sl__signal_rank, sl__signal_chance;
extern const struct sl__tableau sl__signal_tableaus[];            /* by enum sl_signal_integrator */

struct sl_signal {
	struct sl_coupling *c;         /* owned */
	struct sl_signal_params params;
	const struct sl__integrator *integrator;
	const struct sl__tableau *tableau;  /* explicit */
	uint32_t n;
	int fields;
	double *y[SL_SIGNAL_FIELDS];   /* [n] each: after the last whole step */
	double *restart;               /* pagerank: r [n] */
	uint8_t *stimulated;           /* [n], or NULL */

	/* the run, as of the last whole step */
	double time, h;                /* h: the step proposed next */
	int step;
	bool converged, done;
	double change;                 /* pagerank */
	double dangling;                /* pagerank: sum of x over nodes without edges */
	int recorded;
	float *snapshot;               /* [params.snapshots][n][fields], the user's order */
	float *snapshot_time;          /* [params.snapshots] */

	/* the present step */
	bool stepping, stepped, stops;  /* stops: the step ends at the given time stop_at */
	uint32_t block;                /* next block of the pass */
	double now_h, stop_at;
	struct sl__rates rates;
	double block_ms;               /* duration of a block */

	/* explicit */
	int stage;
	bool first_known;              /* the first slope is that of y */
	double *slope[SL__SIGNAL_STAGES][SL_SIGNAL_FIELDS];
	double *at[2][SL_SIGNAL_FIELDS];  /* values at a stage, and at the next one */
	/* implicit; pagerank: at[0] is the next iterate, at[1] both, divided by degrees */
	int solve;                     /* 0: the prediction; 1: the correction */
	int cg;                        /* number of the pass of conjugate gradients */
	int cg_steps;
	double theta, rz, bz, alpha, beta;
	double *known, *r, *p, *q;     /* [n]: (M - theta K) u; residual; direction; (M + theta K) p */
	double *sum[3];                /* sums and maxima by block; the last one is that of sl_signal_level() */

	/* device.c: a device computes if passes.arg is not NULL */
	struct sl_signal_passes passes;
	bool stale;                    /* true: the newest values are only on the device, not in y */
	int pause_at;                  /* step at which an advance ends at the latest */
	double step_ms;                /* duration of a step on the device */
	int failed;                    /* code of a failed fetch of values, which the next advance returns */
	struct sl_error failure;
};

static inline uint32_t sl__signal_blocks(const struct sl_signal *s)
{
	return s->c->blocks;
}

double sl__signal_total(const struct sl_signal *s, int which);    /* of sum[which] */
void sl__signal_free_scratch(struct sl_signal *s);                /* frees memory of the processor's passes, not y */
double *sl__signal_array(const struct sl_signal *s);              /* [n] zeros; NULL: no memory */
/* The rates without a stimulus; "auto" is replaced by the model's values. */
void sl__signal_rates(const struct sl_signal_params *p, struct sl__rates *out);
/* start.c: sets y before the first step. SL_BADPARAM, SL_NOMEM. */
int sl__signal_begin(struct sl_signal *s, const float *initial, struct sl_error *err);
/* signal.c: begin and end a step in time. */
void sl__signal_begin_step(struct sl_signal *s);
void sl__signal_end_step(struct sl_signal *s);
/* The number of steps of s->now_h up to the next given time (a snapshot, or a stimulus that begins or ends), at most
 * max_steps. */
int sl__signal_equal_steps(const struct sl_signal *s, int max_steps);
/* explicit.c: decides by the largest error of a step. Sets s->stepped if the step is accepted; otherwise s->now_h is
 * the step to try next. SL_BADDATA. */
int sl__signal_judge(struct sl_signal *s, double error, struct sl_error *err);
/* implicit.c: the error that conjugate gradients found no solution. */
int sl__signal_unsolved(const struct sl_signal *s, struct sl_error *err);
/* device.c */
int sl__signal_device_advance(struct sl_signal *s, double ms, struct sl_error *err);
int sl__signal_fetch(struct sl_signal *s, struct sl_error *err);  /* y, if it is stale */
double sl__signal_device_sum(struct sl_signal *s);                /* of sl_signal_level(); NAN: the device is lost */
/* start.c */
double sl__signal_stable(const struct sl_signal *s);              /* the longest stable step; INFINITY: any */
double sl__signal_step(const struct sl_signal *s);                /* the first step if the user chose "auto" */
static inline double sl__signal_moment(const struct sl_signal *s, int k)  /* of snapshot k, from 1 */
{
	return k == s->params.snapshots ? s->params.duration : s->params.duration * k / s->params.snapshots;
}

/* c_i: the sum of c_i u_i is conserved. */
static inline double sl__capacity(const struct sl_coupling *c, bool random_walk, uint32_t i)
{
	return random_walk && c->degree[i] > 0 ? c->degree[i] : 1;
}

#endif
