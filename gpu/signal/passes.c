/* Steps of signals on the device: allocates memory and queues the kernels. Equal steps are queued as CUDA graphs of an
 * even number of steps, since launches would take most of the time for small graphs; numbers that change from step to
 * step are in device memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/signal/coupling.h"
#include "gpu/device/device.h"
#include "gpu/signal/signal.h"

#define UNROLLED 16        /* approximate number of kernels in a CUDA graph */
#define ITERATIONS 4       /* iterations of conjugate gradients queued before the host checks for convergence */

struct passes {
	struct sl_device *device;
	struct sl__tableau tableau;
	bool explicit_steps;
	int model, fields;
	bool random_walk;
	uint64_t seed;
	double damping;
	struct sl_signal_matrix matrix;
	struct sl_signal_vectors v;
	struct sl_signal_orders *orders;   /* device memory, as is the next */
	struct sl_signal_report *report;
	char *weights, *memory;
	uint64_t weights_bytes, bytes;
	bool turned;                       /* an odd number of steps has run since the graphs' pointers were set */
	cudaGraphExec_t graph[2];          /* by turned; NULL: not captured yet */
	int expected[2];                   /* iterations of the prediction and of the correction */
};

/* Crank and Nicolson's. */
static bool implicit(const struct passes *p)
{
	return !p->explicit_steps && p->model != SL_SIGNAL_PAGERANK && p->model != SL_SIGNAL_SIR_CHANCE;
}

/* ---- pointers ----------------------------------------------------------------------------------- */

static void swap(double **a, double **b)
{
	double *had = *a;
	*a = *b;
	*b = had;
}

/* Makes a finished step's values the current ones, y. */
static void turn(struct passes *p)
{
	int at = p->explicit_steps ? (p->tableau.stages - p->tableau.adaptive) & 1 : 0;
	for (int f = 0; f < p->fields; f++) {
		swap(&p->v.y[f], &p->v.at[at][f]);
		if (p->explicit_steps && p->tableau.adaptive)
			swap(&p->v.slope[0][f], &p->v.slope[p->tableau.stages - 1][f]);
	}
	if (p->model == SL_SIGNAL_PAGERANK)
		swap(&p->v.at[1][0], &p->v.at[1][1]);
	p->turned = !p->turned;
}

/* ---- memory -------------------------------------------------------------------------------------- */

static void carve(struct passes *p, const struct sl_signal_table *t, char **at)
{
	struct sl_signal_vectors *v = &p->v;
	uint64_t bytes = (p->matrix.n + 1ull) * sizeof(double);
	uint64_t blocks = sl__signal_blocks(&p->matrix) + p->matrix.n / 256 + 1;
	p->orders = sl__carve(at, sizeof *p->orders);
	p->report = sl__carve(at, sizeof *p->report);
	for (int f = 0; f < p->fields; f++) {
		v->y[f] = sl__carve(at, bytes);
		v->at[0][f] = sl__carve(at, bytes);
		v->at[1][f] = p->explicit_steps ? sl__carve(at, bytes) : NULL;
		for (int k = 0; k < p->tableau.stages && p->explicit_steps; k++)
			v->slope[k][f] = k + 1 < p->tableau.stages || p->tableau.adaptive ? sl__carve(at, bytes) : NULL;
		if (implicit(p))
			v->slope[0][f] = sl__carve(at, bytes);
	}
	if (p->model == SL_SIGNAL_PAGERANK) {
		v->at[1][0] = sl__carve(at, bytes);
		v->at[1][1] = sl__carve(at, bytes);
		v->restart = sl__carve(at, bytes);
	}
	if (implicit(p)) {
		v->known = sl__carve(at, bytes);
		v->r = sl__carve(at, bytes);
		v->p = sl__carve(at, bytes);
		v->q = sl__carve(at, bytes);
	}
	v->part = sl__carve(at, 2 * blocks * sizeof *v->part);
}

static void finish(void *arg)
{
	struct passes *p = arg;
	struct sl_device *d = p->device;
	sl__device_enter(d, NULL);
	cudaStreamSynchronize(d->stream);
	for (int k = 0; k < 2; k++)
		if (p->graph[k])
			cudaGraphExecDestroy(p->graph[k]);
	sl__device_free(d, p->memory, p->bytes);
	sl__device_free(d, p->weights, p->weights_bytes);
	cudaGetLastError();
	free(p);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static int give_orders(struct passes *p, const struct sl__rates *rates, double h, double tolerance, int step,
		       struct sl_error *err)
{
	struct sl_signal_orders o = {.h = h, .tolerance = tolerance, .step = (uint64_t)step};
	int code = 0;
	if (rates)
		o.rates = *rates;
	SL_CUDA(cudaMemcpyAsync(p->orders, &o, sizeof o, cudaMemcpyHostToDevice, p->device->stream));
out:
	return code;
}

static int put(void *arg, const double *const *y, struct sl_error *err)
{
	struct passes *p = arg;
	cudaStream_t stream = p->device->stream;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	for (int f = 0; f < p->fields; f++)
		SL_CUDA(cudaMemcpyAsync(p->v.y[f], y[f], p->matrix.n * sizeof(double), cudaMemcpyHostToDevice, stream));
	if (p->model == SL_SIGNAL_PAGERANK)
		SL_CUDA(sl__signal_rank_begin(&p->matrix, &p->v, p->report, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	return code;
}

static int get(void *arg, double *const *y, struct sl_error *err)
{
	struct passes *p = arg;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	for (int f = 0; f < p->fields; f++)
		SL_CUDA(sl__fetch(y[f], p->v.y[f], p->matrix.n * sizeof(double), p->device->stream));
out:
	return code;
}

static int level(void *arg, double *sum, struct sl_error *err)
{
	struct passes *p = arg;
	bool sir = p->model == SL_SIGNAL_SIR || p->model == SL_SIGNAL_SIR_CHANCE;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(sl__signal_sum(&p->matrix, p->v.y[sir], p->random_walk && !sir, p->v.part, p->report, p->device->stream));
	SL_CUDA(sl__fetch(sum, &p->report->sum, sizeof *sum, p->device->stream));
out:
	return code;
}

/* ---- equal steps ----------------------------------------------------------------------------------- */

/* Queues a step or an iteration of pagerank, the k-th that uses the same orders. */
static int queue_step(struct passes *p, int k, struct sl_error *err)
{
	cudaStream_t stream = p->device->stream;
	int code = 0;
	if (p->model == SL_SIGNAL_PAGERANK)
		SL_CUDA(sl__signal_rank(&p->matrix, &p->v, p->damping, p->orders, p->report, stream));
	else if (p->model == SL_SIGNAL_SIR_CHANCE)
		SL_CUDA(sl__signal_chance(&p->matrix, &p->v, p->seed, k, p->orders, p->report, stream));
	else
		for (int stage = 0; stage < p->tableau.stages; stage++)
			SL_CUDA(sl__signal_stage(&p->matrix, &p->v, &p->tableau, p->model, stage, false, p->orders, p->report,
						 stream));
	turn(p);
out:
	return code;
}

/* Returns the number of steps in a CUDA graph, or of iterations for implicit methods. */
static int steps_of_graph(const struct passes *p)
{
	return implicit(p) ? ITERATIONS : p->explicit_steps ? UNROLLED / p->tableau.stages & ~1 : UNROLLED;
}

static int queue_iteration(struct passes *p, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(sl__signal_iterate(&p->matrix, &p->v, p->orders, p->report, p->device->stream));
out:
	return code;
}

/* Captures a CUDA graph of an even number of steps, after which all pointers are as before, or of iterations. */
static int capture(struct passes *p, struct sl_error *err)
{
	cudaStream_t stream = p->device->stream;
	cudaGraph_t graph = NULL;
	int code = 0;
	SL_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int k = 0; k < steps_of_graph(p) && !code; k++)
		code = implicit(p) ? queue_iteration(p, err) : queue_step(p, k, err);
	cudaError_t ended = cudaStreamEndCapture(stream, &graph);
	if (!code)
		SL_CUDA(ended);
	if (!code)
		SL_CUDA(cudaGraphInstantiate(&p->graph[p->turned], graph, 0));
out:
	if (graph)
		cudaGraphDestroy(graph);
	return code;
}

/* Queues as many of `count` steps as whole graphs hold; *queued: their number. Stochastic epidemics need the
 * number of a step, so each graph gets its own orders. */
static int queue_graphs(struct passes *p, struct sl_signal_orders o, int count, int *queued, struct sl_error *err)
{
	int code = 0, many = steps_of_graph(p);
	*queued = 0;
	if (count >= 2 * many && !p->graph[p->turned])
		SL_TRY(capture(p, err));
	for (; p->graph[p->turned] && count - *queued >= many; *queued += many) {
		if (p->model == SL_SIGNAL_SIR_CHANCE)
			SL_TRY(give_orders(p, &o.rates, o.h, 0, (int)o.step + *queued, err));
		SL_CUDA(cudaGraphLaunch(p->graph[p->turned], p->device->stream));
	}
out:
	return code;
}

static int steps(void *arg, const struct sl__rates *rates, double h, int step, int count, struct sl_error *err)
{
	struct passes *p = arg;
	int code = 0, queued = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_TRY(give_orders(p, rates, h, 0, step, err));
	SL_TRY(queue_graphs(p, (struct sl_signal_orders){.rates = *rates, .h = h, .step = (uint64_t)step}, count, &queued,
			    err));
	if (queued)
		SL_TRY(give_orders(p, rates, h, 0, step + queued, err));
	for (int k = 0; k < count - queued; k++)
		SL_TRY(queue_step(p, k, err));
	SL_CUDA(cudaStreamSynchronize(p->device->stream));
out:
	return code;
}

static int rank(void *arg, double tolerance, int count, double *change, int *done, struct sl_error *err)
{
	static const struct { uint32_t iterations, done; } none;
	struct passes *p = arg;
	struct sl_signal_report r;
	bool turned = p->turned;
	int code = 0, queued = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_TRY(give_orders(p, NULL, 0, tolerance, 0, err));
	SL_CUDA(cudaMemcpyAsync(&p->report->iterations, &none, sizeof none, cudaMemcpyHostToDevice, p->device->stream));
	SL_TRY(queue_graphs(p, (struct sl_signal_orders){.h = 0}, count, &queued, err));
	for (; queued < count; queued++)
		SL_TRY(queue_step(p, 0, err));
	SL_CUDA(sl__fetch(&r, p->report, sizeof r, p->device->stream));
	*done = (int)r.iterations;
	memcpy(change, r.change, r.iterations * sizeof *change);
	if (p->turned != (turned ^ (r.iterations & 1)))  /* iterations queued after the last one changed nothing */
		turn(p);
out:
	return code;
}

/* ---- adaptive steps -------------------------------------------------------------------------------- */

static int trial(void *arg, const struct sl__rates *rates, double h, bool known, double *error, struct sl_error *err)
{
	struct passes *p = arg;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_TRY(give_orders(p, rates, h, 0, 0, err));
	for (int stage = 0; stage < p->tableau.stages; stage++)
		SL_CUDA(sl__signal_stage(&p->matrix, &p->v, &p->tableau, p->model, stage, known && stage == 0, p->orders,
					 p->report, p->device->stream));
	SL_CUDA(sl__fetch(error, &p->report->error, sizeof *error, p->device->stream));
out:
	return code;
}

static void accept(void *arg)
{
	turn(arg);
}

/* ---- implicit steps -------------------------------------------------------------------------------- */

/* Queues iterations until the system is solved: first as many as the last system took, then a few at a time. Iterations
 * after convergence do nothing. */
static int iterate(struct passes *p, int *expected, struct sl_signal_report *r, struct sl_error *err)
{
	int code = 0, count = *expected;
	if (!p->graph[p->turned])
		SL_TRY(capture(p, err));
	do {
		for (int k = 0; k < count; k += ITERATIONS)
			SL_CUDA(cudaGraphLaunch(p->graph[p->turned], p->device->stream));
		SL_CUDA(sl__fetch(r, p->report, sizeof *r, p->device->stream));
		count = ITERATIONS;
	} while (!r->done);
	*expected = (int)r->iterations;
out:
	return code;
}

static int solve(void *arg, const struct sl__rates *rates, double h, bool *solved, struct sl_error *err)
{
	struct passes *p = arg;
	struct sl_signal_report r = {.done = 0};
	int code = 0, systems = p->model == SL_SIGNAL_HEAT ? 1 : 2;
	SL_TRY(sl__device_enter(p->device, err));
	SL_TRY(give_orders(p, rates, h, 0, 0, err));
	for (int k = 0; k < systems && !r.failed; k++) {
		SL_CUDA(sl__signal_start(&p->matrix, &p->v, p->model, k, p->orders, p->report, p->device->stream));
		SL_TRY(iterate(p, &p->expected[k], &r, err));
	}
	*solved = !r.failed;
	if (*solved)
		turn(p);
out:
	return code;
}

/* ---- opening --------------------------------------------------------------------------------------- */

static int open_memory(struct passes *p, const struct sl_signal_table *t, struct sl_error *err)
{
	char what[64], *at = NULL;
	int code = 0;
	snprintf(what, sizeof what, "signals at %u nodes", t->coupling->n);
	SL_TRY(sl__signal_matrix_put(p->device, t, &p->matrix, &p->weights, &p->weights_bytes, err));
	carve(p, t, &at);
	p->bytes = (uint64_t)at;
	SL_TRY(sl__device_alloc(p->device, p->bytes, what, &p->memory, err));
	at = p->memory;
	carve(p, t, &at);
	SL_CUDA(cudaMemsetAsync(p->memory, 0, p->bytes, p->device->stream));
	if (t->restart && p->v.restart)
		SL_CUDA(cudaMemcpyAsync(p->v.restart, t->restart, p->matrix.n * sizeof(double), cudaMemcpyHostToDevice,
					p->device->stream));
	SL_CUDA(cudaStreamSynchronize(p->device->stream));
out:
	return code;
}

int sl__signal_passes(struct sl_device *d, const struct sl_signal_table *t, struct sl_signal_passes *out,
		      struct sl_error *err)
{
	struct passes *p = calloc(1, sizeof *p);
	if (!p)
		return sl_error_memory(err, "signals");
	p->device = d;
	p->model = t->model;
	p->fields = t->fields;
	p->random_walk = t->random_walk;
	p->seed = t->seed;
	p->damping = t->damping;
	p->explicit_steps = t->tableau != NULL;
	p->expected[0] = p->expected[1] = ITERATIONS;
	if (t->tableau)
		p->tableau = *t->tableau;
	int code = sl__device_enter(d, err);
	if (!code)
		code = open_memory(p, t, err);
	if (code) {
		finish(p);
		return code;
	}
	*out = (struct sl_signal_passes){
		.arg = p, .close = finish, .put = put, .get = get, .level = level, .steps = steps, .trial = trial,
		.accept = accept, .solve = solve, .rank = rank,
	};
	return 0;
}
