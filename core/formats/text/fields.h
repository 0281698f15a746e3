/* fields.h -- lines of separated, perhaps quoted fields (RFC 4180, but without line breaks inside quotes). Internal to
 * core/formats/. */
#ifndef SL_FIELDS_H
#define SL_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL__FIELDS_MAX 256

struct sl__field {
	const char *text;  /* not zero-terminated */
	size_t length;
};

struct sl__fields {
	char separator;    /* '\t', ',', ';', or ' ' for runs of blanks and tabs */
	int count;         /* SL__FIELDS_MAX: that many or more */
	struct sl__field field[SL__FIELDS_MAX];
	char *scratch;     /* the text of fields with doubled quotes */
	size_t scratch_bytes;
};

void sl__fields_init(struct sl__fields *fields);
void sl__fields_finish(struct sl__fields *fields);

/* The separator: the first tab, comma or semicolon of the line outside quotes, or ' ' if it has none. */
char sl__guess_separator(const char *at, const char *end);
const char *sl__separator_name(char separator);  /* "tabs" */

/* Splits a line. The fields borrow from the line and from scratch; blanks around fields are dropped. 0, SL_NOMEM, or
 * SL_BADDATA: a quote is not closed, or text follows a closing quote. */
int sl__fields_split(struct sl__fields *fields, const char *at, const char *end);

/* True if the first character is # or %, as in lines of comments. Readers take such a line for a comment only above the
 * first row, or if it has another number of fields than the rows: "#art,0.5,2" is a row. */
bool sl__marks_comment(const char *at, const char *end);

/* Parses the field; false: the whole field is not one number. */
bool sl__field_float(const struct sl__field *field, float *out);
bool sl__field_double(const struct sl__field *field, double *out);

/* Copies the field as a title: cut to size between two characters, blanks instead of control characters; "" if it is no
 * UTF-8. Returns out. */
const char *sl__field_title(const struct sl__field *field, char *out, size_t size);

#define SL__TITLE_BYTES 64  /* of a title that is kept, with its end */
/* True if `title`, which may have been cut, is the title `text` of a file. */
bool sl__is_title(const char *title, const char *text);

/* Reads a whole number of at most ten digits. False: the field is none. */
bool sl__field_is_whole(const struct sl__field *field, uint64_t *out);

/* Copies the field for messages: cut to size, unprintable bytes as '?'. The result is UTF-8. Returns out. */
const char *sl__field_show(const struct sl__field *field, char *out, size_t size);

#endif
