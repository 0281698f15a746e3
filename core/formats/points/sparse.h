/* sparse.h -- entries of a sparse table of points while it is being read. Internal to core/formats/. */
#ifndef SL_FORMATS_SPARSE_H
#define SL_FORMATS_SPARSE_H

#include "core/formats/read_points.h"

struct sl__entries {
	const struct sl_input_options *options;
	struct sl_source *source;
	struct sl_account *account;  /* the source's, borrowed; NULL: none */
	struct sl_error *err;
	uint64_t n, d, count, capacity;
	bool transposed;        /* the file's columns are rows here; set before the shape */
	bool cell_ranger;       /* the file says that Cell Ranger wrote it */
	uint64_t comments;      /* lines */
	uint32_t *row, *column;
	float *value;         /* NULL: the table will be dense, or has values that are no floats; then all are wide */
	double *wide;
};

/* Checks the shape against the limits. listed: the number of entries that the file declares. */
int sl__entries_shape(struct sl__entries *t, uint64_t rows, uint64_t columns, uint64_t listed, const char *file);
int sl__entries_add(struct sl__entries *t, uint64_t row, uint64_t column, double value);

/* Do the same as sl__read_mtx() and sl__read_npz(), but read into t. */
int sl__read_mtx_entries(struct sl__entries *t);
int sl__read_npz_entries(struct sl__entries *t);

/* Reads a sparse table as points, projected on options->pca axes or made dense, from the start of the source. */
int sl__read_points_sparse(struct sl_points **out, bool mtx, double *kept, const struct sl_input_options *options,
			   struct sl_source *source, struct sl_error *err);

#endif
