/* Positions in the streams are counts of bytes since the beginning. Of what was read from the local socket:
 *
 *   acked <= sent <= end, end - acked <= SL_TUNNEL_KEPT: a ring holds acked..end
 *
 * A new connection sets sent to what the other end has received. Of what comes, a frame counts as received when it is
 * whole; the next one is read when it has been written to the local socket. */
#include "daemon/network/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES 8
#define BODY_BYTES (SL_TLS_RECORD - HEAD_BYTES)  /* a frame is a record of TLS */
#define ACK_BYTES (256u << 10)
#define ROUNDS 64                                /* frames in a turn of the loop */
#define END_MS 5000

enum kind { DATA = 1, ACK, NOTE, END };

struct sl_tunnel {
	uv_loop_t *loop;
	uv_poll_t inner;
	uv_async_t again;              /* there is more to do in the next turn */
	int fd, handles;
	const struct sl_tunnel_ops *ops;
	void *arg;
	struct sl_tls *tls;            /* NULL: none */
	bool destroyed;
	uint64_t heard_ms;
	/* out */
	unsigned char *ring;
	uint64_t acked, sent, end;
	bool drained;                  /* the local socket has no more to read */
	char note[SL_TUNNEL_TEXT], last[SL_TUNNEL_TEXT];
	bool note_due, ack_due, ending, end_sent;
	uint64_t ending_ms;            /* since END was sent, or nobody was there to take it */
	unsigned char frame[SL_TLS_RECORD];
	size_t frame_bytes;            /* that GnuTLS has not taken yet */
	size_t frame_at;
	/* in */
	uint64_t received, told;       /* told: in an ACK */
	unsigned char head[HEAD_BYTES], body[BODY_BYTES];
	size_t head_have, body_have, body_bytes, written;
	bool passing;                  /* a whole DATA frame is being written to the local socket */
	bool deaf;                     /* the local socket takes nothing any more */
};

/* ---- the connection's end ------------------------------------------------------------------------ */

static void drop(struct sl_tunnel *t)
{
	sl_tls_close(t->tls);
	t->tls = NULL;
	t->frame_bytes = t->frame_at = t->head_have = t->body_have = 0;
}

static void cut(struct sl_tunnel *t, const char *why)
{
	char text[240];
	snprintf(text, sizeof text, "%s", why);
	drop(t);
	t->ops->cut(t->arg, text);
}

static void over(struct sl_tunnel *t, const char *text)
{
	char copy[SL_TUNNEL_TEXT];
	snprintf(copy, sizeof copy, "%s", text);
	if (t->tls)
		sl_tls_bye(t->tls);
	drop(t);
	t->deaf = t->drained = true;
	uv_poll_stop(&t->inner);
	shutdown(t->fd, SHUT_RDWR);
	t->ops->ended(t->arg, copy);
}

/* ---- numbers ----------------------------------------------------------------------------------------- */

static void put(unsigned char *to, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from, int bytes)
{
	uint64_t value = 0;
	for (int i = bytes - 1; i >= 0; i--)
		value = value << 8 | from[i];
	return value;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

/* Reads the local socket into the ring. */
static bool read_inner(struct sl_tunnel *t)
{
	size_t at = t->end % SL_TUNNEL_KEPT, room = SL_TUNNEL_KEPT - (size_t)(t->end - t->acked);
	if (t->drained || !room)
		return false;
	if (room > SL_TUNNEL_KEPT - at)
		room = SL_TUNNEL_KEPT - at;
	ssize_t n = recv(t->fd, t->ring + at, room, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0) {
		t->end += (uint64_t)n;
		return true;
	}
	t->drained = true;
	if (!t->ending)
		t->ops->drained(t->arg);
	return false;
}

static void make_frame(struct sl_tunnel *t, enum kind kind, const void *body, size_t bytes)
{
	memset(t->frame, 0, HEAD_BYTES);
	put(t->frame, bytes, 4);
	t->frame[4] = (unsigned char)kind;
	if (body)
		memcpy(t->frame + HEAD_BYTES, body, bytes);
	t->frame_bytes = HEAD_BYTES + bytes;
	t->frame_at = 0;
}

static void make_data(struct sl_tunnel *t)
{
	size_t bytes = t->end - t->sent < BODY_BYTES ? (size_t)(t->end - t->sent) : BODY_BYTES;
	size_t at = t->sent % SL_TUNNEL_KEPT;
	size_t first = bytes < SL_TUNNEL_KEPT - at ? bytes : SL_TUNNEL_KEPT - at;
	make_frame(t, DATA, NULL, bytes);
	memcpy(t->frame + HEAD_BYTES, t->ring + at, first);
	memcpy(t->frame + HEAD_BYTES + first, t->ring, bytes - first);
	t->sent += bytes;
}

/* Makes the next frame, if there is one to send. */
static bool make_next(struct sl_tunnel *t)
{
	unsigned char count[8];
	if (t->ack_due || t->received - t->told >= ACK_BYTES) {
		put(count, t->received, 8);
		make_frame(t, ACK, count, sizeof count);
		t->told = t->received;
		t->ack_due = false;
	} else if (t->note_due) {
		make_frame(t, NOTE, t->note, strlen(t->note));
		t->note_due = false;
	} else if (t->sent < t->end) {
		make_data(t);
	} else if (t->ending && t->drained && !t->end_sent) {
		make_frame(t, END, t->last, strlen(t->last));
		t->end_sent = true;
		t->ending_ms = uv_now(t->loop);
	} else {
		return false;
	}
	return true;
}

/* Returns false if nothing moved. *why: the connection is broken. */
static bool write_out(struct sl_tunnel *t, const char **why)
{
	if (!t->tls || (!t->frame_bytes && !make_next(t)))
		return false;
	ssize_t n = sl_tls_write(t->tls, t->frame + t->frame_at, t->frame_bytes);
	if (n == SL_TLS_BROKEN)
		*why = sl_tls_why(t->tls);
	if (n <= 0)
		return false;
	t->frame_at += (size_t)n;
	t->frame_bytes -= (size_t)n;
	return true;
}

/* ---- in ------------------------------------------------------------------------------------------------ */

static const char *frame_is_wrong(const struct sl_tunnel *t)
{
	static const size_t most[] = {[DATA] = BODY_BYTES, [ACK] = 8, [NOTE] = SL_TUNNEL_TEXT - 1,
				      [END] = SL_TUNNEL_TEXT - 1};
	unsigned kind = t->head[4];
	if (kind < DATA || kind > END || t->body_bytes > most[kind] || (kind == ACK && t->body_bytes != 8) ||
	    (kind == DATA && !t->body_bytes) || get(t->head + 5, 3))
		return "it has sent what is no frame";
	return NULL;
}

static const char *take_ack(struct sl_tunnel *t)
{
	uint64_t count = get(t->body, 8);
	if (count < t->acked || count > t->sent)
		return "it acknowledges what was not sent";
	t->acked = count;
	return NULL;
}

/* A whole frame has come. Returns what is wrong. *ended: it was the last one. */
static const char *take_frame(struct sl_tunnel *t, bool *ended)
{
	char text[SL_TUNNEL_TEXT];
	enum kind kind = (enum kind)t->head[4];
	size_t bytes = t->body_bytes;
	t->head_have = t->body_have = 0;
	if (kind == ACK)
		return take_ack(t);
	if (kind == DATA) {
		t->received += bytes;
		t->passing = !t->deaf;
		t->written = 0;
		return NULL;
	}
	memcpy(text, t->body, bytes);
	text[bytes] = 0;
	*ended = kind == END;
	if (kind == END)
		over(t, text);
	else
		t->ops->note(t->arg, text);
	return NULL;
}

static bool read_in(struct sl_tunnel *t, const char **why, bool *ended)
{
	if (!t->tls || t->passing)
		return false;
	bool head = t->head_have < HEAD_BYTES;
	if (!head && t->body_have == t->body_bytes) {
		*why = take_frame(t, ended);
		return true;
	}
	ssize_t n = head ? sl_tls_read(t->tls, t->head + t->head_have, HEAD_BYTES - t->head_have) :
			   sl_tls_read(t->tls, t->body + t->body_have, t->body_bytes - t->body_have);
	if (n == SL_TLS_AGAIN)
		return false;
	if (n <= 0) {
		*why = n ? sl_tls_why(t->tls) : "it has closed the connection";
		return false;
	}
	t->heard_ms = uv_now(t->loop);
	if (!head) {
		t->body_have += (size_t)n;
		return true;
	}
	t->head_have += (size_t)n;
	if (t->head_have == HEAD_BYTES) {
		t->body_have = 0;
		t->body_bytes = get(t->head, 4);
		*why = frame_is_wrong(t);
	}
	return true;
}

static bool write_inner(struct sl_tunnel *t)
{
	if (!t->passing)
		return false;
	ssize_t n = send(t->fd, t->body + t->written, t->body_bytes - t->written, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		t->deaf = true;
		t->passing = false;
		return true;
	}
	t->written += (size_t)n;
	t->passing = t->written < t->body_bytes;
	return true;
}

/* ---- turns --------------------------------------------------------------------------------------------- */

static void on_inner(uv_poll_t *poll, int status, int events);

static void want(struct sl_tunnel *t)
{
	bool room = !t->drained && t->end - t->acked < SL_TUNNEL_KEPT;
	int events = (room ? UV_READABLE : 0) | (t->passing ? UV_WRITABLE : 0);
	if (events)
		uv_poll_start(&t->inner, events, on_inner);
	else
		uv_poll_stop(&t->inner);
	if (t->tls)
		sl_tls_want(t->tls, !t->passing, t->frame_bytes > 0);
}

static void pump(struct sl_tunnel *t)
{
	const char *why = NULL;
	bool ended = false;
	int rounds = ROUNDS;
	for (bool moves = true; moves && rounds && !why && !ended && !t->destroyed; rounds--) {
		moves = read_inner(t);
		moves = (!why && write_out(t, &why)) || moves;
		moves = (!why && read_in(t, &why, &ended)) || moves;
		moves = (!why && !ended && write_inner(t)) || moves;
	}
	if (t->destroyed || ended)
		return;
	if (why && t->end_sent)
		over(t, "");  /* the other end has taken it, or never will */
	else if (why)
		cut(t, why);
	if (t->destroyed)
		return;
	if (!rounds)
		uv_async_send(&t->again);
	want(t);
}

static void on_inner(uv_poll_t *poll, int status, int events)
{
	pump(poll->data);
}

static void on_again(uv_async_t *async)
{
	struct sl_tunnel *t = async->data;
	if (!t->destroyed)
		pump(t);
}

static void on_ready(void *arg)
{
	pump(arg);
}

void sl_tunnel_tick(struct sl_tunnel *t)
{
	uint64_t now = uv_now(t->loop);
	if (t->ending && !t->ending_ms)
		t->ending_ms = now;
	if (t->ending && now - t->ending_ms > END_MS) {
		over(t, "");
		return;
	}
	if (t->passing)
		t->heard_ms = now;  /* the local socket is slow, and the connection is not read meanwhile */
	if (t->tls && now - t->heard_ms > SL_TUNNEL_SILENT_MS) {
		cut(t, "nothing has come for ten seconds");
		return;
	}
	t->ack_due = true;
	if (t->tls)
		pump(t);
}

/* ---- for the owner ------------------------------------------------------------------------------------- */

int sl_tunnel_attach(struct sl_tunnel *t, struct sl_tls *tls, uint64_t received)
{
	if (received < t->acked || received > t->end) {
		sl_tls_close(tls);
		return SL_BADDATA;
	}
	drop(t);
	t->tls = tls;
	sl_tls_hand_over(tls, on_ready, t);
	t->acked = t->sent = received;
	t->heard_ms = uv_now(t->loop);
	t->ack_due = true;
	t->note_due = t->note[0];
	t->end_sent = false;
	uv_async_send(&t->again);
	return 0;
}

void sl_tunnel_detach(struct sl_tunnel *t)
{
	drop(t);
}

uint64_t sl_tunnel_received(const struct sl_tunnel *t)
{
	return t->received;
}

void sl_tunnel_note(struct sl_tunnel *t, const char *text)
{
	snprintf(t->note, sizeof t->note, "%s", text);
	t->note_due = true;
	uv_async_send(&t->again);
}

void sl_tunnel_end(struct sl_tunnel *t, const char *text)
{
	if (t->ending)
		return;
	snprintf(t->last, sizeof t->last, "%s", text);
	t->ending = true;
	uv_async_send(&t->again);
}

static void on_closed(uv_handle_t *handle)
{
	struct sl_tunnel *t = handle->data;
	if (--t->handles)
		return;
	close(t->fd);
	free(t->ring);
	free(t);
}

void sl_tunnel_destroy(struct sl_tunnel *t)
{
	if (!t || t->destroyed)
		return;
	t->destroyed = true;
	drop(t);
	uv_close((uv_handle_t *)&t->inner, on_closed);
	uv_close((uv_handle_t *)&t->again, on_closed);
}

int sl_tunnel_create(struct sl_tunnel **out, uv_loop_t *loop, int fd, const struct sl_tunnel_ops *ops, void *arg)
{
	struct sl_tunnel *t = calloc(1, sizeof *t);
	if (!t || !(t->ring = malloc(SL_TUNNEL_KEPT)) || uv_poll_init(loop, &t->inner, fd)) {
		free(t ? t->ring : NULL);
		free(t);
		close(fd);
		return SL_NOMEM;
	}
	t->loop = loop;
	t->fd = fd;
	t->ops = ops;
	t->arg = arg;
	uv_async_init(loop, &t->again, on_again);
	t->inner.data = t->again.data = t;
	t->handles = 2;
	t->heard_ms = uv_now(loop);
	uv_async_send(&t->again);
	*out = t;
	return 0;
}
