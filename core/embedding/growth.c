/* Decides how long a run of "auto" iterations is, and what a run with a given number of iterations does with them.
 *
 * A check measures the KL divergence between two iterations. Checks are a tenth of the run apart. Early exaggeration
 * ends when a check finds that the divergence has not fallen by sl_params_early_tolerance() since the previous check.
 * The next phase, up to the search for the scale, ends when it has not fallen by sl_params_growth_tolerance(), and at
 * sl_params_search_latest(). Most inputs need only the first plan, or a tenth more. Inputs without clusters unfold or
 * move apart for much longer.
 *
 * After the search the run is extended by a tenth as long as that lowers the divergence enough. Each tenth begins with
 * another search: once the layout has settled at the scale that was best, a wider one is often better still. So what is
 * compared are divergences at the best scale, some iterations later.
 *
 * A given number of iterations is a budget for the same run: its phases are those of "auto", up to the iteration in
 * which that would end, and then the run goes on until the budget is spent. A budget that is smaller than the first
 * plan shortens the phases alike (sl_params_settle()); one of less than two plans does not extend early exaggeration.
 *
 * Checks also limit the length of steps (scale.c), which long runs need before and after the search. */
#include <limits.h>
#include <math.h>

#include "core/clock.h"
#include "core/embedding/embedding_internal.h"
#include "core/graph/affinities.h"

#define TENTH_LEAST 20  /* iterations */
#define EARLY_MOST 260  /* iterations with early exaggeration */

int sl__embedding_tenth_beyond(int iteration)
{
	int more = iteration / 10 > TENTH_LEAST ? iteration / 10 : TENTH_LEAST;
	return more < SL_ITERATIONS_MOST - iteration ? iteration + more : SL_ITERATIONS_MOST;
}

static int tenth_before(int iteration)
{
	int less = iteration / 11 > TENTH_LEAST ? iteration / 11 : TENTH_LEAST;
	return less < iteration ? iteration - less : 0;
}

/* Plans two checks before the search; the first gives the second a value to compare with. */
static void plan_checks(struct sl_embedding *e)
{
	const struct sl_params *p = &e->params;
	int due = sl__embedding_scale_at(p), first = tenth_before(due);
	e->check_kl = NAN;
	e->check_at = !(p->rescale > 0) || e->search.done ? INT_MAX :
		     first > sl__embedding_late_from(p) ? first : due;
}

/* The first plan of a budget, or the next one in a run that is already longer. */
static int plan_of_budget(const struct sl_embedding *e)
{
	int plan = sl_params_first_plan(&e->requested);
	if (plan <= e->iteration)
		plan = sl__embedding_tenth_beyond(e->iteration);
	int last = e->requested.iterations - 1;
	return plan < last ? plan : last > e->iteration ? last : e->requested.iterations;
}

/* Whether the budget has less room than twice the first plan of "auto": then early exaggeration is not extended, since
 * the layout would lack the iterations later. */
static bool is_short(const struct sl_embedding *e)
{
	struct sl_params unlimited = e->requested;
	unlimited.iterations = 0;
	return e->requested.iterations && e->requested.iterations < 2 * sl_params_first_plan(&unlimited);
}

void sl__embedding_growth_begin(struct sl_embedding *e)
{
	const struct sl_params *requested = &e->requested;
	e->most_iterations = sl_params_iterations_most(requested, e->affinities->n);
	if (sl_params_budgeted(requested))
		e->params.iterations = plan_of_budget(e);
	e->grows = e->most_iterations > e->params.iterations;
	e->early_grows = e->grows && !is_short(e) && requested->exaggeration_iterations < 0 &&
			 e->params.exaggeration_iterations > 0 &&
			 e->iteration < e->params.exaggeration_iterations;
	e->plan_kl = NAN;
	e->check_kl = NAN;
	e->check_at = INT_MAX;
	if (e->early_grows && tenth_before(e->params.exaggeration_iterations) > e->iteration)
		e->check_at = tenth_before(e->params.exaggeration_iterations);
	else if (e->grows)
		plan_checks(e);
}

bool sl__embedding_check_due(const struct sl_embedding *e)
{
	return e->device && e->grows && !e->search.count && e->iteration >= e->check_at &&
	       e->iteration < e->params.iterations;
}

static bool has_fallen(double kl, double before, double tolerance)
{
	return isfinite(kl) && kl < before * (1 - tolerance);
}

/* Layouts with heavier tails than t-SNE's are so wide that iterations after another search would take too long. */
static bool searches_again(const struct sl_embedding *e)
{
	return e->params.dof >= 1;
}

static double tolerance(const struct sl_embedding *e)
{
	return sl_params_growth_tolerance(&e->params, e->affinities->n);
}

/* Ends or extends early exaggeration. The run is extended by as many iterations as its exaggeration. */
static void check_early(struct sl_embedding *e, double kl, double before)
{
	struct sl_params *p = &e->params;
	int end = p->exaggeration_iterations;
	if (e->iteration < end) {
		e->check_at = end;
		return;
	}
	int longer = sl__embedding_tenth_beyond(end) - end;
	/* A budget leaves the rest of the run shorter, so that longer budgets begin with the same run. */
	bool budget = e->requested.iterations > 0;
	bool room = end + longer <= EARLY_MOST && (budget || p->iterations + longer <= e->most_iterations);
	if (room && has_fallen(kl, before, sl_params_early_tolerance())) {
		p->exaggeration_iterations += longer;
		p->iterations += longer;
		if (budget && p->iterations > e->most_iterations - 1)
			p->iterations = e->most_iterations - 1;
		e->check_at = p->exaggeration_iterations;
		return;
	}
	e->early_grows = false;
	plan_checks(e);
}

static void check_late(struct sl_embedding *e, double kl, double before)
{
	struct sl_params *p = &e->params;
	int due = sl__embedding_scale_at(p), most = sl_params_search_latest(&e->requested, e->affinities->n);
	if (e->iteration < due) {
		e->check_at = due;
	} else if (e->iteration < most && (has_fallen(kl, before, tolerance(e)) || isnan(before))) {
		int next = sl__embedding_tenth_beyond(e->iteration);
		e->check_at = next < most ? next : most;
		p->iterations = (int)ceil(e->check_at / p->rescale);
	} else {
		e->check_at = INT_MAX;
	}
}

int sl__embedding_check(struct sl_embedding *e, struct sl_error *err)
{
	struct sl_measure m;
	double began = sl_clock_s(), before = e->check_kl;
	int code = e->engine->measure(e->device, &m, err);
	e->seconds += sl_clock_s() - began;
	if (code)
		return code;
	e->check_kl = m.kl;
	if (e->early_grows) {
		check_early(e, m.kl, before);
	} else {
		e->search.longest_step = sl__embedding_longest_step(e, m.z);
		check_late(e, m.kl, before);
	}
	return 0;
}

/* Goes on to the end of the budget: tenth by tenth, with searches, as long as a run of "auto" would, then in one part.
 * (Searches without end would widen paths until their layouts diverge.) The last search comes before the last
 * iteration. */
static void spend(struct sl_embedding *e, double kl, double before)
{
	int next = sl__embedding_tenth_beyond(e->iteration), most = e->most_iterations, last = most - 1;
	bool pays = isnan(before) || has_fallen(kl, before, tolerance(e));
	if (e->iteration >= most) {
		e->stop = SL_STOP_ITERATIONS;
		return;
	}
	if (!pays || sl__embedding_tenth_beyond(next) > last)
		next = last;
	e->plan_kl = kl;
	e->params.iterations = e->iteration < last ? next : most;
	if (searches_again(e) && (pays || e->iteration >= last))
		sl__embedding_scale_again(e);
}

void sl__embedding_plan_end(struct sl_embedding *e)
{
	double kl = e->trace_count ? e->trace[e->trace_count - 1].measure : NAN, before = e->plan_kl;
	int next = sl__embedding_tenth_beyond(e->iteration);
	if (e->grows && e->requested.iterations) {
		spend(e, kl, before);
		return;
	}
	if (!e->grows || next > e->most_iterations) {
		e->stop = SL_STOP_ITERATIONS;
	} else if (!isfinite(kl) || !(isnan(before) || has_fallen(kl, before, tolerance(e)))) {
		e->stop = SL_STOP_KL;
	} else {
		e->plan_kl = kl;
		e->params.iterations = next;
		if (searches_again(e))
			sl__embedding_scale_again(e);
	}
}
