/* sammon.c -- spaceland sammon: a layout of points or of a graph by distances. Without a server. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"
#include "core/sammon/sammon.h"

#define SLICE_MS 50.0  /* interval between updates of the progress bar and checks of the interrupt flag */

struct run {
	struct local l;
	const struct sl_method *method;
	struct sl_sammon_params params;
	struct sl_status status;
	void *sammon;
	double compute_s;
};

static bool of_graph(const struct run *r)
{
	return r->l.input.graph != NULL;
}

static int create(struct run *r)
{
	struct local *l = &r->l;
	const struct sl_method_input in = {.points = l->input.points, .edges = l->input.graph};
	uint32_t n = of_graph(r) ? l->input.graph->n : l->input.points->n, d = of_graph(r) ? 0 : l->input.points->d;
	int code = sl_method_check(r->method, &r->params, n, d, &l->err);
	if (!code)
		code = r->method->create(&r->sammon, &in, &r->params, &l->err);
	return code ? code : local_lend(l, r->method, &r->params, r->method->attach, r->sammon);
}

static int compute(struct run *r)
{
	struct local *l = &r->l;
	struct progress progress;
	double began = cli_now();
	int code = create(r);
	if (code == SL_BADPARAM)
		return l->err.pointer[0] ? cli_fail(CLI_USAGE, "--%s: %s", l->err.pointer + 1, l->err.detail) :
					   cli_fail(CLI_USAGE, "%s", l->err.detail);
	progress_init(&progress, l->cli, "sammon");
	progress.measure = r->method->measure;
	while (!code && !r->status.done && !cli_interrupted) {
		code = r->method->advance(r->sammon, SLICE_MS, &r->status, &l->err);
		double speed = r->status.iteration / r->status.seconds;
		if (!code && r->status.iteration)
			progress_iterations(&progress, r->status.iteration, r->status.done ? r->status.iteration :
					    r->status.iterations, r->status.measure, speed, NAN, NULL);
		else if (!code)
			progress_phase(&progress, "distances");
	}
	progress_finish(&progress, false);
	struct sl_method_array y;
	if (!code && !cli_interrupted)
		code = r->method->layout_of(r->sammon, &y, &l->err);
	if (code || cli_interrupted)
		return local_failed(l, l->path);
	l->y = y.data;
	r->compute_s = cli_now() - began;
	return CLI_OK;
}

static int report(const struct run *r, const char *layout, const char *picture)
{
	const struct local *l = &r->l;
	char count[24], reading[24], computing[24];
	if (l->cli->json) {
		json_t *object = json_pack("{s:I, s:i, s:i, s:f, s:s, s:{s:f, s:f}, s:s?, s:s?}", "nodes",
					   (json_int_t)l->nodes.n, "dims", r->params.dims, "iterations", r->status.iteration,
					   "stress", r->status.measure, "stop", sl_stop_name(r->status.stop), "seconds", "read",
					   l->read_s, "compute", r->compute_s, "layout", layout, "picture", picture);
		return cli_print_result(object);
	}
	cli_note(l->cli, "%s %s; %d iterations, stress %.6g; %s reading, %s computing",
		 cli_count_text(l->nodes.n, count), of_graph(r) ? "nodes" : "points", r->status.iteration, r->status.measure,
		 cli_seconds_text(l->read_s, reading), cli_seconds_text(r->compute_s, computing));
	cli_note_written(l->cli, layout, picture);
	return CLI_OK;
}

static int check_options(struct run *r, const char *layout, const char *picture)
{
	struct cli *cli = r->l.cli;
	const char *format;
	int status = cli_params_of(cli, &sl_sammon_table, &r->params);
	if (!status)
		status = local_threads(cli);
	if (!status && layout)
		status = cli_layout_format(layout, &format);
	if (!status)
		status = cli_output_check(cli, layout);
	if (!status)
		status = cli_output_check(cli, picture);
	if (!status && !layout && !picture && !cli->json)
		status = cli_fail(CLI_USAGE, "sammon has nothing to write: give -o, --picture or --json");
	return status;
}

int cmd_sammon(struct cli *cli)
{
	const char *layout = cli_option(cli, "output"), *picture = cli_option(cli, "picture");
	struct run r = {.l = {.cli = cli, .path = cli->arguments[0]}, .method = cli_method_of(cli->command)};
	double began = cli_now();
	sl_sammon_defaults(&r.params);
	sl_params_preset(&r.l.params, SL_PRESET_DEFAULT);
	int status = check_options(&r, layout, picture);
	r.l.params.dims = r.params.dims;
	if (!status)
		status = local_read(&r.l);
	r.l.read_s = cli_now() - began;
	if (!status && r.l.input.points)
		status = local_project(&r.l, r.l.path, &r.l.input.points);
	if (!status && r.l.input.kind == SL_INPUT_NEIGHBOURS)
		status = cli_fail(CLI_BADINPUT, "%s holds neighbours, not all distances; sammon takes points or a graph",
				  r.l.path);
	if (!status)
		status = compute(&r);
	if (!status && layout)
		status = cli_layout_write(layout, &r.l.nodes, r.params.dims, r.l.y);
	if (!status && picture)
		status = local_write_picture(&r.l, picture);
	if (!status)
		status = report(&r, layout, picture);
	r.method->destroy(r.sammon);
	local_finish(&r.l);
	return status;
}
