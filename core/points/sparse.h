/* sparse.h -- a table of points that is mostly zeros, such as counts of genes in cells, and its projection.
 *
 * The rest of the core takes dense points only; neighbours are searched among the projected points. sl_sparse_pca()
 * finds the axes by a truncated singular value decomposition of the centred matrix X - 1 m' (m: the means of the
 * columns) without storing that matrix: (X - 1 m') v = X v - 1 (m' v). So the axes are those of sl_points_pca() on the
 * dense table, and new points are projected on them in the same way. */
#ifndef SL_SPARSE_H
#define SL_SPARSE_H

#include "core/points/points.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_account;

struct sl_sparse {
	uint32_t n, d;      /* rows, columns */
	uint64_t *start;    /* [n + 1] row i has the entries start[i] .. start[i + 1] - 1 of column and value */
	uint32_t *column;   /* ascending within a row, each once */
	float *value;       /* finite */
	struct sl_account *account;  /* books what is made of the table (core/account.h), borrowed; NULL: no limit */
};

/* Makes a table of `count` entries in any order. Values with the same row and column are added, in their order. Takes
 * row, column and value, all malloc'd and [count], also on failure. account: books the other memory (core/account.h);
 * NULL: no limit. 0 or SL_NOMEM. */
int sl_sparse_create(struct sl_sparse **out, uint32_t n, uint32_t d, uint64_t count, uint32_t *row, uint32_t *column,
		     float *value, struct sl_account *account);
/* NULL is fine. */
void sl_sparse_destroy(struct sl_sparse *s);

/* The same as sl_points_pca() of the dense table; the result does not depend on the number of threads. The report
 * counts rows and columns without entries. */
int sl_sparse_pca(struct sl_points **out, const struct sl_sparse *s, uint32_t to, double *kept, const int *cancel,
		  struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
