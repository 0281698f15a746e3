/* quality.c -- spaceland quality: measures the quality of a layout, of a job or in a file. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"
#include "clients/cli/server/http.h"
#include "core/formats/labels/labels.h"
#include "core/formats/read_points.h"
#include "core/measure/quality.h"

/* ---- printing -------------------------------------------------------------------- */

/* Prints one measure: "0.3912" or "0.3912 (of 5,000 of 70,000 nodes)". */
static void line(const json_t *q, const char *title, const char *key, const char *count_key)
{
	double value = cli_number(q, key), nodes = cli_number(q, "nodes"), of = cli_number(q, count_key);
	if (!isfinite(value))
		printf("%-18s -\n", title);
	else if (of < nodes)
		printf("%-18s %.4f (of %.0f nodes)\n", title, value, of);
	else
		printf("%-18s %.4f\n", title, value);
}

/* True if a measure used fewer neighbours than k; 0: it was not measured. */
static bool smaller(const json_t *q, const char *key)
{
	return cli_number(q, key) > 0 && cli_number(q, key) < cli_number(q, "k");
}

/* What the measures are of, if that is less than was asked for. */
static void tell(const struct cli *cli, const json_t *q)
{
	double known = cli_number(q, "recall_k");
	if (smaller(q, "recall_k"))
		cli_tell(cli, NULL, "each point has only %.0f known neighbours, so recall is that of %.0f, not of %.0f",
			 known, known, cli_number(q, "k"));
	if (smaller(q, "trustworthiness_k"))
		cli_tell(cli, NULL, "trustworthiness has a meaning only for fewer neighbours than half of the rows; it is that "
			 "of %.0f, not of %.0f", cli_number(q, "trustworthiness_k"), cli_number(q, "k"));
}

static void print_lines(const json_t *q)
{
	double kl = cli_number(q, "kl"), error = cli_number(q, "kl_error");
	char title[64];
	printf("%-18s %.0f\n", "nodes", cli_number(q, "nodes"));
	if (isfinite(kl) && error > 0)
		printf("%-18s %.4f, up to %.4f off\n", "KL divergence", cli_without_minus(kl), error);
	else if (isfinite(kl))
		printf("%-18s %.4f\n", "KL divergence", cli_without_minus(kl));
	else
		printf("%-18s -\n", "KL divergence");
	snprintf(title, sizeof title, "recall of %.0f", smaller(q, "recall_k") ? cli_number(q, "recall_k") :
		 cli_number(q, "k"));
	line(q, title, "recall", "recall_nodes");
	line(q, "trustworthiness", "trustworthiness", "trustworthiness_nodes");
	line(q, "silhouette", "silhouette", "silhouette_nodes");
}

/* Takes q; NULL: no memory. */
static int print(const struct cli *cli, json_t *q)
{
	tell(cli, q);
	if (cli->json || !q)
		return cli_print_result(q);
	print_lines(q);
	json_decref(q);
	return CLI_OK;
}

/* ---- a job's, from the server ------------------------------------------------------- */

static int of_job(struct cli *cli, const char *id)
{
	long k = 10;
	char path[256], *escaped = cli_escape(id);
	json_t *reply = NULL;
	int status = cli_option_int(cli, "k", 1, SL_QUALITY_MOST, &k);
	snprintf(path, sizeof path, "/v1/jobs/%.128s/quality?k=%ld", escaped ? escaped : "", k);
	free(escaped);
	struct progress progress;
	progress_init(&progress, cli, "quality");
	if (!status) {
		progress_phase(&progress, "measured by the server");
		status = http_get(cli, path, &reply);
	}
	progress_finish(&progress, true);
	return status ? status : print(cli, reply);
}

/* ---- a file's ------------------------------------------------------------------------- */

struct subject {
	struct cli *cli;
	struct sl_quality_input in;
	struct sl_params params;
	struct sl_input input;
	struct sl_neighbours *neighbours;  /* computed here, owned */
	struct sl_affinities *a;
	float *y;
	struct progress progress;
	struct sl_error err;
};

static void show_search(void *arg, double share)
{
	struct subject *s = arg;
	char text[64];
	snprintf(text, sizeof text, "searching neighbours, %.0f%%", 100 * share);
	progress_phase(&s->progress, text);
}

static void show_measure(void *arg, const char *measure, int done, int of)
{
	struct subject *s = arg;
	char text[64];
	snprintf(text, sizeof text, "%s, %d of %d", measure, done + 1, of);
	progress_phase(&s->progress, text);
}

/* Prints s->err on a line of its own. */
static int failed(struct subject *s, const char *path)
{
	progress_finish(&s->progress, true);
	return s->err.code == SL_CANCELLED ? cli_fail(CLI_INTERRUPTED, "interrupted") : cli_fail_error(path, &s->err);
}

static int read_layout(struct subject *s, const char *path)
{
	uint64_t n, dims;
	int status = cli_layout_read(path, &s->y, &n, &dims);
	if (status)
		return status;
	if (n > UINT32_MAX)
		return cli_fail(CLI_BADINPUT, "%s has %" PRIu64 " rows; it must have at most 4,294,967,295", path, n);
	s->in.y = s->y;
	s->in.n_user = (uint32_t)n;
	s->in.dims = (int)dims;
	return CLI_OK;
}

static int read_labels(struct subject *s, const struct sl_read_options *options, const char *path)
{
	const char *only = cli_option(s->cli, "labels-column");
	struct sl_label_table table = {0};
	struct sl_source *source = NULL;
	if (!s->input.graph && !s->input.points)
		return cli_fail(CLI_USAGE, "--labels has no meaning with --neighbours");
	int code = sl_source_open_path(&source, path, NULL, &s->err);
	if (!code && s->input.graph)
		code = sl_graph_read_label_table(s->input.graph, &table, only, options, source, &s->err);
	else if (!code)
		code = sl_points_read_label_table(s->input.points, &table, only, options, source, &s->err);
	if (!code)
		cli_note_labels(s->cli, path, table.taken);
	sl_label_table_finish(&table);
	sl_source_close(source);
	return code ? failed(s, path) : CLI_OK;
}

static int read_input(struct subject *s, const char *path, enum sl_input_kind kind, const char *labels)
{
	struct local l = {.cli = s->cli, .path = path};
	struct sl_input_options options;
	struct sl_source *source = NULL;
	int status = local_options(&l, kind, &options);
	if (status)
		return status;
	options.drop_not_finite |= kind == SL_INPUT_POINTS;  /* as the layout may be of such a table */
	if (sl_source_open_path(&source, path, NULL, &s->err) || sl_input_read(&s->input, &options, source, &s->err))
		status = failed(s, path);
	sl_source_close(source);
	progress_finish(&s->progress, true);
	if (status)
		return status;
	l.input = s->input;
	local_tell(s->cli, path, kind, s->input.graph ? s->input.graph->taken : s->input.points ? s->input.points->taken :
		   s->input.neighbours->taken);
	local_warn(&l);
	if (s->input.points)
		status = local_project(&l, path, &s->input.points);
	return status || !labels ? status : read_labels(s, &options.read, labels);
}

static int parameter(struct subject *s, const char *name)
{
	const char *value = cli_option(s->cli, name);
	if (value && sl_params_set(&s->params, name, value, &s->err))
		return cli_fail(CLI_USAGE, "--%s: %s", name, s->err.detail);
	return CLI_OK;
}

/* Computes neighbours and affinities from the input, whatever its kind. */
static int prepare(struct subject *s, const char *path)
{
	struct sl_affinities_params ap;
	sl_affinities_params_from(&ap, &s->params);
	const struct sl_input *i = &s->input;
	if (i->points) {
		uint32_t k = sl_affinities_neighbours_needed(&ap, i->points->n);
		struct sl_neighbours_params np = {
			.k = k > (uint32_t)s->in.k ? k : (uint32_t)s->in.k, .metric = s->in.metric, .p = s->in.p,
					.recall = 1,
			.cancel = (const int *)&cli_interrupted, .progress = show_search, .arg = s,
		};
		if (sl_neighbours_find(&s->neighbours, i->points, &np, &s->err))
			return failed(s, path);
		s->in.points = i->points;
		s->in.label = i->points->label;
		s->in.labels = i->points->labels;
	}
	s->in.neighbours = s->neighbours ? s->neighbours : i->neighbours;
	progress_phase(&s->progress, "preparing");
	int code = i->graph ? sl_affinities_create(&s->a, i->graph, &ap, &s->err) :
			      sl_affinities_from_neighbours(&s->a, s->in.neighbours, &ap, &s->err);
	if (code)
		return failed(s, path);
	s->in.a = s->a;
	if (i->graph) {
		s->in.label = i->graph->label;
		s->in.labels = i->graph->labels;
	}
	return CLI_OK;
}

static json_t *number_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *quality_json(const struct sl_quality *q, double seconds)
{
	return json_pack("{s:I, s:i, s:o, s:o, s:o, s:I, s:i, s:o, s:I, s:i, s:o, s:I, s:f}",
			 "nodes", (json_int_t)q->nodes, "k", q->k, "kl", number_or_null(q->kl),
			 "kl_error", number_or_null(q->kl_error), "recall", number_or_null(q->recall),
			 "recall_nodes", (json_int_t)q->recall_queries, "recall_k", q->recall_k,
			 "trustworthiness", number_or_null(q->trustworthiness),
			 "trustworthiness_nodes", (json_int_t)q->trust_queries, "trustworthiness_k", q->trust_k,
			 "silhouette", number_or_null(q->silhouette),
			 "silhouette_nodes", (json_int_t)q->silhouette_queries, "seconds", seconds);
}

static int measure(struct subject *s, const char *path, double start)
{
	struct sl_quality q;
	int code = sl_quality_measure(&s->in, &q, &s->err);
	progress_finish(&s->progress, true);
	if (code)
		return failed(s, path);
	return print(s->cli, quality_json(&q, cli_now() - start));
}

static int of_file(struct cli *cli, const char *path, const char *against, enum sl_input_kind kind)
{
	struct subject s = {.cli = cli, .in = {.metric = SL_EUCLIDEAN, .p = 2, .k = 10,
					       .cancel = (const int *)&cli_interrupted, .progress = show_measure,
							.arg = &s}};
	long k = 10;
	double start = cli_now();
	progress_init(&s.progress, cli, "quality");
	sl_params_preset(&s.params, SL_PRESET_DEFAULT);
	int status = cli_option_int(cli, "k", 1, SL_QUALITY_MOST, &k);
	s.in.k = (int)k;
	if (!status)
		status = parameter(&s, "perplexity");
	if (!status)
		status = parameter(&s, "lambda");
	if (!status)
		status = parameter(&s, "dof");
	s.in.dof = s.params.dof;
	if (!status)
		status = cli_metric(cli, &s.in.metric, &s.in.p);
	if (!status)
		status = read_layout(&s, path);
	if (!status) {
		progress_phase(&s.progress, "reading");
		status = read_input(&s, against, kind, cli_option(cli, "labels"));
	}
	if (!status)
		status = prepare(&s, against);
	if (!status)
		status = measure(&s, path, start);
	progress_finish(&s.progress, true);
	sl_affinities_destroy(s.a);
	sl_neighbours_destroy(s.neighbours);
	sl_input_finish(&s.input);
	free(s.y);
	return status;
}

int cmd_quality(struct cli *cli)
{
	const char *what = cli->arguments[0];
	const char *graph = cli_option(cli, "graph"), *points = cli_option(cli, "points");
	const char *neighbours = cli_option(cli, "neighbours");
	if (!!graph + !!points + !!neighbours > 1)
		return cli_fail(CLI_USAGE, "--graph, --points and --neighbours exclude each other; give the one that "
				"the layout was made from");
	if (graph)
		return of_file(cli, what, graph, SL_INPUT_GRAPH);
	if (points)
		return of_file(cli, what, points, SL_INPUT_POINTS);
	if (neighbours)
		return of_file(cli, what, neighbours, SL_INPUT_NEIGHBOURS);
	if (strlen(what) != 26)
		return cli_fail(CLI_USAGE, "quality: '%s' is not the id of a job; a layout in a file needs --graph, "
				"--points or --neighbours, from which it was made", what);
	return of_job(cli, what);
}
