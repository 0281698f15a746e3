/* fields.h -- lines of separated, perhaps quoted fields (RFC 4180, less line breaks inside
 * quotes). Internal. */
#ifndef SL_FIELDS_H
#define SL_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#define SL__FIELDS_MAX 4

struct sl__field {
	const char *text;  /* not zero-terminated */
	size_t length;
};

struct sl__fields {
	char separator;    /* '\t', ',', ';', or ' ' for runs of blanks and tabs */
	int count;         /* SL__FIELDS_MAX: that many or more */
	struct sl__field field[SL__FIELDS_MAX];
	char *scratch;     /* for fields with doubled quotes */
	size_t scratch_bytes;
};

void sl__fields_init(struct sl__fields *fields);
void sl__fields_finish(struct sl__fields *fields);

/* The first of tab, comma, semicolon that the line has outside quotes, or ' '. */
char sl__guess_separator(const char *at, const char *end);
const char *sl__separator_name(char separator);  /* "tabs" */

/* The fields borrow from the line and from scratch. Blanks around fields are dropped. 0;
 * SL_BADDATA: a quote does not close, or something follows the closing one; SL_NOMEM. */
int sl__fields_split(struct sl__fields *fields, const char *at, const char *end);

/* The whole field is one number. */
bool sl__field_float(const struct sl__field *field, float *out);

/* For messages: cut to fit, unprintable bytes as '?'. Returns out. */
const char *sl__field_show(const struct sl__field *field, char *out, size_t size);

#endif
