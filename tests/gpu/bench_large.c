/* bench_large.c -- a large synthetic graph on a GPU, from its canonical file to a layout that has converged.
 *
 *   bench_large NODES NEIGHBOURS [kind=WORD] [lambda=L] [seed=S] [order=none|auto] [times=2] [file=PATH] [host=1]
 * [runs=LIST]
 *
 * Makes the graph (core/graph/synthetic.h), writes the canonical file to PATH and reads it, if one is given; makes P on
 * the device `times` times (later its memory pool is warm) and, with host=1, on the host and puts it there. Then it
 * runs each of LIST (auto,5000: "auto" iterations, and a budget) and prints divergence, width and time in steps of a
 * tenth of a run, and at the end. Times are wall-clock seconds. docs/performance.md has tables. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/embedding/embedding.h"
#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/graph/synthetic.h"
#include "core/params.h"
#include "daemon/files/graph_file.h"

static const struct sl_engine *engine;
static struct sl_device *device;
static struct sl_error err;

static void must(int code, const char *what)
{
	if (!code)
		return;
	fprintf(stderr, "%s: %s\n", what, err.detail);
	exit(1);
}

static const char *option(int count, char **words, const char *name, const char *otherwise)
{
	size_t length = strlen(name);
	for (int i = 0; i < count; i++)
		if (!strncmp(words[i], name, length) && words[i][length] == '=')
			return words[i] + length + 1;
	return otherwise;
}

/* Replaces the graph by what the file has. */
static void through_a_file(struct sl_graph **g, const char *path)
{
	unsigned char digest[SL_GRAPH_DIGEST_BYTES] = {0};
	uint64_t bytes;
	double began = sl_clock_s();
	remove(path);
	must(sl_graph_file_write(path, *g, digest, "", &bytes, &err), path);
	printf("written %.1f GB in %.2f s\n", 1e-9 * (double)bytes, sl_clock_s() - began);
	sl_graph_destroy(*g);
	began = sl_clock_s();
	must(sl_graph_file_read(path, g, &err), path);
	printf("read in %.2f s\n", sl_clock_s() - began);
	remove(path);
	fflush(stdout);
}

static double width(const struct sl_trace_point *t)
{
	return fmax((double)t->high[0] - (double)t->low[0], (double)t->high[1] - (double)t->low[1]);
}

static void run(struct sl_device_graph *graph, const struct sl_affinities *a, const char *iterations, uint64_t seed)
{
	struct sl_params p;
	struct sl_embedding *e = NULL;
	struct sl_status status = {0};
	int shown = 0, count;
	double began = sl_clock_s();
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.seed = seed;
	p.iterations = strcmp(iterations, "auto") != 0 ? atoi(iterations) : 0;
	p.trace_interval = p.iterations > 1000 ? p.iterations / 10 : 50;
	must(sl_embedding_create(&e, engine, graph, a, &p, NULL, &err), "embedding");
	while (!status.done) {
		must(sl_embedding_advance(e, 100, &status, &err), "run");
		const struct sl_trace_point *t = sl_embedding_trace(e, &count);
		for (; shown < count; shown++)
			printf("  %s %d: KL %.4f, width %.0f, h %.2f, exaggeration %.1f, %.2f s\n", iterations, t[shown].iteration,
			       t[shown].measure, width(&t[shown]), t[shown].h, t[shown].exaggeration, t[shown].seconds);
		fflush(stdout);
	}
	printf("%s: KL %.4f after %d iterations, %s, %.2f s computing, %.2f s in all\n", iterations, status.measure,
	       status.iteration, sl_stop_name(status.stop), status.seconds, sl_clock_s() - began);
	fflush(stdout);
	sl_embedding_destroy(e);
}

int main(int count, char **words)
{
	if (count < 3) {
		fprintf(stderr, "usage: bench_large NODES NEIGHBOURS [NAME=VALUE ...]\n");
		return 2;
	}
	const char *kind = option(count, words, "kind", "clusters"), *path = option(count, words, "file", NULL);
	uint64_t seed = strtoull(option(count, words, "seed", "1"), NULL, 10);
	struct sl_affinities_params params = {.lambda = atof(option(count, words, "lambda", "10"))};
	struct sl_device_info info;
	struct sl_graph *g = NULL;
	struct sl_affinities *a = NULL;
	struct sl_device_graph *graph = NULL;
	int word = 0;
	while (sl_synthetic_words[word] && strcmp(sl_synthetic_words[word], kind) != 0)
		word++;
	params.order = !strcmp(option(count, words, "order", "auto"), "none") ? SL_ORDER_NONE : SL_ORDER_AUTO;
	must(sl_engine_open(option(count, words, "engine", "cuda"), &engine, &err), "engine");
	must(engine->open(&device, &(struct sl_device_options){0}, &err), "device");
	engine->info(device, &info);
	double began = sl_clock_s();
	must(sl_synthetic_kind(&g, (enum sl_synthetic_kind)word, (uint32_t)atof(words[1]), (uint32_t)atoi(words[2]), seed,
			&err),
	     "graph");
	printf("%s: %s, %u nodes, %llu entries, made in %.2f s\n", info.name, kind, g->n, (unsigned long long)g->m,
	       sl_clock_s() - began);
	fflush(stdout);
	if (path)
		through_a_file(&g, path);
	for (int i = 0; i < atoi(option(count, words, "times", "2")) && engine->graph_make; i++) {
		if (graph)
			engine->graph_drop(graph);
		sl_affinities_destroy(a);
		began = sl_clock_s();
		must(engine->graph_make(device, g, &params, &a, &graph, &err), "P on the device");
		printf("P on the device: %u nodes, %llu entries, %u columns unreachable, %.2f s\n", a->n,
		       (unsigned long long)a->m, a->unreachable, sl_clock_s() - began);
		fflush(stdout);
	}
	if (!graph || !strcmp(option(count, words, "host", "0"), "1")) {
		struct sl_affinities *host = NULL;
		struct sl_device_graph *put = NULL;
		began = sl_clock_s();
		must(sl_affinities_create(&host, g, &params, &err), "P on the host");
		printf("P on the host: %llu entries, %.2f s", (unsigned long long)host->m, sl_clock_s() - began);
		began = sl_clock_s();
		must(engine->graph_put(device, host, &put, &err), "P put");
		printf(", put in %.2f s\n", sl_clock_s() - began);
		if (a)
			printf("same order: %s; entropy %.12f and %.12f\n",
			       a->n == host->n && !memcmp(a->user, host->user, sizeof *a->user * a->n) ? "yes" : "NO", a->entropy,
			       host->entropy);
		fflush(stdout);
		if (graph) {
			engine->graph_drop(put);
			sl_affinities_destroy(host);
		} else {
			graph = put;
			a = host;
		}
	}
	sl_graph_destroy(g);
	char runs[200], *rest = runs;
	snprintf(runs, sizeof runs, "%s", option(count, words, "runs", "auto"));
	for (char *one; (one = strsep(&rest, ","));)
		if (*one)
			run(graph, a, one, seed);
	engine->info(device, &info);
	printf("device memory: %.1f GB\n", 1e-9 * (double)info.memory_used);
	engine->graph_drop(graph);
	sl_affinities_destroy(a);
	engine->close(device);
	return 0;
}
