/* sammon_internal.h -- one run, between the files of core/sammon/.
 *
 * Points are the distinct rows of the input, in their order, or at random where not all pairs count. There is room for
 * whole blocks of them; what is beyond the last one has mass 0 and lies at the origin. Of a graph they are the nodes
 * that have edges, and what a pass goes through is in `terms`: from `panel` to `rounded`, nothing is used. */
#ifndef SL_SAMMON_INTERNAL_H
#define SL_SAMMON_INTERNAL_H

#include <math.h>
#include <stddef.h>

#include "core/sammon/passes.h"
#include "core/sammon/sammon.h"
#include "core/sammon/terms.h"
#include "core/sammon/tile.h"

#define SL__SAMMON_DIMS 3
#define SL__SAMMON_WINDOW 10

struct sl__sammon_keyed {
	uint64_t key;
	uint32_t number;
};

/* One of the layouts that a run has at hand, all [dims][room]. */
struct sl__sammon_place {
	double *y;
	double *force, *curve;   /* of a pass over the pairs (tile.h); curve NULL: not needed */
	double stress;           /* over all pairs, as a share; NaN: not known yet */
};

struct sl_sammon {
	struct sl_sammon_params params;  /* without automatic values, but for step */
	const struct sl__sammon_kernels *kernels;
	struct sl__terms *terms; /* of a graph; NULL: of points */
	uint32_t rows, d;        /* of the input */
	uint32_t n;              /* points */
	uint32_t side, blocks;   /* points of a block; blocks */
	size_t room;             /* blocks * side */
	uint32_t *place;         /* [rows] point of each row */
	double scale;            /* coordinates are this times those of the input; a power of 2 */
	bool differences;        /* how distances are computed */
	float *panel;            /* [room / LANES][d][LANES] */
	float *norm, *mass;      /* [room] */

	/* a pass: tiles of rounds, in which each block is in one tile at most */
	uint32_t rounds;
	struct sl__sammon_keyed *keyed;  /* [all rounds] for draws */
	bool sampled;            /* not all: another draw for each pass */
	uint32_t *turn;          /* [rounds - 1] the round of the tournament that each but the first is */
	uint32_t round, tile;    /* the next one */
	uint32_t chunk;          /* tiles that are a small part of a slice */
	uint64_t tiles;          /* of all rounds */
	uint64_t slots;          /* tiles whose distances are kept: the first ones */
	float *kept;             /* [slots][side][side] */
	unsigned char *known;    /* [slots] */
	double *tile_sum;        /* [2][blocks] of the tiles of a round: stress, and sum w D^2 */
	float *rounded;          /* [dims][room] the layout of the pass */
	double sum;              /* of w (D - d)^2 */

	/* a device does the pass, where passes.arg is not NULL: round and tile stay 0 */
	struct sl_sammon_passes passes;
	uint32_t *partner;       /* sampled: [blocks][rounds] of the pass, as passes.begin() takes it */
	bool begun;              /* the device has the layout of the pass */
	uint32_t unit;           /* the next one */
	struct sl_error failure; /* why it could not */

	double total;            /* sum of w D^2, once there was a pass */
	double *weight;          /* [room] sum of w over the others, in the same way */
	struct sl__sammon_place best, trial;  /* the least stress so far; the one that the pass is of */
	double step;             /* that led to the trial one; automatic: adapted */
	bool adapted;            /* the step has a value */
	double recent[2 * SL__SAMMON_WINDOW];  /* sampled, graphs: stresses of the newest passes, in a ring */
	int refused;             /* trials in a row that were taken back */
	struct sl_sammon_status status;
};

/* prepare.c: points, start, memory; params are there. start as of sl_sammon_create(). */
int sl__sammon_prepare(struct sl_sammon *m, const struct sl_points *points, const float *start, struct sl_error *err);
int sl__sammon_prepare_graph(struct sl_sammon *m, const struct sl_graph *g, struct sl_error *err);
int sl__sammon_prepare_terms(struct sl_sammon *m);   /* terms are there. SL_NOMEM */
/* pass.c */
void sl__sammon_draw(struct sl_sammon *m);           /* prepare.c: turn[], of the pass to come */
void sl__sammon_plan(struct sl_sammon *m);           /* tiles, slots; of the rounds that there are */
void sl__sammon_pass_begin(struct sl_sammon *m);     /* of trial.y */
void sl__sammon_clear(const struct sl_sammon *m);    /* force and curve of the trial; a device writes them at the end */
/* Goes on by `count` tiles at most; true: the pass is over, and trial and sum are there. SL_NOMEM in *code. */
bool sl__sammon_pass(struct sl_sammon *m, uint32_t count, int *code);
/* device.c: the same by the device. Codes of the passes in *code; why, in m->failure. */
bool sl__sammon_device_pass(struct sl_sammon *m, uint32_t count, int *code);
/* optimise.c: after a pass: takes the trial layout over or back, and makes the next one. */
void sl__sammon_judge(struct sl_sammon *m);
void sl__sammon_try(struct sl_sammon *m);            /* the trial layout from the best one, and its pass begins */

/* The pass is to find the sums of weights, too. */
static inline bool sl__sammon_weighs(const struct sl_sammon *m)
{
	return m->sampled || isnan(m->best.stress);
}

static inline size_t sl__sammon_values(const struct sl_sammon *m)
{
	return m->room * (size_t)m->params.dims;
}

#endif
