/* Settings: all documents are in memory; each change is one write to the data base. */
#include "daemon/upkeep/settings.h"

#include <stdlib.h>

struct sl_settings {
	struct sl_db *db;
	json_t *documents;  /* by name */
};

static int load(void *arg, const char *name, json_t *document)
{
	return json_object_set(arg, name, document) ? SL_NOMEM : 0;
}

int sl_settings_create(struct sl_settings **out, struct sl_db *db, struct sl_error *err)
{
	struct sl_settings *s = calloc(1, sizeof *s);
	json_t *documents = json_object();
	*out = s;
	if (!s || !documents) {
		json_decref(documents);
		return sl_error_memory(err, "the settings");
	}
	s->db = db;
	s->documents = documents;
	int rc = sl_db_load(db, SL_DB_SETTINGS, load, documents, err);
	return rc < 0 ? rc : 0;
}

void sl_settings_destroy(struct sl_settings *s)
{
	if (s)
		json_decref(s->documents);
	free(s);
}

const json_t *sl_settings_get(const struct sl_settings *s, const char *name)
{
	return s ? json_object_get(s->documents, name) : NULL;
}

int sl_settings_put(struct sl_settings *s, const char *name, const json_t *document, sl_db_done_fn done, void *arg)
{
	json_t *copy = document ? json_deep_copy(document) : NULL;
	int rc = document && !copy ? SL_NOMEM : document ? sl_db_put(s->db, SL_DB_SETTINGS, name, copy, done, arg)
							 : sl_db_remove(s->db, SL_DB_SETTINGS, name, done, arg);
	if (!rc && document)
		json_object_set(s->documents, name, copy);
	else if (!rc)
		json_object_del(s->documents, name);
	json_decref(copy);
	return rc;
}
