/* run.c -- runs the job and measures, from outside the engine, the time that a user waits.
 *
 * The engine runs stretches of BENCH_WINDOW iterations, with the exaggeration, learning rate and momentum of a job. A
 * stretch also ends where a job's step changes: as early exaggeration ends, every few iterations. The layout does not
 * depend on the division into stretches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/bench/bench.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "core/random.h"
#include "core/sort.h"

struct bench_spread bench_spread_of(double *value, int count)
{
	if (!count)
		return (struct bench_spread){NAN, NAN, NAN};
	qsort(value, (size_t)count, sizeof *value, sl_by_double);
	return (struct bench_spread){value[count / 2], value[0], value[count - 1]};
}

static int failed(const struct bench *b) { return local_failed(&b->l, b->l.path); }

/* Returns the end of the stretch that begins after `done` iterations. */
static int stretch_end(const struct sl_params *p, int done)
{
	int end = (done / BENCH_WINDOW + 1) * BENCH_WINDOW, until = sl_embedding_step_until(p, done);
	return end < until ? end : until;
}

static void start_layout(const struct bench *b, float *y)
{
	int dims = b->l.params.dims;
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < b->l.affinities->n; i++)
		for (int k = 0; k < dims; k++)
			y[(size_t)i * (size_t)dims + (size_t)k] =
				(float)(b->l.params.init_std *
					sl_random_normal(b->l.params.seed, (uint64_t)b->l.affinities->user[i] * 3 + (uint64_t)k));
}

static int run_some(struct bench *b, struct sl_device_embedding *e, int from, int to, double *took)
{
	struct sl_step step = sl_embedding_step_at(&b->l.params, b->l.affinities->n, from);
	double began = cli_now();
	if (b->l.engine->run(e, &step, to - from, &b->l.err))
		return failed(b);
	*took = cli_now() - began;
	return CLI_OK;
}

static int print_stretch(struct bench *b, struct sl_device_embedding *e, int at, double each)
{
	struct sl_measure m;
	double extent = 0;
	if (b->l.engine->measure(e, &m, &b->l.err))
		return failed(b);
	for (int k = 0; k < b->l.params.dims; k++)
		extent = fmax(extent, (double)m.high[k] - (double)m.low[k]);
	cli_note(b->l.cli, "  to iteration %d: %.1f us each, extent %.4g, grid of side %d, spacing %.3g, KL %.4f", at,
		 1e6 * each, extent, m.side, m.h, cli_without_minus(m.kl));
	return CLI_OK;
}

static int run_all(struct bench *b, struct sl_device_embedding *e, struct bench_job *job)
{
	const struct sl_params *p = &b->l.params;
	bool every = cli_option(b->l.cli, "stretches") != NULL;
	int windows = p->iterations + 1;  /* stretches may be as short as one iteration */
	int early = 0, late = 0, status = CLI_OK;
	double *window = malloc(sizeof *window * 2 * (size_t)windows), took = 0;
	if (!window)
		return cli_fail(CLI_FAILED, "out of memory");
	for (int done = 0; done < p->iterations && !status;) {
		int end = done ? stretch_end(p, done) : 1;
		status = cli_interrupted ? failed(b) : run_some(b, e, done, end, &took);
		if (status)
			break;
		job->all_s += took;
		if (!done)
			job->first_s = took;
		else if (done < p->exaggeration_iterations)
			window[early++] = took / (end - done);
		else
			window[windows + late++] = took / (end - done);
		if (every && done)
			status = print_stretch(b, e, end, took / (end - done));
		done = end;
	}
	job->early = bench_spread_of(window, early);
	job->late = bench_spread_of(window + windows, late);
	free(window);
	return status;
}

static uint64_t bits_of(const float *y, size_t floats)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < floats; i++) {
		uint32_t bits;
		memcpy(&bits, &y[i], sizeof bits);
		sum = sum * 0x9e3779b97f4a7c15ull + bits;
	}
	return sum;
}

/* Measures the phases on the final layout of the last run. */
static int measure_phases(struct bench *b, struct sl_device_embedding *e)
{
	if (b->l.engine->phases && !cli_option(b->l.cli, "no-phases"))
		b->phase_count = b->l.engine->phases(e, b->phases, SL_PHASES_MAX, &b->l.err);
	if (b->phase_count > SL_PHASES_MAX)
		b->phase_count = SL_PHASES_MAX;
	return b->phase_count < 0 ? failed(b) : CLI_OK;
}

static int run_job(struct bench *b, struct bench_job *job, bool last)
{
	size_t floats = b->l.affinities->n * (size_t)b->l.params.dims;
	float *y = malloc(floats * sizeof *y);
	struct sl_device_embedding *e = NULL;
	int status = CLI_OK;
	if (!y)
		return cli_fail(CLI_FAILED, "out of memory");
	start_layout(b, y);
	double began = cli_now();
	if (b->l.engine->embedding_create(b->l.device_graph, &b->settings, y, &e, &b->l.err)) {
		status = failed(b);
		goto out;
	}
	job->create_s = cli_now() - began;
	status = run_all(b, e, job);
	if (!status && (b->l.engine->measure(e, &job->end, &b->l.err) || b->l.engine->snapshot(e, y, &b->l.err)))
		status = failed(b);
	b->l.engine->info(b->l.device, &b->ended);
	job->bits = bits_of(y, floats);
	if (!status && last)
		status = measure_phases(b, e);
out:
	if (e)
		b->l.engine->embedding_destroy(e);
	free(y);
	return status;
}

int bench_run(struct bench *b)
{
	int status = CLI_OK;
	b->jobs = calloc((size_t)b->repeats, sizeof *b->jobs);
	if (!b->jobs)
		return cli_fail(CLI_FAILED, "out of memory");
	for (int i = 0; i < b->repeats && !status; i++) {
		cli_note(b->l.cli, "run %d of %ld", i + 1, b->repeats);
		status = run_job(b, &b->jobs[i], i + 1 == b->repeats);
		b->jobs_done += !status;
	}
	bool copies = b->l.engine->copy_bandwidth && !cli_option(b->l.cli, "no-phases");
	if (!status && copies && b->l.engine->copy_bandwidth(b->l.device, &b->copy, &b->l.err))
		status = failed(b);
	return status;
}
