/* Runs small embeddings side by side.
 *
 * For each embedding, the work that sl_embedding_advance() would do in a slice is planned ahead: its stretches, and the
 * points of the trace between them. The engine runs all plans at once; then each embedding records the results of its
 * plan. */
#include <stdlib.h>

#include "core/clock.h"
#include "core/embedding/embedding_internal.h"

#define STRETCHES_AHEAD 16
#define SMALL_SECONDS 20e-6  /* assumed time of an iteration of a small embedding until it is measured */

struct plan {
	struct sl_stretch stretch[STRETCHES_AHEAD];
	int count;
};

bool sl_embedding_joins(const struct sl_embedding *e)
{
	return e->device && e->engine->run_many && e->engine->joins(e->device);
}

/* True if a measurement or a time limit may end the run. Then only one stretch is planned. */
static bool may_stop_early(const struct sl_embedding *e)
{
	const struct sl_params *p = &e->params;
	return p->max_seconds > 0 || (!sl__embedding_early(e) && (p->min_gradient_norm > 0 || p->kl_patience > 0));
}

/* Plans stretches and measurements from here on, as far as they fit into slice_ms. */
static void look_ahead(const struct sl_embedding *e, double slice_ms, struct plan *plan)
{
	struct sl_embedding at = *e;  /* a copy that is advanced without computing; its pointers are only read */
	struct sl_trace_point last = {.iteration = e->trace_count ? e->trace[e->trace_count - 1].iteration : -1};
	double left_ms = slice_ms;
	at.trace = &last;
	at.trace_count = e->trace_count ? 1 : 0;
	if (!(at.seconds_per_iteration > 0))
		at.seconds_per_iteration = SMALL_SECONDS;
	while (plan->count < STRETCHES_AHEAD && !sl__embedding_held(&at) && at.iteration < at.params.iterations &&
	       left_ms > 0 &&
	       !sl__embedding_check_due(&at) && !sl__embedding_scale_due(&at)) {
		struct sl_stretch *s = &plan->stretch[plan->count++];
		bool stop = may_stop_early(&at);
		*s = (struct sl_stretch){.step = sl__embedding_step(&at), .iterations = sl__embedding_stretch(&at, left_ms)};
		at.iteration += s->iterations;
		left_ms -= 1e3 * s->iterations * at.seconds_per_iteration;
		s->measure = sl__embedding_trace_due(&at);
		if (s->measure) {
			last.iteration = at.iteration;
			at.trace_count = 1;
		}
		if (stop || may_stop_early(&at))
			break;
	}
}

/* Records the results of the plan. seconds: duration of all its stretches. */
static int catch_up(struct sl_embedding *e, const struct plan *plan, double seconds, struct sl_error *err)
{
	int all = 0, code = 0;
	for (int i = 0; i < plan->count; i++)
		all += plan->stretch[i].iterations;
	for (int i = 0; i < plan->count && !code; i++) {
		const struct sl_stretch *s = &plan->stretch[i];
		sl__embedding_account(e, s->iterations, seconds * s->iterations / all);
		if (s->measure)
			code = sl__embedding_trace_take(e, &s->measured, err);
	}
	if (code)
		return code;
	if (!e->stop && e->iteration >= e->params.iterations)
		sl__embedding_plan_end(e);
	/* the moment of a time limit cannot be planned */
	return e->stop && sl__embedding_trace_due(e) ? sl__embedding_trace_now(e, err) : 0;
}

int sl_embedding_advance_together(struct sl_embedding *const *e, int count, double slice_ms, struct sl_status *status,
				  int *code, struct sl_error *each, struct sl_error *err)
{
	struct plan *plan = calloc((size_t)count + 1, sizeof *plan);
	struct sl_run *run = calloc((size_t)count + 1, sizeof *run);
	int failed = 0;
	if (!plan || !run) {
		failed = sl_error_memory(err, "%d embeddings side by side", count);
		goto out;
	}
	for (int i = 0; i < count; i++) {
		code[i] = 0;
		while (!code[i] && !e[i]->stop && !sl__embedding_held(e[i]) &&
		       (sl__embedding_check_due(e[i]) || sl__embedding_scale_due(e[i])))
			code[i] = sl__embedding_check_due(e[i]) ? sl__embedding_check(e[i], &each[i]) :
								 sl__embedding_scale_step(e[i], &each[i]);
		if (!code[i] && !e[i]->stop)
			look_ahead(e[i], slice_ms, &plan[i]);
		run[i] = (struct sl_run){.embedding = e[i]->device, .stretch = plan[i].stretch, .stretches = plan[i].count};
	}
	double began = sl_clock_s();
	failed = count ? e[0]->engine->run_many(run, count, err) : 0;
	double took = sl_clock_s() - began;
	for (int i = 0; i < count && !failed; i++) {
		if (!code[i] && (code[i] = run[i].code))
			each[i] = run[i].err;
		if (!code[i])
			code[i] = catch_up(e[i], &plan[i], took, &each[i]);
		sl__embedding_report(e[i], &status[i]);
	}
out:
	free(plan);
	free(run);
	return failed;
}
