/* cells.h -- the cells of an inverted file: their kernels (cells.cu). Launchers queue on a stream and return its
 * error. */
#ifndef SL_GPU_CELLS_H
#define SL_GPU_CELLS_H

#include "gpu/neighbours/scan/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_cells {
	uint32_t count;            /* cells, at most SL_CELLS_MAX */
	float *centre;             /* [count][d] */
	float *apart;              /* [count][count] squared distances of centres, or negative products */
	uint32_t *first_tile;      /* [count + 1] */
	uint32_t *tile_cell;       /* [tiles] */
	uint32_t tiles;
};

#define SL_CELLS_MAX 8192u

/* Numbers of `count` rows spread evenly over n. */
cudaError_t sl__spread_rows(uint32_t *which, uint32_t count, uint32_t n, cudaStream_t stream);
cudaError_t sl__cells_begin(const struct sl_cells *c, const struct sl_table *t, cudaStream_t stream);
/* Centres become means. cell[count], ascending, and row[count]: who is where. Empty cells stay where they are. */
cudaError_t sl__cells_move(const struct sl_cells *c, const struct sl_table *t, const uint32_t *cell,
			   const uint32_t *row, uint32_t count, cudaStream_t stream);
/* which[position] and place[row] when cell c begins at tile first_tile[c]. */
cudaError_t sl__cells_place(const struct sl_cells *c, const uint32_t *cell, const uint32_t *row, uint32_t count,
			    const uint32_t *start, uint32_t *which, uint32_t *place, cudaStream_t stream);
cudaError_t sl__cells_apart(const struct sl_cells *c, uint32_t d, bool products, cudaStream_t stream);
/* order[row blocks][most]: tiles of the cells nearest to each block's own. */
cudaError_t sl__cells_rank(const struct sl_cells *c, uint32_t row_blocks, uint32_t most, uint32_t *order,
			   cudaStream_t stream);
/* histogram[most + 1]: at which place of their block's order the neighbours of some rows are; the last: nowhere. */
cudaError_t sl__cells_histogram(const uint32_t *which, uint32_t rows, const uint32_t *index, uint32_t k,
				const uint32_t *place, const uint32_t *order, uint32_t most, uint32_t *histogram,
				cudaStream_t stream);
cudaError_t sl__cells_init(void);

#ifdef __cplusplus
}
#endif
#endif
