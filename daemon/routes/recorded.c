#include "daemon/routes/recorded.h"

#include <stdlib.h>

#include "daemon/stream/events.h"

static void destroy(struct sl_recorded *w)
{
	json_decref(w->reply);
	json_decref(w->members);
	free(w);
}

static void reply(struct sl_recorded *w)
{
	if (w->kind->status == 204) {
		sl_reply_empty(w->r, 204);
		return;
	}
	if (!w->reply && w->kind->reply)
		w->reply = w->kind->reply(w);
	if (w->reply)
		sl_reply_json(w->r, w->kind->status, json_incref(w->reply));
	else
		sl_reply_problem(w->r, SL_NOTFOUND, "%s %s was removed at this moment", w->kind->parameter, w->name);
}

void sl__recorded_done(void *arg, int status, const struct sl_error *err)
{
	struct sl_recorded *w = arg;
	json_t *name;
	size_t i;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r)
		reply(w);
	if (!status && w->rights)
		sl_events_rights_changed(w->d->events, NULL);
	/* after the reply, which may be to that user */
	if (!status && w->ends[0])
		sl_http_end_user(w->d->http, w->ends);
	json_array_foreach(w->members, i, name)
		if (!status)
			sl_http_end_user(w->d->http, json_string_value(name));
	destroy(w);
}

void sl__recorded(struct sl_request *r, const struct sl_recorded_kind *kind)
{
	struct sl_recorded *w = calloc(1, sizeof *w);
	const char *name = sl_request_path(r, kind->parameter);
	struct sl_error err;
	json_t *body = NULL;
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return;
	}
	w->kind = kind;
	w->r = r;
	w->d = sl_request_daemon(r);
	snprintf(w->name, sizeof w->name, "%s", name ? name : "");
	int rc = kind->body ? sl_request_json(r, &body, &err) : 0;
	if (!rc)
		rc = kind->start(w, body, &err);
	json_decref(body);
	if (!rc) {
		sl_park(&w->r, 0);
		return;
	}
	sl_reply_error(r, &err);
	destroy(w);
}
