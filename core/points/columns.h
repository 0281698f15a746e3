/* columns.h -- products of tall matrices and orthonormal columns, by all threads. Internal to core/points/.
 *
 * A matrix has d rows, which are `pitch` numbers apart. Functions return 0 or SL_NOMEM. */
#ifndef SL_POINTS_COLUMNS_H
#define SL_POINTS_COLUMNS_H

#include <stdint.h>

#define SL__STRIP 16   /* columns of a tile */
#define SL__ROWS 256   /* rows that are packed at a time */

/* tile[SL__STRIP][SL__STRIP] += sum_r s[r]' t[r], for strips [SL__ROWS][SL__STRIP]. */
void sl__add_tile(const double *s, const double *t, double *tile);

/* out[p][q] = v' w, for p columns of v and q of w. */
int sl__products(const double *v, uint32_t p, const double *w, uint32_t q, uint32_t pitch, uint32_t d, double *out);

/* Adds to q columns of out the combinations v share of p columns, for share[p][q]. */
int sl__add_combinations(const double *v, uint32_t p, uint32_t pitch, uint32_t d, const double *share, uint32_t q,
			 double *out, uint32_t out_pitch);

/* Orthonormalises v[d][c], each column on those before it, twice. A column that depends on those before it becomes
 * zero. Also SL_CANCELLED. */
int sl__orthonormalise(double *v, uint32_t c, uint32_t d, const int *cancel);

#endif
