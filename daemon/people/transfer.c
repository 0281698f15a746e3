/* A transfer goes through the things in turns of the loop. Each change of a thing's rights is recorded by itself: a
 * server that is killed in between has transferred some of them, and the same request transfers the others. */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"
#include "daemon/jobs/jobs.h"
#include "daemon/layouts/layouts.h"
#include "daemon/people/people.h"
#include "daemon/people/people_internal.h"
#include "daemon/stream/events.h"
#include "daemon/users/users.h"
#include "daemon/json/json.h"
#include "daemon/util/turns.h"

enum kind { GRAPH, JOB, BATCH, LAYOUT, KINDS };

struct transfer {
	struct sl_daemon *d;
	struct sl_request *r;     /* NULL: the client is gone */
	char from[SL_ULID_BYTES], to[SL_ULID_BYTES];
	bool dry_run;
	char (*ids)[SL_ULID_BYTES];
	size_t count, at;         /* at: the next one */
	int moved[KINDS], links;
	int writes;               /* not on the disk yet; and 1 until all are begun */
	struct sl_error err;      /* code 0: none */
};

static enum kind kind_of(const struct sl_daemon *d, const char *id)
{
	return sl_jobs_have(d->jobs, id) ? JOB : sl_graphs_find(d->graphs, id) ? GRAPH :
	       sl_batches_have(d->jobs, id) ? BATCH : sl_layouts_find(d->layouts, id) ? LAYOUT : KINDS;
}

static void finish(struct transfer *t)
{
	const char *to = sl_users_name(t->d->users, t->to), *from = sl_users_name(t->d->users, t->from);
	if (!t->dry_run && t->d->events)
		sl_events_rights_changed(t->d->events, NULL);
	if (t->r && t->err.code)
		sl_reply_error(t->r, &t->err);
	else if (t->r)
		sl_reply_json(t->r, 200, json_pack("{s:s?, s:s?, s:b, s:i, s:i, s:i, s:i, s:i}", "from", from, "to", to,
						   "dry_run", t->dry_run, "graphs", t->moved[GRAPH], "jobs", t->moved[JOB],
						   "batches", t->moved[BATCH], "layouts", t->moved[LAYOUT], "links", t->links));
	free(t->ids);
	free(t);
}

static void wrote(void *arg, int status, const struct sl_error *err)
{
	struct transfer *t = arg;
	if (status && !t->err.code)
		t->err = *err;
	if (!--t->writes)
		finish(t);
}

static void move(struct transfer *t, const char *id)
{
	enum kind kind = kind_of(t->d, id);
	if (kind == KINDS || !sl_users_owns(t->d->users, t->from, id))
		return;
	int rc = t->dry_run ? 0 : sl_users_transfer(t->d->users, id, t->from, t->to, &t->links, wrote, t);
	if (rc) {
		sl_error_set(&t->err, rc, "%s could not be transferred; try again", id);
		return;
	}
	t->writes += !t->dry_run;
	t->moved[kind]++;
	if (!t->dry_run)
		sl_jobs_owner_changed(t->d->jobs, id);
	if (!t->dry_run && kind == GRAPH)
		sl_events_changed(t->d->events, SL_EVENTS_GRAPH, id);
}

static bool step(void *arg)
{
	struct transfer *t = arg;
	if (t->at < t->count && !t->err.code)
		move(t, t->ids[t->at++]);
	if (t->d->stopping && !t->err.code)
		sl_error_set(&t->err, SL_CANCELLED, "The server is stopping; repeat the request.");
	return t->at == t->count || t->err.code;
}

static void all_begun(void *arg)
{
	wrote(arg, 0, NULL);
}

/* ---- the request -------------------------------------------------------------------------------- */

static int not_theirs(const char *id, size_t i, const char *name, struct sl_error *err)
{
	char pointer[32];
	snprintf(pointer, sizeof pointer, "/things/%zu", i);
	return sl_error_field(err, SL_NOTFOUND, pointer, "things must hold ids of graphs, jobs, batches or layouts that %s "
			      "owns; %.64s is not one", name, id);
}

/* The jobs of a batch go with it. */
static int read_things(struct transfer *t, const json_t *list, const char *name, struct sl_error *err)
{
	const json_t *one;
	size_t i;
	if (!list)
		return (t->ids = sl_users_things(t->d->users, t->from, &t->count)) ? 0 :
		       sl_error_memory(err, "the transfer");
	if (!json_is_array(list) || !json_array_size(list))
		return sl_error_field(err, SL_BADPARAM, "/things", "things must be a list of ids; leave it out to transfer "
				      "all");
	if (!(t->ids = calloc(json_array_size(list), sizeof *t->ids)))
		return sl_error_memory(err, "the transfer");
	json_array_foreach(list, i, one) {
		const char *id = json_string_value(one);
		if (!id || !sl_ulid_valid(id) || !sl_users_owns(t->d->users, t->from, id))
			return not_theirs(id ? id : "the item", i, name, err);
		memcpy(t->ids[t->count++], id, sizeof *t->ids);
	}
	return 0;
}

static int read_body(struct transfer *t, const char *user, const json_t *body, struct sl_error *err)
{
	static const char *const known[] = {"to", "things", "dry_run", NULL};
	const char *to = NULL, *from = sl_users_id(t->d->users, user);
	int rc = sl_json_known(body, known, err);
	if (!rc && !from)
		rc = sl_error_set(err, SL_NOTFOUND, "there is no user %.64s", user);
	if (!rc)
		rc = sl_json_string(body, "to", &to, err);
	const char *id = !rc && to ? sl_users_id(t->d->users, to) : NULL;
	if (!rc && (!id || sl_users_state(t->d->users, id) == SL_USER_DELETED || !strcmp(id, from)))
		rc = sl_error_field(err, SL_BADPARAM, "/to", "to must be the name of another user");
	if (!rc)
		rc = sl_json_bool(body, "dry_run", &t->dry_run, err);
	if (rc)
		return rc;
	memcpy(t->from, from, sizeof t->from);
	memcpy(t->to, id, sizeof t->to);
	return read_things(t, json_object_get(body, "things"), user, err);
}

void sl_people_transfer(struct sl_people *p, struct sl_request *r, const char *user, const json_t *body)
{
	struct transfer *t = calloc(1, sizeof *t);
	struct sl_error err;
	if (!t) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the transfer.");
		return;
	}
	t->d = p->d;
	if (read_body(t, user, body, &err)) {
		free(t->ids);
		free(t);
		sl_reply_error(r, &err);
		return;
	}
	t->r = r;
	t->writes = 1;
	sl_park(&t->r, 0);
	sl_turns(p->d->loop, step, all_begun, t);
}
