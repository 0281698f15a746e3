/* What arrives is read directly to where it stays: into the header, the text, or the memory of a part. So a layout of a
 * million points is copied once, by the kernel. A state says which of these is being filled. */
#include "daemon/worker/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"

#define HEADER_BYTES 16
#define TEXT_OF(m) json_dumps((m)->head, JSON_COMPACT)

static const char magic[4] = {'S', 'L', 'W', '1'};

const char *const sl_wire_part_names[] = {"axes", "blob", "checkpoint", "distance", "index", "init", "layout", "mean",
					  "result0", "result1", "result2", "result3", "result4", "result5", "start",
					  "table", "trace", "user", "values", NULL};

struct sl_wire {
	uv_pipe_t pipe;
	int fd;
	const struct sl_wire_ops *ops;
	void *arg;
	uv_async_t ending;            /* calls ended(), from the loop */
	const char *why;              /* it has ended; NULL: not yet */
	bool told, closed;
	int handles;
	uint64_t waiting;
	/* what is being read */
	unsigned char header[HEADER_BYTES];
	char *text;
	uint32_t text_bytes;
	struct sl_wire_message *message;
	int part;
	uint64_t filled;              /* bytes of the header, the text or the part */
};

struct sending {
	uv_write_t write;
	struct sl_wire *wire;
	struct sl_wire_message *message;
	char *text;
	unsigned char header[HEADER_BYTES];
	uint64_t bytes;
};

/* ---- messages ------------------------------------------------------------------------------- */

struct sl_wire_message *sl_wire_message_create(const char *kind)
{
	struct sl_wire_message *m = calloc(1, sizeof *m);
	if (m)
		m->head = json_pack("{s:s}", "kind", kind);
	if (m && m->head)
		return m;
	free(m);
	return NULL;
}

void sl_wire_message_destroy(struct sl_wire_message *m)
{
	if (!m)
		return;
	json_decref(m->head);
	for (int i = 0; i < m->parts; i++)
		if (!m->part[i].borrowed)
			free(m->part[i].data);
	if (m->released)
		m->released(m->released_arg);
	free(m);
}

const char *sl_wire_kind(const struct sl_wire_message *m)
{
	return json_string_value(json_object_get(m->head, "kind"));
}

void sl_wire_put(struct sl_wire_message *m, const char *name, void *data, uint64_t bytes)
{
	if (!data || !bytes) {
		free(data);
		return;
	}
	m->part[m->parts].name = name;
	m->part[m->parts].data = data;
	m->part[m->parts++].bytes = bytes;
}

void sl_wire_put_borrowed(struct sl_wire_message *m, const char *name, const void *data, uint64_t bytes)
{
	if (!data || !bytes)
		return;
	sl_wire_put(m, name, (void *)data, bytes);
	m->part[m->parts - 1].borrowed = true;
}

bool sl_wire_put_copy(struct sl_wire_message *m, const char *name, const void *data, uint64_t bytes)
{
	void *copy = data && bytes ? malloc(bytes) : NULL;
	if (copy)
		sl_wire_put(m, name, memcpy(copy, data, bytes), bytes);
	return copy || !data || !bytes;
}

void *sl_wire_take(struct sl_wire_message *m, const char *name, uint64_t bytes)
{
	for (int i = 0; i < m->parts; i++) {
		if (strcmp(m->part[i].name, name) || m->part[i].bytes != bytes)
			continue;
		void *data = m->part[i].data;
		m->part[i].data = NULL;
		return data;
	}
	return NULL;
}

uint64_t sl_wire_bytes(const struct sl_wire_message *m, const char *name)
{
	for (int i = 0; i < m->parts; i++)
		if (!strcmp(m->part[i].name, name))
			return m->part[i].bytes;
	return 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static void end(struct sl_wire *w, const char *why)
{
	if (w->why || w->closed)
		return;
	w->why = why;
	uv_read_stop((uv_stream_t *)&w->pipe);
	uv_async_send(&w->ending);
}

static void on_ending(uv_async_t *async)
{
	struct sl_wire *w = async->data;
	if (w->told || w->closed)
		return;
	w->told = true;
	w->ops->ended(w->arg, w->why);
}

static void on_closed(uv_handle_t *handle)
{
	struct sl_wire *w = handle->data;
	if (--w->handles)
		return;
	free(w->text);
	sl_wire_message_destroy(w->message);
	free(w);
}

void sl_wire_close(struct sl_wire *w)
{
	if (!w || w->closed)
		return;
	w->closed = true;
	uv_close((uv_handle_t *)&w->pipe, on_closed);
	uv_close((uv_handle_t *)&w->ending, on_closed);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static uint64_t number_at(const unsigned char *bytes, int count)
{
	uint64_t value = 0;
	for (int i = count - 1; i >= 0; i--)
		value = value << 8 | bytes[i];
	return value;
}

static const char *part_name(const char *name)
{
	for (int i = 0; name && sl_wire_part_names[i]; i++)
		if (!strcmp(name, sl_wire_part_names[i]))
			return sl_wire_part_names[i];
	return NULL;
}

/* Makes room for the parts that the object lists, each once. Returns what is wrong, or NULL. */
static const char *make_parts(const struct sl_wire *w, struct sl_wire_message *m)
{
	const json_t *parts = json_object_get(m->head, "parts");
	size_t i;
	json_t *entry;
	if (parts && (!json_is_array(parts) || json_array_size(parts) > SL_WIRE_PARTS))
		return "it has sent a message with a wrong list of parts";
	json_array_foreach((json_t *)parts, i, entry) {
		const char *name = part_name(json_string_value(json_array_get(entry, 0)));
		json_int_t bytes = json_integer_value(json_array_get(entry, 1));
		if (!name || bytes <= 0 || (uint64_t)bytes > SL_WIRE_PART_MOST || sl_wire_bytes(m, name))
			return "it has sent a message with a wrong part";
		if (w->ops->most && (uint64_t)bytes > w->ops->most(w->arg, m->head, name))
			return "it has sent a message that is too long";
		void *data = malloc((size_t)bytes);
		if (!data)
			return "there is no memory for a message";
		sl_wire_put(m, name, data, (uint64_t)bytes);
	}
	return NULL;
}

static void pass_on(struct sl_wire *w)
{
	struct sl_wire_message *m = w->message;
	w->message = NULL;
	w->filled = 0;
	w->part = 0;
	w->ops->message(w->arg, m);
}

static void header_filled(struct sl_wire *w)
{
	uint64_t bytes = number_at(w->header + 4, 4);
	if (memcmp(w->header, magic, sizeof magic) || !bytes || bytes > SL_WIRE_HEAD_MOST || number_at(w->header + 8, 8)) {
		end(w, "it has sent what is no message");
		return;
	}
	w->text_bytes = (uint32_t)bytes;
	w->filled = 0;
	if (!(w->text = malloc(bytes)))
		end(w, "there is no memory for a message");
}

static void text_filled(struct sl_wire *w)
{
	struct sl_wire_message *m = calloc(1, sizeof *m);
	const char *wrong = m ? NULL : "there is no memory for a message";
	if (m && !(m->head = json_loadb(w->text, w->text_bytes, JSON_REJECT_DUPLICATES, NULL)))
		wrong = "it has sent a message that is no JSON";
	free(w->text);
	w->text = NULL;
	w->filled = 0;
	if (!wrong && !sl_wire_kind(m))
		wrong = "it has sent a message without a kind";
	if (!wrong)
		wrong = make_parts(w, m);
	if (wrong) {
		sl_wire_message_destroy(m);
		end(w, wrong);
		return;
	}
	w->message = m;
	w->part = 0;
	if (!m->parts)
		pass_on(w);
}

/* Where the next bytes go. */
static uv_buf_t wanted(struct sl_wire *w)
{
	char *to = w->message ? w->message->part[w->part].data : w->text ? w->text : (char *)w->header;
	uint64_t bytes = w->message ? w->message->part[w->part].bytes : w->text ? w->text_bytes : HEADER_BYTES;
	uint64_t left = bytes - w->filled;
	return uv_buf_init(to + w->filled, left < (1u << 30) ? (unsigned)left : 1u << 30);
}

static void arrived(struct sl_wire *w, size_t bytes)
{
	w->filled += bytes;
	if (w->message) {
		if (w->filled < w->message->part[w->part].bytes)
			return;
		w->filled = 0;
		if (++w->part == w->message->parts)
			pass_on(w);
	} else if (w->text) {
		if (w->filled == w->text_bytes)
			text_filled(w);
	} else if (w->filled == HEADER_BYTES) {
		header_filled(w);
	}
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	*buffer = wanted(handle->data);
}

static void on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buffer)
{
	struct sl_wire *w = stream->data;
	if (bytes < 0)
		end(w, bytes == UV_EOF ? "it has closed the connection" : uv_strerror((int)bytes));
	else if (bytes > 0 && !w->why && !w->closed)
		arrived(w, (size_t)bytes);
}

bool sl_wire_wait(struct sl_wire *w, int ms)
{
	for (;;) {
		struct pollfd ready = {.fd = w->fd, .events = POLLIN};
		uv_buf_t to = wanted(w);
		if (w->why || poll(&ready, 1, ms) <= 0)
			return false;
		ssize_t bytes = read(w->fd, to.base, to.len);
		if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (bytes <= 0) {
			end(w, "it has closed the connection");
			return false;
		}
		arrived(w, (size_t)bytes);
		if (!w->filled && !w->message && !w->text)
			return !w->why;
	}
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void on_written(uv_write_t *write, int status)
{
	struct sending *s = write->data;
	s->wire->waiting -= s->bytes;
	if (status < 0 && status != UV_ECANCELED)
		end(s->wire, uv_strerror(status));
	sl_wire_message_destroy(s->message);
	free(s->text);
	free(s);
}

static bool list_parts(struct sl_wire_message *m)
{
	json_t *parts = m->parts ? json_array() : NULL;
	for (int i = 0; i < m->parts; i++)
		json_array_append_new(parts, json_pack("[s, I]", m->part[i].name, (json_int_t)m->part[i].bytes));
	return !m->parts || !json_object_set_new(m->head, "parts", parts);
}

static void put_header(struct sending *s, size_t text_bytes)
{
	memset(s->header, 0, sizeof s->header);
	memcpy(s->header, magic, sizeof magic);
	for (int i = 0; i < 4; i++)
		s->header[4 + i] = (unsigned char)(text_bytes >> 8 * i);
}

void sl_wire_send(struct sl_wire *w, struct sl_wire_message *m)
{
	struct sending *s = m ? calloc(1, sizeof *s) : NULL;
	uv_buf_t buffer[2 + SL_WIRE_PARTS];
	unsigned count = 2;
	if (s && list_parts(m))
		s->text = TEXT_OF(m);
	if (!s || !s->text || w->why || w->closed) {
		if (!w->closed)
			end(w, "there is no memory for a message");
		sl_wire_message_destroy(m);
		free(s ? s->text : NULL);
		free(s);
		return;
	}
	size_t text_bytes = strlen(s->text);
	s->wire = w;
	s->message = m;
	put_header(s, text_bytes);
	s->bytes = HEADER_BYTES + text_bytes;
	buffer[0] = uv_buf_init((char *)s->header, HEADER_BYTES);
	buffer[1] = uv_buf_init(s->text, (unsigned)text_bytes);
	for (int i = 0; i < m->parts; i++) {
		s->bytes += m->part[i].bytes;
		buffer[count++] = (uv_buf_t){.base = m->part[i].data, .len = m->part[i].bytes};
	}
	s->write.data = s;
	w->waiting += s->bytes;
	if (uv_write(&s->write, (uv_stream_t *)&w->pipe, buffer, count, on_written))
		on_written(&s->write, UV_EPIPE);
}

uint64_t sl_wire_waiting(const struct sl_wire *w)
{
	return w->waiting;
}

/* ---- life ------------------------------------------------------------------------------------- */

int sl_wire_open(struct sl_wire **out, uv_loop_t *loop, int fd, const struct sl_wire_ops *ops, void *arg)
{
	struct sl_wire *w = calloc(1, sizeof *w);
	if (!w) {
		close(fd);
		return SL_NOMEM;
	}
	w->ops = ops;
	w->arg = arg;
	w->fd = fd;
	uv_pipe_init(loop, &w->pipe, 0);
	uv_async_init(loop, &w->ending, on_ending);
	w->pipe.data = w->ending.data = w;
	w->handles = 2;
	if (uv_pipe_open(&w->pipe, fd) || uv_read_start((uv_stream_t *)&w->pipe, on_alloc, on_read)) {
		close(fd);
		sl_wire_close(w);
		return SL_NOMEM;
	}
	*out = w;
	return 0;
}
