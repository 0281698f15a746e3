/* The erasure of deleted users' things. */
#include "daemon/people/people.h"

#include <stdlib.h>

#include "daemon/json/json.h"
#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/layouts/layouts.h"
#include "daemon/people/people_internal.h"
#include "daemon/store/db.h"
#include "daemon/users/users.h"
#include "daemon/util/log.h"

#define EVERY_MS 1000
#define LOOK_EVERY 600  /* ticks between two looks at the disk that is held, for the accounting */
#define AT_ONCE 200   /* things that are removed in one turn of the loop */

static void tell(struct sl_people *p, const char *kind, const char *id, const char *user)
{
	const char *name = sl_users_name(p->d->users, user);
	struct sl_principal who = {.role = SL_ROLE_ADMINISTRATOR};
	char path[64];
	char text[SL_USER_NAME_BYTES + 16];
	snprintf(text, sizeof text, "erasure of %s", name ? name : user);
	sl_json_copy_text(who.name, sizeof who.name, text);
	snprintf(path, sizeof path, "/v1/%ss/%s", kind, id);
	struct sl_event event = {.who = &who, .address = "", .method = "DELETE", .path = path, .status = 204};
	sl_users_audit(p->d->users, &event);
	sl_log_info("people", "removing %s %s, since all data of user %s are to be deleted", kind, id, name ? name : user);
}

/* Removes the thing, or does what must come before. */
static void erase(struct sl_people *p, const char *id, const char *user)
{
	struct sl_daemon *d = p->d;
	struct sl_error err;
	if (sl_users_owners(d->users, id) > 1) {
		struct sl_principal who = {.role = SL_ROLE_USER};
		snprintf(who.user, sizeof who.user, "%s", user);
		sl_users_disown(d->users, id, &who, NULL, NULL);
		return;
	}
	const struct sl_graph_record *g = sl_graphs_find(d->graphs, id);
	if (sl_jobs_have(d->jobs, id)) {
		if (!sl_job_cancel(d->jobs, id) && !sl_job_remove(d->jobs, id))
			tell(p, "job", id, user);
	} else if (g && !g->jobs) {
		if (!sl_graphs_delete(d->graphs, id, NULL, NULL, &err))
			tell(p, "graph", id, user);
	} else if (sl_layouts_find(d->layouts, id)) {
		sl_layouts_remove(d->layouts, id);
		tell(p, "layout", id, user);
	}
}

static void erase_user(void *arg, const char *user)
{
	struct sl_people *p = arg;
	size_t count;
	char (*things)[SL_ULID_BYTES] = sl_users_things(p->d->users, user, &count);
	for (size_t i = 0; things && i < count && i < AT_ONCE; i++)
		erase(p, things[i], user);
	free(things);
	char id[SL_ULID_BYTES];
	snprintf(id, sizeof id, "%s", user);  /* sl_users_bury() frees the user's */
	if (!count && sl_users_bury(p->d->users, user))
		sl_log_info("people", "all data of the deleted user %s are gone", id);
}

static void on_timer(uv_timer_t *timer)
{
	struct sl_people *p = timer->data;
	if (p->d->stopping || sl_db_is_read_only(p->d->db))
		return;
	sl_users_each_erased(p->d->users, erase_user, p);
	if (p->ticks++ % LOOK_EVERY == 0)
		sl_people_look(p->d);
}

int sl_people_create(struct sl_people **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_people *p = calloc(1, sizeof *p);
	if (!p)
		return sl_error_memory(err, "the start");
	p->d = d;
	if (!sl_db_is_read_only(d->db))
		sl_users_bury_all(d->users);
	uv_timer_init(d->loop, &p->timer);
	p->timer.data = p;
	uv_timer_start(&p->timer, on_timer, EVERY_MS, EVERY_MS);
	*out = p;
	return 0;
}

static void timer_closed(uv_handle_t *handle)
{
	struct sl_people *p = handle->data;
	void (*closed)(void *) = p->closed;
	void *arg = p->closed_arg;
	free(p);
	closed(arg);
}

void sl_people_close(struct sl_people *p, void (*closed)(void *arg), void *arg)
{
	p->closed = closed;
	p->closed_arg = arg;
	uv_close((uv_handle_t *)&p->timer, timer_closed);
}
