/* bench_engine GRAPH [name=value ...] -- how long an iteration takes on an engine, through a whole run.
 *   engine=auto  dims=2  lambda=10  iterations=1000  accuracy=normal  repeat=3  exaggeration_iterations=250
 * Runs the job `repeat` times on the resident graph and prints, for each, the time to set it up, the mean over all
 * iterations, and the median over stretches of 50 after early exaggeration; then the KL divergence, and a sum of the
 * layout's bits: equal sums are equal layouts. With WINDOWS in the environment, every stretch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/embedding.h"
#include "core/engine_load.h"
#include "core/formats/read.h"
#include "core/random.h"

#define WINDOW 50

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const struct sl_error *err)
{
	char line[1200];
	fprintf(stderr, "bench_engine: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

struct job {
	const struct sl_engine *engine;
	struct sl_device_graph *graph;
	const struct sl_affinities *a;
	struct sl_params params;
	struct sl_settings settings;
};

static void run(const struct job *job, int repeat)
{
	const struct sl_params *p = &job->params;
	uint32_t n = job->a->n;
	size_t floats = n * (size_t)p->dims;
	float *y = malloc(floats * sizeof *y);
	double *window = malloc(sizeof *window * (size_t)(p->iterations / WINDOW + 1)), all = 0;
	struct sl_device_embedding *e;
	struct sl_measure m;
	struct sl_error err;
	int late = 0;
	for (size_t i = 0; i < floats; i++)
		y[i] = (float)(1e-4 * sl_random_normal(p->seed, i));
	double began = now();
	if (job->engine->embedding_create(job->graph, &job->settings, y, &e, &err))
		fail(&err);
	double set_up = now() - began;
	for (int at = 0; at < p->iterations; at += WINDOW) {
		int early = at < p->exaggeration_iterations;
		double alpha = early ? p->exaggeration : p->late_exaggeration;
		struct sl_step step = {
			.exaggeration = (float)alpha, .learning_rate = (float)fmax(200, n / fmax(alpha, 1)),
			.momentum = (float)(early ? p->early_momentum : p->momentum),
		};
		began = now();
		if (job->engine->run(e, &step, WINDOW, &err))
			fail(&err);
		double took = now() - began;
		all += took;
		if (!early)
			window[late++] = took / WINDOW;
		if (getenv("WINDOWS")) {
			if (job->engine->measure(e, &m, &err))
				fail(&err);
			printf("  %4d: %8.1f us, extent %.1f, side %d, h %.3g\n", at + WINDOW, 1e6 * took / WINDOW,
			       (double)(m.high[0] - m.low[0]), m.side, m.h);
		}
	}
	if (job->engine->measure(e, &m, &err) || job->engine->snapshot(e, y, &err))
		fail(&err);
	uint64_t sum = 0;
	for (size_t i = 0; i < floats; i++) {
		uint32_t bits;
		memcpy(&bits, &y[i], 4);
		sum = sum * 0x9e3779b97f4a7c15ull + bits;
	}
	qsort(window, (size_t)late, sizeof *window, ascending);
	printf("| %d | %.2f ms | %.1f us | %.1f us | %.1f..%.1f | %.4f | %d | %016llx |\n", repeat, 1e3 * set_up,
	       1e6 * all / p->iterations, late ? 1e6 * window[late / 2] : 0, late ? 1e6 * window[0] : 0,
	       late ? 1e6 * window[late - 1] : 0, m.kl, m.side, (unsigned long long)sum);
	fflush(stdout);
	job->engine->embedding_destroy(e);
	free(y);
	free(window);
}

int main(int count, char **word)
{
	struct sl_error err;
	struct sl_source *source;
	struct sl_graph *g;
	struct sl_affinities *a;
	struct sl_device *device;
	struct job job;
	const char *engine = "auto";
	int repeats = 3;
	if (count < 2) {
		fprintf(stderr, "usage: bench_engine GRAPH [name=value ...]\n");
		return 2;
	}
	sl_params_preset(&job.params, SL_PRESET_DEFAULT);
	for (int i = 2; i < count; i++) {
		char *value = strchr(word[i], '=');
		if (!value)
			return 2;
		*value++ = 0;
		if (!strcmp(word[i], "engine"))
			engine = value;
		else if (!strcmp(word[i], "repeat"))
			repeats = atoi(value);
		else if (sl_params_set(&job.params, word[i], value, &err))
			fail(&err);
	}
	double began = now();
	if (sl_source_open_path(&source, word[1], NULL, &err) || sl_graph_read(&g, NULL, source, &err))
		fail(&err);
	sl_source_close(source);
	struct sl_affinities_params ap;
	sl_affinities_params_from(&ap, &job.params);
	double read = now();
	if (sl_affinities_create(&a, g, &ap, &err) || sl_engine_open(engine, &job.engine, &err))
		fail(&err);
	double prepared = now();
	if (job.engine->open(&device, NULL, &err))
		fail(&err);
	double opened = now();
	if (job.engine->graph_put(device, a, &job.graph, &err))
		fail(&err);
	printf("%s: %u nodes, %llu entries; read %.0f ms, prepared %.0f ms, engine %s opened %.0f ms, put %.1f ms\n", word[1],
	       a->n, (unsigned long long)a->m, 1e3 * (read - began), 1e3 * (prepared - read), job.engine->name,
	       1e3 * (opened - prepared), 1e3 * (now() - opened));
	job.a = a;
	job.settings = (struct sl_settings){
		.dims = job.params.dims, .optimizer = job.params.optimizer, .repulsion = job.params.repulsion,
		.grid_side = job.params.grid_side,
		.accuracy = job.params.accuracy == SL_ACCURACY_AUTO ? job.params.dims == 3 ? SL_DRAFT : SL_NORMAL :
								      job.params.accuracy,
	};
	printf("| run | set-up | mean of all | median late | range late | KL | side | sum |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (int r = 0; r < repeats; r++)
		run(&job, r);
	struct sl_device_info info;
	job.engine->info(device, &info);
	printf("%s: %.1f MB used, %llu plans of %.1f MB\n", info.name, 1e-6 * (double)info.memory_used,
	       (unsigned long long)info.plans, 1e-6 * (double)info.plan_bytes);
	job.engine->graph_drop(job.graph);
	job.engine->close(device);
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
	return 0;
}
