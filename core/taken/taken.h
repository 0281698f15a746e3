/* taken.h -- what a reader took of a user's file: each row and each column is in exactly one class. Users see it in the
 * record of their graph, in the client's messages and in the dashboard, so that nothing is left out or guessed in
 * silence.
 *
 * A reader creates it, counts into it while it reads, and gives it to the graph, points or neighbours that it makes,
 * which own it. All of it lies in one allocation of fixed size: only sl_taken_create() can fail. A finished one is
 * immutable, so any number of threads may read it.
 *
 * Classes of lines (texts):       lines == header_lines + blank_lines + comment_lines + rows
 * Classes of rows:                rows == rows_used + rows_left_out
 * Classes of columns:             columns == the sum of by_role[]
 * Arrays and matrices have no lines. The rows of an edge list are its edges. */
#ifndef SL_TAKEN_H
#define SL_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* role, its name for users */
#define SL_TAKEN_ROLES(X) \
	X(COORDINATE, "coordinate") \
	X(NAME,       "name") \
	X(LABEL,      "label") \
	X(SOURCE,     "source") \
	X(TARGET,     "target") \
	X(WEIGHT,     "weight") \
	X(NEIGHBOUR,  "neighbour")   /* of files of neighbours: their numbers, */ \
	X(DISTANCE,   "distance")    /* and how far they are */ \
	X(NUMBERING,  "numbering")   /* counts the rows; used for nothing */ \
	X(IGNORED,    "ignored")     /* left out because the options say so */ \
	X(LEFT_OUT,   "left out")    /* left out by the reader's own rule; `why` says which */

enum sl_taken_role {
#define X(role, name) SL_TAKEN_##role,
	SL_TAKEN_ROLES(X)
#undef X
	SL_TAKEN_ROLE_COUNT
};

#define SL_TAKEN_LISTED 64   /* runs of columns that are listed */
#define SL_TAKEN_NOTES 16

/* Neighbouring columns of the same role and reason. */
struct sl_taken_columns {
	uint32_t first, last;      /* numbers, from 1 */
	enum sl_taken_role role;
	char title[64];            /* of the first one, UTF-8; "": none */
	char why[96];              /* "": the role says it all */
};

struct sl_taken_note {
	bool changes;              /* the geometry is another than that of the whole file, though nobody asked for it */
	char text[240];            /* a sentence without its full stop */
};

struct sl_taken {
	char sign[160];            /* by what the kind (graph, points, neighbours) was recognised; "": the options say it */
	uint64_t lines, header_lines, blank_lines, comment_lines;
	uint64_t rows, rows_used, rows_left_out;
	uint64_t columns, by_role[SL_TAKEN_ROLE_COUNT];
	uint64_t titles, titles_any;  /* hashes of the coordinates' titles, in their order and in any order; 0: no titles */
	bool directed;             /* graphs: an edge stands for one direction */
	bool transposed;           /* the file's columns became rows */
	uint32_t listed, notes;
	struct sl_taken_columns column[SL_TAKEN_LISTED];
	struct sl_taken_note note[SL_TAKEN_NOTES];
	uint32_t notes_lost;       /* notes for which there was no room */
};

/* All zero. NULL: no memory. The caller destroys it or gives it to what it describes. */
struct sl_taken *sl_taken_create(void);
void sl_taken_destroy(struct sl_taken *t);  /* NULL is fine */
/* NULL for NULL, or without memory. */
struct sl_taken *sl_taken_copy(const struct sl_taken *t);

const char *sl_taken_role_name(enum sl_taken_role role);  /* "left out" */
/* False: there is no such name. */
bool sl_taken_role_parse(const char *name, enum sl_taken_role *out);

/* Adds `count` columns from `number` (from 1) on, left to right. title: that of the first, or NULL. why: NULL or a
 * reason. Columns beyond the list are only counted. */
void sl_taken_add_columns(struct sl_taken *t, uint32_t number, uint32_t count, enum sl_taken_role role,
			  const char *title, const char *why);
/* Adds a note. An equal one is not added again. */
void sl_taken_add_note(struct sl_taken *t, bool changes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* True for an array of coordinates that was taken as it is, of which there is nothing to say. */
bool sl_taken_is_plain(const struct sl_taken *t);

/* True if the sums above hold. */
bool sl_taken_adds_up(const struct sl_taken *t);

/* One line for users: 600 rows of 5 columns: 3 coordinates, 1 name ("cell_id"), 1 left out ("tag": words); 2 comment
 * lines. Returns out, which is always terminated. */
char *sl_taken_text(const struct sl_taken *t, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
