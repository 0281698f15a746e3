/* signal_internal.h -- between the files of signals.
 *
 * A step of time is a sequence of passes over the blocks of rows. In a pass each block depends only on what was there
 * before the pass, and sums are added up in the order of the blocks; so a caller may get its turn back between two
 * blocks, and neither that nor threads change a byte. The values before the step stay until it is done: a state is
 * saved as of the last whole step. */
#ifndef SL_SIGNAL_INTERNAL_H
#define SL_SIGNAL_INTERNAL_H

#include "core/signal/coupling.h"
#include "core/signal/passes.h"
#include "core/signal/signal.h"

struct sl__integrator {
	int (*prepare)(struct sl_signal *s);                          /* memory. SL_NOMEM */
	void (*begin)(struct sl_signal *s);                           /* a step of s->now_h */
	void (*pass)(struct sl_signal *s, uint32_t block);            /* any thread */
	int (*passed)(struct sl_signal *s, struct sl_error *err);     /* all blocks are done; sets s->stepped at the end */
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
	double hanging;                /* pagerank: what nodes without edges have */
	int recorded;
	float *snapshot;               /* [params.snapshots][n][fields], the user's order */
	float *snapshot_time;          /* [params.snapshots] */

	/* the step under way */
	bool stepping, stepped, lands;
	uint32_t block;                /* of the pass: those before it are done */
	double now_h, lands_at;
	struct sl__rates rates;
	double block_ms;               /* what a block takes */

	/* explicit */
	int stage;
	bool first_known;              /* the first slope is that of y */
	double *slope[SL__SIGNAL_STAGES][SL_SIGNAL_FIELDS];
	double *at[2][SL_SIGNAL_FIELDS];  /* values at a stage, and at the next one */
	/* implicit; pagerank: at[0] is the next iterate, at[1] both, divided by degrees */
	int solve;                     /* 0: the prediction; 1: the correction */
	int cg;                        /* which pass of conjugate gradients */
	int cg_steps;
	double theta, rz, bz, alpha, beta;
	double *known, *r, *p, *q;     /* [n]: (M - theta K) u; residual; direction; (M + theta K) p */
	double *sum[3];                /* sums and maxima by block; the last one is that of sl_signal_level() */

	/* device.c: a device computes, if passes.arg is not NULL */
	struct sl_signal_passes passes;
	bool stale;                    /* y is on the device alone */
	int pause_at;                  /* a step that no advance goes beyond */
	double step_ms;                /* what a step takes there */
	int failed;                    /* a code: values could not be fetched, which the next advance tells */
	struct sl_error failure;
};

static inline uint32_t sl__signal_blocks(const struct sl_signal *s)
{
	return s->c->blocks;
}

double sl__signal_total(const struct sl_signal *s, int which);    /* of sum[which] */
void sl__signal_free_scratch(struct sl_signal *s);                /* what the processor's passes need beside y */
double *sl__signal_array(const struct sl_signal *s);              /* [n] zeros; NULL: no memory */
void sl__signal_rates(const struct sl_signal_params *p, struct sl__rates *out);  /* without a stimulus;
		"auto" by model */
/* start.c: y and what belongs to it before the first step. SL_BADPARAM, SL_NOMEM. */
int sl__signal_begin(struct sl_signal *s, const float *initial, struct sl_error *err);
/* signal.c: a step of time begins; it has ended */
void sl__signal_begin_step(struct sl_signal *s);
void sl__signal_end_step(struct sl_signal *s);
/* The steps from now on, s->now_h each, that none but the last of which ends at a moment that is given; `most` at
 * most. */
int sl__signal_equal_steps(const struct sl_signal *s, int most);
/* explicit.c: the largest error of a step is known. s->stepped if the step stands, else it is to be tried again with
 * another s->now_h. SL_BADDATA. */
int sl__signal_judge(struct sl_signal *s, double error, struct sl_error *err);
/* implicit.c: that there is no solution. */
int sl__signal_unsolved(const struct sl_signal *s, struct sl_error *err);
/* device.c */
int sl__signal_device_advance(struct sl_signal *s, double ms, struct sl_error *err);
int sl__signal_fetch(struct sl_signal *s, struct sl_error *err);  /* y, if it is stale */
double sl__signal_device_sum(struct sl_signal *s);                /* of sl_signal_level(); NAN: the device is lost */
/* start.c: the step to begin with, and what is stable */
double sl__signal_stable(const struct sl_signal *s);              /* the longest step; INFINITY: any */
double sl__signal_step(const struct sl_signal *s);                /* the one that "auto" stands for */
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
