/* tls.h -- HTTPS: the certificate, and connections during their handshake.
 *
 * libmicrohttpd implements TLS, but in its epoll mode it polls a handshake that waits for the client without pause, so
 * a client that stops half way would keep the loop busy. Therefore a connection is suspended after each turn of its
 * handshake, and a uv_poll of ours resumes it when the socket can be read (or written, if GnuTLS waits for that). The
 * sweep of connections.c limits its time, as that of every connection without a request.
 *
 * A connection keeps the certificate with which it began. A replaced certificate is freed with its last connection. */
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
/* Reads certificate and key again, for new connections. After an error nothing has changed. */
int sl__tls_reload(struct sl__tls *t, const struct sl_config *c, struct sl_error *err);

/* A function for libmicrohttpd's option of a certificate callback. It is never called, since sl__tls_begin() sets the
 * certificates. */
void *sl__tls_no_certificate(void);

void sl__tls_begin(struct sl__connection *c, struct MHD_Connection *connection);
void sl__tls_end(struct sl__connection *c);     /* after the session was freed */
void sl__tls_suspend(struct sl_http *h);        /* after libmicrohttpd has run */
bool sl__tls_resume(struct sl__connection *c);  /* false: its handshake has ended */
void sl__tls_resume_all(struct sl_http *h);     /* before libmicrohttpd is stopped */
/* Sends a few bytes outside of a reply, or nothing if the socket cannot take them at once. last: then closes our side
 * of the connection. */
void sl__tls_send(struct sl__connection *c, const char *text, size_t bytes, bool last);

#endif
