/* published.h -- four published methods of Sammon's mapping on a GPU, for bench_sammon: forces, their derivatives and
 * the stress of all points in 2-D, each pair computed twice, in single precision.
 *
 *   point   one thread per point, which loops over the others; distances are computed from the coordinates
 *   pair    one thread per pair; distances are read from a stored matrix, sums are atomic
 *   block   one block per point, whose threads share the others; distances are computed from the coordinates
 *   tiles   as point, with the coordinates of blocks of points in shared memory */
#ifndef TEST_PUBLISHED_H
#define TEST_PUBLISHED_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PUBLISHED_POINT, PUBLISHED_PAIR, PUBLISHED_BLOCK, PUBLISHED_TILES, PUBLISHED_WAYS };
#define PUBLISHED_MOST 96u  /* columns, for tiles */

struct published;

/* Points [n][d], copied. NULL: no GPU, or no memory; why was printed. */
struct published *published_open(const float *x, uint32_t n, uint32_t d);
void published_close(struct published *p);  /* NULL is fine */
/* `repeat` passes at the layout y [n][2]: milliseconds of one, and sum w (D - d)^2 with w = 1 / D. The matrix of
 * distances is made before. False: it does not fit, or there are too many columns for tiles. */
bool published_pass(struct published *p, int way, const float *y, int repeat, double *ms, double *sum);

#ifdef __cplusplus
}
#endif
#endif
