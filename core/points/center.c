/* Medians and quartiles by selection, in double. A table with other centres is a copy; a column that would lose too
 * many steps of float32 is refused instead. */
#include "core/points/center.h"

#include <math.h>
#include <stdlib.h>

#include "core/points/points.h"
#include "core/taken/taken.h"

#define STEPS_LEAST 128          /* of float32 in the spread of a column */

/* ---- quartiles -------------------------------------------------------------------------- */

/* Moves the k-th smallest of x[n] to x[k], smaller ones before it and larger ones behind. */
static double nth(double *x, uint64_t n, uint64_t k)
{
	uint64_t from = 0, to = n;
	while (to - from > 1) {
		double middle = x[from + (to - from) / 2];
		uint64_t i = from, j = to - 1;
		for (;;) {
			while (x[i] < middle)
				i++;
			while (x[j] > middle)
				j--;
			if (i >= j)
				break;
			double swap = x[i];
			x[i++] = x[j];
			x[j--] = swap;
		}
		uint64_t split = i > from ? i : from + 1;  /* neither part is empty */
		if (k < split)
			to = split;
		else
			from = split;
	}
	return x[k];
}

double sl__spread(double *x, uint64_t n, double *median)
{
	*median = 0;
	if (!n)
		return 0;
	uint64_t middle = (n - 1) / 2, lower = n / 4, upper = n * 3 / 4;
	double m = *median = nth(x, n, middle);
	double low = lower < middle ? nth(x, middle, lower) : m;
	double high = upper > middle ? nth(x + middle + 1, n - middle - 1, upper - middle - 1) : m, sum = 0;
	if (high > low)
		return high - low;
	for (uint64_t i = 0; i < n; i++)
		sum += fabs(x[i] - m);
	return sum / (double)n;
}

/* ---- points without their center -------------------------------------------------------- */

const double *sl_points_own_center(const struct sl_points *p)
{
	return p->pca || p->center_columns != p->d ? NULL : p->center;
}

void sl_points_add_center(const double *center, uint32_t rows, uint32_t d, const float *value, double *out)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t k = 0; k < d; k++)
			out[i * d + k] = (double)value[i * d + k] + (center ? center[k] : 0);
}

uint32_t sl__coordinate_column(const struct sl_points *p, uint32_t k, const char **title)
{
	uint64_t passed = 0;
	*title = "";
	for (uint32_t i = 0; p->taken && i < p->taken->listed; i++) {
		const struct sl_taken_columns *c = &p->taken->column[i];
		if (c->role != SL_TAKEN_COORDINATE)
			continue;
		if (k - passed <= c->last - c->first) {
			*title = k == passed ? c->title : "";
			return c->first + (uint32_t)(k - passed);
		}
		passed += c->last - c->first + 1;
	}
	return k + 1;
}

/* Checks that column k, whose center is `center`, keeps enough steps. */
static int check_steps(const struct sl_points *p, uint32_t k, double center, const char *metric, struct sl_error *err)
{
	double x[SL__SPREAD_SAMPLE], median;
	uint32_t step = (p->n + SL__SPREAD_SAMPLE - 1) / SL__SPREAD_SAMPLE, n = 0;
	const float *value = p->value;
	for (size_t i = 0; i < p->n; i += step)
		x[n++] = (double)value[i * p->d + k];
	double spread = sl__spread(x, n, &median), at = fabs(center + median);
	if (spread == 0 || at * 0x1p-23 * STEPS_LEAST < spread)
		return 0;
	const char *title;
	uint32_t number = sl__coordinate_column(p, k, &title);
	return sl_error_set(err, SL_BADDATA, "Column %u%s%.64s%s lies near %.10g with a spread of %.3g, for which single "
			    "precision has only %.2g steps there. Metric %s compares values with 0, so this offset cannot be "
			    "subtracted for you. Subtract it from the column, leave the column out, or use metric=euclidean.",
			    number, *title ? " (\"" : "", title, *title ? "\")" : "", center + median, spread,
			    spread / (at * 0x1p-23), metric);
}

static int restore(struct sl_points *q, const struct sl_points *p, const double *center)
{
	size_t values = (size_t)p->n * p->d;
	const float *from = p->value;
	float *to = malloc((values + 1) * sizeof *to);
	if (!to)
		return SL_NOMEM;
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->d; k++) {
			double x = (double)from[i * p->d + k] + center[k];
			/* a 0 of the file has become the rounded center */
			to[i * p->d + k] = fabs(x) <= fabs(center[k]) * 0x1p-24 ? 0 : (float)x;
		}
	*q = (struct sl_points){.n = p->n, .d = p->d, .n_user = p->n_user, .type = SL_POINTS_F32, .value = to,
				.user = p->user};
	return 0;
}

int sl_points_check_steps(const struct sl_points *p, const char *metric, struct sl_error *err)
{
	const double *own = p->type == SL_POINTS_F32 ? sl_points_own_center(p) : NULL;
	int rc = 0;
	for (uint32_t k = 0; own && !rc && k < p->d; k++)
		if (own[k] != 0)
			rc = check_steps(p, k, own[k], metric, err);
	return rc;
}

int sl_points_uncentred(const struct sl_points **view, const struct sl_points *p, unsigned why,
			const char *metric, struct sl_error *err)
{
	const double *own = p->type == SL_POINTS_F32 ? sl_points_own_center(p) : NULL;
	*view = p;
	if (!own)
		return 0;
	double *center = malloc(p->d * sizeof *center), mean = 0;
	struct sl_points *q = calloc(1, sizeof *q);
	int rc = center && q ? 0 : SL_NOMEM;
	bool unchecked = why & SL_OFFSETS_UNCHECKED;
	why &= ~(unsigned)SL_OFFSETS_UNCHECKED;
	for (uint32_t k = 0; why == SL_OFFSETS_ROWS && k < p->d; k++)
		mean += own[k] / p->d;
	for (uint32_t k = 0; !rc && k < p->d; k++)
		center[k] = own[k] - mean;
	for (uint32_t k = 0; !rc && !unchecked && why != SL_OFFSETS_ZEROS && k < p->d; k++)
		if (center[k] != 0)
			rc = check_steps(p, k, center[k], metric, err);
	bool told = rc == SL_BADDATA;
	if (!rc)
		rc = restore(q, p, center);
	free(center);
	if (!rc) {
		*view = q;
		return 0;
	}
	free(q);
	return told ? rc : sl_error_set(err, rc, SL_NO_MEMORY "%u points of %u columns.", p->n, p->d);
}

void sl_points_uncentred_end(const struct sl_points *view, const struct sl_points *p)
{
	if (!view || view == p)
		return;
	free(view->value);
	free((void *)(uintptr_t)view);
}
