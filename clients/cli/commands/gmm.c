/* gmm.c -- spaceland gmm: a mixture of Gaussians of points or of a layout in a file. Without a server. */
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
#include "core/formats/numpy/npy.h"
#include "core/formats/read_points.h"
#include "core/gmm/gmm.h"

struct run {
	struct cli *cli;
	const char *path;
	struct sl_gmm_params params;
	struct sl_points *points, *start;
	const struct sl_engine *engine;
	struct sl_device *device;  /* NULL: computed on the CPU */
	struct sl_gmm *gmm;
	double read_s, fit_s;
	struct sl_error err;
};

static const char *const outputs[] = {"output", "responsibilities", "means", "covariances", "weights"};
enum { LABELS, RESPONSIBILITIES, MEANS, COVARIANCES, WEIGHTS, OUTPUTS };

static int failed(const struct run *r, const char *path)
{
	return cli_interrupted ? cli_fail(CLI_INTERRUPTED, "interrupted") : cli_fail_error(path, &r->err);
}

static int read_table(struct run *r, const char *path, struct sl_points **out)
{
	const struct sl_input_options options = {.read.cancel = (const int *)&cli_interrupted};
	struct sl_source *source = NULL;
	int status = CLI_OK;
	if (sl_source_open_path(&source, path, NULL, &r->err) || sl_points_read(out, &options, source, &r->err))
		status = failed(r, path);
	sl_source_close(source);
	return status;
}

/* Reads --start; its columns give the number of components. */
static int read_start(struct run *r, const char *path)
{
	int status = read_table(r, path, &r->start);
	if (status)
		return status;
	if (r->start->n != r->points->n)
		return cli_fail(CLI_BADINPUT, "%s has %u rows, and %s has %u; both must have the same number", path,
				r->start->n, r->path, r->points->n);
	if (cli_option(r->cli, "components") &&
	    (r->params.components.count > 1 || r->params.components.value[0] != r->start->d))
		return cli_fail(CLI_USAGE, "--components is %s, but %s has %u columns; both must be the same number",
				cli_option(r->cli, "components"), path, r->start->d);
	r->params.components = (struct sl_param_list){1, {r->start->d}};
	float *values = malloc((size_t)r->start->n * r->start->d * sizeof *values);
	if (!values)
		return cli_fail(CLI_FAILED, "out of memory");
	sl_points_rows(r->start, 0, r->start->n, values);
	free(r->start->value);
	r->start->value = values;
	r->start->type = SL_POINTS_F32;
	return CLI_OK;
}

/* Opens the device that --engine names. With auto, an unusable GPU means the CPU. */
static int attach(struct run *r)
{
	const char *name = cli_option(r->cli, "engine");
	if (!name || !strcmp(name, "cpu"))
		return 0;
	int code = sl_engine_open(name, &r->engine, &r->err);
	if (!code && r->engine->gmm_passes)
		code = r->engine->open(&r->device, NULL, &r->err);
	if (!code && r->device)
		code = sl_gmm_attach(r->gmm, r->engine, r->device, &r->err);
	if (!code || strcmp(name, SL_ENGINE_AUTO))
		return code;
	cli_note(r->cli, "spaceland: computing on the CPU: %s", r->err.detail);
	return 0;
}

static int fit(struct run *r)
{
	struct progress progress;
	struct sl_gmm_status status = {0};
	char text[96];
	int code = sl_gmm_create(&r->gmm, r->points, &r->params, r->start ? r->start->value : NULL, &r->err);
	if (code == SL_BADPARAM && r->err.pointer[0] && strcmp(r->err.pointer, "/start")) {
		bool reg = !strcmp(r->err.pointer, "/reg_covar");
		return cli_fail(CLI_USAGE, "--%s: %s", reg ? "reg-covar" : r->err.pointer + 1, r->err.detail);
	}
	if (code == SL_BADPARAM)
		return cli_fail(CLI_BADINPUT, "%s: %s", cli_option(r->cli, "start"), r->err.detail);
	code = code ? code : attach(r);
	if (code)
		return failed(r, r->path);
	progress_init(&progress, r->cli, "gmm");
	while (!code && !status.done && !cli_interrupted) {
		bool whole;
		code = sl_gmm_advance(r->gmm, 100, &whole, &status, &r->err);
		int at = status.fits < r->params.components.count ? status.fits : r->params.components.count - 1;
		snprintf(text, sizeof text, "%.0f components, restart %d, iteration %d", r->params.components.value[at],
			 status.restart + 1, status.iteration);
		progress_phase(&progress, text);
	}
	progress_finish(&progress, true);
	return code || cli_interrupted ? failed(r, r->path) : CLI_OK;
}

/* ---- writing ---------------------------------------------------------------------------- */

struct array {
	const char *type;
	uint32_t shape[3];
	const void *data;
};

static struct array array_of(const struct run *r, int which)
{
	const struct sl_gmm_mixture *g = sl_gmm_best(r->gmm);
	const int32_t *label;
	const float *share;
	struct sl_error ignored;
	sl_gmm_result(r->gmm, &label, &share, &ignored);
	bool tied = g->covariance == SL_GMM_TIED, full = g->covariance == SL_GMM_FULL;
	uint32_t columns = g->covariance == SL_GMM_SPHERICAL ? 0 : g->d;
	switch (which) {
	case LABELS: return (struct array){"<i4", {r->points->n}, label};
	case RESPONSIBILITIES: return (struct array){"<f4", {r->points->n, g->k}, share};
	case MEANS: return (struct array){"<f8", {g->k, g->d}, g->mean};
	case COVARIANCES: return (struct array){"<f8", {tied ? g->d : g->k, columns, full ? g->d : 0}, g->spread};
	default: return (struct array){"<f8", {g->k}, g->weight};
	}
}

static int write_array(const struct run *r, int which, const char *path)
{
	struct array a = array_of(r, which);
	char header[SL_NPY_HEADER_BYTES];
	size_t count = a.shape[0] * (size_t)(a.shape[1] ? a.shape[1] : 1) * (a.shape[2] ? a.shape[2] : 1);
	bool out = !strcmp(path, "-");
	FILE *f = out ? stdout : fopen(path, "wbe");
	if (!f)
		return cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno));
	sl_npy_header_of(header, a.type, a.shape);
	size_t size = a.type[2] == '8' ? 8 : 4;
	bool bad = fwrite(header, sizeof header, 1, f) != 1 || fwrite(a.data, size, count, f) != count;
	bad = (out ? fflush(f) : fclose(f)) || bad;
	return bad ? cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno)) : CLI_OK;
}

static int report(const struct run *r)
{
	const struct sl_gmm_mixture *g = sl_gmm_best(r->gmm);
	char points[24], reading[24], fitting[24];
	int count;
	const struct sl_gmm_fit *fits = sl_gmm_fits(r->gmm, &count);
	json_t *models = json_array();
	for (int i = 0; i < count; i++) {
		json_array_append_new(models, json_pack("{s:i, s:f, s:f, s:f, s:i, s:b, s:i}", "components", fits[i].components,
							"log_likelihood", fits[i].log_likelihood, "aic", fits[i].aic, "bic",
							fits[i].bic, "iterations", fits[i].iterations, "converged",
							fits[i].converged, "regularised", fits[i].ridged));
		cli_note(r->cli, "%d components: log-likelihood %.9g, AIC %.7g, BIC %.7g, %d iterations%s%s",
			 fits[i].components, fits[i].log_likelihood, fits[i].aic, fits[i].bic, fits[i].iterations,
			 fits[i].converged ? "" : ", not converged", fits[i].ridged ? ", regularised" : "");
	}
	cli_note(r->cli, "%s points of %u columns, %u components; %s reading, %s fitting",
		 cli_count_text(r->points->n, points), r->points->d, g->k, cli_seconds_text(r->read_s, reading),
		 cli_seconds_text(r->fit_s, fitting));
	json_t *object = json_pack("{s:I, s:I, s:i, s:o, s:{s:f, s:f}}", "points", (json_int_t)r->points->n, "columns",
				   (json_int_t)r->points->d, "components", (int)g->k, "models", models, "seconds", "read",
				   r->read_s, "fit", r->fit_s);
	int status = !object ? cli_fail(CLI_FAILED, "out of memory") : r->cli->json ? cli_print_json(object) : CLI_OK;
	json_decref(object);
	return status;
}

static int check_options(struct run *r)
{
	long threads = 0;
	int status = cli_params_of(r->cli, &sl_gmm_table, &r->params), files = 0, standard = r->cli->json;
	if (!status)
		status = cli_option_int(r->cli, "threads", 1, 1024, &threads);
	for (int i = 0; !status && i < OUTPUTS; i++) {
		const char *path = cli_option(r->cli, outputs[i]), *dot = path ? strrchr(path, '.') : NULL;
		files += path != NULL;
		standard += path && !strcmp(path, "-");
		if (path && strcmp(path, "-") && !(dot && !strcasecmp(dot, ".npy")))
			status = cli_fail(CLI_USAGE, "--%s %s: the name must end in .npy", outputs[i], path);
		else
			status = cli_output_check(path);
	}
	if (!status && !files && !r->cli->json)
		status = cli_fail(CLI_USAGE, "gmm has nothing to write: give -o, --responsibilities, --means, --covariances, "
				  "--weights or --json");
	if (!status && standard > 1)
		status = cli_fail(CLI_USAGE, "two results cannot both go to standard output; name a file");
	if (!status && cli_option(r->cli, "start") && r->params.restarts > 1)
		status = cli_fail(CLI_USAGE, "--restarts has no meaning with --start: all restarts would be the same");
	if (threads)
		omp_set_num_threads((int)threads);
	return status;
}

int cmd_gmm(struct cli *cli)
{
	struct run r = {.cli = cli, .path = cli->arguments[0]};
	double began = cli_now();
	sl_gmm_defaults(&r.params);
	int status = check_options(&r);
	if (!status)
		status = read_table(&r, r.path, &r.points);
	if (!status && cli_option(cli, "start"))
		status = read_start(&r, cli_option(cli, "start"));
	r.read_s = cli_now() - began;
	if (!status)
		status = fit(&r);
	r.fit_s = cli_now() - began - r.read_s;
	for (int i = 0; !status && i < OUTPUTS; i++)
		if (cli_option(cli, outputs[i]))
			status = write_array(&r, i, cli_option(cli, outputs[i]));
	if (!status)
		status = report(&r);
	sl_gmm_destroy(r.gmm);
	if (r.device)
		r.engine->close(r.device);
	sl_points_destroy(r.points);
	sl_points_destroy(r.start);
	return status;
}
