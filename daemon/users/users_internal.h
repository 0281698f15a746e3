/* users_internal.h -- structures and functions that the files of daemon/users/ share. */
#ifndef SL_USERS_INTERNAL_H
#define SL_USERS_INTERNAL_H

#include "daemon/config/config.h"
#include "daemon/users/limits.h"
#include "daemon/users/users.h"
#include "daemon/util/list.h"
#include "daemon/util/pool.h"

#define SL__TOKEN_HASH 32
#define SL__ACCESS_BUCKETS 1024
#define SL__USER_BUCKETS 1024
#define SL__HOURS 24
#define SL__LINK_BUCKETS 1024
#define SL__NAMED_BUCKETS 256
#define SL__TOKEN_LENGTH (4 + 26 + 1 + 43)  /* "spt_", an id, "_", random characters */

struct sl__user;

/* Ids of users or projects, each once. ids.c */
struct sl__ids {
	char (*at)[SL_ULID_BYTES];
	int count;
};

/* The limits of a user or a project, and the device time that it has used; limits.c. */
struct sl__account {
	const struct sl__user *user;    /* its user; NULL: it belongs to a project */
	const char *project;            /* its name, or NULL */
	double limit[SL_LIMITS];        /* -1: the default */
	double used_s[SL__HOURS];       /* device time, by the hour since 1970 modulo SL__HOURS */
	int64_t hour;                   /* the newest hour in used_s, since 1970 */
	bool unsaved;                   /* used_s has changed */
	int64_t saved_ms;
};

struct sl__token {
	struct sl_link link, by_id;     /* in user->tokens; in its bucket */
	struct sl__user *user;
	char id[SL_ULID_BYTES];
	char *name;                     /* for people; or NULL */
	unsigned char hash[SL__TOKEN_HASH];
	int64_t expires_ms;             /* since 1970; 0: never */
	int64_t used_ms;                /* 0: never; recorded once a minute at most */
};

struct sl__user {
	struct sl_link link;            /* in users->all, by name */
	struct sl_link by_id, by_name;  /* in its buckets */
	char id[SL_ULID_BYTES];
	char name[SL_USER_NAME_BYTES];
	enum sl_role role;
	enum sl_user_state state;
	int64_t since_ms;               /* not ACTIVE: since then */
	bool erase;                     /* DELETED: its things are deleted, too */
	struct sl_list tokens;
	char project[SL_ULID_BYTES];    /* the default project of its jobs and graphs; "": none */
	struct sl__account account;
	double tokens_left;             /* in the token bucket that limits requests, as of admitted_ms */
	int64_t admitted_ms;
};

struct sl__project {
	struct sl_link link;            /* in users->projects, by name */
	char id[SL_ULID_BYTES];
	char name[64];
	double share;
	bool keep;                      /* its jobs are kept (jobs.h) */
	double job_seconds;             /* one job may be running; 0: no limit */
	struct sl__ids members;
	struct sl__account account;
};

/* Ids of users and projects. */
struct sl_rights {
	struct sl__ids owners, readers;
	struct sl__ids projects;        /* projects whose members are readers */
	bool everybody;
};

/* Owners and readers of one thing. */
struct sl__access {
	struct sl_link link;            /* in its bucket */
	char id[SL_ULID_BYTES];
	struct sl_rights rights;
	json_t *paid;                   /* {owner: project}, if it counts for projects; or NULL */
};

struct sl_users {
	struct sl_db *db;
	const struct sl_config *config;
	unsigned char key[SL__TOKEN_HASH];
	struct sl_list all, projects;
	struct sl_list user_ids[SL__USER_BUCKETS], user_names[SL__USER_BUCKETS], tokens[SL__USER_BUCKETS];
	struct sl_list access[SL__ACCESS_BUCKETS];
	struct sl_list links[SL__LINK_BUCKETS], linked[SL__LINK_BUCKETS];  /* by their ids, by their jobs */
	struct sl_list days;            /* accounting.c: struct sl__day, the oldest first */
	struct sl_list named[SL__NAMED_BUCKETS];  /* accounting.c: names of users and projects, also of gone ones */
	struct sl_list changes;         /* changes that are not recorded yet; recorded_changes.c */
	unsigned file;                  /* how often token_file was read with changed tokens */
	bool told_projects;             /* has logged that groups give a project that does not exist */
	bool any_gone;                  /* there may be jobs whose user is not ACTIVE, or is not known */
	uv_loop_t *loop;
	char *audit_path;
	int audit_fd;
	struct sl_list audit_waiting, audit_writing;  /* struct sl__audit_waiter: for the next and the present fsync() */
	struct sl_pool_place audit_work;
	bool audit_busy;
	bool audit_failed;
	double refusals_left;           /* that may be recorded, as of refusals_ms */
	uint64_t refusals_ms;           /* uv_now() */
	int64_t omitted;                /* refusals since the last one that was recorded */
	void (*closed)(void *arg);      /* set by sl_users_close() */
	void *closed_arg;
};

/* find.c */
/* Checks the name of a user, and writes it in its normal form. */
int sl__name_read(const char *name, char out[SL_USER_NAME_BYTES], struct sl_error *err);
/* Names are the same if these are; "": it is no name. */
void sl__name_fold(const char *name, char out[SL_USER_NAME_BYTES]);
struct sl__user *sl__user_by_id(const struct sl_users *u, const char *id);
struct sl__user *sl__user_by_name(const struct sl_users *u, const char *name);
struct sl__user *sl__user_of(const struct sl_users *u, const char *text);  /* by name, else by id; NULL: none */
const char *sl__user_id(const struct sl_users *u, const char *name);  /* NULL: none */
struct sl__project *sl__project_by_id(const struct sl_users *u, const char *id);
struct sl__project *sl__project_by_name(const struct sl_users *u, const char *name);
bool sl__is_member(const struct sl_users *u, const char *project, const char *user);
extern const char *const sl__role_names[];  /* by enum sl_role, NULL-terminated */
enum sl_role sl__role_of(const char *text);  /* NONE: of none */
void sl__user_insert(struct sl_users *u, struct sl__user *user);
void sl__user_take_out(struct sl__user *user);  /* of all lists: before its name changes */
extern const char *const sl__user_states[];  /* by enum sl_user_state */
int sl__name_check(const char *name, struct sl_error *err);  /* of a project */
int sl__user_not_found(const char *name, struct sl_error *err);

/* groups.c */
enum sl_role sl__groups_role(const char *groups, const char *map);  /* the highest; NONE: none */
/* Makes the user a member of the projects of its groups. Returns the number of changes. */
int sl__groups_join(struct sl_users *u, const struct sl__user *user, const char *groups, const char *map);

/* start.c */
void sl__users_end_if_closing(struct sl_users *u);  /* may free u; call it after work on the pool */

/* users.c */
json_t *sl__user_document(const struct sl__user *user);  /* for the data base */
/* Records the user. before (taken): sl__user_document() before the change; NULL: the user is new. */
int sl__user_put(struct sl_users *u, const struct sl__user *user, json_t *before, sl_db_done_fn done, void *arg);
int sl__user_load(void *u, const char *id, json_t *document);
void sl__user_drop(struct sl_users *u, const char *id);
void sl__user_destroy(struct sl__user *user);
struct sl_principal sl__user_principal(const struct sl__user *user);  /* without token and end */

/* recorded_changes.c */
/* Records a change that was made in memory: of the record `before` (taken; NULL: it is new) to `after` (NULL: it is
 * removed). If it cannot be recorded, the change is undone before done (may be NULL) runs with the error. If this
 * function returns an error, done never runs, and the caller undoes the change. */
int sl__record(struct sl_users *u, enum sl_db_table table, const char *id, json_t *before, const json_t *after,
	       sl_db_done_fn done, void *arg);

/* tokens.c */
json_t *sl__token_json(const struct sl__token *t, bool kept);  /* kept: with the hash, for the data base */
int sl__token_load(struct sl_users *u, struct sl__user *user, const json_t *o);
void sl__token_destroy(struct sl__token *t);

/* links.c */
int sl__link_load(void *arg, const char *id, json_t *document);
void sl__link_drop(struct sl_users *u, const char *id);
bool sl__link_identify(const struct sl_users *u, const char *text, struct sl_principal *out);
bool sl__link_still(const struct sl_users *u, const struct sl_principal *p);
/* True if the principal's link shows the column, or with NULL the names. *maker: the link's. */
bool sl__link_shows(const struct sl_users *u, const struct sl_principal *p, const char *column,
		    struct sl_principal *maker);
void sl__links_forget(struct sl_users *u, const char *thing);
/* Links to the thing that `from` made are those of `to` from now on. Returns their number. */
int sl__links_transfer(struct sl_users *u, const char *thing, const char *from, const char *to);
void sl__links_sweep(struct sl_users *u, bool (*exists)(void *arg, const char *id), void *arg);
void sl__links_destroy(struct sl_users *u);

/* access.c */
int sl__access_owned(const struct sl_users *u, const char *user);  /* the number of things that the user owns */
int sl__access_load(void *arg, const char *id, json_t *document);
void sl__access_drop(struct sl_users *u, const char *id);
void sl__access_destroy(struct sl_users *u);
int sl__ids_find(const struct sl__ids *ids, const char *id);  /* its index; -1: not found */
int sl__ids_add(struct sl__ids *ids, const char *id);
void sl__ids_remove(struct sl__ids *ids, const char *id);
json_t *sl__ids_json(const struct sl__ids *ids);
int sl__ids_load(struct sl__ids *ids, const json_t *array);
/* Reads the member `key` of the body, a list of names, if it is there. one: "user" or "project", for errors. id_of:
 * finds the id of a name. */
int sl__ids_read(struct sl__ids *ids, const struct sl_users *u, const json_t *body, const char *key, const char *one,
		 const char *(*id_of)(const struct sl_users *u, const char *name), struct sl_error *err);

/* projects.c */
int sl__project_load(void *arg, const char *id, json_t *document);
void sl__project_drop(struct sl_users *u, const char *id);
void sl__projects_destroy(struct sl_users *u);
/* Adds the members "project" (the default one) and "projects" to a reply about a user. */
void sl__add_projects(const struct sl_users *u, const struct sl__user *user, json_t *o);
void sl__projects_forget_user(struct sl_users *u, const char *user);

/* limits.c */
void sl__account_init(struct sl__account *a, const struct sl__user *user, const char *project);
/* The account of a user or project; NULL: there is none. */
struct sl__account *sl__account_of(const struct sl_users *u, const char *id);
void sl__account_take_usage(struct sl__account *a, const struct sl__account *from);
/* body: {"device_seconds": 3600, "streams": null, ...}. After an error nothing has changed. */
int sl__limits_read(struct sl__account *a, const json_t *body, struct sl_error *err);
json_t *sl__limits_json(const struct sl__account *a);
int sl__usage_load(void *arg, const char *id, json_t *document);

/* accounting.c */
int sl__accounting_load(void *arg, const char *id, json_t *document);
void sl__accounting_renamed(struct sl_users *u, const char *id, const char *name);
void sl__accounting_destroy(struct sl_users *u);

/* audit.c */
void sl__audit_open(struct sl_users *u, const char *state_dir);

#endif
