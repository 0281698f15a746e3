/* codes.h -- the kernels that encode points as product codes (codes.cu). coded.c describes the search by codes. */
#ifndef SL_GPU_CODES_H
#define SL_GPU_CODES_H

#include "gpu/neighbours/scan/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rows to encode: which[count] of the table; NULL means all rows in order. Row i belongs to cell[i]; if cell is
 * NULL, to the cell of the tile at place[i]. The code of row i and group g is stored at
 * (place ? place[i] : i) * step + g * group_step. */
struct sl_coding {
	struct sl_frame frame;
	struct sl_table table;
	const uint32_t *which, *cell, *place;
	uint32_t count;
	struct sl_codes codes;   /* length, pieces, centres */
	float *book;             /* [groups][256][length] */
	uint8_t *code;
	uint64_t step, group_step;
	float *bias;             /* [positions] the bias of each column, or NULL */
};

uint32_t sl__codes_groups(const struct sl_codes *c);
/* k-means of the words of each group: begin() takes the values of some rows as words, move() replaces each word by the
 * mean of the rows assigned to it, round() writes the words of c->book in half precision to `book`. */
cudaError_t sl__codes_begin(const struct sl_coding *c, cudaStream_t stream);
cudaError_t sl__codes_move(const struct sl_coding *c, cudaStream_t stream);
cudaError_t sl__codes_round(const struct sl_coding *c, void *book, cudaStream_t stream);
/* Writes to c->code the nearest word of each row and group. */
cudaError_t sl__codes_assign(const struct sl_coding *c, cudaStream_t stream);
/* Writes the bias of coded columns, the number that is added to a product. Places without a point get -infinity. */
cudaError_t sl__codes_bias(const struct sl_side *columns, bool norms, cudaStream_t stream);
/* Sets bit i of `bits` if some row's list keeps point i. */
cudaError_t sl__codes_mark(const struct sl_lists *l, const uint32_t *index, uint32_t rows, uint32_t *bits,
			   cudaStream_t stream);
/* slot[number[i]] = i if `set`, else SL_NOBODY. */
cudaError_t sl__codes_slots(const uint32_t *number, uint32_t count, bool set, uint32_t *slot, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
