/* The scale leaves CUT of the numbers out at each end, so that a few extremes do not take all colours; these get the
 * first and the last step. */
#include "core/picture/picture_steps.h"
#include "core/sort.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 64
#define NAMED 5      /* steps with a name */
#define CUT 0.005    /* share of the numbers beyond each end of the scale */

static int memory_error(struct sl_error *err)
{
	return sl_error_memory(err, "the colours of a picture");
}

/* Finds both ends of the scale. Returns the number of finite values, or a negative code. */
static int64_t find_ends(const float *x, uint64_t n, float ends[2], struct sl_error *err)
{
	float *sorted = malloc((n + 1) * sizeof *sorted);
	uint64_t count = 0;
	if (!sorted)
		return memory_error(err);
	for (uint64_t i = 0; i < n; i++)
		if (isfinite(x[i]))
			sorted[count++] = x[i];
	qsort(sorted, count, sizeof *sorted, sl_by_float);
	uint64_t cut = (uint64_t)(CUT * (double)count);
	if (count) {
		ends[0] = sorted[cut];
		ends[1] = sorted[count - 1 - cut];
	}
	free(sorted);
	return (int64_t)count;
}

/* Names some steps, at equal distances, by their numbers, and the last label "none". */
static int name_steps(struct sl_picture_steps *s, const float ends[2])
{
	float span = ends[1] - ends[0];
	char text[32];
	for (int k = 0; k < (span > 0 ? NAMED : 1); k++) {
		float at = span > 0 ? (float)k / (NAMED - 1) : 0.5f;
		snprintf(text, sizeof text, "%.4g", (double)(ends[0] + (span > 0 ? at * span : 0)));
		char **name = &s->name[(int)(at * (STEPS - 1) + 0.5f)];
		if (!(*name = strdup(text)))
			return SL_NOMEM;
	}
	return (s->name[STEPS] = strdup("none")) ? 0 : SL_NOMEM;
}

int sl_picture_steps_create(struct sl_picture_steps *out, const float *x, uint64_t n, struct sl_error *err)
{
	float ends[2] = {0, 0};
	*out = (struct sl_picture_steps){.labels = STEPS + 1};
	int64_t count = find_ends(x, n, ends, err);
	if (count < 0)
		return (int)count;
	out->label = malloc((n + 1) * sizeof *out->label);
	out->name = calloc(STEPS + 1, sizeof *out->name);
	if (!out->label || !out->name || name_steps(out, ends)) {
		sl_picture_steps_finish(out);
		return memory_error(err);
	}
	float span = ends[1] - ends[0];
	for (uint64_t i = 0; i < n; i++) {
		float t = span > 0 ? (x[i] - ends[0]) / span : 0.5f;
		out->label[i] = !isfinite(x[i]) ? STEPS : t <= 0 ? 0 : t >= 1 ? STEPS - 1 : (uint32_t)(t * STEPS);
	}
	return 0;
}

void sl_picture_steps_finish(struct sl_picture_steps *s)
{
	for (uint32_t k = 0; s->name && k < s->labels; k++)
		free(s->name[k]);
	free(s->name);
	free(s->label);
	*s = (struct sl_picture_steps){.labels = 0};
}
