/* The coordinates of points along their first principal axes, for initial layouts.
 *
 * A layout needs the axes only roughly, since it leaves them in its first iterations. So they are those of a sample of
 * the rows, evenly spaced, and with many columns they are iterated (pca.c). That takes a few hundred milliseconds at
 * most, and the result depends on the points alone. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/points/project.h"

#define SAMPLE 10000u              /* rows */
#define SAMPLE_VALUES (1u << 25)   /* in all; at least SAMPLE_LEAST rows */
#define SAMPLE_LEAST 100u
#define DENSE_COLUMNS 100u         /* up to which the whole covariance matrix costs less than iterations */

static struct sl_points *take_sample(const struct sl_points *p)
{
	uint32_t most = SAMPLE_VALUES / p->d > SAMPLE_LEAST ? SAMPLE_VALUES / p->d : SAMPLE_LEAST;
	uint32_t rows = most < SAMPLE ? most : SAMPLE;
	rows = rows < p->n ? rows : p->n;
	struct sl_points *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	*s = (struct sl_points){.n = rows, .n_user = rows, .d = p->d, .type = SL_POINTS_F32};
	s->value = malloc((size_t)rows * p->d * sizeof(float));
	for (uint32_t i = 0; s->value && i < rows; i++)
		sl_points_rows(p, (uint32_t)((uint64_t)i * p->n / rows), 1, (float *)s->value + (size_t)i * p->d);
	if (s->value)
		return s;
	free(s);
	return NULL;
}

/* Spreads [n][to] to [n][of] from the end, with zeros, and makes every value finite. */
static void spread(float *out, uint32_t n, uint32_t to, uint32_t of)
{
	for (size_t i = n; i-- > 0;)
		for (uint32_t k = of; k-- > 0;) {
			float x = k < to ? out[i * to + k] : 0;
			out[i * of + k] = isnan(x) ? 0 : fminf(fmaxf(x, -FLT_MAX), FLT_MAX);
		}
}

int sl_points_axes(float *out, uint32_t axes, const struct sl_points *p, const int *cancel, struct sl_error *err)
{
	struct sl_points *sample = take_sample(p), *projected = NULL;
	uint32_t to = p->d < axes ? p->d : axes;
	memset(out, 0, (size_t)p->n * axes * sizeof *out);
	int code = sample ? p->d > DENSE_COLUMNS ? sl__points_pca_iterated(&projected, sample, to, cancel, err) :
						   sl_points_pca(&projected, sample, to, NULL, cancel, err) : SL_NOMEM;
	sl_points_destroy(sample);
	if (!code)
		code = sl__project_values(projected->pca, p, out);
	sl_points_destroy(projected);
	if (!code)
		spread(out, p->n, to, axes);
	if (code == SL_BADDATA)  /* too far apart for floats: no axis is better than another */
		return 0;
	return code == SL_NOMEM ? sl_error_memory(err, "the principal axes of %u points", p->n) : code;
}
