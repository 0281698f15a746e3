/* method.c -- what the commands of k-means, Gaussian mixtures and Sammon's mapping share. */
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
	char text[1024], typed[2048];
	if (!taken || sl_taken_is_plain(taken))
		return;
	cli_note_taken(cli, path, sl_input_kind_name(kind), sl_taken_text(taken, text, sizeof text), taken->sign);
	for (uint32_t k = 0; k < taken->notes; k++)
		cli_note(cli, "spaceland: %s: %s", path, cli_as_typed(taken->note[k].text, typed, sizeof typed));
}

int local_read_points(struct local *l, const char *path, const struct sl_points *old, struct sl_points **out)
{
	const struct sl_input_options options = {.read.cancel = (const int *)&cli_interrupted, .new_points = old != NULL,
						 .center = old ? old->center : NULL,
						 .center_columns = old ? old->center_columns : 0};
	struct sl_source *source = NULL;
	int code = sl_source_open_path(&source, path, NULL, &l->err);
	if (!code)
		code = sl_points_read(out, &options, source, &l->err);
	sl_source_close(source);
	if (!code)
		local_tell(l->cli, path, SL_INPUT_POINTS, (*out)->taken);
	return code ? local_failed(l, path) : CLI_OK;
}

int local_lend(struct local *l, const struct sl_method *method, const void *params,
	       int (*attach)(void *run, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err),
	       void *run)
{
	const char *name = cli_option(l->cli, "engine");
	bool edges = l->input.graph != NULL;
	if (!name || !strcmp(name, "cpu"))
		return 0;
	bool automatic = !strcmp(name, SL_ENGINE_AUTO);
	int code = sl_engine_open(name, &l->engine, &l->err);
	if (!code && method->helped(l->engine, params, edges))
		code = l->engine->open(&l->device, NULL, &l->err);
	else if (!code && edges && !automatic)
		return sl_error_set(&l->err, SL_BADPARAM, "Distances along edges are computed by the processor: leave "
				    "--engine %s out.", name);
	if (!code && l->device)
		code = attach(run, l->engine, l->device, &l->err);
	if (!code || !automatic)
		return code;
	cli_note(l->cli, "spaceland: computing on the CPU: %s", l->err.detail);
	return 0;
}
