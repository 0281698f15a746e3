/* layout.h -- layouts as files: NumPy array or CSV; and a layout that a user gives.
 *
 * y is [n][dims] in the user's order of nodes. A CSV has a header, "node,x,y,z" as far as
 * there are dimensions and ",label" if the graph has labels; a node without a name is given
 * by its index from 0. Coordinates have the 9 digits that bring back the same float, and a
 * decimal point in every locale. */
#ifndef SL_LAYOUT_H
#define SL_LAYOUT_H

#include <stddef.h>
#include <stdio.h>

#include "core/formats/read.h"
#include "core/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A given layout: a .npy as sl_npy_read() takes it, of 1 to 3 dimensions, or, where raw_dims is not 0, any other bytes
 * as little-endian float32 [n][raw_dims]. Coordinates are from -1e6 to 1e6. *y is [n * dims], the caller's to free. */
int sl_layout_read(float **y, uint32_t *n, int *dims, int raw_dims, const struct sl_read_options *options,
		   struct sl_source *source, struct sl_error *err);

int sl_layout_write_npy(FILE *file, const float *y, uint32_t n, int dims, struct sl_error *err);
/* graph may be NULL: no names, no labels; else it has n nodes. dims: 1 to 3. */
int sl_layout_write_csv(FILE *file, const struct sl_graph *graph, const float *y, uint32_t n, int dims,
			struct sl_error *err);

/* The same into memory, the caller's to free(). */
int sl_layout_npy(void **out, size_t *bytes, const float *y, uint32_t n, int dims, struct sl_error *err);
int sl_layout_csv(char **out, size_t *bytes, const struct sl_graph *graph, const float *y, uint32_t n, int dims,
		  struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
