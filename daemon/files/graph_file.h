/* graph_file.h -- a graph on disk, as an array file (array_file.h).
 *
 * Arrays: start [n + 1] u64, node [m] u32, weight [m] f32, name_at [n + 1] u64, name bytes, label [n] u32, label names
 * (each zero-terminated); missing arrays are empty. The info bytes of the header hold sizes, the reader's report and
 * the graph's digest.
 *
 * The graph's digest, BLAKE2b-256, covers the content in the order above, so it does not depend on the format of the
 * upload. Functions block: for pool threads. */
#ifndef SL_GRAPH_FILE_H
#define SL_GRAPH_FILE_H

#include "core/graph/graph.h"

#define SL_GRAPH_DIGEST_BYTES 32

/* The endings of all files in STATE_DIR/graphs, including points and neighbours; ends with NULL. */
extern const char *const sl_graph_file_kinds[];

void sl_graph_digest(const struct sl_graph *g, unsigned char digest[SL_GRAPH_DIGEST_BYTES]);

/* Writes path (which must not exist) and fsyncs it; *bytes: its size. Removes it on error. record: for the seal. */
int sl_graph_file_write(const char *path, const struct sl_graph *g, const unsigned char digest[SL_GRAPH_DIGEST_BYTES],
			const char *record, uint64_t *bytes, struct sl_error *err);

/* SL_BADDATA: the file is damaged. */
int sl_graph_file_read(const char *path, struct sl_graph **out, struct sl_error *err);

/* Reads only the header, and checks that it is undamaged, that the file has the declared length, and that the graph has
 * this digest. */
int sl_graph_file_check(const char *path, const unsigned char digest[SL_GRAPH_DIGEST_BYTES], struct sl_error *err);

#endif
