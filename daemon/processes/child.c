/* A child ends when its process has ended and both its outputs are closed, or soon after its process: one that it left
 * behind may keep them open. It has a process group of its own, which is killed as a whole. */
#include "daemon/processes/child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINGER_MS 500    /* for outputs that stay open after the process has ended */
#define READ_BYTES 65536

extern char **environ;

struct output {
	uv_pipe_t pipe;
	char *text;
	size_t bytes, room;
	bool open;
};

struct sl_child {
	uv_loop_t *loop;
	uv_process_t process;
	uv_pipe_t input;
	struct output out, errors;
	uv_timer_t timer;
	uv_write_t write;
	char *input_text;
	size_t most_bytes;
	int handles;                /* that are not closed yet */
	bool running, over, dropped;
	struct sl_child_result result;
	sl_child_fn fn;
	void *arg;
};

static void finish(struct sl_child *c);

static struct sl_child *of(const uv_handle_t *handle)
{
	return handle->data;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	struct sl_child *c = of(handle);
	if (--c->handles)
		return;
	free(c->out.text);
	free(c->errors.text);
	free(c->input_text);
	free(c);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void close_all(struct sl_child *c)
{
	if (c->process.loop)
		close_handle((uv_handle_t *)&c->process);
	close_handle((uv_handle_t *)&c->input);
	close_handle((uv_handle_t *)&c->out.pipe);
	close_handle((uv_handle_t *)&c->errors.pipe);
	close_handle((uv_handle_t *)&c->timer);
}

static void kill_all(const struct sl_child *c)
{
	if (c->running && kill(-c->process.pid, SIGKILL))
		kill(c->process.pid, SIGKILL);
}

static void finish(struct sl_child *c)
{
	if (c->over)
		return;
	c->over = true;
	c->result.out = c->out.text ? c->out.text : "";
	c->result.out_bytes = c->out.bytes;
	c->result.errors = c->errors.text ? c->errors.text : "";
	if (!c->dropped)
		c->fn(c->arg, &c->result);
	close_all(c);
}

static void finish_if_complete(struct sl_child *c)
{
	if (!c->running && !c->out.open && !c->errors.open)
		finish(c);
}

static void on_late(uv_timer_t *timer)
{
	struct sl_child *c = of((uv_handle_t *)timer);
	if (!c->running) {
		finish(c);
		return;
	}
	c->result.timed_out = true;
	kill_all(c);
}

static void on_exit_of(uv_process_t *process, int64_t status, int number)
{
	struct sl_child *c = of((uv_handle_t *)process);
	c->running = false;
	c->result.status = (int)status;
	c->result.signal = number;
	uv_timer_start(&c->timer, on_late, LINGER_MS, 0);
	finish_if_complete(c);
}

/* ---- output ------------------------------------------------------------------------------------ */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct sl_child *c = of(handle);
	struct output *o = handle == (uv_handle_t *)&c->out.pipe ? &c->out : &c->errors;
	size_t needed = o->bytes + READ_BYTES + 1;
	if (o->room < needed) {
		size_t room = 2 * o->room > needed ? 2 * o->room : needed;
		char *text = realloc(o->text, room);
		if (text) {
			o->text = text;
			o->room = room;
			text[o->bytes] = 0;
		}
	}
	*buffer = o->room < needed ? uv_buf_init(NULL, 0) : uv_buf_init(o->text + o->bytes, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct sl_child *c = of((uv_handle_t *)stream);
	struct output *o = stream == (uv_stream_t *)&c->out.pipe ? &c->out : &c->errors;
	if (count < 0) {
		uv_read_stop(stream);
		o->open = false;
		c->result.too_long = c->result.too_long || count == UV_ENOBUFS;
		finish_if_complete(c);
		return;
	}
	o->bytes += (size_t)count;
	if (o->bytes > c->most_bytes && o == &c->out) {
		c->result.too_long = true;
		kill_all(c);
	}
	if (o->bytes > c->most_bytes)
		o->bytes = c->most_bytes;
	o->text[o->bytes] = 0;
}

static void on_written(uv_write_t *write, int status)
{
	struct sl_child *c = write->data;
	close_handle((uv_handle_t *)&c->input);
}

/* ---- the start --------------------------------------------------------------------------------- */

static void on_not_started(uv_timer_t *timer)
{
	finish(of((uv_handle_t *)timer));
}

/* The server's environment with what is added to it; the array is the caller's, the strings are borrowed. */
static char **environment_with(const char *const *added)
{
	size_t own = 0, more = 0, n = 0;
	while (environ[own])
		own++;
	while (added && added[more])
		more++;
	char **all = calloc(own + more + 1, sizeof *all);
	for (size_t i = 0; all && i < own; i++) {
		bool replaced = false;
		size_t name = strcspn(environ[i], "=") + 1;
		for (size_t k = 0; k < more; k++)
			replaced = replaced || !strncmp(environ[i], added[k], name);
		if (!replaced)
			all[n++] = environ[i];
	}
	for (size_t k = 0; all && k < more; k++)
		all[n++] = (char *)added[k];
	return all;
}

static void open_handles(struct sl_child *c)
{
	uv_pipe_init(c->loop, &c->input, 0);
	uv_pipe_init(c->loop, &c->out.pipe, 0);
	uv_pipe_init(c->loop, &c->errors.pipe, 0);
	uv_timer_init(c->loop, &c->timer);
	c->input.data = c->out.pipe.data = c->errors.pipe.data = c->timer.data = c;
	c->handles = 4;
}

static int spawn(struct sl_child *c, const struct sl_child_spec *spec)
{
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&c->input},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out.pipe},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->errors.pipe},
	};
	char **environment = environment_with(spec->environment);
	const uv_process_options_t options = {
		.exit_cb = on_exit_of, .file = spec->argv[0], .args = (char **)spec->argv, .env = environment,
		.flags = UV_PROCESS_DETACHED, .stdio_count = 3, .stdio = stdio,
	};
	if (!environment)
		return UV_ENOMEM;
	int code = uv_spawn(c->loop, &c->process, &options);  /* the handle must be closed after an error, too */
	c->process.data = c;
	c->handles++;
	free(environment);
	return code;
}

static void start_io(struct sl_child *c)
{
	uv_buf_t text = uv_buf_init(c->input_text, (unsigned)strlen(c->input_text));
	c->out.open = !uv_read_start((uv_stream_t *)&c->out.pipe, on_room, on_read);
	c->errors.open = !uv_read_start((uv_stream_t *)&c->errors.pipe, on_room, on_read);
	c->write.data = c;
	if (!text.len || uv_write(&c->write, (uv_stream_t *)&c->input, &text, 1, on_written))
		close_handle((uv_handle_t *)&c->input);
}

struct sl_child *sl_child_run(uv_loop_t *loop, const struct sl_child_spec *spec, sl_child_fn fn, void *arg)
{
	struct sl_child *c = calloc(1, sizeof *c);
	char *input = strdup(spec->input ? spec->input : "");
	if (!c || !input) {
		free(c);
		free(input);
		return NULL;
	}
	*c = (struct sl_child){.loop = loop, .input_text = input, .most_bytes = spec->most_bytes, .fn = fn, .arg = arg};
	open_handles(c);
	int code = spawn(c, spec);
	c->running = !code;
	c->result.started = -code;
	if (code) {
		uv_timer_start(&c->timer, on_not_started, 0, 0);
		return c;
	}
	start_io(c);
	uv_timer_start(&c->timer, on_late, (uint64_t)spec->limit_ms, 0);
	return c;
}

void sl_child_drop(struct sl_child *c)
{
	if (!c)
		return;
	kill_all(c);
	c->dropped = true;
	finish(c);
}

bool sl_child_succeeded(const struct sl_child_result *r)
{
	return !r->started && !r->timed_out && !r->too_long && !r->status && !r->signal;
}

char *sl_child_problem(const struct sl_child_result *r, const char *program, char *out, size_t bytes)
{
	const char *text = r->errors && r->errors[0] ? r->errors : r->out ? r->out : "";
	text += strspn(text, " \t\r\n");
	int length = (int)strcspn(text, "\r\n");
	if (r->started)
		snprintf(out, bytes, "%s cannot be started: %s", program, strerror(r->started));
	else if (r->timed_out)
		snprintf(out, bytes, "%s did not end in time", program);
	else if (r->too_long)
		snprintf(out, bytes, "%s printed more than can be read", program);
	else if (r->signal)
		snprintf(out, bytes, "%s was ended by signal %d", program, r->signal);
	else if (length)
		snprintf(out, bytes, "%.*s", length, text);
	else
		snprintf(out, bytes, "%s ended with status %d", program, r->status);
	return out;
}
