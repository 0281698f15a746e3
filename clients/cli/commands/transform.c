/* transform.c -- spaceland transform: places new points in a layout, of a job or in a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"
#include "core/embedding/transform.h"
#include "core/formats/read_points.h"

/* ---- by the server ------------------------------------------------------------------- */

static int by_server(struct cli *cli, const char *id, const char *points, const char *output)
{
	const char *format;
	char *path = NULL;
	size_t bytes;
	int status = cli_layout_format(output, &format);
	FILE *f = status ? NULL : open_memstream(&path, &bytes);
	char *escaped = cli_escape(id);
	if (!status && (!f || !escaped))
		status = cli_fail(CLI_FAILED, "out of memory");
	if (!status)
		fprintf(f, "/v1/jobs/%.128s/transform?format=%s", escaped, format);
	if (!status)
		status = cli_params_query(cli, &sl_transform_table, f);
	if (f && fclose(f) && !status)
		status = cli_fail(CLI_FAILED, "out of memory");
	const struct http_request q = {.method = "POST", .path = path, .upload = points, .input = points, .accept = "*/*"};
	if (!status)
		status = http_fetch(cli, &q, output);
	free(escaped);
	free(path);
	return status;
}

/* ---- here ---------------------------------------------------------------------------- */

struct local {
	struct sl_points *points, *fresh;
	float *y, *out;
	struct sl_error err;
};

static int read_table(const char *path, bool new_points, struct sl_points **out)
{
	const struct sl_input_options options = {.read.cancel = (const int *)&cli_interrupted,
						 .new_points = new_points};
	struct sl_source *source = NULL;
	struct sl_error err;
	int status = CLI_OK;
	if (sl_source_open_path(&source, path, NULL, &err) || sl_points_read(out, &options, source, &err))
		status = cli_fail_error(path, &err);
	sl_source_close(source);
	return status;
}

static int read_space(const struct cli *cli, struct sl_transform_params *params)
{
	const char *metric = cli_option(cli, "metric"), *p = cli_option(cli, "metric-p"), *dof = cli_option(cli, "dof");
	struct sl_params job;
	struct sl_error err;
	char *end = NULL;
	sl_params_preset(&job, SL_PRESET_DEFAULT);
	if (metric && sl_distance_parse(metric, &params->metric, &err))
		return cli_fail(CLI_USAGE, "--metric: %s", err.detail);
	if (p)
		params->p = strtod(p, &end);
	if (p && (end == p || *end))
		return cli_fail(CLI_USAGE, "--metric-p must be a number from 1 to 16, not '%s'", p);
	if (dof && sl_params_set(&job, "dof", dof, &err))
		return cli_fail(CLI_USAGE, "--dof: %s", err.detail);
	params->dof = job.dof;
	params->cancel = (const int *)&cli_interrupted;
	return CLI_OK;
}

/* Projects the old points on their principal axes. */
static int project(struct local *l, const char *old, long to)
{
	struct sl_points *projected;
	if (to > l->points->d)
		return cli_fail(CLI_USAGE, "--pca is %ld, but %s has only %u columns", to, old, l->points->d);
	if (sl_points_pca(&projected, l->points, (uint32_t)to, NULL, (const int *)&cli_interrupted, &l->err))
		return cli_fail_error(old, &l->err);
	sl_points_destroy(l->points);
	l->points = projected;
	return CLI_OK;
}

static int compute(struct cli *cli, struct local *l, const char *layout, const char *old, const char *new,
		   const struct sl_transform_params *params, int *dims)
{
	uint64_t n, d;
	long pca = 0;
	int status = cli_option_int(cli, "pca", 1, 1000000, &pca);
	if (!status)
		status = cli_layout_read(layout, &l->y, &n, &d);
	if (!status)
		status = read_table(old, false, &l->points);
	if (!status)
		status = read_table(new, true, &l->fresh);
	if (status)
		return status;
	if (n != l->points->n_user)
		return cli_fail(CLI_BADINPUT, "%s has %" PRIu64 " rows, and %s has %" PRIu32 "; both must have the "
				"same number",
				layout, n, old, l->points->n_user);
	if (pca && (status = project(l, old, pca)))
		return status;
	if (sl_transform_projects(l->points, l->fresh))
		cli_note(cli, "spaceland: %s: %u columns, projected on the %u principal axes of %s", new, l->fresh->d,
			 l->points->d, old);
	*dims = (int)d;
	l->out = malloc(sizeof *l->out * l->fresh->n_user * d);
	if (!l->out)
		return cli_fail(CLI_FAILED, "out of memory");
	if (!sl_transform(l->points, l->fresh, *dims, l->y, params, l->out, &l->err))
		return CLI_OK;
	return cli_interrupted ? cli_fail(CLI_INTERRUPTED, "interrupted") : cli_fail_error(new, &l->err);
}

static int here(struct cli *cli, const char *layout, const char *old, const char *new, const char *output)
{
	struct sl_transform_params params;
	struct local l = {0};
	int dims = 0, status;
	sl_transform_defaults(&params);
	status = cli_params_of(cli, &sl_transform_table, &params);
	if (!status)
		status = read_space(cli, &params);
	if (!status)
		status = compute(cli, &l, layout, old, new, &params, &dims);
	if (!status) {
		const struct sl_graph nodes = {.n = l.fresh->n_user, .name_bytes = l.fresh->name_bytes,
					       .name_at = l.fresh->name_at};
		status = cli_layout_write(output, &nodes, dims, l.out);
	}
	sl_points_destroy(l.points);
	sl_points_destroy(l.fresh);
	free(l.y);
	free(l.out);
	return status;
}

int cmd_transform(struct cli *cli)
{
	const char *where = cli->arguments[0], *new = cli->arguments[1];
	const char *output = cli_option(cli, "output"), *old = cli_option(cli, "points"), *format;
	struct sl_transform_params params;
	int status = output ? cli_layout_format(output, &format) : cli_fail(CLI_USAGE, "transform has nothing to "
									    "write: give -o");
	if (!status)
		status = cli_output_check(output);
	if (status)
		return status;
	if (old)
		return here(cli, where, old, new, output);
	if (cli_option(cli, "metric") || cli_option(cli, "metric-p") || cli_option(cli, "dof") || cli_option(cli, "pca"))
		return cli_fail(CLI_USAGE, "--metric, --metric-p, --pca and --dof need --points; the server knows "
				"those of a job");
	if (strlen(where) != 26 && !access(where, F_OK))
		return cli_fail(CLI_USAGE, "transform: the layout in the file %s needs --points with the file of the points "
				"that it was made from", where);
	sl_transform_defaults(&params);
	status = cli_params_of(cli, &sl_transform_table, &params);  /* wrong values are reported before the upload */
	return status ? status : by_server(cli, where, new, output);
}
