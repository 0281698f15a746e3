/* A hash table of lists over ids. A use marks its entry; entries that changed are written when they are due. What is
 * deleted is forgotten, and uses of things that no longer exist are swept. */
#include "daemon/store/uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/db.h"
#include "daemon/util/list.h"
#include "daemon/util/seen.h"
#include "daemon/util/ulid.h"

#define BUCKETS 4096

struct use {
	struct sl_link link;       /* in its bucket */
	char id[SL_ULID_BYTES];
	uint64_t used_ms;
	uint64_t recorded_ms;      /* time in the record; 0: no record */
};

struct sl_uses {
	struct sl_db *db;
	struct sl_list bucket[BUCKETS];
};

static struct sl_list *bucket_of(const struct sl_uses *u, const char *id)
{
	return (struct sl_list *)&u->bucket[sl_list_hash(id, SL_ULID_BYTES - 1) % BUCKETS];
}

static struct use *find(const struct sl_uses *u, const char *id)
{
	return SL_LIST_FIND(struct use, use, bucket_of(u, id), link, !strcmp(use->id, id));
}

static struct use *create(struct sl_uses *u, const char *id)
{
	struct use *use = calloc(1, sizeof *use);
	if (!use)
		return NULL;
	snprintf(use->id, sizeof use->id, "%s", id);
	sl_list_append(bucket_of(u, id), &use->link);
	return use;
}

static void destroy(struct use *use)
{
	sl_list_unlink(&use->link);
	free(use);
}

static int load(void *arg, const char *id, json_t *document)
{
	json_int_t used = json_integer_value(json_object_get(document, "used"));
	if (!sl_ulid_valid(id) || used <= 0)
		return SL_DB_PASSED_OVER;
	struct use *use = create(arg, id);
	if (!use)
		return SL_NOMEM;
	use->used_ms = use->recorded_ms = (uint64_t)used;
	return 0;
}

int sl_uses_create(struct sl_uses **out, struct sl_db *db, struct sl_error *err)
{
	struct sl_uses *u = calloc(1, sizeof *u);
	if (!u)
		return sl_error_memory(err, "the times of use");
	u->db = db;
	int rc = sl_db_load(db, SL_DB_USES, load, u, err);
	if (rc < 0) {
		sl_uses_destroy(u);
		return rc;
	}
	*out = u;
	return 0;
}

void sl_uses_destroy(struct sl_uses *u)
{
	for (int i = 0; u && i < BUCKETS; i++)
		SL_LIST_EACH(struct use, use, &u->bucket[i], link)
			destroy(use);
	free(u);
}

void sl_uses_mark(struct sl_uses *u, const char *id)
{
	struct use *use = u ? find(u, id) : NULL;
	if (u && !use)
		use = create(u, id);
	if (use)
		use->used_ms = sl_seen_now_ms();
}

uint64_t sl_uses_last(const struct sl_uses *u, const char *id)
{
	const struct use *use = u ? find(u, id) : NULL;
	return use ? use->used_ms : 0;
}

void sl_uses_forget(struct sl_uses *u, const char *id)
{
	struct use *use = u ? find(u, id) : NULL;
	if (!use)
		return;
	if (use->recorded_ms)
		sl_db_remove(u->db, SL_DB_USES, id, NULL, NULL);
	destroy(use);
}

void sl_uses_sweep(struct sl_uses *u, bool (*exists)(void *arg, const char *id), void *arg)
{
	for (int i = 0; u && i < BUCKETS; i++)
		SL_LIST_EACH(struct use, use, &u->bucket[i], link)
			if (!exists(arg, use->id))
				sl_uses_forget(u, use->id);
}

static void save(struct sl_uses *u, struct use *use)
{
	json_t *o = json_pack("{s:I}", "used", (json_int_t)use->used_ms);
	if (o && !sl_db_put(u->db, SL_DB_USES, use->id, o, NULL, NULL))
		use->recorded_ms = use->used_ms;
	json_decref(o);
}

void sl_uses_save(struct sl_uses *u, bool all)
{
	for (int i = 0; u && i < BUCKETS; i++)
		SL_LIST_EACH(struct use, use, &u->bucket[i], link) {
			/* the id contains the time when the thing was made */
			uint64_t known = use->recorded_ms ? use->recorded_ms : (uint64_t)sl_ulid_time_ms(use->id);
			uint64_t more = use->used_ms > known ? use->used_ms - known : 0;
			bool set_back = use->recorded_ms > use->used_ms;  /* the clock was */
			if (set_back || more > (all ? 0 : SL_USES_EVERY_MS))
				save(u, use);
		}
}
