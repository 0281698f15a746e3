/* The results on the host: memory in large pages, and copies by several threads through pinned memory. */
#include "gpu/neighbours/exact/exact.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2ul << 20)
#define POPULATE_WRITE 23      /* MADV_POPULATE_WRITE, since Linux 5.14 */

/* ---- memory ------------------------------------------------------------------------ */

/* Allocates an array; free() frees it. It uses large pages, since touching small pages first would take longer than the
 * copy. */
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

/* Makes the pages of the results while the device computes. Otherwise the copy touches them first, which takes longer
 * than the copy itself. Only for an inverted file, whose results arrive all at once: the exact search copies while it
 * computes and was slower with it. */
static void *populate(void *arg)
{
	struct sl_pages *p = arg;
	/* This does not change the contents. Systems without it ignore the call. */
	madvise(p->nb->index, p->bytes, POPULATE_WRITE);
	madvise(p->nb->distance, p->bytes, POPULATE_WRITE);
	return NULL;
}

void sl__pages_begin(struct sl_pages *p, struct sl_neighbours *nb)
{
	p->nb = nb;
	p->bytes = (uint64_t)nb->n * nb->k * 4;
	p->running = p->bytes >= 4 * HUGE_PAGE && !pthread_create(&p->thread, NULL, populate, p);
}

void sl__pages_end(struct sl_pages *p)
{
	if (p->running)
		pthread_join(p->thread, NULL);
}

int sl__search_result(struct sl_search *s, struct sl_error *err)
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
		return sl_error_memory(err, "%u neighbours of %u points", s->k, p->n);
	if (p->user)
		memcpy(nb->user, p->user, p->n * 4ull);
	return 0;
}

/* ---- copies ------------------------------------------------------------------------- */

/* Copies by several threads: one thread is slower than the bus, especially as it touches these pages first. */
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

int sl__search_upload(struct sl_search *s, void *to, const void *from, uint64_t bytes, struct sl_error *err)
{
	int code = 0, turn = 0;
	for (uint64_t at = 0; at < bytes; at += SL_STAGE, turn ^= 1) {
		uint64_t part = bytes - at < SL_STAGE ? bytes - at : SL_STAGE;
		SL_CUDA(cudaEventSynchronize(s->staged[turn]));
		copy(s->stage[turn], (const char *)from + at, part);
		SL_CUDA(cudaMemcpyAsync((char *)to + at, s->stage[turn], part, cudaMemcpyHostToDevice, s->stream));
		SL_CUDA(cudaEventRecord(s->staged[turn], s->stream));
	}
	SL_CUDA(cudaStreamSynchronize(s->stream));
out:
	return code;
}

static int copy_threads(void)
{
	return omp_get_max_threads() < 16 ? omp_get_max_threads() : 16;
}

int sl__search_gather(struct sl_search *s, void *to, const uint32_t *number, uint32_t count, struct sl_error *err)
{
	const char *from = s->points->value;
	uint64_t bytes = s->row_bytes;
	uint32_t rows = (uint32_t)(SL_STAGE / bytes);
	int code = 0, turn = 0;
	for (uint32_t at = 0; at < count; at += rows, turn ^= 1) {
		uint32_t n = count - at < rows ? count - at : rows;
		char *stage = s->stage[turn];
		SL_CUDA(cudaEventSynchronize(s->staged[turn]));
#pragma omp parallel for num_threads(copy_threads()) schedule(static)
		for (uint32_t i = 0; i < n; i++)
			if (number[at + i] != SL_NOBODY)
				memcpy(stage + i * bytes, from + number[at + i] * bytes, bytes);
			else
				memset(stage + i * bytes, 0, bytes);
		SL_CUDA(cudaMemcpyAsync((char *)to + at * bytes, stage, n * bytes, cudaMemcpyHostToDevice, s->stream));
		SL_CUDA(cudaEventRecord(s->staged[turn], s->stream));
	}
out:
	return code;
}

/* Copies the rows of a stage to rows number[count] of `to`. */
static void place(const struct sl_search *s, uint32_t *to, const char *stage, const uint32_t *number, uint32_t count)
{
	uint64_t bytes = s->k * 4ull;
#pragma omp parallel for num_threads(copy_threads()) schedule(static)
	for (uint32_t i = 0; i < count; i++)
		if (number[i] != SL_NOBODY)
			memcpy(to + (uint64_t)number[i] * s->k, stage + i * bytes, bytes);
}

int sl__search_scatter(struct sl_search *s, uint32_t *to, const void *from, const uint32_t *number, uint32_t count,
		       struct sl_error *err)
{
	uint64_t bytes = s->k * 4ull;
	uint32_t rows = (uint32_t)(SL_STAGE / bytes);
	int code = 0;
	for (uint32_t at = 0; at < count; at += rows) {
		uint32_t n = count - at < rows ? count - at : rows;
		const char *stage = s->stage[0];
		SL_CUDA(sl__fetch(s->stage[0], (const char *)from + at * bytes, n * bytes, s->stream));
		place(s, to, stage, number + at, n);
	}
out:
	return code;
}

int sl__search_deliver(struct sl_search *s, uint32_t *to, const void *from, const uint32_t *number, uint32_t count,
		       struct sl_error *err)
{
	uint64_t bytes = s->k * 4ull;
	uint32_t rows = (uint32_t)(SL_STAGE / bytes), before = 0;
	int code = 0;
	/* while the host places some rows, the next are copied */
	for (uint32_t at = 0, chunk = 0; before < count; at += rows, chunk++) {
		if (at < count) {
			uint32_t n = count - at < rows ? count - at : rows;
			SL_CUDA(cudaMemcpyAsync(s->stage[chunk % 2], (const char *)from + at * bytes, n * bytes,
						cudaMemcpyDeviceToHost, s->copying));
			SL_CUDA(cudaEventRecord(s->staged[chunk % 2], s->copying));
		}
		if (!chunk)
			continue;
		SL_CUDA(cudaEventSynchronize(s->staged[(chunk - 1) % 2]));
		place(s, to, s->stage[(chunk - 1) % 2], number + before, count - before < rows ? count - before : rows);
		before += rows;
	}
out:
	return code;
}
