/* source.h -- what readers use of struct sl_source: bytes, decompression, lines. Internal to core/formats/. */
#ifndef SL_SOURCE_H
#define SL_SOURCE_H

#include <stdio.h>

#include "core/formats/read.h"

/* Line buffer; also the longest line that is accepted, less one byte. */
#define SL__LINE_BUFFER (256 * 1024)

/* *end is '\n' or '\r', so parsers that stop there need not compare with end. */
struct sl__line {
	const char *at, *end;
};

/* The account in which readers book what they hold of the source; NULL: none. */
struct sl_account *sl__source_account(const struct sl_source *s);

const char *sl__source_name(const struct sl_source *s);
int64_t sl__source_line_number(const struct sl_source *s);  /* of the last line that was read, from 1 */

void sl__source_set_line_number(struct sl_source *s, int64_t line);

/* Sets limits and the cancel flag; call it before the first byte is read. */
void sl__source_set_options(struct sl_source *s, const struct sl_read_options *options);
void sl__source_set_format(struct sl_source *s, enum sl_graph_format format);

/* Allows lines of so many bytes. */
int sl__source_widen(struct sl_source *s, uint64_t bytes, struct sl_error *err);

/* Shows the next decompressed bytes without consuming them; fewer than SL__LINE_BUFFER only if the source holds no
 * more. Returns their number or a negative code. Valid until the next call. */
int64_t sl__source_peek(struct sl_source *s, const unsigned char **bytes, struct sl_error *err);

/* The same for a source that may be a text: consumes a byte order mark of UTF-8 first, and refuses a text in UTF-16 or
 * UTF-32 with SL_BADFORMAT at line 1. */
int64_t sl__source_peek_text(struct sl_source *s, const unsigned char **bytes, struct sl_error *err);

/* The same for a source that may be cut off: shows the bytes that can be decoded. Returns their number. */
size_t sl__source_beginning(struct sl_source *s, const unsigned char **bytes);

/* Looks at the bytes that a peek has shown whether "|" or "::" separates the fields of a text. If so, tabs replace it
 * there and in all lines to come. Only the first call does so. */
void sl__source_find_bars(struct sl_source *s);
/* For messages: "bars" or "double colons" if tabs replace them, else "commas" and the like. */
const char *sl__source_separator(const struct sl_source *s, char separator);

/* Reads up to want bytes. Returns their number, 0 at the end, or a negative code. */
int64_t sl__source_read(struct sl_source *s, void *out, uint64_t want, struct sl_error *err);
/* The same as a function for sl__npy_read_header(), whose context is the source. */
int64_t sl__source_read_for(void *source, void *out, uint64_t want, struct sl_error *err);

/* Reads a line, valid until the next call. It ends by a line feed, a carriage return, or both. Returns 1, 0 at the end,
 * or a negative code. */
int sl__source_line(struct sl_source *s, struct sl__line *line, struct sl_error *err);

/* The same for a text in memory: takes the line at *at and moves *at to the next one. The last line may end at `end`
 * instead of a line feed. False: *at is the end. */
bool sl__next_line(const char **at, const char *end, struct sl__line *line);

/* After sl__source_line(), joins the lines that belong to the same quoted field; blanks replace their breaks. Returns 1
 * or a negative code. */
int sl__source_join(struct sl_source *s, struct sl__line *line, struct sl_error *err);
/* sl__next_line(), which keeps the breaks inside of quoted fields. */
bool sl__next_record(const char **at, const char *end, struct sl__line *line);
/* The number of line breaks that were replaced; *first: the line of the first one. */
uint64_t sl__source_joined(const struct sl_source *s, int64_t *first);

/* SL_TOOBIG if `stored` bytes have unpacked to so many that the file may be an attack; only if the source has an
 * account. */
int sl__source_check_ratio(const struct sl_source *s, uint64_t stored, uint64_t unfolded, struct sl_error *err);

/* SL_CANCELLED if the cancel flag is set. */
int sl__source_check(const struct sl_source *s, struct sl_error *err);

/* Opens random access, for ZIP archives. A source in memory gives *bytes, borrowed. Other sources give a seekable
 * *file, which the caller closes: the file itself or a temporary file of the decompressed bytes. Consumes the
 * source. */
int sl__source_random(struct sl_source *s, const void **bytes, uint64_t *size, FILE **file, struct sl_error *err);

/* sl_error_at() with the source's name and the number of the last line that was read. */
int sl__source_fail(const struct sl_source *s, int code, struct sl_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
