/* Gaussian mixtures as a method: a run in slices, with a trace of its log-likelihood.
 *
 * Iterations are counted over all restarts and numbers of components. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gmm/gmm.h"
#include "core/gmm/passes.h"
#include "core/method/method.h"
#include "core/method/sliced.h"
#include "core/points/points.h"

struct run {
	struct sl_sliced slices;         /* iterations of all restarts */
	struct sl_gmm *of;
	const struct sl_points *points;  /* borrowed */
	struct sl_gmm_params params;
	struct sl_gmm_status status;
};

static int iterations(const void *params)
{
	const struct sl_gmm_params *p = params;
	double most = (double)p->iterations * p->restarts * p->components.count;
	return most < 2e9 ? (int)most : 2000000000;
}

static uint32_t most_components(const struct sl_gmm_params *p)
{
	double most = 1;
	for (int i = 0; i < p->components.count; i++)
		most = fmax(most, p->components.value[i]);
	return (uint32_t)most;
}

static uint64_t disk_bytes(const void *params, uint32_t n, uint32_t d, bool centered)
{
	(void)centered;
	const struct sl_gmm_params *p = params;
	uint64_t k = most_components(p);
	return (uint64_t)n * 4 * (k + 1) + 8 * (sl_gmm_spread_values(p->covariance, (uint32_t)k, d) + k * d + k);
}

/* Times of one core: for each point, component and product of a pass; and in addition for each point and component. */
#define PRODUCT_S 1.5e-10
#define SHARE_S 2e-9
#define PASSES 40         /* usual number of passes of a restart */

static double seconds(const void *params, uint32_t n, uint32_t d, int threads)
{
	const struct sl_gmm_params *p = params;
	double square = p->covariance == SL_GMM_FULL ? (double)d * d : 3.0 * d, sum = 0;
	for (int i = 0; i < p->components.count; i++) {
		double k = p->components.value[i], passes = fmin(p->iterations, PASSES);
		sum += p->restarts * passes * n * k * (square * PRODUCT_S + SHARE_S);
		sum += p->restarts * (double)n * k * d * 2.5e-9;  /* k-means */
	}
	return sum / (threads > 1 ? threads : 1);
}

/* ---- the start -------------------------------------------------------------------------- */

static int start(void *params, uint32_t parts, struct sl_error *err)
{
	struct sl_gmm_params *p = params;
	if (p->restarts > 1)
		return sl_error_field(err, SL_BADPARAM, "/restarts", "restarts is %d; from a given start all restarts would be "
				      "the same, so it must be 1.", p->restarts);
	if (p->components.count == 1 && p->components.value[0] == 1)  /* the default */
		p->components.value[0] = parts;
	if (p->components.count > 1 || p->components.value[0] != parts)
		return sl_error_field(err, SL_BADPARAM, "/components", "The start has %u components; components must be %u, or "
				      "be left out.", parts, parts);
	return 0;
}

#define ROWS 256

/* Sets share [count][k] to 1 at the component with the nearest mean, for `count` points from row i on. */
static void nearest_means(const struct sl_points *p, uint32_t i, uint32_t count, const double *mean, uint32_t k,
			  float *row, float *share)
{
	const double *center = sl_points_own_center(p);
	sl_points_rows(p, i, count, row);
	for (uint32_t r = 0; r < count; r++) {
		double best = INFINITY;
		uint32_t at = 0;
		for (uint32_t c = 0; c < k; c++) {
			double sum = 0;
			for (uint32_t a = 0; a < p->d; a++) {
				double at = mean[(size_t)c * p->d + a] - (center ? center[a] : 0);
				double off = (double)row[(size_t)r * p->d + a] - at;
				sum += off * off;
			}
			if (sum < best) {
				best = sum;
				at = c;
			}
		}
		share[(size_t)r * k + at] = 1;
	}
}

/* Makes initial responsibilities [n][k] of given labels. A point without a label has equal ones. */
static void shares_of_labels(const struct sl_points *p, const double *label, uint32_t k, float *share)
{
	for (uint32_t i = 0; i < p->n; i++) {
		double own = label[p->user ? p->user[i] : i];
		for (uint32_t c = 0; own < 0 && c < k; c++)
			share[(size_t)i * k + c] = 1 / (float)k;
		if (own >= 0 && own < k)
			share[(size_t)i * k + (size_t)own] = 1;
	}
}

static void copy_shares(const struct sl_points *p, const double *from, uint32_t k, float *share)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t c = 0; c < k; c++)
			share[(size_t)i * k + c] = (float)from[(size_t)(p->user ? p->user[i] : i) * k + c];
}

/* Makes initial responsibilities [n][k] of the given start. */
static int shares_of_start(const struct sl_method_input *in, uint32_t k, float **out, struct sl_error *err)
{
	const struct sl_points *p = in->points;
	float *share = calloc((size_t)p->n * k + 1, sizeof *share), *row = malloc((size_t)ROWS * p->d * sizeof *row);
	uint32_t c = 0;
	bool *used = calloc(k, sizeof *used);
	int code = share && row && used ? 0 : sl_error_memory(err, "a mixture");
	bool whole = in->start_kind != SL_START_SHARES;
	for (uint32_t i = 0; !code && in->start_kind == SL_START_MEANS && i < p->n; i += ROWS)
		nearest_means(p, i, p->n - i < ROWS ? p->n - i : ROWS, in->start, k, row, share + (size_t)i * k);
	if (!code && in->start_kind == SL_START_LABELS)
		shares_of_labels(p, in->start, k, share);
	else if (!code && !whole)
		copy_shares(p, in->start, k, share);
	for (size_t at = 0; !code && whole && at < (size_t)p->n * k; at++)
		used[at % k] |= share[at] == 1;
	while (!code && whole && c < k && used[c])
		c++;
	if (!code && whole && c < k)
		code = sl_error_field(err, SL_BADPARAM, "/initial", "No point begins in component %u, counted from 0; each of "
				      "the %u must have one.", c, k);
	free(row);
	free(used);
	if (code)
		free(share);
	else
		*out = share;
	return code;
}

/* ---- slices ----------------------------------------------------------------------------- */

static int compute(void *run, double ms, bool *ended, struct sl_error *err)
{
	struct run *r = run;
	bool whole;
	int code = sl_gmm_advance(r->of, ms, &whole, &r->status, err);
	*ended = !code && ms > 0 && whole && !r->status.done;
	r->slices.progress.iteration += *ended;
	r->slices.done = r->status.done;
	return code;
}

static int note(void *run, bool due, struct sl_error *err)
{
	struct run *r = run;
	return !due || sl_progress_note(&r->slices.progress, r->status.log_likelihood, err) ? 0 : SL_NOMEM;
}

static const struct sl_gmm_fit *best_fit(const struct run *r)
{
	int count, best = 0;
	const struct sl_gmm_fit *fit = sl_gmm_fits(r->of, &count);
	for (int i = 1; i < count; i++)
		best = fit[i].bic < fit[best].bic ? i : best;
	return count ? &fit[best] : NULL;
}

/* Reports the log-likelihood of the newest iteration; at the end, that of the result. */
static void tell(const void *run, struct sl_status *status)
{
	const struct run *r = run;
	const struct sl_gmm_fit *best = r->status.done ? best_fit(r) : NULL;
	status->iterations = iterations(&r->params);
	status->measure = best ? best->log_likelihood : r->status.log_likelihood;
	if (best)
		status->stop = best->converged ? SL_STOP_CONVERGED : SL_STOP_ITERATIONS;
}

SL_SLICED_OF(gmm);

static const struct sl_sliced_ops ops = {
	.magic = "slmg 1\n", .dense = 1000, .compute = compute, .note = note, .tell = tell, SL_SLICED_OPS,
};

static int create(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err)
{
	float *share = NULL;
	struct run *r = sl_sliced_create(&ops, sizeof *r, "a mixture", err);
	if (!r)
		return SL_NOMEM;
	r->params = *(const struct sl_gmm_params *)params;
	r->points = in->points;
	r->status.log_likelihood = NAN;
	int code = in->start_kind ? shares_of_start(in, most_components(&r->params), &share, err) : 0;
	if (!code)
		code = sl_gmm_create(&r->of, in->points, &r->params, share, err);
	free(share);
	return sl_sliced_made(r, code, out);
}

/* ---- results ---------------------------------------------------------------------------- */

static void *copy_of(const void *from, size_t bytes)
{
	void *to = malloc(bytes);
	return to ? memcpy(to, from, bytes) : NULL;
}

/* Copies rows into the order of the user's rows; dropped rows get bytes `fill`. */
static void *spread_out(const struct sl_points *p, const void *from, size_t row_bytes, int fill)
{
	char *to = malloc(p->n_user * row_bytes);
	if (!to)
		return NULL;
	memcpy(to, from, p->n * row_bytes);
	sl_points_spread(p, to, row_bytes, fill);
	return to;
}

/* The means in the user's units. */
static double *means_of(const struct sl_gmm_mixture *g, const double *center)
{
	double *mean = copy_of(g->mean, (size_t)g->k * g->d * sizeof *mean);
	for (size_t at = 0; mean && center && at < (size_t)g->k * g->d; at++)
		mean[at] += center[at % g->d];
	return mean;
}

static double *table_of(const struct sl_gmm_fit *fit, int count)
{
	double *table = malloc((size_t)count * 7 * sizeof *table);
	for (int i = 0; table && i < count; i++) {
		const double row[7] = {fit[i].components, fit[i].log_likelihood, fit[i].aic, fit[i].bic, fit[i].iterations,
				       fit[i].converged, fit[i].ridged};
		memcpy(table + i * 7, row, sizeof row);
	}
	return table;
}

static struct sl_method_array covariances_of(const struct sl_gmm_mixture *g)
{
	struct sl_method_array a = {"covariances", SL_ARRAY_FLOAT64, {g->k}, NULL};
	if (g->covariance == SL_GMM_TIED)
		a.shape[0] = a.shape[1] = g->d;
	else if (g->covariance != SL_GMM_SPHERICAL)
		a.shape[1] = g->d;
	if (g->covariance == SL_GMM_FULL)
		a.shape[2] = g->d;
	a.data = copy_of(g->spread, sl_method_array_bytes(&a));
	return a;
}

/* A sentence for the user if k components are more than points that differ; "": they are not. Returns out. */
static const char *note_of(const struct sl_points *p, uint32_t k, char *out, size_t size)
{
	uint32_t different = p->n - p->report.duplicates - p->merged;
	out[0] = '\0';
	if (k > different)
		snprintf(out, size, "Only %u points differ, so some of the %u components have none of their own. Use "
			 "fewer components.", different, k);
	return out;
}

static int result(void *run, struct sl_method_result *out, struct sl_error *err)
{
	const struct run *r = run;
	const struct sl_gmm_mixture *g = sl_gmm_best(r->of);
	const struct sl_points *p = r->points;
	const int32_t *label;
	const float *share;
	int code = sl_gmm_result(r->of, &label, &share, err);
	if (code)
		return code;
	size_t shares = g->k * sizeof *share;
	*out = (struct sl_method_result){.count = 5, .parts = g->k, .array = {
		{"labels", SL_ARRAY_INT32, {p->n_user}, spread_out(p, label, sizeof *label, 0xff)},  /* -1 */
		{"responsibilities", SL_ARRAY_FLOAT32, {p->n_user, g->k}, spread_out(p, share, shares, 0)},
		{"means", SL_ARRAY_FLOAT64, {g->k, g->d}, means_of(g, sl_points_own_center(p))},
		covariances_of(g),
		{"weights", SL_ARRAY_FLOAT64, {g->k}, copy_of(g->weight, g->k * sizeof *g->weight)},
	}};
	note_of(p, g->k, out->note, sizeof out->note);
	const struct sl_gmm_fit *fit = sl_gmm_fits(r->of, &out->rows);
	out->table = table_of(fit, out->rows);
	bool complete = out->table != NULL;
	for (int i = 0; i < out->count; i++)
		complete = complete && out->array[i].data;
	if (complete)
		return 0;
	sl_method_result_finish(out);
	return sl_error_memory(err, "responsibilities of %u components", g->k);
}

/* ---- new points ------------------------------------------------------------------------- */

enum { MEANS, COVARIANCES, WEIGHTS };

/* Borrows the arrays of the model. SL_BADDATA: they do not form a mixture. */
static int mixture_of(const struct sl_gmm_params *p, const struct sl_method_array *model, struct sl_gmm_mixture *g,
		      struct sl_error *err)
{
	*g = (struct sl_gmm_mixture){.covariance = p->covariance, .k = model[MEANS].shape[0], .d = model[MEANS].shape[1],
				     .weight = model[WEIGHTS].data, .mean = model[MEANS].data,
				     .spread = model[COVARIANCES].data};
	bool fits = g->k > 0 && g->d > 0 && model[WEIGHTS].shape[0] == g->k &&
		    sl_method_array_bytes(&model[COVARIANCES]) == 8 * sl_gmm_spread_values(g->covariance, g->k, g->d);
	for (int i = MEANS; i <= WEIGHTS; i++)
		fits = fits && model[i].type == SL_ARRAY_FLOAT64;
	return fits ? 0 : sl_error_set(err, SL_BADDATA, "Means, covariances and weights do not belong together.");
}

/* The variance of a column in component c. */
static double variance_of(const struct sl_gmm_mixture *g, uint32_t c, uint32_t a)
{
	size_t d = g->d;
	switch (g->covariance) {
	case SL_GMM_FULL: return g->spread[(c * d + a) * d + a];
	case SL_GMM_TIED: return g->spread[a * d + a];
	case SL_GMM_DIAG: return g->spread[c * d + a];
	default: return g->spread[c];
	}
}

/* A column lies far from 0 if its first mean is more than 64 times as large as the components spread. */
#define FAR 64

static bool center_of(const struct sl_gmm_mixture *g, double *center)
{
	bool any = false;
	for (uint32_t a = 0; a < g->d; a++) {
		double spread = 0;
		for (uint32_t c = 0; c < g->k; c++)
			spread = fmax(spread, fabs(g->mean[(size_t)c * g->d + a] - g->mean[a]) + sqrt(variance_of(g, c, a)));
		center[a] = fabs(g->mean[a]) > FAR * spread && fabs(g->mean[a]) < 1e30 ? g->mean[a] : 0;
		any |= center[a] != 0;
	}
	return any;
}

static void center(const struct sl_method_array *model, const void *params, double *out)
{
	struct sl_gmm_mixture g;
	struct sl_error ignored;
	memset(out, 0, model[MEANS].shape[1] * sizeof *out);
	if (!mixture_of(params, model, &g, &ignored))
		center_of(&g, out);
}

/* Replaces the means by copies from which the center is subtracted; NULL: no center. The caller frees g->mean, unless
 * center is NULL. */
static int move_means(struct sl_gmm_mixture *g, const double *center, struct sl_error *err)
{
	double *mean = center ? copy_of(g->mean, (size_t)g->k * g->d * sizeof *mean) : NULL;
	if (center && !mean)
		return sl_error_memory(err, "a mixture of %u components", g->k);
	for (size_t at = 0; center && at < (size_t)g->k * g->d; at++)
		mean[at] -= center[at % g->d];
	if (center)
		g->mean = mean;
	return 0;
}

static const char *const predicts[] = {"labels", "responsibilities", "log_likelihoods", NULL};

static int predict(const void *params, const struct sl_method_array *model, const struct sl_points *points,
		   const char *what, struct sl_method_array *out, struct sl_error *err)
{
	struct sl_gmm_mixture g;
	int code = mixture_of(params, model, &g, err);
	if (code)
		return code;
	const double *offset = points->d == g.d ? sl_points_own_center(points) : NULL;
	code = move_means(&g, offset, err);
	if (code)
		return code;
	bool label = !strcmp(what, predicts[0]), share = !strcmp(what, predicts[1]);
	size_t row = label ? sizeof(int32_t) : share ? g.k * sizeof(float) : sizeof(double);
	*out = (struct sl_method_array){what, label ? SL_ARRAY_INT32 : share ? SL_ARRAY_FLOAT32 : SL_ARRAY_FLOAT64,
					{points->n_user, share ? g.k : 0}, malloc(points->n_user * row)};
	code = !out->data ? sl_error_memory(err, "%u points", points->n) :
	       sl_gmm_predict(&g, points, label ? out->data : NULL, share ? out->data : NULL,
			      label || share ? NULL : out->data, err);
	if (offset)
		free(g.mean);
	if (code) {
		free(out->data);
		out->data = NULL;
	} else {
		sl_points_spread(points, out->data, row, share ? 0 : 0xff);  /* -1, NaN */
	}
	return code;
}

static uint32_t ellipses(const void *params, const struct sl_method_array *model, double (*out)[5], uint32_t most)
{
	struct sl_gmm_mixture g;
	struct sl_error ignored;
	if (mixture_of(params, model, &g, &ignored) || g.d != 2)
		return 0;
	for (uint32_t c = 0; c < g.k && c < most; c++) {
		const double *full = g.covariance == SL_GMM_FULL ? g.spread + 4 * (size_t)c : g.spread;
		bool across = g.covariance == SL_GMM_FULL || g.covariance == SL_GMM_TIED;
		out[c][0] = g.mean[2 * (size_t)c];
		out[c][1] = g.mean[2 * (size_t)c + 1];
		out[c][2] = variance_of(&g, c, 0);
		out[c][3] = across ? full[1] : 0;
		out[c][4] = variance_of(&g, c, 1);
	}
	return g.k;
}

static int sample(const void *params, const struct sl_method_array *model, uint32_t from, uint32_t count, uint64_t seed,
		  struct sl_method_array *points, struct sl_method_array *labels, struct sl_error *err)
{
	struct sl_gmm_mixture g;
	int code = mixture_of(params, model, &g, err);
	if (code)
		return code;
	size_t values = (size_t)count * g.d;
	double *offset = malloc(g.d * sizeof *offset);
	if (!offset)
		return sl_error_memory(err, "%u points", count);
	bool far = center_of(&g, offset);
	code = move_means(&g, far ? offset : NULL, err);
	if (code) {
		free(offset);
		return code;
	}
	*points = (struct sl_method_array){"points", SL_ARRAY_FLOAT32, {count, g.d}, malloc(values * sizeof(float))};
	*labels = (struct sl_method_array){"labels", SL_ARRAY_INT32, {count}, malloc(count * sizeof(int32_t))};
	code = points->data && labels->data ? sl_gmm_sample(&g, from, count, seed, points->data, labels->data, err) :
		sl_error_memory(err, "%u points", count);
	double *wide = !code && far ? malloc((values + 1) * sizeof *wide) : NULL;
	if (wide) {
		sl_points_add_center(offset, count, g.d, points->data, wide);
		free(points->data);
		points->data = wide;
		points->type = SL_ARRAY_FLOAT64;
	} else if (!code && far) {
		code = sl_error_memory(err, "%u points", count);
	}
	if (far)
		free(g.mean);
	free(offset);
	if (!code)
		return 0;
	free(points->data);
	free(labels->data);
	points->data = labels->data = NULL;
	return code;
}

static const struct sl_method_output results[] = {
	{"labels", "the most likely component of each node", "in"},
	{"responsibilities", "the probability of each component for each node", "fnk"},
	{"means", "the means of the components", "dkd"},
	{"covariances", "the covariances of the components", "d*"},
	{"weights", "the weights of the components", "dk"}, {NULL, NULL, NULL},
};
static const char *const model_arrays[] = {"means", "covariances", "weights", NULL};
static const struct sl_method_column columns[] = {
	{"components", SL_TABLE_WHOLE}, {"log_likelihood", SL_TABLE_NUMBER}, {"aic", SL_TABLE_NUMBER},
	{"bic", SL_TABLE_NUMBER}, {"iterations", SL_TABLE_WHOLE}, {"converged", SL_TABLE_BOOL},
	{"regularised", SL_TABLE_WHOLE}, {NULL, SL_TABLE_NUMBER},
};

extern const struct sl_method sl_method_gmm;
const struct sl_method sl_method_gmm = {
	.name = "gmm", .title = "Gaussian mixture",
	.doc = "A mixture of Gaussians that points or a layout are likely under, by expectation maximisation.",
	.summary = "fit a mixture of Gaussians to points",
	.about = "A mixture of Gaussians is fitted by expectation maximisation from clusters of k-means. Of several "
		 "numbers of components, the result is the one with the least BIC.",
	.measure = "log_likelihood", .measure_title = "log-likelihood", .converges = true,
	.takes = SL_TAKES_POINTS | SL_TAKES_LAYOUT, .results = results, .table = "models", .columns = columns,
	.predicts = predicts, .model = model_arrays,
	.relief = "Use fewer components, or covariance diag.", .doing = {"fit", "fitting"},
	.devices = "The mixture differs by rounding.",
	.params = &sl_gmm_table, .params_bytes = sizeof(struct sl_gmm_params),
	.check = sl_gmm_check, .iterations = iterations, .host_bytes = sl_gmm_bytes, .seconds = seconds,
	.disk_bytes = disk_bytes, .start = start, .parts = "components", .start_file = SL_START_SHARES,
	.start_doc = "these responsibilities, one row per point, instead of clusters of k-means",
	.operation = SL_GMM_PASSES, .operates_on = SL_TAKES_POINTS, .device_bytes = sl_gmm_device_bytes, .attach = attach,
	.result = result, .predict = predict, .center = center, .sample = sample, .ellipses = ellipses,
	.create = create, SL_SLICED,
};
