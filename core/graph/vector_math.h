/* vector_math.h -- exponentials and logarithms of whole arrays, in double precision.
 * Internal to core/graph/. */
#ifndef SL_VECTOR_MATH_H
#define SL_VECTOR_MATH_H

#include <stdint.h>

/* l[i] = log(w[i]) */
void sl__log_float(const float *w, uint64_t k, double *l);

/* sum = sum_i exp(gamma l_i), slope = sum_i l_i exp(gamma l_i) */
void sl__sum_exp(const double *l, uint64_t k, double gamma, double *sum, double *slope);

/* x[i] = exp(x[i]) */
void sl__exp_in_place(double *x, uint64_t k);

/* sum_i p_i log p_i */
double sl__sum_p_log_p(const float *p, uint64_t k);

#endif
