/* parts.h -- several files as one: a source that is made of others.
 *
 * Texts follow each other line by line. The titles of the first one stand for all: those of the others are compared with
 * them by name and left out; if they are the same in another order, the fields of each line are put into the first
 * file's order. A column that counts the rows of each file counts on. Arrays (.npy) of one type and one number of
 * columns follow each other by rows. Other kinds of files are refused, as are titles that differ. What was done is in
 * notes; errors of readers name the file and its line. Internal to core/formats/. */
#ifndef SL_PARTS_H
#define SL_PARTS_H

#include "core/formats/source/source.h"

struct sl__parts;

/* Bytes of the whole, as sl__source_produce(). */
int64_t sl__parts_produce(struct sl_source *s, void *out, size_t want, struct sl_error *err);
/* The file and its line that line number `line` of the whole comes from; *line becomes that of the file. */
const char *sl__parts_place(const struct sl__parts *p, int64_t *line);
void sl__parts_destroy(struct sl__parts *p);  /* closes the parts; NULL is fine */

#endif
