/* users.h -- users, and the rights of requests.
 *
 * A request has a principal: anonymous, an administrator (a token of token_file), or a user (one of the user's own
 * tokens). Without token_file no token is needed, and everybody may do everything. Rights are decided in
 * one function, from the principal, the verb of the request's route (routes/routes.h) and the thing it is
 * about, which has owners and readers. A route without a rule is for administrators.
 *
 * Users and rights are records of the data base. A token is shown once, when it is made; the server keeps a keyed
 * hash of it (key: STATE_DIR/users.key). All functions: loop thread. */
#ifndef SL_USERS_H
#define SL_USERS_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "core/error.h"
#include "daemon/store/db.h"
#include "daemon/util/ulid.h"

#define SL_TOKEN_PREFIX "spt_"  /* with which tokens begin; four characters */
#define SL_LINK_PREFIX "spl_"   /* public links */

/* LINK: whoever has a public link (links.h). */
enum sl_role { SL_ROLE_NONE, SL_ROLE_READER, SL_ROLE_USER, SL_ROLE_ADMINISTRATOR, SL_ROLE_LINK };

struct sl_principal {
	enum sl_role role;            /* NONE: unknown */
	char user[SL_ULID_BYTES];     /* "": an administrator by token_file, or nobody was asked */
	char name[64];                /* for the audit log; "" likewise */
	char project[SL_ULID_BYTES];  /* for which the request makes something (projects.h); "": none */
	char account[SL_ULID_BYTES];  /* the user whose limits count (limits.h); "": none do */
	char token[SL_ULID_BYTES];    /* by which, or by which link; "": one of token_file */
	char thing[SL_ULID_BYTES];    /* LINK: what it is about */
	int64_t until_ms;             /* when that expires, since 1970; 0: never */
	unsigned file;                /* of token_file: which reading of it */
	bool proxy;                   /* a proxy has told who it is */
};

enum sl_verb {
	SL_VERB_OPEN,     /* anybody */
	SL_VERB_LOOK,     /* the state of the server; lists, of what the principal may read */
	SL_VERB_READ,     /* one thing */
	SL_VERB_WATCH,    /* the same; whoever has a link to it may, too */
	SL_VERB_CREATE,
	SL_VERB_CHANGE,
	SL_VERB_DELETE,
	SL_VERB_MANAGE,   /* administrators */
};

/* What ZeroMQ topics are about, one rule a kind: X(kind, verb). A subscriber gets a message when it may do that with
 * the thing whose id is the topic (stream/keys.h). tests/api/test_stream_topics.py reads this list. */
#define SL_TOPIC_RULES(X) \
	X(JOB_FRAME, READ)

enum sl_topic_kind {
#define X(kind, verb) SL_TOPIC_##kind,
	SL_TOPIC_RULES(X)
#undef X
	SL_TOPIC_KINDS,
};
enum sl_verb sl_topic_verb(enum sl_topic_kind kind);

/* How a principal stands to a thing. */
enum sl_relation { SL_RELATION_NONE, SL_RELATION_READER, SL_RELATION_OWNER };

/* The decision, and nothing else: 0, or the status of the refusal. 404 hides things that the principal may not read. */
int sl_rights_decide(enum sl_role role, enum sl_verb verb, bool thing, enum sl_relation relation);

struct sl_users;

struct sl_config;
/* config: borrowed; its values may change. */
int sl_users_create(struct sl_users **out, uv_loop_t *loop, struct sl_db *db, const struct sl_config *config,
		    const char *state_dir, struct sl_error *err);
void sl_users_destroy(struct sl_users *u);  /* NULL is fine */

/* Whose token is it? False: nobody's, or it has expired. */
bool sl_users_identify(struct sl_users *u, const char *token, struct sl_principal *out);

/* Whom a proxy has logged in: by name; role: as the proxy tells it, or NULL; fresh: the role of one who is not
 * known, or NULL: refused. What is new is being recorded. An error's pointer is "/role" if it is about the role. */
enum sl_proxy_news { SL_PROXY_NOTHING, SL_PROXY_NEW_USER, SL_PROXY_NEW_ROLE };
int sl_users_by_proxy(struct sl_users *u, const char *name, const char *role, const char *fresh,
		      struct sl_principal *out, enum sl_proxy_news *news, struct sl_error *err);

/* Is the principal still what it was? Its token may have been revoked, or have expired, and its role may be another one
 * now, which goes into *p. For whatever outlives a request. */
bool sl_users_still(const struct sl_users *u, struct sl_principal *p);
/* An administrator, by a token of token_file; and the tokens in that file are others now. */
void sl_users_administrator(const struct sl_users *u, struct sl_principal *out);
void sl_users_file_changed(struct sl_users *u);

/* The decision about a thing; id NULL: about none. */
int sl_users_may(const struct sl_users *u, const struct sl_principal *p, enum sl_verb verb, const char *id);
/* Must what the principal sees be looked through? */
bool sl_users_limited(const struct sl_principal *p);

/* ---- things ---- */

/* How many own it. */
int sl_users_owners(const struct sl_users *u, const char *id);
bool sl_users_owns(const struct sl_users *u, const char *user, const char *id);
/* Does it count for the account, a user who owns it, or a project that it is for? */
bool sl_users_pays(const struct sl_users *u, const char *account, const char *id);
/* The name of the project that it counts for, the first if owners have it for several; NULL: for none. Borrowed. */
const char *sl_users_project_of(const struct sl_users *u, const char *id);
/* The account of that project; "": none. Borrowed. */
const char *sl_users_project_account(const struct sl_users *u, const char *id);
/* The principal becomes an owner, for its project if it has one; done when that is on the disk. An
 * administrator by token_file becomes none: only the project is recorded. */
int sl_users_own(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg);
/* No longer an owner; undone if it cannot be recorded. */
int sl_users_disown(struct sl_users *u, const char *id, const struct sl_principal *p, sl_db_done_fn done, void *arg);
/* The thing is gone. */
void sl_users_forget(struct sl_users *u, const char *id);
/* At the start: takes away the rights of what is not there. */
void sl_users_sweep(struct sl_users *u, bool (*exists)(void *arg, const char *id), void *arg);
/* {"owners": [names], "readers": [names], "projects": [names], "everybody": bool, "counts_for": [names]}, new
 * reference. */
json_t *sl_users_access_json(const struct sl_users *u, const char *id);
/* body: {"readers": [names], "projects": [names], "everybody": bool}, all optional. */
int sl_users_share(struct sl_users *u, const char *id, const json_t *body, sl_db_done_fn done, void *arg,
		   struct sl_error *err);

/* ---- users and their tokens: for administrators, by name ---- */

json_t *sl_users_list(const struct sl_users *u);                     /* an array, new reference */
json_t *sl_users_json(const struct sl_users *u, const char *name);   /* NULL: there is none */
/* body: {"name", "role"} */
int sl_users_add(struct sl_users *u, const json_t *body, sl_db_done_fn done, void *arg, struct sl_error *err);
/* body: {"role", "limits", "project"}, all optional */
int sl_users_change(struct sl_users *u, const char *name, const json_t *body, sl_db_done_fn done, void *arg,
		    struct sl_error *err);
int sl_users_remove(struct sl_users *u, const char *name, sl_db_done_fn done, void *arg, struct sl_error *err);
/* body: {"name", "days"}, both optional. *reply, new reference: the token's record with the token itself, to be shown
 * when done has run. */
int sl_users_token_add(struct sl_users *u, const char *name, const json_t *body, json_t **reply, sl_db_done_fn done,
		       void *arg, struct sl_error *err);
int sl_users_token_remove(struct sl_users *u, const char *name, const char *token, sl_db_done_fn done, void *arg,
			  struct sl_error *err);

/* ---- the audit log: STATE_DIR/audit.log, one JSON object a line, only ever appended to ---- */

struct sl_event {
	const struct sl_principal *who;
	const char *address, *method, *path;
	int status;
};
void sl_users_audit(struct sl_users *u, const struct sl_event *event);
/* Runs done(arg) on the loop when all that was appended so far is on the disk, or cannot be brought there. */
int sl_users_audit_sync(struct sl_users *u, void (*done)(void *arg), void *arg);
/* The last ones, oldest first: an array, new reference. Reads at most the last MiB of the file. */
json_t *sl_users_audit_list(const struct sl_users *u, int limit);

#endif
