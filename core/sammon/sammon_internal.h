/* sammon_internal.h -- the fields of a run, and functions that the files of core/sammon/ share.
 *
 * The points are the distinct rows of the input, in their order or, if not all pairs count, in random order. Arrays
 * have room for whole blocks; the padding has mass 0 and lies at the origin. For a graph the points are the nodes with
 * edges, `terms` holds the pairs, and the fields from `panel` to `rounded` are not used. */
#ifndef SL_SAMMON_INTERNAL_H
#define SL_SAMMON_INTERNAL_H

#include <math.h>
#include <stddef.h>

#include "core/sammon/passes.h"
#include "core/sammon/sammon.h"
#include "core/sammon/terms.h"
#include "core/sammon/kernels/tile.h"

#define SL__SAMMON_DIMS 3
#define SL__SAMMON_WINDOW 10

struct sl__sammon_keyed {
	uint64_t key;
	uint32_t number;
};

/* A layout of the run with its forces; arrays are [dims][room]. */
struct sl__sammon_place {
	double *y;
	double *force, *curve;   /* sums of a pass over the pairs (tile.h); curve NULL: not needed */
	double stress;           /* over all pairs, as a share; NaN: not known yet */
};

struct sl_sammon {
	struct sl_sammon_params params;  /* automatic values are replaced, except that of step */
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

	/* A pass consists of rounds, a round of tiles. A block is in at most one tile of a round. */
	uint32_t rounds;
	struct sl__sammon_keyed *keyed;  /* [all rounds] for draws */
	bool sampled;            /* true: a pass has only some of the rounds, drawn for each pass */
	uint32_t *turn;          /* [rounds - 1] number, in the round-robin schedule, of each round but the first */
	uint32_t round, tile;    /* the next one */
	uint32_t chunk;          /* number of tiles that take a small part of a slice */
	uint64_t tiles;          /* of all rounds */
	uint64_t slots;          /* number of tiles whose distances are stored: the first ones */
	float *kept;             /* [slots][side][side] */
	unsigned char *known;    /* [slots] 1: the distances are stored */
	double *tile_sum;        /* [2][blocks] of the tiles of a round: stress, and sum w D^2 */
	float *rounded;          /* [dims][room] the layout of the pass */
	double sum;              /* of w (D - d)^2 */

	/* the device that does the passes; passes.arg NULL: none. With a device, round and tile stay 0 */
	struct sl_sammon_passes passes;
	uint32_t *partner;       /* sampled: [blocks][rounds] of the pass, as passes.begin() takes it */
	bool begun;              /* begin() was called for this pass */
	uint32_t unit;           /* the next unit of the pass */
	struct sl_error failure; /* error of the device */

	double total;            /* sum of w D^2; known after the first pass */
	double *weight;          /* [room] sum of w over the other points; known after the first pass */
	struct sl__sammon_place best, trial;  /* the layout of the least stress so far; the layout of the present pass */
	double step;             /* the step that led to `trial`; automatic: adapted */
	bool adapted;            /* true: `step` has a value */
	double recent[2 * SL__SAMMON_WINDOW];  /* sampled, graphs: stresses of the newest passes, in a ring */
	int refused;             /* number of trials in a row that were undone */
	struct sl_sammon_status status;
};

/* prepare.c: points, start, memory; params are there. start as of sl_sammon_create(). */
int sl__sammon_prepare(struct sl_sammon *m, const struct sl_points *points, const float *start, struct sl_error *err);
int sl__sammon_prepare_graph(struct sl_sammon *m, const struct sl_graph *g, struct sl_error *err);
int sl__sammon_prepare_terms(struct sl_sammon *m);   /* terms are there. SL_NOMEM */
/* pass.c */
/* rounds.c */
int sl__sammon_by_key(const void *a, const void *b);  /* for qsort() of struct sl__sammon_keyed */
void sl__sammon_shuffle(struct sl__sammon_keyed *keyed, uint32_t count, uint64_t seed);
uint32_t sl__sammon_rounds(const struct sl_sammon *m);  /* of a pass over all pairs */
uint32_t sl__sammon_tiles(const struct sl_sammon *m, uint32_t round);
/* The tile's number among the tiles of all rounds. */
uint64_t sl__sammon_tile_number(const struct sl_sammon *m, uint32_t round, uint32_t tile);
/* The blocks of a tile. False: the tile is empty, since with an odd number of blocks one has no partner in a round. */
bool sl__sammon_blocks(const struct sl_sammon *m, uint32_t round, uint32_t tile, uint32_t *a, uint32_t *b);
void sl__sammon_draw(struct sl_sammon *m);           /* turn[], of the pass to come */
void sl__sammon_plan(struct sl_sammon *m);           /* sets tiles and slots from rounds */
void sl__sammon_pass_begin(struct sl_sammon *m);     /* begins a pass over trial.y */
void sl__sammon_clear(const struct sl_sammon *m);    /* force and curve of the trial; a device writes them at the end */
/* Computes at most `count` tiles; true: the pass has ended, and trial and sum are complete. *code: 0 or SL_NOMEM. */
bool sl__sammon_pass(struct sl_sammon *m, uint32_t count, int *code);
/* device.c: the same on the device. *code: 0, or a code of the passes with the error in m->failure. */
bool sl__sammon_device_pass(struct sl_sammon *m, uint32_t count, int *code);
/* optimise.c: after a pass, accepts or undoes the trial layout, and makes the next one. */
void sl__sammon_judge(struct sl_sammon *m);
void sl__sammon_try(struct sl_sammon *m);            /* makes the trial layout from the best one, and begins its pass */

/* True if the pass must also compute the sums of weights. */
static inline bool sl__sammon_weighs(const struct sl_sammon *m)
{
	return m->sampled || isnan(m->best.stress);
}

static inline size_t sl__sammon_values(const struct sl_sammon *m)
{
	return m->room * (size_t)m->params.dims;
}

#endif
