/* codes.h -- points as product codes: the kernels that make and mark them (codes.cu); what they are for: coded.c. */
#ifndef SL_GPU_CODES_H
#define SL_GPU_CODES_H

#include "gpu/neighbours/scan/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows that are coded: which[count] of the table (NULL: all, in order), each in cell[i], or where that is NULL in that
 * of its place's tile. code of row i, group g at (place ? place[i] : i) * step + g * group_step. */
struct sl_coding {
	struct sl_frame frame;
	struct sl_table table;
	const uint32_t *which, *cell, *place;
	uint32_t count;
	struct sl_codes codes;   /* length, pieces, centres */
	float *book;             /* [groups][256][length] */
	uint8_t *code;
	uint64_t step, group_step;
	float *bias;             /* [positions] what is to be added for rows of zeros, or NULL */
};

uint32_t sl__codes_groups(const struct sl_codes *c);
/* Words: those of some of the rows; the means of the rows that have them; in half precision. */
cudaError_t sl__codes_begin(const struct sl_coding *c, cudaStream_t stream);
cudaError_t sl__codes_move(const struct sl_coding *c, cudaStream_t stream);
cudaError_t sl__codes_round(const struct sl_coding *c, void *book, cudaStream_t stream);
/* The nearest words. */
cudaError_t sl__codes_assign(const struct sl_coding *c, cudaStream_t stream);
/* What is added to the products with coded columns; -infinity at a place without a point. */
cudaError_t sl__codes_bias(const struct sl_side *columns, bool norms, cudaStream_t stream);
/* bits: of everybody that rows' lists keep. */
cudaError_t sl__codes_mark(const struct sl_lists *l, const uint32_t *index, uint32_t rows, uint32_t *bits,
			   cudaStream_t stream);
/* slot[number[i]] = i, or SL_NOBODY. */
cudaError_t sl__codes_slots(const uint32_t *number, uint32_t count, bool set, uint32_t *slot, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
