/* What a worker of another machine may send: bytes become messages, and these events (proto/worker.md). */
#include <sys/socket.h>
#include <unistd.h>

#include "core/method/method.h"
#include "daemon/worker/codec.h"
#include "tests/fuzz/fuzz.h"

#define MOST (1u << 20)  /* bytes of the parts of a message */

static int messages, ends;
static volatile double touched;

static void look_at(const struct sl_device_event *e)
{
	double sum = 0;
	for (int i = 0; i < e->trace_count; i++)
		sum += e->trace[i].seconds;
	const struct sl_layout *l = e->layout;
	if (l) {
		PROMISE(l->n > 0 && l->dims > 0 && (uint64_t)l->n * (uint64_t)l->dims <= MOST);
		for (uint64_t i = 0; i < (uint64_t)l->n * (uint64_t)l->dims; i++)
			sum += l->y ? l->y[i] : l->quantised[i];
	}
	PROMISE(e->result.count >= 0 && e->result.count <= SL_METHOD_ARRAYS);
	for (int i = 0; i < e->result.count; i++) {
		const struct sl_method_array *a = &e->result.array[i];
		PROMISE(a->name && a->data && sl_method_array_bytes(a) <= MOST);
		for (uint64_t k = 0; k < sl_method_array_bytes(a); k++)
			sum += ((const unsigned char *)a->data)[k];
	}
	for (uint64_t i = 0; e->blob && i < e->bytes; i++)
		sum += ((const unsigned char *)e->blob)[i];
	if (e->state)
		PROMISE(e->state->plan_count >= 0 && e->state->plan_count <= SL_PLANS_LISTED);
	PROMISE(memchr(e->err.detail, 0, sizeof e->err.detail) && memchr(e->err.file, 0, sizeof e->err.file));
	touched = sum;
}

static void on_message(void *arg, struct sl_wire_message *m)
{
	struct sl_device_event *e = NULL;
	struct sl_error err = {0};
	int count = 0;
	while (sl_methods[count])
		count++;
	uint64_t key = (uint64_t)json_integer_value(json_object_get(m->head, "job"));
	const struct sl_method *method = key ? sl_methods[key % (uint64_t)count] : NULL;
	messages++;
	PROMISE(sl_wire_kind(m) && m->parts >= 0 && m->parts <= SL_WIRE_PARTS);
	int rc = sl_event_of_message(m, method, &e, &err);
	PROMISE(rc ? !e && err.code == rc && err.detail[0] : e != NULL);
	if (e)
		look_at(e);
	sl_device_event_destroy(e);
	sl_wire_message_destroy(m);
}

static uint64_t most(void *arg, const json_t *head, const char *part)
{
	return MOST;
}

static void on_ended(void *arg, const char *why)
{
	PROMISE(why && why[0]);
	ends++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct sl_wire_ops ops = {.message = on_message, .ended = on_ended, .most = most};
	struct sl_wire *w;
	uv_loop_t loop;
	int both[2];
	messages = ends = 0;
	PROMISE(!uv_loop_init(&loop) && !socketpair(AF_UNIX, SOCK_STREAM, 0, both));
	PROMISE(!sl_wire_open(&w, &loop, both[0], &ops, NULL));
	for (size_t at = 0; at < size && !ends;) {
		ssize_t n = send(both[1], bytes + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);
		at += n > 0 ? (size_t)n : 0;
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	close(both[1]);
	while (!ends)
		uv_run(&loop, UV_RUN_ONCE);
	sl_wire_close(w);
	uv_run(&loop, UV_RUN_DEFAULT);
	PROMISE(!uv_loop_close(&loop) && ends == 1);
	return 0;
}
