/* One pass: some rows against the columns on the device, in rounds (scan.h). Rows whose result is uncertain are
 * repeated in higher precision. */
#include "gpu/neighbours/exact/exact.h"

int sl__search_checkpoint(const struct sl_search *s, double share, struct sl_error *err)
{
	if (s->params->progress && share >= 0)
		s->params->progress(s->params->arg, share);
	if (s->params->cancel && __atomic_load_n(s->params->cancel, __ATOMIC_RELAXED))
		return sl_error_set(err, SL_CANCELLED, "The search for neighbours was cancelled.");
	return 0;
}

struct rounds {
	uint32_t from[32];
	int count;
};

/* The tiles of each round. The first round fills a list; each later round scans as many tiles as all rounds before. */
static void plan_rounds(const struct sl_search *s, uint32_t tiles, struct rounds *r)
{
	uint32_t at = s->lists.capacity / SL_TILE;
	r->from[0] = 0;
	for (r->count = 1; at < tiles && r->count < 31; r->count++) {
		r->from[r->count] = at;
		at = at < tiles / 2 ? 2 * at : tiles;
	}
	r->from[r->count] = tiles;
}

static int scan_round(struct sl_search *s, struct sl_scan *scan, const struct rounds *r, int round, bool repeat,
		      struct sl_error *err)
{
	int code = 0;
	scan->from = r->from[round];
	scan->to = r->from[round + 1];
	scan->round = round;
	scan->dense = round == 0;
	scan->repeat = repeat;
	SL_CUDA(sl__scan(scan, s->stream));
	SL_CUDA(sl__lists_cut(&scan->lists, scan->rows.count, round ? 0 : (scan->to - scan->from) * SL_TILE, round, repeat,
			      s->stream));
out:
	return code;
}

int sl__search_notes(struct sl_search *s, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(sl__fetch(s->note_copy, s->note, 2 * sizeof *s->note_copy, s->stream));
out:
	return code;
}

/* Repeats rounds for the rows whose lists overflowed, until no list overflows. */
static int repeat_rounds(struct sl_search *s, struct sl_scan *scan, const struct rounds *r, struct sl_error *err)
{
	int code = 0;
	while (s->note_copy[1]) {
		uint32_t bits = s->note_copy[1];
		SL_CUDA(cudaMemsetAsync(s->lists.any, 0, 4, s->stream));
		for (int round = 1; round < r->count; round++)
			if (bits >> round & 1)
				SL_TRY(scan_round(s, scan, r, round, true, err));
		SL_TRY(sl__search_notes(s, err));
		SL_TRY(sl__search_checkpoint(s, -1, err));
	}
out:
	return code;
}

uint32_t sl__search_stride(uint32_t n)
{
	uint32_t stride = (uint32_t)(n * 0.6180339887498949);
	for (stride = stride ? stride : 1;; stride++) {
		uint32_t a = n, b = stride;
		while (b) {
			uint32_t t = a % b;
			a = b;
			b = t;
		}
		if (a == 1 || n == 1)
			return stride;
	}
}

/* Transforms the columns once more, in higher precision. */
static int refine_columns(struct sl_search *s, enum sl_precision precision, struct sl_error *err)
{
	char *at = NULL;
	struct sl_side *side = &s->fine_side;
	uint32_t count = sl__round_up(s->columns.n, SL_TILE);
	uint64_t row = sl__side_row(s, precision);
	int code = 0;
	if (s->fine && side->precision == precision)
		return 0;
	if (s->fine)
		SL_CUDA(cudaFreeAsync(s->fine, s->stream));
	s->fine = NULL;
	sl__carve_side(&at, side, count, row);
	SL_CUDA(cudaMallocAsync((void **)&s->fine, (uint64_t)at, s->stream));
	at = s->fine;
	sl__carve_side(&at, side, count, row);
	side->precision = precision;
	side->width = sl__search_width(s->points->d, precision);
	SL_CUDA(sl__side_fill(&s->frame, &s->columns, NULL, sl__search_stride(s->columns.n), true, side, s->stream));
out:
	return code;
}

int sl__search_pass(struct sl_search *s, const struct sl_pass *pass, uint32_t *doubtful, struct sl_error *err)
{
	struct sl_side rows = s->rows;
	struct rounds r;
	int code = 0;
	if (pass->precision > s->precision)
		SL_TRY(refine_columns(s, pass->precision, err));
	rows.count = sl__round_up(pass->count, SL_ROWS);
	rows.precision = pass->precision;
	rows.width = sl__search_width(s->points->d, pass->precision);
	const struct sl_side *columns = pass->precision > s->precision ? &s->fine_side : &s->side;
	struct sl_scan scan = {.rows = rows, .columns = *columns, .lists = s->lists, .metric = s->params->metric,
			       .p = (float)s->params->p};
	plan_rounds(s, columns->count / SL_TILE, &r);
	SL_CUDA(sl__side_fill(&s->frame, pass->table, pass->which, 1, false, &rows, s->stream));
	SL_CUDA(sl__lists_start(&s->lists, &rows, s->stream));
	for (int round = 0; round < r.count; round++)
		SL_TRY(scan_round(s, &scan, &r, round, false, err));
	struct sl_finish finish = {
		.frame = s->frame, .rows = *pass->table, .columns = s->columns, .side = rows, .lists = s->lists,
		.k = s->k, .index = pass->index, .distance = pass->distance, .base = pass->base, .merge = pass->merge,
		.which = pass->which, .certify = pass->certify, .complete = true, .doubtful = s->doubtful,
		.doubtful_count = s->note,
		.accumulate = columns->width / 8,
	};
	for (bool again = true; again;) {
		SL_CUDA(cudaMemsetAsync(s->note, 0, 4, s->stream));
		SL_CUDA(sl__finish(&finish, s->stream));
		SL_TRY(sl__search_notes(s, err));
		again = s->note_copy[1];
		if (again)
			SL_TRY(repeat_rounds(s, &scan, &r, err));
	}
	*doubtful = s->note_copy[0];
out:
	return code;
}

int sl__search_doubtful(struct sl_search *s, const struct sl_pass *pass, uint32_t count, struct sl_error *err)
{
	uint32_t *which = NULL;
	struct sl_pass finer = *pass;
	int code = 0;
	while (count && finer.precision < SL_FULL) {
		uint32_t room = sl__round_up(count, SL_ROWS);
		/* the pass makes a new list of uncertain rows */
		SL_CUDA(cudaMallocAsync((void **)&which, room * 4ull, s->stream));
		SL_CUDA(cudaMemsetAsync(which, 0xff, room * 4ull, s->stream));
		SL_CUDA(cudaMemcpyAsync(which, s->doubtful, count * 4ull, cudaMemcpyDeviceToDevice, s->stream));
		finer.which = which;
		finer.count = count;
		finer.precision++;
		finer.certify = finer.precision < SL_FULL;
		SL_TRY(sl__search_pass(s, &finer, &count, err));
		SL_CUDA(cudaFreeAsync(which, s->stream));
		which = NULL;
	}
out:
	if (which)
		cudaFreeAsync(which, s->stream);
	return code;
}

/* ---- by an order of tiles ---------------------------------------------------------------- */

/* Scans tiles in a given order. The first tiles are the nearest, not an even sample, so the first round takes at most
 * as many columns as a list can hold; each later round takes as many as all rounds before. */
static uint32_t next_round(const struct sl_search *s, int round, uint32_t scanned, uint32_t tiles)
{
	uint32_t room = (s->lists.capacity - s->lists.keep) / SL_TILE;
	uint32_t next = round == 0 ? s->lists.capacity / SL_TILE : round < 4 ? scanned + (room ? room : 1) : 2 * scanned;
	return next < tiles ? next : tiles;
}

int sl__search_ordered(struct sl_search *s, const struct sl_side *rows, const struct sl_side *columns,
		       const uint32_t *order, uint32_t stride, uint32_t tiles, struct sl_error *err)
{
	struct sl_scan scan = {.rows = *rows, .columns = *columns, .lists = s->lists, .metric = s->params->metric,
			       .order = order, .order_stride = stride};
	struct rounds r = {.count = 0};
	uint32_t scanned = 0;
	int code = 0;
	SL_CUDA(sl__lists_start(&s->lists, rows, s->stream));
	for (; scanned < tiles && r.count < 31; r.count++) {
		r.from[r.count] = scanned;
		scanned = next_round(s, r.count, scanned, tiles);
		r.from[r.count + 1] = scanned;
		SL_TRY(scan_round(s, &scan, &r, r.count, false, err));
	}
	SL_TRY(sl__search_notes(s, err));
	SL_TRY(repeat_rounds(s, &scan, &r, err));
out:
	return code;
}
