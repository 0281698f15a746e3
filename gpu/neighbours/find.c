/* Exact search: batches of rows against all columns, in blocks where the card's memory does not hold them all.
 *
 * The columns lie in the order of a stride near the golden ratio of their number, so that those of any round are an
 * even sample of the table however it is sorted, and a list receives about as many as it kept. A list that overflows
 * all the same (equal distances, for the most part) keeps its old entries and the bound that it has learnt, and its
 * row goes through that round again.
 *
 * While one batch is computed the results of the one before travel to the host. */
#include "gpu/neighbours/find.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define IVF_LEAST 150000u      /* points; an exact search of fewer takes less than the index */
#define LP_MOST 16.0
#define KEEP_MOST (SL_LIST_MAX / 4)
#define HUGE_PAGE (2ul << 20)
#define POPULATE_WRITE 23      /* MADV_POPULATE_WRITE, since Linux 5.14 */

/* ---- memory ------------------------------------------------------------------------ */

struct carver {
	char *at;  /* starts at NULL to count bytes */
};

static void *carve(struct carver *c, uint64_t bytes)
{
	void *p = c->at;
	c->at += (bytes + 255) / 256 * 256;
	return p;
}

static void carve_side(struct carver *c, struct sl_side *side, uint32_t count, uint64_t row_bytes)
{
	side->count = count;
	side->value = carve(c, count * row_bytes);
	side->index = carve(c, count * 4ull);
	side->bias = carve(c, count * 4ull);
	side->norm = carve(c, count * 8ull);
}

static uint64_t side_row(const struct sl_search *s, enum sl_precision precision)
{
	return (uint64_t)sl__search_width(s->points->d, precision) * (precision == SL_FULL ? 4 : 2);
}

/* Of any precision that a row may be searched in. */
static uint64_t finest_row(const struct sl_search *s)
{
	uint64_t split = side_row(s, SL_SPLIT), full = side_row(s, SL_FULL);
	return s->precision == SL_FULL || full > split ? full : split;
}

static uint64_t lay_out(struct sl_search *s, char *memory)
{
	struct carver c = {memory};
	uint64_t d = s->points->d, k = s->k;
	bool apart = s->block < s->points->n;
	s->frame.sum = carve(&c, d * 8);
	s->frame.mean = carve(&c, d * 4);
	s->frame.largest = carve(&c, 4);
	s->frame.scale = carve(&c, 4);
	s->frame.worst = carve(&c, 16);
	s->note = carve(&c, 8);
	s->part = carve(&c, SL_FRAME_PARTS * d * 8);
	s->raw = carve(&c, s->block * s->row_bytes);
	s->inverse = carve(&c, s->block * 4ull);
	carve_side(&c, &s->side, sl__round_up(s->block, SL_TILE), side_row(s, s->precision));
	s->raw_rows = carve(&c, apart ? s->batch * s->row_bytes : 0);
	s->inverse_rows = carve(&c, apart ? s->batch * 4ull : 0);
	carve_side(&c, &s->rows, s->batch, finest_row(s));
	s->lists.entry = carve(&c, (uint64_t)s->batch * s->capacity * sizeof *s->lists.entry);
	s->lists.count = carve(&c, s->batch * 4ull);
	s->lists.bound = carve(&c, s->batch * sizeof *s->lists.bound);
	s->lists.again = carve(&c, s->batch * 4ull);
	for (int i = 0; i < 2; i++) {
		s->index[i] = carve(&c, s->batch * k * 4);
		s->distance[i] = carve(&c, s->batch * k * 4);
	}
	s->doubtful = carve(&c, s->batch * 4ull);
	return (uint64_t)(c.at - memory);
}

/* Everything at once if it fits; else fewer rows together, then fewer columns. */
static int reserve(struct sl_search *s, struct sl_error *err)
{
	uint32_t n = s->points->n;
	uint64_t fine = s->precision == SL_HALF ? finest_row(s) + 20 : 0;
	s->batch = sl__round_up(n < SL_BATCH ? n : SL_BATCH, SL_ROWS);
	s->block = n;
	while (lay_out(s, NULL) + sl__round_up(s->block, SL_TILE) * fine > s->budget) {
		if (s->batch > 16 * SL_ROWS)
			s->batch = sl__round_up(s->batch / 2, SL_ROWS);
		else if (s->block > 16 * SL_TILE)
			s->block = sl__round_up(s->block / 2, SL_TILE);
		else
			return sl_error_set(err, SL_DEVMEM, "Neighbours of points of %u columns need at least %llu bytes of GPU "
					    "memory; %llu are free.", s->points->d, (unsigned long long)lay_out(s, NULL),
					    (unsigned long long)s->budget);
	}
	int code = 0;
	SL_CUDA(cudaMallocAsync((void **)&s->memory, lay_out(s, NULL), s->stream));
	lay_out(s, s->memory);
	s->lists.any = s->note + 1;
	SL_CUDA(cudaMallocHost((void **)&s->seen, 2 * sizeof *s->seen));
out:
	return code;
}

/* free() takes it back. Large pages: the first touch of small ones would cost more than the copy. */
static void *host_array(uint64_t bytes)
{
	void *p = NULL;
	if (bytes < 4 * HUGE_PAGE)
		return malloc(bytes ? bytes : 1);
	if (posix_memalign(&p, HUGE_PAGE, bytes))
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

/* The results' pages are made while the device computes: touched for the first time by the copy, they would take
 * longer than the copy does. For an index, whose results arrive all at once; the exact search copies beside its
 * computations anyway, and was slower with it. */
struct pages {
	struct sl_neighbours *nb;
	uint64_t bytes;   /* of either array */
	pthread_t thread;
	bool running;
};

static void *populate(void *arg)
{
	struct pages *p = arg;
	/* does not change what is there; a system that does not know it does without */
	madvise(p->nb->index, p->bytes, POPULATE_WRITE);
	madvise(p->nb->distance, p->bytes, POPULATE_WRITE);
	return NULL;
}

static void pages_begin(struct pages *p, struct sl_neighbours *nb)
{
	p->nb = nb;
	p->bytes = (uint64_t)nb->n * nb->k * 4;
	p->running = p->bytes >= 4 * HUGE_PAGE && !pthread_create(&p->thread, NULL, populate, p);
}

static void pages_end(struct pages *p)
{
	if (p->running)
		pthread_join(p->thread, NULL);
}

/* A list has four times the room it needs after a round: the rounds' excess varies. */
static void size_lists(struct sl_search *s, uint32_t columns)
{
	uint32_t positions = sl__round_up(columns, SL_TILE), slack = s->k / 4 > 24 ? s->k / 4 : 24;
	s->lists.keep = s->k + slack < positions ? s->k + slack : positions;
	s->lists.capacity = sl__round_up(4 * s->lists.keep < 384 ? 384 : 4 * s->lists.keep, SL_TILE);
	if (s->lists.capacity > s->list_most)
		s->lists.capacity = s->list_most;
	if (s->lists.capacity > positions)
		s->lists.capacity = positions;
}

/* ---- one pass -------------------------------------------------------------------------- */

int sl__search_checkpoint(const struct sl_search *s, double share, struct sl_error *err)
{
	if (s->params->progress)
		s->params->progress(s->params->arg, share);
	if (s->params->cancel && __atomic_load_n(s->params->cancel, __ATOMIC_RELAXED))
		return sl_error_set(err, SL_CANCELLED, "The search for neighbours was cancelled.");
	return 0;
}

struct rounds {
	uint32_t from[32];
	int count;
};

/* Tiles of each round: a list full, then as many again as have been seen. */
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

static int read_notes(struct sl_search *s, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaMemcpyAsync(s->seen, s->note, 2 * sizeof *s->seen, cudaMemcpyDeviceToHost, s->stream));
	SL_CUDA(cudaStreamSynchronize(s->stream));
out:
	return code;
}

/* Rows whose lists overflowed go through those rounds again, until none does. */
static int repeat_rounds(struct sl_search *s, struct sl_scan *scan, const struct rounds *r, struct sl_error *err)
{
	int code = 0;
	while (!code && s->seen[1]) {
		uint32_t bits = s->seen[1];
		SL_CUDA(cudaMemsetAsync(s->lists.any, 0, 4, s->stream));
		for (int round = 1; !code && round < r->count; round++)
			if (bits >> round & 1)
				code = scan_round(s, scan, r, round, true, err);
		if (!code)
			code = read_notes(s, err);
		if (!code)
			code = sl__search_checkpoint(s, 0, err);
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

/* The columns once more, in a higher precision. */
static int refine_columns(struct sl_search *s, enum sl_precision precision, struct sl_error *err)
{
	struct carver c = {NULL};
	struct sl_side *side = &s->fine_side;
	uint32_t count = sl__round_up(s->columns.n, SL_TILE);
	uint64_t row = side_row(s, precision);
	int code = 0;
	if (s->fine && side->precision == precision)
		return 0;
	if (s->fine)
		SL_CUDA(cudaFreeAsync(s->fine, s->stream));
	s->fine = NULL;
	carve_side(&c, side, count, row);
	SL_CUDA(cudaMallocAsync((void **)&s->fine, (uint64_t)c.at, s->stream));
	c.at = s->fine;
	carve_side(&c, side, count, row);
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
	int code = pass->precision > s->precision ? refine_columns(s, pass->precision, err) : 0;
	if (code)
		return code;
	rows.count = sl__round_up(pass->count, SL_ROWS);
	rows.precision = pass->precision;
	rows.width = sl__search_width(s->points->d, pass->precision);
	const struct sl_side *columns = pass->precision > s->precision ? &s->fine_side : &s->side;
	struct sl_scan scan = {.rows = rows, .columns = *columns, .lists = s->lists, .metric = s->params->metric,
			       .p = (float)s->params->p};
	plan_rounds(s, columns->count / SL_TILE, &r);
	SL_CUDA(sl__side_fill(&s->frame, pass->table, pass->which, 1, false, &rows, s->stream));
	SL_CUDA(sl__lists_start(&s->lists, &rows, s->stream));
	for (int round = 0; !code && round < r.count; round++)
		code = scan_round(s, &scan, &r, round, false, err);
	if (code)
		goto out;
	struct sl_finish finish = {
		.frame = s->frame, .rows = *pass->table, .columns = s->columns, .side = rows, .lists = s->lists,
		.k = s->k, .index = pass->index, .distance = pass->distance, .base = pass->base, .merge = pass->merge,
		.certify = pass->certify, .complete = true, .doubtful = s->doubtful, .doubtful_count = s->note,
		.accumulate = columns->width / 8,
	};
	for (bool again = true; again;) {
		SL_CUDA(cudaMemsetAsync(s->note, 0, 4, s->stream));
		SL_CUDA(sl__finish(&finish, s->stream));
		code = read_notes(s, err);
		again = !code && s->seen[1];
		if (again)
			code = repeat_rounds(s, &scan, &r, err);
	}
	*doubtful = s->seen[0];
out:
	return code;
}

int sl__search_doubtful(struct sl_search *s, const struct sl_pass *pass, uint32_t count, struct sl_error *err)
{
	uint32_t *which = NULL;
	struct sl_pass finer = *pass;
	int code = 0;
	while (!code && count && finer.precision < SL_FULL) {
		uint32_t room = sl__round_up(count, SL_ROWS);
		/* the pass makes a new list of doubtful rows */
		SL_CUDA(cudaMallocAsync((void **)&which, room * 4ull, s->stream));
		SL_CUDA(cudaMemsetAsync(which, 0xff, room * 4ull, s->stream));
		SL_CUDA(cudaMemcpyAsync(which, s->doubtful, count * 4ull, cudaMemcpyDeviceToDevice, s->stream));
		finer.which = which;
		finer.count = count;
		finer.precision++;
		finer.certify = finer.precision < SL_FULL;
		code = sl__search_pass(s, &finer, &count, err);
		SL_CUDA(cudaFreeAsync(which, s->stream));
		which = NULL;
	}
out:
	if (which)
		cudaFreeAsync(which, s->stream);
	return code;
}

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

/* The block of columns that begins at `first`, ready; finer ones were another block's. */
static int take_columns(struct sl_search *s, uint32_t first, bool prepare, struct sl_error *err)
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

/* Mean and scale take a pass over all columns; where they are in memory at once they stay there. */
static int take_frame(struct sl_search *s, struct sl_error *err)
{
	uint32_t n = s->points->n;
	int code = 0;
	SL_CUDA(cudaMemsetAsync(s->frame.sum, 0, s->points->d * 8ull, s->stream));
	SL_CUDA(cudaMemsetAsync(s->frame.largest, 0, 4, s->stream));
	for (uint32_t first = 0; !code && first < n; first += s->block) {
		code = take_columns(s, first, false, err);
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

static int search_block(struct sl_search *s, const struct sl_table *rows, uint32_t turn, bool merge,
			struct sl_error *err)
{
	uint32_t doubtful = 0;
	size_lists(s, s->columns.n);
	struct sl_pass pass = {
		.table = rows, .count = rows->n, .base = rows->first, .precision = s->precision, .merge = merge,
		.certify = s->precision == SL_HALF, .index = s->index[turn], .distance = s->distance[turn],
	};
	int code = sl__search_pass(s, &pass, &doubtful, err);
	if (!code && doubtful)
		code = sl__search_doubtful(s, &pass, doubtful, err);
	return code;
}

/* ---- results ---------------------------------------------------------------------------- */

/* Several threads: one alone is slower than the bus, the more so as it is the first to touch these pages. */
static void copy(char *to, const char *from, uint64_t bytes)
{
	const uint64_t piece = 256 << 10;
	int threads = omp_get_max_threads() < 8 ? omp_get_max_threads() : 8;
#pragma omp parallel for num_threads(threads) schedule(static)
	for (uint64_t at = 0; at < bytes; at += piece)
		memcpy(to + at, from + at, bytes - at < piece ? bytes - at : piece);
}

int sl__search_download(struct sl_search *s, void *to, const void *from, uint64_t bytes, struct sl_error *err)
{
	uint64_t chunks = (bytes + SL_STAGE - 1) / SL_STAGE;
	int code = 0;
	for (uint64_t c = 0; c <= chunks; c++) {
		uint64_t at = c * SL_STAGE, before = at - SL_STAGE;
		if (c < chunks) {
			SL_CUDA(cudaMemcpyAsync(s->stage[c % 2], (const char *)from + at,
						bytes - at < SL_STAGE ? bytes - at : SL_STAGE,
						cudaMemcpyDeviceToHost, s->copying));
			SL_CUDA(cudaEventRecord(s->staged[c % 2], s->copying));
		}
		if (c) {
			SL_CUDA(cudaEventSynchronize(s->staged[(c - 1) % 2]));
			copy((char *)to + before, s->stage[(c - 1) % 2], bytes - before < SL_STAGE ? bytes - before : SL_STAGE);
		}
	}
out:
	return code;
}

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
		code = search_block(s, &rows, (uint32_t)turn, false, err);
	} else {
		code = upload(s, first, n, s->raw_rows, s->inverse_rows, &rows, err);
		for (uint32_t c = 0; !code && c < all; c += s->block) {
			code = take_columns(s, c, true, err);
			if (!code)
				code = search_block(s, &rows, (uint32_t)turn, c > 0, err);
			if (!code)
				code = sl__search_checkpoint(s, (first + (double)n * c / all) / all, err);
			if (all - c <= s->block)
				break;
		}
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

static int make_result(struct sl_search *s, struct sl_error *err)
{
	const struct sl_points *p = s->points;
	uint64_t entries = (uint64_t)p->n * s->k;
	struct sl_neighbours *nb = calloc(1, sizeof *nb);
	s->out = nb;
	if (nb) {
		nb->n = p->n;
		nb->k = s->k;
		nb->n_user = p->n_user;
		nb->metric = s->params->metric;
		nb->p = s->params->p;
		nb->recall = 1;
		snprintf(nb->method, sizeof nb->method, "exact");
		nb->index = host_array(entries * 4);
		nb->distance = host_array(entries * 4);
		nb->user = p->user ? malloc(p->n * 4ull + 4) : NULL;
	}
	if (!nb || !nb->index || !nb->distance || (p->user && !nb->user))
		return sl_error_set(err, SL_NOMEM, "No memory for %u neighbours of %u points.", s->k, p->n);
	if (p->user)
		memcpy(nb->user, p->user, p->n * 4ull);
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
	size_lists(s, s->points->n);
	s->capacity = s->lists.capacity;
	code = reserve(s, err);
out:
	return code;
}

static void tear_down(struct sl_search *s)
{
	if (s->copying)
		cudaStreamSynchronize(s->copying);
	if (s->fine)
		cudaFreeAsync(s->fine, s->stream);
	if (s->memory)
		cudaFreeAsync(s->memory, s->stream);
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

int sl__neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
			const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err)
{
	struct sl_neighbours_params settled = *params;
	struct sl_search s = {.points = p, .params = &settled};
	struct pages pages = {.running = false};
	bool given_up = true;
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
	code = make_result(&s, err);
	if (code || !s.k)
		goto out;
	code = set_up(&s, index, memory_bytes, err);
	if (!code)
		code = take_frame(&s, err);
	if (!code && params->recall < 1 && p->n >= IVF_LEAST && s.block >= p->n &&
	    (metric == SL_EUCLIDEAN || metric == SL_COSINE)) {
		pages_begin(&pages, s.out);
		code = sl__search_ivf(&s, &given_up, err);
	}
	if (!code && given_up)
		code = search_exact(&s, index, err);
	tear_down(&s);
	pages_end(&pages);
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
