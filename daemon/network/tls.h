/* tls.h -- one connection of TLS over a socket that never blocks, with GnuTLS.
 *
 * The owner calls _shake(), then _read() and _write(), which return at once, when ready() has run: the loop's poll of
 * the socket reports that something may be possible now. Belongs to the thread of its loop. */
#ifndef SL_TLS_H
#define SL_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

#include "core/error.h"

#define SL_TLS_RECORD 16384   /* most bytes of a record */
#define SL_TLS_PIN_BYTES 80   /* "sha256:", 64 hexadecimal digits, 0 */
#define SL_TLS_AGAIN (-1)     /* not now */
#define SL_TLS_BROKEN (-2)    /* for ever; sl_tls_why() tells */

struct sl_tls;
struct sl_tls_keys;   /* what one side shows, or believes */

/* Of a server: its certificate and key. *pin: of the key (SL_TLS_PIN_BYTES). */
int sl_tls_keys_server(struct sl_tls_keys **out, const char *certificate, const char *key, char *pin,
		       struct sl_error *err);
/* Writes a key and a certificate of its own for this name, if the files are not there. */
int sl_tls_make_certificate(const char *certificate, const char *key, const char *name, struct sl_error *err);
/* Of a client: it believes a server with this pin, or one whose certificate an authority in the file `authorities`
 * (NULL: those of the system) has signed for the name. */
int sl_tls_keys_client(struct sl_tls_keys **out, const char *authorities, const char *pin, struct sl_error *err);
void sl_tls_keys_destroy(struct sl_tls_keys *k);  /* after its connections; NULL is fine */

/* Takes over fd, also after an error. name: of the server, for a client; NULL: it is a server. */
int sl_tls_open(struct sl_tls **out, uv_loop_t *loop, int fd, const struct sl_tls_keys *keys, const char *name,
		void (*ready)(void *arg), void *arg);
/* Another owner. */
void sl_tls_hand_over(struct sl_tls *t, void (*ready)(void *arg), void *arg);
/* No further calls of ready(); closes the socket. */
void sl_tls_close(struct sl_tls *t);

/* 0: the handshake is over; AGAIN: it waits for what it needs, and ready() runs then; BROKEN */
int sl_tls_shake(struct sl_tls *t);
/* The number of bytes; 0: the other side has closed; AGAIN, BROKEN. */
ssize_t sl_tls_read(struct sl_tls *t, void *to, size_t bytes);
/* After AGAIN the next call must have the same bytes. */
ssize_t sl_tls_write(struct sl_tls *t, const void *from, size_t bytes);
/* What the owner waits for. Bytes that were decrypted already do not make the socket ready: read until AGAIN. */
void sl_tls_want(struct sl_tls *t, bool read, bool write);
void sl_tls_bye(struct sl_tls *t);   /* tells the other side that nothing follows */
const char *sl_tls_why(const struct sl_tls *t);

#endif
