/* The watch of a job's layout. After every event, pump() checks the whole state and does the next work: it requests a
 * snapshot, encodes the forms that readers need, hands them out, or loads the result of a job that has ended. A watch
 * has one piece of work in progress at a time; pump() is called again after it.
 *
 * All ZeroMQ subscribers are one reader with one form; the publisher knows which of them subscribed to this job. Two
 * numbers give what this reader needs: the sequence of the frame published last, and the stamp of the newest
 * subscription at that time. If there are newer subscriptions, the frame is published again, only to them. */
#include "daemon/stream/watch.h"

#include <stdlib.h>

#include "daemon/stream/publisher.h"
#include "daemon/stream/watch_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

#define FORMS_AT_ONCE 8
#define INLINE_COORDINATES 50000   /* up to so many are encoded on the loop: 50 us */
#define RECENT_MS 60000            /* a subscriber to many jobs gets the ends of jobs that ended so long ago at most */

struct encoding {
	struct sl_watch *watch;          /* a reference to its owner */
	struct sl_layout *layout;        /* a reference */
	uint32_t sequence;
	int end, count;
	struct sl_frame_form form[FORMS_AT_ONCE];
	struct sl_buffer *frame[FORMS_AT_ONCE];
};

struct loading {
	struct sl_watch *watch;          /* a reference to its owner */
	struct sl_watch_status status;
	float *y;
	int code;
	struct sl_error err;
};

static void status_of(struct sl_watch *w, struct sl_watch_status *out)
{
	w->ops->status(w->owner, out);
}

/* ---- which frames readers need --------------------------------------------------------- */

static double interval_ms(const struct sl_watch *w)
{
	return 1e3 / w->all->config->frame_rate;
}

static struct sl_frame_form published_form(const struct sl_watch *w)
{
	return (struct sl_frame_form){SL_FRAME_U16, (uint32_t)w->all->config->frame_max_points};
}

static bool is_recent(const struct sl_watch *w)
{
	return w->ended_ms && uv_now(w->all->loop) - w->ended_ms < RECENT_MS;
}

/* The newest subscription that matches w; 0: none. If the job ended long ago, only subscriptions to this job alone
 * count. */
static uint64_t subscription(const struct sl_watch *w, bool ended)
{
	const struct sl_publisher *p = w->all->publisher;
	if (!p)
		return 0;
	return ended && !is_recent(w) ? w->asked_stamp : sl_publisher_wanted(p, w->job);
}

static bool must_publish(const struct sl_watch *w, bool ended)
{
	uint64_t stamp = subscription(w, ended);
	return stamp && (stamp > w->published_stamp || w->published < w->sequence);
}

/* True if there is a newer frame than the reader's, and the reader would send it at once. */
static bool lacks(const struct sl_watch *w, const struct sl_reader *r)
{
	return r->sequence < w->sequence && (sl__reader_hungry(r) || w->last) &&
	       (!w->layout || sl_layout_serves(w->layout, r->form));
}

static bool quantised_will_do(struct sl_watch *w)
{
	SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
		if (r->form.type != SL_FRAME_U16)
			return false;
	return true;
}

/* True if the layout is the newest; that of a running job counts as the newest for two frame intervals. */
static bool fresh(const struct sl_watch *w, const struct sl_watch_status *s)
{
	if (!w->layout)
		return false;
	if (w->last || (s->state == SL_WATCH_PAUSED && w->layout->iteration == s->iteration))
		return true;
	return (double)(uv_now(w->all->loop) - w->snapshot_ms) < 2 * interval_ms(w);
}

/* True if a reader needs a newer layout than the last one. */
static bool wanted(struct sl_watch *w, const struct sl_watch_status *s)
{
	if (s->state == SL_WATCH_PAUSED && w->layout && w->layout->iteration == s->iteration &&
	    (w->layout->y || quantised_will_do(w)))
		return false;
	SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
		if (sl__reader_hungry(r))
			return true;
	return subscription(w, false);
}

/* ---- handing out --------------------------------------------------------------------------- */

static void publish(struct sl_watch *w, struct sl_buffer *frame, uint32_t sequence, bool ended)
{
	uint64_t after = w->published < sequence ? 0 : w->published_stamp;
	if (ended && !is_recent(w))
		after = w->asked_stamp - 1;
	sl_publisher_send(w->all->publisher, frame, after);
	w->published = sequence;
	w->published_stamp = sl_publisher_stamp(w->all->publisher);
}

static void hand_out(struct sl_watch *w, struct sl_frame_form form, struct sl_buffer *frame, uint32_t sequence)
{
	struct sl_watch_status status;
	status_of(w, &status);
	bool ended = status.state == SL_WATCH_ENDED;
	SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
		if (sl_frame_form_equal(r->form, form) && r->sequence < sequence)
			sl__reader_give(r, frame, sequence);
	if (must_publish(w, ended) && sl_frame_form_equal(published_form(w), form) && sequence >= w->published)
		publish(w, frame, sequence, ended);
}

static void keep(struct sl_watch *w, struct sl_frame_form form, struct sl_buffer *frame, uint32_t sequence)
{
	int at = w->cache_next;
	for (int i = 0; i < SL_WATCH_FORMS; i++)
		if (w->cache[i].frame && sl_frame_form_equal(w->cache[i].form, form))
			at = i;
	if (at == w->cache_next)
		w->cache_next = (at + 1) % SL_WATCH_FORMS;
	sl_buffer_unref(w->cache[at].frame);
	w->cache[at].frame = sl_buffer_ref(frame);
	w->cache[at].form = form;
	w->cache[at].sequence = sequence;
}

/* ---- encoding ---------------------------------------------------------------------------------- */

static void encode(void *arg)
{
	struct encoding *e = arg;
	float low[3], extent;
	sl_layout_box(e->layout, low, &extent);
	for (int i = 0; i < e->count; i++)
		e->frame[i] = sl_frame_encode(e->layout, e->form[i], e->watch->job, e->sequence, e->end, low, extent);
}

/* Without memory for a frame, its form counts as served; otherwise it would be tried for ever. */
static void pass_over(struct sl_watch *w, struct sl_frame_form form, uint32_t sequence)
{
	SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
		if (sl_frame_form_equal(r->form, form))
			r->sequence = sequence;  /* there was no memory for this frame */
	w->published = sequence;
	w->published_stamp = w->all->publisher ? sl_publisher_stamp(w->all->publisher) : 0;
}

static void encoded(void *arg)
{
	struct encoding *e = arg;
	struct sl_watch *w = e->watch;
	struct sl_watches *all = w->all;
	w->encoding = false;
	for (int i = 0; i < e->count; i++) {
		if (!e->frame[i]) {
			pass_over(w, e->form[i], e->sequence);
			continue;
		}
		sl_metric_add(all->frames, 1);
		if (!w->gone)
			keep(w, e->form[i], e->frame[i], e->sequence);
		hand_out(w, e->form[i], e->frame[i], e->sequence);
		sl_buffer_unref(e->frame[i]);
	}
	sl_layout_unref(e->layout);
	free(e);
	sl_watch_pump(w);
	w->ops->unref(w->owner);
	all->ops->work(all->arg, -1);
}

static void add_form(struct encoding *e, struct sl_frame_form form)
{
	for (int i = 0; i < e->count; i++)
		if (sl_frame_form_equal(e->form[i], form))
			return;
	if (e->count < FORMS_AT_ONCE)
		e->form[e->count++] = form;
}

/* Gives readers the frames that are in the cache, and adds the forms that must be encoded to e. */
static void collect_forms(struct sl_watch *w, struct encoding *e, bool ended)
{
	for (int i = 0; i < SL_WATCH_FORMS; i++) {
		struct sl_buffer *frame = w->cache[i].frame;
		if (!frame || w->cache[i].sequence != w->sequence)
			continue;
		sl_buffer_ref(frame);  /* a reader that ends may empty the cache */
		hand_out(w, w->cache[i].form, frame, w->sequence);
		sl_buffer_unref(frame);
	}
	SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
		if (lacks(w, r))
			add_form(e, r->form);
	if (must_publish(w, ended))
		add_form(e, published_form(w));
}

static void serve(struct sl_watch *w, bool ended)
{
	struct encoding *e = calloc(1, sizeof *e);
	if (!e)
		return;
	collect_forms(w, e, ended);
	if (!e->count) {
		free(e);
		return;
	}
	e->watch = w;
	e->layout = sl_layout_ref(w->layout);
	e->sequence = w->sequence;
	e->end = w->last ? SL_FRAME_DONE : SL_FRAME_NOT_ENDED;
	w->encoding = true;
	w->ops->ref(w->owner);
	w->all->ops->work(w->all->arg, 1);
	if ((uint64_t)e->layout->n * (uint64_t)e->layout->dims > INLINE_COORDINATES) {
		sl_pool_run(w->all->loop, encode, encoded, e);
		return;
	}
	encode(e);
	encoded(e);
}

/* ---- the end of a job ------------------------------------------------------------------------------ */

/* All readers have the last frame: ends their streams and frees memory. */
static void end_all(struct sl_watch *w)
{
	SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
		sl__reader_end(r);
	w->published = w->sequence;
	w->published_stamp = w->all->publisher ? sl_publisher_stamp(w->all->publisher) : 0;
	sl_layout_unref(w->layout);
	w->layout = NULL;
	for (int i = 0; i < SL_WATCH_FORMS; i++) {
		sl_buffer_unref(w->cache[i].frame);
		w->cache[i].frame = NULL;
	}
}

/* For a job without a result: sends a frame without a payload. */
static void serve_end(struct sl_watch *w, const struct sl_watch_status *s)
{
	struct sl_buffer *frame = sl_frame_encode_end(w->job, s->nodes, s->dims, w->sequence, s->iteration, s->measure,
						      s->end);
	if (frame) {
		SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
			if (r->sequence < w->sequence)
				sl__reader_give(r, frame, w->sequence);
		if (must_publish(w, true))
			publish(w, frame, w->sequence, true);
		sl_buffer_unref(frame);
	}
	end_all(w);
}

static void load(void *arg)
{
	struct loading *l = arg;
	l->code = l->watch->ops->load(l->watch->owner, &l->y, &l->err);
}

static void loaded(void *arg)
{
	struct loading *l = arg;
	struct sl_watch *w = l->watch;
	struct sl_watches *all = w->all;
	w->loading = false;
	if (l->code)
		sl_log_error("stream", "no final frame of %s: %s", w->job, l->err.detail);
	else
		w->layout = sl_layout_create_take(l->y, l->status.nodes, l->status.dims, l->status.iteration,
						  l->status.measure);
	if (w->layout && l->status.values) {
		w->layout->values = true;
		w->layout->model_time = l->status.model_time;
	}
	w->last = w->layout != NULL;
	if (w->last && !w->gone)
		sl_watch_pump(w);
	else
		end_all(w);
	free(l);
	w->ops->unref(w->owner);
	all->ops->work(all->arg, -1);
}

static void load_result(struct sl_watch *w, const struct sl_watch_status *s)
{
	struct loading *l = calloc(1, sizeof *l);
	if (!l) {
		end_all(w);
		return;
	}
	l->watch = w;
	l->status = *s;
	w->loading = true;
	w->ops->ref(w->owner);
	w->all->ops->work(w->all->arg, 1);
	sl_pool_run(w->all->loop, load, loaded, l);
}

static bool anybody_lacks(struct sl_watch *w)
{
	SL_LIST_EACH(struct sl_reader, r, &w->readers, link)
		if (r->sequence < w->sequence)
			return true;
	return must_publish(w, true);
}

static void pump_ended(struct sl_watch *w, const struct sl_watch_status *s)
{
	if (w->encoding || w->loading)
		return;
	if (!anybody_lacks(w))
		end_all(w);
	else if (s->end != SL_FRAME_DONE)
		serve_end(w, s);
	else if (w->layout && w->last)
		serve(w, true);
	else if (!w->all->stopping)
		load_result(w, s);
	else
		end_all(w);
}

/* ---- one watch --------------------------------------------------------------------------------------- */

static void enlist(struct sl_watch *w, struct sl_list *list)
{
	if (w->link.in == list)
		return;
	sl_list_unlink(&w->link);
	if (list)
		sl_list_append(list, &w->link);
}

static void pump_running(struct sl_watch *w, const struct sl_watch_status *s)
{
	if (w->encoding || w->all->stopping)
		return;
	if (fresh(w, s))
		serve(w, false);
	if (w->encoding || w->snapshotting || !wanted(w, s))
		return;
	/* The interval begins when the last snapshot was due, not when it arrived. So the duration of a snapshot does not
	 * lower the rate, as long as it is shorter than the interval. */
	double now = (double)uv_now(w->all->loop), late = now - w->due_ms;
	if (w->layout && late < 0) {
		sl__watches_schedule(w->all, (uint64_t)-late + 1);
		return;
	}
	w->snapshotting = w->ops->snapshot(w->owner, quantised_will_do(w));
	if (w->snapshotting)
		w->due_ms = (late < interval_ms(w) ? w->due_ms : now) + interval_ms(w);
}

void sl_watch_pump(struct sl_watch *w)
{
	struct sl_watch_status s;
	if (w->gone)
		return;
	status_of(w, &s);
	w->ops->ref(w->owner);  /* the last reader may hold the last reference */
	switch (s.state) {
	case SL_WATCH_ENDED:
		enlist(w, is_recent(w) ? &w->all->recent : NULL);
		pump_ended(w, &s);
		break;
	case SL_WATCH_IDLE:
		enlist(w, NULL);
		break;
	case SL_WATCH_RUNNING:
	case SL_WATCH_PAUSED:
		enlist(w, &w->all->live);
		pump_running(w, &s);
		break;
	}
	w->ops->unref(w->owner);
}

void sl_watch_snapshot(struct sl_watch *w, struct sl_layout *layout)
{
	w->snapshotting = false;
	if (!layout)
		return;
	w->snapshot_ms = uv_now(w->all->loop);
	if (!w->layout || w->layout->iteration != layout->iteration || (layout->y && !w->layout->y)) {
		sl_layout_unref(w->layout);
		w->layout = sl_layout_ref(layout);
		w->sequence++;
	}
	sl_watch_pump(w);
}

void sl_watch_lost(struct sl_watch *w)
{
	w->snapshotting = false;
}

void sl_watch_end(struct sl_watch *w, struct sl_layout *layout)
{
	sl_layout_unref(w->layout);
	w->layout = layout ? sl_layout_ref(layout) : NULL;
	w->last = layout;
	w->sequence++;
	w->ended_ms = uv_now(w->all->loop) | 1;
}

void sl_watch_init(struct sl_watch *w, struct sl_watches *all, const struct sl_watch_ops *ops, void *owner,
		   const char *job, uint32_t sequence)
{
	*w = (struct sl_watch){.all = all, .ops = ops, .owner = owner, .job = job, .sequence = sequence};
}

void sl_watch_gone(struct sl_watch *w)
{
	w->gone = true;
	sl_list_unlink(&w->link);
	end_all(w);
}

void sl_watch_finish(struct sl_watch *w)
{
	sl_list_unlink(&w->link);
	sl_layout_unref(w->layout);
	for (int i = 0; i < SL_WATCH_FORMS; i++)
		sl_buffer_unref(w->cache[i].frame);
}
