/* bench_points [FILE [parameter=value ...]] -- makes a layout of points on the CPU and prints the time of each step,
 * and the KL divergence against P from exact neighbours, with Z over all pairs. Parameters are those of a job, and
 *   recall=0.99  metric=euclidean
 * Without FILE it takes MNIST (50 principal axes) and letter recognition from SPACELAND_DATA, and prints the results of
 * published programs as well (from the README of the data). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/embedding/embedding.h"
#include "core/formats/read_points.h"
#include "core/measure/quality.h"
#include "core/params.h"
#include "core/threads.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const struct sl_error *err)
{
	char text[1024];
	fprintf(stderr, "%s\n", sl_error_format(err, text, sizeof text));
	exit(1);
}

struct options {
	struct sl_params params;
	struct sl_neighbours_params search;
};

static float *embed(const struct sl_affinities *a, const struct sl_params *params, struct sl_status *status)
{
	struct sl_error err;
	struct sl_device *device;
	struct sl_device_graph *graph;
	struct sl_embedding *e;
	const struct sl_engine *engine = sl_engine_cpu();
	float *y = malloc(sizeof *y * a->n_user * (size_t)params->dims);
	*status = (struct sl_status){0};
	if (!y || engine->open(&device, NULL, &err) || engine->graph_put(device, a, &graph, &err) ||
	    sl_embedding_create(&e, engine, graph, a, params, NULL, &err))
		fail(&err);
	while (!status->done)
		if (sl_embedding_advance(e, 1000, status, &err))
			fail(&err);
	if (sl_embedding_layout(e, y, &err))
		fail(&err);
	sl_embedding_destroy(e);
	engine->graph_drop(graph);
	engine->close(device);
	return y;
}

/* KL of the layout against P from exact neighbours. */
static double measure(const struct sl_points *p, const struct options *o, const struct sl_affinities_params *ap,
		      const float *user)
{
	struct sl_neighbours_params exact = o->search;
	struct sl_neighbours *nb;
	struct sl_affinities *a;
	struct sl_error err;
	double kl, z;
	exact.recall = 1;
	if (sl_neighbours_find(&nb, p, &exact, &err) || sl_affinities_from_neighbours(&a, nb, ap, &err))
		fail(&err);
	float *y = malloc(sizeof *y * a->n * (size_t)o->params.dims);
	sl_affinities_gather(a, o->params.dims, user, y);
	if (sl_quality_kl(a, o->params.dims, y, &kl, &z, &err))
		fail(&err);
	free(y);
	sl_affinities_destroy(a);
	sl_neighbours_destroy(nb);
	return kl;
}

static void run(const char *path, const struct options *given, const char *published)
{
	struct options o = *given;
	struct sl_affinities_params ap;
	struct sl_source *source;
	struct sl_points *p;
	struct sl_neighbours *nb;
	struct sl_affinities *a;
	struct sl_status status;
	struct sl_error err;
	double start = now();
	if (sl_source_open_path(&source, path, NULL, &err) || sl_points_read(&p, NULL, source, &err))
		fail(&err);
	sl_source_close(source);
	double read = now();
	sl_affinities_params_from(&ap, &o.params);
	o.search.k = sl_affinities_neighbours_needed(&ap, p->n);
	if (sl_neighbours_find(&nb, p, &o.search, &err))
		fail(&err);
	double found = now();
	if (sl_affinities_from_neighbours(&a, nb, &ap, &err))
		fail(&err);
	double prepared = now();
	float *y = embed(a, &o.params, &status);
	double done = now();
	const char *slash = strrchr(path, '/');
	printf("| %s | %u x %u | %s, %.4f | %.2f | %.2f | %.2f | %.1f | %.1f | %.4f | %s |\n", slash ? slash + 1 : path,
			p->n, p->d,
	       nb->method, nb->recall, read - start, found - read, prepared - found, done - prepared, done - start,
	       measure(p, &o, &ap, y), published);
	fflush(stdout);
	free(y);
	sl_affinities_destroy(a);
	sl_neighbours_destroy(nb);
	sl_points_destroy(p);
}

int main(int count, char **word)
{
	static const struct {
		const char *file, *published;
	} usual[] = {
		{"letter-20k-f32.npy", "openTSNE: 64 s, 1.147; FIt-SNE: 61 s, 1.250"},
		{"mnist-70k-pca50-f32.npy", "openTSNE: 110 s, 2.733; FIt-SNE: 92 to 105 s, 2.791"},
	};
	const char *file = NULL, *folder = getenv("SPACELAND_DATA");
	struct options o = {.search = {.recall = SL_NEIGHBOURS_RECALL, .p = 2}};
	struct sl_error err;
	char path[4096];
	sl_threads_wait_briefly(word);
	sl_params_preset(&o.params, SL_PRESET_DEFAULT);
	for (int i = 1; i < count; i++) {
		char *value = strchr(word[i], '=');
		if (!value) {
			file = word[i];
			continue;
		}
		*value++ = 0;
		if (!strcmp(word[i], "recall"))
			o.search.recall = atof(value);
		else if (!strcmp(word[i], "metric") ? sl_distance_parse(value, &o.search.metric, &err)
						    : sl_params_set(&o.params, word[i], value, &err))
			fail(&err);
	}
	if (!file && !folder) {
		printf("skipped: no data sets; SPACELAND_DATA names their folder\n");
		return 0;
	}
	printf("| points | shape | neighbours, recall | reading, s | neighbours, s | P, s | embedding, s | in all, s | KL "
			"| published |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; !file && i < sizeof usual / sizeof *usual; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, usual[i].file);
		run(path, &o, usual[i].published);
	}
	if (file)
		run(file, &o, "");
	return 0;
}
