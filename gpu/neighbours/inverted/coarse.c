/* k-means of the cells of an inverted file. The scanning kernels assign points to centres; then each centre moves to
 * the mean of its points. */
#include "gpu/neighbours/inverted/inverted.h"

#define LLOYD_STEPS 7

int sl__coarse_assign(struct sl_search *s, struct sl_coarse *v, const uint32_t *which, uint32_t count,
		      struct sl_error *err)
{
	struct sl_table centres = {.value = v->cells.centre, .n = v->cells.count, .d = s->points->d, .type = SL_POINTS_F32};
	struct sl_frame frame = s->frame;
	int code = 0;
	if (frame.metric == SL_INNER_PRODUCT)  /* assign by distance: by product, the largest centre would get all points */
		frame.metric = SL_EUCLIDEAN;
	SL_CUDA(sl__side_fill(&frame, &centres, NULL, 1, true, &v->centres, s->stream));
	for (uint32_t at = 0; at < count; at += s->batch) {
		uint32_t n = count - at < s->batch ? count - at : s->batch;
		struct sl_table t = s->columns;
		struct sl_side rows = s->rows;
		rows.precision = SL_HALF;
		rows.width = sl__search_width(s->points->d, SL_HALF);
		rows.count = sl__round_up(n, SL_ROWS);
		if (!which) {
			t.value = (const char *)t.value + at * s->row_bytes;
			t.inverse = t.inverse ? t.inverse + at : NULL;
			t.first = at;
			t.n = n;
			SL_CUDA(sl__side_fill(&s->frame, &t, NULL, 1, false, &rows, s->stream));
		} else {
			rows.count = n / SL_ROWS * SL_ROWS;
			SL_CUDA(sl__side_fill(&s->frame, &t, which + at, 1, false, &rows, s->stream));
		}
		struct sl_scan scan = {.rows = rows, .columns = v->centres, .from = 0, .to = v->centres.count / SL_TILE,
				       .metric = s->params->metric, .best = v->cell + at};
		SL_CUDA(sl__scan(&scan, s->stream));
	}
out:
	return code;
}

int sl__coarse_train(struct sl_search *s, struct sl_coarse *v, struct sl_error *err)
{
	uint32_t n = s->columns.n, sample = v->cells.count * SL_SAMPLE_CELL;
	int code = 0;
	sample = (sample < n ? sample : n) / SL_ROWS * SL_ROWS;
	SL_CUDA(sl__spread_rows(v->which, sample, n, s->stream));
	SL_CUDA(sl__cells_begin(&v->cells, &s->columns, s->stream));
	for (int step = 0; step < LLOYD_STEPS; step++) {
		SL_TRY(sl__coarse_assign(s, v, v->which, sample, err));
		SL_CUDA(sl__sort_pairs(v->room, v->room_bytes, v->cell, v->cell_sorted, v->which, v->row_sorted, sample,
				       sl__bits_for(v->cells.count), s->stream));
		SL_CUDA(sl__cells_move(&v->cells, &s->columns, v->cell_sorted, v->row_sorted, sample, s->stream));
	}
out:
	return code;
}

static void sides(const struct sl_search *s, uint32_t cells, struct sl_side *centres)
{
	*centres = (struct sl_side){.count = sl__round_up(cells, SL_TILE), .precision = SL_HALF,
				    .width = sl__search_width(s->points->d, SL_HALF)};
}

uint64_t sl__coarse_bytes(const struct sl_search *s, uint32_t cells, uint64_t places)
{
	struct sl_side centres;
	sides(s, cells, &centres);
	return 4 * (places + SL_ROWS) * 4 + sl__sort_bytes(places) + cells * (s->points->d + (uint64_t)cells) * 4 +
	       centres.count * ((uint64_t)centres.width * 2 + 8) + 4096;
}

int sl__coarse_make(struct sl_search *s, struct sl_coarse *v, uint32_t cells, uint64_t places, struct sl_held *held,
		    struct sl_error *err)
{
	const uint64_t list = (places + SL_ROWS) * 4;
	v->cells.count = cells;
	v->room_bytes = sl__sort_bytes(places);
	sides(s, cells, &v->centres);
	return SL_TAKE(s, held, err, {&v->which, list}, {&v->cell, list}, {&v->cell_sorted, list}, {&v->row_sorted, list},
		       {&v->room, v->room_bytes}, {&v->cells.centre, (uint64_t)cells * s->points->d * 4},
		       {&v->cells.apart, (uint64_t)cells * cells * 4},
		       {&v->centres.value, v->centres.count * (uint64_t)v->centres.width * 2},
		       {&v->centres.index, v->centres.count * 4ull}, {&v->centres.bias, v->centres.count * 4ull});
}
