/* matrix.h -- P in device memory: unpacked (struct sl_rows), and packed for iterations (struct sl_matrix). */
#ifndef SL_GPU_MATRIX_H
#define SL_GPU_MATRIX_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* Some rows of P, or all, while P is made, in the form of the affinities. */
struct sl_rows {
	uint32_t first, n;    /* rows first .. first + n - 1 of P */
	uint64_t base;        /* the value of start[0] */
	uint64_t *start;      /* [n + 1] */
	uint32_t *node;       /* [start[n] - base] */
	float *p;             /* likewise */
};

/* P as iterations read it, in pieces of 16 bytes. An entry is one 32-bit word: the node's number above `bits` bits of
 * q, where p = scale q^2. The largest entry of a row has the largest possible q. Because of the square, small weights
 * have nearly the same relative precision as large ones. If a node's number leaves fewer than SL_BITS_LEAST bits, an
 * entry has two words: the node and p. The last piece of a row is filled with entries of the row's own node and weight
 * 0, and an additional piece of such entries may follow. So the places of the pieces follow from the lengths of the
 * rows. */
struct sl_matrix {
	uint32_t n;           /* rows here: nodes first .. first + n - 1; all, or those of one rank of a group */
	uint32_t first;
	uint64_t base;        /* the first piece here, among those of all rows */
	uint64_t m;           /* entries here, without filling */
	uint32_t *start;      /* [n + 1] first piece, from base on */
	uint4 *piece;         /* [start[n]] */
	float *scale;         /* [n], bits > 0 */
	int bits;             /* 0: entries of two words */
	float *mass;          /* [n] sum_j p_ij */
	uint32_t *long_rows;  /* [long_count] rows of more than SL_LONG_ROW entries, filling included */
	uint32_t long_count;
	int lanes;            /* threads that share a row: 2, 4, 8, 16 */
};

#define SL_LONG_ROW 2048u
#define SL_BITS_LEAST 8  /* up to 16.7 million nodes */

/* Entries in a piece. */
static inline uint32_t sl__piece(int bits) { return bits ? 4 : 2; }
/* First piece of row i, whose entries begin at `start`. */
static inline uint64_t sl__first_piece(uint64_t start, uint64_t i, uint32_t piece)
{
	return (start + (piece - 1) * i) / piece;
}

struct sl_rows_report { uint32_t long_count; uint64_t long_entries; };
#endif
