/* http.h -- requests and replies.
 *
 * libmicrohttpd runs on the uv loop (its epoll descriptor in a uv_poll), so all functions
 * belong to the loop thread and need no locks. The course of a request:
 *
 *   1. The headers have arrived: Host, Origin, token, route, method, query names, content type
 *      and length are checked. A request that fails a check gets its reply before its body is read.
 *   2. The body arrives: into memory (routes with SL_BODY_JSON, up to max_request_bytes) or
 *      into files (SL_BODY_UPLOAD, up to max_upload_bytes; raw or multipart). Memory and disk are
 *      booked in the request's account before they are used (users/bookings.h), whatever the route.
 *   3. The route's handler runs, once. It calls exactly one sl_reply_*(), or
 *      sl_request_park() and one sl_reply_*() later, from any callback of the loop.
 *   4. After the reply function the request must not be touched: the server owns it.
 *
 * If the client of a parked request disconnects, or the request's timeout passes, `gone` runs
 * (never after a reply). The request must not be used after that; see sl_request_park_for(). */
#ifndef SL_HTTP_H
#define SL_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/account.h"
#include "core/error.h"

struct sl_buffer;  /* util/buffer.h */
struct sl_config;
struct sl_daemon;
struct sl_http;
struct sl_limit_hit;
struct sl_param_table;
struct sl_principal;
struct sl_request;

/* ---- routes (the table is in routes/routes.h) ------------------------------------ */

enum sl_route_flags {
	SL_BODY_NONE = 0,
	SL_BODY_JSON = 1,      /* application/json, in memory; sl_request_json() */
	SL_BODY_UPLOAD = 2,    /* any type, in files; multipart/form-data is parsed into parts */
	SL_ROUTE_RESERVE = 16, /* also served on the reserved connections, when all others are busy */
	SL_BODY_OPTIONAL = 8,  /* SL_BODY_JSON: an empty body is allowed, and reads as {} */
};

struct sl_route {
	const char *method;            /* "GET" (also answers HEAD), "POST", "PATCH", "PUT", "DELETE" */
	const char *pattern;           /* "/v1/graphs/{id}"; {x} matches one path segment */
	void (*handler)(struct sl_request *r);
	int verb;                      /* enum sl_verb (users.h): the right that it needs; SL_VERB_OPEN: no token */
	unsigned flags;
	const char *query;             /* known query parameters, space separated; NULL: none */
};

extern const struct sl_route sl_routes[];
extern const int sl_routes_count;

/* ---- server ------------------------------------------------------------------ */

int sl_http_create(struct sl_http **out, struct sl_daemon *d, struct sl_error *err);
/* "http://127.0.0.1:7070" or "https://...", with the port that was bound. */
const char *sl_http_url(const struct sl_http *h);
/* A copy of the listening socket, for a program that executes itself again; -1: none. The new program finds the number
 * of the descriptor in the environment variable SL_LISTEN_FD. */
#define SL_LISTEN_FD "SPACELAND_LISTEN_FD"
int sl_http_listener(const struct sl_http *h);
/* Reads tokens and certificate again, and takes token_file, allowed_hosts and allowed_origins from c. After an error
 * nothing has changed. */
int sl_http_reload(struct sl_http *h, const struct sl_config *c, struct sl_error *err);
/* Reads the files that a start and a reload read: tokens, certificate and key. Blocks; needs no server. */
int sl_http_check(const struct sl_config *c, struct sl_error *err);
/* Ends the streams and waiting requests of a user whose rights have changed; new requests get the new rights. name "":
 * those of administrators by token_file. */
void sl_http_end_user(struct sl_http *h, const char *name);
/* The number of open event and frame streams of a user (an id). */
int sl_http_user_streams(const struct sl_http *h, const char *user);
/* Accepts no more connections; requests in progress continue. */
void sl_http_quiesce(struct sl_http *h);
/* Ends open streams (calls drop) and parked requests (calls gone), frees the server, then calls closed. */
void sl_http_close(struct sl_http *h, void (*closed)(void *arg), void *arg);

/* ---- request ------------------------------------------------------------------- */

struct sl_daemon *sl_request_daemon(const struct sl_request *r);
/* The segment {name} of the path; never NULL if the route's pattern has {name}. */
const char *sl_request_path(const struct sl_request *r, const char *name);
const char *sl_request_query(const struct sl_request *r, const char *name);  /* decoded; NULL: not given */
const char *sl_request_header(const struct sl_request *r, const char *name); /* NULL: not given */
const struct sl_principal *sl_request_who(const struct sl_request *r);       /* users.h */
/* Identifies the sender: the id of a user, or of a link; "": not known, or the request is NULL. */
const char *sl_request_whose(const struct sl_request *r);
/* True if the sender may read this graph or job. For replies about graphs and jobs that the path does not name. */
bool sl_request_sees(const struct sl_request *r, const char *id);
/* The same for an item of a list; with ?user= in the query, only if this user, a name or an id, owns it. */
bool sl_request_lists(const struct sl_request *r, const char *id);
/* SL_NOTFOUND: ?user= names no user. For lists. */
int sl_request_check_user(const struct sl_request *r, struct sl_error *err);
/* Sets the member may_change of a job's or graph's record for the sender; sl_reply_json() does it by itself. */
void sl_request_tell(const struct sl_request *r, json_t *record);

/* Assigns the objects that the request creates to this project (projects.h); name NULL: the sender's default one; "":
 * none. Sets sl_request_who()->project. */
int sl_request_for(struct sl_request *r, const char *name, const char *pointer, struct sl_error *err);
/* The same by the member "project" of a body, a name or null. */
int sl_request_body_for(struct sl_request *r, const json_t *body, struct sl_error *err);

/* Query parameters by type: absent leaves *out as it is; err->pointer is "?name". */
int sl_request_query_int(const struct sl_request *r, const char *name, int64_t min, int64_t max,
			 int64_t *out, struct sl_error *err);
int sl_request_query_double(const struct sl_request *r, const char *name, double min, double max,
			    double *out, struct sl_error *err);
int sl_request_query_bool(const struct sl_request *r, const char *name, bool *out, struct sl_error *err);

/* Reads all query parameters that a table lists into its record. Texts are borrowed. */
int sl_request_query_params(const struct sl_request *r, const struct sl_param_table *table, void *record,
			    struct sl_error *err);

/* The bytes of a SL_BODY_JSON body, zero-terminated. */
const char *sl_request_body(const struct sl_request *r, size_t *bytes);
/* The body, parsed as an object. New reference; the caller must not change it. */
int sl_request_json(struct sl_request *r, json_t **out, struct sl_error *err);

/* Parts of a SL_BODY_UPLOAD body. A raw body is one part named "file". */
struct sl_part {
	char *name;                /* form field; several may be called "file", others differ */
	char *filename;            /* as the client called it, last path segment; or NULL */
	char *content_type;        /* or NULL */
	char *path;                /* temporary file in the state dir; NULL: in memory */
	char *data;                /* in memory, zero-terminated; NULL: in a file */
	uint64_t bytes;
	uint64_t held[SL_RESOURCES]; /* booked for it */
};
int sl_request_parts(const struct sl_request *r);
struct sl_part *sl_request_part(const struct sl_request *r, const char *name);  /* NULL: none */
struct sl_part *sl_request_part_at(const struct sl_request *r, int i);
/* The content of a part, taken from the request. */
struct sl_uploaded {
	char *path, *data;  /* a file, to be removed, or memory */
	uint64_t bytes;
	struct sl_account held; /* in which they are booked */
	const char *folder; /* for what is decompressed; borrowed from the daemon */
	char name[256];     /* for messages */
};
struct sl_source;
/* name: for messages, if the client has not named its file. */
void sl_uploaded_of(struct sl_request *r, struct sl_uploaded *out, struct sl_part *part, const char *name);
/* The same for a request that must have one part, named "file". */
int sl_uploaded_take(struct sl_request *r, struct sl_uploaded *out, struct sl_error *err);
/* Any thread. Readers book what they hold in the account (core/account.h), not NULL, borrowed until the source is
 * closed. This is the only way to read what a client has sent; scripts/booked.py finds others. The caller calls
 * sl_source_close(). */
int sl_uploaded_open(const struct sl_uploaded *u, struct sl_account *account, struct sl_source **out,
		     struct sl_error *err);
/* Removes the file, or frees the memory, and leaves zeros. Any thread; the pool, if possible, since removing a large
 * file takes long. Zeroed ones are fine. */
void sl_uploaded_finish(struct sl_uploaded *u);

/* Parks the request until the caller replies. timeout_ms 0: request_timeout_s. If the client disconnects or the server
 * stops, gone(arg) runs, and the caller must not use r any more. After the timeout, timeout(arg) runs if it is not
 * NULL, and must reply; if it is NULL, the client gets a 503 problem and gone(arg) runs. At most one of gone and
 * timeout runs, and neither after a reply. */
void sl_request_park(struct sl_request *r, void (*gone)(void *arg), void *arg);
void sl_request_park_for(struct sl_request *r, uint64_t timeout_ms, void (*timeout)(void *arg),
			 void (*gone)(void *arg), void *arg);
/* The same, for callers that only need to know whether the client still waits. *slot is the caller's pointer to the
 * request; it becomes NULL when the client has disconnected or got 503 after timeout_ms (0: request_timeout_s).
 * The slot must stay where it is until then, or until the reply. */
void sl_park(struct sl_request **slot, uint64_t timeout_ms);

/* A reply that is sent when a change has been recorded. Create it; pass sl_later_done() and the sl_later to the
 * function that makes the change; pass the code which that function returns to begun(), which replies to an error at
 * once, or parks the request. done() replies 200 with the JSON that tell() returns for id (NULL: id is gone), or 204
 * if tell is NULL, or with the error. */
struct sl_later;
struct sl_later *sl_later_create(struct sl_request *r, json_t *(*tell)(void *of, const char *id), void *of,
				 const char *id);  /* NULL: no memory, and the request has been answered */
void sl_later_done(void *arg, int status, const struct sl_error *err);
void sl_later_begun(struct sl_later *l, int code, const struct sl_error *err);

/* ---- reply ---------------------------------------------------------------------- */

/* Adds a header to the reply; call it before the sl_reply function. format: as in printf(). */
void sl_reply_header(struct sl_request *r, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool sl_reply_has_header(const struct sl_request *r, const char *name);
/* Adds the header Location, of something new: path begins with a slash and is completed by that of base_url. */
void sl_reply_location(struct sl_request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The path of base_url, "/spaceland", which precedes those of links in replies; borrowed. "": none. */
const char *sl_request_base(const struct sl_request *r);

void sl_reply_json(struct sl_request *r, int status, json_t *document);  /* steals document; NULL: 503 */
/* For large documents that no filter of rights applies to: any thread makes the text, which this function takes; NULL:
 * 503. */
void sl_reply_text(struct sl_request *r, char *text);
void sl_reply_empty(struct sl_request *r, int status);                   /* 204, 304 */
void sl_reply_error(struct sl_request *r, const struct sl_error *err);   /* the problem document */
void sl_reply_problem(struct sl_request *r, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void sl_reply_status(struct sl_request *r, int status, const char *format, ...)  /* 404, 405, 415, ... */
	__attribute__((format(printf, 3, 4)));

/* The sites that may frame pages of this server, as in the policy frame-ancestors: allowed_origins, or 'none'. */
const char *sl_request_ancestors(const struct sl_request *r);

/* Replies that a limit of the user is reached (limits.h): 429 or 413, with the limit in the problem. */
void sl_reply_limit(struct sl_request *r, const struct sl_limit_hit *hit);

/* For browsers. _login: replies 204 and sets a cookie that replaces the token, or 401. _logout: deletes the cookie. */
void sl_reply_login(struct sl_request *r, const char *token);
void sl_reply_logout(struct sl_request *r);

/* Replies with the bytes of b, with status 200 (206, 304 or 416 if the request's headers ask for that). etag: without
 * quotes; NULL: none. Takes one reference to b. */
void sl_reply_buffer(struct sl_request *r, const char *content_type, const char *etag, struct sl_buffer *b);
/* Replies with the first `bytes` of a file in the same way; takes fd. These bytes must not change any more. */
void sl_reply_file(struct sl_request *r, const char *content_type, const char *etag, int fd, uint64_t bytes);

/* A reply of unknown length (chunked), for data that arises over time. */
struct sl_stream;  /* owned by the server */
struct sl_stream_ops {
	/* Writes up to max bytes to out. Returns their number; 0: there is no data now, sl_stream_wake() follows; -1: the
	 * end. Back-pressure: it is called only after the client has received the previous data. */
	ssize_t (*read)(void *arg, char *out, size_t max);
	/* The stream has ended, on either side. The callback frees arg; no other call follows. */
	void (*drop)(void *arg);
};
/* Starts a stream with status 200. NULL: it could not be started, drop has run, and the client gets an error. */
struct sl_stream *sl_reply_stream(struct sl_request *r, const char *content_type, const struct sl_stream_ops *ops,
				  void *arg);
/* For a request that is about to be parked because the client asked to wait: counts it as a stream until its reply.
 * False: there is no room for another stream; with `answer` the request has then been answered. */
bool sl_request_poll(struct sl_request *r, bool answer);
/* Tells the server that read() has data; cheap and idempotent. Not after drop(). */
void sl_stream_wake(struct sl_stream *s);

#endif
