/* The file is read whole or by one column, written anew for each change under another name, and put in place by a
 * rename (store/atomic.h). A column's description and its values are never separate: values in a file of their own
 * (values_file.h) are written to a place that no column names, so the rename makes them the column's, and the places
 * that no column names any more are emptied after it. A backup links files while nobody does so. */
#include "daemon/files/columns_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/seal.h"

/* Guards the step from one set of files to the next against backups; nothing else is locked meanwhile. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

struct sl_columns *sl_columns_create(uint32_t n)
{
	struct sl_columns *c = calloc(1, sizeof *c);
	if (c)
		c->n = n;
	return c;
}

static void column_finish(struct sl_column *c)
{
	json_decref(c->description);
	free(c->value);
}

void sl_columns_free(struct sl_columns *c)
{
	for (int i = 0; c && i < c->count; i++)
		column_finish(&c->column[i]);
	free(c);
}

const char *sl_column_name(const struct sl_column *c)
{
	return json_string_value(json_object_get(c->description, "name"));
}

const char *sl_column_kind(const struct sl_column *c)
{
	return json_string_value(json_object_get(c->description, "kind"));
}

int sl_column_place(const struct sl_column *c)
{
	const json_t *place = json_object_get(c->description, "place");
	return json_is_integer(place) ? (int)json_integer_value(place) : -1;
}

struct sl_column *sl_columns_find(struct sl_columns *c, const char *name)
{
	for (int i = 0; i < c->count; i++)
		if (!strcmp(sl_column_name(&c->column[i]), name))
			return &c->column[i];
	return NULL;
}

int sl_columns_set(struct sl_columns *c, json_t *description, void *value, struct sl_error *err)
{
	struct sl_column fresh = {description, value};
	if (!description) {
		free(value);
		return sl_error_memory(err, "the column");
	}
	struct sl_column *old = sl_columns_find(c, sl_column_name(&fresh));
	if (old) {
		column_finish(old);
		*old = fresh;
		return 0;
	}
	if (c->count == SL_COLUMNS_MAX) {
		column_finish(&fresh);
		return sl_error_set(err, SL_TOOBIG, "the graph has %d columns of labels, the most that are kept; delete "
				    "one first", c->count);
	}
	c->column[c->count++] = fresh;
	return 0;
}

void sl_columns_remove(struct sl_columns *c, struct sl_column *column)
{
	column_finish(column);
	memmove(column, column + 1, (size_t)(c->column + c->count - column - 1) * sizeof *column);
	c->count--;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* True if the values are in this file. */
static bool has_values(const struct sl_column *c)
{
	return strcmp(sl_column_kind(c), "none") != 0 && sl_column_place(c) < 0;
}

static int read_values(int fd, const char *path, struct sl_columns *c, uint64_t at, const char *only,
		       struct sl_error *err)
{
	uint64_t bytes = (uint64_t)c->n * 4;
	for (int i = 0; i < c->count; i++) {
		struct sl_column *column = &c->column[i];
		if (!has_values(column))
			continue;
		if (!only || !strcmp(only, sl_column_name(column))) {
			if (!(column->value = malloc(bytes + 1)))
				return sl_error_memory(err, "labels of %u nodes", c->n);
			if (sl__read_at(fd, column->value, bytes, at))
				return sl_seal_damaged(path, "it cannot be read to its end", err);
		}
		at += bytes;
	}
	return 0;
}

static int read_description(int fd, const char *path, struct sl_columns *c, const struct sl_seal *seal, uint64_t *at,
			    struct sl_error *err)
{
	uint64_t bytes, wanted = 0;
	if (seal->content_bytes < sizeof bytes || sl__read_at(fd, &bytes, sizeof bytes, 0) ||
	    bytes > seal->content_bytes - sizeof bytes)
		return sl_seal_damaged(path, "it has no description", err);
	char *text = malloc(bytes + 1);
	if (!text)
		return sl_error_memory(err, "a description of %llu bytes", (unsigned long long)bytes);
	json_t *all = !sl__read_at(fd, text, bytes, sizeof bytes) ? json_loadb(text, bytes, 0, NULL) : NULL, *one;
	size_t i;
	free(text);
	json_array_foreach(json_object_get(all, "columns"), i, one) {
		struct sl_column column = {json_incref(one), NULL};
		if (c->count == SL_COLUMNS_MAX || !sl_column_name(&column) || !sl_column_kind(&column)) {
			json_decref(one);
			break;
		}
		c->column[c->count++] = column;
		wanted += has_values(&column) ? (uint64_t)c->n * 4 : 0;
	}
	*at = c->values_at = sizeof bytes + bytes;
	json_decref(all);
	return *at + wanted == seal->content_bytes ? 0 : sl_seal_damaged(path, "its sizes contradict each other", err);
}

/* kept NULL: the file is closed in the end; else it stays open, -1 if there is none. */
static int read_file(const char *path, uint32_t n, const char *only, bool check, struct sl_columns **out, int *kept,
		     struct sl_error *err)
{
	struct sl_seal seal;
	struct sl_columns *c = sl_columns_create(n);
	uint64_t at = 0;
	int rc = 0, fd = sl_file_open(path);
	if (!c) {
		rc = sl_error_memory(err, "labels");
	} else if (fd < 0) {
		rc = errno == ENOENT ? 0 : sl_atomic_error(path, "read", errno, err);
	} else {
		rc = sl_seal_read(fd, path, &seal, NULL, err);
		if (!rc && check)
			rc = sl_seal_check(fd, path, &seal, err);
		if (!rc)
			rc = read_description(fd, path, c, &seal, &at, err);
		if (!rc)
			rc = read_values(fd, path, c, at, only, err);
	}
	if (fd >= 0 && (rc || !kept)) {
		close(fd);
		fd = -1;
	}
	if (kept)
		*kept = fd;
	if (rc)
		sl_columns_free(c);
	else
		*out = c;
	return rc;
}

int sl_columns_read(const char *path, uint32_t n, const char *only, struct sl_columns **out, struct sl_error *err)
{
	return read_file(path, n, only, true, out, NULL, err);
}

int sl_columns_describe(const char *path, uint32_t n, struct sl_columns **out, struct sl_error *err)
{
	return read_file(path, n, "", false, out, NULL, err);
}

int sl_columns_open(const char *path, uint32_t n, struct sl_columns **out, int *fd, struct sl_error *err)
{
	return read_file(path, n, "", false, out, fd, err);
}

int sl_columns_part(int fd, const char *path, const struct sl_columns *c, const struct sl_column *column, uint32_t from,
		    uint32_t count, void *out, struct sl_error *err)
{
	uint64_t at = c->values_at + (uint64_t)from * 4;
	for (const struct sl_column *one = c->column; one < column; one++)
		at += has_values(one) ? (uint64_t)c->n * 4 : 0;
	return sl__read_at(fd, out, (uint64_t)count * 4, at) ? sl_seal_damaged(path, "it cannot be read to its end", err) :
			0;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* fresh: the file does not exist yet. */
static int write_file(const char *path, const struct sl_columns *c, bool fresh, struct sl_error *err)
{
	struct sl_array parts[2 + SL_COLUMNS_MAX + 2];
	struct sl_seal seal;
	json_t *list = json_array(), *all = json_pack("{s:O}", "columns", list);
	for (int i = 0; i < c->count; i++)
		json_array_append(list, c->column[i].description);
	char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(list);
	json_decref(all);
	if (!text)
		return sl_error_memory(err, "labels");
	uint64_t bytes = strlen(text);
	int count = 0;
	parts[count++] = (struct sl_array){&bytes, sizeof bytes};
	parts[count++] = (struct sl_array){text, bytes};
	for (int i = 0; i < c->count; i++)
		if (has_values(&c->column[i]))
			parts[count++] = (struct sl_array){c->column[i].value, (uint64_t)c->n * 4};
	sl_seal_parts(&seal, path, parts, count, NULL);
	count += 2;
	int rc = fresh ? sl_atomic_create(path, parts, count, err) : sl_atomic_replace(path, parts, count, 0600, true, err);
	free(text);
	return rc;
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

uint64_t sl_columns_bytes(const char *path, const struct sl_columns *c)
{
	uint64_t bytes = file_bytes(path);
	for (int i = 0; c && i < c->count; i++)
		if (sl_column_place(&c->column[i]) >= 0)
			bytes += (uint64_t)json_integer_value(json_object_get(c->column[i].description, "stored"));
	return bytes;
}

/* ---- places of values that have files of their own ------------------------------------------ */

void sl_columns_place_path(const char *path, int place, char out[SL_COLUMNS_PATH])
{
	size_t stem = strlen(path) - strlen("sll");
	int n = snprintf(out, SL_COLUMNS_PATH, "%.*sc%02d", (int)stem, path, place);
	if (n >= SL_COLUMNS_PATH)
		out[0] = '\0';  /* the file does not exist */
}

/* The places that columns name, as bits. */
static uint64_t taken_places(const struct sl_columns *c)
{
	uint64_t taken = 0;
	for (int i = 0; i < c->count; i++) {
		int place = sl_column_place(&c->column[i]);
		if (place >= 0 && place < SL_COLUMNS_PLACES)
			taken |= 1ull << place;
	}
	return taken;
}

int sl_columns_free_place(const char *path, const struct sl_columns *c, struct sl_error *err)
{
	char file[SL_COLUMNS_PATH];
	uint64_t taken = taken_places(c);
	for (int k = 0; k < SL_COLUMNS_PLACES; k++) {
		sl_columns_place_path(path, k, file);
		if (!(taken >> k & 1) && access(file, F_OK))
			return k;
	}
	return sl_error_set(err, SL_TOOBIG, "the graph has %d columns of numbers, dates, texts, links and images, the most "
			    "that are kept; delete one first", SL_COLUMNS_PLACES);
}

void sl_columns_clear_places(const char *path, const struct sl_columns *c)
{
	char file[SL_COLUMNS_PATH];
	uint64_t taken = taken_places(c);
	for (int k = 0; k < SL_COLUMNS_PLACES; k++) {
		sl_columns_place_path(path, k, file);
		if (!(taken >> k & 1))
			unlink(file);
	}
}

void sl_columns_lock(void)
{
	pthread_mutex_lock(&changing);
}

void sl_columns_unlock(void)
{
	pthread_mutex_unlock(&changing);
}

int sl_columns_write(const char *path, const struct sl_columns *c, uint64_t *bytes, struct sl_error *err)
{
	int rc = 0;
	sl_columns_lock();
	if (c->count)
		rc = write_file(path, c, false, err);
	else
		rc = sl_atomic_remove(path, err);
	if (!rc)
		sl_columns_clear_places(path, c);
	sl_columns_unlock();
	*bytes = sl_columns_bytes(path, c);
	return rc;
}

int sl_columns_create_file(const char *path, const struct sl_columns *c, uint64_t *bytes, struct sl_error *err)
{
	int rc = write_file(path, c, true, err);
	*bytes = sl_columns_bytes(path, c);
	return rc;
}
