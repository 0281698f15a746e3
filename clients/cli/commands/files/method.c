/* method.c -- spaceland NAME: computes the method of this name from a file, without a server. The method's table
 * (core/method/method.h) says what it takes and what it gives. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"
#include "core/formats/numpy/npy.h"

#define SLICE_MS 50.0  /* interval between updates of the progress bar and checks of the interrupt flag */

struct run {
	struct local l;
	const struct sl_method *method;
	struct sl_method_params params;
	uint32_t columns;          /* of l.init, the values to begin with */
	double *start;             /* as in struct sl_method_input, or NULL */
	struct sl_status status;
	void *of;                  /* the method's run */
	struct sl_method_result result;
	double compute_s;
};

static uint32_t nodes_of(const struct run *r)
{
	return r->l.nodes.n;
}

/* ---- options ---------------------------------------------------------------------------- */

/* The file of an array of the result, or NULL. */
static const char *file_of(const struct run *r, int array)
{
	char option[64];
	return cli_option(r->l.cli, cli_array_option(r->method, array, option));
}

static bool ends_in(const char *path, const char *ending)
{
	const char *dot = strrchr(path, '.');
	return dot && !strcasecmp(dot, ending);
}

static int check_array(const struct run *r, int array)
{
	const char *path = file_of(r, array);
	char option[64];
	if (path && strcmp(path, "-") && !ends_in(path, ".npy") && !(!array && ends_in(path, ".txt")))
		return cli_fail(CLI_USAGE, "--%s %s: the name must end in .npy%s", cli_array_option(r->method, array, option),
				path, array ? "" : " or .txt");
	return cli_output_check(r->l.cli, path);
}

static int nothing_to_write(const struct sl_method *m)
{
	char options[400], option[64];
	snprintf(options, sizeof options, "-o%s", m->layout ? ", --picture" : "");
	for (int i = m->layout ? 0 : 1; m->results[i].name; i++)
		snprintf(options + strlen(options), sizeof options - strlen(options), ", --%s",
			 cli_array_option(m, i, option));
	return cli_fail(CLI_USAGE, "%s has nothing to write: give %s or --json", m->name, options);
}

/* Checks the files of all results, before anything is computed. */
static int check_outputs(const struct run *r)
{
	const struct cli *cli = r->l.cli;
	const struct sl_method *m = r->method;
	const char *layout = m->layout ? cli_option(cli, "output") : NULL;
	const char *picture = m->layout ? cli_option(cli, "picture") : NULL, *format;
	int files = (layout != NULL) + (picture != NULL), standard = cli->json;
	int status = layout ? cli_layout_format(layout, &format) : CLI_OK;
	standard += (layout && !strcmp(layout, "-")) + (picture && !strcmp(picture, "-"));
	if (!status)
		status = cli_output_check(cli, layout);
	if (!status)
		status = cli_output_check(cli, picture);
	for (int i = 0; !status && m->results[i].name; i++) {
		const char *path = file_of(r, i);
		files += path != NULL;
		standard += path && !strcmp(path, "-");
		status = check_array(r, i);
	}
	if (!status && !files && !cli->json)
		status = nothing_to_write(m);
	if (!status && standard > 1)
		status = cli_fail(CLI_USAGE, "two results cannot both go to standard output; name a file");
	return status;
}

/* ---- the start -------------------------------------------------------------------------- */

/* The file of --start is of `parts` parts: tells the method, unless the user asked for another number. */
static int set_parts(struct run *r, const char *path, uint32_t parts, const char *unit)
{
	const struct sl_method *m = r->method;
	const char *given = cli_option(r->l.cli, m->parts);
	const struct sl_param_info *info = sl_param_find(m->params, m->parts);
	const struct sl_param_list *list = sl_param_list(info, &r->params);
	double value;
	sl_param_number(info, &r->params, &value);
	if (given && (value != parts || (list && list->count > 1)))
		return cli_fail(CLI_USAGE, "--%s is %s, but %s has %u %s; both must be the same number", m->parts, given, path,
				parts, unit);
	return m->start(&r->params, parts, &r->l.err) ? cli_fail_error(NULL, &r->l.err) : CLI_OK;
}

static int check_start(struct run *r, const char *path, const struct sl_points *table)
{
	const struct sl_points *p = r->l.input.points;
	bool shares = r->method->start_file == SL_START_SHARES;
	if (shares && table->n != p->n_user)
		return cli_fail(CLI_BADINPUT, "%s has %u rows, and %s has %u; both must have the same number", path, table->n,
				r->l.path, p->n_user);
	if (!shares && table->d != p->d)
		return cli_fail(CLI_BADINPUT, "%s has %u columns, and %s has %u; both must have the same number", path,
				table->d, r->l.path, p->d);
	int status = set_parts(r, path, shares ? table->d : table->n, shares ? "columns" : "rows");
	if (!status && !shares && table->n > p->n)
		status = cli_fail(CLI_BADINPUT, "%s has %u rows, more than %s with %u", path, table->n, r->l.path, p->n);
	return status;
}

/* Reads --start: means, by the center of the points unless the method compares values with 0, or shares. */
static int read_start(struct run *r, const char *path)
{
	const struct sl_points *p = r->l.input.points;
	const struct sl_points without_center = {.taken = p->taken};
	bool shares = r->method->start_file == SL_START_SHARES;
	bool plain = shares || (r->method->absolute && r->method->absolute(&r->params));
	struct sl_points *table = NULL;
	int status = local_read_points(&r->l, path, plain ? &without_center : p, &table);
	if (status)
		return status;
	status = check_start(r, path, table);
	size_t values = (size_t)table->n * table->d;
	float *value = status ? NULL : malloc(values * sizeof *value);
	if (!status && (!value || !(r->start = malloc(values * sizeof *r->start))))
		status = cli_fail(CLI_FAILED, "out of memory");
	if (!status) {
		sl_points_rows(table, 0, table->n, value);
		sl_points_add_center(plain ? NULL : sl_points_own_center(p), table->n, table->d, value, r->start);
	}
	free(value);
	sl_points_destroy(table);
	return status;
}

/* Reads --state: a row of values for each node. */
static int read_state(struct run *r, const char *path)
{
	struct sl_source *source = NULL;
	struct sl_error err;
	uint64_t n, columns;
	int code = sl_source_open_path(&source, path, NULL, &err);
	if (!code)
		code = sl_npy_read(&r->l.init, &n, &columns, NULL, source, &err);
	sl_source_close(source);
	if (code)
		return cli_fail_error(path, &err);
	if (n != nodes_of(r))
		return cli_fail(CLI_BADINPUT, "%s has %" PRIu64 " rows, and %s has %u nodes; both must be the same number",
				path, n, r->l.path, nodes_of(r));
	r->columns = (uint32_t)columns;
	return CLI_OK;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* What the file is read as; AUTO: the file shows it, or --kind says it. */
static enum sl_input_kind kind_of(const struct run *r)
{
	bool points = sl_method_takes(r->method, SL_OF_POINTS), edges = sl_method_takes(r->method, SL_OF_EDGES);
	if (points != edges && !cli_option(r->l.cli, "kind"))
		return points ? SL_INPUT_POINTS : SL_INPUT_GRAPH;
	return SL_INPUT_AUTO;
}

/* Whether the method takes what the file holds. */
static int check_input(const struct run *r)
{
	const struct sl_input *in = &r->l.input;
	const char *name = r->method->name;
	bool points = sl_method_takes(r->method, SL_OF_POINTS), edges = sl_method_takes(r->method, SL_OF_EDGES);
	if (in->points ? points : in->graph ? edges : false)
		return CLI_OK;
	return cli_fail(CLI_BADINPUT, "%s holds %s; %s takes %s", r->l.path,
			in->graph ? "a graph" : in->points ? "points" : "neighbours, not all distances", name,
			points && edges ? "points or a graph" : points ? "points" : "a graph");
}

static int read_all(struct run *r)
{
	struct local *l = &r->l;
	const char *start = r->method->start ? cli_option(l->cli, "start") : NULL;
	const char *state = r->method->value_columns ? cli_option(l->cli, "state") : NULL;
	int status = local_read(l, kind_of(r));
	if (!status)
		status = check_input(r);
	if (!status && l->input.points)
		status = local_project(l, l->path, &l->input.points);
	if (!status && start)
		status = read_start(r, start);
	if (!status && state)
		status = read_state(r, state);
	const struct sl_graph *g = l->input.graph;
	const char *told = !status && g && r->method->told ? r->method->told(&r->params, g->symmetric) : NULL;
	if (told)
		cli_tell(l->cli, l->path, "%s", told);
	return status;
}

/* ---- computing -------------------------------------------------------------------------- */

static int create(struct run *r)
{
	struct local *l = &r->l;
	const struct sl_graph *g = l->input.graph;
	const struct sl_points *p = l->input.points;
	const struct sl_method_input in = {.points = p, .edges = g, .init = l->init, .columns = r->columns,
					   .start = r->start, .start_kind = r->start ? r->method->start_file : SL_START_NONE};
	int code = sl_method_check(r->method, &r->params, g ? g->n : p->n, g ? r->columns : p->d, &l->err);
	if (!code)
		code = r->method->create(&r->of, &in, &r->params, &l->err);
	return code ? code : local_lend(l, r->method, r->of);
}

/* Reports an error of parameters by the option, or by the file of the start if it is not of a parameter. */
static int refused(const struct run *r)
{
	const char *name = r->l.err.pointer[0] ? r->l.err.pointer + 1 : "";
	if (r->start && *name && !sl_param_find(r->method->params, name))
		return cli_fail(CLI_BADINPUT, "%s: %s", cli_option(r->l.cli, "start"), r->l.err.detail);
	return cli_fail_error(NULL, &r->l.err);
}

static int compute(struct run *r)
{
	struct local *l = &r->l;
	const struct sl_method *m = r->method;
	struct progress progress;
	progress_init(&progress, l->cli, m->name);
	progress.measure = m->measure;
	progress_phase(&progress, "preparing");
	int code = create(r);
	while (!code && !r->status.done && !cli_interrupted) {
		const struct sl_status *s = &r->status;
		code = m->advance(r->of, SLICE_MS, &r->status, &l->err);
		if (!code && s->iteration)
			progress_iterations(&progress, s->iteration, s->done ? s->iteration : s->iterations, s->measure,
					    s->iteration / s->seconds, NAN, NULL);
	}
	progress_finish(&progress, !m->layout || code);
	if (code == SL_BADPARAM)
		return refused(r);
	struct sl_method_array y = {.data = NULL};
	if (!code && !cli_interrupted && m->layout_of)
		code = m->layout_of(r->of, &y, &l->err);
	if (!code && !cli_interrupted && m->result)
		code = m->result(r->of, &r->result, &l->err);
	l->y = y.data;
	if (code || cli_interrupted)
		return local_failed(l, l->path);
	if (r->result.note[0])
		cli_tell(l->cli, l->path, "%s", r->result.note);
	return CLI_OK;
}

/* ---- results ---------------------------------------------------------------------------- */

static double number_of(const struct sl_method_array *a, size_t at)
{
	switch (a->type) {
	case SL_ARRAY_INT32: return ((const int32_t *)a->data)[at];
	case SL_ARRAY_FLOAT32: return (double)((const float *)a->data)[at];
	default: return ((const double *)a->data)[at];
	}
}

/* Writes a line for each row. */
static int write_text(const struct sl_method_array *a, const char *path)
{
	FILE *f = cli_output_open(path);
	size_t columns = (a->shape[1] ? a->shape[1] : 1) * (size_t)(a->shape[2] ? a->shape[2] : 1);
	if (!f)
		return CLI_FAILED;
	for (size_t at = 0; at < a->shape[0] * columns; at++)
		fprintf(f, "%.*g%c", a->type == SL_ARRAY_FLOAT64 ? 17 : a->type == SL_ARRAY_INT32 ? 10 : 9, number_of(a, at),
			(at + 1) % columns ? ' ' : '\n');
	return cli_output_close(f, path, ferror(f), NULL);
}

static int write_array(const struct run *r, const char *name, const char *path)
{
	static const char *const types[] = {
		[SL_ARRAY_FLOAT32] = "<f4", [SL_ARRAY_INT32] = "<i4", [SL_ARRAY_FLOAT64] = "<f8"};
	const struct sl_method_array *a = r->result.array;
	while (a < r->result.array + r->result.count && strcmp(a->name, name) != 0)
		a++;
	if (a == r->result.array + r->result.count)
		return cli_fail(CLI_FAILED, "this run gives no %s", name);
	return ends_in(path, ".txt") ? write_text(a, path) : cli_array_write(path, types[a->type], a->shape, a->data);
}

static int write_all(struct run *r)
{
	const struct cli *cli = r->l.cli;
	const struct sl_method *m = r->method;
	const char *layout = m->layout ? cli_option(cli, "output") : NULL;
	const char *picture = m->layout ? cli_option(cli, "picture") : NULL;
	int status = layout ? cli_layout_write(layout, &r->l.nodes, m->dims(&r->params), r->l.y) : CLI_OK;
	if (!status && picture)
		status = local_write_picture(&r->l, picture);
	for (int i = 0; !status && m->results[i].name; i++)
		if (file_of(r, i))
			status = write_array(r, m->results[i].name, file_of(r, i));
	return status;
}

/* ---- what is told ----------------------------------------------------------------------- */

static const char *doing(const struct sl_method *m, bool now)
{
	return m->doing[now] ? m->doing[now] : now ? "computing" : "compute";
}

static json_t *cell(const struct sl_method_column *c, double value)
{
	if (c->type == SL_TABLE_BOOL)
		return json_boolean(value != 0);
	if (c->type == SL_TABLE_WHOLE)
		return json_integer((json_int_t)value);
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *table_json(const struct run *r)
{
	json_t *rows = json_array();
	const double *value = r->result.table;
	for (int i = 0; i < r->result.rows; i++) {
		json_t *row = json_object();
		for (const struct sl_method_column *c = r->method->columns; c->name; c++)
			json_object_set_new(row, c->name, cell(c, *value++));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *result_json(const struct run *r)
{
	const struct local *l = &r->l;
	const struct sl_method *m = r->method;
	const struct sl_status *s = &r->status;
	json_t *o = json_pack("{s:I, s:i, s:o, s:s, s:{s:f, s:f}}", m->layout || l->input.graph ? "nodes" : "points",
			      (json_int_t)nodes_of(r), "iterations", s->iteration, m->measure,
			      isfinite(s->measure) ? json_real(s->measure) : json_null(), "stop", sl_stop_name(s->stop),
			      "seconds", "read", l->read_s, doing(m, false), r->compute_s);
	if (m->layout) {
		json_object_set_new(o, "dims", json_integer(m->dims(&r->params)));
		json_object_set_new(o, "layout", json_pack("s?", cli_option(l->cli, "output")));
		json_object_set_new(o, "picture", json_pack("s?", cli_option(l->cli, "picture")));
	} else if (l->input.points) {
		json_object_set_new(o, "columns", json_integer(l->input.points->d));
	}
	if (r->result.parts)
		json_object_set_new(o, m->parts, json_integer(r->result.parts));
	if (m->table)
		json_object_set_new(o, m->table, table_json(r));
	return o;
}

static void note_table(const struct run *r)
{
	const double *value = r->result.table;
	char line[400];
	for (int i = 0; i < r->result.rows; i++) {
		line[0] = '\0';
		for (const struct sl_method_column *c = r->method->columns; c->name; c++, value++) {
			size_t at = strlen(line);
			if (c->type == SL_TABLE_BOOL)
				snprintf(line + at, sizeof line - at, "%s%s %s", at ? ", " : "", c->name, *value != 0 ? "yes" : "no");
			else
				snprintf(line + at, sizeof line - at, "%s%s %.9g", at ? ", " : "", c->name, *value);
		}
		cli_note(r->l.cli, "%s", line);
	}
}

static int report(const struct run *r)
{
	const struct local *l = &r->l;
	const struct sl_method *m = r->method;
	const struct sl_status *s = &r->status;
	char count[24], reading[24], computing[24], columns[40] = "", parts[80] = "";
	if (l->cli->json)
		return cli_print_result(result_json(r));
	if (!m->layout && l->input.points)
		snprintf(columns, sizeof columns, " of %u columns", l->input.points->d);
	if (r->result.parts)
		snprintf(parts, sizeof parts, ", %u %s", r->result.parts, m->parts);
	note_table(r);
	cli_note(l->cli, "%s %s%s%s; %d iterations, %s %.7g; %s reading, %s %s", cli_count_text(nodes_of(r), count),
		 l->input.graph ? "nodes" : "points", columns, parts, s->iteration, m->measure_title, s->measure,
		 cli_seconds_text(l->read_s, reading), cli_seconds_text(r->compute_s, computing), doing(m, true));
	if (m->layout)
		cli_note_written(l->cli, cli_option(l->cli, "output"), cli_option(l->cli, "picture"));
	for (int i = 0; m->results[i].name; i++) {
		const char *path = file_of(r, i);
		if (path && strcmp(path, "-"))
			cli_note(l->cli, "wrote %s", path);
	}
	return CLI_OK;
}

int cmd_method(struct cli *cli)
{
	struct run r = {.l = {.cli = cli, .path = cli->arguments[0]}, .method = cli_method_of(cli->command)};
	double began = cli_now();
	sl_param_defaults(r.method->params, &r.params);
	sl_params_preset(&r.l.params, SL_PRESET_DEFAULT);
	int status = cli_params_of(cli, r.method->params, &r.params);
	if (!status)
		status = local_threads(cli);
	if (!status)
		status = check_outputs(&r);
	if (!status && r.method->dims)
		r.l.params.dims = r.method->dims(&r.params);
	if (!status)
		status = read_all(&r);
	r.l.read_s = cli_now() - began;
	if (!status)
		status = compute(&r);
	r.compute_s = cli_now() - began - r.l.read_s;
	if (!status)
		status = write_all(&r);
	if (!status)
		status = report(&r);
	r.method->destroy(r.of);
	sl_method_result_finish(&r.result);
	free(r.start);
	local_finish(&r.l);
	return status;
}
