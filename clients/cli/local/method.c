/* method.c -- what the commands of methods other than t-SNE share: threads, notes, points, devices. */
#include <omp.h>
#include <string.h>

#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/local/local.h"
#include "core/engine/load.h"
#include "core/taken/taken.h"

int local_threads(const struct cli *cli)
{
	long threads = 0;
	int status = cli_option_int(cli, "threads", 1, 1024, &threads);
	if (threads)
		omp_set_num_threads((int)threads);
	return status;
}

void local_tell(const struct cli *cli, const char *path, enum sl_input_kind kind, const struct sl_taken *taken)
{
	char text[1024];
	if (!taken || sl_taken_is_plain(taken))
		return;
	cli_note_taken(cli, path, sl_input_kind_name(kind), sl_taken_text(taken, text, sizeof text), taken->sign);
	for (uint32_t k = 0; k < taken->notes; k++)
		cli_tell(cli, path, "%s", taken->note[k].text);
}

void local_tell_axes(const struct cli *cli, const char *path, uint32_t axes, uint32_t columns, double kept)
{
	cli_tell(cli, path, axes == 1 ? "%u principal axis of %u columns holds %.1f%% of the variance" :
		 "%u principal axes of %u columns hold %.1f%% of the variance", axes, columns, 100 * kept);
}

int local_project(struct local *l, const char *path, struct sl_points **points)
{
	struct sl_points *p = *points, *projected;
	double kept;
	if (!l->given.pca || p->pca)
		return CLI_OK;
	if ((uint32_t)l->given.pca > p->d)
		return cli_fail(CLI_USAGE, "--pca is %d, but %s has only %u columns", l->given.pca, path, p->d);
	if (sl_points_pca(&projected, p, (uint32_t)l->given.pca, &kept, (const int *)&cli_interrupted, &l->err))
		return local_failed(l, path);
	local_tell_axes(l->cli, path, projected->d, p->d, kept);
	projected->report = p->report;
	projected->taken = p->taken;
	projected->more = p->more;
	projected->more_count = p->more_count;
	p->taken = NULL;
	p->more = NULL;
	p->more_count = 0;
	sl_points_destroy(p);
	*points = projected;
	if (points == &l->input.points)
		local_view_nodes(l);
	return CLI_OK;
}

/* Makes them options for new points. Options that name columns are of the old file; where that was no text, they can
 * only be of the new one. */
static void for_new_points(struct sl_input_options *options, const struct sl_points *old)
{
	options->new_points = true;
	options->center = old->center;
	options->center_columns = old->center_columns;
	options->as = old->taken;
	options->axes = old->pca ? old->d : 0;
	options->pca = 0;
	options->drop_not_finite = false;
	if (!old->taken || old->taken->lines)
		options->name_column = options->label_column = options->ignore_columns = options->keep_columns = NULL;
}

int local_read_points(struct local *l, const char *path, const struct sl_points *old, struct sl_points **out)
{
	struct sl_input_options options;
	struct sl_source *source = NULL;
	int status = local_options(l, SL_INPUT_POINTS, &options);
	if (status)
		return status;
	if (old)
		for_new_points(&options, old);
	int code = sl_source_open_path(&source, path, NULL, &l->err);
	if (!code)
		code = sl_points_read(out, &options, source, &l->err);
	sl_source_close(source);
	if (code)
		return local_failed(l, path);
	local_tell(l->cli, path, SL_INPUT_POINTS, (*out)->taken);
	return old ? CLI_OK : local_project(l, path, out);
}

int local_lend(struct local *l, const struct sl_method *method, void *run)
{
	const char *name = method->operation ? cli_option(l->cli, "engine") : NULL;
	bool edges = l->input.graph != NULL;
	if (!name || !strcmp(name, "cpu"))
		return 0;
	bool automatic = !strcmp(name, SL_ENGINE_AUTO);
	int code = sl_engine_open(name, &l->engine, &l->err);
	if (!code && sl_engine_supports(l->engine, method, edges))
		code = l->engine->open(&l->device, NULL, &l->err);
	else if (!code && strcmp(l->engine->name, "cpu") && (!automatic || sl_method_operates(method, edges)))
		code = sl_error_set(&l->err, SL_BADPARAM, "Engine %s does not compute %s of %s.%s", l->engine->name,
				    method->name, edges ? "a graph" : "points", automatic ? "" : " Use --engine cpu.");
	if (!code && l->device)
		code = method->attach(run, l->engine, l->device, &l->err);
	if (!code || !automatic)
		return code;
	cli_tell(l->cli, NULL, "computing on the CPU: %s", l->err.detail);
	return 0;
}
