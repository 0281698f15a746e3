/* Short lists of ids. */
#include <stdlib.h>
#include <string.h>

#include "daemon/users/users_internal.h"

int sl__ids_find(const struct sl__ids *ids, const char *id)
{
	for (int i = 0; i < ids->count; i++)
		if (!strcmp(ids->at[i], id))
			return i;
	return -1;
}

int sl__ids_add(struct sl__ids *ids, const char *id)
{
	if (sl__ids_find(ids, id) >= 0)
		return 0;
	void *more = realloc(ids->at, (size_t)(ids->count + 1) * sizeof *ids->at);
	if (!more)
		return SL_NOMEM;
	ids->at = more;
	snprintf(ids->at[ids->count++], sizeof *ids->at, "%s", id);
	return 0;
}

void sl__ids_remove(struct sl__ids *ids, const char *id)
{
	int i = sl__ids_find(ids, id);
	if (i >= 0)
		memmove(ids->at + i, ids->at + i + 1, (size_t)(--ids->count - i) * sizeof *ids->at);
}

json_t *sl__ids_json(const struct sl__ids *ids)
{
	json_t *array = json_array();
	for (int i = 0; i < ids->count; i++)
		json_array_append_new(array, json_string(ids->at[i]));
	return array;
}

int sl__ids_load(struct sl__ids *ids, const json_t *array)
{
	json_t *id;
	size_t i;
	int rc = 0;
	json_array_foreach((json_t *)array, i, id)
		if (!rc && json_is_string(id))
			rc = sl__ids_add(ids, json_string_value(id));
	return rc;
}

int sl__ids_read(struct sl__ids *ids, const struct sl_users *u, const json_t *body, const char *key, const char *one,
		 const char *(*id_of)(const struct sl_users *u, const char *name), struct sl_error *err)
{
	const json_t *names = json_object_get(body, key);
	char pointer[32];
	json_t *name;
	size_t i;
	snprintf(pointer, sizeof pointer, "/%s", key);
	if (names && !json_is_array(names))
		return sl_error_field(err, SL_BADPARAM, pointer, "%s must be a list of names", key);
	json_array_foreach((json_t *)names, i, name) {
		const char *text = json_string_value(name), *id = text ? id_of(u, text) : NULL;
		if (!id)
			return sl_error_field(err, SL_BADPARAM, pointer, "there is no %s %.64s", one,
					      text ? text : "of such a name");
		if (sl__ids_add(ids, id))
			return sl_error_memory(err, "%s", key);
	}
	return 0;
}
