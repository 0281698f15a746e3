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
	int32_t asked;                   /* it is due whatever the iteration: a stop rule has found the layout at rest */
	int32_t done;                    /* the search has ended */
	int32_t count;                   /* scales that were measured */
	int32_t unused;
	double now;                      /* the scale in force */
	double longest_step;             /* of a node in an iteration, since it was last measured; 0: any */
	double scale[SL__SCALES_MAX], objective[SL__SCALES_MAX];
};

struct sl_embedding {
	const struct sl_engine *engine;         /* static */
	const struct sl_affinities *affinities; /* borrowed from the caller */
	struct sl_device_graph *graph;          /* borrowed from the caller */
	struct sl_device_embedding *device;     /* owned; NULL when no node is embedded, and while spectral is at work */
	struct sl_spectral *spectral;           /* owned; NULL when the initial layout is there */
	struct sl_params asked;                 /* with "auto" */
	struct sl_params params;                /* iterations: the plan's, also when it grows */
	bool grows, early_grows;                /* the plan; its exaggeration */
	int most;                               /* iterations up to which it grows */
	double plan_kl;                         /* at the end of the plan before this one; NaN in the first */
	int look_at;                            /* the iteration of the next look (growth.c); INT_MAX: none */
	double look_kl;                         /* what the last one found; NaN: there was none in this phase */
	struct sl_trace_point *trace;           /* owned */
	int trace_count, trace_room;
	float *layout;                          /* owned, [n * dims], for snapshots */
	int iteration;
	double seconds;
	double seconds_per_iteration;           /* running estimate, for cutting slices */
	double best_kl;                         /* for kl_patience */
	int best_iteration;
	enum sl_stop stop;
	struct sl__scale_search search;
};

/* From here on the run is as long as e->asked says, where that is "auto" (growth.c). */
void sl__embedding_growth_begin(struct sl_embedding *e);
/* Is the divergence to be looked at before the next iteration? Looks, and sets how long this phase lasts. */
bool sl__embedding_look_due(const struct sl_embedding *e);
int sl__embedding_look(struct sl_embedding *e, struct sl_error *err);
int sl__embedding_tenth_beyond(int iteration);
/* At the end of the plan: makes it longer, if that is worth it, or ends the run. */
void sl__embedding_plan_end(struct sl_embedding *e);
double sl__embedding_now(void);  /* seconds, of a clock that only goes forward */
bool sl__embedding_early(const struct sl_embedding *e);
struct sl_step sl__embedding_step(const struct sl_embedding *e);
/* Iterations until something changes or is looked at, as many as fit into left_ms. */
int sl__embedding_stretch(const struct sl_embedding *e, double left_ms);
/* k iterations have been run and took so many seconds. */
void sl__embedding_account(struct sl_embedding *e, int k, double took);
/* Is a point of the trace due where it stands? Measures it; or takes a measure, with what the stop rules make of it. */
bool sl__embedding_trace_due(const struct sl_embedding *e);
int sl__embedding_trace_now(struct sl_embedding *e, struct sl_error *err);
int sl__embedding_trace_take(struct sl_embedding *e, const struct sl_measure *m, struct sl_error *err);
/* Is the layout's scale to be found before the next iteration? One step of the search: measures one scale, and goes to
 * the next one or, at the end, to the best. */
bool sl__embedding_scale_due(const struct sl_embedding *e);
double sl__embedding_longest_step(const struct sl_embedding *e, double z);
int sl__embedding_scale_step(struct sl_embedding *e, struct sl_error *err);
/* The iteration before which that happens; INT_MAX: never. */
int sl__embedding_scale_at(const struct sl_params *p);
void sl__embedding_report(const struct sl_embedding *e, struct sl_status *s);

#endif
