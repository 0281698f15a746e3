/* labels_internal.h -- what the files of this folder share. */
#ifndef SL_LABELS_INTERNAL_H
#define SL_LABELS_INTERNAL_H

#include "core/formats/labels/cells.h"
#include "core/formats/labels/labels.h"

enum sl__join_how { SL__JOIN_ROWS, SL__JOIN_NAMES, SL__JOIN_NUMBERS, SL__JOIN_FROM_ONE };

struct sl__join {
	enum sl__join_how how;
	uint32_t key;            /* the column of names or numbers; not by rows */
	bool header;             /* row 0 has titles */
	uint64_t hits;           /* nodes that a row names */
	bool first_row_named;    /* row 0 names a node */
	uint64_t again;          /* a row whose node an earlier row names; 0: none */
	uint32_t *node_of_text;  /* of the column of keys, owned */
};

/* Finds how rows and nodes belong together. May remove rows from c: blank lines at its end, comments. SL_BADDATA: they
 * do not match. */
int sl__join(struct sl__join *j, struct sl__cells *c, const struct sl__keys *keys, struct sl_source *source,
	     struct sl_error *err);
void sl__join_finish(struct sl__join *j);
/* The node of a row, or SL__NO_NAME. */
uint32_t sl__join_node(const struct sl__join *j, const struct sl__cells *c, uint64_t row);

/* The whole text is a number (digits, or inf). */
bool sl__is_number(const char *text);

/* A usual title of a column of labels. */
bool sl__is_label_title(const char *title);

#endif
