/* grid_internal.h -- functions that the files of core/grid/ share. */
#ifndef SL_GRID_INTERNAL_H
#define SL_GRID_INTERNAL_H

#include "core/grid/grid.h"

#define PI 3.14159265358979323846
#define SL__GAUSS 16

/* Gauss-Legendre: node and weight i of SL__GAUSS, on [-1, 1]. */
double sl__gauss_at(int i);
double sl__gauss_weight(int i);

/* Fourier transform of 1 / (1 + r^2) in d dimensions, frequency k > 0. */
double sl__kernel_transform(int dims, double k);

/* out [count + 1]: logarithms of the Fourier transform of (1 + r^2)^-exponent (0: of exponent 1) at equally spaced
 * frequencies from `from` > 0 to `to`, at most four times as high. They are interpolated. */
void sl__log_transforms(int dims, double exponent, double from, double to, int count, double *out);

/* The number of nodes a side that points must not occupy: the width of the window, and one for rounding. */
static inline int sl__grid_margin(int window) { return window + 1; }

#endif
