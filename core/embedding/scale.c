/* The scale of a layout, found by a line search.
 *
 * Gradient descent widens a layout slowly, since changes over long distances feel the least force. Once all points have
 * found their places, multiplying all coordinates by one factor gains in a few measurements as much as thousands of
 * iterations. The search changes the scale by factors of sqrt(2) while the KL divergence falls, first outwards, then
 * inwards. It ends at the vertex of the parabola through the best scale and its neighbours. A step costs about as much
 * as an iteration; a slice may end between any two steps, and a checkpoint holds the state of the search. */
#include <limits.h>
#include <math.h>

#include "core/clock.h"
#include "core/embedding/embedding_internal.h"
#include "core/graph/affinities.h"

/* The function that the following iterations minimise, alpha sum_ij p_ij log(1 + |y_i - y_j|^2) + log Z with late
 * exaggeration alpha. For alpha = 1 this is the KL divergence up to a constant. A scale at which the engine cannot
 * compute Z is no candidate: on grids that are too coarse Z only seems to fall, without end. */
static double objective(const struct sl_embedding *e, const struct sl_measure *m)
{
	double value = e->params.late_exaggeration * (m->kl - log(m->z)) + log(m->z);
	return m->finite && !m->coarse && isfinite(value) ? value : INFINITY;
}

#define OUTWARDS_MOST 10.0   /* 32 times as wide */
#define INWARDS_MOST (-4.0)  /* a quarter as wide */

/* Least decrease for a wider layout, in nats. At long distances the kernel has no scale, so the divergence of a path or
 * mesh falls for ever, by less and less, while the layout's grid grows. */
#define GAIN_LEAST 2e-3

int sl__embedding_scale_at(const struct sl_params *p)
{
	if (!(p->rescale > 0))
		return INT_MAX;
	int at = (int)(p->rescale * p->iterations), late = sl__embedding_late_from(p);
	return at > late ? at : late;
}

bool sl__embedding_scale_due(const struct sl_embedding *e)
{
	const struct sl_params *p = &e->params;
	if (!e->device || e->search.done || !(p->rescale > 0) || e->iteration >= p->iterations)
		return false;
	return e->iteration >= sl__embedding_scale_at(p) || e->search.forced || e->search.again ||
	       (p->max_seconds > 0 && !sl__embedding_early(e) && e->seconds >= p->rescale * p->max_seconds);
}

static int best_of(const struct sl__scale_search *s)
{
	int best = 0;
	for (int i = 1; i < s->count; i++)
		if (s->objective[i] < s->objective[best] - (s->scale[i] > s->scale[best] ? GAIN_LEAST : 0))
			best = i;
	return best;
}

static int find(const struct sl__scale_search *s, double scale)
{
	for (int i = 0; i < s->count; i++)
		if (s->scale[i] == scale)
			return i;
	return -1;
}

/* The scale to measure next. False: both neighbours of the best scale are measured, or it is at a limit. */
static bool next_scale(const struct sl__scale_search *s, double *scale)
{
	double best = s->scale[best_of(s)];
	if (s->count == SL__SCALES_MAX)
		return false;
	*scale = best + 1;
	if (best < OUTWARDS_MOST && find(s, *scale) < 0)
		return true;
	*scale = best - 1;
	return best > INWARDS_MOST && find(s, *scale) < 0;
}

/* The vertex of the parabola, or the best scale if it is the first or last of those measured. */
static double least(const struct sl__scale_search *s)
{
	int at = best_of(s), below = find(s, s->scale[at] - 1), above = find(s, s->scale[at] + 1);
	if (below < 0 || above < 0)
		return s->scale[at];
	double left = s->objective[below] - s->objective[at], right = s->objective[above] - s->objective[at];
	double offset = left + right > 0 ? 0.5 * (left - right) / (left + right) : 0;
	return s->scale[at] + (isfinite(offset) ? offset : 0);
}

/* In a wide layout few pairs contribute to Z, and two nodes that meet repel each other by 1 / Z. They would be thrown
 * across the layout, meet others there, and the layout would diverge. So a step is limited to 0.15 times the distance
 * at which q = Z / m, the share of an edge of average weight. */
double sl__embedding_longest_step(const struct sl_embedding *e, double z)
{
	double distance = sqrt((double)e->affinities->m / z);
	return isfinite(distance) ? 0.15 * distance : 0;
}

void sl__embedding_scale_again(struct sl_embedding *e)
{
	if (e->search.done)
		e->search = (struct sl__scale_search){.again = 1, .longest_step = e->search.longest_step};
}

static int go_to(struct sl_embedding *e, double scale, struct sl_error *err)
{
	float factor = (float)exp2(0.5 * (scale - e->search.now));
	int code = factor != 1 ? e->engine->rescale(e->device, factor, err) : 0;
	if (!code)
		e->search.now = scale;
	return code;
}

int sl__embedding_scale_step(struct sl_embedding *e, struct sl_error *err)
{
	struct sl__scale_search *s = &e->search;
	struct sl_measure m;
	double began = sl_clock_s(), scale;
	int code = e->engine->measure(e->device, &m, err);
	if (!code) {
		s->scale[s->count] = s->now;
		s->objective[s->count++] = objective(e, &m);
		if (best_of(s) == s->count - 1)
			s->longest_step = sl__embedding_longest_step(e, m.z);
		s->done = !next_scale(s, &scale);
		code = go_to(e, s->done ? least(s) : scale, err);
		if (!s->again) {  /* stop rules start again */
			e->best_kl = INFINITY;
			e->best_iteration = e->iteration;
		}
	}
	e->seconds += sl_clock_s() - began;
	return code;
}
