/* text_internal.h -- a text table of points while it is being read. text.c reads its rows, text_lines.c its lines and
 * fields; text_look.c finds out what its columns hold; text_columns.c, for new points text_follow.c, chooses what they
 * are used for; text_tell.c says what was taken. Functions return 0 or a negative code. */
#ifndef SL_TEXT_INTERNAL_H
#define SL_TEXT_INTERNAL_H

#include "core/formats/points/table.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/formatted.h"
#include "core/formats/text/names.h"

/* WORDS: a name, a label, or ignored, which is decided after the last row. EMPTY: a separator ends each line. */
enum sl__column_use { SL__COORDINATE, SL__NAME, SL__LABEL, SL__WORDS, SL__NUMBERING, SL__IGNORED, SL__LEFT_OUT,
		      SL__EMPTY };

/* What the first rows show of a column, and what it is used for. */
struct sl__column {
	char title[64];
	enum sl__column_use use;
	bool words;              /* it holds words: its first value is no number, or its numbers are of different forms */
	bool missing;            /* none of the first rows has a value here */
	bool titled;             /* its title is one of those of label columns */
	bool kept;               /* options say that it is a coordinate */
	bool values, plain_first, has_numbers, has_words;
	bool unquoted;           /* a value of it has no quotes */
	bool filled;             /* not all its fields are nothing between two separators */
	bool point;              /* a plain number of it has a decimal point */
	bool counts;             /* it counts the rows, from `from` */
	uint8_t from;            /* 0 or 1 */
	bool formatted;          /* its numbers are of these forms, with this decimal mark */
	uint8_t forms;
	char decimal;
	bool percent;
	char currency[8];
	char example[48];        /* the first formatted value */
	char bad[48];            /* the first value that is no number, or of another form than those above */
	char like[48];           /* the first word that begins as a number does, such as "12 kg", or is true, no, ... */
	const char *why;         /* it is ignored or left out; NULL: the options say so */
};

/* The words of one column: each text once, and the number of the text for each row. */
struct sl__texts {
	struct sl__names names;
	uint32_t *value;
	uint64_t capacity;
	uint32_t column;
};

/* A line of the head that was several lines of the text. */
struct sl__joined {
	size_t at;                   /* in the head */
	int64_t breaks;
};

/* The first lines of the text, each ended by a line feed. */
struct sl__head {
	char *bytes;
	size_t size, room, at;       /* at: the next line */
	uint64_t lines;
	int64_t number;              /* of the line before the first one */
	struct sl__joined *joined;   /* [joins] lines that quoted fields join, in their order */
	size_t joins;
	bool whole;                  /* it is the whole text */
};

struct sl__text {
	struct sl__table *t;
	struct sl__head head;
	bool no_memory;              /* while the first lines were looked at: what they show is not known */
	bool only_head;              /* lines behind the head are not read yet */
	char separator;
	char marker;                 /* the first line is "sep=;"; 0: it is not */
	char decimal;                /* the decimal mark of the file; 0: it is not known */
	bool commas;                 /* values or options, not the separator alone, say that it is a comma */
	uint32_t columns;
	struct sl__column *column;   /* [columns] */
	uint64_t head_rows;          /* rows of the head */
	struct sl__texts *words;     /* [word_columns] columns of words, left to right */
	uint32_t word_columns;
	uint32_t first_label;        /* the first column that options->label_column names, from 1; 0: none */
	double *row;                 /* [coordinates] of the present line */
	char *scratch;               /* the quoted fields of a line, without quotes */
	size_t scratch_bytes, scratch_used;
	bool sizes;                  /* the first line has the numbers of rows and of columns, and nothing else */
	uint64_t told[2];            /* these numbers */
	bool bang;                   /* lines that begin with ! are comments, as in GEO's series matrices */
	bool titles;                 /* the first line (behind those) is a header */
	bool guessed_titles;         /* though it may be a row */
	bool guessed_row;            /* the first line is no header, though it may be one */
	uint32_t lost_titles;        /* titles that are not used, because there are not as many as columns */
	bool comment_titles;         /* the titles are in the comment above the first row */
	int64_t begin;               /* line of the first row, if it begins with # or %, from 1; else 0 */
	bool started;                /* the header or the first row was read */
	uint32_t expected;           /* fields of a line; before the columns are known, those of the first line */
	uint64_t blank_lines, comment_lines;
	uint64_t late_comments;      /* those below the first row or the header */
	bool late_forms;             /* behind the head there are formatted numbers in columns of plain ones */
	bool numbered;               /* the names are the numbers of the rows */
};

/* Reads all rows and settles the use of each column. The caller calls sl__text_finish() also after an error. */
int sl__text_read(struct sl__text *f);
void sl__text_finish(struct sl__text *f);
/* The column of words that becomes `label` of the points; f->word_columns: there is none. */
uint32_t sl__text_main_labels(const struct sl__text *f);

static inline bool sl__is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool sl__is_blank(char c) { return c == ' ' || c == '\t'; }

/* Reads the first lines of the source into the head. */
int sl__text_read_head(struct sl__text *f);
/* Starts again with the first line. */
void sl__text_rewind(struct sl__text *f);
/* Decides what the columns are by the head, and rewinds it. */
int sl__text_look(struct sl__text *f);

/* Reads the next line that is neither blank nor a comment. Returns 1, or 0 at the end. */
int sl__text_next_line(struct sl__text *f, struct sl__line *line);
int sl__text_start_line(struct sl__text *f, const struct sl__line *line);
/* Reads the next field of the line and moves *at to the field after it (beyond end: there is none). Returns 1, or 0 if
 * there is no field. */
int sl__text_next_field(struct sl__text *f, const char **at, const char *end, struct sl__field *out);
/* Splits a whole line into *list, which grows as needed; the caller frees it, also after an error. */
int sl__text_split(struct sl__text *f, const struct sl__line *line, struct sl__field **list, uint32_t *count);
/* The number of fields of a line. */
uint32_t sl__text_count(const struct sl__text *f, const char *at, const char *end);

bool sl__text_is_missing(const struct sl__field *field);  /* empty, or a word for a missing number, such as NA */
bool sl__text_is_number(const struct sl__field *field);   /* a plain number, or missing */
/* True for "40 4" or "40\t4" above a line of 4 numbers behind one word or two, as word2vec and GCT write them; at, end:
 * the text from the line on. told: 40 and 4. */
bool sl__text_sizes(const char *at, const char *end, uint64_t told[2]);
bool sl__text_usual_name(const struct sl__field *title);  /* a usual title of a column of names */

/* Chooses the use of each column from options, titles and the first rows. */
int sl__text_choose_columns(struct sl__text *f);
/* The same for new points, by the first table's columns (options->as). *followed: it was possible. */
int sl__text_follow(struct sl__text *f, bool *followed);
/* Compares the coordinates with those of the first table, after sl__text_tell(). SL_BADDATA: another number of them, or
 * the same titles in another order. */
int sl__text_compare(const struct sl__text *f);
const char *sl__text_title(const struct sl__text *f, uint32_t c, char out[80]);  /* for messages */
/* After the last row: decides the use of columns of words whose titles do not show it: names, labels, or ignored. */
void sl__text_settle_words(struct sl__text *f);
/* Writes down what was taken: lines, columns, notes. sl__table_points() counts the rows that are used. */
void sl__text_tell(const struct sl__text *f);
/* Tells what columns may be meant otherwise. It reads the head again. */
int sl__text_hint(struct sl__text *f);
bool sl__text_is_truth(const char *word);  /* true, no, ... */

#endif
