/* Owners and readers of graphs and jobs, by their ids. What has no record is the administrators' alone. */
#include <stdlib.h>
#include <string.h>

#include "daemon/users/users_internal.h"
#include "daemon/util/json.h"

typedef char user_id[SL_ULID_BYTES];

static struct sl_list *bucket(const struct sl_users *u, const char *id)
{
	unsigned hash = 5381;
	for (const char *c = id; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	return (struct sl_list *)&u->access[hash % SL__ACCESS_BUCKETS];
}

static struct sl__access *find(const struct sl_users *u, const char *id)
{
	SL_LIST_EACH(struct sl__access, a, bucket(u, id), link)
		if (!strcmp(a->id, id))
			return a;
	return NULL;
}

static void destroy(struct sl__access *a)
{
	sl_list_unlink(&a->link);
	free(a->owners);
	free(a->readers);
	free(a);
}

void sl__access_destroy(struct sl_users *u)
{
	for (int i = 0; i < SL__ACCESS_BUCKETS; i++)
		SL_LIST_EACH(struct sl__access, a, &u->access[i], link)
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

static int index_of(const user_id *ids, int count, const char *id)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(ids[i], id))
			return i;
	return -1;
}

static int add(user_id **ids, int *count, const char *id)
{
	if (index_of(*ids, *count, id) >= 0)
		return 0;
	user_id *more = realloc(*ids, (size_t)(*count + 1) * sizeof *more);
	if (!more)
		return SL_NOMEM;
	*ids = more;
	snprintf(more[(*count)++], sizeof *more, "%s", id);
	return 0;
}

static void take_out(user_id *ids, int *count, const char *id)
{
	int i = index_of(ids, *count, id);
	if (i >= 0)
		memmove(ids + i, ids + i + 1, (size_t)(--*count - i) * sizeof *ids);
}

static json_t *ids_json(const user_id *ids, int count)
{
	json_t *array = json_array();
	for (int i = 0; i < count; i++)
		json_array_append_new(array, json_string(ids[i]));
	return array;
}

static int put(struct sl_users *u, const struct sl__access *a, sl_db_done_fn done, void *arg)
{
	json_t *o = json_pack("{s:o, s:o, s:b}", "owners", ids_json(a->owners, a->owner_count), "readers",
			      ids_json(a->readers, a->reader_count), "everybody", a->everybody);
	int rc = o ? sl_db_put(u->db, SL_DB_ACCESS, a->id, o, done, arg) : SL_NOMEM;
	json_decref(o);
	return rc;
}

static int load_ids(user_id **ids, int *count, const json_t *array)
{
	json_t *id;
	size_t i;
	int rc = 0;
	json_array_foreach(array, i, id)
		if (!rc && json_is_string(id))
			rc = add(ids, count, json_string_value(id));
	return rc;
}

int sl__access_load(void *arg, const char *id, json_t *document)
{
	struct sl_users *u = arg;
	struct sl__access *a = create(u, id);
	int rc = a ? load_ids(&a->owners, &a->owner_count, json_object_get(document, "owners")) : SL_NOMEM;
	if (!rc)
		rc = load_ids(&a->readers, &a->reader_count, json_object_get(document, "readers"));
	if (!rc)
		a->everybody = json_is_true(json_object_get(document, "everybody"));
	return rc;
}

/* ---- decisions ------------------------------------------------------------------------------ */

static enum sl_relation relation(const struct sl_users *u, const struct sl_principal *p, const char *id)
{
	const struct sl__access *a = p->user[0] ? find(u, id) : NULL;
	if (p->role == SL_ROLE_LINK)
		return strcmp(p->thing, id) ? SL_RELATION_NONE : SL_RELATION_READER;
	if (!a)
		return SL_RELATION_NONE;
	if (index_of(a->owners, a->owner_count, p->user) >= 0)
		return SL_RELATION_OWNER;
	return a->everybody || index_of(a->readers, a->reader_count, p->user) >= 0 ? SL_RELATION_READER : SL_RELATION_NONE;
}

int sl_users_may(const struct sl_users *u, const struct sl_principal *p, enum sl_verb verb, const char *id)
{
	return sl_rights_decide(p->role, verb, id != NULL, id ? relation(u, p, id) : SL_RELATION_NONE);
}

bool sl_users_limited(const struct sl_principal *p)
{
	return p->role != SL_ROLE_ADMINISTRATOR;
}

int sl_users_owners(const struct sl_users *u, const char *id)
{
	const struct sl__access *a = find(u, id);
	return a ? a->owner_count : 0;
}

bool sl_users_owns(const struct sl_users *u, const char *user, const char *id)
{
	const struct sl__access *a = find(u, id);
	return a && index_of(a->owners, a->owner_count, user) >= 0;
}

/* ---- changes -------------------------------------------------------------------------------- */

int sl_users_own(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg)
{
	struct sl__access *a = find(u, id);
	if (!a && !(a = create(u, id)))
		return SL_NOMEM;
	int rc = add(&a->owners, &a->owner_count, p->user);
	if (!rc && (rc = put(u, a, done, arg)))
		take_out(a->owners, &a->owner_count, p->user);
	return rc;
}

int sl_users_disown(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg)
{
	struct sl__access *a = find(u, id);
	if (!a)
		return SL_NOTFOUND;
	take_out(a->owners, &a->owner_count, p->user);
	take_out(a->readers, &a->reader_count, p->user);
	return put(u, a, done, arg);
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

static json_t *names_json(const struct sl_users *u, const user_id *ids, int count)
{
	json_t *array = json_array();
	for (int i = 0; i < count; i++) {
		const struct sl__user *user = sl__user_by_id(u, ids[i]);
		if (user)  /* else it has been removed */
			json_array_append_new(array, json_string(user->name));
	}
	return array;
}

json_t *sl_users_access_json(const struct sl_users *u, const char *id)
{
	static const struct sl__access nobody;
	const struct sl__access *a = find(u, id);
	a = a ? a : &nobody;
	return json_pack("{s:s, s:o, s:o, s:b}", "id", id, "owners", names_json(u, a->owners, a->owner_count), "readers",
			 names_json(u, a->readers, a->reader_count), "everybody", a->everybody);
}

static int read_readers(const struct sl_users *u, const json_t *names, struct sl__access *a, struct sl_error *err)
{
	json_t *name;
	size_t i;
	if (!json_is_array(names))
		return sl_error_field(err, SL_BADPARAM, "/readers", "readers must be a list of users' names");
	a->reader_count = 0;
	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);
		const struct sl__user *user = text ? sl__user_by_name(u, text) : NULL;
		if (!user)
			return sl_error_field(err, SL_BADPARAM, "/readers", "there is no user %.64s",
					      text ? text : "of such a name");
		if (add(&a->readers, &a->reader_count, user->id))
			return sl_error_set(err, SL_NOMEM, "no memory for the readers");
	}
	return 0;
}

int sl_users_share(struct sl_users *u, const char *id, const json_t *body, sl_db_done_fn done, void *arg,
		   struct sl_error *err)
{
	static const char *const known[] = {"readers", "everybody", NULL};
	struct sl__access fresh = {0}, *a = find(u, id);
	const json_t *readers = json_object_get(body, "readers");
	fresh.everybody = a && a->everybody;
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = sl_json_bool(body, "everybody", &fresh.everybody, err);
	if (!rc && readers)
		rc = read_readers(u, readers, &fresh, err);
	if (!rc && !a && !(a = create(u, id)))
		rc = sl_error_set(err, SL_NOMEM, "no memory for the rights");
	if (rc) {
		free(fresh.readers);
		return rc;
	}
	struct sl__access before = *a;
	a->everybody = fresh.everybody;
	if (readers) {
		a->readers = fresh.readers;
		a->reader_count = fresh.reader_count;
	}
	rc = put(u, a, done, arg);
	if (rc) {  /* not recorded: as before */
		a->everybody = before.everybody;
		a->readers = before.readers;
		a->reader_count = before.reader_count;
		before.readers = fresh.readers;
		sl_error_set(err, rc, "the change cannot be recorded");
	}
	if (readers)
		free(before.readers);
	return rc;
}
