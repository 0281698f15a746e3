/* cells.h -- the kernels for the cells of an inverted file (cells.cu). Each launcher queues its kernels on a stream and
 * returns the launch's error. Cells are numbered from 0; a cell owns whole tiles of columns. */
#ifndef SL_GPU_CELLS_H
#define SL_GPU_CELLS_H

#include "gpu/neighbours/scan/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_cells {
	uint32_t count;            /* number of cells, at most SL_CELLS_MAX */
	float *centre;             /* [count][d] */
	float *apart;              /* [count][count] squared distances between centres, or negative inner products */
	uint32_t *first_tile;      /* [count + 1] */
	uint32_t *tile_cell;       /* [tiles] */
	uint32_t tiles;
};

#define SL_CELLS_MAX 8192u

/* which[count]: the numbers of rows spread evenly over n. */
cudaError_t sl__spread_rows(uint32_t *which, uint32_t count, uint32_t n, cudaStream_t stream);
/* Takes rows spread evenly over the table as the first centres. */
cudaError_t sl__cells_begin(const struct sl_cells *c, const struct sl_table *t, cudaStream_t stream);
/* Moves each centre to the mean of its members: row[i] belongs to cell[i], and cell[count] ascends. The centre of an
 * empty cell stays. */
cudaError_t sl__cells_move(const struct sl_cells *c, const struct sl_table *t, const uint32_t *cell,
			   const uint32_t *row, uint32_t count, cudaStream_t stream);
/* Lays the members out, cell c from tile first_tile[c] on: which[position] is the row at a position, place[row] the
 * position of a row. start[cell]: first member in row[]. */
cudaError_t sl__cells_place(const struct sl_cells *c, const uint32_t *cell, const uint32_t *row, uint32_t count,
			    const uint32_t *start, uint32_t *which, uint32_t *place, cudaStream_t stream);
/* Fills c->apart. */
cudaError_t sl__cells_apart(const struct sl_cells *c, uint32_t d, bool products, cudaStream_t stream);
/* order[row blocks][ranked]: for each block of rows the tiles to scan, those of the nearest cells first. */
cudaError_t sl__cells_rank(const struct sl_cells *c, uint32_t row_blocks, uint32_t ranked, uint32_t *order,
			   cudaStream_t stream);
/* histogram[ranked + 1]: how many neighbours of some rows lie in the t-th tile of their block's order. The last entry
 * counts neighbours that lie in none of them. */
cudaError_t sl__cells_histogram(const uint32_t *which, uint32_t rows, const uint32_t *index, uint32_t k,
				const uint32_t *place, const uint32_t *order, uint32_t ranked, uint32_t *histogram,
				cudaStream_t stream);
/* to[count][k]: rows which[count] of from[n][k], whose elements have 4 bytes; SL_NOBODY is skipped. */
cudaError_t sl__cells_collect(const uint32_t *which, uint32_t count, uint32_t k, const void *from, void *to,
			      cudaStream_t stream);
cudaError_t sl__cells_init(void);  /* once per device */

#ifdef __cplusplus
}
#endif
#endif
