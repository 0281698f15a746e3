/* zmtp_internal.h -- functions that zmtp.c and zmtp_curve.c share. */
#ifndef SL_ZMTP_INTERNAL_H
#define SL_ZMTP_INTERNAL_H

#include "daemon/stream/zmtp.h"

/* ---- zmtp.c ---- */

/* Sends a command: its name, then the data. */
void sl__zmtp_command(struct sl_zmtp *z, const char *name, const void *data, size_t bytes);
/* Tells the peer why, and returns why. reason is a constant of at most 200 characters. */
const char *sl__zmtp_refuse(struct sl_zmtp *z, const char *reason);
/* True if body is the command `name`; *data and *bytes are then what follows the name. */
bool sl__zmtp_is(const uint8_t *body, size_t length, const char *name, const uint8_t **data, size_t *bytes);
/* Writes the properties of our side to out (64 bytes suffice); returns their length. */
size_t sl__zmtp_metadata(uint8_t *out);
/* NULL, or why the peer's properties are refused. */
const char *sl__zmtp_check_metadata(struct sl_zmtp *z, const uint8_t *data, size_t bytes);

/* ---- zmtp_curve.c ---- */

void sl__zmtp_curve_destroy(struct sl_zmtp_curve *c);
const char *sl__zmtp_curve_hello(struct sl_zmtp *z, const uint8_t *body, size_t length);
const char *sl__zmtp_curve_initiate(struct sl_zmtp *z, const uint8_t *body, size_t length);
/* Decrypts a frame in place: *body and *length become those of the content, *command tells its kind. */
const char *sl__zmtp_curve_open(struct sl_zmtp *z, uint8_t **body, size_t *length, bool *command);
/* _overhead: the number of bytes that encryption adds. _seal: encrypts a message into out. */
size_t sl__zmtp_curve_overhead(void);
void sl__zmtp_curve_seal(struct sl_zmtp *z, const void *data, size_t bytes, bool command, uint8_t *out);

#endif
