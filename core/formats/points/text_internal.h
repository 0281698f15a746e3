/* text_internal.h -- a table of points as text, while it is being read: text.c reads its rows, text_columns.c its
 * fields and columns. Functions return 0 or a negative code. */
#ifndef SL_TEXT_INTERNAL_H
#define SL_TEXT_INTERNAL_H

#include "core/formats/points/table.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/names.h"

enum sl__column_use { SL__COORDINATE, SL__NAME, SL__LABEL, SL__WORDS, SL__IGNORED };

struct sl__column {
	char title[64];
	enum sl__column_use use;
	bool words;              /* no number in the first line of points */
	bool titled;             /* its title says that it holds labels */
};

/* The words of one column: each text once, and which one each row has. */
struct sl__texts {
	struct sl__names names;
	uint32_t *value;
	uint64_t capacity;
	uint32_t column;
};

struct sl__text {
	struct sl__table *t;
	char separator;
	uint32_t columns;
	struct sl__column *column;   /* [columns] */
	struct sl__texts *words;     /* [word_columns] columns of words, left to right */
	uint32_t word_columns;
	uint32_t first_label;        /* column that label_column names first, from 1; 0: none */
	char *scratch;           /* a line's quoted fields, unquoted */
	size_t scratch_bytes, scratch_used;
	bool titles;
};

/* All rows; what the columns are is settled then. f is to be finished in any case. */
int sl__text_read(struct sl__text *f);
void sl__text_finish(struct sl__text *f);
/* The column of words whose labels are the points' own; f->word_columns: there is none. */
uint32_t sl__text_main_labels(const struct sl__text *f);

static inline bool sl__is_blank(char c) { return c == ' ' || c == '\t'; }

/* The next line that is neither blank nor a comment. 1: a line, 0: none. */
int sl__text_next_line(struct sl__text *f, struct sl__line *line);
int sl__text_start_line(struct sl__text *f, const struct sl__line *line);
/* The next field of the line, *at moved to the one after it (beyond end: there is none). 1: a field, 0: none. */
int sl__text_next_field(struct sl__text *f, const char **at, const char *end, struct sl__field *out);
/* Splits a whole line; *list is grown as needed. */
int sl__text_split(struct sl__text *f, const struct sl__line *line, struct sl__field **list, uint32_t *count);

bool sl__text_is_missing(const struct sl__field *field);  /* a word that stands for a number that is not known */
bool sl__text_is_number(const struct sl__field *field);
bool sl__text_is_header(const struct sl__field *first, uint32_t count, const struct sl__field *second,
			uint32_t second_count);
char sl__text_guess_separator(const char *at, const char *end);

/* The columns, from the titles (NULL: none) and the first line of points. */
int sl__text_make_columns(struct sl__text *f, const struct sl__field *titles, uint32_t title_count,
			  const struct sl__field *fields, uint32_t count);
const char *sl__text_title(const struct sl__text *f, uint32_t c, char out[80]);  /* for messages */
/* What columns of words are whose titles do not tell: names, labels, or nothing. After the last row. */
void sl__text_settle_words(struct sl__text *f);

#endif
