/* local.c -- spaceland embed --local: the same as with a server, by libspaceland in this process. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clients/cli/cli.h"
#include "clients/cli/progress.h"
#include "core/embedding.h"
#include "core/engine_load.h"
#include "core/formats/read.h"
#include "core/measure/picture.h"

#define SLICE_MS 50.0  /* between two looks at the progress bar and the interrupt flag */

/* One run and everything it owns. */
struct local {
	struct cli *cli;
	const char *path;
	struct sl_params params;
	struct sl_graph *graph;
	struct sl_affinities *affinities;
	const struct sl_engine *engine;
	struct sl_device *device;
	struct sl_device_graph *device_graph;
	struct sl_embedding *embedding;
	struct sl_status status;
	float *init, *y;  /* [n_user * dims] or NULL */
	double read_s, prepare_s;
	struct sl_error err;
};

static int failed(const struct local *l, const char *path)
{
	if (cli_interrupted)
		return cli_fail(CLI_INTERRUPTED, "interrupted");
	return cli_fail_error(path, &l->err);
}

/* ---- reading ---------------------------------------------------------------- */

static int read_graph(struct local *l)
{
	const char *format = cli_option(l->cli, "format"), *labels = cli_option(l->cli, "labels");
	/* cancel takes the address of an int that another thread sets; here a signal handler does */
	struct sl_read_options options = {.cancel = (const int *)&cli_interrupted};
	struct sl_source *source = NULL;
	int status = CLI_OK;
	if (format && sl_graph_format_parse(format, &options.format, &l->err))
		return cli_fail(CLI_USAGE, "--format: %s", l->err.detail);
	if (sl_source_open_path(&source, l->path, NULL, &l->err) || sl_graph_read(&l->graph, &options, source, &l->err))
		status = failed(l, l->path);
	sl_source_close(source);
	if (status || !labels)
		return status;
	source = NULL;
	if (sl_source_open_path(&source, labels, NULL, &l->err) ||
	    sl_graph_read_labels(l->graph, &options, source, &l->err))
		status = failed(l, labels);
	sl_source_close(source);
	return status;
}

static int read_init(struct local *l)
{
	const char *path = cli_option(l->cli, "init");
	uint64_t n, dims;
	if (!path || cli_init_is_word(path))
		return CLI_OK;
	int status = cli_layout_read(path, &l->init, &n, &dims);
	if (status)
		return status;
	if (n != l->graph->n || dims != (uint64_t)l->params.dims)
		return cli_fail(CLI_BADINPUT, "%s: has the shape (%" PRIu64 ", %" PRIu64 "), but (%" PRIu32 ", %d) is "
				"needed: the graph's nodes and --dims", path, n, dims, l->graph->n, l->params.dims);
	return CLI_OK;
}

static void warn(const struct local *l)
{
	const struct sl_graph_report *r = &l->graph->report;
	const struct {
		uint64_t count;
		const char *what;
	} odd[] = {
		{r->self_loops, "self-loops were left out"}, {r->zero_weights, "entries of weight 0 were left out"},
		{r->duplicates, "duplicate entries were merged"}, {r->isolated, "nodes have no edge; they are placed apart"},
	};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (odd[i].count)
			cli_note(l->cli, "spaceland: %s: %" PRIu64 " %s", l->path, odd[i].count, odd[i].what);
}

/* ---- computing -------------------------------------------------------------- */

static int prepare(struct local *l)
{
	struct sl_affinities_params ap;
	struct sl_device_options device = {0};
	long threads = 0;
	int status = cli_option_int(l->cli, "threads", 1, 1024, &threads);
	device.threads = (int)threads;
	if (status)
		return status;
	sl_affinities_params_from(&ap, &l->params);
	const char *engine = cli_option(l->cli, "engine");
	if (sl_engine_open(engine ? engine : "auto", &l->engine, &l->err))
		return failed(l, engine);
	if (sl_affinities_create(&l->affinities, l->graph, &ap, &l->err) ||
	    l->engine->open(&l->device, &device, &l->err) ||
	    l->engine->graph_put(l->device, l->affinities, &l->device_graph, &l->err) ||
	    sl_embedding_create(&l->embedding, l->engine, l->device_graph, l->affinities, &l->params, l->init, &l->err))
		return failed(l, l->path);
	return CLI_OK;
}

/* Iterations a second, of late: they slow down as the layout grows. */
struct speed {
	double seconds, value;  /* compute time at the last look; NAN before the second */
	int iteration;
};

static double speed_now(struct speed *v, const struct sl_status *s)
{
	if (s->seconds - v->seconds >= 0.5 || s->done || isnan(v->value)) {
		double newest = (s->iteration - v->iteration) / (s->seconds - v->seconds);
		if (s->iteration > v->iteration && isfinite(newest))
			v->value = newest;
		v->seconds = s->seconds;
		v->iteration = s->iteration;
	}
	return v->value;
}

static int iterate(struct local *l)
{
	struct progress progress;
	struct speed v = {.value = NAN};
	int code = 0;
	progress_init(&progress, l->cli, "embed");
	while (!code && !l->status.done && !cli_interrupted) {
		code = sl_embedding_advance(l->embedding, SLICE_MS, &l->status, &l->err);
		const struct sl_status *s = &l->status;
		double speed = s->done ? s->iteration / s->seconds : speed_now(&v, s);
		if (!code)
			progress_iterations(&progress, s->iteration, s->done ? s->iteration : s->iterations, s->kl, speed,
					    (s->iterations - s->iteration) / speed, NULL);
	}
	progress_finish(&progress, false);
	if (code || cli_interrupted)
		return failed(l, l->path);
	l->y = malloc((size_t)l->graph->n * (size_t)l->params.dims * sizeof *l->y);
	if (!l->y)
		return cli_fail(CLI_FAILED, "out of memory");
	return sl_embedding_layout(l->embedding, l->y, &l->err) ? failed(l, l->path) : CLI_OK;
}

/* ---- writing ---------------------------------------------------------------- */

static int write_picture(struct local *l, const char *path)
{
	const struct sl_graph *g = l->graph;
	long size = 1024;
	void *png = NULL;
	size_t bytes = 0;
	bool out = !strcmp(path, "-");
	int status = cli_option_int(l->cli, "picture-size", 16, 4096, &size);
	uint8_t *placed = calloc(g->n, 1);
	FILE *f = NULL;
	if (status || !placed) {
		status = status ? status : cli_fail(CLI_FAILED, "out of memory");
		goto out;
	}
	for (uint32_t i = 0; i < l->affinities->n; i++)
		placed[l->affinities->user[i]] = 1;
	const struct sl_picture_options options = {
		.width = (int)size, .height = (int)size, .legend = g->label != NULL, .placed = placed,
		.label_name = (const char *const *)g->label_name,
	};
	if (sl_picture_png(&options, l->y, g->n, l->params.dims, g->label, g->labels, &png, &bytes, &l->err)) {
		status = failed(l, path);
		goto out;
	}
	f = out ? stdout : fopen(path, "wbe");
	bool bad = !f || fwrite(png, 1, bytes, f) != bytes;
	bad = (f && (out ? fflush(f) : fclose(f))) || bad;
	if (bad)
		status = cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno));
out:
	free(placed);
	free(png);
	return status;
}

static int report(const struct local *l, double total_s, const char *layout, const char *picture)
{
	const struct sl_status *s = &l->status;
	char nodes[24], entries[24], reading[24], preparing[24], computing[24], total[24];
	if (l->cli->json) {
		json_t *kl = isfinite(s->kl) ? json_real(s->kl) : json_null();
		json_t *object = json_pack("{s:I, s:I, s:i, s:i, s:o, s:s, s:{s:f, s:f, s:f, s:f}, s:s?, s:s?}",
			"nodes", (json_int_t)l->graph->n, "entries", (json_int_t)l->graph->m, "dims", l->params.dims,
			"iterations", s->iteration, "kl", kl, "stop", sl_stop_name(s->stop), "seconds", "read", l->read_s,
			"prepare", l->prepare_s, "embed", s->seconds, "total", total_s, "layout", layout, "picture", picture);
		int status = object ? cli_print_json(object) : cli_fail(CLI_FAILED, "out of memory");
		json_decref(object);
		return status;
	}
	cli_note(l->cli, "%s nodes, %s entries; %d iterations, KL %.4f; %s reading, %s preparing, %s computing, %s in all",
		 cli_count_text(l->graph->n, nodes), cli_count_text((double)l->graph->m, entries), s->iteration, s->kl,
		 cli_seconds_text(l->read_s, reading), cli_seconds_text(l->prepare_s, preparing),
		 cli_seconds_text(s->seconds, computing), cli_seconds_text(total_s, total));
	if (layout || picture)
		cli_note(l->cli, "wrote %s%s%s", layout ? layout : "", layout && picture ? " and " : "",
			 picture ? picture : "");
	return CLI_OK;
}

static void finish(struct local *l)
{
	sl_embedding_destroy(l->embedding);
	if (l->device_graph)
		l->engine->graph_drop(l->device_graph);
	if (l->device)
		l->engine->close(l->device);
	sl_affinities_destroy(l->affinities);
	sl_graph_destroy(l->graph);
	free(l->init);
	free(l->y);
}

int cli_embed_local(struct cli *cli, const char *path)
{
	const char *layout = cli_option(cli, "output"), *picture = cli_option(cli, "picture");
	struct local l = {.cli = cli, .path = path};
	double start = cli_now();
	int status = cli_params(cli, &l.params);
	if (!status && !layout && !picture && !cli->json)
		status = cli_fail(CLI_USAGE, "embed --local keeps nothing: give -o, --picture or --json");
	if (!status)
		status = read_graph(&l);
	if (!status)
		status = read_init(&l);
	l.read_s = cli_now() - start;
	if (!status) {
		warn(&l);
		status = prepare(&l);
	}
	l.prepare_s = cli_now() - start - l.read_s;
	if (!status)
		status = iterate(&l);
	if (!status && layout)
		status = cli_layout_write(layout, l.graph, l.params.dims, l.y);
	if (!status && picture)
		status = write_picture(&l, picture);
	if (!status)
		status = report(&l, cli_now() - start, layout, picture);
	finish(&l);
	return status;
}
