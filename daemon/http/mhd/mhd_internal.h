/* mhd_internal.h -- structures and functions that the files of this folder share. */
#ifndef SL_HTTP_MHD_INTERNAL_H
#define SL_HTTP_MHD_INTERNAL_H

#include <microhttpd.h>

#include "daemon/http/mhd/mhd.h"
#include "daemon/util/list.h"

#define SL__PARAMETERS 100  /* of a query; libmicrohttpd has room for some hundreds, and hangs with more */

struct sl__certificate;
struct gnutls_session_int;

struct sl__mhd {
	uv_loop_t *loop;
	struct MHD_Daemon *daemon;    /* NULL: it is being stopped */
	const struct sl__mhd_ops *ops;
	void *arg;
	struct sl__tls *tls;
	struct sl_list sockets;       /* all, oldest first */
	struct sl_list half_closed;   /* those whose clients send nothing more */
	struct sl_list handshakes, waiting;  /* of TLS: active in libmicrohttpd; suspended until the client sends */
	struct sl_list parking;       /* exchanges that are to be suspended */
	size_t leaving;
	uv_poll_t poll;               /* on the descriptor of libmicrohttpd's epoll */
	uv_timer_t timer;             /* of its next timeout */
	uv_idle_t soon;               /* active: it runs in the loop's next turn */
	uv_idle_cb on_soon;
	int handles;                  /* open ones of the three */
	bool kicked;                  /* a connection was resumed */
	void (*closed)(void *arg);
	void *closed_arg;
};

/* libmicrohttpd owns the descriptor. Freed when its handle is closed. */
struct sl__socket {
	struct sl_link link;          /* in mhd->sockets */
	struct sl_link half_closed;   /* in mhd->half_closed */
	struct sl__mhd *mhd;
	struct MHD_Connection *connection;
	void *peer;
	struct sl__exchange *x;       /* the request in progress, or NULL */
	int fd;
	char *encoded;                /* path of the request whose header is arriving, as sent; or NULL */
	size_t target_bytes;          /* length of its path and query */
	uint64_t since_ms;            /* uv_now() when it was accepted, or its last request began or ended */
	uint64_t answered_bytes;      /* bytes that had arrived when its last request was answered; 0: it had none */
	uint64_t read_bytes;          /* of a body in chunks: bytes that libmicrohttpd had read at the last sweep */
	int stuck;                    /* sweeps since it last read, although there was more to read */
	bool leaving;                 /* shut down; libmicrohttpd will close it */
	bool probed;
	uv_poll_t poll;               /* notices that the client has disconnected */
	uv_poll_cb on_poll;
	/* of TLS; NULL and 0 without */
	struct sl_link handshake;     /* in mhd->handshakes or mhd->waiting until it is over */
	struct gnutls_session_int *session;
	struct sl__certificate *certificate;
	bool spoken, plain;           /* the first byte has arrived; it is not one of TLS */
	int finished;                 /* sides of the handshake that have finished */
};

struct sl__exchange {
	struct sl_link parking;       /* in mhd->parking */
	struct sl__socket *socket;
	void *request;                /* NULL: header() has not returned */
	const char *id;
	char *encoded;
	struct sl__head head;
	uint64_t received;
	struct sl__flow *flow;        /* the stream that answers it, or NULL; responses.c */
	bool reading, parked, suspended;
	enum MHD_Result verdict;      /* what the callback that runs now will return */
};

/* versions.c: SL_IO if this version is known to be unsafe; logs a warning if it is not known. */
int sl__version_check(struct sl_error *err);
bool sl__version_is_old(void);  /* its parser is that of 0.9.75; framing.c */

/* wake.c */
void sl__mhd_soon(struct sl__mhd *m);  /* makes the loop's next turn run libmicrohttpd */
/* The same, after resuming a connection: libmicrohttpd processes resumed ones only when it runs next. */
void sl__mhd_resume(struct sl__mhd *m, struct MHD_Connection *connection);
void sl__socket_watch(struct sl__socket *s, int events);

/* beside.c: last: then closes our side of the connection, if it speaks TLS */
void sl__send_beside(struct sl__socket *s, const char *text, size_t bytes, bool last);
/* As sl__socket_problem(). header: the one in question, or NULL. */
void sl__send_problem(struct sl__socket *s, const char *id, int status, const char *header, const char *detail);

/* sockets.c */
void sl__socket_notify(void *cls, struct MHD_Connection *connection, void **slot,
		       enum MHD_ConnectionNotificationCode code);
struct sl__socket *sl__socket_of(struct MHD_Connection *connection);  /* NULL: it is being closed */
void sl__socket_parked(struct sl__socket *s);
void sl__sockets_check(struct sl__mhd *m);  /* after libmicrohttpd has read all input: half-closed ones */
void sl__socket_begins(struct sl__socket *s, struct sl__exchange *x);  /* NULL: it has ended */

/* exchange.c: callbacks of libmicrohttpd */
void *sl__exchange_target(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result sl__exchange_access(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				    const char *version, const char *data, size_t *bytes, void **slot);
void sl__exchange_completed(void *cls, struct MHD_Connection *connection, void **slot,
			    enum MHD_RequestTerminationCode code);
void sl__exchanges_suspend(struct sl__mhd *m);  /* after libmicrohttpd has run */

/* framing.c. method, version: as libmicrohttpd parsed them. */
void sl__framing_check(struct sl__exchange *x, const char *method, const char *version);
/* NULL, or why the chunk that begins at data, as libmicrohttpd passes it, is refused. */
const char *sl__framing_of_chunk(const struct sl__exchange *x, const char *data);

/* refusals.c */
void sl__refuse_parameters(struct sl__socket *s);
void sl__refuse_chunks(struct sl__socket *s);
/* If this line of the log says that libmicrohttpd is about to refuse a request, the client gets our reply instead, and
 * its connection ends. */
void sl__refuse_instead(struct sl__mhd *m, const char *line);

/* responses.c */
void sl__flow_detach(struct sl__exchange *x);  /* its request has ended; drop() follows with the response */

/* handshakes.c */
/* A function for libmicrohttpd's option of a certificate callback. It is never called, since sl__tls_begin() sets the
 * certificates. */
void *sl__tls_no_certificate(void);
void sl__tls_begin(struct sl__socket *s);
void sl__tls_end(struct sl__socket *s);         /* after the session was freed */
void sl__tls_suspend(struct sl__mhd *m);        /* after libmicrohttpd has run */
bool sl__tls_resume(struct sl__socket *s);      /* false: its handshake has ended */
void sl__tls_resume_all(struct sl__mhd *m);     /* before libmicrohttpd is stopped */

/* certificates.c: lends the present certificate to a session; until _end(), which takes NULL, too. */
struct sl__certificate *sl__certificate_begin(struct sl__tls *t, struct gnutls_session_int *session);
void sl__certificate_end(struct sl__certificate *certificate);

#endif
