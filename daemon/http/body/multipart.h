/* multipart.h -- parses a multipart/form-data body (RFC 7578), piece by piece as it arrives.
 *
 * The parser calls part() when a part's header is complete, and then data() at once for each piece. It holds at most
 * one header (SL__PART_HEADER_BYTES), or bytes that may be the beginning of a boundary. Names may be quoted or not. A
 * part without a name is refused, and so is a transfer encoding other than the identity. */
#ifndef SL_HTTP_MULTIPART_H
#define SL_HTTP_MULTIPART_H

#include <stddef.h>

#include "core/error.h"

#define SL__PART_HEADER_BYTES 16384

struct sl__multipart;

/* Callbacks return 0 or an error code, which ends the parsing. */
struct sl__multipart_ops {
	/* filename and type: NULL if the part has none. Strings are borrowed until the callback returns. */
	int (*part)(void *arg, const char *name, const char *filename, const char *type, struct sl_error *err);
	int (*data)(void *arg, const char *data, size_t bytes, struct sl_error *err);  /* of the last part */
};

/* content_type: the request's header; it must hold a boundary of 1 to 70 characters. ops is kept, not copied. */
int sl__multipart_create(struct sl__multipart **out, const char *content_type, const struct sl__multipart_ops *ops,
			 void *arg, struct sl_error *err);
int sl__multipart_feed(struct sl__multipart *m, const char *data, size_t bytes, struct sl_error *err);
int sl__multipart_end(struct sl__multipart *m, struct sl_error *err);  /* error: the last boundary is missing */
void sl__multipart_destroy(struct sl__multipart *m);  /* NULL is fine */

#endif
