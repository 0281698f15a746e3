/* The host code of small embeddings: collects jobs into launches and reads their results. */
#include "core/engine/update.h"
#include "gpu/small/small.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 4  /* launches of different kinds of clusters that run at the same time */

struct sl_small {
	struct sl_small_job *jobs, *device_jobs;          /* [SL_SMALL_JOBS], pinned; device */
	struct sl_small_result *results, *device_results;
	uint64_t bytes;                                  /* of the device */
	int widest;                                      /* blocks a cluster */
	cudaStream_t stream[STREAMS];
	cudaEvent_t fork, join[STREAMS];
};

/* ---- life ------------------------------------------------------------------------------------ */

void sl__small_close(struct sl_device *d)
{
	struct sl_small *s = d->small;
	if (!s)
		return;
	sl__events_destroy(s->join, STREAMS);
	sl__events_destroy(&s->fork, 1);
	sl__streams_destroy(s->stream, STREAMS);
	cudaFreeHost(s->jobs);
	cudaFreeHost(s->results);
	sl__device_free(d, s->device_jobs, s->bytes);
	free(s);
	d->small = NULL;
}

int sl__small_open(struct sl_device *d, struct sl_error *err)
{
	uint64_t job_bytes = sl__aligned(SL_SMALL_JOBS * sizeof(struct sl_small_job));
	int major = 0, shared_max = 0, code = 0;
	SL_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d->index));
	SL_CUDA(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->index));
	if (major < 9 || shared_max < (int)SL_SMALL_SHARED_MAX)
		return 0;
	struct sl_small *s = calloc(1, sizeof *s);
	if (!s)
		return sl_error_memory(err, "a device");
	d->small = s;
	SL_CUDA(sl__small_init(&s->widest));
	SL_CUDA(cudaMallocHost((void **)&s->jobs, SL_SMALL_JOBS * sizeof *s->jobs));
	SL_CUDA(cudaMallocHost((void **)&s->results, SL_SMALL_JOBS * sizeof *s->results));
	s->bytes = job_bytes + sl__aligned(SL_SMALL_JOBS * sizeof(struct sl_small_result));
	SL_TRY(sl__device_alloc(d, s->bytes, "The table of small embeddings", &s->device_jobs, err));
	s->device_results = (struct sl_small_result *)((char *)s->device_jobs + job_bytes);
	SL_CUDA(cudaEventCreateWithFlags(&s->fork, cudaEventDisableTiming));
	for (int i = 0; i < STREAMS; i++) {
		SL_CUDA(cudaStreamCreateWithFlags(&s->stream[i], cudaStreamNonBlocking));
		SL_CUDA(cudaEventCreateWithFlags(&s->join[i], cudaEventDisableTiming));
	}
out:
	return code;
}

/* ---- graphs ------------------------------------------------------------------------------------- */

bool sl__small_takes(const struct sl_device *d, uint32_t n)
{
	return d->small && n > 0 && n <= SL_SMALL_NODES;
}

int sl__small_attach(struct sl_device *d, const struct sl_rows *from, uint64_t m, struct sl_small_graph *s,
		     struct sl_error *err)
{
	uint32_t n = from->n, rows;
	uint64_t start_bytes = sl__aligned((n + 1ull) * 4), mass_bytes = sl__aligned(n * 4ull);
	uint64_t p_bytes = sl__aligned(m * 4 + 4);
	char what[80], *memory = NULL;
	uint64_t *start = NULL;
	int code;
	if (!sl__small_takes(d, n))
		return 0;
	s->bytes = start_bytes + mass_bytes + p_bytes + sl__aligned(m * 2 + 2);
	snprintf(what, sizeof what, "A graph of %u nodes and %llu entries", n, (unsigned long long)m);
	SL_TRY(sl__device_alloc(d, s->bytes, what, &memory, err));
	d->graph_bytes += s->bytes;
	s->start = (uint32_t *)memory;
	s->mass = (float *)(memory + start_bytes);
	s->p = (float *)(memory + start_bytes + mass_bytes);
	s->node = (uint16_t *)(memory + start_bytes + mass_bytes + p_bytes);
	start = malloc((n + 1ull) * sizeof *start);
	if (!start) {
		code = sl_error_memory(err, "a graph of %u nodes", n);
		goto out;
	}
	SL_CUDA(sl__small_convert(from, s, d->stream));
	SL_CUDA(sl__fetch(start, from->start, (n + 1ull) * sizeof *start, d->stream));
	uint32_t ranks = (uint32_t)sl__small_ranks(n, d->small->widest);
	rows = (n + ranks - 1) / ranks;
	s->share = 0;
	for (uint32_t i = 0; i < n; i += rows) {
		uint64_t entries = start[n - i < rows ? n : i + rows] - start[i];
		s->share = entries > s->share ? (uint32_t)entries : s->share;
	}
out:
	free(start);
	if (code)
		sl__small_drop(d, s);
	return code;
}

void sl__small_drop(struct sl_device *d, struct sl_small_graph *g)
{
	if (g->start)
		d->graph_bytes -= g->bytes;
	sl__device_free(d, g->start, g->bytes);
	memset(g, 0, sizeof *g);
}

/* ---- embeddings ------------------------------------------------------------------------------------ */

int sl__small_fill(struct sl_small_state *s, const float *y0, struct sl_error *err)
{
	struct sl_device *d = s->device;
	const struct sl_particles *p = s->points;
	size_t stride = p->dims == 3 ? 4 : (size_t)p->dims, floats = p->n * stride, dims = (size_t)p->dims;
	float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
	float *host = calloc(floats, sizeof *host);
	int code = 0;
	if (!host)
		return sl_error_memory(err, "an embedding of %u nodes", p->n);
	memset(s->report, 0, sizeof *s->report);
	s->report->finite = 1;
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < dims; k++) {
			float y = y0[i * dims + k], x = s->scale == 1 ? y : (float)((double)y / s->scale);
			host[i * stride + k] = x;
			low[k] = fminf(low[k], x);
			high[k] = fmaxf(high[k], x);
			s->report->finite = s->report->finite && fabsf(x) < 1e15f;
		}
	memcpy(s->report->low, low, dims * sizeof *low);
	memcpy(s->report->high, high, dims * sizeof *high);
	SL_CUDA(cudaMemcpyAsync(p->y, host, floats * sizeof *host, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemsetAsync(p->velocity, 0, floats * sizeof *host, d->stream));
	if (s->adam)
		SL_CUDA(cudaMemsetAsync(p->gain, 0, floats * sizeof *host, d->stream));
	else
		SL_CUDA(sl__fill(p->gain, 1, floats, d->stream));
out:
	free(host);  /* pageable memory is read before cudaMemcpyAsync returns */
	return code;
}

/* ---- launches ----------------------------------------------------------------------------------------- */

struct entry {
	struct sl_run *run;
	struct sl_small_state *state;
	int first;            /* stretch of this launch */
	int ranks, dims;
	bool heavy;           /* degrees of freedom other than 1 */
};

static int fewer_blocks(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->ranks != y->ranks)
		return y->ranks - x->ranks;  /* the widest clusters first: they are the hardest to place */
	return x->dims != y->dims ? x->dims - y->dims : x->heavy - y->heavy;
}

static uint32_t write_job(struct sl_small_job *job, const struct entry *e)
{
	const struct sl_small_state *s = e->state;
	uint32_t shared = sl__small_shared(s->points->n, s->points->dims, e->ranks, s->graph->share);
	int left = e->run->stretches - e->first;
	*job = (struct sl_small_job){
		.n = s->points->n, .cached = shared <= SL_SMALL_SHARED_MAX, .graph = *s->graph, .y = s->points->y,
		.velocity = s->points->velocity, .gain = s->points->gain, .iteration = s->report->iteration,
		.nu = (float)s->nu, .adam = s->adam,
		.stretches = left < SL_SMALL_STRETCHES ? left : SL_SMALL_STRETCHES,
	};
	for (int i = 0; i < job->stretches; i++) {
		const struct sl_stretch *from = &e->run->stretch[e->first + i];
		job->stretch[i].step = sl_step_filled(&from->step);
		job->stretch[i].iterations = from->iterations;
		job->stretch[i].measure = from->measure;
	}
	return job->cached ? shared : sl__small_shared(s->points->n, s->points->dims, e->ranks, 0);
}

static void read_result(const struct sl_small_result *r, const struct sl_small_job *job, struct entry *e)
{
	struct sl_small_state *s = e->state;
	int dims = s->points->dims;
	s->report->iteration += r->iterations;
	s->report->finite = !r->bad;
	memcpy(s->report->low, r->low, sizeof r->low);
	memcpy(s->report->high, r->high, sizeof r->high);
	for (int i = 0; i < job->stretches && !r->bad; i++) {
		const struct sl_small_measure *from = &r->measure[i];
		struct sl_measure *to = &e->run->stretch[e->first + i].measured;
		if (!job->stretch[i].measure)
			continue;
		memset(to, 0, sizeof *to);
		to->kl = s->entropy + s->nu * from->divergence + log(from->z);
		to->z = from->z;
		to->gradient_norm = sqrt(from->square) * s->scale;
		for (int k = 0; k < dims; k++) {
			to->low[k] = from->low[k] * (float)s->scale;
			to->high[k] = from->high[k] * (float)s->scale;
		}
		to->finite = isfinite(to->kl);
	}
	e->first += job->stretches;
	if (r->bad)
		e->run->code = sl_error_field(&e->run->err, SL_BADPARAM, "/learning_rate", "%s", SL_DIVERGED_DETAIL);
}

/* One launch for each kind of cluster; the launches run at the same time. */
static int launch(struct sl_device *d, struct entry *entry, int count, struct sl_error *err)
{
	struct sl_small *s = d->small;
	int code = 0, group = 0;
	uint32_t shared[SL_SMALL_JOBS];
	qsort(entry, (size_t)count, sizeof *entry, fewer_blocks);
	for (int i = 0; i < count; i++)
		shared[i] = write_job(&s->jobs[i], &entry[i]);
	SL_CUDA(cudaMemcpyAsync(s->device_jobs, s->jobs, (size_t)count * sizeof *s->jobs, cudaMemcpyHostToDevice,
				d->stream));
	for (int from = 0, to; from < count; from = to, group++) {
		uint32_t shared_max = 0;
		for (to = from; to < count && !fewer_blocks(&entry[from], &entry[to]); to++)
			shared_max = shared[to] > shared_max ? shared[to] : shared_max;
		cudaStream_t stream = to < count || group ? s->stream[group % STREAMS] : d->stream;
		if (stream != d->stream && !group)
			SL_CUDA(cudaEventRecord(s->fork, d->stream));
		if (stream != d->stream)
			SL_CUDA(cudaStreamWaitEvent(stream, s->fork, 0));
		SL_CUDA(sl__small_run(s->device_jobs + from, s->device_results + from, to - from, entry[from].dims,
				      entry[from].heavy, entry[from].ranks, shared_max, stream));
		if (stream == d->stream)
			continue;
		SL_CUDA(cudaEventRecord(s->join[group % STREAMS], stream));
		SL_CUDA(cudaStreamWaitEvent(d->stream, s->join[group % STREAMS], 0));
	}
	SL_CUDA(sl__fetch(s->results, s->device_results, (size_t)count * sizeof *s->results, d->stream));
	for (int i = 0; i < count; i++)
		read_result(&s->results[i], &s->jobs[i], &entry[i]);
out:
	return code;
}

int sl__small_many(struct sl_device *d, struct sl_run *run, struct sl_small_state **state, int count,
		   struct sl_error *err)
{
	struct entry entry[SL_SMALL_JOBS];
	int waiting = 0, code = 0, next = 0;
	while (!code) {
		int kept = 0;
		for (int i = 0; i < waiting; i++)  /* embeddings that have more stretches join the next launch */
			if (!entry[i].run->code && entry[i].first < entry[i].run->stretches)
				entry[kept++] = entry[i];
		waiting = kept;
		for (; next < count && waiting < SL_SMALL_JOBS; next++) {
			const struct sl_particles *p = state[next]->points;
			run[next].code = 0;
			if (run[next].stretches > 0)
				entry[waiting++] = (struct entry){.run = &run[next], .state = state[next], .dims = p->dims,
								  .ranks = sl__small_ranks(p->n, d->small->widest),
								  .heavy = (float)state[next]->nu != 1};
		}
		if (!waiting)
			return 0;
		code = launch(d, entry, waiting, err);
	}
	return code;
}
