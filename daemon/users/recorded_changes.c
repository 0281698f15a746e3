/* Changes of users, projects, rights and links take effect at once, and are undone if they cannot be recorded.
 *
 * Each change that is not on the disk yet keeps the record before it. If one change fails, all others of the list fail,
 * too, since the data base fails all waiting writes together with the failed batch. So the first failure undoes all
 * changes, the newest first. */
#include <stdlib.h>

#include "daemon/users/users_internal.h"

struct change {
	struct sl_link link;            /* in users->changes, in the order of the changes */
	struct sl_users *u;
	enum sl_db_table table;
	char id[SL_ULID_BYTES];
	json_t *before;                 /* the record before the change, owned; NULL: there was none */
	bool removed, undone;
	struct sl__account account;     /* account of the removed user or project */
	sl_db_done_fn done;             /* or NULL */
	void *arg;
};

static const struct {
	void (*drop)(struct sl_users *u, const char *id);  /* does nothing if it does not exist */
	int (*load)(void *u, const char *id, json_t *document);
} records[SL_DB_TABLES] = {
	[SL_DB_USERS] = {sl__user_drop, sl__user_load},
	[SL_DB_PROJECTS] = {sl__project_drop, sl__project_load},
	[SL_DB_ACCESS] = {sl__access_drop, sl__access_load},
	[SL_DB_LINKS] = {sl__link_drop, sl__link_load},
};

static void undo(struct change *c)
{
	struct sl__account *now = sl__account_of(c->u, c->id);
	struct sl__account used = now ? *now : c->account;
	c->undone = true;
	records[c->table].drop(c->u, c->id);
	if (c->before)
		records[c->table].load(c->u, c->id, c->before);
	struct sl__account *again = sl__account_of(c->u, c->id);
	if (again)
		sl__account_take_usage(again, &used);
}

/* Removes what belongs to a removed user or project. */
static void end_removal(struct change *c)
{
	if (c->table == SL_DB_USERS)
		sl__projects_forget_user(c->u, c->id);
	if (c->table == SL_DB_USERS || c->table == SL_DB_PROJECTS)
		sl_db_remove(c->u->db, SL_DB_USAGE, c->id, NULL, NULL);
}

static bool is_deleted_user(const struct change *c)
{
	return c->table == SL_DB_USERS && sl_users_state(c->u, c->id) == SL_USER_DELETED;
}

static void destroy(struct change *c)
{
	sl_list_unlink(&c->link);
	json_decref(c->before);
	free(c);
}

static void recorded(void *arg, int status, const struct sl_error *err)
{
	struct change *c = arg;
	sl_db_done_fn done = c->done;
	void *done_arg = c->arg;
	if (status && !c->undone)
		SL_LIST_EACH_BACK(struct change, each, &c->u->changes, link)
			undo(each);
	if (!status && c->removed)
		end_removal(c);
	else if (!status && is_deleted_user(c))
		sl__projects_forget_user(c->u, c->id);
	destroy(c);
	if (done)
		done(done_arg, status, err);
}

int sl__record(struct sl_users *u, enum sl_db_table table, const char *id, json_t *before, const json_t *after,
	       sl_db_done_fn done, void *arg)
{
	struct change *c = calloc(1, sizeof *c);
	const struct sl__account *account = sl__account_of(u, id);
	if (!c) {
		json_decref(before);
		return SL_NOMEM;
	}
	*c = (struct change){.u = u, .table = table, .before = before, .removed = !after, .done = done, .arg = arg};
	snprintf(c->id, sizeof c->id, "%s", id);
	if (account)
		c->account = *account;
	sl_list_append(&u->changes, &c->link);
	int rc = after ? sl_db_put(u->db, table, id, after, recorded, c) : sl_db_remove(u->db, table, id, recorded, c);
	if (rc)
		destroy(c);
	return rc;
}
