/* The columns are taken from the table while it is read, and written when the table's own file is safe; the upload's
 * digest covers them, so that equal files stay equal. */
#include "daemon/graphs/more_labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/util/log.h"

/* Describes the words as categories; their indices are the codes. */
static json_t *describe(const struct sl_more_labels *from)
{
	json_t *categories = json_array();
	for (uint32_t k = 0; k < from->labels; k++)
		json_array_append_new(categories, json_string(from->label_name[k]));
	if (json_array_size(categories) == from->labels)
		return json_pack("{s:s, s:s, s:o}", "name", from->title, "kind", "category", "categories", categories);
	json_decref(categories);
	return NULL;
}

int sl__more_labels_take(struct sl_points *p, struct sl_columns **out, struct sl_error *err)
{
	int rc = 0;
	*out = NULL;
	if (p->more_count && !(*out = sl_columns_create(p->n_user)))
		rc = sl_error_memory(err, "labels");
	for (uint32_t i = 0; i < p->more_count && !rc; i++) {
		uint32_t *value = p->more[i].label;
		p->more[i].label = NULL;
		rc = sl_columns_set(*out, describe(&p->more[i]), value, err);
	}
	sl_more_labels_free(p->more, p->more_count);
	p->more = NULL;
	p->more_count = 0;
	return rc;
}

void sl__more_labels_digest(const struct sl_columns *c, crypto_generichash_state *state)
{
	for (int i = 0; c && i < c->count; i++) {
		char *text = json_dumps(c->column[i].description, JSON_COMPACT | JSON_SORT_KEYS);
		crypto_generichash_update(state, (const unsigned char *)(text ? text : ""), text ? strlen(text) + 1 : 1);
		crypto_generichash_update(state, c->column[i].value, (uint64_t)c->n * sizeof(uint32_t));
		free(text);
	}
}

static json_t *summary(const struct sl_column *c)
{
	json_t *out = json_copy(c->description), *categories = json_object_get(out, "categories");
	if (categories)
		json_object_set_new(out, "categories", json_integer((json_int_t)json_array_size(categories)));
	return out;
}

json_t *sl__columns_summaries(const struct sl_columns *columns)
{
	json_t *list = columns && columns->count ? json_array() : NULL;
	for (int i = 0; list && i < columns->count; i++)
		json_array_append_new(list, summary(&columns->column[i]));
	return list;
}

void sl__more_labels_finish(const char *path, const char *temporary, uint32_t nodes)
{
	struct sl_columns *c = NULL;
	struct sl_error err;
	if (!access(path, F_OK) || access(temporary, F_OK))
		return;
	if (sl_columns_read(temporary, nodes, "", &c, &err))
		return;   /* it belongs to a later, interrupted change; it is removed with other temporary files */
	if (rename(temporary, path))
		sl_log_error("graphs", "%s cannot be renamed: %s", temporary, strerror(errno));
	sl_columns_free(c);
}
