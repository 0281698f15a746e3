/* encoding.h -- recognises the encoding of a text by its first bytes: some programs write byte order marks, UTF-16 or
 * UTF-32. */
#ifndef SL_TEXT_ENCODING_H
#define SL_TEXT_ENCODING_H

#include <stddef.h>

/* The length of the byte order mark of UTF-8 at the beginning: 3 or 0. */
size_t sl_text_mark(const void *bytes, size_t size);

/* The name, as iconv knows it: "UTF-16" or "UTF-32" for a text with one of their byte order marks; "UTF-16LE" and so on
 * for a text without a mark whose first characters (at least four, or the whole text) are ASCII; else NULL. */
const char *sl_text_encoding(const void *bytes, size_t size);

#endif
