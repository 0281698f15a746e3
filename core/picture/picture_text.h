/* picture_text.h -- texts in UTF-8 by letters. Internal to core/picture/. */
#ifndef SL_PICTURE_TEXT_H
#define SL_PICTURE_TEXT_H

#include <stdint.h>

#define SL__TEXT_BYTES 512
#define SL__TEXT_GAP "\xe2\x80\xa6"  /* an ellipsis */

/* The number of UTF-8 characters; an invalid byte counts as one. */
int sl__text_length(const char *text);
/* Shortens text to `most` characters: replaces the middle of a longer one by `gap`. Returns out. */
char *sl__text_fit(const char *text, int most, const char *gap, char out[SL__TEXT_BYTES]);
/* The length in bytes of the first character; 1 for an invalid byte. */
int sl__text_next(const char *text);
/* The code point of the first character; '?' for an invalid byte. */
uint32_t sl__text_code(const char *text);

#endif
