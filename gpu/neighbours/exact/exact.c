/* The exact search: batches of rows against all columns. If device memory does not hold all columns, they come in
 * blocks.
 *
 * Columns are stored in the order 0, s, 2 s ... modulo their number, with a stride s near 0.618 times that
 * number. So the columns of a round are an even sample of the table, however it is sorted, and a list receives about as
 * many entries as it keeps. A list can still overflow, mostly because of equal distances. It then keeps its old entries
 * and the bound from the new ones, and its row repeats that round.
 *
 * While one batch is computed, the results of the batch before are copied to the host. */
#include "gpu/neighbours/exact/exact.h"

/* ---- tables ------------------------------------------------------------------------------ */

static int upload(struct sl_search *s, uint32_t first, uint32_t n, void *raw, float *inverse, struct sl_table *out,
		  struct sl_error *err)
{
	int code = 0;
	*out = (struct sl_table){.value = raw, .first = first, .n = n, .d = s->points->d, .type = s->points->type};
	const char *from = (const char *)s->points->value + first * s->row_bytes;
	/* several GPUs take all points at the same time; of a few points at a time, a delivery has the stage */
	if (s->ranks > 1 && s->block >= s->points->n)
		SL_TRY(sl__search_upload(s, raw, from, n * s->row_bytes, err));
	else
		SL_CUDA(cudaMemcpyAsync(raw, from, n * s->row_bytes, cudaMemcpyHostToDevice, s->stream));
	if (s->params->metric == SL_COSINE) {
		SL_CUDA(sl__inverse_norms(out, inverse, s->stream));
		out->inverse = inverse;
	}
out:
	return code;
}

int sl__search_side(struct sl_search *s, enum sl_precision precision, struct sl_error *err)
{
	uint32_t n = s->columns.n;
	int code = 0;
	s->side.count = sl__round_up(n, SL_TILE);
	s->side.precision = precision;
	s->side.width = sl__search_width(s->points->d, precision);
	SL_CUDA(sl__side_fill(&s->frame, &s->columns, NULL, sl__search_stride(n), true, &s->side, s->stream));
out:
	return code;
}

int sl__search_columns(struct sl_search *s, uint32_t first, bool prepare, struct sl_error *err)
{
	uint32_t left = s->points->n - first, n = left < s->block ? left : s->block;
	int code = 0;
	if (s->fine)
		SL_CUDA(cudaFreeAsync(s->fine, s->stream));
	s->fine = NULL;
	SL_TRY(upload(s, first, n, s->raw, s->inverse, &s->columns, err));
	if (prepare)
		SL_TRY(sl__search_side(s, s->precision, err));
out:
	return code;
}

int sl__search_frame(struct sl_search *s, struct sl_error *err)
{
	uint32_t n = s->points->n;
	int code = 0;
	SL_CUDA(cudaMemsetAsync(s->frame.sum, 0, s->points->d * 8ull, s->stream));
	SL_CUDA(cudaMemsetAsync(s->frame.largest, 0, 4, s->stream));
	for (uint32_t first = 0; first < n; first += s->block) {
		SL_TRY(sl__search_columns(s, first, false, err));
		SL_CUDA(sl__frame_add(&s->frame, &s->columns, s->part, s->stream));
		SL_TRY(sl__search_checkpoint(s, 0, err));
		if (n - first <= s->block)
			break;
	}
	SL_CUDA(sl__frame_settle(&s->frame, n, s->points->type, s->stream));
out:
	return code;
}

/* ---- exact --------------------------------------------------------------------------------- */

static int search_block(struct sl_search *s, const struct sl_table *rows, int turn, bool merge, struct sl_error *err)
{
	uint32_t doubtful = 0;
	sl__search_size_lists(s, s->columns.n);
	struct sl_pass pass = {
		.table = rows, .count = rows->n, .base = rows->first, .precision = s->precision, .merge = merge,
		.certify = s->precision == SL_HALF, .index = s->index[turn], .distance = s->distance[turn],
	};
	SL_RETURN(sl__search_pass(s, &pass, &doubtful, err));
	return doubtful ? sl__search_doubtful(s, &pass, doubtful, err) : 0;
}

int sl__search_blocks(struct sl_search *s, const struct sl_table *rows, int turn, double done, double share,
		      struct sl_error *err)
{
	uint32_t all = s->points->n;
	for (uint32_t c = 0; c < all; c += s->block) {
		SL_RETURN(sl__search_columns(s, c, true, err));
		SL_RETURN(search_block(s, rows, turn, c > 0, err));
		SL_RETURN(sl__search_checkpoint(s, done + share * c / all, err));
		if (all - c <= s->block)
			break;
	}
	return 0;
}

/* ---- results ---------------------------------------------------------------------------- */

/* A thread that copies the results of one batch to the host while the next batch is computed. */
struct delivery {
	struct sl_search *s;
	uint32_t first, n;
	int index, turn, code;
	bool running;
	pthread_t thread;
	struct sl_error err;
};

static void *deliver(void *arg)
{
	struct delivery *v = arg;
	struct sl_search *s = v->s;
	struct sl_error *err = &v->err;
	uint64_t at = (uint64_t)v->first * s->k, bytes = (uint64_t)v->n * s->k * 4;
	int code = 0;
	SL_CUDA(cudaSetDevice(v->index));
	SL_CUDA(cudaStreamWaitEvent(s->copying, s->ready[v->turn], 0));
	SL_TRY(sl__search_download(s, s->out->index + at, s->index[v->turn], bytes, err));
	SL_TRY(sl__search_download(s, s->out->distance + at, s->distance[v->turn], bytes, err));
out:
	v->code = code;
	return NULL;
}

static int delivery_end(struct delivery *v, struct sl_error *err)
{
	if (!v->running)
		return 0;
	pthread_join(v->thread, NULL);
	v->running = false;
	if (v->code && err)
		*err = v->err;
	return v->code;
}

static int delivery_begin(struct delivery *v, uint32_t first, uint32_t n, int turn, struct sl_error *err)
{
	SL_RETURN(delivery_end(v, err));
	v->first = first;
	v->n = n;
	v->turn = turn;
	v->running = !pthread_create(&v->thread, NULL, deliver, v);
	if (v->running)
		return 0;
	deliver(v);
	if (v->code && err)
		*err = v->err;
	return v->code;
}

/* ---- batches ------------------------------------------------------------------------------ */

static int search_batch(struct sl_search *s, uint32_t first, int turn, struct sl_error *err)
{
	uint32_t all = s->points->n, n = all - first < s->batch ? all - first : s->batch;
	struct sl_table rows = s->columns;
	int code = 0;
	if (s->block >= all) {
		rows.value = (const char *)rows.value + first * s->row_bytes;
		rows.inverse = rows.inverse ? rows.inverse + first : NULL;
		rows.first = first;
		rows.n = n;
		SL_TRY(search_block(s, &rows, turn, false, err));
	} else {
		SL_TRY(upload(s, first, n, s->raw_rows, s->inverse_rows, &rows, err));
		SL_TRY(sl__search_blocks(s, &rows, turn, first / (double)all, n / (double)all, err));
	}
	if (s->params->metric == SL_INNER_PRODUCT)
		SL_CUDA(sl__finish_products(s->index[turn], s->distance[turn], n, s->k, s->stream));
	SL_CUDA(cudaEventRecord(s->ready[turn], s->stream));
out:
	return code;
}

int sl__search_exact(struct sl_search *s, int index, struct sl_error *err)
{
	struct delivery delivery = {.s = s, .index = index};
	uint32_t n = s->points->n, end = sl__search_from(s, n, s->rank + 1);
	int code = 0, turn = 0;
	if (s->block >= n)
		SL_TRY(sl__search_side(s, s->precision, err));
	for (uint32_t first = sl__search_from(s, n, s->rank); first < end; turn ^= 1) {
		uint32_t count = end - first < s->batch ? end - first : s->batch;
		SL_TRY(search_batch(s, first, turn, err));
		SL_TRY(delivery_begin(&delivery, first, count, turn, err));  /* waits until the next turn's buffer is free */
		first += count;
		SL_TRY(sl__search_checkpoint(s, (double)first / end, err));
	}
out:
	if (code)
		delivery_end(&delivery, NULL);
	else
		code = delivery_end(&delivery, err);
	return code;
}
