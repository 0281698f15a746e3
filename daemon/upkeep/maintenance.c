/* Both announcements are documents of the settings; this file reads, checks and words them. Nothing is scheduled: jobs
 * look once a second whether the drain is due. */
#include "daemon/upkeep/maintenance.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/json/json.h"
#include "daemon/upkeep/settings.h"
#include "daemon/util/log.h"
#include "daemon/util/metrics.h"
#include "daemon/util/time_text.h"

#define DRAIN "drain"
#define BANNER "banner"
#define TEXT_BYTES 300
#define SECONDS_MOST (366 * 86400)
#define PAST_MS 60000              /* clocks of clients differ by no more; what is earlier is a mistake */

struct sl_maintenance {
	struct sl_settings *settings;
	char why[2 * TEXT_BYTES];
	char *notice;             /* JSON, or NULL */
	struct sl_metric *metric_drains, *metric_seconds;
};

static uint64_t ms_of(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? text : "";
}

/* ---- what holds now ----------------------------------------------------------------------- */

bool sl_maintenance_drains(const struct sl_maintenance *m)
{
	return m && sl_settings_get(m->settings, DRAIN);
}

bool sl_maintenance_is_due(const struct sl_maintenance *m)
{
	const json_t *drain = m ? sl_settings_get(m->settings, DRAIN) : NULL;
	uint64_t by_ms = ms_of(drain, "by");
	return drain && by_ms && sl_time_now_ms() >= by_ms;
}

/* The banner, unless its time is over. */
static const json_t *banner_of(const struct sl_maintenance *m)
{
	const json_t *banner = sl_settings_get(m->settings, BANNER);
	uint64_t until_ms = ms_of(banner, "until");
	return banner && until_ms && sl_time_now_ms() >= until_ms ? NULL : banner;
}

static void word(struct sl_maintenance *m)
{
	const json_t *drain = sl_settings_get(m->settings, DRAIN);
	const char *reason = text_of(drain, "reason");
	char by[SL_TIME_BYTES + 4] = "", time[SL_TIME_BYTES];
	uint64_t by_ms = ms_of(drain, "by");
	if (by_ms)
		snprintf(by, sizeof by, "%.10s %.5s UTC", sl_time_text(by_ms, time), time + 11);
	snprintf(m->why, sizeof m->why, "The server is drained for maintenance: no new jobs are taken, and those that wait "
		 "do not start; running ones %s%s.%s%s", by_ms ? "are saved at " : "finish", by, *reason ? " " : "", reason);
}

const char *sl_maintenance_why(const struct sl_maintenance *m)
{
	return m->why;
}

const char *sl_maintenance_notice(struct sl_maintenance *m)
{
	const json_t *banner = m ? banner_of(m) : NULL;
	bool drains = sl_maintenance_drains(m);
	if (!banner && !drains)
		return NULL;
	json_t *text = json_sprintf("%s%s%s", text_of(banner, "text"), banner && drains ? " " : "", drains ? m->why : "");
	char *json = text ? json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
	json_decref(text);
	free(m->notice);
	return m->notice = json;
}

json_t *sl_maintenance_json(struct sl_maintenance *m)
{
	const json_t *drain = sl_settings_get(m->settings, DRAIN), *banner = banner_of(m);
	const char *notice = sl_maintenance_notice(m);
	json_t *o = json_object();
	json_object_set_new(o, "drain", !drain ? json_null() : json_pack("{s:o, s:o, s:s, s:s, s:b}", "since",
			    sl_json_time(ms_of(drain, "since")), "by", sl_json_time(ms_of(drain, "by")), "reason",
			    text_of(drain, "reason"), "who", text_of(drain, "who"), "due", sl_maintenance_is_due(m)));
	json_object_set_new(o, "banner", !banner ? json_null() : json_pack("{s:s, s:o, s:o}", "text",
			    text_of(banner, "text"), "since", sl_json_time(ms_of(banner, "since")), "until",
			    sl_json_time(ms_of(banner, "until"))));
	json_object_set_new(o, "notice", notice ? json_loads(notice, JSON_DECODE_ANY, NULL) : json_null());
	return o;
}

/* ---- changes ------------------------------------------------------------------------------- */

/* Reads a time: RFC 3339 in UTC, or a number of seconds from now on. *ms 0: not given. */
static int read_time(const json_t *body, const char *key, uint64_t *ms, struct sl_error *err)
{
	const json_t *value = json_object_get(body, key);
	const char *text = json_string_value(value), *end;
	double seconds = json_number_value(value);
	struct tm tm = {0};
	char pointer[32];
	snprintf(pointer, sizeof pointer, "/%s", key);
	*ms = 0;
	if (!value || json_is_null(value))
		return 0;
	if (json_is_number(value) && seconds >= 0 && seconds <= SECONDS_MOST) {
		*ms = sl_time_now_ms() + (uint64_t)(seconds * 1e3);
		return 0;
	}
	if (text && (end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))) {
		end += strspn(end, ".0123456789");
		time_t at = timegm(&tm);
		*ms = at > 0 && !strcmp(end, "Z") ? (uint64_t)at * 1000 : 0;
		if (*ms && *ms + PAST_MS < sl_time_now_ms())
			return sl_error_field(err, SL_BADPARAM, pointer, "%s is over: %s. It must be a time to come, or a "
					      "number of seconds from now, 0 for now", key, text);
		if (*ms)
			return 0;
	}
	return sl_error_field(err, SL_BADPARAM, pointer, "%s must be a number of seconds from now, at most a year, or a "
			      "time as 2026-12-24T18:00:00Z", key);
}

/* Reads a text of one line; *out is borrowed. */
static int read_text(const json_t *body, const char *key, bool needed, const char **out, struct sl_error *err)
{
	char pointer[32];
	snprintf(pointer, sizeof pointer, "/%s", key);
	int rc = sl_json_string(body, key, out, err);
	if (rc)
		return rc;
	bool plain = *out && strlen(*out) <= TEXT_BYTES;
	for (const char *c = plain ? *out : ""; *c; c++)
		plain = plain && (unsigned char)*c >= ' ' && *c != 127;
	if ((*out && !plain) || (needed && (!*out || !**out)))
		return sl_error_field(err, SL_BADPARAM, pointer, "%s must be a text of one line, %s%d bytes at most", key,
				      needed ? "not empty, " : "", TEXT_BYTES);
	return 0;
}

static int put(struct sl_maintenance *m, const char *name, json_t *document, sl_db_done_fn done, void *arg,
	       struct sl_error *err)
{
	int rc = sl_settings_put(m->settings, name, document, done, arg);
	json_decref(document);
	word(m);
	return rc ? sl_error_set(err, rc, "the change cannot be recorded") : 0;
}

int sl_maintenance_drain(struct sl_maintenance *m, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
			 struct sl_error *err)
{
	static const char *const known[] = {"by", "reason", NULL};
	const json_t *now = sl_settings_get(m->settings, DRAIN);
	const char *reason = NULL;
	uint64_t by_ms = 0, since_ms = now ? ms_of(now, "since") : sl_time_now_ms();
	if (!body) {
		sl_log_info("maintenance", "%s ends the drain", who);
		return put(m, DRAIN, NULL, done, arg, err);
	}
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = read_time(body, "by", &by_ms, err);
	if (!rc)
		rc = read_text(body, "reason", false, &reason, err);
	json_t *document = rc ? NULL : json_pack("{s:I, s:I, s:s, s:s}", "since", (json_int_t)since_ms, "by",
						 (json_int_t)by_ms, "reason", reason ? reason : "", "who", who);
	if (!rc && !document)
		rc = sl_error_memory(err, "the drain");
	if (!rc)
		rc = put(m, DRAIN, document, done, arg, err);
	if (!rc)
		sl_log_info("maintenance", "%s drains the server. %s", who, m->why);
	return rc;
}

int sl_maintenance_banner(struct sl_maintenance *m, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
			  struct sl_error *err)
{
	static const char *const known[] = {"text", "until", NULL};
	const char *text = NULL;
	uint64_t until_ms = 0;
	if (!body)
		return put(m, BANNER, NULL, done, arg, err);
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = read_text(body, "text", true, &text, err);
	if (!rc)
		rc = read_time(body, "until", &until_ms, err);
	json_t *document = rc ? NULL : json_pack("{s:s, s:I, s:I, s:s}", "text", text, "since",
						 (json_int_t)sl_time_now_ms(), "until", (json_int_t)until_ms, "who", who);
	if (!rc && !document)
		rc = sl_error_field(err, SL_BADPARAM, "/text", "text must be in UTF-8");
	return rc ? rc : put(m, BANNER, document, done, arg, err);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void collect(void *arg)
{
	struct sl_maintenance *m = arg;
	const json_t *drain = sl_settings_get(m->settings, DRAIN);
	uint64_t since_ms = ms_of(drain, "since"), now_ms = sl_time_now_ms();
	sl_metric_set(m->metric_drains, drain ? 1 : 0);
	sl_metric_set(m->metric_seconds, drain && now_ms > since_ms ? (double)(now_ms - since_ms) / 1e3 : 0);
}

int sl_maintenance_create(struct sl_maintenance **out, uv_loop_t *loop, struct sl_settings *settings,
			  struct sl_metrics *metrics, struct sl_error *err)
{
	struct sl_maintenance *m = *out = calloc(1, sizeof *m);
	if (!m)
		return sl_error_memory(err, "the maintenance");
	m->settings = settings;
	m->metric_drains = sl_metrics_register(metrics, SL_GAUGE, "spaceland_draining", NULL,
					       "1: the server is drained, so it starts no jobs; else 0.");
	m->metric_seconds = sl_metrics_register(metrics, SL_GAUGE, "spaceland_drain_seconds", NULL,
						"Time since the present drain began; 0: there is none.");
	sl_metrics_on_collect(metrics, collect, m);
	word(m);
	if (sl_maintenance_drains(m))
		sl_log_warning("maintenance", "%s End it by: spaceland admin undrain", m->why);
	return 0;
}

void sl_maintenance_destroy(struct sl_maintenance *m)
{
	if (m)
		free(m->notice);
	free(m);
}
