/* embedding_internal.h -- what embedding.c, growth.c, scale.c, snapshot.c and together.c share. */
#ifndef SL_EMBEDDING_INTERNAL_H
#define SL_EMBEDDING_INTERNAL_H

#include "core/embedding/embedding.h"
#include "core/params.h"

struct sl_affinities;

#define SL__SCALES_MAX 16

/* The search for the scale of the layout that has the least KL divergence (scale.c). Scales are relative to
 * the layout before the search, as logarithms to base sqrt(2). */
struct sl__scale_search {
	int32_t forced;                   /* 1: the search begins at once, because a stop rule found the layout at rest */
	int32_t done;                    /* 1: the search has ended */
	int32_t count;                   /* scales that were measured */
	int32_t again;                   /* 1: an earlier search of this run has ended */
	double now;                      /* the present scale */
	double longest_step;             /* longest step of a node in an iteration since the last measurement; 0: any */
	double scale[SL__SCALES_MAX], objective[SL__SCALES_MAX];
};

struct sl_embedding {
	const struct sl_engine *engine;         /* static */
	const struct sl_affinities *affinities; /* borrowed from the caller */
	struct sl_device_graph *graph;          /* borrowed from the caller */
	struct sl_device_embedding *device;     /* owned; NULL if no node is embedded, and while spectral computes */
	struct sl_spectral *spectral;           /* owned; NULL once the initial layout exists */
	struct sl_params requested;                 /* as requested, with "auto" */
	struct sl_params params;                /* with numbers; iterations: those of the present plan */
	bool grows, early_grows;                /* whether the plan, or its early exaggeration, may be extended */
	int most_iterations;                               /* the most iterations to which the plan is extended */
	double plan_kl;                         /* KL at the end of the plan before this one; NaN in the first */
	int check_at;                            /* iteration of the next check of KL (growth.c); INT_MAX: none */
	double check_kl;                         /* KL at the last check; NaN: there was none in this phase */
	struct sl_trace_point *trace;           /* owned */
	int trace_count, trace_room;
	float *layout;                          /* owned, [n * dims], for snapshots */
	int iteration;
	double seconds;
	double seconds_per_iteration;           /* running estimate, for cutting slices */
	int held_at;                            /* the iteration at which `held` was told last; -1: none */
	double best_kl;                         /* for kl_patience */
	int best_iteration;
	enum sl_stop stop;
	struct sl__scale_search search;
};

/* Starts the first plan, if e->requested has "auto" iterations (growth.c). */
void sl__embedding_growth_begin(struct sl_embedding *e);
/* look_due: true if KL is to be checked before the next iteration. look: checks it, and sets how long this phase
 * lasts. */
bool sl__embedding_check_due(const struct sl_embedding *e);
int sl__embedding_check(struct sl_embedding *e, struct sl_error *err);
int sl__embedding_tenth_beyond(int iteration);
/* True at the iteration of pause_at, until that was reported. */
static inline bool sl__embedding_held(const struct sl_embedding *e)
{
	return e->params.pause_at > 0 && e->iteration == e->params.pause_at && e->held_at != e->iteration;
}
/* At the end of the plan: extends it if KL fell enough, else ends the run. */
void sl__embedding_plan_end(struct sl_embedding *e);
/* The first iteration with late exaggeration; and whether the run is before it. */
static inline int sl__embedding_late_from(const struct sl_params *p)
{
	return p->exaggeration_iterations + p->exaggeration_decay;
}
bool sl__embedding_early(const struct sl_embedding *e);
struct sl_step sl__embedding_step(const struct sl_embedding *e);
/* The number of iterations until the step changes or a measurement is due, but no more than fit into left_ms. */
int sl__embedding_stretch(const struct sl_embedding *e, double left_ms);
/* Records that k iterations were run and took so many seconds. */
void sl__embedding_account(struct sl_embedding *e, int k, double took);
/* trace_due: true if the trace needs a point at this iteration. trace_now: measures and adds it. trace_take: adds a
 * measurement, and applies the stop rules. */
bool sl__embedding_trace_due(const struct sl_embedding *e);
int sl__embedding_trace_now(struct sl_embedding *e, struct sl_error *err);
int sl__embedding_trace_take(struct sl_embedding *e, const struct sl_measure *m, struct sl_error *err);
/* scale_due: true if a step of the search for the scale comes before the next iteration. scale_step: measures one
 * scale, then changes to the next one or, at the end, to the best. */
bool sl__embedding_scale_due(const struct sl_embedding *e);
double sl__embedding_longest_step(const struct sl_embedding *e, double z);
int sl__embedding_scale_step(struct sl_embedding *e, struct sl_error *err);
/* Repeats the search before the next iteration, if there was one. */
void sl__embedding_scale_again(struct sl_embedding *e);
/* The iteration before which the search begins; INT_MAX: never. */
int sl__embedding_scale_at(const struct sl_params *p);
void sl__embedding_report(struct sl_embedding *e, struct sl_status *s);

#endif
