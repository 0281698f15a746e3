/* Computes the steps on a device (passes.h). The host decides on the length of steps, by the same code as without a
 * device, and fetches values only when they are needed. */
#include <math.h>

#include "core/clock.h"
#include "core/signal/passes.h"
#include "core/signal/signal_internal.h"

int sl__signal_fetch(struct sl_signal *s, struct sl_error *err)
{
	if (!s->stale)
		return 0;
	int code = s->passes.get(s->passes.arg, s->y, err);
	s->stale = code != 0;
	return code;
}

double sl__signal_device_sum(struct sl_signal *s)
{
	double sum = NAN;
	int code = s->passes.level(s->passes.arg, &sum, &s->failure);
	s->failed = code ? code : s->failed;
	return sum;
}

int sl_signal_attach(struct sl_signal *s, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err)
{
	struct sl_signal_table table = {
		.coupling = s->c, .tableau = s->tableau, .model = s->params.model, .fields = s->fields,
		.random_walk = s->params.laplacian == SL_SIGNAL_RANDOM_WALK, .stimulated = s->stimulated,
		.restart = s->restart, .damping = s->params.damping, .seed = s->params.seed,
	};
	struct sl_signal_passes passes;
	int code = sl_signal_opener(engine)(device, &table, &passes, err);
	if (code)
		return code;
	code = passes.put(passes.arg, (const double *const *)s->y, err);
	if (code) {
		passes.close(passes.arg);
		return code;
	}
	s->passes = passes;
	s->stepping = s->stale = s->first_known = false;
	s->step_ms = 0;
	sl__signal_free_scratch(s);
	return 0;
}

static int rank(struct sl_signal *s, int max_steps, struct sl_error *err)
{
	double change[SL_SIGNAL_RANKS];
	int left = s->params.iterations - s->step, done;
	max_steps = max_steps < left ? max_steps : left;
	max_steps = max_steps < SL_SIGNAL_RANKS ? max_steps : SL_SIGNAL_RANKS;
	int code = s->passes.rank(s->passes.arg, s->params.tolerance, max_steps, change, &done, err);
	for (int k = 0; k < done && !code; k++) {
		s->change = change[k];
		s->converged = s->change < s->params.tolerance;
		sl__signal_end_step(s);
	}
	return code;
}

static int adapt(struct sl_signal *s, struct sl_error *err)
{
	double error;
	int code = 0;
	while (!code && !s->stepped) {
		code = s->passes.trial(s->passes.arg, &s->rates, s->now_h, s->first_known, &error, err);
		if (!code)
			code = sl__signal_judge(s, error, err);
	}
	if (code)
		return code;
	s->passes.accept(s->passes.arg);
	sl__signal_end_step(s);
	return 0;
}

static int solve(struct sl_signal *s, struct sl_error *err)
{
	bool solved;
	int code = s->passes.solve(s->passes.arg, &s->rates, s->now_h, &solved, err);
	if (!code && !solved)
		code = sl__signal_unsolved(s, err);
	if (!code)
		sl__signal_end_step(s);
	return code;
}

static int step(struct sl_signal *s, int max_steps, struct sl_error *err)
{
	int count = sl__signal_equal_steps(s, max_steps);
	int code = s->passes.steps(s->passes.arg, &s->rates, s->now_h, s->step, count, err);
	for (int k = 0; k < count && !code; k++)
		sl__signal_end_step(s);
	return code;
}

int sl__signal_device_advance(struct sl_signal *s, double ms, struct sl_error *err)
{
	if (s->failed) {
		*err = s->failure;
		return s->failed;
	}
	double began = sl_clock_ms(), room = s->step_ms > 0 ? ms / s->step_ms : 1;
	int before = s->step, max_steps = s->pause_at - s->step, code;
	max_steps = max_steps > room ? (int)room : max_steps;
	max_steps = max_steps > 1 ? max_steps : 1;
	sl__signal_begin_step(s);
	s->stale = true;
	if (s->params.model == SL_SIGNAL_PAGERANK)
		code = rank(s, max_steps, err);
	else if (s->tableau && s->tableau->adaptive)
		code = adapt(s, err);
	else if (s->tableau || s->params.model == SL_SIGNAL_SIR_CHANCE)
		code = step(s, max_steps, err);
	else
		code = solve(s, err);
	s->stepping = false;
	if (s->step > before)
		s->step_ms = (sl_clock_ms() - began) / (s->step - before);
	return code;
}
