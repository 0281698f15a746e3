/* text_index.h -- an index of the words of a graph's columns of texts: STATE_DIR/graphs/ID.index, made by SQLite's
 * FTS5.
 *
 * The file holds only what can be made again from the columns: backups leave it out, and it has no seal. It names the
 * columns that it was made of by their digests; if these are others, it is made anew before it is searched. */
#ifndef SL_TEXT_INDEX_H
#define SL_TEXT_INDEX_H

#include <stdbool.h>

#include "daemon/files/columns_file.h"

struct sl_graphs;

/* Makes the index of all columns of kind text, or removes it if there are none, unless it is of these columns. path: of
 * the index; columns_path: of the columns. cancel: ends it with SL_CANCELLED when it is not 0; NULL is fine. Threads
 * that do so at once wait for each other. Pool thread. */
int sl__index_settle(const char *path, const char *columns_path, const struct sl_columns *columns, const int *cancel,
		     struct sl_error *err);

/* Calls found(arg, node, rank) for each node whose texts have all words of `text`: words, "several words" that follow
 * each other, and begin* for all words that begin so. Upper and lower case and accents do not count. rank: lower is
 * better (BM25), 0 unless ranked. only: the column to search, or NULL: all. SL_BADPARAM at ?search; SL_CANCELLED after
 * deadline_ns (CLOCK_MONOTONIC). Pool thread. */
int sl__index_search(const char *path, const struct sl_columns *columns, const char *text, const char *only, bool
		ranked,
		     int64_t deadline_ns, void (*found)(void *arg, uint32_t node, double rank), void *arg,
		     struct sl_error *err);

/* Goes through the words of an index, in the order of the alphabet: found(arg, node) for each node that has the word in
 * one of the texts with texts[k], the K-th column of texts, in the order of their numbers; then end(arg, word), whose
 * error ends it. Pool thread. */
int sl__index_words(const char *path, const struct sl_columns *columns, const bool *texts, const int *cancel,
		    void (*found)(void *arg, uint32_t node), int (*end)(void *arg, const char *word), void *arg,
		    struct sl_error *err);

/* Removes the index of a graph that is deleted. Pool thread. */
void sl__index_remove(const struct sl_graphs *s, const char *id);
uint64_t sl__index_bytes(const char *path);

#endif
