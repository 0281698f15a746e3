/* Uses of fitted mixtures: predictions and samples. */
#include "core/gmm/mixture.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"
#include "core/points/points.h"
#include "core/random.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
static int omp_get_max_threads(void) { return 1; }
#endif

#define LANES SL__GMM_LANES

const char *const sl_gmm_covariance_words[] = {"full", "tied", "diag", "spherical", NULL};

uint64_t sl_gmm_spread_values(int covariance, uint32_t k, uint32_t d)
{
	uint64_t square = (uint64_t)d * d;
	return covariance == SL_GMM_FULL ? k * square : covariance == SL_GMM_TIED ? square :
	       covariance == SL_GMM_DIAG ? (uint64_t)k * d : k;
}

double sl_gmm_freedom(int covariance, uint32_t k, uint32_t d)
{
	double triangle = 0.5 * d * (d + 1.0), kd = k;
	double spread = covariance == SL_GMM_FULL ? kd * triangle : covariance == SL_GMM_TIED ? triangle :
			covariance == SL_GMM_DIAG ? kd * d : kd;
	return spread + kd * d + kd - 1;
}

int sl__gmm_mixture_init(struct sl_gmm_mixture *g, int covariance, uint32_t k, uint32_t d)
{
	*g = (struct sl_gmm_mixture){.covariance = covariance, .k = k, .d = d};
	g->weight = calloc(k, sizeof *g->weight);
	g->mean = calloc((size_t)k * d, sizeof *g->mean);
	g->spread = calloc(sl_gmm_spread_values(covariance, k, d), sizeof *g->spread);
	return g->weight && g->mean && g->spread ? 0 : SL_NOMEM;
}

void sl__gmm_mixture_finish(struct sl_gmm_mixture *g)
{
	free(g->weight);
	free(g->mean);
	free(g->spread);
	*g = (struct sl_gmm_mixture){0};
}

void sl__gmm_mixture_copy(struct sl_gmm_mixture *to, const struct sl_gmm_mixture *from)
{
	uint32_t k = to->k = from->k, d = from->d;
	memcpy(to->weight, from->weight, k * sizeof *to->weight);
	memcpy(to->mean, from->mean, (size_t)k * d * sizeof *to->mean);
	memcpy(to->spread, from->spread, sl_gmm_spread_values(from->covariance, k, d) * sizeof *to->spread);
}

/* ---- factors of all components ---------------------------------------------------------- */

/* lower: the rows [d][d] of each factor, in one array; NULL: not needed. */
static int factor_all(struct sl__gmm_factors *f, const struct sl_gmm_mixture *g, double **lower, struct sl_error *err)
{
	uint64_t square = (uint64_t)g->d * g->d;
	int bad = 0;
	*lower = NULL;
	if (sl__gmm_factors_init(f, g->covariance, g->k, g->d))
		return sl_error_memory(err, "a mixture of %u components", g->k);
	uint32_t count = sl__gmm_factor_count(f);
	*lower = count ? malloc(count * square * sizeof **lower) : NULL;
	if (count && !*lower)
		return sl_error_memory(err, "a mixture of %u components", g->k);
#pragma omp parallel for schedule(dynamic) reduction(+ : bad)
	for (uint32_t c = 0; c < count; c++)
		bad += sl__gmm_factor_rows(f, sl__gmm_kernels(), c, g->spread + c * square, *lower + c * square, g->d, 0, g->d,
					   0) != 0;
	if (bad || sl__gmm_factors_end(f, g))
		return sl_error_set(err, SL_CONFLICT, "A covariance of the mixture is not positive definite, so it has no "
				    "density. Use a greater reg_covar.");
	return 0;
}

/* ---- new points ------------------------------------------------------------------------- */

struct outputs {
	int32_t *label;
	float *responsibility;
	double *density;
};

static void predict_block(const struct sl__gmm_factors *f, const struct sl_gmm_mixture *g, const struct sl_points *p,
			  uint32_t from, float *row, double *work, double *logit, const struct outputs *a)
{
	uint32_t count = p->n - from < LANES ? p->n - from : LANES;
	double density[LANES];
	sl_points_rows(p, from, count, row);
	sl__gmm_logits(f, sl__gmm_kernels(), g, row, count, 0, g->k, work, logit);
	sl__gmm_share(sl__gmm_kernels(), g->k, count, logit, density, a->label ? a->label + from : NULL,
		      a->responsibility ? a->responsibility + (size_t)from * g->k : NULL);
	if (a->density)
		memcpy(a->density + from, density, count * sizeof *density);
}

static int predict_all(const struct sl__gmm_factors *f, const struct sl_gmm_mixture *g, const struct sl_points *p,
		       const struct outputs *a)
{
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		float *row = malloc((size_t)LANES * g->d * sizeof *row);
		double *work = aligned_alloc(64, sl__gmm_work_values(g->d) * sizeof *work);
		double *logit = aligned_alloc(64, (size_t)g->k * LANES * sizeof *logit);
		failed = !row || !work || !logit;
#pragma omp for schedule(dynamic)
		for (uint32_t block = 0; block < (p->n + LANES - 1) / LANES; block++)
			if (!failed)
				predict_block(f, g, p, block * LANES, row, work, logit, a);
		free(row);
		free(work);
		free(logit);
	}
	return failed;
}

int sl_gmm_predict(const struct sl_gmm_mixture *g, const struct sl_points *points, int32_t *label,
		   float *responsibility, double *density, struct sl_error *err)
{
	struct outputs a = {label, responsibility, density};
	struct sl__gmm_factors f;
	double *lower;
	if (points->d != g->d)
		return sl_error_set(err, SL_BADDATA, "The points have %u columns; the mixture was fitted to points of %u.",
				    points->d, g->d);
	int code = factor_all(&f, g, &lower, err);
	free(lower);
	if (!code && predict_all(&f, g, points, &a))
		code = sl_error_memory(err, "the densities of %u components", g->k);
	sl__gmm_factors_finish(&f);
	return code;
}

/* ---- samples ---------------------------------------------------------------------------- */

static uint32_t draw(const double *until, uint32_t k, double u)
{
	uint32_t low = 0, high = k - 1;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (u * until[k - 1] < until[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Draws a point: the mean plus L times a vector of normal numbers. normal [d]: scratch memory. */
static void sample_one(const struct sl_gmm_mixture *g, const struct sl__gmm_factors *f, const double *lower,
		       uint32_t c, uint64_t seed, uint64_t i, double *normal, float *to)
{
	uint32_t d = g->d, factor = g->covariance == SL_GMM_FULL ? c : 0;
	const double *rows = lower ? lower + (uint64_t)factor * d * d : NULL;
	for (uint32_t a = 0; a < d; a++) {
		double sum = 0;
		normal[a] = sl_random_normal(seed, i * d + a);
		for (uint32_t b = rows ? 0 : a; b < a; b++)
			sum += rows[(size_t)a * d + b] * normal[b];
		double own = rows ? rows[(size_t)a * d + a] : 1 / f->scale[(size_t)c * d + a];
		double value = g->mean[(size_t)c * d + a] + sum + own * normal[a];
		to[a] = (float)fmax(-FLT_MAX, fmin(FLT_MAX, value));
	}
}

static void sample_all(const struct sl_gmm_mixture *g, const struct sl__gmm_factors *f, const double *lower,
		       const double *until, uint32_t from, uint32_t count, uint64_t seed, double *normal, float *x,
		       int32_t *label)
{
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < count; i++) {
		uint64_t number = (uint64_t)from + i;
		uint32_t c = draw(until, g->k, sl_random_uniform(seed ^ 0x5851f42d4c957f2du, number));
		sample_one(g, f, lower, c, seed, number, normal + (size_t)omp_get_thread_num() * g->d,
			   x + (size_t)i * g->d);
		if (label)
			label[i] = (int32_t)c;
	}
}

int sl_gmm_sample(const struct sl_gmm_mixture *g, uint32_t from, uint32_t count, uint64_t seed, float *x,
		  int32_t *label, struct sl_error *err)
{
	struct sl__gmm_factors f;
	double *lower, *until = malloc(g->k * sizeof *until), sum = 0;
	double *normal = malloc((size_t)omp_get_max_threads() * g->d * sizeof *normal);  /* [threads][d] */
	int code = factor_all(&f, g, &lower, err);
	if (!code && !(until && normal))
		code = sl_error_memory(err, "a mixture of %u components", g->k);
	for (uint32_t c = 0; !code && c < g->k; c++)
		until[c] = sum += g->weight[c];
	/* packed factors contain only the inverses of the pivots */
	for (uint32_t c = 0; !code && c < sl__gmm_factor_count(&f); c++)
		for (uint32_t a = 0; a < g->d; a++)
			lower[((uint64_t)c * g->d + a) * g->d + a] = sl__gmm_pivot(&f, c, a);
	if (!code)
		sample_all(g, &f, lower, until, from, count, seed, normal, x, label);
	sl__gmm_factors_finish(&f);
	free(lower);
	free(until);
	free(normal);
	return code;
}
