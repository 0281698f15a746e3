/* A device thread whose engine makes P itself: the CPU engine, which keeps copies of neighbours as "resident" ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "core/kmeans/kmeans.h"
#include "core/points/points.h"
#include "core/threads.h"
#include "daemon/device/device.h"
#include "tests/plugin/resident_engine.h"

enum { N = 400, K = 30 };

/* A ring; the distances differ a little by seed. */
static struct sl_neighbours *make_neighbours(unsigned seed)
{
	struct sl_neighbours *nb = calloc(1, sizeof *nb);
	*nb = (struct sl_neighbours){.n = N, .k = K, .n_user = N, .recall = 1};
	nb->index = malloc((size_t)N * K * sizeof *nb->index);
	nb->distance = malloc((size_t)N * K * sizeof *nb->distance);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t j = 0; j < K; j++) {
			nb->index[i * K + j] = (i + (j % 2 ? N - j / 2 - 1 : j / 2 + 1)) % N;
			nb->distance[i * K + j] = (float)(j / 2 + 1) + 0.001f * (float)(seed % 7);
		}
	return nb;
}

/* ---- the loop's side -------------------------------------------------------------- */

struct world {
	uv_loop_t loop;
	struct sl_engine engine;
	struct sl_device_port *port;
	struct sl_layout *layout[8];  /* by job */
	int started, ended, failed, dropped, states, paused, snapshots, checkpoints;
	struct sl_device_state state;
	struct sl_error err;
	bool stopped;
};

static void on_event(void *arg, struct sl_device_event *e)
{
	struct world *w = arg;
	w->started += e->kind == SL_EVENT_STARTED;
	w->dropped += e->kind == SL_EVENT_GRAPH_DROPPED;
	w->paused += e->kind == SL_EVENT_PAUSED;
	w->snapshots += e->kind == SL_EVENT_SNAPSHOT;
	w->checkpoints += e->kind == SL_EVENT_CHECKPOINT;
	if (e->kind == SL_EVENT_DONE)
		w->layout[e->job] = sl_layout_ref(e->layout);
	if (e->kind == SL_EVENT_FAILED) {
		w->failed++;
		w->err = e->err;
	}
	w->ended += e->kind == SL_EVENT_DONE || e->kind == SL_EVENT_FAILED || e->kind == SL_EVENT_CANCELLED;
	if (e->kind == SL_EVENT_STATE && e->asked) {
		w->states++;
		w->state = *e->state;
	}
	w->stopped |= e->kind == SL_EVENT_STOPPED;
	sl_device_event_destroy(e);
}

static void open_device(struct world *w, const struct sl_device_config *config)
{
	struct sl_error err;
	assert_int_equal(sl_device_thread_start(&w->port, &w->loop, config, on_event, w, &err), 0);
	assert_int_equal(sl_device_opened(w->port, &err), 0);
}

static void open_world(struct world *w)
{
	memset(w, 0, sizeof *w);
	memset(&resident, 0, sizeof resident);
	resident.room = 1000;
	w->engine = resident_engine();
	assert_int_equal(uv_loop_init(&w->loop), 0);
	const struct sl_device_config config = {.engine = &w->engine, .options = {.threads = 1}, .slice_ms = 10};
	open_device(w, &config);
}

static void close_world(struct world *w)
{
	sl_device_stop(w->port);
	while (!w->stopped)
		uv_run(&w->loop, UV_RUN_ONCE);
	sl_device_destroy(w->port, NULL, NULL);
	uv_run(&w->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	for (int i = 0; i < 8; i++)
		sl_layout_unref(w->layout[i]);
	assert_int_equal(resident.residents, 0);
	assert_null(resident_graphs);
}

/* The parameters of t-SNE in a job's record, set to their defaults. */
static struct sl_params *params_of(struct sl_method_params *record)
{
	struct sl_params *p = (struct sl_params *)(void *)record->record;
	sl_params_preset(p, SL_PRESET_DEFAULT);
	return p;
}

static void add(struct world *w, uint64_t job, uint64_t graph, const struct sl_neighbours *nb, uint64_t key,
		double perplexity, bool paused)
{
	struct sl_device_job add = {.job = job, .method = sl_methods[0], .graph = graph, .neighbours = nb,
				    .neighbours_key = key,
				    .client = "test", .share = 1, .paused = paused};
	params_of(&add.params)->iterations = 30;
	add.affinities_params.perplexities = 1;
	add.affinities_params.perplexity[0] = perplexity;
	assert_int_equal(sl_device_add(w->port, &add), 0);
}

static void run_until(struct world *w, const int *count, int value)
{
	while (*count < value)
		uv_run(&w->loop, UV_RUN_ONCE);
}

/* ---- tests ------------------------------------------------------------------------ */

static void neighbours_stay_between_jobs(void **state)
{
	struct world w;
	struct sl_neighbours *nb = make_neighbours(1);
	open_world(&w);
	add(&w, 1, 1, nb, 7, 5, false);
	run_until(&w, &w.ended, 1);
	assert_int_equal(w.failed, 0);
	assert_int_equal(resident.puts, 1);
	/* another perplexity: other affinities of the same neighbours; then the first ones again */
	add(&w, 2, 2, nb, 7, 9, false);
	add(&w, 3, 1, nb, 7, 5, false);
	run_until(&w, &w.ended, 3);
	assert_int_equal(resident.puts, 1);
	assert_int_equal(resident.graphs, 2);
	assert_memory_equal(w.layout[1]->y, w.layout[3]->y, (size_t)N * 2 * sizeof(float));
	assert_memory_not_equal(w.layout[1]->y, w.layout[2]->y, (size_t)N * 2 * sizeof(float));
	sl_device_ask_state(w.port);
	run_until(&w, &w.states, 1);
	assert_int_equal(w.state.graphs_resident, 2);
	assert_int_equal(w.state.neighbours_resident, 1);
	assert_int_equal(sl_device_drop_neighbours(w.port, 7), 0);
	assert_int_equal(sl_device_drop_graph(w.port, 2), 0);
	run_until(&w, &w.dropped, 1);
	assert_int_equal(resident.drops, 1);
	sl_neighbours_destroy(nb);
	close_world(&w);
}

/* The same layout as with P from the host. */
static void it_is_what_the_host_would_make(void **state)
{
	struct world w;
	struct sl_neighbours *nb = make_neighbours(2);
	struct sl_affinities *a;
	struct sl_affinities_params params = {.perplexity = {6}, .perplexities = 1};
	assert_int_equal(sl_affinities_from_neighbours(&a, nb, &params, NULL), 0);
	open_world(&w);
	add(&w, 1, 1, nb, 1, 6, false);
	struct sl_device_job host = {.job = 2, .method = sl_methods[0], .graph = 2, .affinities = a, .client = "test",
				     .share = 1};
	params_of(&host.params)->iterations = 30;
	assert_int_equal(sl_device_add(w.port, &host), 0);
	run_until(&w, &w.ended, 2);
	assert_int_equal(w.failed, 0);
	assert_memory_equal(w.layout[1]->y, w.layout[2]->y, (size_t)N * 2 * sizeof(float));
	close_world(&w);
	sl_affinities_destroy(a);
	sl_neighbours_destroy(nb);
}

/* A device with memory for one table: an idle table is dropped, one in use is not. */
static void idle_neighbours_make_way(void **state)
{
	struct world w;
	struct sl_neighbours *nb = make_neighbours(3);
	open_world(&w);
	resident.room = 1;
	add(&w, 1, 1, nb, 1, 5, false);
	run_until(&w, &w.ended, 1);
	add(&w, 2, 2, nb, 2, 5, false);
	run_until(&w, &w.ended, 2);
	assert_int_equal(w.failed, 0);
	assert_int_equal(resident.drops, 1);
	assert_int_equal(resident.residents, 1);
	resident.room = 0;
	add(&w, 3, 3, nb, 3, 5, false);
	run_until(&w, &w.ended, 3);
	assert_int_equal(w.failed, 1);
	assert_int_equal(w.err.code, SL_DEVMEM);
	sl_neighbours_destroy(nb);
	close_world(&w);
}

/* A perplexity too large for the neighbours fails only this job. */
static void an_error_is_the_jobs_own(void **state)
{
	struct world w;
	struct sl_neighbours *nb = make_neighbours(4);
	open_world(&w);
	add(&w, 1, 1, nb, 1, K, false);
	add(&w, 2, 2, nb, 1, 5, false);
	run_until(&w, &w.ended, 2);
	assert_int_equal(w.failed, 1);
	assert_int_equal(w.err.code, SL_BADPARAM);
	assert_non_null(w.layout[2]);
	sl_neighbours_destroy(nb);
	close_world(&w);
}

/* ---- slices without end ------------------------------------------------------------- */

/* Counts calls of the engine's run(); every slow_each-th of the first slow_runs is slow. */
static _Atomic int runs, slow_runs, slow_each;

static int slow_run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err)
{
	int at = runs++;
	if (at < slow_runs && at % slow_each == 0)
		uv_sleep(150);
	return sl_engine_cpu()->run(e, step, 1, err);
}

/* Runs a job in which some slices take 150 ms, while the limit is 50 ms. */
static void run_slowly(struct world *w, int count, int each)
{
	struct sl_neighbours *nb = make_neighbours(5);
	memset(w, 0, sizeof *w);
	memset(&resident, 0, sizeof resident);
	resident.room = 1000;
	w->engine = resident_engine();
	w->engine.run = slow_run;
	runs = 0;
	slow_runs = count;
	slow_each = each;
	assert_int_equal(uv_loop_init(&w->loop), 0);
	const struct sl_device_config config = {.engine = &w->engine, .options = {.threads = 1}, .slice_ms = 0.01,
						.slow_ms = 50};
	open_device(w, &config);
	add(w, 1, 1, nb, 1, 5, false);
	run_until(w, &w->ended, 1);
	close_world(w);
	sl_neighbours_destroy(nb);
}

static void slices_without_end_fail_the_job(void **state)
{
	struct world w;
	run_slowly(&w, 1000, 1);
	assert_int_equal(w.failed, 1);
	assert_int_equal(w.err.code, SL_TOOBIG);
	assert_non_null(strstr(w.err.detail, "init_std"));
	assert_int_equal(runs, 2);
}

/* The same for a method on points, which has no graph on the device. */
static void slices_of_other_methods_end_as_well(void **state)
{
	enum { ROWS = 20000, COLUMNS = 8 };
	static float x[ROWS * COLUMNS];
	struct world w;
	struct sl_error err;
	const struct sl_method *method = sl_method_find("kmeans");
	struct sl_kmeans_params params;
	memset(&w, 0, sizeof w);
	w.engine = resident_engine();
	for (int i = 0; i < ROWS * COLUMNS; i++)
		x[i] = (float)(i % 9973) / 9973.0f;
	struct sl_points points = {.n = ROWS, .n_user = ROWS, .d = COLUMNS, .type = SL_POINTS_F32, .value = x};
	struct sl_method_input in = {.points = &points};
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = 64;
	struct sl_device_job add = {.job = 1, .method = method, .client = "test", .share = 1};
	assert_int_equal(method->create(&add.run, &in, &params, &err), 0);
	assert_int_equal(uv_loop_init(&w.loop), 0);
	const struct sl_device_config config = {.engine = &w.engine, .options = {.threads = 1}, .slice_ms = 1e-6,
						.slow_ms = 1e-4};
	open_device(&w, &config);
	assert_int_equal(sl_device_add(w.port, &add), 0);
	run_until(&w, &w.ended, 1);
	assert_int_equal(w.failed, 1);
	assert_int_equal(w.err.code, SL_TOOBIG);
	assert_non_null(strstr(w.err.detail, "clusters"));
	close_world(&w);
}

static void one_slow_slice_is_nothing(void **state)
{
	struct world w;
	run_slowly(&w, 5, 2);
	assert_int_equal(w.failed, 0);
	assert_non_null(w.layout[1]);
}

/* ---- commands during a slice ---------------------------------------------------------- */

static struct world *pausing;

/* Each run takes 30 ms of a slice of 100; the first one pauses the job. */
static int run_and_pause(struct sl_device_embedding *e, const struct sl_step *step, int iterations,
			 struct sl_error *err)
{
	if (!runs++)
		sl_device_pause(pausing->port, 1);
	uv_sleep(30);
	return sl_engine_cpu()->run(e, step, iterations, err);
}

/* A command, for example a new small job, does not wait for the end of the slice. */
static void commands_end_the_slice(void **state)
{
	struct world w;
	struct sl_neighbours *nb = make_neighbours(5);
	memset(&w, 0, sizeof w);
	memset(&resident, 0, sizeof resident);
	resident.room = 1000;
	w.engine = resident_engine();
	w.engine.run = run_and_pause;
	runs = 0;
	pausing = &w;
	assert_int_equal(uv_loop_init(&w.loop), 0);
	const struct sl_device_config config = {.engine = &w.engine, .options = {.threads = 1}, .slice_ms = 100};
	open_device(&w, &config);
	add(&w, 1, 1, nb, 1, 5, false);
	run_until(&w, &w.paused, 1);
	assert_int_equal(runs, 1);
	close_world(&w);
	sl_neighbours_destroy(nb);
}

/* ---- no memory ------------------------------------------------------------------------ */

static _Atomic bool short_of_memory;  /* for all threads except the test's */
static _Thread_local bool has_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return short_of_memory && !has_memory ? NULL : __real_calloc(count, size);
}

static void ring_bell(uv_timer_t *timer)
{
	fail_msg("the device's thread waits for memory");
}

/* Every command is answered and every job ends, even if the device's threads get no memory for records. */
static void no_thread_waits_for_memory(void **state)
{
	struct world w;
	struct sl_neighbours *nb = make_neighbours(6);
	uv_timer_t bell;
	has_memory = true;
	open_world(&w);
	uv_timer_init(&w.loop, &bell);
	uv_timer_start(&bell, ring_bell, 60000, 0);
	add(&w, 1, 1, nb, 1, 5, true);
	run_until(&w, &w.started, 1);
	sl_device_snapshot(w.port, 1, false);
	run_until(&w, &w.snapshots, 1);

	short_of_memory = true;
	sl_device_pause(w.port, 1);
	sl_device_snapshot(w.port, 1, false);
	sl_device_snapshot(w.port, 2, false);
	sl_device_checkpoint(w.port, 1);
	sl_device_checkpoint(w.port, 2);
	sl_device_ask_state(w.port);
	add(&w, 2, 1, nb, 1, 5, false);  /* no memory for the job */
	add(&w, 3, 2, nb, 1, 7, false);  /* none for its graph */
	sl_device_cancel(w.port, 1);
	run_until(&w, &w.ended, 3);
	assert_int_equal(w.paused, 1);
	assert_int_equal(w.snapshots, 3);
	assert_int_equal(w.checkpoints, 2);
	assert_int_equal(w.states, 1);
	assert_int_equal(w.state.graphs_resident, 1);
	assert_int_equal(w.failed, 2);
	assert_int_equal(w.err.code, SL_NOMEM);
	assert_int_equal(w.dropped, 1);
	sl_device_drop_graph(w.port, 1);
	run_until(&w, &w.dropped, 2);
	short_of_memory = false;

	add(&w, 4, 1, nb, 1, 5, false);
	run_until(&w, &w.ended, 4);
	assert_int_equal(w.failed, 2);
	uv_close((uv_handle_t *)&bell, NULL);
	sl_neighbours_destroy(nb);
	close_world(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_stay_between_jobs), cmocka_unit_test(it_is_what_the_host_would_make),
		cmocka_unit_test(idle_neighbours_make_way), cmocka_unit_test(an_error_is_the_jobs_own),
		cmocka_unit_test(slices_without_end_fail_the_job), cmocka_unit_test(one_slow_slice_is_nothing),
		cmocka_unit_test(commands_end_the_slice),
		cmocka_unit_test(slices_of_other_methods_end_as_well),
		cmocka_unit_test(no_thread_waits_for_memory),
	};
	sl_threads_wait_briefly(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
