/* centre.h -- the values of a table on their way from double to single precision. Internal to core/formats/.
 *
 * A float has 24 bits. A column of Unix times would spend nearly all of them on its offset, and times within a minute
 * would become equal. Therefore such a column gets a centre, which is subtracted in double precision before the values
 * become floats. The rule looks at the first rows of the table, as many as SL__CENTRE_VALUES values fill, at evenly
 * spaced ones of them, up to SL__SPREAD_SAMPLE:
 *
 *   m       the median
 *   spread  the distance of the quartiles; if it is 0, the mean distance from m; if this is 0, too, 1
 *   centre  m if |m| > 64 spread, else 0; also 0 if |m| > 10^30, so that no difference overflows
 *
 * Other columns keep their values. The quartiles do not see the outliers (a 0 for a missing time). The rule depends on
 * the values alone, so the same table gets the same centre from any format.
 *
 * Meanwhile the rows are hashed and the range of each column is kept, so that it is known which rows are equal, which
 * are zero and which columns are constant in the file, not after rounding. Takes 8 bytes a row, and 8 bytes a value of
 * the first rows. Functions return 0, SL_NOMEM, or the account's code. One thread. */
#ifndef SL_CENTRE_H
#define SL_CENTRE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/points/examine.h"

#define SL__CENTRE_VALUES (1u << 20)
#define SL__CENTRE_ROWS 16           /* at least so many rows decide */
#define SL__CENTRE_FAR 64
#define SL__CENTRE_MOST 1e30

struct sl__centre {
	uint64_t d;
	bool decided, any;               /* any: a centre is not 0 */
	double *center;                  /* [d] */
	double *low, *high;              /* [d] range of the file's values */
	double *first;                   /* the values that decide, until then */
	uint64_t rows;                   /* in it */
	uint64_t first_room, hash_room;  /* allocated */
	uint64_t *hash;                  /* of each row */
	uint64_t seed[2];
	struct sl_account *account;
	uint64_t booked;                 /* its bytes */
};

/* given: the centre of the table that the rows are compared with, [d], copied; NULL: the rule decides. account: books
 * the memory (core/account.h), borrowed until the end; NULL: no limit. */
int sl__centre_init(struct sl__centre *c, uint64_t d, const double *given, struct sl_account *account);
void sl__centre_finish(struct sl__centre *c);

/* Takes `count` values from number `at` on, row by row, and writes those that can be written already to
 * out[rows][d]. */
int sl__centre_take(struct sl__centre *c, uint64_t at, uint64_t count, const double *value, float *out);
/* The same, column by column, for n rows. */
int sl__centre_take_columns(struct sl__centre *c, uint64_t n, uint64_t at, uint64_t count, const double *value,
			    float *out);
/* After the last value: writes those that are left. */
int sl__centre_end(struct sl__centre *c, float *out);

/* The rule, for values [n][d] that are floats in the file. */
int sl__centre_decide(struct sl__centre *c, uint64_t n, const float *value);
/* Subtracts the centre from values [n][d]. */
void sl__centre_subtract(const struct sl__centre *c, uint64_t n, float *value);

#endif
