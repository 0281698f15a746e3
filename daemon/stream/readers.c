/* Readers over HTTP. A long poll takes one frame, a stream one after the other. A stream gets a frame only after it has
 * handed the last one to the connection, so a slow reader gets frames that are as new as possible. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/numpy/npy.h"
#include "daemon/http/http.h"
#include "daemon/stream/watch_internal.h"

bool sl__reader_hungry(const struct sl_reader *r)
{
	return r->request || (!r->waiting && !r->sending);
}

static struct sl_reader *reader_create(struct sl_watch *w, struct sl_frame_form form, uint32_t sequence)
{
	struct sl_reader *r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	r->watch = w;
	r->form = form;
	r->sequence = sequence;
	w->ops->ref(w->owner);
	sl_list_append(&w->readers, &r->link);
	return r;
}

static void reader_destroy(struct sl_reader *r)
{
	struct sl_watch *w = r->watch;
	sl_list_unlink(&r->link);
	sl_buffer_unref(r->waiting);
	sl_buffer_unref(r->sending);
	free(r);
	w->ops->unref(w->owner);
}

static void poll_gone(void *arg)
{
	reader_destroy(arg);
}

static void poll_end(void *arg)
{
	struct sl_reader *r = arg;
	struct sl_request *request = r->request;
	reader_destroy(r);
	sl_reply_empty(request, 204);
}

void sl__reader_end(struct sl_reader *r)
{
	if (r->request) {
		poll_end(r);
	} else if (!r->end) {
		r->end = true;
		if (r->stream)
			sl_stream_wake(r->stream);
	}
}

/* Makes an array file or CSV from the payload of a frame of float32. NULL: no memory. */
static struct sl_buffer *array_of(const struct sl_buffer *frame, bool csv)
{
	const struct sl_frame_header *h = sl_frame_header_of(frame);
	const unsigned char *payload = frame->data + h->header_bytes;
	size_t bytes = (size_t)h->n * h->dims * sizeof(float), size = 0;
	const uint32_t shape[3] = {h->n, h->dims, 0};
	struct sl_buffer *b;
	char *text = NULL;
	FILE *f = csv ? open_memstream(&text, &size) : NULL;
	if (!csv && (b = sl_buffer_create(SL_NPY_HEADER_BYTES + bytes))) {
		sl_npy_header_of((char *)b->data, "<f4", shape);
		memcpy(b->data + SL_NPY_HEADER_BYTES, payload, bytes);
		return b;
	}
	for (size_t at = 0; f && at < (size_t)h->n * h->dims; at++) {
		float value;
		memcpy(&value, payload + at * sizeof value, sizeof value);
		fprintf(f, "%.9g%c", (double)value, at % h->dims + 1 < h->dims ? ',' : '\n');
	}
	b = f && !fclose(f) ? sl_buffer_create(size) : NULL;
	if (b)
		memcpy(b->data, text, size);
	free(text);
	return b;
}

static void give_array(struct sl_request *request, const struct sl_buffer *frame, bool csv)
{
	const struct sl_frame_header *h = sl_frame_header_of(frame);
	struct sl_buffer *b = h->n ? array_of(frame, csv) : NULL;
	if (b)
		sl_reply_buffer(request, csv ? "text/csv; charset=utf-8" : "application/octet-stream", NULL, b);
	else if (h->n)
		sl_reply_problem(request, SL_NOMEM, SL_NO_MEMORY "a reply.");
	else
		sl_reply_problem(request, SL_CONFLICT, "The job has ended without values.");
}

void sl__reader_give(struct sl_reader *r, struct sl_buffer *frame, uint32_t sequence)
{
	if (r->request) {
		struct sl_request *request = r->request;
		int as = r->as;
		reader_destroy(r);
		sl_reply_header(request, "Cache-Control", "no-store");
		if (as != SL__AS_FRAME) {
			give_array(request, frame, as == SL__AS_CSV);
			return;
		}
		sl_reply_buffer(request, "application/vnd.spaceland.frame", NULL, sl_buffer_ref(frame));
		return;
	}
	sl_buffer_unref(r->waiting);
	r->waiting = sl_buffer_ref(frame);
	r->sequence = sequence;
	if (r->stream)
		sl_stream_wake(r->stream);
}

static ssize_t stream_read(void *arg, char *out, size_t max)
{
	struct sl_reader *r = arg;
	if (!r->sending && r->waiting) {
		r->sending = r->waiting;
		r->waiting = NULL;
		r->sent = 0;
	}
	if (!r->sending) {
		if (!r->end)
			sl__watches_schedule(r->watch->all, 0);  /* it needs a frame */
		return r->end ? -1 : 0;
	}
	uint32_t length = (uint32_t)r->sending->bytes;
	size_t done = 0;
	while (done < max && r->sent < sizeof length)
		out[done++] = (char)(length >> (8 * r->sent++));
	size_t offset = r->sent - sizeof length, left = r->sending->bytes - offset;
	size_t bytes = r->sent < sizeof length ? 0 : left < max - done ? left : max - done;
	memcpy(out + done, r->sending->data + offset, bytes);
	r->sent += bytes;
	if (bytes == left) {
		sl_buffer_unref(r->sending);
		r->sending = NULL;
	}
	return (ssize_t)(done + bytes);
}

static void stream_drop(void *arg)
{
	reader_destroy(arg);
}

static const struct sl_stream_ops stream_ops = {stream_read, stream_drop};

static void poll(struct sl_watch *w, struct sl_request *request, struct sl_frame_form form, uint32_t after,
		 uint64_t wait_ms, int as)
{
	struct sl_watch_status status;
	w->ops->status(w->owner, &status);
	struct sl_reader *r = NULL;
	if (wait_ms && status.state != SL_WATCH_ENDED && !sl_request_poll(request, true))
		return;
	if (status.state != SL_WATCH_ENDED || after < w->sequence)
		r = reader_create(w, form, after);
	if (!r) {
		sl_reply_empty(request, 204);
		return;
	}
	r->request = request;
	r->as = as;
	sl_request_park_for(request, wait_ms > 0 ? wait_ms : 1, poll_end, poll_gone, r);
	sl_watch_pump(w);
}

void sl_watch_poll(struct sl_watch *w, struct sl_request *request, struct sl_frame_form form, uint32_t after,
		   uint64_t wait_ms)
{
	poll(w, request, form, after, wait_ms, SL__AS_FRAME);
}

#define VALUES_MS 25000

void sl_watch_values(struct sl_watch *w, struct sl_request *request, bool csv)
{
	poll(w, request, (struct sl_frame_form){.type = SL_FRAME_F32}, 0, VALUES_MS, csv ? SL__AS_CSV : SL__AS_NPY);
}

void sl_watch_stream(struct sl_watch *w, struct sl_request *request, struct sl_frame_form form)
{
	struct sl_reader *r = reader_create(w, form, 0);
	if (!r) {
		sl_reply_problem(request, SL_NOMEM, SL_NO_MEMORY "a stream.");
		return;
	}
	w->ops->ref(w->owner);  /* the reader may end at once */
	sl_reply_header(request, "Cache-Control", "no-store");
	struct sl_stream *stream = sl_reply_stream(request, "application/vnd.spaceland.frames", &stream_ops, r);
	if (stream) {
		r->stream = stream;
		sl_watch_pump(w);
	}
	w->ops->unref(w->owner);
}
