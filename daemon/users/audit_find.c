/* Finds lines of the audit log, on the pool. The files are read from the newest to the oldest, each from its beginning,
 * and the last lines that fit are kept, until there are enough. Programs that rotate logs name the files audit.log.1,
 * audit.log.2.gz, audit.log-20261128 and so on. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "daemon/users/users_internal.h"

#define LINE_BYTES (64 << 10)
#define FILES_MOST 1000

struct file {
	char *path;
	struct timespec changed;
};

struct search {
	struct sl_pool_place work;
	char *path, *object;          /* path: of the present log */
	bool by_user;
	char user[SL_USER_NAME_BYTES];  /* folded */
	char user_id[SL_ULID_BYTES], or_object[SL_ULID_BYTES];  /* "": none */
	double since, until;
	int limit;
	json_t *items;                /* or NULL: no memory */
	void (*done)(void *arg, json_t *items);
	void *arg;
};

static bool is_object(const struct search *s, const char *object)
{
	return object && (!strcmp(object, s->object) || (s->or_object[0] && !strcmp(object, s->or_object)));
}

/* Of this name at that time, or of the person who has it now. */
static bool is_user(const struct search *s, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "user"));
	const char *id = json_string_value(json_object_get(event, "user_id"));
	char folded[SL_USER_NAME_BYTES];
	if (id && s->user_id[0] && !strcmp(id, s->user_id))
		return true;
	sl__name_fold(name ? name : "", folded);
	return !strcmp(folded, s->user);
}

/* True if the line may be one of those that fit. */
static bool may_fit(const struct search *s, const char *line)
{
	return !s->object || strstr(line, s->object) || (s->or_object[0] && strstr(line, s->or_object));
}

static bool fits(const struct search *s, const json_t *event)
{
	const char *object = json_string_value(json_object_get(event, "object"));
	double time = json_number_value(json_object_get(event, "time"));
	return (!s->by_user || is_user(s, event)) && (!s->object || is_object(s, object)) &&
	       time >= s->since && (!s->until || time < s->until);
}

/* The last lines of one file that fit, at most `most`: an array, new reference. */
static json_t *read_file(const struct search *s, const char *path, size_t most)
{
	json_t *items = json_array();
	char *line = malloc(LINE_BYTES);
	gzFile file = items && line ? gzopen(path, "rb") : NULL;  /* also reads files that are not compressed */
	while (file && gzgets(file, line, LINE_BYTES)) {
		if (!may_fit(s, line))
			continue;
		json_t *event = json_loads(line, 0, NULL);
		if (event && fits(s, event)) {
			json_array_append(items, event);
			if (json_array_size(items) > 2 * most)
				while (json_array_size(items) > most)
					json_array_remove(items, 0);
		}
		json_decref(event);
	}
	if (file)
		gzclose(file);
	while (json_array_size(items) > most)
		json_array_remove(items, 0);
	free(line);
	return items;
}

static int newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct file *)a)->changed, *y = &((const struct file *)b)->changed;
	return x->tv_sec != y->tv_sec ? (x->tv_sec < y->tv_sec) - (x->tv_sec > y->tv_sec) :
	       (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* The log and its rotated files. Returns their number. */
static size_t find_files(const struct search *s, struct file files[FILES_MOST])
{
	const char *slash = strrchr(s->path, '/'), *name = slash + 1;
	size_t count = 0, length = strlen(name);
	char *folder = strndup(s->path, (size_t)(slash - s->path));
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	while (dir && (entry = readdir(dir)) && count < FILES_MOST) {
		struct file *f = &files[count];
		struct stat st;
		if (strncmp(entry->d_name, name, length) || !strchr(".-", entry->d_name[length]) ||
		    asprintf(&f->path, "%s/%s", folder, entry->d_name) < 0)
			continue;
		if (stat(f->path, &st) || !S_ISREG(st.st_mode)) {
			free(f->path);
			continue;
		}
		f->changed = st.st_mtim;
		count++;
	}
	if (dir)
		closedir(dir);
	free(folder);
	qsort(files, count, sizeof *files, newest_first);
	return count;
}

static void work(void *arg)
{
	struct search *s = arg;
	struct file *files = calloc(FILES_MOST, sizeof *files);
	size_t count = files ? find_files(s, files) : 0, most = (size_t)s->limit;
	s->items = files ? json_array() : NULL;
	for (size_t i = 0; i < count; i++) {
		size_t have = json_array_size(s->items);
		bool newer = (double)files[i].changed.tv_sec + 1 >= s->since;
		if (have < most && newer) {
			json_t *older = read_file(s, files[i].path, most - have);
			json_array_extend(older, s->items);
			json_decref(s->items);
			s->items = older;
		}
		free(files[i].path);
	}
	free(files);
}

static void finish(struct search *s)
{
	free(s->path);
	free(s->object);
	free(s);
}

static void worked(void *arg)
{
	struct search *s = arg;
	s->done(s->arg, s->items);
	finish(s);
}

int sl_users_audit_find(const struct sl_users *u, const struct sl_audit_filter *filter,
			void (*done)(void *arg, json_t *items), void *arg)
{
	struct search *s = calloc(1, sizeof *s);
	if (!s)
		return SL_NOMEM;
	s->path = u->audit_path ? strdup(u->audit_path) : NULL;
	s->object = filter->object ? strdup(filter->object) : NULL;
	if (!s->path || (filter->object && !s->object)) {
		finish(s);
		return SL_NOMEM;
	}
	s->by_user = filter->user != NULL;
	sl__name_fold(filter->user ? filter->user : "", s->user);
	snprintf(s->user_id, sizeof s->user_id, "%s", filter->user_id ? filter->user_id : "");
	snprintf(s->or_object, sizeof s->or_object, "%s", filter->or_object ? filter->or_object : "");
	s->since = filter->since;
	s->until = filter->until;
	s->limit = filter->limit;
	s->done = done;
	s->arg = arg;
	sl_pool_run_in(&s->work, u->loop, work, worked, s);
	return 0;
}
