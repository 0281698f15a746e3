/* Methods called through their table: the same results as called directly; saved states continue to the same bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/kmeans/kmeans.h"
#include "core/method/method.h"
#include "core/method/progress.h"
#include "core/params.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/unit/engines.h"
#include "tests/unit/seeds.h"

enum { N = 5000, D = 4 };

static float *make_points(void)
{
	float *x = malloc(sizeof *x * N * D);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = 0; k < D; k++)
			x[i * D + k] = (float)(sl_random_normal(test_seed(1), i * D + k) +
					       4 * sl_random_uniform(test_seed(2), i % 9 * D + k));
	return x;
}

static void the_table_is_complete(void **state)
{
	assert_string_equal(sl_methods[0]->name, "tsne");
	assert_null(sl_method_find("nothing"));
	for (int i = 0; sl_methods[i]; i++) {
		const struct sl_method *m = sl_methods[i];
		struct sl_method_params p;
		struct sl_error err;
		assert_ptr_equal(sl_method_find(m->name), m);
		assert_true(m->doc && m->measure && m->measure_title && m->relief && m->params && m->takes && m->results);
		assert_true(m->params_bytes <= sizeof p.record);
		assert_true(m->create && m->destroy && m->advance && m->stop && m->trace && m->save && m->load);
		assert_true(m->layout == (m->layout_of != NULL) && m->layout == (m->dims != NULL));
		assert_true((m->results[0].name != NULL) == (m->result != NULL));
		assert_true(m->takes == SL_TAKES_GRAPH || (m->iterations && m->host_bytes && m->seconds));
		memset(&p, 0, sizeof p);
		sl_param_defaults(m->params, &p);
		assert_int_equal(sl_param_check(m->params, &p, &err), 0);
		assert_int_equal(m->check(&p, 1000, m->takes & SL_TAKES_EDGES ? 0 : 10, &err), 0);
		assert_true(m->summary && m->about);
		for (int at = 0; m->results[at].name; at++) {
			assert_non_null(m->results[at].doc);
			assert_int_equal(sl_method_result_index(m, m->results[at].name), at);
		}
		assert_int_equal(sl_method_result_index(m, "nothing"), -1);
	}
}

/* ---- k-means ---------------------------------------------------------------------------- */

struct bunch {
	float *x;
	struct sl_points points;
	struct sl_method_input input;
	struct sl_kmeans_params params;
	const struct sl_method *method;
};

static void bunch_open(struct bunch *b)
{
	*b = (struct bunch){.x = make_points(), .method = sl_method_find("kmeans")};
	b->points = (struct sl_points){.n = N, .d = D, .n_user = N, .type = SL_POINTS_F32, .value = b->x};
	b->input.points = &b->points;
	sl_param_defaults(&sl_kmeans_table, &b->params);
	b->params.clusters = 40;
	b->params.restarts = 3;
	b->params.iterations = 12;
}

static void *begin(const struct bunch *b)
{
	void *run;
	assert_int_equal(b->method->create(&run, &b->input, &b->params, NULL), 0);
	return run;
}

static struct sl_status finish(const struct bunch *b, void *run, double slice_ms)
{
	struct sl_status s = {0};
	while (!s.done)
		assert_int_equal(b->method->advance(run, slice_ms, &s, NULL), 0);
	return s;
}

static void same_results(const struct bunch *b, void *one, void *other)
{
	struct sl_method_result r, q;
	assert_int_equal(b->method->result(one, &r, NULL), 0);
	assert_int_equal(b->method->result(other, &q, NULL), 0);
	assert_true(r.count == 2 && r.array[0].type == SL_ARRAY_INT32 && r.array[0].shape[0] == N);
	assert_true(r.array[1].shape[0] == 40 && r.array[1].shape[1] == D);
	assert_memory_equal(r.array[0].data, q.array[0].data, N * 4);
	assert_memory_equal(r.array[1].data, q.array[1].data, 40 * D * 4);
	sl_method_result_finish(&r);
	sl_method_result_finish(&q);
}

static void kmeans_is_the_same_behind_the_table(void **state)
{
	static uint32_t label[N];
	struct bunch b;
	struct sl_kmeans *m;
	struct sl_kmeans_status status;
	struct sl_method_result r;
	bunch_open(&b);
	void *run = begin(&b);
	assert_int_equal(b.method->result(run, &r, NULL), SL_CONFLICT);
	struct sl_status s = finish(&b, run, 0.5);
	assert_int_equal(sl_kmeans_create(&m, &b.points, &b.params, NULL, NULL), 0);
	do
		assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
	while (!status.done);
	assert_int_equal(sl_kmeans_result(m, label, NULL, NULL, NULL), 0);
	assert_int_equal(b.method->result(run, &r, NULL), 0);
	assert_memory_equal(r.array[0].data, label, sizeof label);
	assert_true(s.measure == status.inertia && s.iteration > 3 && s.iteration <= 36 && s.iterations == 36);
	assert_true(s.stop == (status.converged ? SL_STOP_CONVERGED : SL_STOP_ITERATIONS) && isnan(s.gradient_norm));
	int count;
	const struct sl_trace_point *t = b.method->trace(run, &count);
	assert_int_equal(count, s.iteration);
	for (int i = 0; i < count; i++)
		assert_true(t[i].iteration == i + 1 && t[i].measure >= status.inertia * (1 - 1e-6) && (!i || t[i].seconds >=
			    t[i - 1].seconds));
	assert_true(t[0].measure > t[count - 1].measure);
	sl_method_result_finish(&r);
	sl_kmeans_destroy(m);
	b.method->destroy(run);
	free(b.x);
}

/* Rows that were dropped for a NaN have no label. */
static void labels_are_by_the_users_rows(void **state)
{
	static uint32_t user[N];
	struct bunch b;
	struct sl_method_result r, q;
	bunch_open(&b);
	void *plain = begin(&b);
	finish(&b, plain, 1e9);
	assert_int_equal(b.method->result(plain, &r, NULL), 0);
	for (uint32_t i = 0; i < N; i++)
		user[i] = i + 1 + i / 1000;
	b.points.user = user;
	b.points.n_user = N + 8;
	void *run = begin(&b);
	finish(&b, run, 1e9);
	assert_int_equal(b.method->result(run, &q, NULL), 0);
	const int32_t *want = r.array[0].data, *label = q.array[0].data;
	assert_int_equal(q.array[0].shape[0], N + 8);
	for (uint32_t row = 0, i = 0; row < N + 8; row++) {
		bool there = i < N && user[i] == row;
		assert_int_equal(label[row], there ? want[i] : -1);
		i += there;
	}
	sl_method_result_finish(&r);
	sl_method_result_finish(&q);
	b.method->destroy(plain);
	b.method->destroy(run);
	free(b.x);
}

static void kmeans_goes_on_from_its_state(void **state)
{
	struct bunch b;
	struct sl_status s = {0};
	bunch_open(&b);
	void *whole = begin(&b), *run = begin(&b);
	struct sl_status end = finish(&b, whole, 1e9);
	int resumed = 0, count, count_whole;
	for (int slices = 0; !s.done;) {
		assert_int_equal(b.method->advance(run, 0.2, &s, NULL), 0);
		/* A run that is loaded while seeding computes distances again: on a slow machine, for many slices. */
		if (++slices < 5 * (resumed + 1))
			continue;
		slices = 0;
		void *bytes, *next = begin(&b);
		uint64_t size;
		assert_int_equal(b.method->save(run, &bytes, &size, NULL), 0);
		assert_int_equal(b.method->load(next, bytes, 20, NULL), SL_BADDATA);
		assert_int_equal(b.method->load(next, bytes, size, NULL), 0);
		free(bytes);
		b.method->destroy(run);
		run = next;
		resumed++;
	}
	assert_true(resumed >= 2);
	assert_true(s.iteration == end.iteration && s.measure == end.measure && s.stop == end.stop);
	same_results(&b, whole, run);
	const struct sl_trace_point *t = b.method->trace(run, &count), *u = b.method->trace(whole, &count_whole);
	assert_int_equal(count, count_whole);
	for (int i = 0; i < count; i++)
		assert_true(t[i].iteration == u[i].iteration && t[i].measure == u[i].measure);
	b.method->destroy(run);
	b.method->destroy(whole);
	free(b.x);
}

static void kmeans_ends_when_asked(void **state)
{
	struct bunch b;
	struct sl_status s;
	struct sl_method_result r;
	bunch_open(&b);
	b.params.restarts = 1000;
	void *run = begin(&b);
	assert_int_equal(b.method->advance(run, 1, &s, NULL), 0);
	assert_int_equal(b.method->stop(run, &s, NULL), 0);
	s = finish(&b, run, 10);
	assert_int_equal(s.stop, SL_STOP_ASKED);
	assert_true(s.iteration < 100);
	assert_int_equal(b.method->result(run, &r, NULL), 0);
	sl_method_result_finish(&r);
	b.method->destroy(run);
	free(b.x);
}

/* Slices keep their time limit, although a pass takes longer. Measures processor time, since the machine may be
 * busy. */
static void slices_of(int seeding)
{
	enum { MANY = 40000, COLUMNS = 32 };
	struct bunch b;
	struct sl_status s = {0};
	int slices = 0;
	bunch_open(&b);
	free(b.x);
	b.x = malloc(sizeof *b.x * MANY * COLUMNS);
	for (size_t at = 0; at < (size_t)MANY * COLUMNS; at++)
		b.x[at] = (float)sl_random_uniform(test_seed(3), at);
	b.points = (struct sl_points){.n = MANY, .d = COLUMNS, .n_user = MANY, .type = SL_POINTS_F32, .value = b.x};
	b.params = (struct sl_kmeans_params){.clusters = 200, .restarts = 1, .seeding = seeding, .iterations = 2};
	void *run = begin(&b);
	clock_t before = clock();
	for (; !s.done; slices++)
		assert_int_equal(b.method->advance(run, 1, &s, NULL), 0);
	assert_true(slices > 20);
	double each = (double)(clock() - before) / CLOCKS_PER_SEC / slices;
	assert_true(each < 0.02);
	b.method->destroy(run);
	free(b.x);
}

static void slices_are_short(void **state)
{
	if (!test_leaves_out(0, 1, 2))
		slices_of(SL_KMEANS_PLUSPLUS);
	if (!test_leaves_out(1, 1, 2))
		slices_of(SL_KMEANS_PARALLEL);
}

static void bad_parameters_are_named(void **state)
{
	const struct sl_method *m = sl_method_find("kmeans");
	struct sl_kmeans_params p;
	struct sl_error err;
	sl_param_defaults(&sl_kmeans_table, &p);
	p.clusters = 11;
	assert_int_equal(m->check(&p, 10, 2, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/clusters");
	assert_int_equal(m->check(&p, 11, 2, &err), 0);
}

/* ---- t-SNE ------------------------------------------------------------------------------ */

static void tsne_is_the_same_behind_the_table(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(800, 4, true, false, 1), 2);
	const struct sl_method *m = sl_method_find("tsne");
	struct sl_params p;
	struct sl_embedding *e;
	struct sl_status s = {0};
	void *run;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.iterations = 60;
	struct sl_method_input in = {.engine = b.engine, .graph = b.resident, .affinities = b.a};
	assert_int_equal(m->create(&run, &in, &p, NULL), 0);
	assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, NULL, NULL), 0);
	while (!s.done)
		assert_int_equal(m->advance(run, 1, &s, NULL), 0);
	for (s.done = false; !s.done;)
		assert_int_equal(sl_embedding_advance(e, 1e9, &s, NULL), 0);
	float *one = malloc(sizeof *one * b.a->n_user * 2), *other = malloc(sizeof *one * b.a->n_user * 2);
	assert_int_equal(sl_embedding_layout(m->embedding(run), one, NULL), 0);
	assert_int_equal(sl_embedding_layout(e, other, NULL), 0);
	assert_memory_equal(one, other, sizeof *one * b.a->n_user * 2);
	free(one);
	free(other);
	m->destroy(run);
	sl_embedding_destroy(e);
	bench_close(&b);
}

static void the_next_traced_iteration_is_the_first(void **state)
{
	for (int dense = 100; dense <= 1000; dense *= 10)
		for (int i = 0, next = 0; i < 200000; i++) {
			if (next <= i)
				for (next = i + 1; !sl_progress_traced(next, dense);)
					next++;
			assert_int_equal(sl_progress_next_traced(i, dense), next);
		}
}

static int first(int x)
{
	return x + 1;
}

static int second(int x)
{
	return x + 2;
}

typedef int adds(int x);

/* An error belongs to a failure: callers may read it instead of the code. In all methods of points, in each phase. */
static void what_succeeds_sets_no_error(void **state)
{
	struct bunch b;
	bunch_open(&b);
	for (int m = 0; sl_methods[m]; m++) {
		const struct sl_method *method = sl_methods[m];
		if (!(method->takes & SL_TAKES_POINTS) || method->settings)
			continue;
		struct sl_method_params params;
		sl_param_defaults(method->params, &params);
		struct sl_error err = {0};
		struct sl_status s = {0};
		struct sl_method_result r;
		void *run, *next, *bytes;
		uint64_t size;
		assert_int_equal(method->create(&run, &b.input, &params, &err), 0);
		assert_int_equal(err.code, 0);
		for (int slice = 0; slice < 40 && !s.done; slice++) {
			assert_int_equal(method->advance(run, slice % 4 ? 0.2 : 5, &s, &err), 0);
			assert_int_equal(err.code, 0);
			assert_int_equal(method->save(run, &bytes, &size, &err), 0);
			assert_int_equal(method->create(&next, &b.input, &params, &err), 0);
			assert_int_equal(method->load(next, bytes, size, &err), 0);
			assert_int_equal(err.code, 0);
			free(bytes);
			method->destroy(run);
			run = next;
		}
		if (method->result && !method->result(run, &r, NULL)) {
			sl_method_result_finish(&r);
			assert_int_equal(err.code, 0);
		}
		method->destroy(run);
	}
	free(b.x);
}

static void operations_are_found_by_their_whole_name(void **state)
{
	const struct sl_operation list[] = {
		SL_OPERATION("guest.add", adds, first), SL_OPERATION("guest.adding", adds, second), {NULL, NULL},
	};
	const struct sl_engine some = {.operations = list}, none = {.name = "none"};
	assert_int_equal(((adds *)sl_engine_operation(&some, "guest.adding"))(1), 3);
	assert_int_equal(((adds *)sl_engine_operation(&some, "guest.add"))(1), 2);
	assert_null(sl_engine_operation(&some, "guest.ad"));
	assert_null(sl_engine_operation(&none, "guest.add"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_succeeds_sets_no_error),
		cmocka_unit_test(operations_are_found_by_their_whole_name),
		cmocka_unit_test(the_table_is_complete),
		cmocka_unit_test(the_next_traced_iteration_is_the_first),
		cmocka_unit_test(kmeans_is_the_same_behind_the_table),
		cmocka_unit_test(labels_are_by_the_users_rows),
		cmocka_unit_test(kmeans_goes_on_from_its_state),
		cmocka_unit_test(kmeans_ends_when_asked),
		cmocka_unit_test(slices_are_short),
		cmocka_unit_test(bad_parameters_are_named),
		cmocka_unit_test(tsne_is_the_same_behind_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
