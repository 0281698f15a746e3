/* A worker of another machine: what it says is checked against what was asked, it gets stored files in pieces, and it
 * may be away for a while. */
#include "daemon/worker/port_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/fetch.h"

#define SECONDS_MOST 1e12
#define TRACE_MORE 1000u     /* points of a trace beyond those that the parameters ask for */
#define FORECAST 2           /* a checkpoint may have so many times the forecast's bytes */
#define MORE_BYTES (1ull << 20)
#define PIECES 64            /* of files, being read at a time for one worker */

static bool ends(const struct sl_device_event *e)
{
	return e->kind == SL_EVENT_DONE || e->kind == SL_EVENT_CANCELLED || e->kind == SL_EVENT_LEFT;
}

static bool fits(const struct sl__port_job *job, const struct sl_layout *l)
{
	if (!l)
		return true;
	bool finite = !l->quantised || isfinite(l->extent);
	for (int i = 0; i < 3; i++)
		finite = finite && (!l->quantised || isfinite(l->low[i]));
	for (uint64_t i = 0; l->y && i < (uint64_t)l->n * (uint64_t)l->dims && finite; i++)
		finite = isfinite(l->y[i]);
	return l->n == job->nodes && l->dims == (l->values ? job->columns : job->dims) && (finite || l->values) &&
	       l->iteration >= 0 && l->values == !job->method->layout;
}

/* Points come in the order of iterations, at finite times; those of PROGRESS follow earlier ones, the start and the end
 * have all of them, and other events none. */
static bool trace_fits(struct sl__port_job *job, const struct sl_device_event *e)
{
	bool follow = e->kind == SL_EVENT_PROGRESS || e->kind == SL_EVENT_PAUSED;
	bool whole = e->kind == SL_EVENT_STARTED || ends(e);
	int count = (follow ? job->traced : 0) + e->trace_count, at = follow ? job->trace_at : -1;
	if (!e->trace_count || !(follow || whole))
		return !e->trace_count;
	for (int i = 0; i < e->trace_count; i++) {
		const struct sl_trace_point *t = &e->trace[i];
		if (t->iteration < at || !(t->seconds >= 0 && t->seconds < SECONDS_MOST))
			return false;
		at = t->iteration;
	}
	job->traced = count;
	job->trace_at = at;
	return (uint64_t)count * SL_WIRE_TRACE_BYTES <= job->most_trace;
}

/* What the end of a job has; a job that was cancelled may have nothing. */
static const char *end_wrong(const struct sl__port_job *job, const struct sl_device_event *e)
{
	const struct sl_method *m = job->method;
	bool done = e->kind == SL_EVENT_DONE;
	if (!done && e->kind != SL_EVENT_CANCELLED)
		return e->result.count ? "it has sent a result before the end" : NULL;
	if (done && m->layout && !e->layout)
		return "it has ended a job without its layout";
	const char *wrong = done || e->result.count ?
			    sl_method_result_wrong(m, &e->result, job->nodes, job->input_columns, (uint32_t)job->columns) : NULL;
	return wrong ? "it has sent a result that does not fit its job" : NULL;
}

const char *sl__port_wrong(struct sl__port *p, struct sl__port_job *job, struct sl_device_event *e)
{
	static const struct { enum sl_event_kind event; enum sl_command_kind command; bool once; } answers[] = {
		{SL_EVENT_SNAPSHOT, SL__SNAPSHOT, true}, {SL_EVENT_CHECKPOINT, SL__CHECKPOINT, true},
		{SL_EVENT_LEFT, SL__LEAVE, true}, {SL_EVENT_CANCELLED, SL__CANCEL, false},
		{SL_EVENT_PAUSED, SL__PAUSE, false}};
	double most_s = (double)(uv_now(p->loop) - job->told_ms) * 1e-3 + 1;
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		if (e->kind != answers[i].event || (e->kind == SL_EVENT_PAUSED && e->status.held))
			continue;
		if (!job->asked[answers[i].command])
			return "it has sent an answer for which nobody has asked";
		job->asked[answers[i].command] -= answers[i].once;
	}
	if (e->kind == SL_EVENT_STARTED && job->started)
		return "it has started a job twice";
	if (e->status.iteration < 0 || e->status.iterations < 0 ||
	    !(e->status.seconds >= 0 && e->status.seconds < SECONDS_MOST) ||
	    (e->kind == SL_EVENT_DONE && e->status.stop == SL_STOP_NOT_YET))
		return "it has sent an impossible status";
	if (!fits(job, e->layout))
		return "it has sent a layout that does not fit its job";
	if (!trace_fits(job, e))
		return "it has sent a trace that does not fit its job";
	const char *wrong = end_wrong(job, e);
	if (wrong)
		return wrong;
	job->started = job->started || e->kind == SL_EVENT_STARTED;
	job->told_ms = uv_now(p->loop);
	e->slice_seconds = e->slice_seconds >= 0 ? fmin(e->slice_seconds, most_s) : 0;
	return NULL;
}

/* ---- what may be allocated for a message ------------------------------------------------------------- */

void sl__port_limit_trace(struct sl__port_job *job, const struct sl_method_params *params)
{
	const struct sl_method *m = job->method;
	int points = m->trace_points ? m->trace_points(params) : 0, steps = m->iterations ? m->iterations(params) : 0;
	uint64_t most = ((uint64_t)(points > steps ? points : steps) + TRACE_MORE) * SL_WIRE_TRACE_BYTES;
	job->most_trace = most > job->most_trace ? most : job->most_trace;
}

/* Forecasts are no bounds to the byte; what they are beside is a constant. */
void sl__port_limit(struct sl__port_job *job, const struct sl_device_job *add)
{
	sl__port_limit_trace(job, &add->params);
	job->most_state = FORECAST * add->most_state + job->most_trace + MORE_BYTES;
	job->most_result = add->most_result + MORE_BYTES;
	job->input_columns = add->input_columns;
	job->trace_at = -1;
}

uint64_t sl__port_most(void *port, const json_t *head, const char *part)
{
	const struct sl__port *p = port;
	json_int_t key = json_integer_value(json_object_get(head, "job"));
	const char *kind = json_string_value(json_object_get(head, "kind"));
	if (kind && !strcmp(kind, "answer"))
		return sl__port_answer_most(p, head, part);
	const struct sl__port_job *j = SL_LIST_FIND(struct sl__port_job, j, &p->jobs, link, key && j->key == (uint64_t)key);
	if (!j)
		return 0;
	const struct { const char *begins; uint64_t bytes; } parts[] = {
		{"layout", (uint64_t)j->nodes * (uint64_t)(j->dims > j->columns ? j->dims : j->columns) * sizeof(float)},
		{"trace", j->most_trace}, {"blob", j->most_state}, {"result", j->most_result}, {"table", MORE_BYTES}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strncmp(part, parts[i].begins, strlen(parts[i].begins)))
			return parts[i].bytes;
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static void read_piece(void *arg)
{
	struct sl__port_piece *piece = arg;
	piece->answer = sl_fetch_answer(piece->path, piece->offset, piece->bytes);
}

static void piece_read(void *arg)
{
	struct sl__port_piece *piece = arg;
	struct sl__port *p = piece->port;
	p->pieces--;
	if (p->wire)
		sl_wire_send(p->wire, piece->answer);
	else
		sl_wire_message_destroy(piece->answer);
	free(piece->path);
	free(piece);
	sl__port_release(p);
}

static bool may_have(const struct sl__port *p, const char *path)
{
	SL_LIST_EACH(const struct sl__port_job, job, &p->jobs, link)
		for (int i = 0; i < 2; i++)
			if (job->file[i] && !strcmp(job->file[i], path))
				return true;
	return sl__port_calls_read(p, path);
}

void sl__port_fetch(struct sl__port *p, const struct sl_wire_message *m)
{
	const char *path = json_string_value(json_object_get(m->head, "file"));
	json_int_t offset = json_integer_value(json_object_get(m->head, "offset"));
	json_int_t bytes = json_integer_value(json_object_get(m->head, "bytes"));
	if (!path || offset < 0 || bytes < 0 || p->pieces >= PIECES) {
		sl__port_end(p, "it asks for files in a wrong way");
		return;
	}
	if (!may_have(p, path)) {
		struct sl_wire_message *answer = sl_wire_message_create("file");
		if (answer)
			json_object_update_new(answer->head, json_pack("{s:s, s:s}", "file", path, "problem",
								       "no job of this worker needs it any more"));
		sl_wire_send(p->wire, answer);
		return;
	}
	struct sl__port_piece *piece = calloc(1, sizeof *piece);
	if (!piece || !(piece->path = strdup(path))) {
		free(piece);
		sl__port_end(p, "there is no memory for a file");
		return;
	}
	piece->port = p;
	piece->offset = (uint64_t)offset;
	piece->bytes = (uint64_t)bytes;
	p->pieces++;
	p->handles++;
	sl_pool_run_in(&piece->work, p->loop, read_piece, piece_read, piece);
}

void sl_worker_away(struct sl_device_port *port, bool away, const char *why)
{
	struct sl__port *p = (struct sl__port *)port;
	p->away = away;
	p->beat_ms = uv_now(p->loop);
	if (!p->open || p->stopped)
		return;
	p->state.down = away;
	p->state.problem.code = 0;
	if (away)
		sl_error_set(&p->state.problem, SL_DEVLOST, "The worker is not heard at present (%s). Its jobs stay there for "
			     "worker_grace_s.", why);
	sl__port_tell_state(p);
}

void sl_worker_gone(struct sl_device_port *port, const char *why)
{
	struct sl__port *p = (struct sl__port *)port;
	while (p->wire && sl_wire_wait(p->wire, 0))  /* its last words */
		;
	sl_wire_close(p->wire);
	p->wire = NULL;
	p->ending = true;
	if (!p->state.problem.code || p->away)
		sl_error_set(&p->state.problem, SL_DEVLOST, "The worker of %s is gone: %.200s.", p->options.id,
			     p->why[0] ? p->why : why);
	sl__port_lose_all(p);
	if (!p->open && !p->open_err.code)
		p->open_err = p->state.problem;
	sl__port_tell_stopped(p, p->open ? NULL : &p->open_err);
}

bool sl_worker_has(const struct sl_device_port *port, const char *id)
{
	const struct sl__port *p = (const struct sl__port *)port;
	return SL_LIST_FIND(struct sl__port_job, job, &p->jobs, link, !strcmp(job->id, id)) != NULL;
}
