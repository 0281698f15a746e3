/* Who watches a job's layout, and how frames come to be.
 *
 * A job has listeners (a long poll, a stream: each with its form and the sequence number
 * that it has) and perhaps ZeroMQ subscribers. pump() is called whenever anything changes
 * and does what is to be done: take a snapshot, if somebody wants a newer frame and the
 * last one is old enough; encode the forms that somebody lacks, each once; hand them out.
 * A stream that has not taken its last frame wants none, so a slow reader skips frames and
 * costs nothing. When the job has ended, everybody gets its last layout, flagged FINAL,
 * and then the end; late comers get it from the file. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/job_files.h"
#include "daemon/util/log.h"

#define FORMS_AT_ONCE 8
#define INLINE_COORDINATES 50000   /* up to so many are encoded on the loop: 50 us */
#define RECENT_MS 60000            /* so long a subscriber to many jobs is told of a final frame */

struct sl_job_listener {
	struct sl_job_listener *next;
	struct sl_job *job;            /* a reference */
	struct sl_frame_form form;
	uint32_t sequence;             /* that it has */
	struct sl_request *request;    /* a long poll; else a stream: */
	struct sl_stream *stream;
	struct sl_buffer *waiting;     /* the newest frame, not begun */
	struct sl_buffer *sending;
	size_t sent;                   /* bytes of it, length included */
	bool end;                      /* nothing comes after these */
};

struct encoding {
	uv_work_t work;
	struct sl_job *job;            /* a reference */
	struct sl_layout *layout;      /* a reference */
	uint32_t sequence;
	int end, count;
	struct sl_frame_form form[FORMS_AT_ONCE];
	struct sl_buffer *frame[FORMS_AT_ONCE];
};

struct loading {
	uv_work_t work;
	struct sl_job *job;            /* a reference */
	float *y;
	int code;
	struct sl_error err;
};

static double interval_ms(const struct sl_job *job)
{
	return 1e3 / job->jobs->d->config.frame_rate;
}

static void on_timer(uv_timer_t *timer)
{
	struct sl_jobs *j = timer->data;
	for (struct sl_job *job = j->on_device, *next; job; job = next) {
		next = job->next_on_device;
		sl__frames_pump(job);
	}
}

/* pump() for all, not later than in ms. */
static void schedule(struct sl_jobs *j, uint64_t ms)
{
	if (j->stopping)
		return;
	if (!uv_is_active((uv_handle_t *)&j->frame_timer) || uv_timer_get_due_in(&j->frame_timer) > ms)
		uv_timer_start(&j->frame_timer, on_timer, ms, 0);
}

static bool subscribed(const struct sl_job *job)
{
	for (const struct sl_subscription *s = job->jobs->subscriptions; s; s = s->next)
		if (!strncmp(job->id, s->prefix, strlen(s->prefix)))
			return true;
	return false;
}

static struct sl_frame_form published_form(const struct sl_job *job)
{
	return (struct sl_frame_form){SL_FRAME_U16, (uint32_t)job->jobs->d->config.frame_max_points};
}

static bool must_publish(const struct sl_job *job)
{
	return job->jobs->publisher && (job->publish_due || (job->published < job->sequence && subscribed(job)));
}

/* ... and can be given */
static bool lacks(const struct sl_job_listener *l)
{
	return l->sequence < l->job->sequence && (l->request || !l->waiting || l->job->final) &&
	       (!l->job->layout || sl_layout_serves(l->job->layout, l->form));
}

/* Will quantised coordinates do for everybody who wants the next layout? */
static bool quantised_will_do(const struct sl_job *job)
{
	for (const struct sl_job_listener *l = job->listeners; l; l = l->next)
		if (l->form.type != SL_FRAME_U16)
			return false;
	return true;
}

/* Of a running job, a layout counts as the newest for two frame times. */
static bool fresh(const struct sl_job *job)
{
	if (!job->layout)
		return false;
	if (job->final || (job->state == SL_JOB_PAUSED && job->layout->iteration == job->status.iteration))
		return true;
	return (double)(uv_now(job->jobs->d->loop) - job->snapshot_ms) < 2 * interval_ms(job);
}

/* ---- listeners ----------------------------------------------------------------- */

static struct sl_job_listener *listener_create(struct sl_job *job, struct sl_frame_form form, uint32_t sequence)
{
	struct sl_job_listener *l = calloc(1, sizeof *l);
	if (!l)
		return NULL;
	l->job = sl__job_ref(job);
	l->form = form;
	l->sequence = sequence;
	l->next = job->listeners;
	job->listeners = l;
	return l;
}

static void listener_destroy(struct sl_job_listener *l)
{
	struct sl_job_listener **at = &l->job->listeners;
	while (*at && *at != l)
		at = &(*at)->next;
	if (*at)
		*at = l->next;
	sl_buffer_unref(l->waiting);
	sl_buffer_unref(l->sending);
	sl__job_unref(l->job);
	free(l);
}

static void poll_gone(void *arg)
{
	listener_destroy(arg);
}

static void poll_end(void *arg)
{
	struct sl_job_listener *l = arg;
	struct sl_request *r = l->request;
	listener_destroy(l);
	sl_reply_empty(r, 204);
}

static void listener_end(struct sl_job_listener *l)
{
	if (l->request) {
		poll_end(l);
	} else if (!l->end) {
		l->end = true;
		if (l->stream)
			sl_stream_wake(l->stream);
	}
}

static void listener_give(struct sl_job_listener *l, struct sl_buffer *frame, uint32_t sequence)
{
	if (l->request) {
		struct sl_request *r = l->request;
		listener_destroy(l);
		sl_reply_header(r, "Cache-Control", "no-store");
		sl_reply_buffer(r, "application/vnd.spaceland.frame", NULL, sl_buffer_ref(frame));
		return;
	}
	sl_buffer_unref(l->waiting);
	l->waiting = sl_buffer_ref(frame);
	l->sequence = sequence;
	if (l->stream)
		sl_stream_wake(l->stream);
}

static ssize_t stream_read(void *arg, char *out, size_t max)
{
	struct sl_job_listener *l = arg;
	if (!l->sending && l->waiting) {
		l->sending = l->waiting;
		l->waiting = NULL;
		l->sent = 0;
		schedule(l->job->jobs, 0);  /* it may want the next one now */
	}
	if (!l->sending)
		return l->end ? -1 : 0;
	uint32_t length = (uint32_t)l->sending->bytes;
	size_t done = 0;
	while (done < max && l->sent < sizeof length)
		out[done++] = (char)(length >> (8 * l->sent++));
	size_t offset = l->sent - sizeof length, left = l->sending->bytes - offset;
	size_t bytes = l->sent < sizeof length ? 0 : left < max - done ? left : max - done;
	memcpy(out + done, l->sending->data + offset, bytes);
	l->sent += bytes;
	if (bytes == left) {
		sl_buffer_unref(l->sending);
		l->sending = NULL;
	}
	return (ssize_t)(done + bytes);
}

static void stream_drop(void *arg)
{
	listener_destroy(arg);
}

static const struct sl_stream_ops stream_ops = {stream_read, stream_drop};

/* ---- encoding ---------------------------------------------------------------------- */

static void hand_out(struct sl_job *job, struct sl_frame_form form, struct sl_buffer *frame, uint32_t sequence)
{
	for (struct sl_job_listener *l = job->listeners, *next; l; l = next) {
		next = l->next;
		if (sl_frame_form_equal(l->form, form) && l->sequence < sequence)
			listener_give(l, frame, sequence);
	}
	if (must_publish(job) && sl_frame_form_equal(published_form(job), form) && sequence >= job->published) {
		sl_publisher_send(job->jobs->publisher, sl_buffer_ref(frame));
		job->published = sequence;
		job->publish_due = false;
	}
}

static void encode(uv_work_t *work)
{
	struct encoding *e = work->data;
	float low[3], extent;
	sl_layout_box(e->layout, low, &extent);
	for (int i = 0; i < e->count; i++)
		e->frame[i] = sl_frame_encode(e->layout, e->form[i], e->job->id, e->sequence, e->end, low, extent);
}

static void keep(struct sl_job *job, struct sl_frame_form form, struct sl_buffer *frame, uint32_t sequence)
{
	int at = job->cache_next;
	for (int i = 0; i < SL__FRAME_CACHE; i++)
		if (job->cache[i].frame && sl_frame_form_equal(job->cache[i].form, form))
			at = i;
	if (at == job->cache_next)
		job->cache_next = (at + 1) % SL__FRAME_CACHE;
	sl_buffer_unref(job->cache[at].frame);
	job->cache[at].frame = sl_buffer_ref(frame);
	job->cache[at].form = form;
	job->cache[at].sequence = sequence;
}

/* A form without memory for a frame counts as served, or it would be tried for ever. */
static void encoded(uv_work_t *work, int status)
{
	struct encoding *e = work->data;
	struct sl_job *job = e->job;
	job->encoding = false;
	for (int i = 0; i < e->count; i++) {
		if (!e->frame[i]) {
			for (struct sl_job_listener *l = job->listeners; l; l = l->next)
				if (sl_frame_form_equal(l->form, e->form[i]))
					l->sequence = e->sequence;
			job->published = e->sequence;
			continue;
		}
		sl_metric_add(job->jobs->metric_frames, 1);
		keep(job, e->form[i], e->frame[i], e->sequence);
		hand_out(job, e->form[i], e->frame[i], e->sequence);
		sl_buffer_unref(e->frame[i]);
	}
	sl_layout_unref(e->layout);
	free(e);
	sl__frames_pump(job);
	struct sl_jobs *j = job->jobs;
	sl__job_unref(job);
	sl__works_done(j);
}

static void add_form(struct encoding *e, struct sl_frame_form form)
{
	for (int i = 0; i < e->count; i++)
		if (sl_frame_form_equal(e->form[i], form))
			return;
	if (e->count < FORMS_AT_ONCE)
		e->form[e->count++] = form;
}

/* From the cache what is there; forms that have to be made, into e. */
static void collect_forms(struct sl_job *job, struct encoding *e)
{
	for (int i = 0; i < SL__FRAME_CACHE; i++)
		if (job->cache[i].frame && job->cache[i].sequence == job->sequence)
			hand_out(job, job->cache[i].form, job->cache[i].frame, job->sequence);
	for (struct sl_job_listener *l = job->listeners; l; l = l->next)
		if (lacks(l))
			add_form(e, l->form);
	if (must_publish(job))
		add_form(e, published_form(job));
}

static void serve(struct sl_job *job)
{
	struct encoding *e = calloc(1, sizeof *e);
	if (!e)
		return;
	collect_forms(job, e);
	if (!e->count) {
		free(e);
		return;
	}
	e->work.data = e;
	e->job = sl__job_ref(job);
	e->layout = sl_layout_ref(job->layout);
	e->sequence = job->sequence;
	e->end = job->final ? SL_FRAME_DONE : SL_FRAME_NOT_ENDED;
	job->encoding = true;
	job->jobs->works++;
	if ((uint64_t)e->layout->n * (uint64_t)e->layout->dims <= INLINE_COORDINATES ||
	    uv_queue_work(job->jobs->d->loop, &e->work, encode, encoded)) {
		encode(&e->work);
		encoded(&e->work, 0);
	}
}

/* ---- the end of a job ------------------------------------------------------------------ */

static void load(uv_work_t *work)
{
	struct loading *l = work->data;
	struct sl_job *job = l->job;
	l->code = sl_job_file_read_layout(job->jobs->folder, job->id, "npy", job->nodes, job->params.dims, &l->y,
					  &l->err);
}

static void end_all(struct sl_job *job)
{
	for (struct sl_job_listener *l = job->listeners, *next; l; l = next) {
		next = l->next;
		listener_end(l);
	}
	job->publish_due = false;
	job->published = job->sequence;
	sl_layout_unref(job->layout);
	job->layout = NULL;
	for (int i = 0; i < SL__FRAME_CACHE; i++) {
		sl_buffer_unref(job->cache[i].frame);
		job->cache[i].frame = NULL;
	}
}

static void loaded(uv_work_t *work, int status)
{
	struct loading *l = work->data;
	struct sl_job *job = l->job;
	struct sl_jobs *j = job->jobs;
	job->loading = false;
	if (l->code)
		sl_log_error("jobs", "no final frame of %s: %s", job->id, l->err.detail);
	else
		job->layout = sl_layout_create_take(l->y, job->nodes, job->params.dims, job->status.iteration,
						    job->status.kl);
	job->final = job->layout != NULL;
	if (job->final && !job->deleted)
		sl__frames_pump(job);
	else
		end_all(job);
	free(l);
	sl__job_unref(job);
	sl__works_done(j);
}

static void load_final(struct sl_job *job)
{
	struct loading *l = calloc(1, sizeof *l);
	if (!l) {
		end_all(job);
		return;
	}
	l->work.data = l;
	l->job = sl__job_ref(job);
	job->loading = true;
	job->jobs->works++;
	if (uv_queue_work(job->jobs->d->loop, &l->work, load, loaded)) {
		load(&l->work);
		loaded(&l->work, 0);
	}
}

static bool anybody_lacks(const struct sl_job *job)
{
	for (const struct sl_job_listener *l = job->listeners; l; l = l->next)
		if (l->sequence < job->sequence)
			return true;
	return must_publish(job);
}

static void pump_ended(struct sl_job *job)
{
	if (job->encoding || job->loading)
		return;
	if (!anybody_lacks(job))
		end_all(job);
	else if (job->layout)
		serve(job);
	else if (job->state == SL_JOB_DONE && !job->jobs->stopping)
		load_final(job);
	else
		end_all(job);
}

/* ---- what others call ---------------------------------------------------------------------- */

/* Does somebody want a layout that is newer than the last one? */
static bool wanted(const struct sl_job *job)
{
	if (job->state == SL_JOB_PAUSED && job->layout && job->layout->iteration == job->status.iteration &&
	    (job->layout->y || quantised_will_do(job)))
		return false;
	for (const struct sl_job_listener *l = job->listeners; l; l = l->next)
		if (l->request || !l->waiting)
			return true;
	return job->jobs->publisher && subscribed(job);
}

void sl__frames_pump(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	if (sl__job_ended(job)) {
		pump_ended(job);
		return;
	}
	if (job->stage != SL_STAGE_DEVICE || job->encoding || j->stopping)
		return;
	sl__job_ref(job);  /* the last listener may hold the last one */
	if (fresh(job))
		serve(job);
	if (!job->encoding && !job->snapshotting && wanted(job)) {
		double age = (double)(uv_now(j->d->loop) - job->snapshot_ms), due = interval_ms(job);
		if (job->layout && age < due)
			schedule(j, (uint64_t)(due - age) + 1);
		else
			job->snapshotting = !sl_device_snapshot(job->device->thread, job->key, quantised_will_do(job));
	}
	sl__job_unref(job);
}

void sl__frames_snapshot(struct sl_job *job, struct sl_layout *layout)
{
	job->snapshotting = false;
	if (!layout)
		return;
	job->snapshot_ms = uv_now(job->jobs->d->loop);
	if (!job->layout || job->layout->iteration != layout->iteration || (layout->y && !job->layout->y)) {
		sl_layout_unref(job->layout);
		job->layout = sl_layout_ref(layout);
		job->sequence++;
	}
	sl__frames_pump(job);
}

void sl__frames_final(struct sl_job *job, struct sl_layout *layout)
{
	if (!layout) {
		sl_layout_unref(job->layout);
		job->layout = NULL;
	}
	pump_ended(job);
}

void sl__frames_job_gone(struct sl_job *job)
{
	end_all(job);
}

static bool concerns(const struct sl_job *job, const char *prefix, uint64_t now)
{
	size_t length = strlen(prefix);
	if (strncmp(job->id, prefix, length))
		return false;
	return job->stage == SL_STAGE_DEVICE ||
	       (job->state == SL_JOB_DONE && (length == SL_ULID_BYTES - 1 || now - job->finished_ms < RECENT_MS));
}

void sl__frames_subscription(struct sl_jobs *j, const char *prefix, bool subscribed)
{
	struct sl_subscription **at = &j->subscriptions;
	while (*at && strcmp((*at)->prefix, prefix))
		at = &(*at)->next;
	struct sl_subscription *s = *at;
	if (!subscribed) {
		if (s) {
			*at = s->next;
			free(s);
		}
		return;
	}
	if (!s && (s = calloc(1, sizeof *s))) {
		memcpy(s->prefix, prefix, strlen(prefix));
		s->next = j->subscriptions;
		j->subscriptions = s;
	}
	uint64_t now = sl__wall_ms();
	for (struct sl_job *job = j->newest, *next; job; job = next) {
		next = job->older;
		if (concerns(job, prefix, now)) {
			job->publish_due = true;
			sl__frames_pump(job);
		}
	}
}

void sl__frames_poll(struct sl_job *job, struct sl_request *r, struct sl_frame_form form, uint32_t after,
		     uint64_t wait_ms)
{
	struct sl_job_listener *l = NULL;
	if (!(sl__job_ended(job) && after >= job->sequence))
		l = listener_create(job, form, after);
	if (!l) {
		sl_reply_empty(r, 204);
		return;
	}
	l->request = r;
	sl_request_park_for(r, wait_ms > 0 ? wait_ms : 1, poll_end, poll_gone, l);
	sl__frames_pump(job);
}

void sl__frames_stream(struct sl_job *job, struct sl_request *r, struct sl_frame_form form)
{
	struct sl_job_listener *l = listener_create(job, form, 0);
	if (!l) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a stream.");
		return;
	}
	sl__job_ref(job);
	sl_reply_header(r, "Cache-Control", "no-store");
	struct sl_stream *stream = sl_reply_stream(r, "application/vnd.spaceland.frames", &stream_ops, l);
	if (stream) {
		l->stream = stream;
		sl__frames_pump(job);
	}
	sl__job_unref(job);
}
