/* users.h -- users, and the rights of requests.
 *
 * A request has a principal: anonymous, an administrator (with a token of token_file), or a user (with one of the
 * user's own tokens). Without token_file no token is needed, and every request is allowed. One function decides rights,
 * from the principal, the verb of the request's route (routes/routes.h) and the thing that the request names. A thing
 * is a graph, job, batch or layout; it has owners and readers. A route without a rule is for administrators.
 *
 * Users and rights are records of the data base. A token is shown only once, when it is made; the server keeps a keyed
 * hash of it (key: STATE_DIR/users.key). All functions: loop thread. */
#ifndef SL_USERS_H
#define SL_USERS_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "core/error.h"
#include "daemon/store/db.h"
#include "daemon/util/ulid.h"

#define SL_TOKEN_PREFIX "spt_"  /* beginning of tokens; four characters */
#define SL_LINK_PREFIX "spl_"   /* beginning of public links */
#define SL_WORKER_TOKEN_PREFIX "spw_"  /* beginning of tokens of workers (worker/tokens.h) */
#define SL_SECRET_BYTES 80      /* of the text of a token, with the 0 */
#define SL_SECRET_HASH_BYTES 32
/* Replaces tokens and links in a text by asterisks. A client that puts one into a path or a name has made a mistake; it
 * must not get into logs or replies. */
void sl_users_mask_tokens(char *text);

#define SL_USER_NAME_BYTES 256  /* longest name of a user, with its end */

/* LINK: a client with a public link (links.h). */
enum sl_role { SL_ROLE_NONE, SL_ROLE_READER, SL_ROLE_USER, SL_ROLE_ADMINISTRATOR, SL_ROLE_LINK };

/* DISABLED: the user stays out, and so do the user's tokens and links. DELETED: the same, without tokens; the record is
 * kept while the user owns things. Things, limits and used time of both stay, and their jobs that have no place wait
 * until an administrator decides (queue/queue.h). */
enum sl_user_state { SL_USER_ACTIVE, SL_USER_DISABLED, SL_USER_DELETED };

struct sl_principal {
	enum sl_role role;            /* NONE: unknown */
	char user[SL_ULID_BYTES];     /* "": an administrator by token_file, or the server needs no tokens */
	char name[SL_USER_NAME_BYTES];  /* for the audit log; "" as above */
	char project[SL_ULID_BYTES];  /* the project for which the request creates a graph or job (projects.h); "": none */
	char account[SL_ULID_BYTES];  /* the user whose limits count (limits.h); "": none */
	char token[SL_ULID_BYTES];    /* id of its token or link; "": a token of token_file */
	char thing[SL_ULID_BYTES];    /* LINK: the job that the link opens */
	int64_t until_ms;             /* when token or link expires, since 1970; 0: never */
	unsigned file;                /* for a token of token_file: number of the reading of that file */
	char token_name[64];          /* the name of its token, for the audit log; "": it has none */
	bool proxy;                   /* a proxy has named the user */
};

/* What people call it: its name, or that of its token. Borrowed. */
const char *sl_principal_called(const struct sl_principal *who);

enum sl_verb {
	SL_VERB_OPEN,     /* allowed for anybody */
	SL_VERB_LOOK,     /* read the state of the server, and lists of things that the principal may read */
	SL_VERB_READ,     /* read one thing */
	SL_VERB_WATCH,    /* the same; also allowed for clients with a link to the job */
	SL_VERB_CREATE,
	SL_VERB_CHANGE,
	SL_VERB_DELETE,
	SL_VERB_MANAGE,   /* only for administrators */
};

/* The kinds of ZeroMQ messages, with the right that each needs: X(kind, verb). A subscriber gets a message if it has
 * the right to the thing whose id is the topic (stream/keys.h). tests/api/test_stream_topics.py reads this list. */
#define SL_TOPIC_RULES(X) \
	X(JOB_FRAME, READ)

enum sl_topic_kind {
#define X(kind, verb) SL_TOPIC_##kind,
	SL_TOPIC_RULES(X)
#undef X
	SL_TOPIC_KINDS,
};
enum sl_verb sl_topic_verb(enum sl_topic_kind kind);

/* The relation of a principal to a thing. */
enum sl_relation { SL_RELATION_NONE, SL_RELATION_READER, SL_RELATION_OWNER };

/* Decides by these values alone: 0, or the HTTP status of the refusal. 404 hides things that the principal may not
 * read. */
int sl_rights_decide(enum sl_role role, enum sl_verb verb, bool thing, enum sl_relation relation);

struct sl_users;

struct sl_config;
/* config: borrowed; its values may change. */
int sl_users_create(struct sl_users **out, uv_loop_t *loop, struct sl_db *db, const struct sl_config *config,
		    const char *state_dir, struct sl_error *err);
/* After the data base is closed: waits until the audit log is on disk, frees, and runs closed. */
void sl_users_close(struct sl_users *u, void (*closed)(void *arg), void *arg);

/* Finds the user of a token. False: there is no such token; or its user is disabled, or it has expired: then *out has
 * only the user's name and, if it has expired, until_ms. */
bool sl_users_identify(struct sl_users *u, const char *token, struct sl_principal *out);

/* Makes the text of a token with this beginning and id, and its keyed hash; and the hash of any text. */
void sl_users_secret_make(const struct sl_users *u, const char *prefix, const char *id, char text[SL_SECRET_BYTES],
			  unsigned char hash[SL_SECRET_HASH_BYTES]);
void sl_users_secret_hash(const struct sl_users *u, const char *text, unsigned char hash[SL_SECRET_HASH_BYTES]);

/* What a proxy says of a user that it has logged in. */
struct sl_proxy_login {
	const char *name;
	const char *role;           /* or NULL */
	const char *groups;         /* a list, separated by commas or semicolons; NULL: groups are not used */
	const char *group_roles, *group_projects;  /* what groups give: "GROUP=ROLE, ...", "GROUP=PROJECT, ..." */
	const char *fresh;          /* the role of new users; NULL: unknown users are refused */
};
/* Finds the user, by name. If roles are given to groups, the highest one of the user's groups holds; without one, it is
 * `fresh`, or the user is refused. Projects that are given to groups have the user as a member exactly if a group gives
 * them. A new user, role or project is recorded. An error about the role has the pointer "/role". */
enum sl_proxy_news { SL_PROXY_NOTHING, SL_PROXY_NEW_USER, SL_PROXY_NEW_ROLE, SL_PROXY_NEW_PROJECTS };
int sl_users_by_proxy(struct sl_users *u, const struct sl_proxy_login *login, struct sl_principal *out,
		      enum sl_proxy_news *news, struct sl_error *err);
/* Checks such a list of pairs. */
int sl_groups_check(const char *map, bool roles, struct sl_error *err);
/* Checks the options that sl_users_create() reads. */
int sl_users_check(const struct sl_config *config, struct sl_error *err);

/* For streams, which outlast their request: false if the principal's token was revoked or has expired. Sets the role in
 * *p to the present one. */
bool sl_users_still(const struct sl_users *u, struct sl_principal *p);
/* Fills *out for an administrator with a token of token_file. */
void sl_users_administrator(const struct sl_users *u, struct sl_principal *out);
/* The tokens in token_file have changed. */
void sl_users_file_changed(struct sl_users *u);

/* Decides whether the principal may do this with a thing; id NULL: no thing is named. 0, or the HTTP status. */
int sl_users_may(const struct sl_users *u, const struct sl_principal *p, enum sl_verb verb, const char *id);
/* True if the principal may see this column of labels of the graph, or with column NULL its names, on a job that it may
 * see: those may who may read the graph, and holders of a link that shows the column (links.h). */
bool sl_users_shows(const struct sl_users *u, const struct sl_principal *p, const char *graph, const char *column);
/* True if lists for the principal must be filtered, because it may not see everything. */
bool sl_users_limited(const struct sl_principal *p);

/* Records of jobs and graphs have the member "may_change": whether the receiver may change and delete the thing. They
 * are made with `true`, once for all receivers; these set it for one of them, in a record, or by replacing in its text
 * [head] + put + [tail]. */
void sl_users_tell(const struct sl_users *u, const struct sl_principal *p, json_t *record);
/* The quality of a job as the principal may see it, a new reference: the silhouette tells about labels, which are the
 * graph's. _text: the text of a whole record, as sl_users_tell() makes it, which the caller frees; NULL: it may stay as
 * it is. */
json_t *sl_users_quality(const struct sl_users *u, const struct sl_principal *p, const char *graph, json_t *quality);
int sl_users_quality_text(const struct sl_users *u, const struct sl_principal *p, const char *text, size_t bytes,
			  char **out, size_t *out_bytes);
struct sl_record_text {
	const char *head, *put, *tail;
	int head_bytes, tail_bytes;
};
struct sl_record_text sl_users_tell_text(const struct sl_users *u, const struct sl_principal *p, const char *id,
					 const char *text, size_t bytes);

/* Adds the members "owner", the name of the thing's first owner, and "owner_state" to a record: null, if it has none.
 * In records of jobs, "may_change" must come next: both are hidden from clients with a link. */
void sl_users_add_owner(const struct sl_users *u, const char *id, json_t *record);

/* A copy of the rights to a thing, for decisions after it was deleted. NULL: only administrators have rights to it, or
 * there is no memory for the copy. The caller frees it. */
struct sl_rights;
struct sl_rights *sl_users_rights_copy(const struct sl_users *u, const char *id);
void sl_users_rights_free(struct sl_rights *rights);  /* NULL is fine */
/* True if the principal may read a thing with these rights. */
bool sl_users_rights_read(const struct sl_users *u, const struct sl_principal *p, const struct sl_rights *rights);

/* ---- things: graphs, jobs, batches, layouts ---- */

/* The number of owners. */
int sl_users_owners(const struct sl_users *u, const char *id);
/* The id of one of them, 0 <= i < their number. */
const char *sl_users_owner(const struct sl_users *u, const char *id, int i);
bool sl_users_owns(const struct sl_users *u, const char *user, const char *id);
/* True if the thing counts for the account: a user who owns it, or its project. */
bool sl_users_counts_toward_quota(const struct sl_users *u, const char *account, const char *id);
/* The name of the project for which it counts, or of the first such project; NULL: none. Borrowed. */
const char *sl_users_project_of(const struct sl_users *u, const char *id);
/* The account of that project; "": none. Borrowed. */
const char *sl_users_project_account(const struct sl_users *u, const char *id);
/* Makes the principal an owner, for its project if it has one; done runs when that is on disk. An administrator by
 * token_file does not become an owner: only the project is recorded. */
int sl_users_own(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg);
/* Ends the principal's ownership; it is restored if the change cannot be recorded. */
int sl_users_disown(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg);
/* The thing was deleted. */
void sl_users_forget(struct sl_users *u, const char *id);
/* At the start: removes the rights to things that do not exist. */
void sl_users_sweep(struct sl_users *u, bool (*exists)(void *arg, const char *id), void *arg);
/* {"owners": [names], "readers": [names], "projects": [names], "everybody": bool, "counts_for": [names]}, new
 * reference. */
json_t *sl_users_access_json(const struct sl_users *u, const char *id);
/* body: {"readers": [names], "projects": [names], "everybody": bool}, all optional. */
int sl_users_share(struct sl_users *u, const char *id, const json_t *body, sl_db_done_fn done, void *arg,
		   struct sl_error *err);

/* ---- owners ---- */

/* The state of a user (an id): DELETED also if there is no record of it, ACTIVE for nobody, "". */
enum sl_user_state sl_users_state(const struct sl_users *u, const char *id);
/* There is a job of this user (an id): if the user is not known, it waits. */
void sl_users_expect(struct sl_users *u, const char *id);
/* The id of the user of this name, or with this id; NULL: none. Borrowed. */
const char *sl_users_id(const struct sl_users *u, const char *text);
/* The name of a user (an id), also of a deleted one; NULL: none. Borrowed. */
const char *sl_users_name(const struct sl_users *u, const char *id);
/* The ids of all things that the user (an id) owns: [*count], which the caller frees. NULL: no memory. */
char (*sl_users_things(const struct sl_users *u, const char *id, size_t *count))[SL_ULID_BYTES];
/* The thing's owner `from` is `to` from now on (ids), for the same project; so are the links that `from` has made to
 * it, whose number is added to *links. done: as in sl_users_share(). SL_NOTFOUND: `from` does not own it. */
int sl_users_transfer(struct sl_users *u, const char *thing, const char *from, const char *to, int *links,
		      sl_db_done_fn done, void *arg);
/* Calls each() with the id of each deleted user whose things are to be deleted; each() may remove this user. */
void sl_users_each_erased(struct sl_users *u, void (*each)(void *arg, const char *id), void *arg);
/* Forgets a deleted user who owns nothing any more; nothing otherwise. True: forgotten. */
bool sl_users_bury(struct sl_users *u, const char *id);
void sl_users_bury_all(struct sl_users *u);  /* all such users */

/* ---- users and their tokens: for administrators, by name, or by id ---- */

/* deleted: only these; else all others. An array, new reference. */
json_t *sl_users_list(const struct sl_users *u, bool deleted);
json_t *sl_users_json(const struct sl_users *u, const char *name);   /* NULL: there is none */
/* body: {"name", "role", "restore"}. restore: true, or an id: the deleted user of this name comes back, without tokens;
 * else this is a new one. *before: the number of deleted users of this name who own things, that are not restored. */
int sl_users_add(struct sl_users *u, const json_t *body, int *before, sl_db_done_fn done, void *arg,
		 struct sl_error *err);
/* body: {"name", "role", "disabled", "limits", "project"}, all optional */
int sl_users_change(struct sl_users *u, const char *name, const json_t *body, sl_db_done_fn done, void *arg,
		    struct sl_error *err);
/* The record goes if the user owns nothing; else it is kept, DELETED. erase: the things are to be deleted, too. */
int sl_users_remove(struct sl_users *u, const char *name, bool erase, sl_db_done_fn done, void *arg,
		    struct sl_error *err);
int sl_users_tokens_remove(struct sl_users *u, const char *name, sl_db_done_fn done, void *arg, struct sl_error *err);
/* Makes a token. body: {"name", "days"}, both optional. *reply, new reference: the record with the token itself; the
 * caller sends it after done has run. */
int sl_users_token_add(struct sl_users *u, const char *name, const json_t *body, json_t **reply, sl_db_done_fn done,
		       void *arg, struct sl_error *err);
int sl_users_token_remove(struct sl_users *u, const char *name, const char *token, sl_db_done_fn done, void *arg,
			  struct sl_error *err);

/* ---- the tokens of the sender ---- */

/* An array, new reference; NULL: the sender is no user. */
json_t *sl_users_own_tokens(const struct sl_users *u, const struct sl_principal *who, struct sl_error *err);
/* The token that the sender uses, new reference; null: none of a user. */
json_t *sl_users_token_used(const struct sl_users *u, const struct sl_principal *who);
/* body: {"name", "days", "replaces", "overlap_seconds"}, all optional. The life of the new token is that of the token
 * with which it is made, at most. replaces: an id or "this": that token ends overlap_seconds from now. reply: as
 * above. */
int sl_users_own_token_add(struct sl_users *u, const struct sl_principal *who, const json_t *body, json_t **reply,
			   sl_db_done_fn done, void *arg, struct sl_error *err);
int sl_users_own_token_remove(struct sl_users *u, const struct sl_principal *who, const char *token,
			      sl_db_done_fn done, void *arg, struct sl_error *err);

/* ---- the audit log: STATE_DIR/audit.log, one JSON object a line; lines are only appended ---- */

struct sl_event {
	const struct sl_principal *who;
	const char *address, *method, *path;
	int status;
	const char *request;        /* its id, or NULL: it was no request */
	const char *object;         /* the id of what was changed; NULL: the last part of the path, if that is an id */
	const json_t *changes;      /* what was changed to what, or NULL */
};
size_t sl_users_number(const struct sl_users *u);  /* of users on record */
void sl_users_audit(struct sl_users *u, const struct sl_event *event);
/* Runs done(arg) on the loop when all lines so far are on disk, or writing them has failed. */
int sl_users_audit_sync(struct sl_users *u, void (*done)(void *arg), void *arg);
/* Which lines are wanted; NULL, 0: all. */
struct sl_audit_filter {
	const char *user, *object;
	const char *user_id, *or_object;  /* or this one */
	double since, until;        /* seconds since 1970; the second one is excluded */
	int limit;                  /* the last so many */
};
/* Reads the lines that fit from the log and its rotated files, audit.log.* and audit.log-*, also those of gzip, the
 * newest first until there are enough, on the pool. done: with the lines, oldest first: an array, which it takes; NULL:
 * no memory. */
int sl_users_audit_find(const struct sl_users *u, const struct sl_audit_filter *filter,
			void (*done)(void *arg, json_t *items), void *arg);

#endif
