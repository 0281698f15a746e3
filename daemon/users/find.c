/* Finds users and projects by id and by name, and members of projects. Each user is in one list by name and in two
 * tables, by id and by name, from sl__user_insert() until its end. A deleted user has no name there: the next user of
 * that name is another person. */
#include <string.h>

#include "daemon/users/users_internal.h"

const char *const sl__role_names[] = {"none", "reader", "user", "administrator", "link", NULL};
const char *const sl__user_states[] = {"active", "disabled", "deleted"};

/* Requests look for their users, so that is fast also if there are thousands. */
static struct sl_list *bucket(const struct sl_list *buckets, const char *text)
{
	return (struct sl_list *)&buckets[sl_list_hash(text, strlen(text)) % SL__USER_BUCKETS];
}

struct sl__user *sl__user_by_id(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__user, user, bucket(u->user_ids, id), by_id, !strcmp(user->id, id));
}

struct sl__user *sl__user_by_name(const struct sl_users *u, const char *name)
{
	return SL_LIST_FIND(struct sl__user, user, bucket(u->user_names, name), by_name, !strcmp(user->name, name));
}

struct sl__user *sl__user_of(const struct sl_users *u, const char *text)
{
	struct sl__user *user = sl__user_by_name(u, text);
	return user || !sl_ulid_valid(text) ? user : sl__user_by_id(u, text);
}

size_t sl_users_number(const struct sl_users *u)
{
	return u->all.count;
}

size_t sl_projects_number(const struct sl_users *u)
{
	return u->projects.count;
}

const char *sl__user_id(const struct sl_users *u, const char *name)
{
	const struct sl__user *user = sl__user_by_name(u, name);
	return user ? user->id : NULL;
}

void sl__user_insert(struct sl_users *u, struct sl__user *user)
{
	struct sl__user *after = SL_LIST_FIRST(struct sl__user, &u->all, link);
	while (after && strcmp(after->name, user->name) < 0)
		after = SL_LIST_NEXT(struct sl__user, after, link);
	sl_list_insert(&u->all, after ? &after->link : NULL, &user->link);
	sl_list_append(bucket(u->user_ids, user->id), &user->by_id);
	if (user->state != SL_USER_DELETED)
		sl_list_append(bucket(u->user_names, user->name), &user->by_name);
	u->any_gone = u->any_gone || user->state;
}

void sl__user_take_out(struct sl__user *user)
{
	sl_list_unlink(&user->link);
	sl_list_unlink(&user->by_id);
	sl_list_unlink(&user->by_name);
}

enum sl_role sl__role_of(const char *text)
{
	for (int i = SL_ROLE_READER; text && i <= SL_ROLE_ADMINISTRATOR; i++)
		if (!strcmp(text, sl__role_names[i]))
			return (enum sl_role)i;
	return SL_ROLE_NONE;
}

struct sl__project *sl__project_by_id(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__project, p, &u->projects, link, !strcmp(p->id, id));
}

struct sl__project *sl__project_by_name(const struct sl_users *u, const char *name)
{
	return SL_LIST_FIND(struct sl__project, p, &u->projects, link, !strcmp(p->name, name));
}

bool sl__is_member(const struct sl_users *u, const char *project, const char *user)
{
	const struct sl__project *p = sl__project_by_id(u, project);
	return p && user[0] && sl__ids_find(&p->members, user) >= 0;
}

int sl__name_check(const char *name, struct sl_error *err)
{
	size_t length = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") : 0;
	if (!length || name[length] || length >= sizeof ((struct sl__user *)0)->name || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return sl_error_field(err, SL_BADPARAM, "/name", "name must be 1 to 63 letters, digits and the signs - _ . @, "
				      "but not . or .., which no path can name");
	return 0;
}

int sl__user_not_found(const char *name, struct sl_error *err)
{
	return sl_error_set(err, SL_NOTFOUND, "there is no user %.64s", name);
}

enum sl_user_state sl_users_state(const struct sl_users *u, const char *id)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	return user ? user->state : id[0] ? SL_USER_DELETED : SL_USER_ACTIVE;
}

void sl_users_expect(struct sl_users *u, const char *id)
{
	u->any_gone = u->any_gone || sl_users_state(u, id);
}

const char *sl_users_id(const struct sl_users *u, const char *text)
{
	const struct sl__user *user = sl__user_of(u, text);
	return user ? user->id : NULL;
}

const char *sl_users_name(const struct sl_users *u, const char *id)
{
	const struct sl__user *user = sl__user_by_id(u, id);
	return user ? user->name : NULL;
}
