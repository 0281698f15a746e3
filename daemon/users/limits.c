/* Limits of users and projects, their used device time, and the rate of their requests (a token bucket). */
#include "daemon/users/limits.h"

#include <math.h>
#include <string.h>

#include "core/meant.h"
#include "daemon/users/accounting.h"
#include "daemon/users/users_internal.h"
#include "daemon/util/seen.h"
#include "daemon/util/time_text.h"

#define HOUR_MS 3600000
#define SAVE_EVERY_MS 5000
#define QUEUE_RETRY_S 10
#define RETRY_MOST_S 86400  /* longest Retry-After, for limits below one request per day */
#define MOST 1e15        /* the greatest limit; a double represents such integers exactly */

const char *const sl_limit_names[] = {"device_seconds", "device_bytes", "disk_bytes", "queued_jobs", "running_jobs",
				      "upload_bytes", "requests_per_second", "streams", NULL};

static double initial(const struct sl_config *c, enum sl_limit limit)
{
	switch (limit) {
	case SL_LIMIT_DEVICE_SECONDS:
		return c->user_device_seconds;
	case SL_LIMIT_DEVICE_BYTES:
		return (double)c->user_device_bytes;
	case SL_LIMIT_DISK_BYTES:
		return (double)c->user_disk_bytes;
	case SL_LIMIT_QUEUED_JOBS:
		return (double)c->user_queued_jobs;
	case SL_LIMIT_RUNNING_JOBS:
		return (double)c->user_running_jobs;
	case SL_LIMIT_UPLOAD_BYTES:
		return (double)c->user_upload_bytes;
	case SL_LIMIT_REQUESTS:
		return c->user_requests_per_second;
	default:
		return (double)c->user_streams;
	}
}

static double limit_of(const struct sl_users *u, const struct sl__account *a, enum sl_limit limit)
{
	if (a->user && a->user->role == SL_ROLE_ADMINISTRATOR)
		return 0;
	return a->limit[limit] >= 0 ? a->limit[limit] : a->user ? initial(u->config, limit) : 0;
}

struct sl__account *sl__account_of(const struct sl_users *u, const char *id)
{
	struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	struct sl__project *project = id[0] && !user ? sl__project_by_id(u, id) : NULL;
	return user ? &user->account : project ? &project->account : NULL;
}

double sl_users_limit(const struct sl_users *u, const char *account, enum sl_limit limit)
{
	const struct sl__account *a = sl__account_of(u, account);
	return a ? limit_of(u, a, limit) : 0;
}

int64_t sl_users_part(const struct sl_users *u, const char *account, int64_t bound)
{
	const struct sl__account *a = sl__account_of(u, account);
	if (!a || (a->user && a->user->role == SL_ROLE_ADMINISTRATOR))
		return bound;
	return bound > 4 ? bound / 4 : 1;
}

static bool has_limit(const struct sl_users *u, const struct sl__account *a)
{
	for (int i = 0; i < SL_LIMITS; i++)
		if (limit_of(u, a, (enum sl_limit)i) > 0)
			return true;
	return false;
}

bool sl_users_any_limit(const struct sl_users *u)
{
	if (u->any_gone)
		return true;
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		if (has_limit(u, &user->account))
			return true;
	SL_LIST_EACH(struct sl__project, project, &u->projects, link)
		if (has_limit(u, &project->account))
			return true;
	return false;
}

static int retry_of(enum sl_limit limit)
{
	return limit == SL_LIMIT_QUEUED_JOBS ? QUEUE_RETRY_S : limit == SL_LIMIT_REQUESTS ? 1 : 0;
}

static void fill_hit(struct sl_limit_hit *hit, const struct sl__account *a, enum sl_limit limit, double bound,
		     double used, double more, int retry_s)
{
	*hit = (struct sl_limit_hit){.limit = limit, .bound = bound, .used = used, .more = more, .retry_s = retry_s};
	snprintf(hit->project, sizeof hit->project, "%s", a->project ? a->project : "");
}

bool sl_users_owner_is_gone(const struct sl_users *u, const char *id, struct sl_limit_hit *hit)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	if (!id[0] || (user && user->state == SL_USER_ACTIVE))
		return false;
	*hit = (struct sl_limit_hit){.limit = SL_LIMIT_OWNER};
	snprintf(hit->owner, sizeof hit->owner, "%s %s", user ? user->name : id, !user ? "is not known any more" :
		 user->state == SL_USER_DISABLED ? "is disabled" : "was deleted");
	return true;
}

bool sl_users_exceeds(const struct sl_users *u, const char *account, enum sl_limit limit, double used, double more,
		      struct sl_limit_hit *hit)
{
	const struct sl__account *a = sl__account_of(u, account);
	double bound = a ? limit_of(u, a, limit) : 0;
	if (bound <= 0 || used + more <= bound)
		return false;
	fill_hit(hit, a, limit, bound, used, more, retry_of(limit));
	return true;
}

int sl_limit_status(enum sl_limit limit)
{
	bool size = limit == SL_LIMIT_DEVICE_BYTES || limit == SL_LIMIT_DISK_BYTES || limit == SL_LIMIT_UPLOAD_BYTES;
	return size ? 413 : 429;
}

char *sl_limit_text(const struct sl_limit_hit *hit, char *out, size_t bytes)
{
	if (hit->limit == SL_LIMIT_OWNER) {
		snprintf(out, bytes, "its owner %s; an administrator cancels it, transfers it to somebody, or lets the owner "
			 "in again", hit->owner);
		return out;
	}
	const char *name = sl_limit_names[hit->limit], *who = hit->project[0] ? "its members" : "you";
	char whose[160];
	if (hit->project[0])
		snprintf(whose, sizeof whose, "the limit %s of project %s", name, hit->project);
	else
		snprintf(whose, sizeof whose, "your limit %s", name);
	if (hit->limit == SL_LIMIT_UPLOAD_BYTES)
		snprintf(out, bytes, "%s is %.15g for one upload; this one has %.15g or more", whose, hit->bound, hit->more);
	else if (hit->limit == SL_LIMIT_DEVICE_SECONDS)
		snprintf(out, bytes, "%s is %.15g in 24 hours, and %s have used %.6g", whose, hit->bound, who, hit->used);
	else if (hit->limit == SL_LIMIT_REQUESTS)
		snprintf(out, bytes, "%s is %.15g", whose, hit->bound);
	else
		snprintf(out, bytes, "%s is %.15g; %s use %.15g, and this would take %.15g more", whose, hit->bound, who,
			 hit->used, hit->more);
	return out;
}

/* ---- device time ---------------------------------------------------------------------------- */

static int64_t hour_now(void)
{
	return (int64_t)sl_seen_now_ms() / HOUR_MS;
}

/* If the clock was set back, time that was used in hours to come counts as used up to now. */
static void move_back(struct sl__account *a, int64_t now)
{
	double used_s[SL__HOURS];
	if (a->hour <= now)
		return;
	for (int64_t ago = 0; ago < SL__HOURS; ago++)
		used_s[(now + SL__HOURS - ago) % SL__HOURS] = a->used_s[(a->hour - ago) % SL__HOURS];
	memcpy(a->used_s, used_s, sizeof used_s);
	a->hour = now;
	a->unsaved = true;
}

static double used_in(const struct sl__account *a, int64_t hour)
{
	return hour > a->hour - SL__HOURS && hour <= a->hour ? a->used_s[hour % SL__HOURS] : 0;
}

static double used_of(struct sl__account *a)
{
	int64_t now = hour_now();
	double sum = 0;
	move_back(a, now);
	for (int64_t hour = now - SL__HOURS + 1; hour <= now; hour++)
		sum += used_in(a, hour);
	return sum;
}

void sl_users_charge(struct sl_users *u, const char *account, double seconds)
{
	struct sl__account *a = sl__account_of(u, account);
	int64_t now = hour_now();
	if (!a || !(seconds > 0))
		return;
	move_back(a, now);
	for (int64_t hour = a->hour > now - SL__HOURS ? a->hour + 1 : now - SL__HOURS + 1; hour <= now; hour++)
		a->used_s[hour % SL__HOURS] = 0;
	a->hour = now;
	a->used_s[a->hour % SL__HOURS] += seconds;
	a->unsaved = true;
}

double sl_users_device_seconds(const struct sl_users *u, const char *account)
{
	struct sl__account *a = sl__account_of(u, account);
	return a ? used_of(a) : 0;
}

/* Returns the seconds until enough of the oldest hours have left the window of 24 hours. */
static int seconds_until_below(struct sl__account *a, double bound)
{
	int64_t now = hour_now();
	double left = used_of(a);
	for (int64_t hour = now - SL__HOURS + 1; hour <= now; hour++) {
		left -= used_in(a, hour);
		if (left < bound)
			return (int)(((hour + SL__HOURS) * HOUR_MS - (int64_t)sl_seen_now_ms()) / 1000) + 1;
	}
	return SL__HOURS * HOUR_MS / 1000;
}

bool sl_users_device_time_is_over(const struct sl_users *u, const char *account, struct sl_limit_hit *hit)
{
	struct sl__account *a = sl__account_of(u, account);
	double bound = a ? limit_of(u, a, SL_LIMIT_DEVICE_SECONDS) : 0, used = bound > 0 ? used_of(a) : 0;
	if (bound <= 0 || used < bound)
		return false;
	fill_hit(hit, a, SL_LIMIT_DEVICE_SECONDS, bound, used, 0, seconds_until_below(a, bound));
	return true;
}

/* ---- records -------------------------------------------------------------------------------- */

static void save_usage(struct sl_users *u, struct sl__account *a, const char *id, bool now)
{
	int64_t time = (int64_t)sl_time_now_ms();
	if (!a->unsaved || (!now && time >= a->saved_ms && time < a->saved_ms + SAVE_EVERY_MS))
		return;
	json_t *hours = json_array();
	for (int i = 0; i < SL__HOURS; i++)
		json_array_append_new(hours, json_real(a->used_s[i]));
	json_t *o = json_pack("{s:I, s:o}", "hour", (json_int_t)a->hour, "seconds", hours);
	if (o && !sl_db_put(u->db, SL_DB_USAGE, id, o, NULL, NULL)) {
		a->unsaved = false;
		a->saved_ms = time;
	}
	json_decref(o);
}

void sl_users_save_usage(struct sl_users *u, bool now)
{
	sl_accounting_save(u, now);
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		save_usage(u, &user->account, user->id, now);
	SL_LIST_EACH(struct sl__project, project, &u->projects, link)
		save_usage(u, &project->account, project->id, now);
}

int sl__usage_load(void *arg, const char *id, json_t *document)
{
	struct sl__account *a = sl__account_of(arg, id);
	const json_t *hours = json_object_get(document, "seconds");
	if (!a)
		return 0;  /* the user or project was removed */
	a->hour = json_integer_value(json_object_get(document, "hour"));
	for (size_t i = 0; i < SL__HOURS; i++) {
		double seconds = json_number_value(json_array_get(hours, i));
		a->used_s[i] = seconds > 0 ? seconds : 0;
	}
	return 0;
}

void sl__account_init(struct sl__account *a, const struct sl__user *user, const char *project)
{
	a->user = user;
	a->project = project;
	for (int i = 0; i < SL_LIMITS; i++)
		a->limit[i] = -1;
}

void sl__account_take_usage(struct sl__account *a, const struct sl__account *from)
{
	memcpy(a->used_s, from->used_s, sizeof a->used_s);
	a->hour = from->hour;
	a->unsaved = from->unsaved;
	a->saved_ms = from->saved_ms;
}

static int limits_of(const struct sl__account *a)
{
	return a->user ? SL_LIMITS : SL_LIMITS_SHARED;
}

static int unknown(const struct sl__account *a, const char *name, struct sl_error *err)
{
	char known[160] = "";
	for (int i = 0; i < limits_of(a); i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", sl_limit_names[i]);
	}
	return sl_error_field(err, SL_BADPARAM, "/limits", "there is no limit '%.40s'%s; there are %s", name,
			      a->user ? "" : " of a project", known);
}

int sl__limits_read(struct sl__account *a, const json_t *body, struct sl_error *err)
{
	double fresh[SL_LIMITS];
	const char *name;
	json_t *value;
	if (!body)
		return 0;
	if (!json_is_object(body))
		return sl_error_field(err, SL_BADPARAM, "/limits", "limits must be an object, {\"running_jobs\": 4} "
				      "for example");
	memcpy(fresh, a->limit, sizeof fresh);
	json_object_foreach((json_t *)body, name, value) {
		int i = sl_word_index(sl_limit_names, limits_of(a), name);
		double number = json_is_null(value) ? -1 : json_number_value(value);
		char pointer[64];
		if (i < 0)
			return unknown(a, name, err);
		snprintf(pointer, sizeof pointer, "/limits/%s", name);
		bool whole = i == SL_LIMIT_DEVICE_SECONDS || i == SL_LIMIT_REQUESTS || number == floor(number);
		if (!json_is_null(value) && (!json_is_number(value) || !(number >= 0 && number <= MOST) || !whole))
			return sl_error_field(err, SL_BADPARAM, pointer, "%s must be a number from 0 (no limit) on, or null "
					      "for %s", name, a->user ? "the server's default" : "none");
		fresh[i] = number;
	}
	memcpy(a->limit, fresh, sizeof fresh);
	return 0;
}

static json_t *number_json(double value)
{
	return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

json_t *sl__limits_json(const struct sl__account *a)
{
	json_t *o = json_object();
	for (int i = 0; i < limits_of(a); i++)
		json_object_set_new(o, sl_limit_names[i], a->limit[i] < 0 ? json_null() : number_json(a->limit[i]));
	return o;
}

json_t *sl_users_limits_json(const struct sl_users *u, const char *id, bool own)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	if (!user)
		return NULL;
	if (own)
		return sl__limits_json(&user->account);
	json_t *o = json_object();
	for (int i = 0; i < SL_LIMITS; i++) {
		double limit = limit_of(u, &user->account, (enum sl_limit)i);
		json_object_set_new(o, sl_limit_names[i], limit > 0 ? number_json(limit) : json_null());
	}
	return o;
}

/* The bound that options of the server set to every user, whatever the user's limits; 0: none. */
static double server_bound(const struct sl_users *u, const char *id, enum sl_limit limit, const char **option)
{
	const struct sl_config *c = u->config;
	switch (limit) {
	case SL_LIMIT_UPLOAD_BYTES:
		*option = "max_upload_bytes";
		return (double)c->max_upload_bytes;
	case SL_LIMIT_QUEUED_JOBS:
		*option = "max_jobs";
		return (double)sl_users_part(u, id, c->max_jobs);
	case SL_LIMIT_STREAMS:
		*option = "max_streams";
		return (double)sl_users_part(u, id, c->max_streams);
	default:
		return 0;
	}
}

static json_t *in_force(const struct sl_users *u, const struct sl__user *user, enum sl_limit limit)
{
	char usual[64];
	const char *option = NULL;
	double value = limit_of(u, &user->account, limit), bound = server_bound(u, user->id, limit, &option);
	bool own = user->role != SL_ROLE_ADMINISTRATOR && user->account.limit[limit] >= 0;
	bool server = bound > 0 && (value <= 0 || bound < value);
	if (server)
		value = bound;
	else
		option = usual;
	snprintf(usual, sizeof usual, "user_%s", sl_limit_names[limit]);
	if (value <= 0)
		return json_pack("{s:n, s:s?, s:n}", "value", "of", own ? "user" : NULL, "option");
	own = own && !server;
	return json_pack("{s:o, s:s, s:s?}", "value", number_json(value), "of", own ? "user" : "server", "option",
			 own ? NULL : option);
}

json_t *sl_users_limits_in_force(const struct sl_users *u, const char *id)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	if (!user)
		return json_null();
	json_t *o = json_object();
	for (int i = 0; i < SL_LIMITS; i++)
		json_object_set_new(o, sl_limit_names[i], in_force(u, user, (enum sl_limit)i));
	return o;
}

/* ---- requests ------------------------------------------------------------------------------- */

bool sl_users_admit(struct sl_users *u, const char *id, struct sl_limit_hit *hit)
{
	struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	double rate = user ? limit_of(u, &user->account, SL_LIMIT_REQUESTS) : 0, room = rate > 0.5 ? 2 * rate : 1;
	int64_t now = (int64_t)sl_time_now_ms();
	if (rate <= 0)
		return true;
	double seconds = user->admitted_ms ? (double)(now - user->admitted_ms) / 1000 : INFINITY;
	user->admitted_ms = now;
	user->tokens_left = fmin(user->tokens_left + fmax(seconds, 0) * rate, room);
	if (user->tokens_left >= 1) {
		user->tokens_left--;
		return true;
	}
	double wait = ceil((1 - user->tokens_left) / rate);
	fill_hit(hit, &user->account, SL_LIMIT_REQUESTS, rate, rate, 1, (int)fmin(wait, RETRY_MOST_S));
	return false;
}
