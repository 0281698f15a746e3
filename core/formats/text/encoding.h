/* encoding.h -- the encoding of a text, by its first bytes: some programs write byte order marks, UTF-16, UTF-32. */
#ifndef SL_TEXT_ENCODING_H
#define SL_TEXT_ENCODING_H

#include <stddef.h>

/* Bytes of a byte order mark of UTF-8 at the beginning: 3 or 0. */
size_t sl_text_mark(const void *bytes, size_t size);

/* "UTF-16", "UTF-32" for a text with a byte order mark of these, "UTF-16LE" and so on for one without whose first
 * characters are ASCII (at least four of them, or the whole text); else NULL. The names are those of iconv. */
const char *sl_text_encoding(const void *bytes, size_t size);

#endif
