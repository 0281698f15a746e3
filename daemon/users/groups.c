/* Groups that a proxy sends for a user, "staff, genes; all", and the roles and projects that they give,
 * "staff=administrator, genes=user". */
#include <string.h>
#include <strings.h>

#include "daemon/users/projects.h"
#include "daemon/users/users_internal.h"
#include "daemon/util/log.h"

struct word {
	const char *at;
	int length;
};

/* The next word of a list, without the spaces around it. False: there is none. */
static bool next_word(const char **list, const char *separators, struct word *out)
{
	*list += strspn(*list, separators);
	*list += strspn(*list, " \t");
	size_t length = strcspn(*list, separators);
	*out = (struct word){*list, (int)length};
	*list += length;
	while (out->length && strchr(" \t", out->at[out->length - 1]))
		out->length--;
	return length;
}

static bool has_group(const char *groups, const struct word *group)
{
	struct word w;
	while (next_word(&groups, ",;", &w))
		if (w.length == group->length && !strncasecmp(w.at, group->at, (size_t)w.length))
			return true;
	return false;
}

/* Splits "group=what" at its last equals sign. */
static bool split(const struct word *pair, struct word *group, char what[64])
{
	const char *equals = memrchr(pair->at, '=', (size_t)pair->length);
	if (!equals || equals == pair->at)
		return false;
	struct word rest = {equals + 1, (int)(pair->at + pair->length - equals - 1)};
	*group = (struct word){pair->at, (int)(equals - pair->at)};
	while (group->length && group->at[group->length - 1] == ' ')
		group->length--;
	while (rest.length && *rest.at == ' ') {
		rest.at++;
		rest.length--;
	}
	snprintf(what, 64, "%.*s", rest.length, rest.at);
	return rest.length > 0 && rest.length < 64;
}

int sl_groups_check(const char *map, bool roles, struct sl_error *err)
{
	struct word pair, group;
	char what[64];
	while (next_word(&map, ",", &pair))
		if (!split(&pair, &group, what) || (roles && !sl__role_of(what)))
			return sl_error_set(err, SL_BADPARAM, "%s has '%.*s', which must be GROUP=%s", roles ?
					    "proxy_group_roles" : "proxy_group_projects", pair.length > 60 ? 60 : pair.length,
					    pair.at, roles ? "reader, user or administrator" : "PROJECT");
	return 0;
}

enum sl_role sl__groups_role(const char *groups, const char *map)
{
	enum sl_role most = SL_ROLE_NONE;
	struct word pair, group;
	char what[64];
	while (next_word(&map, ",", &pair)) {
		enum sl_role role = split(&pair, &group, what) && has_group(groups, &group) ? sl__role_of(what) : SL_ROLE_NONE;
		most = role > most ? role : most;
	}
	return most;
}

/* True if a group of another pair gives the same project. */
static bool gives(const char *groups, const char *map, const char *project)
{
	struct word pair, group;
	char what[64];
	while (next_word(&map, ",", &pair))
		if (split(&pair, &group, what) && !strcmp(what, project) && has_group(groups, &group))
			return true;
	return false;
}

int sl__groups_join(struct sl_users *u, const struct sl__user *user, const char *groups, const char *map)
{
	const char *pairs = map;
	struct word pair, group;
	struct sl_error err;
	char what[64];
	int changes = 0;
	while (next_word(&pairs, ",", &pair)) {
		if (!split(&pair, &group, what))
			continue;
		const struct sl__project *p = sl__project_by_name(u, what);
		bool member = gives(groups, map, what);
		if (!p && member && !u->told_projects) {
			u->told_projects = true;
			sl_log_warning("users", "proxy_group_projects names the project %s, which does not exist", what);
		}
		if (!p || sl__is_member(u, p->id, user->id) == member)
			continue;
		if (!sl_project_member(u, what, user->name, member, NULL, NULL, &err)) {
			changes++;
			sl_log_info("users", "%s %s project %s, as the groups say that the proxy has sent", user->name,
				    member ? "joins" : "leaves", what);
		}
	}
	return changes;
}
