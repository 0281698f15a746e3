/* Exact search: batches of rows against all columns, in blocks where the card's memory does not hold them all.
 *
 * The columns lie in the order of a stride near the golden ratio of their number, so that those of any round are an
 * even sample of the table however it is sorted, and a list receives about as many as it kept. A list that overflows
 * all the same (equal distances, for the most part) keeps its old entries and the bound that it has learnt, and its
 * row goes through that round again.
 *
 * While one batch is computed the results of the one before travel to the host. */
#include "gpu/neighbours/find.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define IVF_LEAST 150000u      /* points; an exact search of fewer takes less than the index */
#define LP_MOST 16.0
#define KEEP_MOST (SL_LIST_MAX / 4)

/* ---- tables ------------------------------------------------------------------------------ */

static int upload(struct sl_search *s, uint32_t first, uint32_t n, void *raw, float *inverse, struct sl_table *out,
		  struct sl_error *err)
{
	int code = 0;
	*out = (struct sl_table){.value = raw, .first = first, .n = n, .d = s->points->d, .type = s->points->type};
	SL_CUDA(cudaMemcpyAsync(raw, (const char *)s->points->value + first * s->row_bytes, n * s->row_bytes,
				cudaMemcpyHostToDevice, s->stream));
	if (s->params->metric == SL_COSINE) {
		SL_CUDA(sl__inverse_norms(out, inverse, s->stream));
		out->inverse = inverse;
	}
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
	code = upload(s, first, n, s->raw, s->inverse, &s->columns, err);
	if (code || !prepare)
		return code;
	s->side.count = sl__round_up(n, SL_TILE);
	s->side.precision = s->precision;
	s->side.width = sl__search_width(s->points->d, s->precision);
	SL_CUDA(sl__side_fill(&s->frame, &s->columns, NULL, sl__search_stride(n), true, &s->side, s->stream));
out:
	return code;
}

int sl__search_frame(struct sl_search *s, struct sl_error *err)
{
	uint32_t n = s->points->n;
	int code = 0;
	SL_CUDA(cudaMemsetAsync(s->frame.sum, 0, s->points->d * 8ull, s->stream));
	SL_CUDA(cudaMemsetAsync(s->frame.largest, 0, 4, s->stream));
	for (uint32_t first = 0; !code && first < n; first += s->block) {
		code = sl__search_columns(s, first, false, err);
		if (!code)
			SL_CUDA(sl__frame_add(&s->frame, &s->columns, s->part, s->stream));
		if (!code)
			code = sl__search_checkpoint(s, 0, err);
		if (n - first <= s->block)
			break;
	}
	if (!code)
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
	int code = sl__search_pass(s, &pass, &doubtful, err);
	if (!code && doubtful)
		code = sl__search_doubtful(s, &pass, doubtful, err);
	return code;
}

int sl__search_blocks(struct sl_search *s, const struct sl_table *rows, int turn, double done, double share,
		      struct sl_error *err)
{
	uint32_t all = s->points->n;
	int code = 0;
	for (uint32_t c = 0; !code && c < all; c += s->block) {
		code = sl__search_columns(s, c, true, err);
		if (!code)
			code = search_block(s, rows, turn, c > 0, err);
		if (!code)
			code = sl__search_checkpoint(s, done + share * c / all, err);
		if (all - c <= s->block)
			break;
	}
	return code;
}

/* ---- results ---------------------------------------------------------------------------- */

/* One batch's results on their way, while the next is computed: a thread of its own. */
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
	code = sl__search_download(s, s->out->index + at, s->index[v->turn], bytes, err);
	if (!code)
		code = sl__search_download(s, s->out->distance + at, s->distance[v->turn], bytes, err);
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
	int code = delivery_end(v, err);
	if (code)
		return code;
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
		code = search_block(s, &rows, turn, false, err);
	} else {
		code = upload(s, first, n, s->raw_rows, s->inverse_rows, &rows, err);
		if (!code)
			code = sl__search_blocks(s, &rows, turn, first / (double)all, n / (double)all, err);
	}
	if (code)
		return code;
	if (s->params->metric == SL_INNER_PRODUCT)
		SL_CUDA(sl__finish_products(s->index[turn], s->distance[turn], n, s->k, s->stream));
	SL_CUDA(cudaEventRecord(s->ready[turn], s->stream));
out:
	return code;
}

static int search_exact(struct sl_search *s, int index, struct sl_error *err)
{
	struct delivery delivery = {.s = s, .index = index};
	uint32_t n = s->points->n;
	int code = 0, turn = 0;
	if (s->block >= n) {
		s->side.count = sl__round_up(n, SL_TILE);
		s->side.precision = s->precision;
		s->side.width = sl__search_width(s->points->d, s->precision);
		SL_CUDA(sl__side_fill(&s->frame, &s->columns, NULL, sl__search_stride(n), true, &s->side, s->stream));
	}
	for (uint32_t first = 0; !code && first < n; turn ^= 1) {
		uint32_t count = n - first < s->batch ? n - first : s->batch;
		code = search_batch(s, first, turn, err);
		if (!code)  /* also waits until the turn to come is free */
			code = delivery_begin(&delivery, first, count, turn, err);
		first += count;
		if (!code)
			code = sl__search_checkpoint(s, (double)first / n, err);
	}
out:
	if (code)
		delivery_end(&delivery, NULL);
	else
		code = delivery_end(&delivery, err);
	return code;
}

/* ---- all of it --------------------------------------------------------------------------------- */

static int check(const struct sl_points *p, const struct sl_neighbours_params *params, struct sl_error *err)
{
	if (params->metric < SL_EUCLIDEAN || params->metric > SL_LINF)
		return sl_error_field(err, SL_BADPARAM, "/metric", "metric %d is not known to the GPU.", params->metric);
	if (params->metric == SL_LP && !(params->p >= 1 && params->p <= LP_MOST))
		return sl_error_field(err, SL_BADPARAM, "/p", "p is %g; on the GPU it can be 1 to %g.", params->p, LP_MOST);
	if (!params->k)
		return sl_error_field(err, SL_BADPARAM, "/k", "k is 0; it must be at least 1.");
	uint32_t k = p->n && params->k < p->n - 1 ? params->k : p->n ? p->n - 1 : 0;
	if (k + (k / 4 > 24 ? k / 4 : 24) > KEEP_MOST)
		return sl_error_field(err, SL_BADPARAM, "/k", "k is %u; the GPU finds at most %u neighbours a point.", k,
				      KEEP_MOST / 5 * 4);
	if (p->n > 0x7fffff00u)
		return sl_error_set(err, SL_TOOBIG, "%u points; the GPU searches at most %u.", p->n, 0x7fffff00u);
	return 0;
}

static int set_up(struct sl_search *s, int index, uint64_t memory_bytes, struct sl_error *err)
{
	size_t available, total;
	uint64_t reserved = 0, used = 0;
	cudaMemPool_t pool;
	int code = 0;
	SL_CUDA(cudaSetDevice(index));
	SL_CUDA(cudaDeviceGetDefaultMemPool(&pool, index));
	SL_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	SL_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	SL_CUDA(cudaMemGetInfo(&available, &total));
	s->budget = (available + reserved - used) / 10 * 9;
	if (memory_bytes && memory_bytes < s->budget)
		s->budget = memory_bytes;
	SL_CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
	SL_CUDA(cudaStreamCreateWithFlags(&s->copying, cudaStreamNonBlocking));
	for (int i = 0; i < 2; i++) {
		SL_CUDA(cudaEventCreateWithFlags(&s->ready[i], cudaEventDisableTiming));
		SL_CUDA(cudaEventCreateWithFlags(&s->staged[i], cudaEventDisableTiming));
		SL_CUDA(cudaMallocHost((void **)&s->stage[i], SL_STAGE));
	}
	SL_CUDA(sl__scan_init());
	SL_CUDA(sl__lists_init());
	SL_CUDA(sl__finish_init());
	s->list_most = sl__lists_most();
	SL_CUDA(cudaMallocHost((void **)&s->seen, 2 * sizeof *s->seen));
out:
	return code;
}

static void tear_down(struct sl_search *s)
{
	if (s->copying)
		cudaStreamSynchronize(s->copying);
	sl__search_release(s);
	if (s->stream)
		cudaStreamSynchronize(s->stream);
	for (int i = 0; i < 2; i++) {
		if (s->ready[i])
			cudaEventDestroy(s->ready[i]);
		if (s->staged[i])
			cudaEventDestroy(s->staged[i]);
		cudaFreeHost(s->stage[i]);
	}
	if (s->stream)
		cudaStreamDestroy(s->stream);
	if (s->copying)
		cudaStreamDestroy(s->copying);
	cudaFreeHost(s->seen);
	cudaGetLastError();
}

/* All columns at once where they fit, by cells or all pairs; else codes of them, or in blocks. */
static int search(struct sl_search *s, int index, struct sl_error *err)
{
	bool approximate = s->params->recall < 1 && s->points->n >= IVF_LEAST && s->precision == SL_HALF;
	bool given_up = true;
	sl__search_size_lists(s, s->points->n);
	s->capacity = s->lists.capacity;
	int code = sl__search_plan(s, err);
	if (code)
		return code;
	if (approximate && s->block < s->points->n) {
		code = sl__search_coded(s, &given_up, err);
		if (code || !given_up)
			return code;
		sl__search_release(s);
		sl__search_size_lists(s, s->points->n);
		s->capacity = s->lists.capacity;
		code = sl__search_plan(s, err);
	}
	if (!code)
		code = sl__search_reserve(s, err);
	if (!code)
		code = sl__search_frame(s, err);
	if (!code && approximate && s->block >= s->points->n && s->params->metric != SL_INNER_PRODUCT) {
		struct sl_pages pages;
		sl__pages_begin(&pages, s->out);
		code = sl__search_ivf(s, &given_up, err);
		sl__pages_end(&pages);
	}
	if (!code && given_up)
		code = search_exact(s, index, err);
	return code;
}

int sl__neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
			const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err)
{
	struct sl_neighbours_params settled = *params;
	struct sl_search s = {.points = p, .params = &settled};
	int code = check(p, params, err);
	if (code)
		return code;
	if (params->metric == SL_LP && params->p == 1)
		settled.metric = SL_L1;
	if (params->metric == SL_LP && params->p == 2)
		settled.metric = SL_EUCLIDEAN;
	int metric = settled.metric;
	s.k = p->n && params->k < p->n - 1 ? params->k : p->n ? p->n - 1 : 0;
	s.row_bytes = (size_t)p->d * (p->type == SL_POINTS_U8 ? 1 : 4);
	s.precision = metric == SL_L1 || metric == SL_LP || metric == SL_LINF ? SL_FULL : SL_HALF;
	s.frame = (struct sl_frame){.d = p->d, .metric = metric, .p = params->p};
	code = sl__search_result(&s, err);
	if (code || !s.k)
		goto out;
	code = set_up(&s, index, memory_bytes, err);
	if (!code)
		code = search(&s, index, err);
	tear_down(&s);
out:
	if (s.out) {
		s.out->metric = params->metric;
		s.out->p = params->p;
	}
	if (code)
		sl_neighbours_destroy(s.out);
	else
		*out = s.out;
	return code;
}
