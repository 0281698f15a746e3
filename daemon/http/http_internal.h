/* http_internal.h -- structures and functions that the files of the HTTP server share. */
#ifndef SL_HTTP_INTERNAL_H
#define SL_HTTP_INTERNAL_H

#include <netinet/in.h>
#include <uv.h>

#include "daemon/config/base.h"
#include "daemon/config/daemon.h"
#include "daemon/http/http.h"
#include "daemon/http/body/multipart.h"
#include "daemon/http/mhd/mhd.h"
#include "daemon/users/limits.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"
#include "daemon/json/problem.h"

#define SL__DRAIN_BYTES (64 << 20)   /* of a refused body that are read before the connection is closed */
#define SL__MEMORY_BYTES (64 << 10)  /* larger parts of a form go to files */
#define SL__WHOLE_BYTES (64 << 20)   /* raw uploads of known length up to this stay in memory, if there is room */
#define SL__TARGET_BYTES 2048        /* longest path */
#define SL__DELAY_MS 500             /* delay of the reply to a wrong token; guesses.c */
#define SL__GUESSERS 256             /* addresses whose wrong tokens are counted */
#define SL__COOKIE "spaceland"
#define SL__COOKIE_BYTES 1024
#define SL__TEXT_(x) #x
#define SL__TEXT(x) SL__TEXT_(x)
#define SL__STRANGER_BYTES (16 << 10)  /* the longest body on routes that need no token */
#define SL__PATH_PARAMETERS 4
#define SL__PARTS 16

struct sl__auth;
struct sl__documents;

enum sl__state {
	SL__BODY,      /* the body is being read */
	SL__DISCARD,   /* the body is being read and discarded; the reply is ready */
	SL__HANDLING,  /* the handler runs */
	SL__PARKED,    /* the reply is not ready, or delayed */
	SL__REPLIED,   /* the reply is ready or being sent */
	SL__GONE,      /* the client has disconnected */
};

struct sl__header {
	struct sl__header *next;
	char *name, *value;
};

/* A client's connection, from its acceptance to its end. Freed when its timer is closed. */
struct sl__connection {
	struct sl_link link;         /* in http->connections, oldest first */
	struct sl_http *http;
	struct sl__socket *socket;
	struct sl_request *r;        /* the request in progress, or NULL */
	struct in6_addr address;     /* of the client; IPv4 as mapped */
	uint64_t since_ms;           /* uv_now() when it was accepted, or its last request began or ended */
	uint64_t moved_ms, moved;    /* bytes of the body that have arrived, and uv_now() when the last of them did */
	bool reserve;                /* beyond the limit: serves only routes with SL_ROUTE_RESERVE, and administrators */
	bool privileged;             /* reserve: the present request is an administrator's */
	uv_timer_t timer;            /* of a parked request */
};

struct sl_request {
	struct sl_http *http;
	struct sl_link link;        /* in http->requests */
	struct sl__exchange *x;
	struct sl__connection *peer;
	const struct sl_route *route;
	bool checked;               /* sl__rights_check() has run */
	struct sl_principal who;
	bool foreign;               /* from a page of allowed_origins that is not this server's: cookies do not count */
	bool slow;                  /* the token was wrong, so the reply is delayed */
	struct sl_link delayed;     /* in http->delayed while it is */
	bool polls;                 /* waits because the client asked for that: counts as a stream */
	bool audited;               /* it is in the audit log */
	enum sl__state state;
	bool head;
	bool close;                 /* the reply ends the connection, and further input is not read */
	char *target;               /* the path, decoded */
	char *encoded;              /* the path as it was sent */
	bool based;                 /* the path of base_url preceded the path; it is removed from target and encoded */
	bool at_base;               /* the path is that of base_url without the slash at its end */
	char *authority;            /* of a target that is a whole URL, or NULL */
	struct in6_addr client;     /* of the connection, or as a trusted proxy reports it; IPv4 as mapped */
	char id[65];                /* X-Request-Id */
	char object[SL_USER_NAME_BYTES];  /* for the audit log: the id of what it changes, or its name; "": none */
	json_t *changes;            /* the same: its JSON body, shortened; or NULL */
	char method[8];             /* as sent, or its beginning */
	uint64_t since_ns;          /* uv_hrtime() at its header */
	uint64_t sent;              /* bytes of the reply's body; of a stream, those so far */
	size_t booked;              /* memory of the reply, of all that long replies may use */
	bool streamed;
	struct {
		char name[16];
		char *value;
	} path[SL__PATH_PARAMETERS];
	int paths;

	uint64_t received;          /* bytes of the body so far */
	struct sl_account account;  /* of what the body takes; all zero: it takes nothing */
	char *body;                 /* SL_BODY_JSON; zero-terminated */
	size_t body_bytes, body_room;
	bool parsed;                /* the three fields below are set */
	json_t *document;           /* the parsed body, or NULL */
	int document_code;
	struct sl_error document_err;
	size_t whole;               /* room for an upload that stays in memory, or 0 */
	struct sl__multipart *form; /* parser of a multipart/form-data body, or NULL */
	struct sl_part parts[SL__PARTS];
	int part_fd[SL__PARTS];
	int part_count;

	struct sl_limit_hit hit;    /* the limit of the user that was reached; bound 0: none */
	struct sl__header *headers; /* of the reply */
	struct sl__response *reply;
	int status;

	void (*gone)(void *arg);
	void (*timeout)(void *arg);
	void *arg;
	struct sl_stream *stream;
};

/* An address from which wrong tokens came. */
struct sl__guesser {
	struct in6_addr address;
	double count;                 /* as of since_ms */
	uint64_t since_ms;            /* uv_now() */
};

struct sl_http {
	struct sl_daemon *d;
	struct sl__mhd *mhd;
	int listener, spare_fd;       /* spare: closed to tell a client that no descriptor is left */
	struct sl_list connections;
	size_t limit;                 /* the most connections, without the reserve */
	size_t accepted;              /* sockets that were passed on, and have not begun yet */
	uint64_t complained_ms;       /* uv_now() of the last warning about descriptors */
	struct sl__auth *auth;
	struct sl__guesser guesser[SL__GUESSERS];
	struct sl__documents *documents;  /* parser of large bodies on the pool */
	struct sl__tls *tls;          /* NULL: plain HTTP */
	struct sl_list requests;      /* all that are not completed */
	struct sl_list delayed;       /* requests with a wrong token whose replies are delayed, oldest first */
	uv_poll_t accept;
	uv_timer_t grace, sweep, pause;
	int handles;                  /* open ones of these four, and the server behind mhd/ */
	char address[96], url[112];
	int64_t streams;
	bool quiet;                   /* accepts no more connections */
	uint64_t deadline_ms;         /* end of the time that open replies get when the server stops */
	void (*closed)(void *arg);
	void *closed_arg;
	struct sl_metric *count[6];   /* replies by class of status: [2] is 2xx */
	struct sl_metric **seconds;   /* by route; NULL: the route had no request yet */
	struct sl_metric *received_bytes, *connection_count, *stream_count;
};

/* auth.c. The checks return 0, or an HTTP status with a sentence in `why`. */
int sl__auth_create(struct sl__auth **out, const struct sl_config *c, const char *host, uint16_t port,
		    struct sl_error *err);
void sl__auth_destroy(struct sl__auth *a);
int sl__auth_host(const struct sl__auth *a, const char *host, char *why, size_t bytes);
int sl__auth_origin(const struct sl__auth *a, const char *origin, char *why, size_t bytes);
const struct sl_base *sl__auth_base(const struct sl__auth *a);
/* The name in token_file of a valid token; "": none. Borrowed. */
const char *sl__auth_name(const struct sl__auth *a, const char *authorization, const char *cookie);
int sl__auth_token(const struct sl__auth *a, const char *authorization, char *why, size_t bytes);

bool sl__auth_same_tokens(const struct sl__auth *a, const struct sl__auth *b);
bool sl__auth_has_origins(const struct sl__auth *a);
bool sl__auth_cross(const struct sl__auth *a, const char *origin);  /* true: it is one of allowed_origins */
/* allowed_origins, as in the policy frame-ancestors: the sites that may frame pages of this server; borrowed. */
const char *sl__auth_ancestors(const struct sl__auth *a);
/* Copies the token from the header or the cookie; false: there is none. */
bool sl__auth_text(const char *authorization, const char *cookie, char token[SL__COOKIE_BYTES]);
bool sl__auth_needed(const struct sl__auth *a);
int sl__auth_cookie(const struct sl__auth *a, const char *cookie, char *why, size_t bytes);
int sl__auth_login(const struct sl__auth *a, const char *token, char cookie[SL__COOKIE_BYTES], char *why, size_t bytes);

/* sender.c: false: the request was refused, and has been answered */
bool sl__sender_check(struct sl_request *r, const char *method, const struct sl__fault *fault);
bool sl__sender_token(struct sl_request *r);
int sl__count_headers(const struct sl_request *r, const char *name);

/* proxy.c: 1: a proxy has named the user; 0: it has not; -1: refused, and the request has been answered */
int sl__sender_proxy(struct sl_request *r);
void sl__proxy_client(struct sl_request *r);  /* sets r->client */

/* rights.c */
/* The id in the path; NULL: none, or not checked yet. Only administrators have rights to a path whose id is
 * incomplete. */
const char *sl__rights_thing(const struct sl_request *r);
/* For an open stream: false if the sender has lost the right to it, because the token is void or the thing is no longer
 * shared. */
bool sl__rights_still(struct sl_request *r);
/* Checks rights again after a body has arrived, or while a request waits: meanwhile the token may have been revoked or
 * become a reader's, or sharing may have ended. Returns 0, or the status of the refusal. Tokens of token_file are not
 * checked again, so a reload ends no request. */
int sl__rights_now(struct sl_request *r);
/* True if the sender of a waiting GET has lost the right to it; then _refuse() answers it. Requests that change
 * something go on, since they may end the right by themselves. */
bool sl__rights_lost(struct sl_request *r);
void sl__rights_filter(const struct sl_request *r, json_t *document);  /* removes what the sender may not see */

/* refuse.c */
void sl__rights_deny(struct sl_request *r, int status);  /* 401, 403 or 404 */
void sl__rights_refuse(struct sl_request *r);

/* permit.c: false: the request was refused, and has been answered */
/* Checks the sender's right to the route and to the graph, job or other thing in its path. */
bool sl__rights_check(struct sl_request *r);
bool sl__rights_check_body(struct sl_request *r);   /* the same for things that a JSON body names */

/* owners.c: makes the sender the owner of the created thing; the reply is sent when that is recorded. Takes document
 * if true. */
bool sl__rights_own(struct sl_request *r, int status, json_t *document);

/* audit.c */
/* Adds a line to the audit log about a change that is a side effect of the request. */
bool sl__rights_is_event(const struct sl_request *r);  /* it is recorded in the audit log */
/* For the audit log: what the reply says that the request has made. */
void sl__rights_note_reply(struct sl_request *r, int status, const json_t *document);
void sl__rights_tell(struct sl_request *r, const char *method, const char *path, int status);
bool sl__rights_audit(struct sl_request *r);        /* true: the reply is sent later, when the log is on disk */
void sl__reply_document(struct sl_request *r, int status, json_t *document);  /* reply.c: steals; without a filter */

/* guesses.c: true if both may be addresses of one client, who has all those of an IPv6 network (/64) */
bool sl__same_client(const struct in6_addr *a, const struct in6_addr *b);
/* Counts a wrong token from this address; returns the delay of the reply in milliseconds */
uint64_t sl__guess_delay(struct sl_http *h, const struct in6_addr *address);

/* limits.c: false: the user has reached a limit, and the request has been answered */
bool sl__limits_admit(struct sl_request *r);
bool sl__limits_connections(struct sl_request *r);  /* false: the request has been answered */
bool sl__limits_stream(struct sl_request *r);
/* The same for the memory of a long reply. */
bool sl__limits_reply(struct sl_request *r, const struct sl_buffer *b);

/* request_log.c */
void sl__request_id(struct sl_request *r);
const char *sl__address_text(const struct in6_addr *a, char text[INET6_ADDRSTRLEN]);
void sl__request_told(struct sl_request *r, bool aborted);  /* logs the request at its end */

/* body/body.c. Return 0 or a code with err. */
int sl__body_begin(struct sl_request *r, struct sl_error *err);
int sl__body_data(struct sl_request *r, const char *data, size_t bytes, struct sl_error *err);
int sl__body_end(struct sl_request *r, struct sl_error *err);
void sl__body_free(struct sl_request *r);

/* body/document.c */
struct sl__documents *sl__documents_create(uv_loop_t *loop);  /* NULL: no memory */
void sl__documents_close(struct sl__documents *documents);
bool sl__document_wait(struct sl_request *r, void (*then)(struct sl_request *r));
int sl__document(struct sl_request *r, json_t **out, struct sl_error *err);  /* borrowed */
void sl__document_free(struct sl_request *r);

/* reply.c */
/* Takes response, and sends it when the handler or the wait is over; NULL: no memory, and the connection is closed. */
void sl__reply_finish(struct sl_request *r, int status, const char *content_type, struct sl__response *response);
void sl__reply_status_header(struct sl_request *r, int status, const char *header, const char *detail);
void sl__reply_free(struct sl_request *r);
void sl__stream_detach(struct sl_stream *s);  /* its request ends; drop follows with the response */

/* route.c: sets r->route and the parameters of the path; NULL: there is no such path, or it has not this method. False:
 * no memory, and the request has been answered. */
bool sl__route_find(struct sl_request *r, const char *method);
void sl__route_missing(struct sl_request *r, const char *method);  /* replies 404 or 405 */
/* Checks that the query has only known names, each once; false: it has replied. */
bool sl__route_query(struct sl_request *r);

/* calls.c: of struct sl__mhd_ops */
void *sl__call_header(void *peer, struct sl__exchange *x, const struct sl__head *head);
void sl__call_data(void *request, const char *data, size_t bytes, const char *fault);
void sl__call_whole(void *request);
void sl__call_resumed(void *request);
void sl__call_ended(void *request, bool aborted);

/* listen.c. host and port: those of `listen`, with the port that was bound. Without a socket *out is -1. */
int sl__listen(const struct sl_config *c, char *host, size_t bytes, uint16_t *port, int *out, struct sl_error *err);

/* connections.c */
unsigned sl__connections_most(struct sl_http *h);     /* with the reserve; sets limit and spare_fd */
void sl__connections_start(struct sl_http *h);        /* starts to accept, and the timers */
/* True if one more administrator's request may use a connection of the reserve. */
bool sl__connections_admit(const struct sl_http *h);
/* Call it before the reply to a wrong token is delayed: if too many are, ends the connection of the oldest. */
void sl__connections_delay(struct sl_request *r);
void *sl__connection_opened(void *http, struct sl__socket *s, const struct in6_addr *client);
void sl__connection_closed(void *peer);
void sl__connection_request(struct sl__connection *c, struct sl_request *r);  /* begins; NULL: ended */

/* park.c */
void sl__request_gone(void *request);  /* of struct sl__mhd_ops */
/* Sends the reply, which is ready, after ms milliseconds. */
void sl__request_delay(struct sl_request *r, uint64_t ms);
/* Runs gone() of a parked request, which will be answered without its caller. */
void sl__request_forget(struct sl_request *r);
/* Answers a parked request whose sender has lost the right to it. */
void sl__request_refuse(struct sl_request *r);
/* Resumes a parked request, whose reply is ready. */
void sl__request_resume(struct sl_request *r);

#endif
