/* bench_signal [SOURCE [STEPS [ENGINE]]] -- measures steps per second of signals on a graph; prints a Markdown table.
 * SOURCE: a graph file, or line:NODES. ENGINE: the engine whose device computes, for example cuda, 100 steps at a time.
 * Threads: OMP_NUM_THREADS. Each row is the best of three runs of STEPS (default 300) steps; processor time shows the
 * cost of a step even on a busy machine. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/load.h"
#include "core/formats/read.h"
#include "core/signal/coupling.h"
#include "core/signal/signal.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processor_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int rc, const struct sl_error *err)
{
	char line[1200];
	if (!rc)
		return;
	fprintf(stderr, "bench_signal: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static struct sl_graph *read_graph(const char *source)
{
	struct sl_error err;
	struct sl_source *file;
	struct sl_graph *g;
	unsigned long n = 0;
	if (sscanf(source, "line:%lu", &n) == 1) {
		struct sl_graph_builder *b;
		check(sl_graph_builder_create(&b, SL_SYMMETRIC, false, n, &err), &err);
		for (unsigned long i = 0; i + 1 < n; i++)
			check(sl_graph_builder_add(b, (uint32_t)i + 1, (uint32_t)i, 1), &err);
		check(sl_graph_builder_finish(b, (uint32_t)n, &g, &err), &err);
		return g;
	}
	check(sl_source_open_path(&file, source, NULL, &err), &err);
	check(sl_graph_read(&g, NULL, file, &err), &err);
	return g;
}

static const struct sl_engine *engine;
static struct sl_device *device;  /* NULL: computed on the CPU */

static void measure(const struct sl_graph *g, int model, int integrator, int laplacian, int steps)
{
	const struct sl_param_info *words = sl_signal_table.param;
	struct sl_signal_params p;
	struct sl_error err;
	double best = 0, least = 1e30;
	sl_param_defaults(&sl_signal_table, &p);
	p.model = model;
	p.integrator = integrator;
	p.laplacian = laplacian;
	p.duration = 1e9;
	p.step = laplacian ? 0.01 : 0;
	p.iterations = steps;
	p.tolerance = model == SL_SIGNAL_PAGERANK ? 1e-14 : 1e-6;
	p.start_nodes = (struct sl_param_list){1, {0}};
	p.start_hops = 2;
	p.damping = 0.999;
	for (int run = 0; run < 3; run++) {
		struct sl_coupling *c;
		struct sl_signal *s;
		struct sl_signal_status status = {.step = 0};
		bool whole;
		check(sl_coupling_of_graph(&c, g, &err), &err);
		check(sl_signal_create(&s, c, &p, NULL, 0, &err), &err);
		if (device)
			check(sl_signal_attach(s, engine, device, &err), &err);
		double began = now(), before = processor_time();
		do {
			sl_signal_pause_at(s, status.step + 100);
			check(sl_signal_advance(s, 1e9, &whole, &status, &err), &err);
		} while (!status.done);
		double rate = status.step / (now() - began);
		double cpu = (processor_time() - before) / status.step;
		best = rate > best ? rate : best;
		least = cpu < least ? cpu : least;
		sl_signal_destroy(s);
	}
	printf("| %s | %s | %s | %.0f | %.3f |\n", words[0].words[model],
	       model == SL_SIGNAL_PAGERANK || model == SL_SIGNAL_SIR_CHANCE ? "" : words[4].words[integrator],
	       words[1].words[laplacian], best, 1e3 * least);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char usual[] = "../shared/data/npm-2016.mtx.gz";
	const char *source = argc > 1 ? argv[1] : usual;
	int steps = argc > 2 ? atoi(argv[2]) : 300;
	struct sl_graph *g = read_graph(source);
	struct sl_error err;
	if (argc > 3) {
		check(sl_engine_open(argv[3], &engine, &err), &err);
		check(engine->open(&device, NULL, &err), &err);
	}
	printf("%s: %u nodes, %llu entries; %d threads\n\n| model | integrator | laplacian | steps/s | processors, "
			"ms/step |\n"
	       "| --- | --- | --- | --- | --- |\n",
	       source, g->n, (unsigned long long)g->m, omp_get_max_threads());
	for (int model = SL_SIGNAL_HEAT; model <= SL_SIGNAL_FITZHUGH_NAGUMO; model++)
		for (int integrator = 0; integrator <= SL_SIGNAL_CRANK_NICOLSON; integrator++)
			measure(g, model, integrator, SL_SIGNAL_RANDOM_WALK, steps);
	measure(g, SL_SIGNAL_HEAT, SL_SIGNAL_EULER, SL_SIGNAL_COMBINATORIAL, steps);
	measure(g, SL_SIGNAL_SIR, SL_SIGNAL_EULER, SL_SIGNAL_RANDOM_WALK, steps);
	measure(g, SL_SIGNAL_SIR_CHANCE, SL_SIGNAL_EULER, SL_SIGNAL_RANDOM_WALK, steps);
	measure(g, SL_SIGNAL_PAGERANK, SL_SIGNAL_EULER, SL_SIGNAL_RANDOM_WALK, steps);
	sl_graph_destroy(g);
	if (device)
		engine->close(device);
	return 0;
}
