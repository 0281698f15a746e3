/* source.h -- the inside of struct sl_source: bytes, decompression, lines. Internal. */
#ifndef SL_SOURCE_H
#define SL_SOURCE_H

#include <stdio.h>

#include "core/formats/read.h"

/* Line buffer; also the longest line that is accepted, less one byte. */
#define SL__LINE_BUFFER (256 * 1024)

/* *end is '\n' or '\r': parsers may read up to it without looking at end. */
struct sl__line {
	const char *at, *end;
};

const char *sl__source_name(const struct sl_source *s);
int64_t sl__source_line_number(const struct sl_source *s);  /* of the last line given out */

void sl__source_set_line_number(struct sl_source *s, int64_t line);

/* Sets limits and the cancel flag; before the first byte is read. */
void sl__source_set_options(struct sl_source *s, const struct sl_read_options *options);
void sl__source_set_format(struct sl_source *s, enum sl_graph_format format);

/* The first bytes (after decompression), not consumed; fewer than SL__LINE_BUFFER only when the
 * source holds no more. Returns their number or a negative code. Valid until the next call. */
int64_t sl__source_peek(struct sl_source *s, const unsigned char **bytes, struct sl_error *err);

/* The same of what may be a text: after a byte order mark of UTF-8, which is consumed. A text in UTF-16 or UTF-32 is
 * refused: SL_BADFORMAT, at line 1. */
int64_t sl__source_peek_text(struct sl_source *s, const unsigned char **bytes, struct sl_error *err);

/* The same of a source that may be cut off: as much as can be decoded before something is wrong with it. */
size_t sl__source_beginning(struct sl_source *s, const unsigned char **bytes);

/* Up to want bytes into out: their number, 0 at the end, or a negative code. */
int64_t sl__source_read(struct sl_source *s, void *out, uint64_t want, struct sl_error *err);

/* 1: a line, 0: no more, negative: error. Valid until the next call. */
int sl__source_line(struct sl_source *s, struct sl__line *line, struct sl_error *err);

/* Does so many bytes out of so few stored ones look like a file made to exhaust us? SL_TOOBIG; only with an account. */
int sl__source_check_ratio(const struct sl_source *s, uint64_t stored, uint64_t unfolded, struct sl_error *err);

/* SL_CANCELLED if the flag is up. */
int sl__source_check(const struct sl_source *s, struct sl_error *err);

/* Random access, for ZIP archives: plain memory when the source is that (*bytes, borrowed),
 * else a seekable FILE (*file, the caller's to fclose), if need be a temporary file with what
 * was decompressed. Consumes the source. */
int sl__source_random(struct sl_source *s, const void **bytes, uint64_t *size, FILE **file, struct sl_error *err);

/* sl_error_at() with the source's name and the line just given out. */
int sl__source_fail(const struct sl_source *s, int code, struct sl_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
