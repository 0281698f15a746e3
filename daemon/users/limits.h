/* limits.h -- limits of users and projects on device time, memory, disk, jobs, requests and streams.
 *
 * Each limit has a default for all users, an option of the configuration, and may have a value for one user, which is
 * in the user's record. 0 is no limit. Administrators have none, and without token_file nobody has. A project has the
 * first SL_LIMITS_SHARED of them, without defaults: they hold for all jobs and graphs of the project together. These
 * count for their user as well. An account is the id of a user or of a project.
 *
 * Device time is counted here, by the hour, for the last 24 hours, and recorded every few seconds. Other quantities
 * are counted where they are used: jobs and graphs in jobs/queue/limits.c, requests and streams in http/. All
 * functions: loop thread. */
#ifndef SL_LIMITS_H
#define SL_LIMITS_H

#include "daemon/users/users.h"

enum sl_limit {
	SL_LIMIT_DEVICE_SECONDS,   /* in 24 hours */
	SL_LIMIT_DEVICE_BYTES,     /* of jobs that have a place */
	SL_LIMIT_DISK_BYTES,       /* of graphs owned and jobs submitted */
	SL_LIMIT_QUEUED_JOBS,      /* queued or paused */
	SL_LIMIT_RUNNING_JOBS,     /* that have a place */
	SL_LIMITS_SHARED,          /* those above are of projects, too */
	SL_LIMIT_UPLOAD_BYTES = SL_LIMITS_SHARED,  /* of one body */
	SL_LIMIT_REQUESTS,         /* a second */
	SL_LIMIT_STREAMS,          /* open at once */
	SL_LIMITS,
};

extern const char *const sl_limit_names[];  /* "device_seconds", ...; NULL-terminated */

/* A limit that something would exceed. */
struct sl_limit_hit {
	enum sl_limit limit;
	double most, used, more;   /* more: what it would take beside what is used */
	int retry_s;               /* when to try again; 0: nobody knows */
	char project[64];          /* whose limit it is; "": the user's */
};

/* The account's limit; 0: none. account: an id, "" for nobody. */
double sl_users_limit(const struct sl_users *u, const char *account, enum sl_limit limit);
/* How many of `most` things that all users share this account may have: a quarter, at least one; administrators, and
 * whoever needs no token: all. So one user leaves room for others, whatever the configuration says. */
int64_t sl_users_part(const struct sl_users *u, const char *account, int64_t most);
/* Has any account a limit? */
bool sl_users_any_limit(const struct sl_users *u);
/* Would `more` beside `used` exceed it? Then *hit is filled. */
bool sl_users_exceeds(const struct sl_users *u, const char *account, enum sl_limit limit, double used, double more,
		      struct sl_limit_hit *hit);
/* The status of the refusal, and a sentence about it. Returns out. */
int sl_limit_status(enum sl_limit limit);
char *sl_limit_text(const struct sl_limit_hit *hit, char *out, size_t bytes);

/* Device time that the account has had. */
void sl_users_charge(struct sl_users *u, const char *account, double seconds);
/* ... in the last 24 hours. */
double sl_users_device_seconds(const struct sl_users *u, const char *account);
/* Has all of it been used? */
bool sl_users_device_time_is_over(const struct sl_users *u, const char *account, struct sl_limit_hit *hit);
/* Records what has changed, each account every few seconds; now: all, since the server stops. */
void sl_users_save_usage(struct sl_users *u, bool now);

/* One more request; false: too many a second. */
bool sl_users_admit(struct sl_users *u, const char *user, struct sl_limit_hit *hit);

/* {"device_seconds": 3600, ..., "streams": null}: those in force, null for none; own: those of the user alone, null for
 * the default. New reference; NULL: there is no such user. */
json_t *sl_users_limits_json(const struct sl_users *u, const char *user, bool own);

#endif
