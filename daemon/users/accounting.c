/* Days in the order of their rows' dates, each with an array of rows. */
#include "daemon/users/accounting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/users/projects.h"
#include "daemon/users/users_internal.h"
#include "daemon/util/seen.h"
#include "daemon/util/time_text.h"

#define DAY_S 86400

struct row {
	char user[SL_ULID_BYTES], project[SL_ULID_BYTES];
	double seconds, bytes, jobs;
	double allocation_s, gpu_s;  /* of a cluster */
};

struct sl__day {
	struct sl_link link;        /* in users->days, the oldest first */
	int day;
	struct row *row;
	size_t count, room;
	size_t last;                /* the row that was used last */
	bool unsaved;
	int64_t saved_ms;
};

/* A name that a user or project had last. */
struct sl__named {
	struct sl_link link;        /* in its bucket */
	char id[SL_ULID_BYTES], name[SL_USER_NAME_BYTES];
};

int sl_accounting_today(void)
{
	return (int)(sl_seen_now_ms() / 1000 / DAY_S);
}

bool sl_accounting_day(const char *text, int *day)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	*day = (int)(timegm(&tm) / DAY_S);
	return end && !*end;
}

static char *day_text(int day, char out[16])
{
	time_t time = (time_t)day * DAY_S;
	struct tm tm;
	strftime(out, 16, "%Y-%m-%d", gmtime_r(&time, &tm));
	return out;
}

/* ---- names ------------------------------------------------------------------------------------- */

static struct sl_list *bucket(const struct sl_users *u, const char *id)
{
	return (struct sl_list *)&u->named[sl_list_hash(id, SL_ULID_BYTES) % SL__NAMED_BUCKETS];
}

static const char *present_name(const struct sl_users *u, const char *id)
{
	const char *name = sl_users_name(u, id);
	return name ? name : sl_project_name(u, id);
}

static void remember(struct sl_users *u, const char *id, const char *name)
{
	struct sl__named *n = SL_LIST_FIND(struct sl__named, n, bucket(u, id), link, !strcmp(n->id, id));
	if (!id[0] || !name)
		return;
	if (!n && (n = calloc(1, sizeof *n))) {
		snprintf(n->id, sizeof n->id, "%s", id);
		sl_list_append(bucket(u, id), &n->link);
	}
	if (n)
		snprintf(n->name, sizeof n->name, "%s", name);
}

/* NULL: not known. */
static const char *name_of(const struct sl_users *u, const char *id)
{
	const char *name = id[0] ? present_name(u, id) : NULL;
	const struct sl__named *n = name ? NULL :
				    SL_LIST_FIND(struct sl__named, n, bucket(u, id), link, !strcmp(n->id, id));
	return name ? name : n ? n->name : NULL;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static struct sl__day *day_of(struct sl_users *u, int day)
{
	struct sl__day *after = NULL;
	SL_LIST_EACH_BACK(struct sl__day, d, &u->days, link) {
		if (d->day == day)
			return d;
		if (d->day < day)
			break;
		after = d;
	}
	struct sl__day *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->day = day;
	sl_list_insert(&u->days, after ? &after->link : NULL, &d->link);
	return d;
}

static bool is_of(const struct row *r, const char *user, const char *project)
{
	return !strcmp(r->user, user) && !strcmp(r->project, project);
}

static struct row *row_in(struct sl__day *d, const char *user, const char *project)
{
	if (d->last < d->count && is_of(&d->row[d->last], user, project))
		return &d->row[d->last];
	for (d->last = 0; d->last < d->count; d->last++)
		if (is_of(&d->row[d->last], user, project))
			return &d->row[d->last];
	if (d->count == d->room) {
		size_t room = d->room ? 2 * d->room : 8;
		struct row *row = realloc(d->row, room * sizeof *row);
		if (!row)
			return NULL;
		d->row = row;
		d->room = room;
	}
	struct row *r = &d->row[d->count++];
	*r = (struct row){0};
	snprintf(r->user, sizeof r->user, "%s", user);
	snprintf(r->project, sizeof r->project, "%s", project);
	return r;
}

static struct row *row_of(struct sl_users *u, const char *user, const char *project)
{
	struct sl__day *d = day_of(u, sl_accounting_today());
	size_t before = d ? d->count : 0;
	struct row *r = d ? row_in(d, user, project) : NULL;
	if (!r)
		return NULL;
	if (d->count > before) {
		remember(u, user, present_name(u, user));
		remember(u, project, present_name(u, project));
	}
	d->unsaved = true;
	return r;
}

void sl_accounting_time(struct sl_users *u, const char *user, const char *project, double seconds)
{
	struct row *r = seconds > 0 ? row_of(u, user, project) : NULL;
	if (r)
		r->seconds += seconds;
}

void sl_accounting_allocation(struct sl_users *u, const char *user, const char *project, double seconds, int gpus)
{
	struct row *r = seconds != 0 ? row_of(u, user, project) : NULL;
	if (!r)
		return;
	r->allocation_s = fmax(0, r->allocation_s + seconds);
	r->gpu_s = fmax(0, r->gpu_s + seconds * gpus);
}

void sl_accounting_job(struct sl_users *u, const char *user, const char *project)
{
	struct row *r = row_of(u, user, project);
	if (r)
		r->jobs++;
}

void sl_accounting_disk(struct sl_users *u, const char *user, const char *project, double bytes)
{
	struct row *r = bytes > 0 ? row_of(u, user, project) : NULL;
	if (r && bytes > r->bytes)
		r->bytes = bytes;
}

/* ---- records ----------------------------------------------------------------------------------- */

static json_t *document_of(struct sl_users *u, const struct sl__day *d)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < d->count; i++) {
		const struct row *r = &d->row[i];
		remember(u, r->user, present_name(u, r->user));
		remember(u, r->project, present_name(u, r->project));
		json_array_append_new(rows, json_pack("[s, s?, s, s?, f, f, f, f, f]", r->user, name_of(u, r->user), r->project,
						      name_of(u, r->project), r->seconds, r->jobs, r->bytes,
						      r->allocation_s, r->gpu_s));
	}
	return json_pack("{s:o}", "rows", rows);
}

/* The newest day with a row of the user is written again, so that the name outlives the user over restarts, too. */
void sl__accounting_renamed(struct sl_users *u, const char *id, const char *name)
{
	remember(u, id, name);
	SL_LIST_EACH_BACK(struct sl__day, d, &u->days, link)
		for (size_t i = 0; i < d->count; i++)
			if (!strcmp(d->row[i].user, id)) {
				d->unsaved = true;
				return;
			}
}

static void destroy(struct sl__day *d)
{
	sl_list_unlink(&d->link);
	free(d->row);
	free(d);
}

void sl_accounting_save(struct sl_users *u, bool now)
{
	int64_t time = (int64_t)sl_time_now_ms();
	int oldest = sl_accounting_today() - SL_ACCOUNTING_DAYS;
	char id[16];
	SL_LIST_EACH(struct sl__day, d, &u->days, link) {
		if (d->day <= oldest) {
			sl_db_remove(u->db, SL_DB_ACCOUNTING, day_text(d->day, id), NULL, NULL);
			destroy(d);
			continue;
		}
		bool due = now || time < d->saved_ms || time >= d->saved_ms + SL_ACCOUNTING_SAVE_MS;
		json_t *document = d->unsaved && due ? document_of(u, d) : NULL;
		if (document && !sl_db_put(u->db, SL_DB_ACCOUNTING, day_text(d->day, id), document, NULL, NULL)) {
			d->unsaved = false;
			d->saved_ms = time;
		}
		json_decref(document);
	}
}

static const char *text_at(const json_t *row, size_t i)
{
	const char *text = json_string_value(json_array_get(row, i));
	return text ? text : "";
}

static double number_at(const json_t *row, size_t i)
{
	double number = json_number_value(json_array_get(row, i));
	return number > 0 ? number : 0;
}

int sl__accounting_load(void *arg, const char *id, json_t *document)
{
	struct sl_users *u = arg;
	json_t *row;
	size_t i;
	int day;
	if (!sl_accounting_day(id, &day))
		return SL_DB_PASSED_OVER;
	struct sl__day *d = day_of(u, day);
	json_array_foreach(json_object_get(document, "rows"), i, row) {
		struct row *r = d ? row_in(d, text_at(row, 0), text_at(row, 2)) : NULL;
		if (!r)
			return SL_NOMEM;
		remember(u, r->user, text_at(row, 1)[0] ? text_at(row, 1) : NULL);
		remember(u, r->project, text_at(row, 3)[0] ? text_at(row, 3) : NULL);
		r->seconds = number_at(row, 4);
		r->jobs = number_at(row, 5);
		r->bytes = number_at(row, 6);
		r->allocation_s = number_at(row, 7);  /* 0 in records of older versions */
		r->gpu_s = number_at(row, 8);
	}
	return 0;
}

void sl__accounting_destroy(struct sl_users *u)
{
	SL_LIST_EACH(struct sl__day, d, &u->days, link)
		destroy(d);
	for (int i = 0; i < SL__NAMED_BUCKETS; i++)
		SL_LIST_EACH(struct sl__named, n, &u->named[i], link) {
			sl_list_unlink(&n->link);
			free(n);
		}
}

/* ---- queries ----------------------------------------------------------------------------------- */

struct sum {
	int day;
	struct row row;
};

static int compare(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	int by = x->day != y->day ? (x->day < y->day ? -1 : 1) : strcmp(x->row.user, y->row.user);
	return by ? by : strcmp(x->row.project, y->row.project);
}

static json_t *sum_json(const struct sl_users *u, const struct sl_accounting_query *q, const struct sum *s)
{
	char day[16];
	const struct row *r = &s->row;
	return json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:f, s:f, s:f, s:I, s:f}", "day",
			 q->by_day ? day_text(s->day, day) : NULL, "user", name_of(u, r->user), "user_id",
			 r->user[0] ? r->user : NULL, "project", name_of(u, r->project), "project_id",
			 r->project[0] ? r->project : NULL, "device_seconds", r->seconds,
			 "allocation_seconds", r->allocation_s, "gpu_seconds", r->gpu_s, "jobs", (json_int_t)r->jobs,
			 "disk_byte_days", r->bytes);
}

static bool wanted(const struct sl_accounting_query *q, const struct row *r)
{
	return (!q->user || !strcmp(q->user, r->user)) && (!q->project || !strcmp(q->project, r->project));
}

json_t *sl_accounting_rows(const struct sl_users *u, const struct sl_accounting_query *q)
{
	size_t count = 0, room = 0;
	SL_LIST_EACH(const struct sl__day, d, &u->days, link)
		room += d->day >= q->from && d->day <= q->to ? d->count : 0;
	struct sum *all = calloc(room + 1, sizeof *all);
	json_t *rows = all ? json_array() : NULL;
	SL_LIST_EACH(const struct sl__day, d, &u->days, link)
		for (size_t i = 0; all && i < d->count && d->day >= q->from && d->day <= q->to; i++) {
			struct sum s = {q->by_day ? d->day : 0, d->row[i]};
			if (!wanted(q, &s.row))
				continue;
			if (!q->by_user)
				s.row.user[0] = '\0';
			if (!q->by_project)
				s.row.project[0] = '\0';
			all[count++] = s;
		}
	if (count)
		qsort(all, count, sizeof *all, compare);
	for (size_t i = 0; i < count;) {
		struct sum s = all[i++];
		for (; i < count && !compare(&s, &all[i]); i++) {
			s.row.seconds += all[i].row.seconds;
			s.row.allocation_s += all[i].row.allocation_s;
			s.row.gpu_s += all[i].row.gpu_s;
			s.row.jobs += all[i].row.jobs;
			s.row.bytes += all[i].row.bytes;
		}
		json_array_append_new(rows, sum_json(u, q, &s));
	}
	free(all);
	return rows;
}
