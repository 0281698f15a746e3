/* gmm.c -- spaceland gmm: a mixture of Gaussians of points or of a layout in a file. Without a server. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"
#include "core/gmm/gmm.h"

struct run {
	struct local l;
	struct sl_gmm_params params;
	struct sl_points *start;
	struct sl_gmm *gmm;
	double fit_s;
};

static const char *const outputs[] = {"output", "responsibilities", "means", "covariances", "weights"};
enum { LABELS, RESPONSIBILITIES, MEANS, COVARIANCES, WEIGHTS, OUTPUTS };

/* Reads --start; its columns give the number of components. */
static int read_start(struct run *r, const char *path)
{
	static const struct sl_points none;  /* responsibilities have no center */
	int status = local_read_points(&r->l, path, &none, &r->start);
	if (status)
		return status;
	if (r->start->n != r->l.input.points->n)
		return cli_fail(CLI_BADINPUT, "%s has %u rows, and %s has %u; both must have the same number", path,
				r->start->n, r->l.path, r->l.input.points->n);
	if (cli_option(r->l.cli, "components") &&
	    (r->params.components.count > 1 || r->params.components.value[0] != r->start->d))
		return cli_fail(CLI_USAGE, "--components is %s, but %s has %u columns; both must be the same number",
				cli_option(r->l.cli, "components"), path, r->start->d);
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

static int attach(void *run, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err)
{
	return sl_gmm_attach(((struct run *)run)->gmm, engine, device, err);
}

static int fit(struct run *r)
{
	struct progress progress;
	struct sl_gmm_status status = {0};
	char text[96];
	int code = sl_gmm_create(&r->gmm, r->l.input.points, &r->params, r->start ? r->start->value : NULL, &r->l.err);
	if (code == SL_BADPARAM && r->l.err.pointer[0] && strcmp(r->l.err.pointer, "/start")) {
		bool reg = !strcmp(r->l.err.pointer, "/reg_covar");
		return cli_fail(CLI_USAGE, "--%s: %s", reg ? "reg-covar" : r->l.err.pointer + 1, r->l.err.detail);
	}
	if (code == SL_BADPARAM)
		return cli_fail(CLI_BADINPUT, "%s: %s", cli_option(r->l.cli, "start"), r->l.err.detail);
	code = code ? code : local_lend(&r->l, cli_method_of(r->l.cli->command), &r->params, attach, r);
	if (code)
		return local_failed(&r->l, r->l.path);
	progress_init(&progress, r->l.cli, "gmm");
	while (!code && !status.done && !cli_interrupted) {
		bool whole;
		code = sl_gmm_advance(r->gmm, 100, &whole, &status, &r->l.err);
		int at = status.fits < r->params.components.count ? status.fits : r->params.components.count - 1;
		snprintf(text, sizeof text, "%.0f components, restart %d, iteration %d", r->params.components.value[at],
			 status.restart + 1, status.iteration);
		progress_phase(&progress, text);
	}
	progress_finish(&progress, true);
	return code || cli_interrupted ? local_failed(&r->l, r->l.path) : CLI_OK;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* Writes the means in the user's units. */
static int write_means(const struct run *r, const struct sl_gmm_mixture *g, const char *path)
{
	const double *center = sl_points_own_center(r->l.input.points);
	size_t values = (size_t)g->k * g->d;
	double *mean = malloc(values * sizeof *mean);
	if (!mean)
		return cli_fail(CLI_FAILED, "out of memory");
	for (size_t at = 0; at < values; at++)
		mean[at] = g->mean[at] + (center ? center[at % g->d] : 0);
	int status = cli_array_write(path, "<f8", (const uint32_t[3]){g->k, g->d}, mean);
	free(mean);
	return status;
}

static int write_array(const struct run *r, int which, const char *path)
{
	const struct sl_gmm_mixture *g = sl_gmm_best(r->gmm);
	const int32_t *label;
	const float *share;
	struct sl_error ignored;
	uint32_t n = r->l.input.points->n, columns = g->covariance == SL_GMM_SPHERICAL ? 0 : g->d;
	bool tied = g->covariance == SL_GMM_TIED, full = g->covariance == SL_GMM_FULL;
	sl_gmm_result(r->gmm, &label, &share, &ignored);
	switch (which) {
	case LABELS: return cli_array_write(path, "<i4", (const uint32_t[3]){n}, label);
	case RESPONSIBILITIES: return cli_array_write(path, "<f4", (const uint32_t[3]){n, g->k}, share);
	case MEANS: return write_means(r, g, path);
	case COVARIANCES:
		return cli_array_write(path, "<f8", (const uint32_t[3]){tied ? g->d : g->k, columns, full ? g->d : 0},
				       g->spread);
	default: return cli_array_write(path, "<f8", (const uint32_t[3]){g->k}, g->weight);
	}
}

static int report(const struct run *r)
{
	const struct sl_gmm_mixture *g = sl_gmm_best(r->gmm);
	const struct sl_points *p = r->l.input.points;
	char points[24], reading[24], fitting[24];
	int count;
	const struct sl_gmm_fit *fits = sl_gmm_fits(r->gmm, &count);
	json_t *models = json_array();
	for (int i = 0; i < count; i++) {
		json_array_append_new(models, json_pack("{s:i, s:f, s:f, s:f, s:i, s:b, s:i}", "components", fits[i].components,
							"log_likelihood", fits[i].log_likelihood, "aic", fits[i].aic, "bic",
							fits[i].bic, "iterations", fits[i].iterations, "converged",
							fits[i].converged, "regularised", fits[i].ridged));
		cli_note(r->l.cli, "%d components: log-likelihood %.9g, AIC %.7g, BIC %.7g, %d iterations%s%s",
			 fits[i].components, fits[i].log_likelihood, fits[i].aic, fits[i].bic,
			 fits[i].iterations, fits[i].converged ? "" : ", not converged",
			 fits[i].ridged ? ", regularised" : "");
	}
	char note[240];
	if (sl_gmm_note(p, g->k, note, sizeof note)[0])
		cli_tell(r->l.cli, r->l.path, "%s", note);
	cli_note(r->l.cli, "%s points of %u columns, %u components; %s reading, %s fitting",
		 cli_count_text(p->n, points), p->d, g->k,
		 cli_seconds_text(r->l.read_s, reading), cli_seconds_text(r->fit_s, fitting));
	json_t *object = json_pack("{s:I, s:I, s:i, s:o, s:{s:f, s:f}}", "points", (json_int_t)p->n, "columns",
				   (json_int_t)p->d, "components", (int)g->k, "models", models, "seconds", "read", r->l.read_s,
				   "fit", r->fit_s);
	if (r->l.cli->json)
		return cli_print_result(object);
	json_decref(object);
	return CLI_OK;
}

static int check_options(struct run *r)
{
	int status = cli_params_of(r->l.cli, &sl_gmm_table, &r->params), files = 0, standard = r->l.cli->json;
	if (!status)
		status = local_threads(r->l.cli);
	for (int i = 0; !status && i < OUTPUTS; i++) {
		const char *path = cli_option(r->l.cli, outputs[i]), *dot = path ? strrchr(path, '.') : NULL;
		files += path != NULL;
		standard += path && !strcmp(path, "-");
		if (path && strcmp(path, "-") && !(dot && !strcasecmp(dot, ".npy")))
			status = cli_fail(CLI_USAGE, "--%s %s: the name must end in .npy", outputs[i], path);
		else
			status = cli_output_check(r->l.cli, path);
	}
	if (!status && !files && !r->l.cli->json)
		status = cli_fail(CLI_USAGE, "gmm has nothing to write: give -o, --responsibilities, --means, --covariances, "
				  "--weights or --json");
	if (!status && standard > 1)
		status = cli_fail(CLI_USAGE, "two results cannot both go to standard output; name a file");
	if (!status && cli_option(r->l.cli, "start") && r->params.restarts > 1)
		status = cli_fail(CLI_USAGE, "--restarts has no meaning with --start: all restarts would be the same");
	return status;
}

int cmd_gmm(struct cli *cli)
{
	struct run r = {.l = {.cli = cli, .path = cli->arguments[0]}};
	double began = cli_now();
	sl_gmm_defaults(&r.params);
	int status = check_options(&r);
	if (!status)
		status = local_read_points(&r.l, r.l.path, NULL, &r.l.input.points);
	if (!status && cli_option(cli, "start"))
		status = read_start(&r, cli_option(cli, "start"));
	if (!status)
		local_warn(&r.l);
	r.l.read_s = cli_now() - began;
	if (!status)
		status = fit(&r);
	r.fit_s = cli_now() - began - r.l.read_s;
	for (int i = 0; !status && i < OUTPUTS; i++)
		if (cli_option(cli, outputs[i]))
			status = write_array(&r, i, cli_option(cli, outputs[i]));
	if (!status)
		status = report(&r);
	for (int i = 0; !status && i < OUTPUTS; i++)
		if (cli_option(cli, outputs[i]) && strcmp(cli_option(cli, outputs[i]), "-"))
			cli_note(cli, "wrote %s", cli_option(cli, outputs[i]));
	sl_gmm_destroy(r.gmm);
	local_finish(&r.l);
	sl_points_destroy(r.start);
	return status;
}
