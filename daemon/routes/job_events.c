/* GET /v1/jobs/{id}/events: server-sent events. A follower keeps what is still to be sent; progress that
 * the client has not taken is replaced by newer progress, so a slow reader costs one line. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/routes/routes.h"

#define PROGRESS_MS 200

struct sl_job_follower {
	struct sl_job_follower *next;
	struct sl_job *job;        /* a reference */
	struct sl_stream *stream;
	char *text;                /* being sent, or NULL */
	size_t bytes, sent;
	bool state_due, progress_due, heartbeat_due;
	bool last;                 /* the state that is due, or being sent, is the last */
	uint64_t progressed_ms;    /* loop time of the last progress */
	unsigned id;               /* of the last event */
};

static char *event_text(struct sl_job_follower *f, const char *event, json_t *data)
{
	char *json = data ? json_dumps(data, JSON_COMPACT) : NULL, *text = NULL;
	json_decref(data);
	if (json && asprintf(&text, "event: %s\nid: %u\ndata: %s\n\n", event, ++f->id, json) < 0)
		text = NULL;
	free(json);
	return text;
}

/* The next thing to send; false: nothing. */
static bool refill(struct sl_job_follower *f)
{
	char *text = NULL;
	free(f->text);
	f->text = NULL;
	f->bytes = f->sent = 0;
	if (f->state_due) {
		f->state_due = f->progress_due = false;
		f->last = sl__job_ended(f->job);
		text = event_text(f, "state", sl_job_json(f->job));
	} else if (f->progress_due) {
		f->progress_due = false;
		text = event_text(f, "progress", sl__job_progress_json(f->job));
	} else if (f->heartbeat_due) {
		text = strdup(":\n\n");
	}
	f->heartbeat_due = false;
	if (!text)
		return false;
	f->text = text;
	f->bytes = strlen(text);
	return true;
}

static ssize_t read_events(void *arg, char *out, size_t max)
{
	struct sl_job_follower *f = arg;
	if (f->sent == f->bytes) {
		if (f->last && !f->state_due && f->text)
			return -1;
		if (!refill(f))
			return 0;
	}
	size_t count = f->bytes - f->sent < max ? f->bytes - f->sent : max;
	memcpy(out, f->text + f->sent, count);
	f->sent += count;
	return (ssize_t)count;
}

static void drop(void *arg)
{
	struct sl_job_follower *f = arg, **at = &f->job->followers;
	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
	sl__job_unref(f->job);
	free(f->text);
	free(f);
}

static const struct sl_stream_ops ops = {.read = read_events, .drop = drop};

void sl__followers_notify(struct sl_job *job, bool state)
{
	uint64_t now = uv_now(job->jobs->d->loop);
	for (struct sl_job_follower *f = job->followers, *next; f; f = next) {
		next = f->next;
		if (state) {
			f->state_due = true;
		} else if (now - f->progressed_ms >= PROGRESS_MS) {
			f->progress_due = true;
			f->progressed_ms = now;
		} else {
			continue;
		}
		if (f->stream)
			sl_stream_wake(f->stream);
	}
}

void sl__followers_heartbeat(struct sl_job *job)
{
	for (struct sl_job_follower *f = job->followers, *next; f; f = next) {
		next = f->next;
		f->heartbeat_due = true;
		if (f->stream)
			sl_stream_wake(f->stream);
	}
}

void sl_route_job_events(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_job_follower *f = job ? calloc(1, sizeof *f) : NULL;
	if (!f) {
		if (job)
			sl_reply_problem(r, SL_NOMEM, "Out of memory for an event stream.");
		return;
	}
	f->job = sl__job_ref(job);
	f->state_due = true;
	f->next = job->followers;
	job->followers = f;
	sl_reply_header(r, "Cache-Control", "no-store");
	struct sl_stream *stream = sl_reply_stream(r, "text/event-stream", &ops, f);
	if (stream)
		f->stream = stream;
}
