/* Messages between daemon and worker: what is sent arrives, and what is no message ends the connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/neighbours/neighbours.h"
#include "daemon/worker/codec.h"

struct end {
	uv_loop_t *loop;
	struct sl_wire *wire;
	struct sl_wire_message *got;
	const char *why;
};

static void on_message(void *arg, struct sl_wire_message *m)
{
	struct end *e = arg;
	assert_null(e->got);
	e->got = m;
}

static void on_ended(void *arg, const char *why)
{
	struct end *e = arg;
	e->why = why;
}

static uint64_t most(void *arg, const json_t *head, const char *part)
{
	return strcmp(sl_wire_kind(&(struct sl_wire_message){.head = (json_t *)head}), "x") ? SL_WIRE_PART_MOST : 1000;
}

static const struct sl_wire_ops ops = {.message = on_message, .ended = on_ended, .most = most};

static void open_end(struct end *e, uv_loop_t *loop, int fd)
{
	*e = (struct end){.loop = loop};
	assert_int_equal(sl_wire_open(&e->wire, loop, fd, &ops, e), 0);
}

/* Sends a message from one end of a socket pair to the other. */
static struct sl_wire_message *through(struct sl_wire_message *m)
{
	uv_loop_t loop;
	struct end a, b;
	int ends[2];
	assert_non_null(m);
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	open_end(&a, &loop, ends[0]);
	open_end(&b, &loop, ends[1]);
	sl_wire_send(a.wire, m);
	while (!b.got && !b.why)
		uv_run(&loop, UV_RUN_ONCE);
	assert_non_null(b.got);
	sl_wire_close(a.wire);
	sl_wire_close(b.wire);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	return b.got;
}

/* What the other end says to these bytes. */
static const char *answer_to(const void *bytes, size_t count)
{
	uv_loop_t loop;
	struct end a;
	int ends[2];
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	open_end(&a, &loop, ends[0]);
	assert_int_equal(write(ends[1], bytes, count), (int)count);
	close(ends[1]);
	while (!a.got && !a.why)
		uv_run(&loop, UV_RUN_ONCE);
	const char *why = a.got ? "a message" : a.why;
	sl_wire_message_destroy(a.got);
	sl_wire_close(a.wire);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	return why;
}

static void *filled(size_t bytes)
{
	unsigned char *data = malloc(bytes);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(i * 37 + bytes);
	return data;
}

/* ---- the wire ---------------------------------------------------------------------------- */

static void the_example_of_the_page(void **state)
{
	const struct sl_command pause = {.kind = SL__PAUSE, .key = 7};
	struct sl_wire_message *m = sl_command_message(&pause, NULL);
	char *text = json_dumps(m->head, JSON_COMPACT);
	assert_string_equal(text, "{\"kind\":\"pause\",\"key\":7}");
	free(text);
	sl_wire_message_destroy(m);
	static const char bytes[] = "SLW1\x18\0\0\0\0\0\0\0\0\0\0\0{\"kind\":\"pause\",\"key\":7}";
	assert_string_equal(answer_to(bytes, sizeof bytes - 1), "a message");
}

/* What the other end says to a message with this text and no parts. */
static const char *answer_to_text(const char *text)
{
	char bytes[200] = "SLW1";
	bytes[4] = (char)strlen(text);
	memcpy(bytes + 16, text, strlen(text));
	return answer_to(bytes, 16 + strlen(text));
}

static void other_bytes_end_the_connection(void **state)
{
	assert_non_null(strstr(answer_to("GET / HTTP/1.1\r\n\r\n", 18), "no message"));
	assert_non_null(strstr(answer_to("SLW1\0\0\0\0\0\0\0\0\0\0\0\0", 16), "no message"));
	assert_non_null(strstr(answer_to("SLW1\1\0\0\x7f\0\0\0\0\0\0\0\0", 16), "no message"));
	assert_non_null(strstr(answer_to("SLW1\1\0\0\0\1\0\0\0\0\0\0\0", 16), "no message"));
	assert_non_null(strstr(answer_to("SLW1\x15", 5), "closed the connection"));
	static const char *const texts[][2] = {
		{"{]", "no JSON"}, {"{}", "without a kind"}, {"[]", "without a kind"}, {"{\"kind\":7}", "without a kind"},
		{"{\"kind\":\"x\",\"parts\":[[\"blob\",0]]}", "wrong part"},
		{"{\"kind\":\"x\",\"parts\":[[\"blob\",-1]]}", "wrong part"},
		{"{\"kind\":\"x\",\"parts\":[[\"evil\",12]]}", "wrong part"},
		{"{\"kind\":\"x\",\"parts\":[7]}", "wrong part"}, {"{\"kind\":\"x\",\"parts\":7}", "wrong list"},
		{"{\"kind\":\"x\",\"parts\":[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8]}", "wrong list"},
		{"{\"kind\":\"x\",\"parts\":[[\"blob\",5]]}", "closed the connection"},
		{"{\"kind\":\"x\",\"parts\":[[\"blob\",5],[\"blob\",5]]}", "wrong part"},
		{"{\"kind\":\"x\",\"parts\":[[\"blob\",1001]]}", "too long"},
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strstr(answer_to_text(texts[i][0]), texts[i][1]))
			fail_msg("%s: %s", texts[i][0], answer_to_text(texts[i][0]));
}

static void parts_of_any_size_arrive(void **state)
{
	static const size_t sizes[] = {1, 15, 16, 17, 65536, 3 << 20};
	struct sl_wire_message *m = sl_wire_message_create("test");
	for (size_t i = 0; i < 6; i++)
		sl_wire_put(m, sl_wire_part_names[i], filled(sizes[i]), sizes[i]);
	struct sl_wire_message *got = through(m);
	assert_int_equal(got->parts, 6);
	for (size_t i = 0; i < 6; i++) {
		void *expected = filled(sizes[i]), *data = sl_wire_take(got, sl_wire_part_names[i], sizes[i]);
		assert_non_null(data);
		assert_memory_equal(data, expected, sizes[i]);
		free(expected);
		free(data);
	}
	sl_wire_message_destroy(got);
}

static void note_release(void *arg)
{
	++*(int *)arg;
}

static void borrowed_parts_arrive_and_stay(void **state)
{
	static const char text[] = "stays";
	int released = 0;
	struct sl_wire_message *m = sl_wire_message_create("test");
	sl_wire_put_borrowed(m, "blob", text, sizeof text);
	sl_wire_put_borrowed(m, "values", NULL, 0);
	m->released = note_release;
	m->released_arg = &released;
	struct sl_wire_message *got = through(m);
	assert_int_equal(got->parts, 1);
	char *data = sl_wire_take(got, "blob", sizeof text);
	assert_string_equal(data, text);
	assert_int_equal(released, 1);
	free(data);
	sl_wire_message_destroy(got);
	m = sl_wire_message_create("test");
	m->released = note_release;
	m->released_arg = &released;
	sl_wire_message_destroy(m);
	assert_int_equal(released, 2);
}

/* ---- commands ------------------------------------------------------------------------------ */

static struct sl_command *command_through(struct sl_command *c, const struct sl_method *method,
					  struct sl_neighbours **neighbours)
{
	struct sl_wire_message *m = through(sl_command_message(c, method));
	struct sl_command *out;
	struct sl_error err;
	if (sl_command_of_message(m, &out, neighbours, &err))
		fail_msg("%s", err.detail);
	sl_wire_message_destroy(m);
	return out;
}

/* Every parameter of every method gets a value that is not its default. */
static void set_all(const struct sl_param_table *table, void *record)
{
	for (int i = 0; i < table->count; i++) {
		const struct sl_param_info *p = &table->param[i];
		struct sl_error err;
		double high = fmin(p->max, p->type == SL_TYPE_INT || p->whole ? 1e6 : 1e4);
		if (table->leader && !strcmp(table->leader, p->name))
			continue;
		if (sl_param_set_number(p, record, high - fmin((high - p->min) / 3, 1), &err))
			sl_param_set_number(p, record, p->min, &err);
	}
}

static void parameters_arrive_as_they_are(void **state)
{
	static const char *const names[] = {"tsne", "kmeans", "gmm", "sammon", "signal"};
	for (size_t i = 0; i < 5; i++) {
		const struct sl_method *method = sl_method_find(names[i]);
		struct sl_command c = {.kind = SL__STEER, .key = 5};
		struct sl_neighbours *none;
		sl_param_defaults(method->params, &c.params);
		set_all(method->params, &c.params);
		struct sl_command *got = command_through(&c, method, &none);
		assert_int_equal(got->kind, SL__STEER);
		for (int k = 0; k < method->params->count; k++)
			if (!sl_param_same(&method->params->param[k], &c.params, &got->params))
				fail_msg("%s: %s", names[i], method->params->param[k].name);
		sl__command_destroy(got);
	}
}

static void a_job_arrives_with_all_that_it_has(void **state)
{
	struct sl_neighbours nb = {.n = 50, .k = 4, .n_user = 60, .metric = 1, .p = 3, .recall = 0.97, .short_rows = 2,
				   .method = "exact"};
	nb.index = filled(800);
	nb.distance = filled(800);
	nb.axes = filled(600);
	nb.user = filled(200);
	struct sl_device_job *j = calloc(1, sizeof *j);
	*j = (struct sl_device_job){
		.job = 9, .method = sl_method_find("tsne"), .attach = true, .nodes = 60, .columns = 3, .graph = 1ull << 60,
		.neighbours_key = 0xfedcba9876543210u, .iteration = 77, .seconds = INFINITY, .group = "a \"group\"",
		.client = "gr\xf6\xdf" "e", .share = 0.1, .priority = -4, .paused = true, .alone = true, .pinned = true,
		.id = "01HZY4N5D5T8X2W3V4B6C7D8E9", .init = filled(480), .init_bytes = 480, .checkpoint = filled(33),
		.checkpoint_bytes = 33, .affinities_params = {.lambda = 7.5, .perplexity = {5, 30}, .perplexities = 2},
		.source = {.origin = SL_OF_EDGES, .on_device = true, .data = strdup("/a/b"), .rows = 60, .columns = 2,
			   .start = filled(80), .start_bytes = 80, .start_kind = SL_START_MEANS, .unstored = &nb},
	};
	sl_param_defaults(j->method->params, &j->params);
	struct sl_command c = {.kind = SL__ADD, .key = 9, .add = j};
	struct sl_neighbours *came;
	struct sl_command *got = command_through(&c, NULL, &came);
	const struct sl_device_job *g = got->add;
	assert_null(j->init);  /* it was taken */
	assert_ptr_equal(g->method, j->method);
	assert_true(g->graph == j->graph && g->neighbours_key == j->neighbours_key && g->job == 9);
	assert_true(isinf(g->seconds) && g->share == 0.1 && g->iteration == 77 && g->priority == -4);
	assert_true(g->attach && g->paused && g->alone && g->pinned && !g->cancel && !g->finish && !g->moved);
	assert_string_equal(g->group, j->group);
	assert_string_equal(g->client, "gr??e");
	assert_string_equal(g->id, j->id);
	assert_int_equal(g->affinities_params.perplexities, 2);
	assert_true(g->affinities_params.perplexity[1] == 30 && g->affinities_params.lambda == 7.5);
	assert_true(g->source.origin == SL_OF_EDGES && g->source.on_device && !g->source.graph && !g->source.neighbours);
	assert_string_equal(g->source.data, "/a/b");
	assert_true(g->source.rows == 60 && g->source.columns == 2 && g->source.start_kind == SL_START_MEANS);
	void *expected = filled(480);
	assert_memory_equal(g->init, expected, 480);
	free(expected);
	expected = filled(33);
	assert_memory_equal(g->checkpoint, expected, 33);
	free(expected);
	assert_true(came && came->n == 50 && came->k == 4 && came->n_user == 60 && came->recall == 0.97 && came->user);
	assert_memory_equal(came->index, nb.index, 800);
	assert_memory_equal(came->axes, nb.axes, 600);
	sl_neighbours_destroy(came);
	sl__command_destroy(got);
	sl__device_job_destroy(j);
	free(nb.index);
	free(nb.distance);
	free(nb.axes);
	free(nb.user);
}

static void unusable_commands_are_refused(void **state)
{
	static const char *const texts[] = {
		"{\"kind\":\"dance\"}", "{\"kind\":\"add\",\"key\":1}", "{\"kind\":\"add\",\"key\":1,\"method\":\"magic\"}",
		"{\"kind\":\"add\",\"key\":1,\"method\":\"tsne\",\"params\":{\"dims\":9}}",
		"{\"kind\":\"add\",\"key\":1,\"method\":\"tsne\",\"params\":{},\"source\":{\"origin\":17}}",
		"{\"kind\":\"add\",\"key\":1,\"method\":\"tsne\",\"params\":{},\"source\":{},\"unstored\":{\"n\":5,\"k\":2}}",
		"{\"kind\":\"steer\",\"key\":1,\"method\":\"\"}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sl_wire_message m = {.head = json_loads(texts[i], 0, NULL)};
		struct sl_command *c;
		struct sl_neighbours *nb;
		struct sl_error err = {0};
		assert_non_null(m.head);
		assert_true(sl_command_of_message(&m, &c, &nb, &err) < 0);
		assert_true(err.detail[0] && !c);
		sl_neighbours_destroy(nb);
		json_decref(m.head);
	}
}

/* ---- events --------------------------------------------------------------------------------- */

static struct sl_device_event *event_through(struct sl_device_event *e, const struct sl_method *method)
{
	struct sl_wire_message *m = through(sl_event_message(e, method));
	struct sl_device_event *out;
	struct sl_error err;
	if (sl_event_of_message(m, method, &out, &err))
		fail_msg("%s", err.detail);
	sl_wire_message_destroy(m);
	sl_device_event_destroy(e);
	return out;
}

static void results_and_layouts_arrive(void **state)
{
	const struct sl_method *kmeans = sl_method_find("kmeans");
	struct sl_device_event *e = sl__event_create(SL_EVENT_DONE);
	e->job = 3;
	e->status = (struct sl_status){.iteration = 12, .iterations = 20, .seconds = 0.1, .measure = NAN,
				       .gradient_norm = INFINITY, .done = true, .stop = SL_STOP_CONVERGED};
	e->trace = calloc(2, sizeof *e->trace);
	e->trace_count = 2;
	e->trace[1] = (struct sl_trace_point){.iteration = 12, .measure = 1.0 / 3, .low = {-1.5f, 2, 3}, .momentum = 0.9};
	e->layout = sl_layout_create_take(filled(800), 100, 2, 12, 1.25);
	e->result.count = 1;
	e->result.array[0] = (struct sl_method_array){.name = kmeans->results[0].name, .type = SL_ARRAY_INT32,
						      .shape = {100}, .data = filled(400)};
	snprintf(e->result.note, sizeof e->result.note, "2 clusters stayed empty.");
	struct sl_device_event *got = event_through(e, kmeans);
	assert_true(got->kind == SL_EVENT_DONE && got->job == 3 && got->status.stop == SL_STOP_CONVERGED);
	assert_true(isnan(got->status.measure) && isinf(got->status.gradient_norm) && got->status.seconds == 0.1);
	assert_int_equal(got->trace_count, 2);
	assert_true(got->trace[1].measure == 1.0 / 3 && got->trace[1].low[0] == -1.5f && got->trace[1].momentum == 0.9);
	void *expected = filled(800);
	assert_memory_equal(got->layout->y, expected, 800);
	free(expected);
	assert_true(got->layout->n == 100 && got->layout->dims == 2 && got->layout->measure == 1.25);
	assert_int_equal(got->result.count, 1);
	assert_string_equal(got->result.array[0].name, kmeans->results[0].name);
	assert_string_equal(got->result.note, "2 clusters stayed empty.");
	sl_device_event_destroy(got);
}

static void states_and_errors_arrive(void **state)
{
	struct sl_device_event *e = sl__event_create(SL_EVENT_STATE);
	*e->state = (struct sl_device_state){.info = {.name = "NVIDIA \"X\"", .kind = "cuda", .memory_total = 1ull << 37},
					     .graphs_resident = 3, .down = true, .losses = 4, .plan_count = 1,
					     .plan[0] = {.dims = 2, .side = 256, .h = 0.3, .window = 4, .bytes = 9, .uses = 1}};
	sl_error_field(&e->state->problem, SL_DEVLOST, "/x", "It is \"away\".");
	e->asked = true;
	sl_error_at(&e->err, SL_BADDATA, "a.slg", 7, "It is damaged.");
	sl_error_set(&e->unaided, SL_DEVMEM, "cut within gr\xc3");  /* no UTF-8 */
	struct sl_device_event *got = event_through(e, NULL);
	assert_true(got->asked && got->err.code == SL_BADDATA && got->err.line == 7);
	assert_string_equal(got->err.file, "a.slg");
	assert_string_equal(got->unaided.detail, "cut within gr?");
	assert_string_equal(got->state->info.name, "NVIDIA \"X\"");
	assert_true(got->state->info.memory_total == 1ull << 37 && got->state->down && got->state->losses == 4);
	assert_string_equal(got->state->problem.pointer, "/x");
	assert_true(got->state->plan_count == 1 && got->state->plan[0].h == 0.3 && got->state->plan[0].side == 256);
	sl_device_event_destroy(got);
}

/* A worker that lies cannot harm the daemon. */
static void unusable_events_are_refused(void **state)
{
	static const char *const texts[] = {
		"{\"kind\":\"dance\"}", "{\"kind\":\"pause\"}", "{\"kind\":\"snapshot_taken\",\"layout\":{\"n\":4,\"dims\":2}}",
		"{\"kind\":\"snapshot_taken\",\"layout\":{\"n\":-1,\"dims\":-2}}",
		"{\"kind\":\"done\",\"result\":{\"arrays\":[{\"name\":\"labels\",\"shape\":[9]}],\"columns\":0}}",
		"{\"kind\":\"done\",\"result\":{\"arrays\":[{},{},{},{},{},{},{}],\"columns\":0}}",
		"{\"kind\":\"done\",\"result\":{\"arrays\":[],\"rows\":5,\"columns\":2}}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sl_wire_message m = {.head = json_loads(texts[i], 0, NULL)};
		struct sl_device_event *e;
		struct sl_error err = {0};
		assert_non_null(m.head);
		assert_true(sl_event_of_message(&m, sl_method_find("kmeans"), &e, &err) < 0);
		assert_true(err.detail[0]);
		json_decref(m.head);
	}
}

/* Results are compared with the forms that their methods tell. */
static void results_have_the_form_of_their_method(void **state)
{
	const struct sl_method *kmeans = sl_method_find("kmeans");
	int32_t label[4] = {0, 1, -1, 1};
	float centroid[6] = {0, 1, 2, 3, 4, 5};
	const struct sl_method_result right = {.count = 2, .array = {{"labels", SL_ARRAY_INT32, {4}, label},
								     {"centroids", SL_ARRAY_FLOAT32, {2, 3}, centroid}}};
	struct sl_method_result r = right;
	assert_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	assert_null(sl_method_result_wrong(kmeans, &r, 4, 0, 0));
	assert_non_null(sl_method_result_wrong(kmeans, &r, 5, 3, 0));
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 2, 0));
	assert_non_null(sl_method_result_wrong(sl_method_find("gmm"), &r, 4, 3, 0));
	assert_non_null(sl_method_result_wrong(sl_method_find("tsne"), &r, 4, 3, 0));
	label[0] = 2;
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	label[0] = -2;
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	label[0] = 0;
	centroid[5] = NAN;
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	centroid[5] = 5;
	r.array[1].shape[2] = 1;
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	r = right;
	r.array[0].type = SL_ARRAY_FLOAT32;
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	r = right;
	r.array[0].name = "centroids";
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	r = right;
	r.count = 1;
	assert_non_null(sl_method_result_wrong(kmeans, &r, 4, 3, 0));
	r.count = 0;
	assert_null(sl_method_result_wrong(sl_method_find("tsne"), &r, 4, 3, 0));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_page),
		cmocka_unit_test(other_bytes_end_the_connection),
		cmocka_unit_test(parts_of_any_size_arrive),
		cmocka_unit_test(borrowed_parts_arrive_and_stay),
		cmocka_unit_test(parameters_arrive_as_they_are),
		cmocka_unit_test(a_job_arrives_with_all_that_it_has),
		cmocka_unit_test(unusable_commands_are_refused),
		cmocka_unit_test(results_and_layouts_arrive),
		cmocka_unit_test(states_and_errors_arrive),
		cmocka_unit_test(unusable_events_are_refused),
		cmocka_unit_test(results_have_the_form_of_their_method),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
