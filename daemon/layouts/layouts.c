/* The table of uploaded layouts. When the server starts, it is restored from the records in the seals of their files.
 * Layouts are removed when their time has expired. */
#include "daemon/layouts/layouts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/files/job_files.h"
#include "daemon/http/http.h"
#include "daemon/layouts/layouts_internal.h"
#include "daemon/store/atomic.h"
#include "daemon/store/seal.h"
#include "daemon/store/sweep.h"
#include "daemon/users/users.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"
#include "daemon/util/seen.h"
#include "daemon/util/time_text.h"

#define LOOK_MS 5000  /* time between two searches for expired layouts */

static const char *const kinds[] = {"npy", NULL};

static uint64_t end_ms(const struct sl_layouts *s, const struct sl__layout *l)
{
	return l->made_ms + (uint64_t)(s->d->config.layout_lifetime_s * 1e3);
}

static struct sl__layout *find(struct sl_layouts *s, const char *id)
{
	return SL_LIST_FIND(struct sl__layout, l, &s->all, link, !strcmp(l->record.id, id));
}

const struct sl_layout_record *sl_layouts_find(struct sl_layouts *s, const char *id)
{
	const struct sl__layout *l = find(s, id);
	return l && !l->gone ? &l->record : NULL;
}

struct sl__layout *sl__layout_insert(struct sl_layouts *s, const struct sl_layout_record *record, uint64_t made_ms)
{
	struct sl__layout *l = calloc(1, sizeof *l);
	if (!l)
		return NULL;
	uint64_t now_ms = sl_seen_now_ms();
	l->record = *record;
	l->made_ms = made_ms < now_ms ? made_ms : now_ms;  /* later: the clock was set back since */
	sl_list_append(&s->all, &l->link);
	return l;
}

static void end_part(struct sl_layouts *s)
{
	if (--s->closing)
		return;
	SL_LIST_EACH(struct sl__layout, l, &s->all, link) {
		sl_list_unlink(&l->link);
		free(l);
	}
	void (*closed)(void *arg) = s->closed;
	void *arg = s->closed_arg;
	free(s->folder);
	free(s);
	closed(arg);
}

/* ---- removal ---------------------------------------------------------------------------- */

static void remove_work(void *arg)
{
	unlink(arg);
	free(arg);
}

void sl__layouts_remove_file(struct sl_layouts *s, const char *id)
{
	char *path = sl_job_file_path(s->folder, id, "npy");
	if (path)
		sl_pool_run(s->d->loop, remove_work, NULL, path);
}

struct removal {
	struct sl_layouts *s;
	struct sl__layout *l;
	char *path;
	int code;
	struct sl_error err;
};

static void removal_work(void *arg)
{
	struct removal *m = arg;
	m->code = sl_atomic_remove(m->path, &m->err);
}

/* If the file cannot be removed, the layout is restored; the next search for expired layouts tries again. */
static void removal_done(void *arg)
{
	struct removal *m = arg;
	struct sl_layouts *s = m->s;
	struct sl__layout *l = m->l;
	struct sl_request *r = l->deletion;
	l->deletion = NULL;
	if (m->code) {
		l->gone = false;
		if (r)
			sl_reply_error(r, &m->err);
	} else {
		sl_users_forget(s->d->users, l->record.id);
		sl_list_unlink(&l->link);
		free(l);
		if (r)
			sl_reply_empty(r, 204);
	}
	free(m->path);
	free(m);
	s->removals--;
	if (s->closing)
		end_part(s);
}

static void drop(struct sl_layouts *s, struct sl__layout *l)
{
	struct removal *m;
	struct sl_request *r = l->deletion;
	l->gone = true;
	if (l->holders)
		return;
	m = calloc(1, sizeof *m);
	if (!m || !(m->path = sl_job_file_path(s->folder, l->record.id, "npy"))) {
		free(m);
		l->gone = false;
		l->deletion = NULL;
		if (r)
			sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "deleting the layout.");
		return;
	}
	m->s = s;
	m->l = l;
	s->removals++;
	sl_pool_run(s->d->loop, removal_work, removal_done, m);
}

void sl_layouts_not_found(struct sl_request *r, const char *id)
{
	sl_reply_problem(r, SL_NOTFOUND, "There is no layout %.64s; uploaded ones are kept for layout_lifetime_s.", id);
}

void sl_layouts_delete(struct sl_layouts *s, const char *id, struct sl_request *r)
{
	struct sl__layout *l = find(s, id);
	if (!l || l->gone) {
		sl_layouts_not_found(r, id);
		return;
	}
	l->deletion = r;
	sl_park(&l->deletion, 0);
	drop(s, l);
}

void sl_layouts_remove(struct sl_layouts *s, const char *id)
{
	struct sl__layout *l = find(s, id);
	if (l && !l->gone)
		drop(s, l);
}

void sl_layouts_hold(struct sl_layouts *s, const char *id)
{
	struct sl__layout *l = find(s, id);
	if (l)
		l->holders++;
}

void sl_layouts_release(struct sl_layouts *s, const char *id)
{
	struct sl__layout *l = find(s, id);
	if (l && --l->holders == 0 && l->gone)
		drop(s, l);
}

static void on_timer(uv_timer_t *timer)
{
	struct sl_layouts *s = timer->data;
	uint64_t now = sl_seen_now_ms();
	SL_LIST_EACH(struct sl__layout, l, &s->all, link)
		if (!l->gone && now >= end_ms(s, l))
			drop(s, l);
}

/* ---- queries -------------------------------------------------------------------- */

const char *sl_layouts_folder(const struct sl_layouts *s)
{
	return s->folder;
}

void sl_layouts_each(const struct sl_layouts *s, void (*each)(void *arg, const struct sl_layout_record *l), void *arg)
{
	SL_LIST_EACH(const struct sl__layout, l, &s->all, link)
		if (!l->gone)
			each(arg, &l->record);
}

/* The user in its file is that of its upload; it may have got another owner since. */
static bool counts_for(const struct sl_layouts *s, const struct sl__layout *l, const char *user)
{
	const struct sl_users *u = s->d->users;
	return sl_users_owners(u, l->record.id) ? sl_users_owns(u, user, l->record.id) : !strcmp(l->record.user, user);
}

uint64_t sl_layouts_disk_use(struct sl_layouts *s, const char *user)
{
	uint64_t bytes = 0;
	SL_LIST_EACH(const struct sl__layout, l, &s->all, link)
		bytes += counts_for(s, l, user) ? l->record.bytes : 0;
	return bytes;
}

static json_t *json_of(const struct sl_layouts *s, const struct sl__layout *l)
{
	char created[SL_TIME_BYTES], expires[SL_TIME_BYTES];
	json_t *o = json_pack("{s:s, s:I, s:i, s:I, s:s, s:s}", "id", l->record.id, "nodes", (json_int_t)l->record.nodes,
			      "dims", l->record.dims, "bytes", (json_int_t)l->record.bytes, "created",
			      sl_time_text(l->made_ms, created), "expires", sl_time_text(end_ms(s, l), expires));
	if (o)
		sl_users_add_owner(s->d->users, l->record.id, o);
	return o;
}

json_t *sl_layouts_json(struct sl_layouts *s, const char *id)
{
	const struct sl__layout *l = find(s, id);
	return l && !l->gone ? json_of(s, l) : NULL;
}

json_t *sl_layouts_list(struct sl_layouts *s)
{
	json_t *items = json_array();
	SL_LIST_EACH_BACK(const struct sl__layout, l, &s->all, link)
		if (!l->gone)
			json_array_append_new(items, json_of(s, l));
	return json_pack("{s:o}", "items", items);
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Reads the record in the seal; false: the file is damaged, or the record is not that of a layout. */
static bool read_record(const char *path, struct sl_layout_record *record)
{
	struct sl_seal seal;
	struct stat st;
	char *text = NULL;
	int fd = sl_file_open(path);
	bool fine = fd >= 0 && !fstat(fd, &st) && !sl_seal_read(fd, path, &seal, &text, NULL) && text;
	json_t *o = fine ? json_loads(text, 0, NULL) : NULL;
	const char *user = json_string_value(json_object_get(o, "user"));
	json_int_t nodes = json_integer_value(json_object_get(o, "nodes"));
	json_int_t dims = json_integer_value(json_object_get(o, "dims"));
	fine = o && user && strlen(user) < sizeof record->user && nodes > 0 && nodes <= UINT32_MAX && dims > 0 && dims <= 3;
	if (fine) {
		strcpy(record->user, user);
		record->nodes = (uint32_t)nodes;
		record->dims = (int)dims;
		record->bytes = (uint64_t)st.st_size;
	}
	json_decref(o);
	free(text);
	if (fd >= 0)
		close(fd);
	return fine;
}

static void found(void *arg, const char *folder, const char *name, const char *id)
{
	struct sl_layouts *s = arg;
	struct sl_layout_record record = {0};
	char *path = sl_job_file_path(s->folder, id, "npy");
	strcpy(record.id, id);
	if (path && read_record(path, &record))
		sl__layout_insert(s, &record, sl_ulid_time_ms(id));
	else if (path)
		sl_log_warning("layouts", "%s/%s is damaged; it is kept but not served", folder, name);
	free(path);
}

static int by_age(const void *a, const void *b)
{
	return strcmp((*(struct sl__layout *const *)a)->record.id, (*(struct sl__layout *const *)b)->record.id);
}

/* Sorts layouts by age, since a folder has no order. */
static void sort(struct sl_list *list)
{
	size_t count = 0;
	struct sl__layout **all = malloc((list->count + 1) * sizeof *all);
	if (!all)
		return;
	SL_LIST_EACH(struct sl__layout, l, list, link) {
		all[count++] = l;
		sl_list_unlink(&l->link);
	}
	qsort(all, count, sizeof *all, by_age);
	for (size_t i = 0; i < count; i++)
		sl_list_append(list, &all[i]->link);
	free(all);
}

static enum sl_fate fate(void *arg, const char *id, const char *kind)
{
	return SL_FATE_KEPT;  /* incomplete files are removed; the others are read below */
}

void sl__layouts_idle(struct sl_layouts *s)
{
	if (s->closing)
		end_part(s);
}

int sl_layouts_create(struct sl_layouts **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_layouts *s = calloc(1, sizeof *s);
	if (!s || asprintf(&s->folder, "%s/layouts", d->state_dir) < 0) {
		free(s);
		return sl_error_memory(err, "the layouts");
	}
	s->d = d;
	sl_sweep(d->state_dir, "layouts", kinds, fate, s);
	sl_sweep_each(d->state_dir, "layouts", kinds, SL_NAME_WHOLE, found, s);
	sort(&s->all);
	uv_timer_init(d->loop, &s->timer);
	s->timer.data = s;
	uv_timer_start(&s->timer, on_timer, 0, LOOK_MS);
	*out = s;
	return 0;
}

static void timer_closed(uv_handle_t *handle)
{
	end_part(handle->data);
}

void sl_layouts_close(struct sl_layouts *s, void (*closed)(void *arg), void *arg)
{
	s->closed = closed;
	s->closed_arg = arg;
	s->closing = 1 + (s->uploads.count > 0) + s->removals;
	uv_close((uv_handle_t *)&s->timer, timer_closed);
	sl__layout_uploads_cancel(s);
}
