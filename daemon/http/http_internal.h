/* http_internal.h -- what the files of the HTTP server share. */
#ifndef SL_HTTP_INTERNAL_H
#define SL_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <netinet/in.h>
#include <uv.h>

#include "daemon/config/daemon.h"
#include "daemon/http/http.h"
#include "daemon/http/body/multipart.h"
#include "daemon/http/tls.h"
#include "daemon/users/limits.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"
#include "daemon/util/problem.h"

#define SL__DRAIN_BYTES (64 << 20)   /* of a body that nobody wants, before the connection is closed */
#define SL__MEMORY_BYTES (64 << 10)  /* parts beyond it go to files */
#define SL__WHOLE_BYTES (64 << 20)   /* of a raw upload of known length that stays in memory, */
#define SL__WHOLES_BYTES (256 << 20) /* and of all such uploads together */
#define SL__TARGET_BYTES 2048        /* longest path */
#define SL__PARAMETERS 100           /* of a query; libmicrohttpd has room for some hundreds, and hangs with more */
#define SL__RETRY_S 2                /* Retry-After of 429 and 503 */
#define SL__DELAY_MS 500             /* of the reply to a wrong token; guesses.c */
#define SL__GUESSERS 256             /* addresses whose wrong tokens are counted */
#define SL__COOKIE "spaceland"
#define SL__COOKIE_BYTES 1024
#define SL__TEXT_(x) #x
#define SL__TEXT(x) SL__TEXT_(x)
#define SL__STRANGER_BYTES (16 << 10)  /* of a body where no token is asked for */
#define SL__PATH_PARAMETERS 4
#define SL__PARTS 16

struct sl__auth;
struct sl__documents;

enum sl__state {
	SL__BODY,      /* reading it */
	SL__DISCARD,   /* reading it without interest: the reply is there already */
	SL__HANDLING,  /* the handler runs */
	SL__PARKED,    /* the connection is suspended */
	SL__REPLIED,   /* the reply is there, or on its way */
	SL__GONE,      /* the client is */
};

struct sl__header {
	struct sl__header *next;
	char *name, *value;
};

/* One client's socket, from accept to close. libmicrohttpd owns the descriptor. Freed when its handles are closed. */
struct sl__connection {
	struct sl_link link;         /* in http->connections, oldest first */
	struct sl_link half_closed;  /* in http->half_closed: the client sends nothing more */
	struct sl_http *http;
	struct sl_request *r;        /* the one under way, or NULL */
	char *encoded;               /* path of the next one as it was sent, or NULL */
	int fd;
	struct MHD_Connection *mhd;
	struct in6_addr address;     /* of the client; IPv4 as mapped */
	uint64_t since_ms;           /* uv_now() when it was accepted, or its last request began or ended */
	uint64_t moved_ms, moved;    /* uv_now() when so many bytes of a body had arrived, and no more have since */
	uint64_t answered_bytes;     /* bytes that had come when its last request was answered; 0: it had none */
	bool reserve;                /* beyond the limit: for health and metrics only */
	bool leaving;                /* shut down; libmicrohttpd will close it */
	bool probed;
	uv_poll_t poll;              /* for the client's end */
	uv_timer_t timer;            /* of a parked request */
	int handles;
	/* of TLS; NULL and 0 without */
	struct sl_link handshake;    /* in http->handshakes or http->waiting until it is over */
	struct gnutls_session_int *session;
	struct MHD_Connection *connection;
	struct sl__certificate *certificate;
	bool spoken, plain;          /* a first byte has come, and it is not one of TLS */
	int finished;                /* which sides of the handshake are */
};

struct sl_request {
	struct sl_http *http;
	struct sl_link link;        /* in http->requests */
	struct sl_link parking;     /* in http->parking: to be suspended */
	bool suspended;
	struct MHD_Connection *connection;
	struct sl__connection *peer;
	bool plain;                 /* its header can be read in one way only; framing.c */
	bool interim;               /* HTTP/1.1: an interim reply is understood */
	const struct sl_route *route;
	bool checked;               /* sl__rights_check() has looked at it */
	struct sl_principal who;
	bool slow;                  /* the reply waits a little: the token was wrong */
	bool audited;               /* it is in the audit log */
	enum sl__state state;
	bool head;
	bool close;                 /* the reply ends the connection, and what else was sent is not read */
	char *target;               /* the path, decoded */
	char *encoded;              /* the path as it was sent */
	char *authority;            /* of a target that is a whole URL, or NULL */
	struct in6_addr client;     /* of the connection, or as a trusted proxy tells it; IPv4 as mapped */
	char id[65];                /* X-Request-Id */
	char method[8];             /* as sent, or its beginning */
	uint64_t since_ns;          /* uv_hrtime() at its header */
	uint64_t sent;              /* bytes of the reply's body, of a stream as far as they were made */
	bool streamed;
	struct {
		char name[16];
		char *value;
	} path[SL__PATH_PARAMETERS];
	int paths;

	uint64_t received;          /* bytes of the body so far */
	char *body;                 /* SL_BODY_JSON; zero-terminated */
	size_t body_bytes, body_room;
	bool parsed;                /* what follows is known */
	json_t *document;           /* body, or NULL */
	int document_code;
	struct sl_error document_err;
	size_t whole;               /* room for an upload that stays in memory, or 0 */
	struct sl__multipart *form; /* takes a multipart/form-data body apart, or NULL */
	struct sl_part parts[SL__PARTS];
	int part_fd[SL__PARTS];
	int part_count;

	struct sl_limit_hit hit;    /* of the user; most 0: none */
	struct sl__header *headers; /* of the reply */
	struct MHD_Response *reply;
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
	struct MHD_Daemon *mhd;
	int listener, spare_fd;       /* spare: closed to tell a client that no descriptor is left */
	struct sl_list connections, half_closed;
	size_t limit, leaving;        /* most connections but for the reserve; how many are about to be closed */
	size_t accepted;              /* given to libmicrohttpd, which has not looked at them yet */
	uint64_t complained_ms;       /* uv_now() of the last warning about descriptors */
	struct sl__auth *auth;
	struct sl__guesser guesser[SL__GUESSERS];
	struct sl__documents *documents;  /* of bodies that are parsed elsewhere */
	struct sl__tls *tls;          /* NULL: plain HTTP */
	struct sl_list handshakes, waiting;  /* of TLS: in libmicrohttpd's hands, and suspended until the client goes on */
	struct sl_list requests;      /* all that are not completed */
	struct sl_list parking;
	uv_poll_t poll, accept;
	uv_timer_t timer, grace, sweep, pause;
	uv_idle_t soon;              /* active: libmicrohttpd runs in the loop's next turn */
	int handles;                  /* open ones of the six */
	char address[96], url[112];
	int64_t streams;
	size_t wholes;                /* bytes of uploads that stay in memory */
	bool kicked;                  /* a connection was resumed */
	bool quiet;                   /* accepts no more */
	uint64_t deadline_ms;         /* of the grace at the end */
	void (*closed)(void *arg);
	void *closed_arg;
	struct sl_metric *count[6];   /* replies by class of status: [2] is 2xx */
	struct sl_metric **seconds;   /* by route; NULL where none was asked yet */
	struct sl_metric *received_bytes, *connection_count, *stream_count;
};

/* auth.c: 0, or an HTTP status with a sentence (and a header at fault) */
int sl__auth_create(struct sl__auth **out, const struct sl_config *c, const char *host, uint16_t port,
		    struct sl_error *err);
void sl__auth_destroy(struct sl__auth *a);
int sl__auth_host(const struct sl__auth *a, const char *host, char *why, size_t bytes);
int sl__auth_origin(const struct sl__auth *a, const char *origin, char *why, size_t bytes);
int sl__auth_token(const struct sl__auth *a, const char *authorization, char *why, size_t bytes);

bool sl__auth_same_tokens(const struct sl__auth *a, const struct sl__auth *b);
bool sl__auth_has_origins(const struct sl__auth *a);
bool sl__auth_cross(const struct sl__auth *a, const char *origin);  /* one of allowed_origins? */
bool sl__auth_text(const char *authorization, const char *cookie, char token[SL__COOKIE_BYTES]);  /* the token itself */
bool sl__auth_needed(const struct sl__auth *a);
int sl__auth_cookie(const struct sl__auth *a, const char *cookie, char *why, size_t bytes);
int sl__auth_login(const struct sl__auth *a, const char *token, char cookie[SL__COOKIE_BYTES], char *why, size_t bytes);

/* framing.c: do all agree on where this header ends, and what it says? method, version: as libmicrohttpd has them. */
bool sl__header_is_plain(struct MHD_Connection *connection, const char *method, const char *version);

/* sender.c: false, and a reply, if the request is not taken */
bool sl__sender_check(struct sl_request *r, const char *method);
bool sl__sender_token(struct sl_request *r);
int sl__count_headers(const struct sl_request *r, const char *name);

/* proxy.c: 1: a proxy has told who it is; 0: it has not; -1: refused, and there is a reply */
int sl__sender_proxy(struct sl_request *r);
void sl__proxy_client(struct sl_request *r);  /* r->client */

/* rights.c */
bool sl__rights_check(struct sl_request *r);        /* of the route and the thing in its path; false: refused */
/* Of a stream that is open: may the sender still have it? Its token may be void, or the thing not shared any more. */
bool sl__rights_still(struct sl_request *r);
bool sl__rights_check_body(struct sl_request *r);   /* things that a JSON body names */
void sl__rights_filter(const struct sl_request *r, json_t *document);  /* takes out of a list what is not to be seen */
/* What was created belongs to the principal: the reply waits until that is recorded. Takes document if true. */
bool sl__rights_own(struct sl_request *r, int status, json_t *document);
/* A line of the audit log about something that the sender has not asked for as such. */
void sl__rights_tell(struct sl_request *r, const char *method, const char *path, int status);
bool sl__rights_audit(struct sl_request *r);        /* true: the reply goes out later, when the log is on the disk */
void sl__reply_document(struct sl_request *r, int status, json_t *document);  /* reply.c: steals; as it is */

/* guesses.c: one more wrong token of this address: how long the reply waits */
uint64_t sl__guess_delay(struct sl_http *h, const struct in6_addr *address);

/* limits.c: false, and a reply, if the user has reached a limit */
bool sl__limits_admit(struct sl_request *r);
bool sl__limits_stream(struct sl_request *r);

/* request_log.c */
void sl__request_id(struct sl_request *r);
const char *sl__address_text(const struct in6_addr *a, char text[INET6_ADDRSTRLEN]);
void sl__request_told(struct sl_request *r, bool aborted);  /* at its end */

/* body/body.c. Codes as everywhere; *used: always all of it */
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
void sl__reply_status_header(struct sl_request *r, int status, const char *header, const char *detail);
void sl__reply_free(struct sl_request *r);
void sl__stream_abort(struct sl_stream *s);
void sl__stream_detach(struct sl_stream *s);  /* its request ends; drop follows with the response */

/* route.c: r->route and the path's parameters, or a reply of 404 or 405 */
void sl__route_find(struct sl_request *r, const char *method);
/* Known names only, each once; or a reply. */
bool sl__route_query(struct sl_request *r);

/* calls.c: for libmicrohttpd */
void *sl__call_target(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result sl__call_access(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				const char *version, const char *data, size_t *bytes, void **slot);
void sl__call_completed(void *cls, struct MHD_Connection *connection, void **slot,
			enum MHD_RequestTerminationCode code);

/* listen.c. host and port: of `listen`, and then as bound. Without a socket *out is -1. */
int sl__listen(const struct sl_config *c, char *host, size_t bytes, uint16_t *port, int *out, struct sl_error *err);

/* server.c */
void sl__http_step(struct sl_http *h);  /* runs libmicrohttpd */
void sl__http_soon(struct sl_http *h);  /* makes the loop's next turn run it */
void sl__http_resume(struct sl_http *h, struct MHD_Connection *connection);

/* connections.c */
unsigned sl__connections_most(struct sl_http *h);     /* for libmicrohttpd; sets limit and spare_fd */
void sl__connections_start(struct sl_http *h);        /* accepts, and watches the time */
void sl__connections_listen(uv_timer_t *timer);
void sl__connections_check(struct sl_http *h);        /* after libmicrohttpd has read all there is: half-closed ones */
void sl__connection_notify(void *cls, struct MHD_Connection *connection, void **slot,
			   enum MHD_ConnectionNotificationCode code);
struct sl__connection *sl__connection_of(struct MHD_Connection *connection);  /* NULL: it is being closed */
void sl__connection_request(struct sl__connection *c, struct sl_request *r);  /* begins; NULL: ended */
void sl__connection_parked(struct sl__connection *c);
void sl__connection_watch(struct sl__connection *c, int events);
/* Without libmicrohttpd: at most what the socket's buffer takes. */
void sl__send_problem(struct sl__connection *c, int status, const char *words, const char *detail);
/* libmicrohttpd is about to refuse the Content-Length (400, 413) or the cookies (431) of a request: it gets our reply,
 * and its connection ends. */
void sl__connection_refused(struct sl_http *h, int status);
/* A request begins: keeps its path. With more than SL__PARAMETERS in the query it is answered, and its connection
 * ends. */
void sl__connection_target(struct sl__connection *c, const char *target);

/* park.c */
void sl__request_gone(struct sl_request *r);
/* The reply that is there goes out later. */
void sl__request_delay(struct sl_request *r, uint64_t ms);
void sl__requests_suspend(struct sl_http *h);  /* when libmicrohttpd's turn is over */
/* The reply is made: brings a parked request back. */
void sl__request_resume(struct sl_request *r);

#endif
