/* mhd.h -- the wall before libmicrohttpd: connections, requests and replies without its names and its quirks.
 *
 * This folder alone includes microhttpd.h. What is here exists because of that library; rules about who may do what,
 * and limits on users, are in the folder above. Each quirk has a file that tells it:
 *
 *   versions.c     the versions that this code was tried with
 *   server.c       runs the library on the uv loop, and hears from its log which requests it refuses
 *   exchange.c     its one callback, called many times a request; a connection is suspended until the reply is ready
 *   headers.c      what a request says
 *   responses.c    replies; a stream that ends with an error would keep its descriptor
 *   framing.c      headers and chunks that it reads otherwise than other programs do
 *   chunks.c       bodies that stop it
 *   refusals.c     replies of ours instead of its HTML pages; beside.c sends them
 *   sockets.c      clients that close a side of their connection, which it misses
 *   handshakes.c   TLS: an unfinished handshake would keep the loop busy; certificates.c reads the files
 *
 * Course: opened(); for each request header(), data() for each piece of the body, and whole(), in which or after which
 * sl__exchange_send() is called once; ended(); then closed(). A request may be answered before its body has come. To
 * answer later, call sl__exchange_park(), and sl__exchange_resume() when the reply is ready: resumed() follows in the
 * loop's next turn, and sends it.
 *
 * Thread: everything here belongs to the loop's. */
#ifndef SL_HTTP_MHD_H
#define SL_HTTP_MHD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "core/error.h"

struct sl_config;
struct sl_metrics;
struct sl__exchange;  /* a request on a socket, with its reply */
struct sl__mhd;       /* the library's server */
struct sl__response;  /* a reply; sl__exchange_send() takes it */
struct sl__socket;    /* a client's connection, from its acceptance to its end */
struct sl__tls;       /* the certificate, and the key of session tickets */

#define SL__RETRY_S 2 /* Retry-After of 429 and 503 */

/* ---- TLS ----------------------------------------------------------------------------- */

/* *out: NULL without tls_certificate. */
int sl__tls_create(struct sl__tls **out, const struct sl_config *c, struct sl_metrics *m, struct sl_error *err);
/* Connections must be gone. NULL is fine. */
void sl__tls_destroy(struct sl__tls *t);
/* Reads certificate and key again, for new connections; a connection keeps the certificate with which it began, and the
 * last one frees it. After an error nothing has changed. */
int sl__tls_reload(struct sl__tls *t, const struct sl_config *c, struct sl_error *err);

/* ---- the server ------------------------------------------------------------------------ */

/* Why a header is refused: it can be read in two ways, so a proxy may see the next request begin elsewhere. */
struct sl__fault {
	int status;                /* of the reply; 0: there is no fault */
	const char *header;        /* the header in question, or NULL */
	const char *detail;
};

/* The first line of a request, and what its header says of the body. */
struct sl__head {
	const char *method;
	const char *target;        /* without the query, decoded: %2F is a slash, %00 the end */
	const char *encoded;       /* the same as it was sent */
	bool interim;              /* HTTP/1.1: the client understands interim replies, and chunks */
	bool chunked;              /* the body comes in chunks */
	struct sl__fault fault;
};

/* Called by this folder. `peer` is what opened() has returned, `request` what header() has. */
struct sl__mhd_ops {
	/* A client has connected. NULL: there is no memory; the connection is closed. */
	void *(*opened)(void *arg, struct sl__socket *s, const struct in6_addr *client);
	void (*closed)(void *peer);                          /* s is void from here on */
	/* head lives as long as x. NULL: the connection is closed without a reply. */
	void *(*header)(void *peer, struct sl__exchange *x, const struct sl__head *head);
	/* fault: NULL, or a sentence: why the body is refused from here on. */
	void (*data)(void *request, const char *data, size_t bytes, const char *fault);
	void (*whole)(void *request);                        /* the body has come */
	void (*resumed)(void *request);                      /* after sl__exchange_resume() */
	void (*gone)(void *request);                         /* the client has gone while it was parked,
		or reads a stream */
	void (*ended)(void *request, bool aborted);          /* x is void from here on */
	void (*refused)(void *arg, int status);              /* a request was refused in this folder; for statistics */
};

struct sl__mhd_options {
	unsigned connections;      /* the most at a time */
	unsigned timeout_s;        /* of a silent one; the caller's own limits are shorter */
	struct sl__tls *tls;       /* borrowed; NULL: plain HTTP */
};

/* SL_IO: the library does not start, or its version is known to be unsafe. ops is kept, not copied. */
int sl__mhd_create(struct sl__mhd **out, uv_loop_t *loop, const struct sl__mhd_options *options,
		   const struct sl__mhd_ops *ops, void *arg, struct sl_error *err);
/* Ends all connections, without waiting for anything that a client does, and frees the server; then calls closed().
 * No request may be parked. */
void sl__mhd_stop(struct sl__mhd *m, void (*closed)(void *arg), void *arg);
/* Passes an accepted socket on; takes fd. opened() follows in the next sl__mhd_run(), or never. */
bool sl__mhd_add(struct sl__mhd *m, int fd, const struct sockaddr *address, socklen_t bytes);
void sl__mhd_run(struct sl__mhd *m);
size_t sl__mhd_leaving(const struct sl__mhd *m);  /* sockets that are ended, but not closed yet */
/* Closes a socket that was not passed on, after a reply of 503; without one before a TLS handshake. */
void sl__mhd_turn_away(const struct sl__mhd *m, int fd);

/* ---- a connection ------------------------------------------------------------------------ */

/* Ends the connection: closed() follows. */
void sl__socket_end(struct sl__socket *s);
bool sl__socket_leaving(const struct sl__socket *s);   /* it was ended */
/* The same as if its client had gone: gone() runs if a request is parked or reads a stream. */
void sl__socket_gone(struct sl__socket *s);
/* Sends a problem at once, beside the library, at most as much as the socket's buffer takes. id: of the request; NULL:
 * a new one. The connection must be ended then. */
void sl__socket_problem(struct sl__socket *s, const char *id, int status, const char *detail);
/* True after a request, before the first byte of the next one. */
bool sl__socket_between(const struct sl__socket *s);
/* Call it every few hundred milliseconds. True: its request's body in chunks has a line that does not end, or a long
 * trailer; it was refused, and the connection is ended. */
bool sl__socket_stalls(struct sl__socket *s);

/* ---- a request --------------------------------------------------------------------------- */

/* The id in refusals of this request; borrowed. */
void sl__exchange_name(struct sl__exchange *x, const char *id);
const char *sl__exchange_header(const struct sl__exchange *x, const char *name);  /* NULL: not given */
const char *sl__exchange_cookie(const struct sl__exchange *x, const char *name);
struct sl__pair {
	const char *name, *value;  /* value: NULL: a query parameter without "=" */
	size_t name_bytes, value_bytes;
};
/* Call each() for all headers, or query parameters (decoded; they may contain zero bytes), until it returns false. */
typedef bool (*sl__pair_fn)(void *arg, const struct sl__pair *pair);
void sl__exchange_headers(const struct sl__exchange *x, sl__pair_fn each, void *arg);
void sl__exchange_queries(const struct sl__exchange *x, sl__pair_fn each, void *arg);

bool sl__exchange_reading(const struct sl__exchange *x);  /* its body has not come yet */
uint64_t sl__exchange_received(const struct sl__exchange *x);  /* bytes of its body so far */
/* The reply is not ready. A client that closes its sending side meanwhile may still be there: it is probed. */
void sl__exchange_park(struct sl__exchange *x);
void sl__exchange_resume(struct sl__exchange *x);
/* Only in header(), data(), whole() and resumed(). Takes response; NULL: as _drop(). */
void sl__exchange_send(struct sl__exchange *x, int status, struct sl__response *response);
void sl__exchange_drop(struct sl__exchange *x);  /* closes the connection instead of a reply */

/* ---- a reply ------------------------------------------------------------------------------- */

/* Each returns NULL if there is no memory; what it takes is given back then, too. */
struct sl__response *sl__response_empty(void);
struct sl__response *sl__response_text(char *text);  /* takes it; NULL is fine */
/* Of borrowed bytes; calls done(arg) when they are no longer needed. */
struct sl__response *sl__response_bytes(const void *data, size_t bytes, void (*done)(void *arg), void *arg);
struct sl__response *sl__response_file(int fd, uint64_t first, uint64_t bytes);  /* takes fd */
void sl__response_header(struct sl__response *response, const char *name, const char *value);
void sl__response_free(struct sl__response *response);  /* of one that was not sent; NULL is fine */

#define SL__STREAM_END (-1)
/* A reply of unknown length. read() returns the number of bytes that it has written to out, 0 if there are none now
 * (sl__exchange_wake() follows), or SL__STREAM_END. It is called only after the client has received the previous bytes.
 * drop() ends it, whatever has happened; not if NULL is returned. */
struct sl__response *sl__response_stream(struct sl__exchange *x, ssize_t (*read)(void *arg, char *out, size_t max),
					 void (*drop)(void *arg), void *arg);
void sl__exchange_wake(struct sl__exchange *x);   /* read() has bytes; cheap and idempotent */
void sl__exchange_abort(struct sl__exchange *x);  /* ends its stream with an error */

#endif
