/* dense.h -- symmetric matrices of the size of a block of vectors (8 x 8). */
#ifndef SL_DENSE_H
#define SL_DENSE_H

#include "core/init/spectral.h"

#define SL__COLUMNS SL_SPECTRAL_COLUMNS

typedef double sl__small[SL__COLUMNS][SL__COLUMNS];

/* Decomposes a = vector diag(value) vector', values descending, eigenvectors in the columns, to rounding; overwrites a.
 * Jacobi's method (Golub, Van Loan, Matrix Computations, section 8.5). */
void sl__small_eigen(sl__small a, double value[SL__COLUMNS], sl__small vector);

#endif
