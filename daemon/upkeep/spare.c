/* A timer collects changes; a pool thread reads the tables over a connection of its own, and replaces the file. */
#include "daemon/upkeep/spare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/seal.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"
#include "daemon/util/time_text.h"

#define SOON_MS 2000      /* after a change */
#define APART_MS 10000    /* between two writes */
#define MOST_BYTES (1u << 30)

const enum sl_db_table sl_spare_tables[] = {SL_DB_USERS, SL_DB_ACCESS, SL_DB_LINKS, SL_DB_BATCHES, SL_DB_PROJECTS,
					     SL_DB_USAGE, SL_DB_ACCOUNTING, SL_DB_SETTINGS, SL_DB_TABLES};

struct sl_spare {
	struct sl_db *db;
	char *path, *db_path;
	uv_timer_t timer;
	struct sl_pool_place work;
	bool dirty, busy, closing;
	bool failed;              /* the last write; it is logged once */
	uint64_t written_ms;      /* loop time of the last write */
	int code;                 /* of the work in progress */
	struct sl_error err;
	void (*closed)(void *arg);
	void *closed_arg;
};

static unsigned mask_of_tables(void)
{
	unsigned mask = 0;
	for (const enum sl_db_table *t = sl_spare_tables; *t != SL_DB_TABLES; t++)
		mask |= *t == SL_DB_USAGE || *t == SL_DB_ACCOUNTING ? 0 : 1u << *t;  /* they change all the time */
	return mask | 1u << SL_DB_JOBS;  /* which are kept; and time that is used belongs to a job */
}

/* Any thread. */
static int write_file(const struct sl_spare *p, struct sl_error *err)
{
	struct sl_seal seal;
	struct sl_array parts[3];
	json_t *tables = NULL, *kept = NULL;
	uint64_t number;
	int rc = sl_db_dump(p->db_path, sl_spare_tables, &number, &tables, &kept, err);
	json_t *o = rc ? NULL : json_pack("{s:I, s:I, s:o, s:o}", "generation", (json_int_t)number, "saved",
					  (json_int_t)sl_time_now_ms(), "tables", tables, "kept", kept);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	if (rc)
		return rc;
	if (!text)
		return sl_error_memory(err, SL_SPARE_FILE);
	parts[0] = (struct sl_array){text, strlen(text)};
	sl_seal_parts(&seal, p->path, parts, 1, NULL);
	rc = sl_atomic_replace(p->path, parts, 3, 0600, true, err);
	free(text);
	return rc;
}

static void on_work(void *arg)
{
	struct sl_spare *p = arg;
	p->code = write_file(p, &p->err);
}

static void destroy(uv_handle_t *handle)
{
	struct sl_spare *p = handle->data;
	void (*closed)(void *) = p->closed;
	void *arg = p->closed_arg;
	free(p->path);
	free(p->db_path);
	free(p);
	closed(arg);
}

static void tell(struct sl_spare *p, int code, const struct sl_error *err)
{
	if (code && !p->failed)
		sl_log_warning("people", SL_SPARE_FILE " is not up to date: %s", err->detail);
	p->failed = code;
}

static void finish(struct sl_spare *p)
{
	struct sl_error err;
	if (p->dirty)
		tell(p, write_file(p, &err), &err);
	uv_close((uv_handle_t *)&p->timer, destroy);
}

static void schedule(struct sl_spare *p);

static void on_done(void *arg)
{
	struct sl_spare *p = arg;
	tell(p, p->code, &p->err);
	p->busy = false;
	p->dirty = p->dirty || p->code;
	if (p->closing)
		finish(p);
	else if (p->dirty)
		schedule(p);
}

static void on_timer(uv_timer_t *timer)
{
	struct sl_spare *p = timer->data;
	p->busy = true;
	p->dirty = false;
	p->written_ms = uv_now(timer->loop);
	sl_pool_run_in(&p->work, timer->loop, on_work, on_done, p);
}

static void schedule(struct sl_spare *p)
{
	uint64_t now = uv_now(p->timer.loop), due = p->written_ms ? p->written_ms + APART_MS : 0;
	if (!p->busy && !p->closing && !uv_is_active((uv_handle_t *)&p->timer))
		uv_timer_start(&p->timer, on_timer, due > now + SOON_MS ? due - now : SOON_MS, 0);
}

static void on_written(void *arg, unsigned tables)
{
	struct sl_spare *p = arg;
	if (!(tables & mask_of_tables()))
		return;
	p->dirty = true;
	schedule(p);
}

/* The data base is new or older: its records of people must not replace those of the lost one, of which no other copy
 * is left. */
static void set_aside(const struct sl_spare *p, const char *state_dir)
{
	char to[4200];
	snprintf(to, sizeof to, "%s/" SL_SPARE_BEFORE, state_dir);
	if (access(to, F_OK) && !rename(p->path, to))
		sl_log_warning("people", "users, projects and rights of the lost data base are in %s; spacelandd "
			       "--repair-state brings them back", to);
}

int sl_spare_create(struct sl_spare **out, uv_loop_t *loop, struct sl_db *db, const char *state_dir,
		     struct sl_error *err)
{
	struct sl_spare *p = calloc(1, sizeof *p);
	if (!p || asprintf(&p->path, "%s/" SL_SPARE_FILE, state_dir) < 0 ||
	    asprintf(&p->db_path, "%s/spacelandd.db", state_dir) < 0) {
		if (p)
			free(p->path);
		free(p);
		return sl_error_memory(err, SL_SPARE_FILE);
	}
	p->db = db;
	uv_timer_init(loop, &p->timer);
	p->timer.data = p;
	*out = p;
	if (sl_db_is_read_only(db))
		return 0;
	if (sl_db_has_lost_records(db))
		set_aside(p, state_dir);
	sl_db_on_write(db, on_written, p);
	p->dirty = access(p->path, F_OK) != 0;  /* a new state, or it was lost */
	if (p->dirty)
		schedule(p);
	return 0;
}

void sl_spare_close(struct sl_spare *p, void (*closed)(void *arg), void *arg)
{
	p->closing = true;
	p->closed = closed;
	p->closed_arg = arg;
	uv_timer_stop(&p->timer);
	if (!p->busy)
		finish(p);
}

int sl_spare_read(const char *state_dir, const char *name, json_t **out, struct sl_error *err)
{
	char path[4200];
	struct sl_seal seal;
	*out = NULL;
	snprintf(path, sizeof path, "%s/%s", state_dir, name);
	int fd = sl_file_open(path);
	if (fd < 0)
		return errno == ENOENT ? sl_error_set(err, SL_NOTFOUND, "there is no %s", name) :
		       sl_atomic_error(path, "read", errno, err);
	int rc = sl_seal_read(fd, path, &seal, NULL, err);
	if (!rc)
		rc = seal.content_bytes > MOST_BYTES ? sl_seal_damaged(path, "it is too long", err) :
		     sl_seal_check(fd, path, &seal, err);
	char *text = rc ? NULL : malloc(seal.content_bytes + 1);
	if (!rc && !text)
		rc = sl_error_memory(err, SL_SPARE_FILE);
	if (!rc && sl__read_at(fd, text, seal.content_bytes, 0))
		rc = sl_atomic_error(path, "read", errno, err);
	close(fd);
	if (!rc && !(*out = json_loadb(text, seal.content_bytes, 0, NULL)))
		rc = sl_seal_damaged(path, "it is no JSON", err);
	free(text);
	return rc;
}
