/* Limits of users, the device time that they have had, and the rate of their requests (a token bucket). */
#include "daemon/users/limits.h"

#include <math.h>
#include <string.h>

#include "daemon/users/users_internal.h"
#include "daemon/util/time_text.h"

#define HOUR_MS 3600000
#define SAVE_EVERY_MS 5000
#define QUEUE_RETRY_S 10
#define MOST 1e15        /* what a limit may be; a double holds such numbers exactly */

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

static double limit_of(const struct sl_users *u, const struct sl__user *user, enum sl_limit limit)
{
	if (user->role == SL_ROLE_ADMINISTRATOR)
		return 0;
	return user->limit[limit] >= 0 ? user->limit[limit] : initial(u->config, limit);
}

double sl_users_limit(const struct sl_users *u, const char *user, enum sl_limit limit)
{
	const struct sl__user *known = user[0] ? sl__user_by_id(u, user) : NULL;
	return known ? limit_of(u, known, limit) : 0;
}

bool sl_users_any_limit(const struct sl_users *u)
{
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		for (int i = 0; i < SL_LIMITS; i++)
			if (limit_of(u, user, (enum sl_limit)i) > 0)
				return true;
	return false;
}

static int retry_of(enum sl_limit limit)
{
	return limit == SL_LIMIT_QUEUED_JOBS ? QUEUE_RETRY_S : limit == SL_LIMIT_REQUESTS ? 1 : 0;
}

bool sl_users_exceeds(const struct sl_users *u, const char *user, enum sl_limit limit, double used, double more,
		      struct sl_limit_hit *hit)
{
	double most = sl_users_limit(u, user, limit);
	if (most <= 0 || used + more <= most)
		return false;
	*hit = (struct sl_limit_hit){limit, most, used, more, retry_of(limit)};
	return true;
}

int sl_limit_status(enum sl_limit limit)
{
	bool size = limit == SL_LIMIT_DEVICE_BYTES || limit == SL_LIMIT_DISK_BYTES || limit == SL_LIMIT_UPLOAD_BYTES;
	return size ? 413 : 429;
}

char *sl_limit_text(const struct sl_limit_hit *hit, char *out, size_t bytes)
{
	const char *name = sl_limit_names[hit->limit];
	if (hit->limit == SL_LIMIT_UPLOAD_BYTES)
		snprintf(out, bytes, "your limit %s is %.15g for one upload; this one has %.15g or more", name, hit->most,
			 hit->more);
	else if (hit->limit == SL_LIMIT_DEVICE_SECONDS)
		snprintf(out, bytes, "your limit %s is %.15g in 24 hours, and you have used %.6g", name, hit->most, hit->used);
	else if (hit->limit == SL_LIMIT_REQUESTS)
		snprintf(out, bytes, "your limit %s is %.15g", name, hit->most);
	else
		snprintf(out, bytes, "your limit %s is %.15g; you use %.15g, and this would take %.15g more", name, hit->most,
			 hit->used, hit->more);
	return out;
}

/* ---- device time ---------------------------------------------------------------------------- */

static int64_t hour_now(void)
{
	return (int64_t)sl_time_now_ms() / HOUR_MS;
}

static double used_in(const struct sl__user *user, int64_t hour)
{
	return hour > user->hour - SL__HOURS && hour <= user->hour ? user->used_s[hour % SL__HOURS] : 0;
}

static double used_of(const struct sl__user *user)
{
	int64_t now = hour_now();
	double sum = 0;
	for (int64_t hour = now - SL__HOURS + 1; hour <= now; hour++)
		sum += used_in(user, hour);
	return sum;
}

void sl_users_charge(struct sl_users *u, const char *id, double seconds)
{
	struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	int64_t now = hour_now();
	if (!user || !(seconds > 0))
		return;
	for (int64_t hour = user->hour > now - SL__HOURS ? user->hour + 1 : now - SL__HOURS + 1; hour <= now; hour++)
		user->used_s[hour % SL__HOURS] = 0;
	user->hour = now > user->hour ? now : user->hour;  /* a clock that was set back adds to the newest hour */
	user->used_s[user->hour % SL__HOURS] += seconds;
	user->unsaved = true;
}

double sl_users_device_seconds(const struct sl_users *u, const char *id)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	return user ? used_of(user) : 0;
}

/* The oldest hours are forgotten first. */
static int seconds_until_below(const struct sl__user *user, double most)
{
	int64_t now = hour_now();
	double left = used_of(user);
	for (int64_t hour = now - SL__HOURS + 1; hour <= now; hour++) {
		left -= used_in(user, hour);
		if (left < most)
			return (int)(((hour + SL__HOURS) * HOUR_MS - (int64_t)sl_time_now_ms()) / 1000) + 1;
	}
	return SL__HOURS * HOUR_MS / 1000;
}

bool sl_users_device_time_is_over(const struct sl_users *u, const char *id, struct sl_limit_hit *hit)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	double most = user ? limit_of(u, user, SL_LIMIT_DEVICE_SECONDS) : 0, used = most > 0 ? used_of(user) : 0;
	if (most <= 0 || used < most)
		return false;
	*hit = (struct sl_limit_hit){SL_LIMIT_DEVICE_SECONDS, most, used, 0, seconds_until_below(user, most)};
	return true;
}

/* ---- records -------------------------------------------------------------------------------- */

void sl_users_save_usage(struct sl_users *u, bool now)
{
	int64_t time = (int64_t)sl_time_now_ms();
	SL_LIST_EACH(struct sl__user, user, &u->all, link) {
		if (!user->unsaved || (!now && time >= user->saved_ms && time < user->saved_ms + SAVE_EVERY_MS))
			continue;
		json_t *hours = json_array();
		for (int i = 0; i < SL__HOURS; i++)
			json_array_append_new(hours, json_real(user->used_s[i]));
		json_t *o = json_pack("{s:I, s:o}", "hour", (json_int_t)user->hour, "seconds", hours);
		if (o && !sl_db_put(u->db, SL_DB_USAGE, user->id, o, NULL, NULL)) {
			user->unsaved = false;
			user->saved_ms = time;
		}
		json_decref(o);
	}
}

int sl__usage_load(void *arg, const char *id, json_t *document)
{
	struct sl__user *user = sl__user_by_id(arg, id);
	const json_t *hours = json_object_get(document, "seconds");
	if (!user)
		return 0;  /* one that is gone */
	user->hour = json_integer_value(json_object_get(document, "hour"));
	for (size_t i = 0; i < SL__HOURS; i++) {
		double seconds = json_number_value(json_array_get(hours, i));
		user->used_s[i] = seconds > 0 ? seconds : 0;
	}
	return 0;
}

void sl__limits_init(struct sl__user *user)
{
	for (int i = 0; i < SL_LIMITS; i++)
		user->limit[i] = -1;
}

static int index_of(const char *name)
{
	for (int i = 0; i < SL_LIMITS; i++)
		if (!strcmp(sl_limit_names[i], name))
			return i;
	return -1;
}

static int unknown(const char *name, struct sl_error *err)
{
	char known[160] = "";
	for (int i = 0; i < SL_LIMITS; i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", sl_limit_names[i]);
	}
	return sl_error_field(err, SL_BADPARAM, "/limits", "there is no limit '%.40s'; there are %s", name, known);
}

int sl__limits_read(struct sl__user *user, const json_t *body, struct sl_error *err)
{
	double fresh[SL_LIMITS];
	const char *name;
	json_t *value;
	if (!body)
		return 0;
	if (!json_is_object(body))
		return sl_error_field(err, SL_BADPARAM, "/limits", "limits must be an object, {\"running_jobs\": 4} "
				      "for example");
	memcpy(fresh, user->limit, sizeof fresh);
	json_object_foreach((json_t *)body, name, value) {
		int i = index_of(name);
		double number = json_is_null(value) ? -1 : json_number_value(value);
		char pointer[64];
		if (i < 0)
			return unknown(name, err);
		snprintf(pointer, sizeof pointer, "/limits/%s", name);
		bool whole = i == SL_LIMIT_DEVICE_SECONDS || i == SL_LIMIT_REQUESTS || number == floor(number);
		if (!json_is_null(value) && (!json_is_number(value) || !(number >= 0 && number <= MOST) || !whole))
			return sl_error_field(err, SL_BADPARAM, pointer, "%s must be a number from 0 (no limit) on, or null "
					      "for the server's default", name);
		fresh[i] = number;
	}
	memcpy(user->limit, fresh, sizeof fresh);
	return 0;
}

static json_t *number_json(double value)
{
	return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

json_t *sl__limits_json(const struct sl__user *user)
{
	json_t *o = json_object();
	for (int i = 0; i < SL_LIMITS; i++)
		json_object_set_new(o, sl_limit_names[i], user->limit[i] < 0 ? json_null() : number_json(user->limit[i]));
	return o;
}

json_t *sl_users_limits_json(const struct sl_users *u, const char *id, bool own)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	if (!user)
		return NULL;
	if (own)
		return sl__limits_json(user);
	json_t *o = json_object();
	for (int i = 0; i < SL_LIMITS; i++) {
		double limit = limit_of(u, user, (enum sl_limit)i);
		json_object_set_new(o, sl_limit_names[i], limit > 0 ? number_json(limit) : json_null());
	}
	return o;
}

/* ---- requests ------------------------------------------------------------------------------- */

bool sl_users_admit(struct sl_users *u, const char *id, struct sl_limit_hit *hit)
{
	struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	double rate = user ? limit_of(u, user, SL_LIMIT_REQUESTS) : 0, room = rate > 0.5 ? 2 * rate : 1;
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
	*hit = (struct sl_limit_hit){SL_LIMIT_REQUESTS, rate, rate, 1, (int)ceil((1 - user->tokens_left) / rate)};
	return false;
}
