/* Chooses the part of the layout that a picture shows. */
#include <math.h>
#include <stdlib.h>

#include "core/picture/picture_plot.h"
#include "core/sort.h"

static struct sl__range range_of(const struct sl__plot *p, int d, bool placed, float *scratch)
{
	struct sl__range all = {INFINITY, -INFINITY};
	uint64_t stride = p->n / SL__RANGE_SAMPLE + 1, k = 0;
	for (uint64_t i = 0; i < p->n; i++) {
		float v = p->dot[i].at[d];
		if ((p->dot[i].label != SL__UNPLACED) != placed)
			continue;
		all.low = v < all.low ? v : all.low;
		all.high = v > all.high ? v : all.high;
		if (i % stride == 0)
			scratch[k++] = v;
	}
	if (k < 1000)
		return all;
	qsort(scratch, k, sizeof *scratch, sl_by_float);
	uint64_t cut = k / 2000;
	float low = scratch[cut], high = scratch[k - 1 - cut], span = high - low;
	if (all.high - all.low <= 1.3f * span || !(span > 0))
		return all;
	low -= 0.05f * span;
	high += 0.05f * span;
	return (struct sl__range){low > all.low ? low : all.low, high < all.high ? high : all.high};
}

#define NEARBY 2.0f  /* unplaced nodes are shown if this widens the picture by at most this factor */

void sl__plot_view(const struct sl__plot *p, int axes, struct sl__range *view, float *scratch)
{
	struct sl__range outer[3];
	float span = 0, outer_span = 0;
	for (int d = 0; d < axes; d++) {
		view[d] = range_of(p, d, true, scratch);
		outer[d] = range_of(p, d, false, scratch);
		outer[d].low = fminf(outer[d].low, view[d].low);
		outer[d].high = fmaxf(outer[d].high, view[d].high);
		span = fmaxf(span, view[d].high - view[d].low);
		outer_span = fmaxf(outer_span, outer[d].high - outer[d].low);
	}
	/* the longest side determines the scale */
	bool nearby = outer_span <= NEARBY * span || view[0].low > view[0].high;
	for (int d = 0; d < axes; d++) {
		if (nearby)
			view[d] = outer[d];
		if (view[d].low > view[d].high)
			view[d] = (struct sl__range){0, 0};
		/* a single position: any length works that is not lost in rounding */
		float least = 1e-4f * (fabsf(view[d].low) + fabsf(view[d].high)) + 1e-20f;
		if (!(view[d].high - view[d].low >= least)) {
			view[d].low -= least;
			view[d].high += least;
		}
	}
}

bool sl__plot_shows(const struct sl__plot *p, const struct sl__dot *d)
{
	float x = d->at[0], y = d->at[1];
	return x >= p->left - SL__DOT_MOST && x <= p->left + p->width + SL__DOT_MOST && y >= p->top - SL__DOT_MOST &&
	       y <= p->top + p->height + SL__DOT_MOST;
}
