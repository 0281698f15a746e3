/* Places new points in a finished layout. Coordinates are stored divided by the square root of dof, as in the CPU
 * engine, so the kernel is (1 + r^2)^-dof. */
#include "core/embedding/transform.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/field.h"
#include "core/graph/perplexity.h"
#include "core/sort.h"

#define LONGEST 0.25      /* longest gradient: new points start on top of old ones, where it is steep */
#define NEIGHBOURS_MOST 512

static const char *const start_words[] = {"median", "mean", NULL};

#define PARAM(...) SL_PARAM(struct sl_transform_params, __VA_ARGS__)

static const struct sl_param_info params_table[] = {
	{PARAM(perplexity, DOUBLE, 1, 100, 5), .doc = "Effective number of old points that attract a new one."},
	{PARAM(neighbours, INT, 1, 256, 25), .doc = "Nearest old points whose median is the start of a new one."},
	{PARAM(start, ENUM, 0, 1, SL_START_MEDIAN), .words = start_words, .doc =
	 "Where a new point starts: at the median of its neighbours, or at their mean weighted by affinity."},
	{PARAM(iterations, INT, 0, 10000, 100), .doc = "Iterations of each new point; 0 leaves it where it starts."},
	{PARAM(learning_rate, DOUBLE, 1e-6, 100, 0.1), .doc = "Step size on the gradient of a new point."},
	{PARAM(momentum, DOUBLE, 0, 0.999, 0.8), .doc = "Momentum of a new point."},
	{PARAM(exaggeration, DOUBLE, 0, 1000, 1.5), .doc =
	 "Factor on the attractive forces; more than 1 draws new points closer to their neighbours."},
};
const struct sl_param_table sl_transform_table = {
	.param = params_table, .count = sizeof params_table / sizeof *params_table, .given = -1,
};

void sl_transform_defaults(struct sl_transform_params *params)
{
	*params = (struct sl_transform_params){.metric = SL_EUCLIDEAN, .p = 2, .dof = 1};
	sl_param_defaults(&sl_transform_table, params);
}

static int check(const struct sl_points *points, int dims, const float *y, const struct sl_transform_params *params,
		 struct sl_error *err)
{
	if (dims < 1 || dims > 3)
		return sl_error_field(err, SL_BADPARAM, "/dims", "dims must be 1, 2 or 3, not %d.", dims);
	int code = sl_param_check(&sl_transform_table, params, err);
	if (code)
		return code;
	struct sl_transform_params usual;
	sl_transform_defaults(&usual);
	if (params->perplexity >= points->n && params->perplexity > usual.perplexity)
		return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; for %u points it must be less than "
				      "%u.",
				      params->perplexity, points->n, points->n);
	if ((uint32_t)params->neighbours > points->n && params->neighbours > usual.neighbours)
		return sl_error_field(err, SL_BADPARAM, "/neighbours", "neighbours is %d, but the layout has only %u points.",
				      params->neighbours, points->n);
	for (size_t i = 0; i < (size_t)points->n_user * (size_t)dims; i++)
		if (!isfinite(y[i]))
			return sl_error_set(err, SL_BADPARAM, "The layout has the coordinate %g in row %zu; all coordinates must "
					    "be finite numbers.", (double)y[i], i / (size_t)dims + 1);
	return 0;
}

/* ---- one new point -------------------------------------------------------------------- */

struct task {
	const struct sl_neighbours *nb;
	const struct sl_field *field;
	const struct sl_transform_params *params;
	const float *y;        /* [points->n * dims] fixed points, scaled */
	int dims;
	double scale;
};

/* The neighbours of a new point. */
struct around {
	uint32_t count;                  /* neighbours that attract */
	const uint32_t *index;
	double p[NEIGHBOURS_MOST];       /* sum 1 */
};

static void calibrate(const struct task *t, uint32_t i, struct around *a)
{
	double room[2 * NEIGHBOURS_MOST];
	const float *distance = t->nb->distance + (size_t)i * t->nb->k;
	uint32_t wanted = (uint32_t)ceil(3 * t->params->perplexity);
	a->index = t->nb->index + (size_t)i * t->nb->k;
	a->count = 0;
	while (a->count < t->nb->k && a->count < wanted && a->index[a->count] != SL_NO_NEIGHBOUR)
		a->count++;
	memset(a->p, 0, sizeof *a->p * a->count);
	sl__calibrate_row(distance, a->count, t->params->perplexity, 1, room, a->p);
}

static void median(const struct task *t, const struct around *a, double *at)
{
	double value[NEIGHBOURS_MOST];
	uint32_t count = 0;
	while (count < t->nb->k && count < (uint32_t)t->params->neighbours && a->index[count] != SL_NO_NEIGHBOUR)
		count++;
	for (int k = 0; k < t->dims; k++) {
		for (uint32_t u = 0; u < count; u++)
			value[u] = (double)t->y[a->index[u] * (size_t)t->dims + (size_t)k];
		qsort(value, count, sizeof *value, sl_by_double);
		at[k] = 0.5 * (value[(count - 1) / 2] + value[count / 2]);
	}
}

static void mean(const struct task *t, const struct around *a, double *at)
{
	for (int k = 0; k < t->dims; k++) {
		at[k] = 0;
		for (uint32_t u = 0; u < a->count; u++)
			at[k] += a->p[u] * (double)t->y[a->index[u] * (size_t)t->dims + (size_t)k];
	}
}

/* Computes a quarter of the gradient of the point's divergence, limited to length LONGEST. */
static void gradient_at(const struct task *t, const struct around *a, const double *at, double *gradient)
{
	double push[3] = {0}, z = sl_field_at(t->field, at, push), square = 0;
	size_t d = (size_t)t->dims;
	for (size_t k = 0; k < d; k++)
		gradient[k] = -push[k] / z;
	for (uint32_t u = 0; u < a->count; u++) {
		const float *theirs = t->y + a->index[u] * d;
		double r2 = 1, weight;
		for (size_t k = 0; k < d; k++)
			r2 += (at[k] - (double)theirs[k]) * (at[k] - (double)theirs[k]);
		weight = t->params->exaggeration * a->p[u] / r2;
		for (size_t k = 0; k < d; k++)
			gradient[k] += weight * (at[k] - (double)theirs[k]);
	}
	for (size_t k = 0; k < d; k++)
		square += gradient[k] * gradient[k];
	double length = sqrt(square) * t->scale;
	for (size_t k = 0; k < d && length > LONGEST; k++)
		gradient[k] *= LONGEST / length;
}

static void descend(const struct task *t, const struct around *a, double *at)
{
	const struct sl_transform_params *params = t->params;
	double velocity[3] = {0}, gain[3] = {1, 1, 1}, gradient[3];
	for (int i = 0; i < params->iterations; i++) {
		gradient_at(t, a, at, gradient);
		for (int k = 0; k < t->dims; k++) {
			gain[k] = (gradient[k] > 0) != (velocity[k] > 0) ? gain[k] + 0.2 : fmax(gain[k] * 0.8, 0.01);
			velocity[k] = params->momentum * velocity[k] - params->learning_rate * gain[k] * gradient[k];
			at[k] += velocity[k];
		}
	}
}

static void place(const struct task *t, uint32_t i, float *out)
{
	struct around a;
	double at[3] = {0};
	calibrate(t, i, &a);
	if (t->params->start == SL_START_MEAN)
		mean(t, &a, at);
	else
		median(t, &a, at);
	descend(t, &a, at);
	for (int k = 0; k < t->dims; k++)
		out[k] = (float)(at[k] * t->scale);
}

/* ---- all of them ------------------------------------------------------------------------ */

/* The rows of usable points, scaled, in new memory. */
static float *fixed_points(const struct sl_points *points, int dims, const float *y, double scale)
{
	size_t d = (size_t)dims;
	float *fixed = malloc(sizeof *fixed * points->n * d + 1);
	for (uint32_t i = 0; fixed && i < points->n; i++)
		for (size_t k = 0; k < d; k++)
			fixed[i * d + k] = (float)((double)y[(points->user ? points->user[i] : i) * d + k] / scale);
	return fixed;
}

static bool cancelled(const struct sl_transform_params *params)
{
	return params->cancel && __atomic_load_n(params->cancel, __ATOMIC_RELAXED);
}

static void place_all(const struct task *t, const struct sl_points *fresh, float *out)
{
	size_t d = (size_t)t->dims;
	for (size_t i = 0; fresh->n < fresh->n_user && i < fresh->n_user * d; i++)
		out[i] = NAN;
#pragma omp parallel for schedule(dynamic, 16)
	for (uint32_t i = 0; i < fresh->n; i++)
		if (!cancelled(t->params))
			place(t, i, out + (fresh->user ? fresh->user[i] : i) * d);
}

bool sl_transform_projects(const struct sl_points *points, const struct sl_points *fresh)
{
	return points->pca && fresh->d == points->pca->from;
}

/* Projects `fresh` onto the principal axes of points. *out NULL: fresh has these coordinates already. */
static int project(const struct sl_points *points, const struct sl_points *fresh, struct sl_points **out,
		   struct sl_error *err)
{
	*out = NULL;
	if (sl_transform_projects(points, fresh))
		return sl_pca_apply(out, points->pca, fresh, err);
	if (!points->pca || fresh->d == points->d)
		return 0;
	return sl_error_set(err, SL_BADDATA, "The new points have %u column%s. They must have %u, as the points that "
			    "were laid out, or %u, as those after their projection on principal axes, in the same "
			    "order.",
			    fresh->d, fresh->d == 1 ? "" : "s", points->pca->from, points->d);
}

int sl_transform(const struct sl_points *points, const struct sl_points *fresh, int dims, const float *y,
		 const struct sl_transform_params *params, float *out, struct sl_error *err)
{
	int code = check(points, dims, y, params, err);
	if (code)
		return code;
	double nu = params->dof > 0 ? params->dof : 1;
	uint32_t needed = (uint32_t)ceil(3 * params->perplexity), start = (uint32_t)params->neighbours;
	struct sl_neighbours_params np = {.k = needed > start ? needed : start, .metric = params->metric, .p = params->p,
					  .recall = 1, .cancel = params->cancel};
	struct sl_neighbours *nb = NULL;
	struct sl_points *projected = NULL;
	struct sl_field *field = NULL;
	float *fixed = NULL;
	code = project(points, fresh, &projected, err);
	if (code)
		goto out;
	if (projected)
		fresh = projected;
	code = sl_neighbours_query(&nb, points, fresh, &np, err);
	if (code)
		goto out;
	struct task t = {.nb = nb, .params = params, .dims = dims, .scale = sqrt(nu)};
	fixed = fixed_points(points, dims, y, t.scale);
	code = fixed ? sl_field_create(&field, points->n, dims, nu, fixed, err) :
	       sl_error_memory(err, "a layout of %u points", points->n);
	if (code)
		goto out;
	t.field = field;
	t.y = fixed;
	place_all(&t, fresh, out);
	if (cancelled(params))
		code = sl_error_set(err, SL_CANCELLED, "Placing new points was cancelled.");
out:
	sl_field_destroy(field);
	sl_neighbours_destroy(nb);
	sl_points_destroy(projected);
	free(fixed);
	return code;
}
