/* Checks the parameters of a search and chooses between the exact search, the inverted file and codes. */
#include "gpu/neighbours/find.h"

#include "gpu/neighbours/codes/coded.h"
#include "gpu/neighbours/inverted/inverted.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* With fewer points, the exact search is faster than making an inverted file. Tests on the emulated GPU use fewer. */
#ifndef SL_IVF_LEAST
#define SL_IVF_LEAST 150000u
#endif
#define LP_MOST 16.0
#define KEEP_MOST (SL_LIST_MAX / 4)

static int check(const struct sl_points *p, const struct sl_neighbours_params *params, struct sl_error *err)
{
	if (params->metric < SL_EUCLIDEAN || params->metric > SL_LINF)
		return sl_error_field(err, SL_BADPARAM, "/metric", "metric %d is not known to the GPU.", params->metric);
	if (params->metric == SL_LP && !(params->p >= 1 && params->p <= LP_MOST))
		return sl_error_field(err, SL_BADPARAM, "/p", "p is %g; on the GPU it can be 1 to %g.", params->p, LP_MOST);
	if (!params->k)
		return sl_error_field(err, SL_BADPARAM, "/k", "k must be at least 1, not 0.");
	uint32_t k = p->n && params->k < p->n - 1 ? params->k : p->n ? p->n - 1 : 0;
	if (k + (k / 4 > 24 ? k / 4 : 24) > KEEP_MOST)
		return sl_error_field(err, SL_BADPARAM, "/k", "k is %u; the GPU finds at most %u neighbours a point.", k,
				      KEEP_MOST / 5 * 4);
	if (p->n > 0x7fffff00u)
		return sl_error_set(err, SL_TOOBIG, "%u points; the GPU searches at most %u.", p->n, 0x7fffff00u);
	return 0;
}

/* Opens the GPU, which takes half a second if the process has not used it before. */
static int find_budget(struct sl_search *s, int index, uint64_t memory_bytes, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaSetDevice(index));
	SL_CUDA(sl__free_bytes(index, memory_bytes, &s->budget));
out:
	return code;
}

static int set_up(struct sl_search *s, struct sl_error *err)
{
	int code = 0;
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
	SL_CUDA(cudaMallocHost((void **)&s->note_copy, 2 * sizeof *s->note_copy));
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
	sl__events_destroy(s->ready, 2);
	sl__events_destroy(s->staged, 2);
	cudaFreeHost(s->stage[0]);
	cudaFreeHost(s->stage[1]);
	sl__streams_destroy((cudaStream_t[]){s->stream, s->copying}, 2);
	cudaFreeHost(s->note_copy);
	cudaGetLastError();
}

/* If all columns fit into device memory: by cells, or all pairs. Otherwise: by codes, or in blocks. */
static int search(struct sl_search *s, int index, struct sl_error *err)
{
	bool approximate = s->params->recall < 1 && s->points->n >= SL_IVF_LEAST && s->precision == SL_HALF;
	bool given_up = true;
	sl__search_size_lists(s, s->points->n);
	s->capacity = s->lists.capacity;
	SL_RETURN(sl__search_plan(s, err));
	if (approximate && s->block < s->points->n && s->ranks > 1)
		return sl_error_set(err, SL_DEVMEM, "One GPU searches by codes.");
	if (approximate && s->block < s->points->n) {
		SL_RETURN(sl__search_coded(s, &given_up, err));
		if (!given_up)
			return 0;
		sl__search_release(s);
		sl__search_size_lists(s, s->points->n);
		s->capacity = s->lists.capacity;
		SL_RETURN(sl__search_plan(s, err));
	}
	SL_RETURN(sl__search_reserve(s, err));
	SL_RETURN(sl__search_frame(s, err));
	if (approximate && s->block >= s->points->n && s->params->metric != SL_INNER_PRODUCT) {
		struct sl_pages pages;
		if (!s->rank)
			sl__pages_begin(&pages, s->out);
		int code = sl__search_ivf(s, &given_up, err);
		if (!s->rank)
			sl__pages_end(&pages);
		SL_RETURN(code);
	}
	return given_up ? sl__search_exact(s, index, err) : 0;
}

/* ---- several GPUs ----------------------------------------------------------------------------- */

#define GPUS_MOST 16
#define GPU_POINTS 1000u  /* each GPU searches at least so many rows */

/* Where the threads of all GPUs meet, after they have opened them at the same time. */
struct opening {
	pthread_mutex_t lock;     /* guards all below */
	pthread_cond_t changed;
	uint32_t parts, arrived;  /* threads that come, that are there */
	bool failed;
	uint64_t least;           /* memory of the GPU that has least */
};

/* One GPU's part of a search: all columns, or one block of them after the other, and a share of the rows. Each makes
 * the same choices, since all have the same budget. */
struct part {
	struct opening *opening;
	struct sl_search search;
	struct sl_neighbours view;  /* the arrays of the result; recall and method of its own */
	struct sl_neighbours_params params;
	int index, code;
	uint64_t memory_bytes;
	struct sl_error err;
	pthread_t thread;
	bool started;
};

/* Returns 0 and the budget of all when all have arrived, SL_DEVMEM if one of them has failed. */
static int meet(struct opening *o, int code, uint64_t *budget)
{
	pthread_mutex_lock(&o->lock);
	o->failed = o->failed || code;
	if (!code && *budget < o->least)
		o->least = *budget;
	o->arrived++;
	pthread_cond_broadcast(&o->changed);
	while (o->arrived < o->parts)
		pthread_cond_wait(&o->changed, &o->lock);
	*budget = o->least;
	bool failed = o->failed;
	pthread_mutex_unlock(&o->lock);
	return failed ? SL_DEVMEM : 0;
}

static void *search_part(void *arg)
{
	struct part *p = arg;
	p->code = find_budget(&p->search, p->index, p->memory_bytes, &p->err);
	int met = meet(p->opening, p->code, &p->search.budget);
	if (p->code || met) {
		p->code = p->code ? p->code : met;
		return NULL;
	}
	p->code = set_up(&p->search, &p->err);
	if (!p->code)
		p->code = search(&p->search, p->index, &p->err);
	tear_down(&p->search);
	return NULL;
}

/* True if all parts searched in the same way. */
static bool agree(const struct part *part, uint32_t parts)
{
	bool same = true;
	for (uint32_t i = 0; i < parts; i++)
		same = same && !part[i].code && !strcmp(part[i].view.method, part[0].view.method);
	return same;
}

/* *done: all rows have been searched. Otherwise one GPU must do it: another lacks memory, or codes are searched. */
static int search_together(const struct sl_search *s, int index, uint64_t memory_bytes, uint32_t parts, bool *done,
			   struct sl_error *err)
{
	struct part *part = calloc(parts, sizeof *part);
	struct opening opening = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .parts = parts,
				  .least = UINT64_MAX};
	uint32_t absent = 0;
	int code = 0;
	if (!part)
		return sl_error_memory(err, "a search on %u GPUs", parts);
	for (uint32_t i = 0; i < parts; i++) {
		part[i].opening = &opening;
		part[i].search = *s;
		part[i].view = *s->out;
		part[i].params = *s->params;
		part[i].params.progress = i ? NULL : s->params->progress;
		part[i].search.out = &part[i].view;
		part[i].search.params = &part[i].params;
		part[i].search.rank = i;
		part[i].search.ranks = parts;
		part[i].index = index + (int)i;
		part[i].memory_bytes = memory_bytes;
		part[i].started = i && !pthread_create(&part[i].thread, NULL, search_part, &part[i]);
		if (i && !part[i].started) {
			part[i].code = SL_DEVMEM;  /* as if it had failed: one GPU does it all */
			absent++;
		}
	}
	pthread_mutex_lock(&opening.lock);
	opening.parts -= absent;
	opening.failed = opening.failed || absent;
	pthread_cond_broadcast(&opening.changed);
	pthread_mutex_unlock(&opening.lock);
	search_part(&part[0]);
	for (uint32_t i = 0; i < parts; i++)
		if (part[i].started)
			pthread_join(part[i].thread, NULL);
	for (uint32_t i = 0; i < parts && !code; i++)
		if (part[i].code && part[i].code != SL_DEVMEM) {
			code = part[i].code;
			if (err)
				*err = part[i].err;
		}
	*done = !code && agree(part, parts);
	if (*done) {
		s->out->recall = part[0].view.recall;
		memcpy(s->out->method, part[0].view.method, sizeof s->out->method);
	}
	pthread_cond_destroy(&opening.changed);
	pthread_mutex_destroy(&opening.lock);
	free(part);
	return code;
}

int sl__neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
			const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err)
{
	struct sl_neighbours_params settled = *params;
	struct sl_search s = {.points = p, .params = &settled, .ranks = 1};
	bool done = false;
	int code = 0;
	SL_RETURN(check(p, params, err));
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
	uint32_t parts = params->gpus > 1 ? (uint32_t)params->gpus : 1;
	parts = parts < GPUS_MOST ? parts : GPUS_MOST;
	parts = parts < p->n / GPU_POINTS ? parts : p->n / GPU_POINTS;
	if (parts > 1)
		code = search_together(&s, index, memory_bytes, parts, &done, err);
	if (!code && !done) {
		code = find_budget(&s, index, memory_bytes, err);
		if (!code)
			code = set_up(&s, err);
		if (!code)
			code = search(&s, index, err);
		tear_down(&s);
	}
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
