/* transform.c -- spaceland transform: places new points in a layout, of a job or in a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/local/local.h"
#include "clients/cli/server/http.h"
#include "core/embedding/transform.h"

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
	if (!status)
		status = cli_params_query(cli, &sl_columns_params_table, f);
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

struct placing {
	struct local l;            /* the layout and the points that it was made from */
	struct sl_points *fresh;
	float *out;
};

static int read_space(const struct cli *cli, struct sl_transform_params *params)
{
	const char *dof = cli_option(cli, "dof");
	struct sl_params job;
	struct sl_error err;
	int status = cli_metric(cli, &params->metric, &params->p);
	if (status)
		return status;
	sl_params_preset(&job, SL_PRESET_DEFAULT);
	if (dof && sl_params_set(&job, "dof", dof, &err))
		return cli_fail(CLI_USAGE, "--dof: %s", err.detail);
	params->dof = job.dof;
	params->cancel = (const int *)&cli_interrupted;
	return CLI_OK;
}

static int compute(struct placing *p, const char *layout, const char *old, const char *new,
		   const struct sl_transform_params *params, int *dims)
{
	struct local *l = &p->l;
	uint64_t n, d;
	int status = cli_layout_read(layout, &l->y, &n, &d);
	if (!status)
		status = local_read_points(l, old, NULL, &l->input.points);
	if (!status)
		status = local_read_points(l, new, l->input.points, &p->fresh);
	if (status)
		return status;
	if (n != l->input.points->n_user)
		return cli_fail(CLI_BADINPUT, "%s has %" PRIu64 " rows, and %s has %" PRIu32 "; both must have the "
				"same number", layout, n, old, l->input.points->n_user);
	if (sl_transform_projects(l->input.points, p->fresh))
		cli_tell(l->cli, new, "%u columns, projected on the %u principal axes of %s", p->fresh->d,
			 l->input.points->d, old);
	*dims = (int)d;
	p->out = malloc(sizeof *p->out * p->fresh->n_user * d);
	if (!p->out)
		return cli_fail(CLI_FAILED, "out of memory");
	int code = sl_transform(l->input.points, p->fresh, *dims, l->y, params, p->out, &l->err);
	return code ? local_failed(l, new) : CLI_OK;
}

static int here(struct cli *cli, const char *layout, const char *old, const char *new, const char *output)
{
	struct sl_transform_params params;
	struct placing p = {.l = {.cli = cli}};
	int dims = 0, status;
	sl_transform_defaults(&params);
	status = cli_params_of(cli, &sl_transform_table, &params);
	if (!status)
		status = read_space(cli, &params);
	if (!status)
		status = compute(&p, layout, old, new, &params, &dims);
	if (!status) {
		const struct sl_graph nodes = {.n = p.fresh->n_user, .name_bytes = p.fresh->name_bytes,
					       .name_at = p.fresh->name_at};
		status = cli_layout_write(output, &nodes, dims, p.out);
	}
	sl_points_destroy(p.fresh);
	free(p.out);
	local_finish(&p.l);
	return status;
}

int cmd_transform(struct cli *cli)
{
	static const char *const of_file[] = {"metric", "metric-p", "pca", "dof", "format", "isolated", "drop-not-finite"};
	const char *where = cli->arguments[0], *new = cli->arguments[1];
	const char *output = cli_option(cli, "output"), *old = cli_option(cli, "points"), *format;
	struct sl_transform_params params;
	int status = output ? cli_layout_format(output, &format) : cli_fail(CLI_USAGE, "transform has nothing to "
									    "write: give -o");
	if (!status)
		status = cli_output_check(cli, output);
	if (status)
		return status;
	if (old) {
		status = here(cli, where, old, new, output);
		if (!status)
			cli_note(cli, "wrote %s", output);
		return status;
	}
	for (int i = 0; i < (int)(sizeof of_file / sizeof *of_file); i++)
		if (cli_option(cli, of_file[i]))
			return cli_fail(CLI_USAGE, "--%s needs --points; the server knows that of a job", of_file[i]);
	if (strlen(where) != 26 && !access(where, F_OK))
		return cli_fail(CLI_USAGE, "transform: the layout in the file %s needs --points with the file of the points "
				"that it was made from", where);
	sl_transform_defaults(&params);
	status = cli_params_of(cli, &sl_transform_table, &params);  /* wrong values are reported before the upload */
	if (!status)
		status = by_server(cli, where, new, output);
	if (!status)
		cli_note(cli, "wrote %s", output);
	return status;
}
