/* bench_sammon FILE [name=value ...] -- measures Sammon's mapping of points on a device, on the CPU, and with four
 * published GPU methods (published.h).
 *   engine=cuda  iterations=100  optimiser=newton  stress=sammon  dims=2  cpu=3  published=1  repeat=3
 * FILE may be mixture:N:D, N points of 50 clusters in D dimensions. cpu: iterations on the CPU; 0: none. published=0:
 * without the published methods, which support only stress sammon in 2-D with optimiser newton. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/load.h"
#include "core/formats/read_points.h"
#include "core/param_table.h"
#include "core/random.h"
#include "core/sammon/sammon_internal.h"
#include "tests/gpu/published.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int code, const struct sl_error *err)
{
	char line[1200];
	if (!code)
		return;
	fprintf(stderr, "bench_sammon: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static struct sl_points *mixture(uint32_t n, uint32_t d)
{
	struct sl_points *p = calloc(1, sizeof *p);
	float *value = malloc((size_t)n * d * sizeof *value);
	*p = (struct sl_points){.n = n, .n_user = n, .d = d, .type = SL_POINTS_F32, .value = value};
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < d; k++)
			value[(size_t)i * d + k] = (float)(2 * sl_random_normal(7, i % 50 * 1000 + k) / (1 + 0.1 * k) +
							   sl_random_normal(8, (uint64_t)i * d + k));
	return p;
}

static struct sl_points *read_file(const char *path)
{
	struct sl_source *source;
	struct sl_points *points;
	struct sl_error err;
	unsigned n, d;
	if (sscanf(path, "mixture:%u:%u", &n, &d) == 2 && n && d)
		return mixture(n, d);
	check(sl_source_open_path(&source, path, NULL, &err), &err);
	check(sl_points_read(&points, NULL, source, &err), &err);
	sl_source_close(source);
	return points;
}

/* ---- runs --------------------------------------------------------------------------------- */

static const struct sl_engine *engine;
static struct sl_device *device;

static struct sl_sammon *make(const struct sl_points *p, const struct sl_sammon_params *params, bool on_device)
{
	struct sl_sammon *m;
	struct sl_error err;
	double began = now();
	check(sl_sammon_create(&m, p, params, NULL, &err), &err);
	double made = now();
	if (on_device)
		check(sl_sammon_attach(m, engine, device, &err), &err);
	if (on_device)
		printf("%u points of %u columns; start %.2f s, to the device %.3f s\n", p->n, p->d, made - began, now() - made);
	return m;
}

/* Runs in slices of 10 ms, as on a server; keeps the stress after each of the first `keep` iterations. */
static double run(struct sl_sammon *m, double *stress, int keep)
{
	struct sl_sammon_status status = {0};
	struct sl_error err;
	double began = now();
	while (!status.done) {
		bool whole;
		check(sl_sammon_advance(m, 10, &whole, &status, &err), &err);
		if (whole && status.iteration <= keep)
			stress[status.iteration - 1] = status.stress;
	}
	double took = now() - began;
	printf("%d iterations in %.3f s, %.3f ms each; stress %.9f, gradient %.3g\n", status.iteration, took,
	       1e3 * took / status.iteration, status.stress, status.gradient_norm);
	return took / status.iteration;
}

/* One pass in its minimum of three calls. */
static double passes(struct sl_sammon *m, int repeat)
{
	struct sl_error err;
	double best = INFINITY, sum;
	for (int k = 0; k < repeat; k++) {
		double t[4] = {now()};
		check(m->passes.begin(m->passes.arg, m->rounded, m->partner, false, &err), &err);
		t[1] = now();
		check(m->passes.go(m->passes.arg, 0, m->passes.units, &err), &err);
		t[2] = now();
		check(m->passes.end(m->passes.arg, m->trial.force, m->trial.curve, NULL, &sum, NULL, &err), &err);
		t[3] = now();
		printf("a pass: layout there %.3f ms, pairs %.3f ms, sums back %.3f ms\n", 1e3 * (t[1] - t[0]),
		       1e3 * (t[2] - t[1]), 1e3 * (t[3] - t[2]));
		best = fmin(best, t[3] - t[0]);
	}
	return best;
}

static void published(const struct sl_points *p, struct sl_sammon *m, double own, int repeat)
{
	static const char *const names[] = {"thread a point", "thread a pair, distances stored", "block a point",
					    "tiles in shared memory"};
	float *x = malloc((size_t)p->n * p->d * sizeof *x), *y = malloc((size_t)p->n * 2 * sizeof *y);
	double ms, sum, want = m->status.stress * m->total / m->scale;
	sl_points_rows(p, 0, p->n, x);
	sl_sammon_layout(m, y);
	struct published *ways = published_open(x, p->n, p->d);
	printf("| way | ms a pass | times ours |\n| --- | ---: | ---: |\n| ours | %.3f | 1 |\n", 1e3 * own);
	for (int way = 0; ways && way < PUBLISHED_WAYS; way++) {
		if (!published_pass(ways, way, y, repeat, &ms, &sum)) {
			printf("| %s | does not fit | |\n", names[way]);
			continue;
		}
		printf("| %s | %.3f | %.2f |\n", names[way], ms, ms * 1e-3 / own);
		if (!(fabs(sum - want) <= 1e-4 * want))
			printf("its sum is %.9g, and ours %.9g\n", sum, want);
	}
	published_close(ways);
	free(x);
	free(y);
}

/* ---- options ------------------------------------------------------------------------------ */

static int word_of(const char *name, const char *word)
{
	const struct sl_param_info *info = sl_param_find(&sl_sammon_table, name);
	for (int k = 0; info->words[k]; k++)
		if (!strcmp(info->words[k], word))
			return k;
	fprintf(stderr, "bench_sammon: %s has no %s\n", name, word);
	exit(2);
}

struct options {
	const char *engine;
	int cpu, published, repeat;
	struct sl_sammon_params params;
};

static struct options options_of(int count, char **word)
{
	struct options o = {.engine = "cuda", .cpu = 3, .published = 1, .repeat = 3};
	sl_param_defaults(&sl_sammon_table, &o.params);
	o.params.tolerance = 0;
	o.params.iterations = 100;
	for (int i = 2; i < count; i++) {
		char *value = strchr(word[i], '=');
		if (value)
			*value++ = 0;
		if (!value)
			exit(2);
		else if (!strcmp(word[i], "engine"))
			o.engine = value;
		else if (!strcmp(word[i], "iterations"))
			o.params.iterations = atoi(value);
		else if (!strcmp(word[i], "dims"))
			o.params.dims = atoi(value);
		else if (!strcmp(word[i], "cpu"))
			o.cpu = atoi(value);
		else if (!strcmp(word[i], "published"))
			o.published = atoi(value);
		else if (!strcmp(word[i], "repeat"))
			o.repeat = atoi(value);
		else if (!strcmp(word[i], "optimiser"))
			o.params.optimiser = word_of("optimiser", value);
		else if (!strcmp(word[i], "stress"))
			o.params.stress = word_of("stress", value);
		else
			exit(2);
	}
	return o;
}

int main(int count, char **word)
{
	struct sl_error err;
	if (count < 2) {
		fprintf(stderr, "usage: bench_sammon FILE [name=value ...]\n");
		return 2;
	}
	struct options o = options_of(count, word);
	struct sl_points *p = read_file(word[1]);
	double *there = calloc((size_t)o.params.iterations, sizeof *there), *here = calloc((size_t)o.cpu + 1, sizeof *here);
	check(sl_engine_open(o.engine, &engine, &err), &err);
	check(engine->open(&device, NULL, &err), &err);
	struct sl_sammon *m = make(p, &o.params, true);
	double each = run(m, there, o.params.iterations), own = passes(m, o.repeat);
	if (o.published && o.params.dims == 2 && m->trial.curve && m->params.stress == SL_SAMMON_SAMMON)
		published(p, m, own, o.repeat);
	sl_sammon_destroy(m);
	if (o.cpu) {
		o.params.iterations = o.cpu < o.params.iterations ? o.cpu : o.params.iterations;
		m = make(p, &o.params, false);
		printf("the processor: ");
		double slow = run(m, here, o.cpu);
		printf("%.1f times the device's\n", slow / each);
		for (int k = 0; k < o.params.iterations; k++)
			printf("stress after %d: %.9f, on the device %+.3g\n", k + 1, here[k], there[k] - here[k]);
		sl_sammon_destroy(m);
	}
	engine->close(device);
	sl_points_destroy(p);
	free(there);
	free(here);
	return 0;
}
