/* Embeddings that advance together, and snapshots, on an engine that pretends to run many at once: the CPU engine, one
 * after the other. Layouts, traces and ends are those of sl_embedding_advance(). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/params.h"
#include "tests/unit/engines.h"

static int calls, fail_at;

static bool joins(const struct sl_device_embedding *e) { return true; }

static int run_many(struct sl_run *run, int count, struct sl_error *err)
{
	const struct sl_engine *cpu = sl_engine_cpu();
	if (++calls == fail_at)
		return sl_error_set(err, SL_DEVLOST, "lost");
	for (int i = 0; i < count; i++) {
		run[i].code = 0;
		for (int k = 0; k < run[i].stretches && !run[i].code; k++) {
			struct sl_stretch *s = &run[i].stretch[k];
			run[i].code = cpu->run(run[i].embedding, &s->step, s->iterations, &run[i].err);
			if (!run[i].code && s->measure)
				run[i].code = cpu->measure(run[i].embedding, &s->measured, &run[i].err);
		}
	}
	return 0;
}

static struct sl_engine pretend(void)
{
	struct sl_engine e = *sl_engine_cpu();
	e.joins = joins;
	e.run_many = run_many;
	calls = fail_at = 0;
	return e;
}

#define JOBS 12

static struct sl_params job(int which)
{
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.dims = 1 + which % 3;
	p.accuracy = SL_DRAFT;
	p.repulsion = SL_REPULSION_EXACT;
	p.iterations = 60 + 31 * (which % 4);
	p.exaggeration_iterations = 25;
	p.trace_interval = which % 3 ? 10 : 0;
	if (which == 4) {
		p.iterations = 3000;
		p.kl_patience = 20;
		p.kl_tolerance = 0.05;
	}
	if (which == 6)
		p.iterations = 0;
	p.min_gradient_norm = which == 7 ? 1e-3 : 0;
	if (which == 9) {  /* diverges */
		p.optimizer = SL_ADAM;
		p.learning_rate = 1e15;
	}
	p.seed = (uint64_t)which;
	return p;
}

static void together_is_as_one_by_one(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(300, 3, true, false, 1), 1);
	struct sl_engine many = pretend();
	struct sl_embedding *one[JOBS], *other[JOBS];
	struct sl_status s[JOBS] = {0}, status[JOBS] = {0};
	struct sl_error each[JOBS], err;
	int code[JOBS], ends[JOBS] = {0};
	for (int i = 0; i < JOBS; i++) {
		struct sl_params p = job(i);
		assert_int_equal(sl_embedding_create(&one[i], sl_engine_cpu(), b.resident, b.a, &p, NULL, &err), 0);
		assert_int_equal(sl_embedding_create(&other[i], &many, b.resident, b.a, &p, NULL, &err), 0);
		assert_true(sl_embedding_joins(other[i]));
		assert_false(sl_embedding_joins(one[i]));
		while (!ends[i] && !s[i].done)
			ends[i] = sl_embedding_advance(one[i], 0.5, &s[i], &err);
	}
	assert_int_equal(ends[9], SL_BADPARAM);
	struct sl_embedding *left[JOBS];
	int who[JOBS], count = JOBS;
	for (int i = 0; i < JOBS; i++)
		who[i] = i;
	while (count) {  /* those that have ended leave */
		int kept = 0;
		for (int i = 0; i < count; i++)
			left[i] = other[who[i]];
		assert_int_equal(sl_embedding_advance_together(left, count, 1, status, code, each, &err), 0);
		for (int i = 0; i < count; i++) {
			int job = who[i];
			assert_int_equal(code[i], code[i] ? ends[job] : 0);
			if (!code[i] && !status[i].done) {
				who[kept++] = job;
			} else if (!code[i]) {
				assert_int_equal(status[i].iteration, s[job].iteration);
				assert_int_equal(status[i].stop, s[job].stop);
			}
		}
		count = kept;
	}
	assert_int_equal(s[4].stop, SL_STOP_KL);
	for (int i = 0; i < JOBS; i++) {
		float y[2][300 * 3];
		int points[2];
		assert_int_equal(sl_embedding_layout(one[i], y[0], NULL), 0);
		assert_int_equal(sl_embedding_layout(other[i], y[1], NULL), 0);
		if (!ends[i])
			assert_memory_equal(y[0], y[1], sizeof(float) * b.a->n_user * (size_t)job(i).dims);
		const struct sl_trace_point *a = sl_embedding_trace(one[i], &points[0]);
		const struct sl_trace_point *c = sl_embedding_trace(other[i], &points[1]);
		assert_true(ends[i] || points[0] == points[1]);
		for (int k = 0; k < points[0] && !ends[i]; k++) {
			assert_int_equal(a[k].iteration, c[k].iteration);
			assert_true(a[k].measure == c[k].measure && a[k].momentum == c[k].momentum);
		}
		sl_embedding_destroy(one[i]);
		sl_embedding_destroy(other[i]);
	}
	bench_close(&b);
}

/* Then no embedding has advanced, and none has failed by itself. */
static void a_failure_of_the_device_is_everybodys(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(300, 3, true, false, 1), 1);
	struct sl_engine many = pretend();
	struct sl_embedding *e[2];
	struct sl_status status[2];
	struct sl_error each[2], err;
	int code[2];
	for (int i = 0; i < 2; i++) {
		struct sl_params p = job(i);
		assert_int_equal(sl_embedding_create(&e[i], &many, b.resident, b.a, &p, NULL, &err), 0);
	}
	assert_int_equal(sl_embedding_advance_together(e, 2, 0.2, status, code, each, &err), 0);
	int before = status[0].iteration;
	fail_at = calls + 1;
	assert_int_equal(sl_embedding_advance_together(e, 2, 0.2, status, code, each, &err), SL_DEVLOST);
	assert_string_equal(err.detail, "lost");
	assert_int_equal(sl_embedding_advance_together(e, 2, 1e-9, status, code, each, &err), 0);
	assert_in_range(status[0].iteration, before + 1, before + 2);
	for (int i = 0; i < 2; i++)
		sl_embedding_destroy(e[i]);
	bench_close(&b);
}

/* Also with an engine without background snapshots; isolated nodes get positions. */
static void a_snapshot_is_the_layout(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(300, 3, true, false, 1), 1);
	struct sl_params p = job(1);
	struct sl_embedding *e;
	struct sl_embedding_snapshot *snapshot;
	struct sl_picked picked;
	struct sl_status s;
	float y[2][300 * 3];
	assert_int_equal(sl_embedding_create(&e, sl_engine_cpu(), b.resident, b.a, &p, NULL, NULL), 0);
	assert_int_equal(sl_embedding_advance(e, 1, &s, NULL), 0);
	assert_int_equal(sl_embedding_layout(e, y[0], NULL), 0);
	assert_int_equal(sl_embedding_snapshot_start(e, true, &snapshot, NULL), 0);
	assert_true(sl_embedding_snapshot_ready(snapshot));
	assert_int_equal(sl_embedding_advance(e, 1, &s, NULL), 0);
	assert_int_equal(sl_embedding_snapshot_finish(snapshot, &picked, NULL), 0);
	assert_true(!picked.quantised && picked.n == b.a->n && picked.n < b.a->n_user);
	sl_picked_expand(b.a, &picked, y[1]);
	assert_memory_equal(y[0], y[1], sizeof(float) * b.a->n_user * 2);
	sl_picked_release(&picked);
	assert_int_equal(sl_embedding_snapshot_start(e, false, &snapshot, NULL), 0);
	assert_int_equal(sl_embedding_snapshot_finish(snapshot, NULL, NULL), 0);
	sl_embedding_destroy(e);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(together_is_as_one_by_one),
		cmocka_unit_test(a_failure_of_the_device_is_everybodys),
		cmocka_unit_test(a_snapshot_is_the_layout),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
