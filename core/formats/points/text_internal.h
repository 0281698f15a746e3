/* text_internal.h -- a text table of points while it is being read. text.c reads its rows, text_columns.c its fields
 * and columns. Functions return 0 or a negative code. */
#ifndef SL_TEXT_INTERNAL_H
#define SL_TEXT_INTERNAL_H

#include "core/formats/points/table.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/names.h"

enum sl__column_use { SL__COORDINATE, SL__NAME, SL__LABEL, SL__WORDS, SL__IGNORED };

struct sl__column {
	char title[64];
	enum sl__column_use use;
	bool words;              /* the first point that has something here has no number */
	bool missing;            /* no point that was looked at has something here */
	bool titled;             /* its title is one of those of label columns */
};

/* The words of one column: each text once, and the number of the text for each row. */
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
	uint32_t first_label;        /* the first column that options->label_column names, from 1; 0: none */
	double *row;                 /* [coordinates] of the present line */
	char *scratch;               /* the quoted fields of a line, without quotes */
	size_t scratch_bytes, scratch_used;
	bool titles;                 /* the first line is a header */
	bool started;                /* the header or the first row was read */
	uint32_t expected;           /* fields of a line; before the columns are known, those of the first line */
	uint64_t blank_lines, comment_lines;
	uint64_t late_comments;      /* those below the first row or the header */
};

/* Reads all rows and settles the use of each column. The caller calls sl__text_finish() also after an error. */
int sl__text_read(struct sl__text *f);
void sl__text_finish(struct sl__text *f);
/* The column of words that becomes `label` of the points; f->word_columns: there is none. */
uint32_t sl__text_main_labels(const struct sl__text *f);

static inline bool sl__is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool sl__is_blank(char c) { return c == ' ' || c == '\t'; }

/* True for a line that begins with # or %, above the first row or with another number of fields than the rows; between
 * fields that spaces separate, also for one with a blank after the mark. */
bool sl__text_is_comment(const struct sl__text *f, const struct sl__line *line);
/* Reads the next line that is neither blank nor a comment. Returns 1, or 0 at the end. */
int sl__text_next_line(struct sl__text *f, struct sl__line *line);
int sl__text_start_line(struct sl__text *f, const struct sl__line *line);
/* Reads the next field of the line and moves *at to the field after it (beyond end: there is none). Returns 1, or 0 if
 * there is no field. */
int sl__text_next_field(struct sl__text *f, const char **at, const char *end, struct sl__field *out);
/* Splits a whole line into *list, which grows as needed. */
int sl__text_split(struct sl__text *f, const struct sl__line *line, struct sl__field **list, uint32_t *count);

bool sl__text_is_missing(const struct sl__field *field);  /* empty, or a word for a missing number, such as NA */
bool sl__text_is_number(const struct sl__field *field);
bool sl__text_is_header(const struct sl__field *first, uint32_t count, const struct sl__field *second,
			uint32_t second_count);
char sl__text_guess_separator(const char *at, const char *end);

/* Makes the columns from the titles (NULL: none) and the first line of points; `later` is the text after it, as far as
 * it is known, for columns that are missing in it; whole: it is the whole rest. */
int sl__text_make_columns(struct sl__text *f, const struct sl__field *titles, uint32_t title_count,
			  const struct sl__field *fields, uint32_t count, const struct sl__line *later, bool whole);
const char *sl__text_title(const struct sl__text *f, uint32_t c, char out[80]);  /* for messages */
/* After the last row: decides the use of columns of words whose titles do not show it: names, labels, or ignored. */
void sl__text_settle_words(struct sl__text *f);

#endif
