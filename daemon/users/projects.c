/* Projects: records of the data base. */
#include "daemon/users/projects.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/users/users_internal.h"
#include "daemon/json/json.h"

#define MOST_PROJECTS 1000
#define SHARE_LEAST 0.001
#define SHARE_MOST 1000.0

const char *sl_project_name(const struct sl_users *u, const char *id)
{
	const struct sl__project *p = id[0] ? sl__project_by_id(u, id) : NULL;
	return p ? p->name : NULL;
}

double sl_project_job_seconds(const struct sl_users *u, const char *id)
{
	const struct sl__project *p = id[0] ? sl__project_by_id(u, id) : NULL;
	return p ? p->job_seconds : 0;
}

bool sl_project_keeps(const struct sl_users *u, const char *id)
{
	const struct sl__project *p = id[0] ? sl__project_by_id(u, id) : NULL;
	return p && p->keep;
}

double sl_project_share(const struct sl_users *u, const char *id)
{
	const struct sl__project *p = id[0] ? sl__project_by_id(u, id) : NULL;
	return p ? p->share : 1;
}

const char *sl_project_id(const struct sl_users *u, const char *name)
{
	const struct sl__project *p = sl__project_by_name(u, name);
	return p ? p->id : NULL;
}

static int not_found(const char *name, struct sl_error *err)
{
	return sl_error_set(err, SL_NOTFOUND, "there is no project %.64s", name);
}

int sl_project_of(const struct sl_users *u, const struct sl_principal *who, const char *name, const char *pointer,
		  char out[SL_ULID_BYTES], struct sl_error *err)
{
	const struct sl__user *user = who->user[0] ? sl__user_by_id(u, who->user) : NULL;
	out[0] = '\0';
	if (!name && user && sl__is_member(u, user->project, user->id))
		memcpy(out, user->project, SL_ULID_BYTES);
	if (!name || !name[0])
		return 0;
	const struct sl__project *p = sl__project_by_name(u, name);
	if (!p || (who->role != SL_ROLE_ADMINISTRATOR && !sl__is_member(u, p->id, who->user)))
		return sl_error_field(err, SL_NOTFOUND, pointer, "there is no project %.64s of which you are a member", name);
	memcpy(out, p->id, SL_ULID_BYTES);
	return 0;
}

/* ---- documents -------------------------------------------------------------------------------- */

static json_t *names_of(const struct sl_users *u, const struct sl__ids *members)
{
	json_t *names = json_array();
	SL_LIST_EACH(const struct sl__user, user, &u->all, link)  /* in order of names */
		if (sl__ids_find(members, user->id) >= 0)
			json_array_append_new(names, json_string(user->name));
	return names;
}

static json_t *told_json(const struct sl_users *u, const struct sl__project *p)
{
	return json_pack("{s:s, s:I, s:f, s:b, s:f, s:o, s:o}", "name", p->name, "created",
			 (json_int_t)(sl_ulid_time_ms(p->id) / 1000), "share", p->share, "keep", p->keep, "job_seconds",
			 p->job_seconds, "members", names_of(u, &p->members), "limits", sl__limits_json(&p->account));
}

static json_t *document_of(const struct sl__project *p)
{
	return json_pack("{s:s, s:f, s:b, s:f, s:o, s:o}", "name", p->name, "share", p->share, "keep", p->keep,
			 "job_seconds", p->job_seconds, "members",
			 sl__ids_json(&p->members), "limits", sl__limits_json(&p->account));
}

/* before: document_of() before the change, taken over; NULL: the project is new. */
static int put(struct sl_users *u, const struct sl__project *p, json_t *before, sl_db_done_fn done, void *arg)
{
	json_t *o = document_of(p);
	if (!o) {
		json_decref(before);
		return SL_NOMEM;
	}
	int rc = sl__record(u, SL_DB_PROJECTS, p->id, before, o, done, arg);
	json_decref(o);
	return rc;
}

static void destroy(struct sl__project *p)
{
	sl_list_unlink(&p->link);
	free(p->members.at);
	free(p);
}

void sl__project_drop(struct sl_users *u, const char *id)
{
	struct sl__project *p = sl__project_by_id(u, id);
	if (p)
		destroy(p);
}

void sl__projects_destroy(struct sl_users *u)
{
	SL_LIST_EACH(struct sl__project, p, &u->projects, link)
		destroy(p);
}

static struct sl__project *create(const char *name)
{
	struct sl__project *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	snprintf(p->name, sizeof p->name, "%s", name);
	p->share = 1;
	sl__account_init(&p->account, NULL, p->name);
	return p;
}

static void insert(struct sl_users *u, struct sl__project *p)
{
	struct sl__project *after = SL_LIST_FIRST(struct sl__project, &u->projects, link);
	while (after && strcmp(after->name, p->name) < 0)
		after = SL_LIST_NEXT(struct sl__project, after, link);
	sl_list_insert(&u->projects, after ? &after->link : NULL, &p->link);
}

int sl__project_load(void *arg, const char *id, json_t *document)
{
	const char *name = json_string_value(json_object_get(document, "name"));
	double share = json_number_value(json_object_get(document, "share"));
	if (!name || strlen(name) >= sizeof ((struct sl__project *)0)->name || !sl_ulid_valid(id))
		return SL_DB_PASSED_OVER;
	struct sl__project *p = create(name);
	if (!p)
		return SL_NOMEM;
	snprintf(p->id, sizeof p->id, "%s", id);
	p->share = share >= SHARE_LEAST && share <= SHARE_MOST ? share : 1;
	p->keep = json_is_true(json_object_get(document, "keep"));
	p->job_seconds = json_number_value(json_object_get(document, "job_seconds"));
	sl__limits_read(&p->account, json_object_get(document, "limits"), NULL);  /* ignores unknown limits */
	int rc = sl__ids_load(&p->members, json_object_get(document, "members"));
	insert(arg, p);
	return rc;
}

/* ---- requests ----------------------------------------------------------------------------------- */

static bool may_see(const struct sl_users *u, const struct sl_principal *who, const struct sl__project *p)
{
	return who->role == SL_ROLE_ADMINISTRATOR || sl__is_member(u, p->id, who->user);
}

json_t *sl_projects_list(const struct sl_users *u, const struct sl_principal *who)
{
	json_t *items = json_array();
	SL_LIST_EACH(const struct sl__project, p, &u->projects, link)
		if (may_see(u, who, p))
			json_array_append_new(items, told_json(u, p));
	return items;
}

json_t *sl_project_json(const struct sl_users *u, const struct sl_principal *who, const char *name)
{
	const struct sl__project *p = sl__project_by_name(u, name);
	return p && may_see(u, who, p) ? told_json(u, p) : NULL;
}

void sl__add_projects(const struct sl_users *u, const struct sl__user *user, json_t *o)
{
	bool member = sl__is_member(u, user->project, user->id);
	json_t *names = json_array();
	SL_LIST_EACH(const struct sl__project, p, &u->projects, link)
		if (sl__ids_find(&p->members, user->id) >= 0)
			json_array_append_new(names, json_string(p->name));
	json_object_set_new(o, "project", member ? json_string(sl_project_name(u, user->project)) : json_null());
	json_object_set_new(o, "projects", names);
}

void sl_users_add_projects(const struct sl_users *u, const char *id, json_t *o)
{
	static const struct sl__user nobody;
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	sl__add_projects(u, user ? user : &nobody, o);
}

/* ---- changes ------------------------------------------------------------------------------------ */

static int read_share(const json_t *body, double *share, struct sl_error *err)
{
	const json_t *value = json_object_get(body, "share");
	double number = json_number_value(value);
	if (!value)
		return 0;
	if (!json_is_number(value) || !(number >= SHARE_LEAST && number <= SHARE_MOST))
		return sl_error_field(err, SL_BADPARAM, "/share", "share must be a number from %g to %g; 1 is usual, and 2 "
				      "gets twice as much as 1", SHARE_LEAST, SHARE_MOST);
	*share = number;
	return 0;
}

static int read_job_seconds(const json_t *body, double *seconds, struct sl_error *err)
{
	const json_t *value = json_object_get(body, "job_seconds");
	double number = json_number_value(value);
	if (value && (!json_is_number(value) || !(number >= 0 && number <= 1e9)))
		return sl_error_field(err, SL_BADPARAM, "/job_seconds", "job_seconds must be a number of seconds; 0: no limit");
	*seconds = value ? number : *seconds;
	return 0;
}

static int read_name(const struct sl_users *u, const json_t *body, const char **name, struct sl_error *err)
{
	int rc = sl_json_string(body, "name", name, err);
	if (!rc)
		rc = sl__name_check(*name, err);
	if (!rc && sl__project_by_name(u, *name))
		rc = sl_error_field(err, SL_CONFLICT, "/name", "there already is a project %s", *name);
	if (!rc && u->projects.count >= MOST_PROJECTS)
		rc = sl_error_set(err, SL_TOOBIG, "there can be at most %d projects", MOST_PROJECTS);
	return rc;
}

/* Reads what can be changed, as far as the body has it. */
static int read_settings(const json_t *body, struct sl__project *p, struct sl_error *err)
{
	int rc = read_share(body, &p->share, err);
	if (!rc)
		rc = sl_json_bool(body, "keep", &p->keep, err);
	if (!rc)
		rc = read_job_seconds(body, &p->job_seconds, err);
	return rc ? rc : sl__limits_read(&p->account, json_object_get(body, "limits"), err);
}

int sl_project_add(struct sl_users *u, const json_t *body, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	static const char *const known[] = {"name", "share", "keep", "job_seconds", "limits", "members",
					    NULL};
	const char *name = NULL;
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = read_name(u, body, &name, err);
	if (rc)
		return rc;
	struct sl__project *p = create(name);
	if (!p)
		return sl_error_memory(err, "a project");
	sl_ulid_make(p->id);
	rc = read_settings(body, p, err);
	if (!rc)
		rc = sl__ids_read(&p->members, u, body, "members", "user", sl__user_id, err);
	if (!rc && (rc = put(u, p, NULL, done, arg)))
		sl_error_set(err, rc, "the project cannot be recorded");
	if (rc)
		destroy(p);
	else
		insert(u, p);
	return rc;
}

int sl_project_change(struct sl_users *u, const char *name, const json_t *body, sl_db_done_fn done, void *arg,
		      struct sl_error *err)
{
	static const char *const known[] = {"share", "keep", "job_seconds", "limits", NULL};
	struct sl__project *p = sl__project_by_name(u, name);
	if (!p)
		return not_found(name, err);
	json_t *before = document_of(p);
	double share = p->share, limits[SL_LIMITS];
	bool keep = p->keep;
	double job_seconds = p->job_seconds;
	memcpy(limits, p->account.limit, sizeof limits);
	int rc = before ? sl_json_known(body, known, err) : sl_error_memory(err, "the change");
	if (!rc)
		rc = read_settings(body, p, err);
	if (!rc && (rc = put(u, p, json_incref(before), done, arg)))
		sl_error_set(err, rc, "the change cannot be recorded");
	if (rc) {
		p->share = share;
		p->keep = keep;
		p->job_seconds = job_seconds;
		memcpy(p->account.limit, limits, sizeof limits);
	}
	json_decref(before);
	return rc;
}

int sl_project_remove(struct sl_users *u, const char *name, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	struct sl__project *p = sl__project_by_name(u, name);
	if (!p)
		return not_found(name, err);
	json_t *before = document_of(p);
	int rc = before ? sl__record(u, SL_DB_PROJECTS, p->id, before, NULL, done, arg) : SL_NOMEM;
	if (rc)
		return sl_error_set(err, rc, "the change cannot be recorded");
	destroy(p);  /* its members can no longer read what was shared with it */
	return 0;
}

int sl_project_member(struct sl_users *u, const char *name, const char *user_name, bool member, sl_db_done_fn done,
		      void *arg, struct sl_error *err)
{
	struct sl__project *p = sl__project_by_name(u, name);
	const struct sl__user *user = sl__user_by_name(u, user_name);
	if (!p)
		return not_found(name, err);
	if (!user)
		return sl_error_set(err, SL_NOTFOUND, "there is no user %.64s", user_name);
	bool was = sl__ids_find(&p->members, user->id) >= 0;
	json_t *before = document_of(p);
	int rc = !before ? SL_NOMEM : member ? sl__ids_add(&p->members, user->id) : 0;
	if (!member)
		sl__ids_remove(&p->members, user->id);
	if (!rc)
		rc = put(u, p, json_incref(before), done, arg);
	json_decref(before);
	if (!rc)
		return 0;
	if (was && !member)
		sl__ids_add(&p->members, user->id);  /* there is room */
	else if (!was)
		sl__ids_remove(&p->members, user->id);
	return sl_error_set(err, rc, "the change cannot be recorded");
}

/* Removes the id of a removed user from all projects. */
void sl__projects_forget_user(struct sl_users *u, const char *user)
{
	SL_LIST_EACH(struct sl__project, p, &u->projects, link) {
		if (sl__ids_find(&p->members, user) < 0)
			continue;
		json_t *before = document_of(p);
		sl__ids_remove(&p->members, user);
		if (before)
			put(u, p, before, NULL, NULL);
	}
}
