/* limits.h -- limits of users and projects on device time, memory, disk, jobs, requests and streams.
 *
 * Each limit has a default for all users, which is an option of the configuration. The record of a user may have
 * another value. 0 means no limit. Administrators have no limits, and without token_file there are none. A project has
 * the first SL_LIMITS_SHARED limits, without defaults; they apply to all jobs and graphs of the project together, which
 * also count for their users. An account is the id of a user or of a project.
 *
 * Device time is counted here, by the hour, for the last 24 hours, and recorded every few seconds. Other quantities are
 * counted where they are used: jobs and graphs in jobs/limits.c and queue/lines.c, requests and streams in http/.
 * All functions: loop thread. */
#ifndef SL_LIMITS_H
#define SL_LIMITS_H

#include "daemon/users/users.h"

enum sl_limit {
	SL_LIMIT_DEVICE_SECONDS,   /* in 24 hours */
	SL_LIMIT_DEVICE_BYTES,     /* of jobs that have a place */
	SL_LIMIT_DISK_BYTES,       /* of the graphs that an account owns and the jobs that it submitted */
	SL_LIMIT_QUEUED_JOBS,      /* queued or paused */
	SL_LIMIT_RUNNING_JOBS,     /* jobs that have a place */
	SL_LIMITS_SHARED,          /* projects have only the limits above */
	SL_LIMIT_UPLOAD_BYTES = SL_LIMITS_SHARED,  /* of one body */
	SL_LIMIT_REQUESTS,         /* a second */
	SL_LIMIT_STREAMS,          /* open at once */
	SL_LIMITS,
	SL_LIMIT_OWNER = SL_LIMITS,  /* no limit: its owner is gone, and somebody must decide */
};

extern const char *const sl_limit_names[];  /* "device_seconds", ...; NULL-terminated */

/* A limit that a request or job would exceed. */
struct sl_limit_hit {
	enum sl_limit limit;
	double bound, used, more;  /* the limit, the amount in use, and the amount that is needed in addition */
	int retry_s;               /* seconds until it is worth trying again; 0: unknown */
	char project[64];          /* the project whose limit it is; "": it is the user's */
	char owner[300];           /* OWNER: "ann was deleted" */
};

/* The account's limit; 0: none. account: an id, "" for nobody. */
double sl_users_limit(const struct sl_users *u, const char *account, enum sl_limit limit);
/* How many of `most` shared resources one account may take: a quarter, but at least one; administrators, and all
 * clients of a server without tokens: all. So one user always leaves room for others. */
int64_t sl_users_part(const struct sl_users *u, const char *account, int64_t most);
/* True if the user (an id) is disabled, deleted or not known: then *hit says so. */
bool sl_users_owner_is_gone(const struct sl_users *u, const char *user, struct sl_limit_hit *hit);
/* True if any account has a limit, or the owner of a job may be gone. */
bool sl_users_any_limit(const struct sl_users *u);
/* True if used + more exceeds the limit; then fills *hit. */
bool sl_users_exceeds(const struct sl_users *u, const char *account, enum sl_limit limit, double used, double more,
		      struct sl_limit_hit *hit);
/* The HTTP status of the refusal; and a sentence about it, written to out, which is returned. */
int sl_limit_status(enum sl_limit limit);
char *sl_limit_text(const struct sl_limit_hit *hit, char *out, size_t bytes);

/* Adds device time that the account has used. */
void sl_users_charge(struct sl_users *u, const char *account, double seconds);
/* The device time that the account has used in the last 24 hours. */
double sl_users_device_seconds(const struct sl_users *u, const char *account);
/* True if the account has used all of its device time. */
bool sl_users_device_time_is_over(const struct sl_users *u, const char *account, struct sl_limit_hit *hit);
/* Records changed device times, at most every few seconds for each account; now: all of them, because the server
 * stops. */
void sl_users_save_usage(struct sl_users *u, bool now);

/* Counts a request; false: the user sends too many a second. */
bool sl_users_admit(struct sl_users *u, const char *user, struct sl_limit_hit *hit);

/* {"device_seconds": 3600, ..., "streams": null}: the limits that apply, null: no limit. own: only the values of this
 * user, null: the default. New reference; NULL: there is no such user. */
json_t *sl_users_limits_json(const struct sl_users *u, const char *user, bool own);
/* {"streams": {"value": 64, "of": "server", "option": "max_streams"}, ...}: those that apply, with the server's own
 * bounds, and whose they are. New reference; null: there is no such user. */
json_t *sl_users_limits_in_force(const struct sl_users *u, const char *user);

#endif
