/* examine.h -- properties of a table of points that are reported to its owner. Internal to core/. */
#ifndef SL_POINTS_EXAMINE_H
#define SL_POINTS_EXAMINE_H

#include "core/points/points.h"

struct sl_account;

/* What the file has, if that is more than float32 can hold. */
struct sl__exact {
	const uint64_t *hash;      /* [n] of each row, by sl__row_hash() */
	uint64_t zero;             /* the hash of a row of zeros */
	const double *low, *high;  /* [d] the range of each column */
};

/* Fills report.duplicates, zero_rows and constant_columns, and merged of p; the reader fills not_finite. exact: NULL if
 * the values of p are those of the file. One pass over the values with all threads; needs 12 bytes a row meanwhile,
 * booked in account (NULL: no limit). Returns 0 or SL_NOMEM. */
int sl__points_examine(struct sl_points *p, const struct sl__exact *exact, struct sl_account *account);

/* Adds the next value of a row to its hash; key: odd. 0 and -0 count as equal. */
static inline uint64_t sl__row_hash(uint64_t h, double x, uint64_t key)
{
	uint64_t bits;
	x += 0.0;
	__builtin_memcpy(&bits, &x, sizeof bits);
	h = (h ^ bits) * key;
	return h ^ h >> 32;
}

#endif
