/* Owners and readers of graphs and jobs, by their ids. Only administrators have access to those without a record. */
#include <stdlib.h>
#include <string.h>

#include "daemon/users/projects.h"
#include "daemon/users/users_internal.h"
#include "daemon/json/json.h"

static struct sl_list *bucket(const struct sl_users *u, const char *id)
{
	return (struct sl_list *)&u->access[sl_list_hash(id, SL_ULID_BYTES - 1) % SL__ACCESS_BUCKETS];
}

static struct sl__access *find(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__access, a, bucket(u, id), link, !strcmp(a->id, id));
}

static void finish(struct sl_rights *rights)
{
	free(rights->owners.at);
	free(rights->readers.at);
	free(rights->projects.at);
}

static void destroy(struct sl__access *a)
{
	sl_list_unlink(&a->link);
	finish(&a->rights);
	json_decref(a->paid);
	free(a);
}

void sl__access_destroy(struct sl_users *u)
{
	for (int i = 0; i < SL__ACCESS_BUCKETS; i++)
		SL_LIST_EACH(struct sl__access, a, &u->access[i], link)
			destroy(a);
}

void sl__access_drop(struct sl_users *u, const char *id)
{
	struct sl__access *a = find(u, id);
	if (a)
		destroy(a);
}

static struct sl__access *create(struct sl_users *u, const char *id)
{
	struct sl__access *a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	snprintf(a->id, sizeof a->id, "%s", id);
	sl_list_append(bucket(u, id), &a->link);
	return a;
}

static json_t *document_of(const struct sl__access *a)
{
	const struct sl_rights *r = &a->rights;
	json_t *o = json_pack("{s:o, s:o, s:o, s:b}", "owners", sl__ids_json(&r->owners), "readers",
			      sl__ids_json(&r->readers), "projects", sl__ids_json(&r->projects), "everybody", r->everybody);
	if (o && a->paid)
		json_object_set(o, "paid", a->paid);
	return o;
}

static int put(struct sl_users *u, const struct sl__access *a, sl_db_done_fn done, void *arg)
{
	json_t *o = document_of(a);
	int rc = o ? sl_db_put(u->db, SL_DB_ACCESS, a->id, o, done, arg) : SL_NOMEM;
	json_decref(o);
	return rc;
}

int sl__access_load(void *arg, const char *id, json_t *document)
{
	struct sl_users *u = arg;
	struct sl__access *a = create(u, id);
	int rc = a ? sl__ids_load(&a->rights.owners, json_object_get(document, "owners")) : SL_NOMEM;
	if (!rc)
		rc = sl__ids_load(&a->rights.readers, json_object_get(document, "readers"));
	if (!rc)
		rc = sl__ids_load(&a->rights.projects, json_object_get(document, "projects"));
	if (rc)
		return rc;
	a->rights.everybody = json_is_true(json_object_get(document, "everybody"));
	if (json_is_object(json_object_get(document, "paid")))
		a->paid = json_incref(json_object_get(document, "paid"));
	return 0;
}

/* ---- decisions ------------------------------------------------------------------------------ */

static bool reads(const struct sl_users *u, const struct sl_rights *rights, const char *user)
{
	if (rights->everybody || sl__ids_find(&rights->readers, user) >= 0)
		return true;
	for (int i = 0; i < rights->projects.count; i++)
		if (sl__is_member(u, rights->projects.at[i], user))
			return true;
	return false;
}

static enum sl_relation relation_by(const struct sl_users *u, const char *user, const struct sl_rights *rights)
{
	if (sl__ids_find(&rights->owners, user) >= 0)
		return SL_RELATION_OWNER;
	return reads(u, rights, user) ? SL_RELATION_READER : SL_RELATION_NONE;
}

static enum sl_relation relation(const struct sl_users *u, const struct sl_principal *p, const char *id)
{
	const struct sl__access *a = p->user[0] ? find(u, id) : NULL;
	if (p->role == SL_ROLE_LINK)
		return strcmp(p->thing, id) ? SL_RELATION_NONE : SL_RELATION_READER;
	return a ? relation_by(u, p->user, &a->rights) : SL_RELATION_NONE;
}

int sl_users_may(const struct sl_users *u, const struct sl_principal *p, enum sl_verb verb, const char *id)
{
	return sl_rights_decide(p->role, verb, id != NULL, id ? relation(u, p, id) : SL_RELATION_NONE);
}

/* What a link shows is its maker's, who may have lost the right to read the graph meanwhile. */
bool sl_users_shows(const struct sl_users *u, const struct sl_principal *p, const char *graph, const char *column)
{
	struct sl_principal maker;
	if (p->role != SL_ROLE_LINK)
		return !sl_users_may(u, p, SL_VERB_READ, graph);
	return sl__link_shows(u, p, column, &maker) && !sl_users_may(u, &maker, SL_VERB_READ, graph);
}

bool sl_users_limited(const struct sl_principal *p)
{
	return p->role != SL_ROLE_ADMINISTRATOR;
}

json_t *sl_users_quality(const struct sl_users *u, const struct sl_principal *p, const char *graph, json_t *quality)
{
	const char *column = json_string_value(json_object_get(quality, "silhouette_column"));
	bool measured = column || json_is_number(json_object_get(quality, "silhouette"));
	bool hide = measured && sl_users_limited(p) && !sl_users_shows(u, p, graph, column);
	json_t *copy = hide ? json_copy(quality) : NULL;
	if (!copy)
		return hide ? json_null() : json_incref(quality);
	json_object_set_new(copy, "silhouette", json_null());
	json_object_set_new(copy, "silhouette_nodes", json_integer(0));
	json_object_set_new(copy, "silhouette_column", json_null());
	return copy;
}

int sl_users_quality_text(const struct sl_users *u, const struct sl_principal *p, const char *text, size_t bytes,
			  char **out, size_t *out_bytes)
{
	static const char measured[] = "\"silhouette\":", null[] = "null";
	const char *at = sl_users_limited(p) ? memmem(text, bytes, measured, sizeof measured - 1) : NULL;
	*out = NULL;
	if (!at || !strncmp(at + sizeof measured - 1, null, sizeof null - 1))
		return 0;
	json_t *record = json_loadb(text, bytes, 0, NULL);
	if (!record)
		return SL_NOMEM;
	sl_users_tell(u, p, record);
	*out = sl_json_text(record, out_bytes);
	json_decref(record);
	return *out ? 0 : SL_NOMEM;
}

void sl_users_add_owner(const struct sl_users *u, const char *id, json_t *record)
{
	const struct sl__access *a = find(u, id);
	const char *owner = a && a->rights.owners.count ? a->rights.owners.at[0] : NULL;
	const char *name = owner ? sl_users_name(u, owner) : NULL;
	json_object_set_new(record, "owner", name ? json_string(name) : json_null());
	json_object_set_new(record, "owner_state", owner ? json_string(sl__user_states[sl_users_state(u, owner)]) :
			    json_null());
}

void sl_users_tell(const struct sl_users *u, const struct sl_principal *p, json_t *record)
{
	if (p->role == SL_ROLE_LINK && json_object_get(record, "owner")) {
		json_object_set_new(record, "owner", json_null());
		json_object_set_new(record, "owner_state", json_null());
	}
	const char *id = json_string_value(json_object_get(record, "id"));
	const char *graph = json_string_value(json_object_get(record, "graph"));
	json_t *quality = json_object_get(record, "quality");
	if (graph && json_is_object(quality))
		json_object_set_new(record, "quality", sl_users_quality(u, p, graph, quality));
	if (id && sl_users_limited(p) && json_object_get(record, "may_change"))
		json_object_set_new(record, "may_change", json_boolean(!sl_users_may(u, p, SL_VERB_CHANGE, id)));
}

/* No text within a record contains the pattern, since its quotes would be escaped. */
struct sl_record_text sl_users_tell_text(const struct sl_users *u, const struct sl_principal *p, const char *id,
					 const char *text, size_t bytes)
{
	static const char yes[] = "\"may_change\":true", no[] = "\"may_change\":false";
	static const char owner[] = "\"owner\":", nobody[] = "\"owner\":null,\"owner_state\":null,\"may_change\":false";
	const char *at = sl_users_limited(p) ? memmem(text, bytes, yes, sizeof yes - 1) : NULL;
	if (!at || !sl_users_may(u, p, SL_VERB_CHANGE, id))
		return (struct sl_record_text){text, "", "", (int)bytes, 0};
	const char *tail = at + sizeof yes - 1;
	const char *from = p->role == SL_ROLE_LINK ? memmem(text, (size_t)(at - text), owner, sizeof owner - 1) : NULL;
	if (from)
		return (struct sl_record_text){text, nobody, tail, (int)(from - text), (int)(bytes - (size_t)(tail - text))};
	return (struct sl_record_text){text, no, tail, (int)(at - text), (int)(bytes - (size_t)(tail - text))};
}

static int copy_ids(struct sl__ids *to, const struct sl__ids *from)
{
	int rc = 0;
	for (int i = 0; i < from->count && !rc; i++)
		rc = sl__ids_add(to, from->at[i]);
	return rc;
}

struct sl_rights *sl_users_rights_copy(const struct sl_users *u, const char *id)
{
	const struct sl__access *a = find(u, id);
	struct sl_rights *copy = a ? calloc(1, sizeof *copy) : NULL;
	if (!copy)
		return NULL;
	copy->everybody = a->rights.everybody;
	if (!copy_ids(&copy->owners, &a->rights.owners) && !copy_ids(&copy->readers, &a->rights.readers) &&
	    !copy_ids(&copy->projects, &a->rights.projects))
		return copy;
	sl_users_rights_free(copy);
	return NULL;
}

void sl_users_rights_free(struct sl_rights *rights)
{
	if (rights)
		finish(rights);
	free(rights);
}

bool sl_users_rights_read(const struct sl_users *u, const struct sl_principal *p, const struct sl_rights *rights)
{
	enum sl_relation relation = rights && p->user[0] ? relation_by(u, p->user, rights) : SL_RELATION_NONE;
	return !sl_rights_decide(p->role, SL_VERB_READ, true, relation);
}

int sl_users_owners(const struct sl_users *u, const char *id)
{
	const struct sl__access *a = find(u, id);
	return a ? a->rights.owners.count : 0;
}

bool sl_users_owns(const struct sl_users *u, const char *user, const char *id)
{
	const struct sl__access *a = find(u, id);
	return a && sl__ids_find(&a->rights.owners, user) >= 0;
}

int sl__access_owned(const struct sl_users *u, const char *user)
{
	int count = 0;
	for (int i = 0; i < SL__ACCESS_BUCKETS; i++)
		SL_LIST_EACH(const struct sl__access, a, &u->access[i], link)
			count += sl__ids_find(&a->rights.owners, user) >= 0;
	return count;
}

char (*sl_users_things(const struct sl_users *u, const char *user, size_t *count))[SL_ULID_BYTES]
{
	char (*ids)[SL_ULID_BYTES] = calloc((size_t)sl__access_owned(u, user) + 1, sizeof *ids);
	*count = 0;
	for (int i = 0; ids && i < SL__ACCESS_BUCKETS; i++)
		SL_LIST_EACH(const struct sl__access, a, &u->access[i], link)
			if (sl__ids_find(&a->rights.owners, user) >= 0)
				memcpy(ids[(*count)++], a->id, sizeof *ids);
	return ids;
}

const char *sl_users_owner(const struct sl_users *u, const char *id, int i)
{
	return find(u, id)->rights.owners.at[i];
}

bool sl_users_counts_toward_quota(const struct sl_users *u, const char *account, const char *id)
{
	const struct sl__access *a = account[0] ? find(u, id) : NULL;
	const char *owner;
	json_t *project;
	if (a && sl__ids_find(&a->rights.owners, account) >= 0)
		return true;
	json_object_foreach(a ? a->paid : NULL, owner, project)
		if (!strcmp(json_string_value(project) ? json_string_value(project) : "", account))
			return true;
	return false;
}

static const struct sl__project *project_of(const struct sl_users *u, const char *id)
{
	const struct sl__access *a = find(u, id);
	const char *owner;
	json_t *paid;
	json_object_foreach(a ? a->paid : NULL, owner, paid) {
		const char *of = json_string_value(paid);
		const struct sl__project *project = of ? sl__project_by_id(u, of) : NULL;
		if (project)
			return project;
	}
	return NULL;
}

const char *sl_users_project_of(const struct sl_users *u, const char *id)
{
	const struct sl__project *project = project_of(u, id);
	return project ? project->name : NULL;
}

const char *sl_users_project_account(const struct sl_users *u, const char *id)
{
	const struct sl__project *project = project_of(u, id);
	return project ? project->id : "";
}

/* ---- changes -------------------------------------------------------------------------------- */

static int set_paid(struct sl__access *a, const char *owner, const char *project)
{
	if (project[0] && !a->paid && !(a->paid = json_object()))
		return SL_NOMEM;
	if (!project[0])
		json_object_del(a->paid, owner);
	return project[0] && json_object_set_new(a->paid, owner, json_string(project)) ? SL_NOMEM : 0;
}

int sl_users_own(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg)
{
	struct sl__access *a = find(u, id);
	if (!a && !(a = create(u, id)))
		return SL_NOMEM;
	bool owned = sl__ids_find(&a->rights.owners, p->user) >= 0;
	int rc = p->user[0] ? sl__ids_add(&a->rights.owners, p->user) : 0;
	if (!rc)
		rc = set_paid(a, p->user, p->project);
	if (!rc)
		rc = put(u, a, done, arg);
	if (rc && !owned) {
		sl__ids_remove(&a->rights.owners, p->user);
		set_paid(a, p->user, "");
	}
	return rc;
}

int sl_users_disown(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg)
{
	struct sl__access *a = find(u, id);
	json_t *before = a ? document_of(a) : NULL;
	if (!before)
		return a ? SL_NOMEM : SL_NOTFOUND;
	sl__ids_remove(&a->rights.owners, p->user);
	sl__ids_remove(&a->rights.readers, p->user);
	set_paid(a, p->user, "");
	json_t *after = document_of(a);
	int rc = after ? sl__record(u, SL_DB_ACCESS, id, json_incref(before), after, done, arg) : SL_NOMEM;
	if (rc) {
		destroy(a);
		sl__access_load(u, id, before);
	}
	json_decref(before);
	json_decref(after);
	return rc;
}

/* Puts `to` in the place of `from`. */
static int replace_owner(struct sl__access *a, const char *from, const char *to)
{
	const char *project = json_string_value(json_object_get(a->paid, from));
	char paid[SL_ULID_BYTES] = "";
	snprintf(paid, sizeof paid, "%s", project ? project : "");
	int rc = sl__ids_add(&a->rights.owners, to);
	if (rc)
		return rc;
	sl__ids_remove(&a->rights.owners, from);
	sl__ids_remove(&a->rights.readers, to);
	set_paid(a, from, "");
	return set_paid(a, to, paid);
}

int sl_users_transfer(struct sl_users *u, const char *id, const char *from, const char *to, int *links,
		      sl_db_done_fn done, void *arg)
{
	struct sl__access *a = find(u, id);
	if (!a || sl__ids_find(&a->rights.owners, from) < 0)
		return SL_NOTFOUND;
	json_t *before = document_of(a), *after = NULL;
	int rc = before ? replace_owner(a, from, to) : SL_NOMEM;
	if (!rc && !(after = document_of(a)))
		rc = SL_NOMEM;
	if (!rc)
		rc = sl__record(u, SL_DB_ACCESS, id, json_incref(before), after, done, arg);
	if (rc && before) {
		destroy(a);
		sl__access_load(u, id, before);
	}
	if (!rc)
		*links += sl__links_transfer(u, id, from, to);
	json_decref(before);
	json_decref(after);
	return rc;
}

void sl_users_forget(struct sl_users *u, const char *id)
{
	struct sl__access *a = find(u, id);
	sl__links_forget(u, id);
	if (!a)
		return;
	sl_db_remove(u->db, SL_DB_ACCESS, id, NULL, NULL);
	destroy(a);
}

void sl_users_sweep(struct sl_users *u, bool (*exists)(void *arg, const char *id), void *arg)
{
	for (int i = 0; i < SL__ACCESS_BUCKETS; i++)
		SL_LIST_EACH(struct sl__access, a, &u->access[i], link) {
			if (exists(arg, a->id))
				continue;
			sl_db_remove(u->db, SL_DB_ACCESS, a->id, NULL, NULL);
			destroy(a);
		}
	sl__links_sweep(u, exists, arg);
}

/* The names of those that still exist. */
static json_t *names_json(const struct sl_users *u, const struct sl__ids *ids,
			  const char *(*name_of)(const struct sl_users *u, const char *id))
{
	json_t *array = json_array();
	for (int i = 0; i < ids->count; i++)
		if (name_of(u, ids->at[i]))
			json_array_append_new(array, json_string(name_of(u, ids->at[i])));
	return array;
}

static const char *user_name(const struct sl_users *u, const char *id)
{
	const struct sl__user *user = sl__user_by_id(u, id);
	return user && user->state != SL_USER_DELETED ? user->name : NULL;
}

/* Deleted owners, by name and id. */
static json_t *gone_json(const struct sl_users *u, const struct sl__ids *ids)
{
	json_t *array = json_array();
	for (int i = 0; i < ids->count; i++) {
		const struct sl__user *user = sl__user_by_id(u, ids->at[i]);
		if (!user || user->state == SL_USER_DELETED)
			json_array_append_new(array, json_pack("{s:s, s:s?}", "id", ids->at[i], "name", user ? user->name : NULL));
	}
	return array;
}

/* Returns the names of the projects to whose limits the resource counts. */
static json_t *paid_json(const struct sl_users *u, const struct sl__access *a)
{
	struct sl__ids ids = {0};
	const char *owner;
	json_t *project;
	json_object_foreach(a->paid, owner, project)
		if (json_is_string(project))
			sl__ids_add(&ids, json_string_value(project));
	json_t *array = names_json(u, &ids, sl_project_name);
	free(ids.at);
	return array;
}

json_t *sl_users_access_json(const struct sl_users *u, const char *id)
{
	static const struct sl__access nobody;
	const struct sl__access *a = find(u, id);
	a = a ? a : &nobody;
	const struct sl_rights *r = &a->rights;
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:o}", "id", id, "owners", names_json(u, &r->owners, user_name),
			 "gone", gone_json(u, &r->owners), "readers", names_json(u, &r->readers, user_name), "projects",
			 names_json(u, &r->projects, sl_project_name), "everybody", r->everybody, "counts_for",
			 paid_json(u, a));
}

static void swap(struct sl__ids *a, struct sl__ids *b)
{
	struct sl__ids c = *a;
	*a = *b;
	*b = c;
}

int sl_users_share(struct sl_users *u, const char *id, const json_t *body, sl_db_done_fn done, void *arg,
		   struct sl_error *err)
{
	static const char *const known[] = {"readers", "projects", "everybody", NULL};
	struct sl__ids readers = {0}, projects = {0};
	struct sl__access *a = find(u, id);
	json_t *old = a ? document_of(a) : NULL, *new = NULL;
	bool everybody = a && a->rights.everybody, before = everybody;
	bool some = json_object_get(body, "readers"), others = json_object_get(body, "projects");
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = sl_json_bool(body, "everybody", &everybody, err);
	if (!rc)
		rc = sl__ids_read(&readers, u, body, "readers", "user", sl__user_id, err);
	if (!rc)
		rc = sl__ids_read(&projects, u, body, "projects", "project", sl_project_id, err);
	if (!rc && !a && !(a = create(u, id)))
		rc = sl_error_memory(err, "the rights");
	if (rc)
		goto out;
	a->rights.everybody = everybody;
	if (some)
		swap(&a->rights.readers, &readers);
	if (others)
		swap(&a->rights.projects, &projects);
	new = document_of(a);
	rc = new ? sl__record(u, SL_DB_ACCESS, id, json_incref(old), new, done, arg) : SL_NOMEM;
	if (rc) {  /* the change could not be recorded: restores the old state */
		a->rights.everybody = before;
		if (some)
			swap(&a->rights.readers, &readers);
		if (others)
			swap(&a->rights.projects, &projects);
		sl_error_set(err, rc, "the change cannot be recorded");
	}
out:
	json_decref(old);
	json_decref(new);
	free(readers.at);
	free(projects.at);
	return rc;
}
