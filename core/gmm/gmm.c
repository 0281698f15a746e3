/* A run of a mixture. Each number of components has restarts; a restart consists of k-means and iterations. A last pass
 * computes the log-likelihood of the best restart, and for the last number of components also its responsibilities. If
 * another number is better, another pass computes those.
 *
 * A call processes a part of a batch of points or some rows of covariances, so it returns soon. The division into calls
 * changes no byte. */
#include "core/gmm/gmm.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"
#include "core/kmeans/kmeans.h"
#include "core/method/pace.h"
#include "core/points/points.h"
#include "core/variants.h"

SL_PICK_VARIANT(struct sl__gmm_kernels, sl__gmm_kernels, sl__gmm);

/* ---- parameters ------------------------------------------------------------------------- */

#define PARAM(...) SL_PARAM(struct sl_gmm_params, __VA_ARGS__)

static const struct sl_param_info params_table[] = {
	{PARAM(components, LIST, 1, SL_GMM_COMPONENTS_MOST, 1), .whole = true, .doc =
	 "Number of components, or several, of which the one with the least BIC is kept."},
	{PARAM(covariance, ENUM, 0, 3, SL_GMM_FULL), .words = sl_gmm_covariance_words, .doc =
	 "Covariances: full (each component has its own), tied (all have the same), diag (own variances of the columns), "
	 "spherical (one variance each)."},
	{PARAM(restarts, INT, 1, 1000, 1), .doc =
	 "Runs from different seeds; the one with the highest log-likelihood is kept."},
	{PARAM(iterations, INT, 1, 100000, 100), .doc = "Maximum number of iterations in a restart."},
	{PARAM(tolerance, DOUBLE, 0, 1, 1e-3), .doc =
	 "A restart ends when the mean log-likelihood of a point changes by less than this."},
	{PARAM(reg_covar, DOUBLE, 0, 1e30, 1e-6), .doc = "Added to each variance, so that covariances are not singular."},
	{PARAM(seed, UINT64, 0, 9007199254740991, 0), .doc = "Seed of the clusters that a restart begins with (k-means). "
		"The same seed gives the same mixture."},
};
const struct sl_param_table sl_gmm_table = {
	.param = params_table, .count = sizeof params_table / sizeof *params_table, .given = -1,
};

int sl_gmm_check(const void *params, uint32_t n, uint32_t d, struct sl_error *err)
{
	const struct sl_gmm_params *p = params;
	int code = sl_param_check(&sl_gmm_table, p, err);
	if (code)
		return code;
	if (p->components.count < 1 || p->components.count > SL_PARAM_LIST_MAX)
		return sl_error_field(err, SL_BADPARAM, "/components", "components must be one or several numbers, at most %d.",
				      SL_PARAM_LIST_MAX);
	for (int i = 0; i < p->components.count; i++) {
		double k = p->components.value[i];
		if (!(k >= 1 && k <= SL_GMM_COMPONENTS_MOST) || k != floor(k))
			return sl_error_field(err, SL_BADPARAM, "/components", "components must be whole numbers from 1 to %d, "
					      "not %g.", SL_GMM_COMPONENTS_MOST, k);
		if (k > n)
			return sl_error_field(err, SL_BADPARAM, "/components", "components is %.0f, but there are only %u points.",
					      k, n);
	}
	if (d > SL_GMM_COLUMNS_MOST && (p->covariance == SL_GMM_FULL || p->covariance == SL_GMM_TIED))
		return sl_error_field(err, SL_BADPARAM, "/covariance", "covariance %s takes at most %d columns, and the points "
				      "have %u. Use diag or spherical.", sl_gmm_covariance_words[p->covariance],
				      SL_GMM_COLUMNS_MOST, d);
	return 0;
}

/* ---- a run ------------------------------------------------------------------------------ */

static uint32_t components(const struct sl_gmm *m)
{
	return (uint32_t)m->params.components.value[m->status.fits];
}

static void enter(struct sl_gmm *m, enum sl__gmm_phase phase)
{
	m->phase = phase;
	m->row = 0;
	if (phase == SL__GMM_MEANS || phase == SL__GMM_SPREADS || phase == SL__GMM_PASS || phase == SL__GMM_SCORE ||
	    phase == SL__GMM_FINAL)
		sl__gmm_pass_begin(m);
}

static void start_restart(struct sl_gmm *m)
{
	m->status.iteration = 0;
	m->mean_log_likelihood = m->previous_log_likelihood = NAN;
	sl__gmm_blank(m, components(m));
	enter(m, m->start ? SL__GMM_MEANS : SL__GMM_KMEANS);
}

static void factor_of(struct sl_gmm *m, const struct sl_gmm_mixture *g, enum sl__gmm_phase then)
{
	sl__gmm_mixture_copy(&m->now, g);
	memset(m->factors.ridge, 0, m->now.k * sizeof *m->factors.ridge);
	m->next_phase = then;
	enter(m, SL__GMM_FACTOR);
}

int sl__gmm_clusters(struct sl_gmm *m, struct sl_error *err)
{
	struct sl_kmeans_params p;
	sl_param_defaults(&sl_kmeans_table, &p);
	p.clusters = (int)components(m);
	p.restarts = 1;
	p.seed = (m->params.seed + (uint64_t)m->status.restart * 1000003) & 0x1fffffffffffff;
	sl_kmeans_destroy(m->kmeans);
	m->kmeans = NULL;
	int code = sl_kmeans_create(&m->kmeans, m->points, &p, NULL, err);
	return code ? code : sl__gmm_device_clusters(m, err);
}

static int go_on_with_clusters(struct sl_gmm *m, double ms, struct sl_error *err)
{
	struct sl_kmeans_status status;
	bool ended;
	int code = m->kmeans ? 0 : sl__gmm_clusters(m, err);
	if (!code && m->stop)
		sl_kmeans_stop(m->kmeans, &status);
	if (!code)
		code = sl_kmeans_advance(m->kmeans, ms, &ended, &status, err);
	if (code || !status.done)
		return code;
	code = sl_kmeans_result(m->kmeans, m->label, NULL, NULL, err);
	sl_kmeans_destroy(m->kmeans);
	m->kmeans = NULL;
	enter(m, SL__GMM_MEANS);
	return code;
}

static void end_restart(struct sl_gmm *m, bool converged)
{
	struct sl_gmm_fit *fit = &m->fit;
	if (isnan(fit->log_likelihood) || m->mean_log_likelihood > fit->log_likelihood) {
		int ridged = 0;
		for (uint32_t c = 0; c < m->now.k; c++)
			ridged += m->factors.ridge[c] > 0;
		sl__gmm_mixture_copy(&m->best, &m->now);
		*fit = (struct sl_gmm_fit){.components = (int)m->now.k, .iterations = m->status.iteration,
					   .converged = converged, .ridged = ridged, .log_likelihood = m->mean_log_likelihood};
	}
	m->status.restart++;
	if (m->status.restart < m->params.restarts && !m->stop)
		start_restart(m);
	else
		factor_of(m, &m->best, SL__GMM_SCORE);
}

static void end_pass(struct sl_gmm *m)
{
	if (m->phase == SL__GMM_PASS) {
		m->previous_log_likelihood = m->mean_log_likelihood;
		m->mean_log_likelihood = m->sum / m->n;
		m->status.log_likelihood = m->sum;
	}
	if (m->phase == SL__GMM_MEANS) {
		sl__gmm_means(m);
		enter(m, SL__GMM_SPREADS);
		return;
	}
	sl__gmm_means(m);
	enter(m, SL__GMM_UPDATE);
}

static void end_run(struct sl_gmm *m)
{
	m->status.done = true;
	m->phase = SL__GMM_DONE;
}

static void end_score(struct sl_gmm *m)
{
	bool gave_result = sl__gmm_gives_result(m), wins;
	struct sl_gmm_fit *fit = &m->fit;
	double freedom = sl_gmm_freedom(m->params.covariance, m->now.k, m->d);
	int best = -1;
	fit->log_likelihood = m->sum;
	fit->aic = -2 * m->sum + 2 * freedom;
	fit->bic = -2 * m->sum + freedom * log(m->n);
	for (int i = 0; i < m->status.fits; i++)
		best = best < 0 || m->fits[i].bic < m->fits[best].bic ? i : best;
	wins = best < 0 || fit->bic < m->fits[best].bic;
	if (wins)
		sl__gmm_mixture_copy(&m->winner, &m->now);
	m->fits[m->status.fits++] = *fit;
	fit->log_likelihood = NAN;
	m->status.restart = 0;
	if (m->status.fits < m->params.components.count && !m->stop)
		start_restart(m);
	else if (wins && gave_result)
		end_run(m);
	else
		factor_of(m, &m->winner, SL__GMM_FINAL);
}

static void end_update(struct sl_gmm *m, bool *ended)
{
	if (isnan(m->mean_log_likelihood)) {  /* no pass over the mixture has ended */
		enter(m, SL__GMM_PASS);
		return;
	}
	bool converged = fabs(m->mean_log_likelihood - m->previous_log_likelihood) < m->params.tolerance;
	m->status.iteration++;
	*ended = true;
	if (converged || m->stop || m->status.iteration >= m->params.iterations)
		end_restart(m, converged);
	else
		enter(m, SL__GMM_PASS);
}

static void go_on_with_rows(struct sl_gmm *m, bool *ended)
{
	uint32_t all = sl__gmm_rows(m), count = m->chunk[SL__GMM_ROWS_OF_FACTORS];
	uint32_t to = all - m->row < count ? all : m->row + count;
	bool update = m->phase == SL__GMM_UPDATE;
	sl__gmm_spread_rows(m, update, m->row, to);
	m->row = to;
	if (to < all)
		return;
	if (update)
		end_update(m, ended);
	else
		enter(m, m->next_phase);
}

static int go_on_with_pass(struct sl_gmm *m, enum sl__gmm_part *part, struct sl_error *err)
{
	bool pass_ended = false;
	*part = SL__GMM_EXPECT;
	int code = m->passes.arg ? sl__gmm_device_work(m, &pass_ended, err) : sl__gmm_pass_work(m, part, &pass_ended);
	if (code && !m->passes.arg)
		return sl_error_set(err, code, SL_NO_MEMORY "a mixture of %u components.", m->now.k);
	if (code || !pass_ended)
		return code;
	if (m->phase == SL__GMM_FINAL)
		end_run(m);
	else if (m->phase == SL__GMM_SCORE)
		end_score(m);
	else
		end_pass(m);
	return 0;
}

int sl_gmm_advance(struct sl_gmm *m, double ms, bool *ended, struct sl_gmm_status *status, struct sl_error *err)
{
	int code = 0;
	*ended = m->status.done;
	for (struct sl_pace pace = sl_pace_begin(ms); !code && !*ended && sl_pace_left(&pace) > 0;) {
		enum sl__gmm_part part = SL__GMM_ROWS_OF_FACTORS;
		bool clusters = m->phase == SL__GMM_KMEANS;
		if (clusters)
			code = go_on_with_clusters(m, sl_pace_left(&pace), err);
		else if (m->phase == SL__GMM_UPDATE || m->phase == SL__GMM_FACTOR)
			go_on_with_rows(m, ended);
		else
			code = go_on_with_pass(m, &part, err);
		*ended = *ended || m->status.done;
		sl_pace_adapt(&pace, clusters ? NULL : &m->chunk[part], 1u << 30, SL_PACE_PARTS);
	}
	*status = m->status;
	return code;
}

void sl_gmm_stop(struct sl_gmm *m, struct sl_gmm_status *status)
{
	bool fresh = m->phase == SL__GMM_KMEANS || m->phase == SL__GMM_MEANS || m->phase == SL__GMM_SPREADS ||
		     (m->phase == SL__GMM_UPDATE && isnan(m->mean_log_likelihood));
	m->stop = true;
	if (fresh && !isnan(m->fit.log_likelihood))
		factor_of(m, &m->best, SL__GMM_SCORE);
	else if (fresh && m->status.fits > 0)
		factor_of(m, &m->winner, SL__GMM_FINAL);
	*status = m->status;
}

/* ---- creation and results --------------------------------------------------------------- */

int sl_gmm_create(struct sl_gmm **out, const struct sl_points *points, const struct sl_gmm_params *params,
		  const float *start, struct sl_error *err)
{
	int code = sl_gmm_check(params, points->n, points->d, err);
	if (code)
		return code;
	struct sl_gmm *m = calloc(1, sizeof *m);
	if (!m)
		return sl_error_memory(err, "a mixture");
	m->params = *params;
	m->points = points;
	m->n = points->n;
	m->d = points->d;
	m->kernels = sl__gmm_kernels();
	m->status.log_likelihood = m->fit.log_likelihood = NAN;
	for (int part = 0; part < SL__GMM_PARTS; part++)
		m->chunk[part] = 1;
	code = sl__gmm_prepare(m, start, err);
	if (code) {
		sl_gmm_destroy(m);
		return code;
	}
	start_restart(m);
	*out = m;
	return 0;
}

const struct sl_gmm_fit *sl_gmm_fits(const struct sl_gmm *m, int *count)
{
	*count = m->status.fits;
	return m->fits;
}

const struct sl_gmm_mixture *sl_gmm_best(const struct sl_gmm *m)
{
	return m->status.done ? &m->winner : NULL;
}

int sl_gmm_result(const struct sl_gmm *m, const int32_t **label, const float **responsibility, struct sl_error *err)
{
	if (!m->status.done)
		return sl_error_set(err, SL_CONFLICT, "The mixture is not there yet.");
	*label = m->result_label;
	*responsibility = m->result_share;
	return 0;
}
