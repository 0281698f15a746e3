/* layout.h -- writes layouts as files, NumPy arrays or CSV, and reads a layout that a user gives.
 *
 * y is [n][dims] in the user's order of nodes. The header of a CSV is "node,x,y,z", shortened to the number of
 * dimensions, and ",label" if the graph has labels. A node without a name is written as its index, from 0. Coordinates
 * have 9 digits, so that they parse to the same float, and a decimal point in every locale. */
#ifndef SL_LAYOUT_H
#define SL_LAYOUT_H

#include <stddef.h>
#include <stdio.h>

#include "core/formats/read.h"
#include "core/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a layout: a .npy file (see sl_npy_read()) of 1 to 3 dimensions or, if raw_dims is not 0, any other bytes as
 * little-endian float32 [n][raw_dims]. Coordinates must lie in -1e6 .. 1e6. The caller frees *y [n * dims] with
 * free(). */
int sl_layout_read(float **y, uint32_t *n, int *dims, int raw_dims, const struct sl_read_options *options,
		   struct sl_source *source, struct sl_error *err);

int sl_layout_write_npy(FILE *file, const float *y, uint32_t n, int dims, struct sl_error *err);
/* graph may be NULL: no names, no labels; else it has n nodes. dims: 1 to 3. */
int sl_layout_write_csv(FILE *file, const struct sl_graph *graph, const float *y, uint32_t n, int dims,
			struct sl_error *err);

/* The same into memory; the caller frees *out with free(). */
int sl_layout_npy(void **out, size_t *bytes, const float *y, uint32_t n, int dims, struct sl_error *err);
int sl_layout_csv(char **out, size_t *bytes, const struct sl_graph *graph, const float *y, uint32_t n, int dims,
		  struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
