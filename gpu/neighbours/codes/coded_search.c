/* Searches rows by codes: uploads the rows, scans the tiles of the nearest cells, uploads the candidates, computes
 * exact distances. */
#include "gpu/neighbours/codes/coded.h"

int sl__coded_columns(struct sl_search *s, const uint32_t *number, uint32_t count, struct sl_error *err)
{
	int code = 0;
	SL_RETURN(sl__search_gather(s, s->raw, number, count, err));
	s->columns = (struct sl_table){.value = s->raw, .n = count, .d = s->points->d, .type = s->points->type};
	if (s->params->metric == SL_COSINE) {
		SL_CUDA(sl__inverse_norms(&s->columns, s->inverse, s->stream));
		s->columns.inverse = s->inverse;
	}
out:
	return code;
}

int sl__coded_rank(struct sl_search *s, struct sl_coded *v, const uint32_t *cell, uint32_t blocks, uint32_t ranked,
		struct sl_error *err)
{
	struct sl_cells cells = v->coarse.cells;
	int code = 0;
	cells.tile_cell = (uint32_t *)cell;
	cells.tiles = blocks * (SL_ROWS / SL_TILE);
	SL_CUDA(sl__cells_rank(&cells, blocks, ranked, v->order, s->stream));
out:
	return code;
}

int sl__coded_rows(struct sl_search *s, struct sl_coded *v, const uint32_t *number, uint32_t count,
		     struct sl_table *rows, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaMemcpyAsync(v->number, number, count * 4ull, cudaMemcpyHostToDevice, s->stream));
	SL_TRY(sl__search_gather(s, s->raw_rows, number, count, err));
	*rows = (struct sl_table){.value = s->raw_rows, .number = v->number, .n = count, .d = s->points->d,
				  .type = s->points->type};
	if (s->params->metric == SL_COSINE) {
		SL_CUDA(sl__inverse_norms(rows, s->inverse_rows, s->stream));
		rows->inverse = s->inverse_rows;
	}
out:
	return code;
}

/* Writes the numbers of all points in the lists to v->needed, in ascending order. */
static int list_candidates(struct sl_search *s, struct sl_coded *v, const struct sl_side *rows, uint32_t *count,
			   struct sl_error *err)
{
	uint32_t words = s->points->n / 32 + 1;
	int code = 0;
	*count = 0;
	SL_CUDA(cudaMemsetAsync(v->bits, 0, words * 4ull, s->stream));
	SL_CUDA(sl__codes_mark(&s->lists, rows->index, rows->count, v->bits, s->stream));
	SL_CUDA(sl__fetch(v->host_bits, v->bits, words * 4ull, s->stream));
	for (uint32_t w = 0; w < words; w++)
		for (uint32_t bits = v->host_bits[w]; bits; bits &= bits - 1)
			v->needed[(*count)++] = w * 32 + (uint32_t)__builtin_ctz(bits);
out:
	return code;
}

/* Computes exact distances of the candidates, one block of them at a time. */
static int rank_candidates(struct sl_search *s, struct sl_coded *v, const struct sl_table *table,
			   const struct sl_side *rows, struct sl_error *err)
{
	uint32_t count = 0;
	int code = 0;
	SL_RETURN(list_candidates(s, v, rows, &count, err));
	for (uint32_t at = 0; at < count; at += s->block) {
		uint32_t n = count - at < s->block ? count - at : s->block;
		SL_CUDA(cudaMemcpyAsync(v->list, v->needed + at, n * 4ull, cudaMemcpyHostToDevice, s->stream));
		SL_TRY(sl__coded_columns(s, v->needed + at, n, err));
		struct sl_finish finish = {
			.frame = s->frame, .rows = *table, .columns = s->columns, .side = *rows, .lists = s->lists, .k = s->k,
			.index = s->index[0], .distance = s->distance[0], .merge = at > 0, .slot = v->slot,
		};
		SL_CUDA(sl__codes_slots(v->list, n, true, v->slot, s->stream));
		SL_CUDA(sl__finish(&finish, s->stream));
		SL_CUDA(sl__codes_slots(v->list, n, false, v->slot, s->stream));
		if (count - at <= s->block)
			break;
	}
out:
	return code;
}

int sl__coded_search(struct sl_search *s, struct sl_coded *v, const uint32_t *number, uint32_t count, uint32_t tiles,
		       struct sl_error *err)
{
	struct sl_table table;
	struct sl_side rows = s->rows;
	int code = 0;
	SL_RETURN(sl__coded_rows(s, v, number, count, &table, err));
	rows.count = count;
	rows.precision = SL_HALF;
	rows.width = v->width;
	s->lists.keep = v->keep;
	s->lists.capacity = sl__coded_capacity(s, v->keep);
	SL_CUDA(sl__side_fill(&s->frame, &table, NULL, 1, false, &rows, s->stream));
	SL_TRY(sl__search_ordered(s, &rows, &v->side, v->order, tiles, tiles, err));
	SL_TRY(rank_candidates(s, v, &table, &rows, err));
out:
	return code;
}

int sl__coded_search_all(struct sl_search *s, struct sl_coded *v, struct sl_error *err)
{
	int code = 0;
	for (uint32_t at = 0; at < v->positions; at += v->rows) {
		uint32_t count = v->positions - at < v->rows ? v->positions - at : v->rows;
		SL_TRY(sl__coded_rank(s, v, v->coarse.cells.tile_cell + at / SL_TILE, count / SL_ROWS, v->tiles, err));
		SL_TRY(sl__coded_search(s, v, v->member + at, count, v->tiles, err));
		if (s->params->metric == SL_INNER_PRODUCT)
			SL_CUDA(sl__finish_products(s->index[0], s->distance[0], count, s->k, s->stream));
		SL_TRY(sl__search_scatter(s, s->out->index, s->index[0], v->member + at, count, err));
		SL_TRY(sl__search_scatter(s, (uint32_t *)s->out->distance, s->distance[0], v->member + at, count, err));
		SL_TRY(sl__search_checkpoint(s, 0.2 + 0.8 * at / v->positions, err));
	}
out:
	return code;
}
