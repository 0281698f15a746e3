/* After a pass: accepts the trial layout if it is better, else undoes it; then makes the next trial. */
#include <math.h>

#include "core/sammon/sammon_internal.h"

#define NEWTON_STEP 0.35    /* Sammon: 0.3 or 0.4 */
#define NEWTON_GROWS 1.2
#define NEWTON_MOST 1.0
#define CURVE_LEAST 0.05    /* least second derivative, relative to the sum of weights, since it may vanish */
#define SHORTER 0.5
#define ARMIJO 1e-4         /* least decrease of the stress, relative to the decrease predicted by the gradient */
#define REFUSED_MOST 20     /* after so many refused trials the layout is a minimum, up to rounding */
#define NOTHING 1e-13       /* a stress below this is 0, up to rounding */

static int optimiser(const struct sl_sammon *m)
{
	return m->params.optimiser;
}

/* smacof divides the force of point i by this: the diagonal of V, times n / (n - 1) for n rows. If all pairs of rows
 * have the same weight, this is the exact inverse of V. Otherwise the step is less than twice that to the minimum of
 * the majorising function. */
static double bound(const struct sl_sammon *m, size_t i)
{
	return m->weight[i] * m->rows / (m->rows - (double)m->mass[i]);
}

/* The movement of coordinate `at` of the best layout, which belongs to point i, for a step of 1. */
static double direction(const struct sl_sammon *m, size_t at, size_t i)
{
	double force = m->best.force[at], curve;
	switch (optimiser(m)) {
	case SL_SAMMON_NEWTON:
		curve = fabs(m->best.curve[at]);
		return -force / fmax(curve, CURVE_LEAST * m->weight[i]);
	case SL_SAMMON_SMACOF:
		return m->terms ? m->terms->move[at] : -force / bound(m, i);
	default:
		return -force;
	}
}

void sl__sammon_try(struct sl_sammon *m)
{
	for (int q = 0; q < m->params.dims; q++)
		for (size_t i = 0; i < m->n; i++) {
			size_t at = (size_t)q * m->room + i;
			m->trial.y[at] = m->best.y[at];
			if (m->weight[i] > 0)
				m->trial.y[at] += m->step * direction(m, at, i);
		}
	sl__sammon_pass_begin(m);
}

/* smacof on a graph must first solve for its direction. */
static void make_trial(struct sl_sammon *m)
{
	if (m->terms && optimiser(m) == SL_SAMMON_SMACOF && !m->terms->moved)
		sl__terms_solve_begin(m);
	else
		sl__sammon_try(m);
}

/* The sum of squares of force over all points and coordinates. */
static double square_of(const struct sl_sammon *m, const double *force)
{
	double sum = 0;
	for (int q = 0; q < m->params.dims; q++)
		for (size_t i = 0; i < m->n; i++)
			sum += force[(size_t)q * m->room + i] * force[(size_t)q * m->room + i];
	return sum;
}

/* The step of Barzilai and Borwein, s's / s'g if it is positive: s is the step from the best layout to the better
 * trial, g the change of the gradient. */
static double next_length(const struct sl_sammon *m)
{
	double moved = 0, against = 0;
	for (int q = 0; q < m->params.dims; q++)
		for (size_t i = 0; i < m->n; i++) {
			size_t at = (size_t)q * m->room + i;
			double s = m->trial.y[at] - m->best.y[at];
			moved += s * s;
			against += s * (m->trial.force[at] - m->best.force[at]);
		}
	return against > 0 ? fmin(moved / against, 16 * m->step) : 2 * m->step;
}

#define FARTHEST 16  /* longest step, relative to that to the minimum of the majorising function */

/* The same in the norm of V: the last step went along `move`, with V move = - force. */
static double next_solved(const struct sl_sammon *m)
{
	double moved = 0, against = 0;
	for (int q = 0; q < m->params.dims; q++)
		for (size_t i = 0; i < m->n; i++) {
			size_t at = (size_t)q * m->room + i;
			double s = m->terms->move[at];
			moved -= s * m->best.force[at];
			against += s * (m->trial.force[at] - m->best.force[at]);
		}
	return against > 0 && moved > 0 ? fmax(1, fmin(m->step * moved / against, FARTHEST)) : FARTHEST;
}

static double first_step(const struct sl_sammon *m)
{
	double given = m->params.step, sum = 0;
	if (optimiser(m) == SL_SAMMON_NEWTON)
		return given > 0 ? given : NEWTON_STEP;
	if (optimiser(m) == SL_SAMMON_SMACOF)
		return given > 0 ? given : 1;
	for (size_t i = 0; i < m->n; i++)
		sum += m->weight[i];
	return (given > 0 ? given : 1) * m->n / sum;
}

/* The next step after an accepted trial. */
static double longer(const struct sl_sammon *m, double length)
{
	if (optimiser(m) == SL_SAMMON_GRADIENT)
		return length;
	if (optimiser(m) == SL_SAMMON_SMACOF && m->terms && !(m->params.step > 0))
		return length;
	if (optimiser(m) == SL_SAMMON_SMACOF)
		return first_step(m);
	return fmin(m->step * NEWTON_GROWS, fmax(NEWTON_MOST, m->params.step));
}

static bool better(const struct sl_sammon *m)
{
	double enough = 0;
	if (isnan(m->best.stress))
		return true;
	if (optimiser(m) == SL_SAMMON_GRADIENT)
		enough = ARMIJO * 2 * m->step * square_of(m, m->best.force) / m->total;
	return m->trial.stress <= m->best.stress - enough;
}

static void take_over(struct sl_sammon *m)
{
	bool first = isnan(m->best.stress);
	double before = m->best.stress, now = m->trial.stress;
	double length = first ? 0 : optimiser(m) == SL_SAMMON_GRADIENT ? next_length(m) :
			optimiser(m) == SL_SAMMON_SMACOF && m->terms ? next_solved(m) : 0;
	struct sl__sammon_place swap = m->best;
	m->best = m->trial;
	m->trial = swap;
	m->step = first || !m->adapted ? first_step(m) : longer(m, length);
	m->adapted = true;
	if (m->terms)
		m->terms->moved = false;
	if (!first && !m->terms && !m->refused && before - now < m->params.tolerance * before)
		m->status.converged = true;
	m->refused = 0;
	m->status.stress = now;
	m->status.gradient_norm = 2 * m->scale * sqrt(square_of(m, m->best.force) / m->n) / m->total;
}

#define SLOWS 20  /* passes after which the step has half its length */

/* With sampled partners each trial is accepted. The run ends when the mean stress of a window of passes is hardly less
 * than that of the window before. */
static void accept_sample(struct sl_sammon *m)
{
	struct sl__sammon_place swap = m->best;
	int t = m->status.iteration, window = SL__SAMMON_WINDOW;
	double before = 0, now = 0;
	m->recent[t % (2 * window)] = m->trial.stress;
	for (int i = 0; i < window; i++) {
		now += m->recent[(t + 2 * window - i) % (2 * window)];
		before += m->recent[(t + window - i) % (2 * window)];
	}
	m->best = m->trial;
	m->trial = swap;
	m->step = first_step(m) * SLOWS / (SLOWS + t);
	m->status.stress = m->best.stress;
	m->status.gradient_norm = 2 * m->scale * sqrt(square_of(m, m->best.force) / m->n) / m->total;
	m->status.converged = t >= 2 * window && before - now < m->params.tolerance * window * before;
}

/* A graph's run ends by the decrease over a window, since a single step may be short. */
static void check_window(struct sl_sammon *m)
{
	int t = m->status.iteration, window = SL__SAMMON_WINDOW;
	double before = m->recent[t % window], now = m->best.stress;
	m->recent[t % window] = now;
	if (t > window && before - now < m->params.tolerance * window * before)
		m->status.converged = true;
}

void sl__sammon_judge(struct sl_sammon *m)
{
	m->trial.stress = m->total > 0 ? m->sum / m->total : 0;
	m->status.iteration++;
	if (m->total <= 0) {  /* no pairs */
		m->status.stress = m->status.gradient_norm = 0;
		m->status.converged = m->status.done = true;
		return;
	}
	if (m->sampled) {
		accept_sample(m);
	} else if (better(m)) {
		take_over(m);
	} else {
		m->step *= SHORTER;
		m->status.converged = ++m->refused >= REFUSED_MOST;
	}
	if (m->terms)
		check_window(m);
	if (m->best.stress <= NOTHING)
		m->status.converged = true;
	m->status.step = m->step;
	m->status.done = m->status.converged || m->status.iteration >= m->params.iterations;
	if (!m->status.done)
		make_trial(m);
}
