/* cells.h -- a text of labels as a table of cells: rows of one or more fields. Internal to core/formats/labels/.
 *
 * The first 256 KB show what separates the fields: tabs, commas, semicolons or blanks; or nothing does,
and each line is
 * one cell, with its commas and blanks. Fields may be quoted. Cells are stored as numbers of distinct texts, so a table
 * takes four bytes a cell. */
#ifndef SL_LABEL_CELLS_H
#define SL_LABEL_CELLS_H

#include "core/formats/source/source.h"
#include "core/formats/text/names.h"

#define SL__CELL_COLUMNS 1024

/* The first byte of a text that stands for "no label": NA, NaN, nan and <NA> without quotes; alone, for a
 * blank line. */
#define SL__CELL_MISSING '\1'

/* The nodes that rows may name. */
struct sl__keys {
	uint32_t n;
	bool named;              /* false: the nodes have only numbers */
	struct sl__names names;
};

/* The node of this name; SL__NO_NAME: there is none. Programs write whole numbers as 7.0, too. */
uint32_t sl__keys_find(const struct sl__keys *keys, const char *text, size_t length);
/* Parses 7 or 7.0. */
bool sl__keys_number(const char *text, size_t length, uint64_t *out);

struct sl__cells {
	char separator;          /* '\n': each line is one cell */
	uint32_t columns;
	uint64_t rows;           /* a header, if there is one, is row 0 */
	struct sl__names *text;  /* [columns] the distinct texts; "" and those that begin with SL__CELL_MISSING: no label */
	uint32_t *code;          /* [rows][columns] */
	uint32_t *line;          /* [rows] its line, from 1 */
	bool short_header;       /* row 0 has one field less than the others, as R writes; its first cell is "" */
	uint64_t lines, blank_lines, comment_lines;
	uint64_t row_capacity;
};

/* Reads the source to its end. Blank lines are rows only if each line is one cell. c: all zero. The caller calls
 * sl__cells_finish(), also after an error. SL_BADDATA: a line has another number of fields, a quote is not closed, the
 * text is not UTF-8. */
int sl__cells_read(struct sl__cells *c, const struct sl__keys *keys, struct sl_source *source, struct sl_error *err);
void sl__cells_finish(struct sl__cells *c);

/* The text of a cell, and whether it stands for no label. */
const char *sl__cell(const struct sl__cells *c, uint64_t row, uint32_t column);
static inline bool sl__cell_is_missing(const char *text) { return !*text || *text == SL__CELL_MISSING; }
/* The text without the mark: "NA" may be a name. */
static inline const char *sl__cell_text(const char *text) { return text + (*text == SL__CELL_MISSING); }

#endif
