/* tls.h -- HTTPS: the certificate, and connections until their handshake is over.
 *
 * libmicrohttpd speaks TLS by itself, but in its epoll mode it never stops trying a handshake that waits for the
 * client: one that stops half way would keep the loop busy. So a connection is suspended after each turn until its
 * handshake is over, and a uv_poll of ours resumes it when the socket can be read (or written, if that is what GnuTLS
 * waits for). Its time is bounded by the sweep of connections.c, as that of every connection without a request.
 *
 * A connection keeps the certificate it began with; one that was replaced is freed with its last connection. */
#ifndef SL_HTTP_TLS_H
#define SL_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/error.h"

struct MHD_Connection;
struct sl_config;
struct sl_http;
struct sl_metrics;
struct sl__certificate;
struct sl__connection;
struct sl__tls;  /* of a server: its present certificate, the key of session tickets */

/* TLS 1.2 and 1.3, forward secrecy, authenticated ciphers only. */
#define SL__TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-SHA1:%SERVER_PRECEDENCE"

/* *out: NULL without tls_certificate. */
int sl__tls_create(struct sl__tls **out, const struct sl_config *c, struct sl_metrics *m, struct sl_error *err);
/* Connections must be gone. NULL is fine. */
void sl__tls_destroy(struct sl__tls *t);
/* Reads certificate and key again, for connections that come from now on. On failure all stays. */
int sl__tls_reload(struct sl__tls *t, const struct sl_config *c, struct sl_error *err);

/* libmicrohttpd wants a function that brings certificates; it is never called, since sl__tls_begin() sets them. */
void *sl__tls_no_certificate(void);

void sl__tls_begin(struct sl__connection *c, struct MHD_Connection *connection);
void sl__tls_end(struct sl__connection *c);     /* the session is freed already */
void sl__tls_suspend(struct sl_http *h);        /* when libmicrohttpd's turn is over */
bool sl__tls_resume(struct sl__connection *c);  /* false: its handshake is over */
void sl__tls_resume_all(struct sl_http *h);     /* before libmicrohttpd is stopped */
/* A few bytes outside of a reply; nothing if the socket would not take them at once. Then, if last, the end of what we
 * send. */
void sl__tls_send(struct sl__connection *c, const char *text, size_t bytes, bool last);

#endif
