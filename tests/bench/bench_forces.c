/* bench_forces GRAPH [dims [lambda [iterations]]] -- measures, at every accuracy, the errors of repulsive forces and Z
 * in a real run, compared with sums over all pairs in double precision, and the time of an iteration. Prints a Markdown
 * table and, if TRACE is set, the trace. Compares forces at iteration 50, at the end of early exaggeration, during the
 * expansion that follows, and at the end. SPACELAND_ENGINE: the engine, cpu by default. With more than 100,000 nodes it
 * compares about 5,000 rows, and not Z. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/embedding/embedding.h"
#include "core/engine/load.h"
#include "core/formats/read.h"
#include "core/graph/affinities.h"
#include "core/params.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const struct sl_error *err)
{
	char line[1200];
	fprintf(stderr, "bench_forces: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

/* force[n * d] = sum_j q^2 (y_i - y_j) for a sample of rows; returns Z over these rows. */
static double exact_forces(const float *y, uint32_t n, int d, uint32_t step, double *force)
{
	double z = 0;
#pragma omp parallel for schedule(static) reduction(+ : z)
	for (uint32_t i = 0; i < n; i += step) {
		double f[3] = {0}, row = 0;
		for (uint32_t j = 0; j < n; j++) {
			double diff[3], r2 = 1;
			for (int k = 0; k < d; k++) {
				diff[k] = (double)y[i * (size_t)d + (size_t)k] - (double)y[j * (size_t)d + (size_t)k];
				r2 += diff[k] * diff[k];
			}
			row += 1 / r2;
			for (int k = 0; k < d; k++)
				f[k] += diff[k] / (r2 * r2);
		}
		z += row - 1;
		for (int k = 0; k < d; k++)
			force[i * (size_t)d + (size_t)k] = f[k];
	}
	return z;
}

static const char *const accuracies[] = {"draft", "normal", "fine"};

/* Measures the forces of layout y on a new embedding of each accuracy; worst: the largest errors so far. */
static void compare(const struct sl_engine *engine, struct sl_device_graph *graph, const struct sl_affinities *a, int d,
		    const float *y, uint32_t step, const double *exact, double z, int iteration, double worst[3])
{
	struct sl_error err;
	size_t floats = a->n * (size_t)d;
	float *force = malloc(floats * sizeof *force);
	for (int accuracy = 0; accuracy < 3; accuracy++) {
		struct sl_settings s = {.dims = d, .accuracy = accuracy, .repulsion = SL_REPULSION_GRID};
		struct sl_device_embedding *e;
		struct sl_measure m;
		double got, error = 0, size = 0;
		if (engine->embedding_create(graph, &s, y, &e, &err) || engine->forces(e, NULL, force, &got, &err) ||
		    engine->measure(e, &m, &err))
			fail(&err);
		for (uint32_t i = 0; i < a->n; i += step)
			for (size_t k = i * (size_t)d; k < (i + 1) * (size_t)d; k++) {
				double wrong = (double)force[k] * got - exact[k];
				error += wrong * wrong;
				size += exact[k] * exact[k];
			}
		printf("| %d | %s | %.3g | %d | %.2e |", iteration, accuracies[accuracy], m.h, m.side, sqrt(error / size));
		printf(step == 1 ? " %.1e |\n" : " |\n", fabs(got / z - 1));
		worst[accuracy] = fmax(worst[accuracy], sqrt(error / size));
		engine->embedding_destroy(e);
	}
	free(force);
	fflush(stdout);
}

int main(int count, char **word)
{
	if (count < 2) {
		fprintf(stderr, "usage: bench_forces GRAPH [dims [lambda [iterations [parameter=value ...]]]]\n");
		return 2;
	}
	struct sl_error err;
	struct sl_source *source;
	struct sl_graph *g;
	struct sl_affinities *a;
	if (sl_source_open_path(&source, word[1], NULL, &err) || sl_graph_read(&g, NULL, source, &err))
		fail(&err);
	sl_source_close(source);
	struct sl_params params;
	sl_params_preset(&params, SL_PRESET_DEFAULT);
	params.dims = count > 2 ? atoi(word[2]) : 2;
	params.lambda = count > 3 ? atof(word[3]) : 10;
	params.iterations = count > 4 ? atoi(word[4]) : 1000;
	for (int i = 5; i < count; i++) {
		char *value = strchr(word[i], '=');
		*value++ = 0;
		if (sl_params_set(&params, word[i], value, &err))
			fail(&err);
	}
	struct sl_affinities_params ap = {.lambda = params.lambda};
	double began = now();
	if (sl_affinities_create(&a, g, &ap, &err))
		fail(&err);
	printf("%s: %u nodes, %llu entries, prepared in %.0f ms\n\n", word[1], a->n, (unsigned long long)a->m,
	       1e3 * (now() - began));

	const struct sl_engine *engine;
	struct sl_device *device;
	struct sl_device_graph *graph;
	struct sl_embedding *e;
	const char *name = getenv("SPACELAND_ENGINE");
	if (sl_engine_open(name ? name : "cpu", &engine, &err) || engine->open(&device, NULL, &err) ||
	    engine->graph_put(device, a, &graph, &err) ||
	    sl_embedding_create(&e, engine, graph, a, &params, NULL, &err))
		fail(&err);
	int d = params.dims;
	float *user = malloc(sizeof *user * a->n_user * (size_t)d), *y = malloc(sizeof *y * a->n * (size_t)d);
	double *exact = malloc(sizeof *exact * a->n * (size_t)d);
	struct sl_status status = {0};
	static const int expanding[] = {0, 5, 8, 11, 14, 18, 22, 30, 40, 50, 70, 100};
	enum { EXPANDING = sizeof expanding / sizeof *expanding };
	int stops[EXPANDING + 2] = {50};
	sl_params_settle(&params);
	for (int i = 0; i < EXPANDING; i++)
		stops[i + 1] = params.exaggeration_iterations + expanding[i];
	stops[EXPANDING + 1] = params.iterations;
	uint32_t step = a->n > 100000 ? a->n / 5000 : 1;
	printf("| iteration | accuracy | h | side | force error | Z error |\n| --- | --- | --- | --- | --- | --- |\n");
	began = now();
	double pause = 0, worst[3] = {0};
	for (int s = 0; s < EXPANDING + 2; s++) {
		if (stops[s] <= status.iteration || stops[s] > params.iterations)
			continue;
		struct sl_params stop = params;
		stop.iterations = stops[s];
		sl_embedding_steer(e, &stop, &err);
		while (status.iteration < stops[s])
			if (sl_embedding_advance(e, 1e9, &status, &err))
				fail(&err);
		double paused = now();
		sl_embedding_layout(e, user, &err);
		sl_affinities_gather(a, d, user, y);
		compare(engine, graph, a, d, y, step, exact, exact_forces(y, a->n, d, step, exact), stops[s], worst);
		pause += now() - paused;
	}
	for (int accuracy = 0; accuracy < 3; accuracy++)
		printf("| worst | %s | | | %.2e | |\n", accuracies[accuracy], worst[accuracy]);
	int points;
	if (getenv("TRACE"))
		for (int i = 0; i < (sl_embedding_trace(e, &points), points); i++) {
			const struct sl_trace_point *t = sl_embedding_trace(e, &points) + i;
			printf("%d %.2fs KL %.4f gradient %.2e box %.1f %.1f h %.3g\n", t->iteration, t->seconds, t->measure,
			       t->gradient_norm, (double)(t->high[0] - t->low[0]), (double)(t->high[1] - t->low[1]), t->h);
		}
	const struct sl_trace_point *trace = sl_embedding_trace(e, &points), *last = &trace[points - 1];
	printf("\n%d iterations in %.3f s: %.3f ms each; KL %.4f, gradient %.2e, box %.1f x %.1f x %.1f, h %.3g\n",
	       status.iteration, now() - began - pause, 1e3 * status.seconds / status.iteration, last->measure,
	       last->gradient_norm, (double)(last->high[0] - last->low[0]), (double)(last->high[1] - last->low[1]),
	       (double)(last->high[2] - last->low[2]), last->h);
	sl_embedding_destroy(e);
	engine->graph_drop(graph);
	engine->close(device);
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
	free(user);
	free(y);
	free(exact);
	return 0;
}
