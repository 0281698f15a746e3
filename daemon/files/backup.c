/* Runs the steps of backup_copy.h in order, those that block on the pool, and lists the last REMEMBERED backups. One
 * backup is made at a time. */
#include "daemon/files/backup.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/config/daemon.h"
#include "daemon/files/backup_copy.h"
#include "daemon/files/backup_rotation.h"
#include "daemon/store/db.h"
#include "daemon/json/json.h"
#include "daemon/upkeep/settings.h"
#include "daemon/util/log.h"
#include "daemon/util/metrics.h"
#include "daemon/util/pool.h"
#include "daemon/json/problem.h"
#include "daemon/util/time_text.h"

#define REMEMBERED 16
#define NAME_MOST 64
#define LOOK_MS 1000
#define HOUR_MS 3600e3
#define SETTING "backup"

enum state { RUNNING, DONE, FAILED };

struct backup {
	struct sl_backups *of;
	struct sl_pool_place place;
	char name[NAME_MOST + 1];
	char *folder;
	enum state state;
	int keep;                 /* of scheduled ones; 0: all */
	uint64_t started_ms, finished_ms;
	struct sl_backup_copy copy;
	int code;
	struct sl_error err;
};

struct sl_backups {
	struct sl_daemon *d;
	struct backup *made[REMEMBERED];  /* newest first */
	int count;
	uv_timer_t timer;                 /* looks whether a scheduled one is due */
	uint64_t tried_ms;                /* loop time of the last scheduled one; 0: none yet */
	struct sl_metric *metric_last, *metric_failed;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- start and end ---------------------------------------------------------------------------- */

static void timer_closed(uv_handle_t *handle)
{
	struct sl_backups *b = handle->data;
	void (*closed)(void *) = b->closed;
	void *arg = b->closed_arg;
	for (int i = 0; i < b->count; i++) {
		free(b->made[i]->folder);
		free(b->made[i]);
	}
	free(b);
	closed(arg);
}

static void destroy(struct sl_backups *b)
{
	uv_close((uv_handle_t *)&b->timer, timer_closed);
}

static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* A folder in the state folder or around it is refused, also by symbolic links. */
int sl_backups_check(const char *dir, const char *state, struct sl_error *err)
{
	struct stat st;
	if (!dir[0])
		return 0;
	char *real = realpath(dir, NULL);
	bool inside = state && (is_below(real ? real : dir, state) || (real && is_below(state, real)));
	free(real);
	if (inside)
		return sl_error_field(err, SL_BADPARAM, "/backup_dir", "backup_dir = %s and the state folder %s must not be "
				      "inside each other", dir, state);
	if (stat(dir, &st))
		return sl_error_field(err, SL_BADPARAM, "/backup_dir", "backup_dir = %s cannot be used: %s. Make the folder, "
				      "or mount its disk.", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return sl_error_field(err, SL_BADPARAM, "/backup_dir", "backup_dir = %s is not a folder", dir);
	if (access(dir, W_OK | X_OK))
		return sl_error_field(err, SL_BADPARAM, "/backup_dir", "backup_dir = %s cannot be written: %s. %s", dir,
				      strerror(errno), errno == EROFS ? "If spacelandd is a service of systemd, its unit needs "
				      "ReadWritePaths= with this folder (systemctl edit spacelandd)." :
				      "The folder must belong to the user that spacelandd runs as.");
	return 0;
}

static void on_timer(uv_timer_t *timer);

static uint64_t last_ms(const struct sl_backups *b)
{
	const json_t *last = sl_settings_get(b->d->settings, SETTING);
	return (uint64_t)json_integer_value(json_object_get(last, "finished"));
}

static void collect(void *arg)
{
	struct sl_backups *b = arg;
	sl_metric_set(b->metric_last, (double)(last_ms(b) / 1000));
	sl_metric_set(b->metric_failed, b->count && b->made[0]->state == FAILED);
}

static void start_schedule(struct sl_backups *b)
{
	b->metric_last = sl_metrics_register(b->d->metrics, SL_GAUGE, "spaceland_last_backup_timestamp_seconds", NULL,
					     "When the last complete backup was made; 0: none is known.");
	b->metric_failed = sl_metrics_register(b->d->metrics, SL_GAUGE, "spaceland_backup_failed", NULL,
					       "1: the last backup since the start has failed.");
	sl_metrics_on_collect(b->d->metrics, collect, b);
	uv_timer_init(b->d->loop, &b->timer);
	b->timer.data = b;
	uv_timer_start(&b->timer, on_timer, LOOK_MS, LOOK_MS);
}

int sl_backups_create(struct sl_backups **out, struct sl_daemon *d, struct sl_error *err)
{
	int rc = sl_backups_check(d->config.backup_dir, d->state_dir, err);
	if (rc)
		return rc;
	struct sl_backups *b = calloc(1, sizeof *b);
	if (!b)
		return sl_error_memory(err, "backups");
	b->d = d;
	sl_backup_clean(d->state_dir);
	start_schedule(b);
	*out = b;
	return 0;
}

static struct backup *running(const struct sl_backups *b)
{
	return b->count && b->made[0]->state == RUNNING ? b->made[0] : NULL;
}

void sl_backups_close(struct sl_backups *b, void (*closed)(void *arg), void *arg)
{
	b->closed = closed;
	b->closed_arg = arg;
	uv_timer_stop(&b->timer);
	if (running(b))
		__atomic_store_n(&running(b)->copy.cancel, 1, __ATOMIC_RELAXED);
	else
		destroy(b);
}

/* ---- one backup ----------------------------------------------------------------------------- */

/* The next start knows when the last one was made. */
static void remember(const struct backup *k)
{
	json_t *o = json_pack("{s:s, s:I, s:I}", "name", k->name, "finished", (json_int_t)k->finished_ms, "files",
			      (json_int_t)k->copy.files);
	if (o && sl_settings_put(k->of->d->settings, SETTING, o, NULL, NULL))
		sl_log_warning("backup", "the time of this backup is not recorded, for lack of memory");
	json_decref(o);
}

static void ended(struct backup *k)
{
	k->state = k->code ? FAILED : DONE;
	k->finished_ms = sl_time_now_ms();
	if (k->code)
		sl_log_error("backup", "%s: %s", k->folder, k->err.detail);
	else
		sl_log_info("backup", "%s has %llu files, %llu bytes", k->folder, (unsigned long long)k->copy.files,
			    (unsigned long long)k->copy.bytes);
	if (!k->code)
		k->of->tried_ms = 0;  /* only a failure delays the next one: uv_now() stands still while the machine sleeps */
	if (!k->code && !k->of->closed)
		remember(k);
	if (k->of->closed)
		destroy(k->of);
}

static void finish_on_pool(void *arg)
{
	struct backup *k = arg;
	if (!k->code)
		k->code = sl_backup_prune(&k->copy, &k->err);
	if (!k->code)
		k->code = sl_backup_finish(&k->copy, &k->err);
	if (k->code)
		sl_backup_abandon(&k->copy);
	else if (!strncmp(k->name, SL_BACKUP_AUTO, strlen(SL_BACKUP_AUTO)) && k->keep > 0)
		sl_backup_rotate(k->of->d->config.backup_dir, k->keep, k->copy.files);
}

static void finished(void *arg)
{
	ended(arg);
}

static void finish(struct backup *k)
{
	sl_pool_run_in(&k->place, k->of->d->loop, finish_on_pool, finished, k);
}

static int link_files(void *arg, struct sl_error *err)
{
	struct backup *k = arg;
	return sl_backup_link(&k->copy, err);
}

static void copied(void *arg, int status, const struct sl_error *err)
{
	struct backup *k = arg;
	if (status) {
		k->code = status;
		k->err = *err;
	}
	finish(k);
}

static void begin_on_pool(void *arg)
{
	struct backup *k = arg;
	/* again, since the folder may have been replaced by a link */
	k->code = sl_backups_check(k->of->d->config.backup_dir, k->of->d->state_dir, &k->err);
	if (!k->code)
		k->code = sl_backup_begin(&k->copy, &k->err);
}

static void begun(void *arg)
{
	struct backup *k = arg;
	char to[sizeof k->copy.part + 16];
	snprintf(to, sizeof to, "%s/spacelandd.db", k->copy.part);
	if (!k->code && sl_db_copy(k->of->d->db, to, link_files, copied, k))
		k->code = sl_error_memory(&k->err, "a backup");
	if (k->code)
		finish(k);
}

/* ---- requests ------------------------------------------------------------------------------ */

static bool good_name(const char *name)
{
	size_t length = strlen(name);
	if (!isalnum((unsigned char)name[0]) || length > NAME_MOST)
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return false;
	return length < 5 || strcmp(name + length - 5, ".part") != 0;
}

static struct backup *create(struct sl_backups *b, const char *name)
{
	struct backup *k = calloc(1, sizeof *k);
	if (!k || asprintf(&k->folder, "%s/%s", b->d->config.backup_dir, name) < 0) {
		free(k);
		return NULL;
	}
	k->of = b;
	snprintf(k->name, sizeof k->name, "%s", name);
	k->keep = (int)b->d->config.backup_keep;
	k->copy.state_dir = b->d->state_dir;
	k->copy.folder = k->folder;
	k->started_ms = sl_time_now_ms();
	if (b->count == REMEMBERED) {
		free(b->made[--b->count]->folder);
		free(b->made[b->count]);
	}
	memmove(b->made + 1, b->made, (size_t)b->count++ * sizeof *b->made);
	b->made[0] = k;
	return k;
}

/* Once a second. After a failure it tries again in an hour, or after the interval if that is less. */
static void on_timer(uv_timer_t *timer)
{
	struct sl_backups *b = timer->data;
	double every_ms = b->d->config.backup_interval_s * 1e3, again_ms = every_ms < HOUR_MS ? every_ms : HOUR_MS;
	uint64_t now_ms = sl_time_now_ms(), last = last_ms(b);
	bool due = last > now_ms || (double)(now_ms - last) >= every_ms;  /* a time to come is that of a wrong clock */
	bool soon = b->tried_ms && (double)(uv_now(timer->loop) - b->tried_ms) < again_ms;
	char name[NAME_MOST];
	time_t now = (time_t)(now_ms / 1000);
	struct tm tm;
	if (every_ms <= 0 || !b->d->config.backup_dir[0] || !due || soon || running(b) || b->d->ending ||
	    sl_db_is_read_only(b->d->db))
		return;
	b->tried_ms = uv_now(timer->loop);
	strftime(name, sizeof name, SL_BACKUP_AUTO "%Y-%m-%dT%H%M%SZ", gmtime_r(&now, &tm));
	struct backup *k = create(b, name);
	if (k)
		sl_pool_run_in(&k->place, b->d->loop, begin_on_pool, begun, k);
}

int sl_backups_make(struct sl_backups *b, const json_t *body, const char **name, struct sl_error *err)
{
	static const char *const known[] = {"name", NULL};
	*name = NULL;
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = sl_json_string(body, "name", name, err);
	if (rc)
		return rc;
	if (!*name || !good_name(*name))
		return sl_error_field(err, SL_BADPARAM, "/name", "name must have 1 to %d letters, digits, '.', '_' or '-', "
				      "begin with a letter or digit, and not end with .part", NAME_MOST);
	if (!b->d->config.backup_dir[0])
		return sl_error_set(err, SL_CONFLICT, "The server has no folder for backups; its option backup_dir "
				    "sets one.");
	if (running(b))
		return sl_error_set(err, SL_CONFLICT, "The backup %s is being made; only one can be made at a "
				    "time.", running(b)->name);
	if (b->d->stopping)
		return sl_error_set(err, SL_CONFLICT, "The server is stopping.");
	struct backup *k = create(b, *name);
	if (!k)
		return sl_error_memory(err, "a backup");
	sl_pool_run_in(&k->place, b->d->loop, begin_on_pool, begun, k);
	return 0;
}

static json_t *to_json(const struct backup *k)
{
	static const char *const states[] = {"running", "done", "failed"};
	const struct sl_backup_copy *c = &k->copy;
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "name", k->name, "folder", k->folder,
			 "state", states[k->state], "started", sl_json_time(k->started_ms),
			 "finished", sl_json_time(k->finished_ms),
			 "files", (json_int_t)__atomic_load_n(&c->files, __ATOMIC_RELAXED),
			 "bytes", (json_int_t)__atomic_load_n(&c->bytes, __ATOMIC_RELAXED),
			 "files_done", (json_int_t)__atomic_load_n(&c->files_done, __ATOMIC_RELAXED),
			 "bytes_done", (json_int_t)__atomic_load_n(&c->bytes_done, __ATOMIC_RELAXED),
			 "problem", k->state == FAILED ? sl_problem_json(&k->err) : json_null());
}

json_t *sl_backups_json(const struct sl_backups *b, const char *name)
{
	for (int i = 0; i < b->count; i++)
		if (!strcmp(b->made[i]->name, name))
			return to_json(b->made[i]);
	return NULL;
}

json_t *sl_backups_list(const struct sl_backups *b)
{
	json_t *items = json_array();
	for (int i = 0; i < b->count; i++)
		json_array_append_new(items, to_json(b->made[i]));
	return items;
}
