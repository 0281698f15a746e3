/* kmeans.c -- spaceland kmeans: clusters of points or of a layout in a file. Without a server. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"
#include "core/kmeans/kmeans.h"

struct run {
	struct local l;
	struct sl_kmeans_params params;
	float *start;              /* [clusters][d], as for sl_kmeans_create(), or NULL */
	struct sl_kmeans *kmeans;
	uint32_t *label;
	float *centroid;           /* relative to the center of the points */
	double inertia, cluster_s;
	int iterations;            /* total over all restarts */
};

/* Reads --start; its rows give the number of clusters. */
static int read_start(struct run *r, const char *path)
{
	struct sl_points *table = NULL, *points = r->l.input.points;
	const struct sl_points without_center = {.taken = points->taken};
	bool cosine = r->params.metric == SL_KMEANS_COSINE;
	int status = local_read_points(&r->l, path, cosine ? &without_center : points, &table);
	if (status)
		return status;
	if (table->d != r->l.input.points->d)
		status = cli_fail(CLI_BADINPUT, "%s has %u columns, and %s has %u; both must have the same "
				  "number", path, table->d, r->l.path, r->l.input.points->d);
	else if (cli_option(r->l.cli, "clusters") && table->n != (uint32_t)r->params.clusters)
		status = cli_fail(CLI_USAGE, "--clusters is %d, but %s has %u rows; both must be the same "
				  "number", r->params.clusters, path, table->n);
	else if (table->n > r->l.input.points->n)
		status = cli_fail(CLI_BADINPUT, "%s has %u rows, more than %s with %u", path, table->n, r->l.path,
				  r->l.input.points->n);
	r->params.clusters = (int)table->n;
	if (!status && !(r->start = malloc((size_t)table->n * table->d * sizeof *r->start)))
		status = cli_fail(CLI_FAILED, "out of memory");
	if (!status)
		sl_points_rows(table, 0, table->n, r->start);
	sl_points_destroy(table);
	return status;
}

static int attach(void *run, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err)
{
	return sl_kmeans_attach(((struct run *)run)->kmeans, engine, device, err);
}

static int cluster(struct run *r)
{
	struct progress progress;
	struct sl_kmeans_status status = {0};
	char text[96];
	size_t table = (size_t)r->params.clusters * r->l.input.points->d;
	int code = sl_kmeans_create(&r->kmeans, r->l.input.points, &r->params, r->start, &r->l.err);
	int restart = 0, before = 0;
	if (code == SL_BADPARAM && r->l.err.pointer[0] && strcmp(r->l.err.pointer, "/start"))
		return cli_fail(CLI_USAGE, "--%s: %s", r->l.err.pointer + 1, r->l.err.detail);
	code = code ? code : local_lend(&r->l, cli_method_of(r->l.cli->command), &r->params, attach, r);
	progress_init(&progress, r->l.cli, "kmeans");
	while (!code && !status.done && !cli_interrupted) {
		code = sl_kmeans_step(r->kmeans, &status, &r->l.err);
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
		return local_failed(&r->l, r->l.path);
	r->label = malloc(r->l.input.points->n * sizeof *r->label);
	r->centroid = malloc(table * sizeof *r->centroid);
	if (!r->label || !r->centroid)
		return cli_fail(CLI_FAILED, "out of memory");
	code = sl_kmeans_result(r->kmeans, r->label, r->centroid, &r->inertia, &r->l.err);
	return code ? local_failed(&r->l, r->l.path) : CLI_OK;
}

/* ---- writing ---------------------------------------------------------------------------- */

static bool is_text(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot && !strcasecmp(dot, ".txt");
}

static int output_check(const struct cli *cli, const char *option, const char *path, bool text)
{
	const char *dot = path ? strrchr(path, '.') : NULL;
	if (path && strcmp(path, "-") && !(dot && !strcasecmp(dot, ".npy")) && !(text && is_text(path)))
		return cli_fail(CLI_USAGE, "%s %s: the name must end in .npy%s", option, path, text ? " or .txt" : "");
	return cli_output_check(cli, path);
}

/* Writes labels as int32 or, to a .txt, one number per line. */
static int write_labels(const struct run *r, const char *path)
{
	uint32_t n = r->l.input.points->n;
	if (!is_text(path))
		return cli_array_write(path, "<i4", (const uint32_t[3]){n}, r->label);
	FILE *f = cli_output_open(path);
	if (!f)
		return CLI_FAILED;
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%u\n", r->label[i]);
	return cli_output_close(f, path, ferror(f), NULL);
}

static int report(const struct run *r)
{
	const struct sl_points *p = r->l.input.points;
	char points[24], reading[24], clustering[24], note[240];
	sl_kmeans_note(&r->params, p->n, r->label, note, sizeof note);
	if (note[0])
		cli_tell(r->l.cli, r->l.path, "%s", note);
	if (r->l.cli->json) {
		json_t *object = json_pack("{s:I, s:I, s:i, s:f, s:i, s:{s:f, s:f}}", "points",
					   (json_int_t)p->n, "columns", (json_int_t)p->d,
					   "clusters", r->params.clusters, "inertia", r->inertia,
					   "iterations", r->iterations, "seconds", "read", r->l.read_s, "cluster", r->cluster_s);
		return cli_print_result(object);
	}
	cli_note(r->l.cli, "%s points of %u columns, %d clusters; %d iterations, inertia %.7g; %s reading, %s "
		 "clustering",
		 cli_count_text(p->n, points), p->d, r->params.clusters, r->iterations, r->inertia,
		 cli_seconds_text(r->l.read_s, reading), cli_seconds_text(r->cluster_s, clustering));
	return CLI_OK;
}

/* Writes centroids as float32 or, if the points have a center, as float64, in the user's units. */
static int write_centroids(const struct run *r, const char *path)
{
	const struct sl_points *p = r->l.input.points;
	const double *center = r->params.metric == SL_KMEANS_COSINE ? NULL : sl_points_own_center(p);
	const uint32_t shape[3] = {(uint32_t)r->params.clusters, p->d};
	if (!center)
		return cli_array_write(path, "<f4", shape, r->centroid);
	double *wide = malloc((size_t)shape[0] * shape[1] * sizeof *wide);
	if (!wide)
		return cli_fail(CLI_FAILED, "out of memory");
	sl_points_add_center(center, shape[0], shape[1], r->centroid, wide);
	int status = cli_array_write(path, "<f8", shape, wide);
	free(wide);
	return status;
}

/* The file; NULL: none, or the standard output. */
static const char *named(const char *path)
{
	return path && strcmp(path, "-") ? path : NULL;
}

static int check_options(struct run *r, const char *labels, const char *centroids)
{
	int status = cli_params_of(r->l.cli, &sl_kmeans_table, &r->params);
	if (!status)
		status = local_threads(r->l.cli);
	if (!status)
		status = output_check(r->l.cli, "-o", labels, true);
	if (!status)
		status = output_check(r->l.cli, "--centroids", centroids, false);
	if (!status && !labels && !centroids && !r->l.cli->json)
		status = cli_fail(CLI_USAGE, "kmeans has nothing to write: give -o, --centroids or --json");
	if (!status && ((labels && !strcmp(labels, "-")) + (centroids && !strcmp(centroids, "-")) + r->l.cli->json) > 1)
		status = cli_fail(CLI_USAGE, "two results cannot both go to standard output; name a file");
	if (!status && cli_option(r->l.cli, "start") && r->params.restarts > 1)
		status = cli_fail(CLI_USAGE, "--restarts has no meaning with --start: all restarts would be the same");
	return status;
}

int cmd_kmeans(struct cli *cli)
{
	const char *labels = cli_option(cli, "output"), *centroids = cli_option(cli, "centroids");
	const char *start = cli_option(cli, "start");
	struct run r = {.l = {.cli = cli, .path = cli->arguments[0]}};
	double began = cli_now();
	sl_kmeans_defaults(&r.params);
	int status = check_options(&r, labels, centroids);
	if (!status)
		status = local_read_points(&r.l, r.l.path, NULL, &r.l.input.points);
	if (!status && start)
		status = read_start(&r, start);
	if (!status)
		local_warn(&r.l);
	r.l.read_s = cli_now() - began;
	if (!status)
		status = cluster(&r);
	r.cluster_s = cli_now() - began - r.l.read_s;
	if (!status && labels)
		status = write_labels(&r, labels);
	if (!status && centroids)
		status = write_centroids(&r, centroids);
	if (!status)
		status = report(&r);
	if (!status)
		cli_note_written(cli, named(labels), named(centroids));
	sl_kmeans_destroy(r.kmeans);
	local_finish(&r.l);
	free(r.start);
	free(r.label);
	free(r.centroid);
	return status;
}
