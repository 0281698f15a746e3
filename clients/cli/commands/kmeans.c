/* kmeans.c -- spaceland kmeans: clusters of points or of a layout in a file. Without a server. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "core/engine/load.h"
#include "core/formats/layout.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/read_points.h"
#include "core/kmeans/kmeans.h"

struct run {
	struct cli *cli;
	const char *path;
	struct sl_kmeans_params params;
	struct sl_points *points;
	float *start;              /* [clusters][d] or NULL */
	const struct sl_engine *engine;
	struct sl_device *device;  /* NULL: computed on the CPU */
	struct sl_kmeans *kmeans;
	uint32_t *label;
	float *centroid;
	double inertia, read_s, cluster_s;
	int iterations;            /* total over all restarts */
	struct sl_error err;
};

static int failed(const struct run *r, const char *path)
{
	return cli_interrupted ? cli_fail(CLI_INTERRUPTED, "interrupted") : cli_fail_error(path, &r->err);
}

static int read_table(struct run *r, const char *path, bool start, struct sl_points **out)
{
	const struct sl_input_options options = {.read.cancel = (const int *)&cli_interrupted, .new_points = start};
	struct sl_source *source = NULL;
	int status = CLI_OK;
	if (sl_source_open_path(&source, path, NULL, &r->err) || sl_points_read(out, &options, source, &r->err))
		status = failed(r, path);
	sl_source_close(source);
	return status;
}

/* Reads --start; its rows give the number of clusters. */
static int read_start(struct run *r, const char *path)
{
	struct sl_points *table = NULL;
	int status = read_table(r, path, true, &table);
	if (status)
		return status;
	if (table->d != r->points->d)
		status = cli_fail(CLI_BADINPUT, "%s has %u columns, and %s has %u; both must have the same "
				  "number", path, table->d, r->path, r->points->d);
	else if (cli_option(r->cli, "clusters") && table->n != (uint32_t)r->params.clusters)
		status = cli_fail(CLI_USAGE, "--clusters is %d, but %s has %u rows; both must be the same "
				  "number", r->params.clusters, path, table->n);
	else if (table->n > r->points->n)
		status = cli_fail(CLI_BADINPUT, "%s has %u rows, more than %s with %u", path, table->n, r->path,
				  r->points->n);
	r->params.clusters = (int)table->n;
	if (!status && !(r->start = malloc((size_t)table->n * table->d * sizeof *r->start)))
		status = cli_fail(CLI_FAILED, "out of memory");
	if (!status)
		sl_points_rows(table, 0, table->n, r->start);
	sl_points_destroy(table);
	return status;
}

/* Opens the device that --engine names. With auto, an unusable GPU means the CPU. */
static int attach(struct run *r)
{
	const char *name = cli_option(r->cli, "engine");
	if (!name || !strcmp(name, "cpu"))
		return 0;
	int code = sl_engine_open(name, &r->engine, &r->err);
	if (!code && r->engine->kmeans_passes)
		code = r->engine->open(&r->device, NULL, &r->err);
	if (!code && r->device)
		code = sl_kmeans_attach(r->kmeans, r->engine, r->device, &r->err);
	if (!code || strcmp(name, SL_ENGINE_AUTO))
		return code;
	cli_note(r->cli, "spaceland: computing on the CPU: %s", r->err.detail);
	return 0;
}

static int cluster(struct run *r)
{
	struct progress progress;
	struct sl_kmeans_status status = {0};
	char text[96];
	size_t table = (size_t)r->params.clusters * r->points->d;
	int code = sl_kmeans_create(&r->kmeans, r->points, &r->params, r->start, &r->err), restart = 0, before = 0;
	if (code == SL_BADPARAM && r->err.pointer[0] && strcmp(r->err.pointer, "/start"))
		return cli_fail(CLI_USAGE, "--%s: %s", r->err.pointer + 1, r->err.detail);
	code = code ? code : attach(r);
	progress_init(&progress, r->cli, "kmeans");
	while (!code && !status.done && !cli_interrupted) {
		code = sl_kmeans_step(r->kmeans, &status, &r->err);
		if (status.restart != restart || status.done)
			r->iterations += before;
		restart = status.restart;
		before = status.iteration;
		bool seeding = status.seeds < r->params.clusters;
		bool drawing = seeding && !status.seeds && status.rounds;
		snprintf(text, sizeof text, "restart %d, %s %d", restart + 1,
			 drawing ? "candidates, round" : seeding ? "seed" : "iteration",
			 drawing ? status.rounds : seeding ? status.seeds : status.iteration);
		progress_phase(&progress, text);
	}
	progress_finish(&progress, true);
	if (code || cli_interrupted)
		return failed(r, r->path);
	r->label = malloc(r->points->n * sizeof *r->label);
	r->centroid = malloc(table * sizeof *r->centroid);
	if (!r->label || !r->centroid)
		return cli_fail(CLI_FAILED, "out of memory");
	return sl_kmeans_result(r->kmeans, r->label, r->centroid, &r->inertia, &r->err) ? failed(r, r->path) : CLI_OK;
}

/* ---- writing ---------------------------------------------------------------------------- */

static bool is_text(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot && !strcasecmp(dot, ".txt");
}

static int output_check(const char *option, const char *path, bool text)
{
	const char *dot = path ? strrchr(path, '.') : NULL;
	if (path && strcmp(path, "-") && !(dot && !strcasecmp(dot, ".npy")) && !(text && is_text(path)))
		return cli_fail(CLI_USAGE, "%s %s: the name must end in .npy%s", option, path, text ? " or .txt" : "");
	return cli_output_check(path);
}

/* Writes labels as int32, or as text with one number per line. */
static int put_labels(FILE *f, const struct run *r, bool text)
{
	char header[SL_NPY_HEADER_BYTES];
	uint32_t n = r->points->n;
	for (uint32_t i = 0; text && i < n; i++)
		if (fprintf(f, "%u\n", r->label[i]) < 0)
			return -1;
	if (text)
		return 0;
	sl_npy_header_of(header, "<i4", (const uint32_t[3]){n});
	return fwrite(header, sizeof header, 1, f) == 1 && fwrite(r->label, sizeof *r->label, n, f) == n ? 0 : -1;
}

static int write_file(struct run *r, const char *path, bool labels)
{
	bool out = !strcmp(path, "-");
	FILE *f = out ? stdout : fopen(path, "wbe");
	if (!f)
		return cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno));
	bool bad = labels ? put_labels(f, r, is_text(path)) :
			    sl_layout_write_npy(f, r->centroid, (uint32_t)r->params.clusters, (int)r->points->d, &r->err);
	bad = (out ? fflush(f) : fclose(f)) || bad;
	return bad ? cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno)) : CLI_OK;
}

static int report(const struct run *r)
{
	char points[24], reading[24], clustering[24];
	if (r->cli->json) {
		json_t *object = json_pack("{s:I, s:I, s:i, s:f, s:i, s:{s:f, s:f}}", "points",
					   (json_int_t)r->points->n, "columns", (json_int_t)r->points->d,
					   "clusters", r->params.clusters, "inertia", r->inertia,
					   "iterations", r->iterations, "seconds", "read", r->read_s, "cluster", r->cluster_s);
		int status = object ? cli_print_json(object) : cli_fail(CLI_FAILED, "out of memory");
		json_decref(object);
		return status;
	}
	cli_note(r->cli, "%s points of %u columns, %d clusters; %d iterations, inertia %.7g; %s reading, %s clustering",
		 cli_count_text(r->points->n, points), r->points->d, r->params.clusters, r->iterations, r->inertia,
		 cli_seconds_text(r->read_s, reading), cli_seconds_text(r->cluster_s, clustering));
	return CLI_OK;
}

static int check_options(struct run *r, const char *labels, const char *centroids)
{
	long threads = 0;
	int status = cli_params_of(r->cli, &sl_kmeans_table, &r->params);
	if (!status)
		status = cli_option_int(r->cli, "threads", 1, 1024, &threads);
	if (!status)
		status = output_check("-o", labels, true);
	if (!status)
		status = output_check("--centroids", centroids, false);
	if (!status && !labels && !centroids && !r->cli->json)
		status = cli_fail(CLI_USAGE, "kmeans has nothing to write: give -o, --centroids or --json");
	if (!status && ((labels && !strcmp(labels, "-")) + (centroids && !strcmp(centroids, "-")) + r->cli->json) > 1)
		status = cli_fail(CLI_USAGE, "two results cannot both go to standard output; name a file");
	if (!status && cli_option(r->cli, "start") && r->params.restarts > 1)
		status = cli_fail(CLI_USAGE, "--restarts has no meaning with --start: all restarts would be the same");
	if (threads)
		omp_set_num_threads((int)threads);
	return status;
}

int cmd_kmeans(struct cli *cli)
{
	const char *labels = cli_option(cli, "output"), *centroids = cli_option(cli, "centroids");
	const char *start = cli_option(cli, "start");
	struct run r = {.cli = cli, .path = cli->arguments[0]};
	double began = cli_now();
	sl_kmeans_defaults(&r.params);
	int status = check_options(&r, labels, centroids);
	if (!status)
		status = read_table(&r, r.path, false, &r.points);
	if (!status && start)
		status = read_start(&r, start);
	r.read_s = cli_now() - began;
	if (!status)
		status = cluster(&r);
	r.cluster_s = cli_now() - began - r.read_s;
	if (!status && labels)
		status = write_file(&r, labels, true);
	if (!status && centroids)
		status = write_file(&r, centroids, false);
	if (!status)
		status = report(&r);
	sl_kmeans_destroy(r.kmeans);
	if (r.device)
		r.engine->close(r.device);
	sl_points_destroy(r.points);
	free(r.start);
	free(r.label);
	free(r.centroid);
	return status;
}
