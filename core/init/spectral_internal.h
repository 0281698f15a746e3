/* spectral_internal.h -- the fields of struct sl_spectral. spectral.c runs the rounds, ritz.c has the algebra of a
 * block of vectors, spectral_layout.c makes coordinates of the block. */
#ifndef SL_SPECTRAL_INTERNAL_H
#define SL_SPECTRAL_INTERNAL_H

#include "core/init/dense.h"
#include "core/init/spectral.h"

#define COLUMNS SL_SPECTRAL_COLUMNS
#define ROWS 1024         /* of a block */

struct sl__component {
	uint32_t first, count;       /* in order */
	uint32_t block, blocks;
	double value[COLUMNS];       /* Ritz values, descending */
	double mean[COLUMNS];
	sl__small change;            /* the matrix by which the block is multiplied next */
	int rank;                    /* vectors that are not zero */
	bool settled;
};

struct sl__block {
	uint32_t component, from, count;
};

enum sl__phase { SL__FILTER, SL__PRODUCT, SL__DONE };

struct sl_spectral {
	struct sl_walk walk;
	const uint32_t *user;        /* borrowed */
	uint32_t n;
	int dims;
	uint64_t seed;
	float *mass;                 /* [n] */
	uint32_t *order;             /* [n] nodes by component, components by size */
	struct sl__component *component; /* [components] */
	uint32_t components, large;  /* the first `large` have coordinates of their own */
	struct sl__block *block;
	uint32_t blocks;
	double (*part)[COLUMNS * COLUMNS];  /* [blocks] */
	float *x, *before;           /* [n][COLUMNS] */
	float *slope, *shift;        /* [n] */
	enum sl__phase phase;
	int round, k;                /* rounds done; steps of this round's filter done */
	double seconds_per_step;
};

/* ritz.c. Makes x orthonormal by component, weighted by mass, without the constant vector. */
void sl__spectral_orthonormalise(struct sl_spectral *s);
/* Rotates before and x to Ritz vectors; true when all components have settled. */
bool sl__spectral_ritz(struct sl_spectral *s);
double sl__spectral_smallest(const struct sl__component *c);  /* Ritz value */

#endif
