/* Projects points on principal axes. Sums over columns are in double precision and in the columns' order, so a row's
 * coordinates depend only on the row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/points/project.h"
#include "core/vector.h"

struct sl_pca *sl_pca_create(uint32_t from, uint32_t kept, uint32_t to)
{
	struct sl_pca *pca = calloc(1, sizeof *pca);
	if (!pca)
		return NULL;
	pca->from = from;
	pca->to = to;
	pca->kept = kept;
	pca->mean = calloc(kept, sizeof *pca->mean + (kept < from ? sizeof *pca->column : 0));
	pca->axis = calloc((size_t)kept * to, sizeof *pca->axis);
	if (pca->mean && pca->axis) {
		pca->column = kept < from ? (uint32_t *)(pca->mean + kept) : NULL;
		return pca;
	}
	sl_pca_destroy(pca);
	return NULL;
}

void sl_pca_destroy(struct sl_pca *pca)
{
	if (!pca)
		return;
	free(pca->mean);
	free(pca->axis);
	free(pca);
}

uint64_t sl_pca_bytes(const struct sl_pca *pca)
{
	return sizeof *pca + (uint64_t)pca->kept * (1 + (uint64_t)pca->to) * sizeof(double) +
	       (pca->column ? pca->kept * sizeof *pca->column : 0);
}

VECTOR void sl__add_scaled(double *restrict y, double x, const double *restrict v, uint32_t c)
{
	for (uint32_t j = 0; j < c; j++)
		y[j] += x * v[j];
}

void sl__points_centred(const struct sl_points *p, const double *mean, uint32_t i, float *row, double *x)
{
	sl_points_rows(p, i, 1, row);
	for (uint32_t k = 0; k < p->d; k++)
		x[k] = (double)row[k] - mean[k];
}

int sl__project_values(const struct sl_pca *pca, const struct sl_points *p, float *out)
{
	uint32_t d = pca->from, to = pca->to;
	const uint32_t *column = pca->column;
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		float *row = malloc(d * sizeof *row);
		double *y = malloc(to * sizeof *y);
		failed |= !row || !y;
#pragma omp for schedule(static)
		for (uint32_t i = 0; i < p->n; i++) {
			if (failed)
				continue;
			sl_points_rows(p, i, 1, row);
			memset(y, 0, to * sizeof *y);
			for (uint32_t k = 0; k < pca->kept; k++) {
				double x = (double)row[column ? column[k] : k] - pca->mean[k];
				if (x != 0)
					sl__add_scaled(y, x, pca->axis + (size_t)k * to, to);
			}
			for (uint32_t j = 0; j < to; j++)
				out[(size_t)i * to + j] = (float)y[j];
		}
		free(row);
		free(y);
	}
	return failed ? SL_NOMEM : 0;
}

static void *copy(const void *from, size_t bytes, int *rc)
{
	void *to = from ? malloc(bytes + 1) : NULL;
	if (from && !to)
		*rc = SL_NOMEM;
	if (to)
		memcpy(to, from, bytes);
	return to;
}

/* Copies all fields but the values. */
static int copy_rest(struct sl_points *q, const struct sl_points *p)
{
	int rc = 0;
	q->n = p->n;
	q->n_user = p->n_user;
	q->report = p->report;
	q->merged = p->merged;
	q->center = copy(p->center, p->center_columns * sizeof *p->center, &rc);
	q->center_columns = p->center_columns;
	q->user = copy(p->user, (size_t)p->n * sizeof *p->user, &rc);
	if (p->name_bytes) {
		q->name_bytes = copy(p->name_bytes, p->name_at[p->n_user], &rc);
		q->name_at = copy(p->name_at, ((size_t)p->n_user + 1) * sizeof *p->name_at, &rc);
	}
	q->label = copy(p->label, (size_t)p->n_user * sizeof *p->label, &rc);
	q->label_name = p->label_name ? calloc((size_t)p->labels + 1, sizeof *q->label_name) : NULL;
	if (p->label_name && !q->label_name)
		return SL_NOMEM;
	q->labels = p->labels;
	memcpy(q->label_title, p->label_title, sizeof q->label_title);
	for (uint32_t k = 0; p->label_name && k < p->labels; k++)
		q->label_name[k] = copy(p->label_name[k], strlen(p->label_name[k]) + 1, &rc);
	return rc;
}

int sl__points_project(struct sl_points **out, const struct sl_pca *pca, const struct sl_points *p,
		       const struct sl_points_passes *passes, struct sl_error *err)
{
	struct sl_points *q = calloc(1, sizeof *q);
	int rc = q ? copy_rest(q, p) : SL_NOMEM;
	if (!rc) {
		q->d = pca->to;
		q->value = malloc(((size_t)q->n * q->d + 1) * sizeof(float));
		rc = !q->value ? SL_NOMEM : passes ? passes->project(passes->arg, pca, q->value, err) :
							  sl__project_values(pca, p, q->value);
	}
	if (!rc) {
		*out = q;
		return 0;
	}
	sl_points_destroy(q);
	return rc;
}

bool sl__points_overflow(const struct sl_points *p, uint32_t *row)
{
	const float *value = p->value;
	for (size_t i = 0; i < (size_t)p->n * p->d; i++)
		if (!isfinite(value[i])) {
			*row = (uint32_t)(i / p->d);
			*row = p->user ? p->user[*row] : *row;
			return true;
		}
	return false;
}

int sl_pca_apply(struct sl_points **out, const struct sl_pca *pca, const struct sl_points *p, struct sl_error *err)
{
	*out = NULL;
	if (p->d != pca->from)
		return sl_error_set(err, SL_BADDATA, "The points have %u columns, but the principal axes are for %u "
				    "columns.", p->d, pca->from);
	struct sl_points *q;
	if (sl__points_project(&q, pca, p, NULL, NULL))
		return sl_error_memory(err, "%u coordinates of %u points", pca->to, p->n);
	free(q->center);  /* q->pca would say that it belongs to the columns before the projection */
	q->center = NULL;
	q->center_columns = 0;
	uint32_t row;
	if (sl__points_overflow(q, &row)) {
		sl_points_destroy(q);
		return sl_error_set(err, SL_BADDATA, "Row %u is so far from the mean of the points that its coordinates "
				    "overflow; new points must have the same columns and scale.", row + 1);
	}
	*out = q;
	return 0;
}
