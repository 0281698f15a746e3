/* bench_neighbours FILE [name=value ...] -- measures the search for the neighbours of points: time and recall; then P.
 *   engine=cuda  k=90  recall=1  metric=euclidean  p=2  repeat=3  check=200  perplexity=30  orders=0  memory=0  times=0
 * FILE may be mixture:N:D:R, N points of 50 clusters in D dimensions, of which R are wide (0: all). memory: device
 * memory of the search, in MB; 0: all. times=1: prints the progress over time. check: number of rows whose recall is
 * measured against sums over all points in double precision. orders=1: also measures the attraction with the host's
 * orders, which takes long. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/load.h"
#include "core/formats/read_points.h"
#include "core/graph/affinities.h"
#include "core/params.h"
#include "core/random.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const struct sl_error *err)
{
	char line[1200];
	fprintf(stderr, "bench_neighbours: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double value_at(const struct sl_points *p, uint32_t i, uint32_t c)
{
	size_t at = (size_t)i * p->d + c;
	return p->type == SL_POINTS_U8 ? ((const uint8_t *)p->value)[at] : (double)((const float *)p->value)[at];
}

/* Recall of the k nearest (Euclidean) over `rows` rows. *off: largest relative error of a distance. */
static double recall_of(const struct sl_points *p, const struct sl_neighbours *nb, uint32_t rows, double *off)
{
	uint64_t hits = 0, wanted = 0;
	double worst = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : hits, wanted) reduction(max : worst)
	for (uint32_t r = 0; r < rows; r++) {
		uint32_t i = (uint32_t)((uint64_t)p->n * r / rows), k = nb->k, count = 0;
		double *all = malloc(sizeof *all * p->n), *own = malloc(sizeof *own * p->d);
		for (uint32_t c = 0; c < p->d; c++)
			own[c] = value_at(p, i, c);
		for (uint32_t j = 0; j < p->n; j++) {
			double sum = 0;
			for (uint32_t c = 0; c < p->d; c++)
				sum += (value_at(p, j, c) - own[c]) * (value_at(p, j, c) - own[c]);
			if (j != i)
				all[count++] = sum;
		}
		for (uint32_t e = 0; e < k; e++) {
			double sum = 0;
			uint32_t j = nb->index[(size_t)i * k + e];
			for (uint32_t c = 0; c < p->d; c++)
				sum += (value_at(p, j, c) - own[c]) * (value_at(p, j, c) - own[c]);
			double told = (double)nb->distance[(size_t)i * k + e];
			worst = fmax(worst, fabs(told - sqrt(sum)) / fmax(sqrt(sum), 1e-30));
		}
		qsort(all, count, sizeof *all, ascending);
		for (uint32_t e = 0; e < k; e++)
			hits += (double)nb->distance[(size_t)i * k + e] <= sqrt(all[k - 1]) * (1 + 1e-6);
		wanted += k;
		free(all);
		free(own);
	}
	*off = worst;
	return wanted ? (double)hits / (double)wanted : 1;
}

/* Measures the attraction on a graph, which shows the quality of its order. */
static void attraction(const struct sl_engine *engine, struct sl_device_graph *graph, uint32_t n, const char *order)
{
	struct sl_settings s = {.dims = 2, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
	struct sl_device_embedding *e;
	struct sl_phase phase[SL_PHASES_MAX];
	struct sl_error err;
	float *y = malloc(sizeof *y * 2 * n);
	for (uint32_t i = 0; i < 2 * n; i++)
		y[i] = (float)(10 * sl_random_normal(3, i));
	if (engine->embedding_create(graph, &s, y, &e, &err))
		fail(&err);
	int count = engine->phases(e, phase, SL_PHASES_MAX, &err);
	for (int i = 0; i < count; i++)
		if (!strcmp(phase[i].name, "attraction"))
			printf("| attraction, order %s | %.1f us |\n", order, 1e6 * phase[i].seconds);
	engine->embedding_destroy(e);
	free(y);
}

static void attraction_by_order(const struct sl_engine *engine, struct sl_device *device,
				const struct sl_neighbours *nb, double perplexity)
{
	static const struct { const char *name; enum sl_order order; } orders[] = {
		{"as given", SL_ORDER_NONE}, {"reverse Cuthill-McKee, host", SL_ORDER_RCM},
	};
	for (int i = 0; i < 2; i++) {
		struct sl_affinities_params params = {.perplexities = 1, .perplexity = {perplexity}, .order = orders[i].order};
		struct sl_affinities *a;
		struct sl_device_graph *graph;
		struct sl_error err;
		if (sl_affinities_from_neighbours(&a, nb, &params, &err) || engine->graph_put(device, a, &graph, &err))
			fail(&err);
		attraction(engine, graph, a->n, orders[i].name);
		engine->graph_drop(graph);
		sl_affinities_destroy(a);
	}
}

/* Uploads the neighbours and makes P for some perplexities. */
static void affinities(const struct sl_engine *engine, const struct sl_neighbours *nb, double perplexity, int repeats,
		       bool orders)
{
	struct sl_device *device;
	struct sl_device_neighbours *resident;
	struct sl_device_info info;
	struct sl_error err;
	if (engine->open(&device, NULL, &err))
		fail(&err);
	for (int r = 0; r < repeats; r++) {
		double began = now();
		if (engine->neighbours_put(device, nb, &resident, &err))
			fail(&err);
		engine->info(device, &info);
		printf("| put | %.1f ms | %.0f MB |\n", 1e3 * (now() - began), 1e-6 * (double)info.memory_used);
		for (int again = 0; again < 3; again++) {
			struct sl_affinities_params params = {.lambda = 1, .perplexities = 1, .perplexity = {perplexity - again}};
			struct sl_affinities *summary;
			struct sl_device_graph *graph;
			began = now();
			if (engine->neighbours_graph(resident, &params, &summary, &graph, &err))
				fail(&err);
			printf("| perplexity %g | %.2f ms | %llu entries, entropy %.6f, %u unreachable |\n", perplexity - again,
			       1e3 * (now() - began), (unsigned long long)summary->m, summary->entropy, summary->unreachable);
			if (engine->phases && r + 1 == repeats && !again)
				attraction(engine, graph, summary->n, "of neighbours_put");
			sl_affinities_destroy(summary);
			engine->graph_drop(graph);
		}
		engine->neighbours_drop(resident);
	}
	if (engine->phases && orders)
		attraction_by_order(engine, device, nb, perplexity);
	engine->close(device);
}

/* Each direction r of cluster c has its own seed; directions that are not wide have a tenth of the spread. */
static struct sl_points *mixture(uint32_t n, uint32_t d, uint32_t wide)
{
	const uint32_t clusters = 50;
	struct sl_points *p = calloc(1, sizeof *p);
	float *value = malloc((size_t)n * d * sizeof *value);
	float *axis = malloc((size_t)clusters * (wide + 1) * d * sizeof *axis);
	p->n = p->n_user = n;
	p->d = d;
	p->value = value;
	for (size_t i = 0; i < (size_t)clusters * (wide + 1) * d; i++)
		axis[i] = (float)(sl_random_normal(7, i) * (i / d % (wide + 1) ? 1 / sqrt(d) : 0.5));
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < n; i++) {
		double u = sl_random_uniform(8, i);
		const float *a = axis + (size_t)(u * u * clusters) * (wide + 1) * d;
		float *x = value + (size_t)i * d;
		for (uint32_t k = 0; k < d; k++)
			x[k] = a[k] + (float)((wide ? 0.1 / sqrt(d) : 1 / sqrt(d)) * sl_random_normal(9, (uint64_t)i * d + k));
		for (uint32_t r = 1; r <= wide; r++) {
			float z = (float)sl_random_normal(10, (uint64_t)i * wide + r);
			for (uint32_t k = 0; k < d; k++)
				x[k] += z * a[(size_t)r * d + k];
		}
	}
	free(axis);
	return p;
}

static struct sl_points *read_points(const char *path)
{
	struct sl_source *source;
	struct sl_points *points;
	struct sl_error err;
	unsigned n, d, wide;
	if (sscanf(path, "mixture:%u:%u:%u", &n, &d, &wide) == 3 && n && d)
		return mixture(n, d, wide);
	if (sl_source_open_path(&source, path, NULL, &err) || sl_points_read(&points, NULL, source, &err))
		fail(&err);
	sl_source_close(source);
	return points;
}

/* At most one line per hundredth. */
static void on_progress(void *arg, double share)
{
	static int last = -1;
	if ((int)(100 * share) != last)
		printf("|  | %.3f s | %.2f |\n", now() - *(double *)arg, share);
	last = (int)(100 * share);
}

int main(int count, char **word)
{
	const char *name = "cuda", *metric = "euclidean";
	struct sl_neighbours_params params = {.k = 90, .recall = 1, .p = 2};
	const struct sl_engine *engine;
	struct sl_points *points;
	struct sl_neighbours *nb = NULL;
	struct sl_error err;
	double perplexity = 30, off = 0;
	int repeats = 3, check = 200;
	uint64_t memory = 0;
	bool orders = false, times = false;
	if (count < 2) {
		fprintf(stderr, "usage: bench_neighbours FILE [name=value ...]\n");
		return 2;
	}
	for (int i = 2; i < count; i++) {
		char *value = strchr(word[i], '=');
		if (!value)
			return 2;
		*value++ = 0;
		if (!strcmp(word[i], "engine"))
			name = value;
		else if (!strcmp(word[i], "metric"))
			metric = value;
		else if (!strcmp(word[i], "k"))
			params.k = (uint32_t)atoi(value);
		else if (!strcmp(word[i], "recall"))
			params.recall = atof(value);
		else if (!strcmp(word[i], "p"))
			params.p = atof(value);
		else if (!strcmp(word[i], "repeat"))
			repeats = atoi(value);
		else if (!strcmp(word[i], "check"))
			check = atoi(value);
		else if (!strcmp(word[i], "orders"))
			orders = atoi(value);
		else if (!strcmp(word[i], "memory"))
			memory = (uint64_t)(atof(value) * 1e6);
		else if (!strcmp(word[i], "times"))
			times = atoi(value);
		else if (!strcmp(word[i], "perplexity"))
			perplexity = atof(value);
		else
			return 2;
	}
	static const char *const metrics[] = {"euclidean", "cosine", "inner_product", "l1", "lp", "linf"};
	for (int m = 0; m < 6; m++)
		if (!strcmp(metric, metrics[m]))
			params.metric = m;
	if (sl_engine_open(name, &engine, &err))
		fail(&err);
	points = read_points(word[1]);
	printf("%s: %u points of %u columns, k %u, %s\n", word[1], points->n, points->d, params.k, metric);
	for (int r = 0; r < repeats; r++) {
		sl_neighbours_destroy(nb);
		double began = now();
		params.arg = &began;
		params.progress = times && r + 1 == repeats ? on_progress : NULL;
		int code = engine->neighbours_find ? engine->neighbours_find(0, memory, points, &params, &nb, &err) :
						     sl_neighbours_find(&nb, points, &params, &err);
		if (code)
			fail(&err);
		printf("| %s, recall %g | %.1f ms | estimated %.4f |\n", nb->method, params.recall, 1e3 * (now() - began),
		       nb->recall);
		fflush(stdout);
	}
	if (check && params.metric == SL_EUCLIDEAN) {
		double recall = recall_of(points, nb, (uint32_t)check, &off);
		printf("| recall of %d rows | %.5f | distances off by %.1e at most |\n", check, recall, off);
	}
	if (engine->neighbours_put && perplexity > 0)
		affinities(engine, nb, perplexity, repeats, orders);
	sl_neighbours_destroy(nb);
	sl_points_destroy(points);
	return 0;
}
