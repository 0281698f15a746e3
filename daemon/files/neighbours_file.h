/* neighbours_file.h -- neighbours on disk (array_file.h), so that a search is not repeated: STATE_DIR/graphs/ID.sln.
 *
 *   index [n][k] u32, distance [n][k] f32, user [n] u32 (left out if no row was dropped), axes [n][3] f32 (left out if
 *   the user gave the neighbours)
 *
 * The file contains its whole description. So a search for more neighbours replaces it without a change of a record. */
#ifndef SL_NEIGHBOURS_FILE_H
#define SL_NEIGHBOURS_FILE_H

#include "core/neighbours/neighbours.h"
#include "daemon/files/array_file.h"

struct sl_neighbours_summary {
	uint32_t n, n_user, k;
	int metric;
	double p, recall, seconds;   /* seconds: duration of the search */
	char method[32];
};

struct sl_neighbours_summary sl_neighbours_summary_of(const struct sl_neighbours *nb, double seconds);
void sl_neighbours_digest(const struct sl_neighbours *nb, unsigned char digest[SL_DIGEST_BYTES]);

/* Writes path (which must not exist) and fsyncs it; *bytes: its size. Removes it on error. */
int sl_neighbours_file_write(const char *path, const struct sl_neighbours *nb, double seconds, uint64_t *bytes,
			     struct sl_error *err);
/* SL_BADDATA: the file is damaged. */
int sl_neighbours_file_read(const char *path, struct sl_neighbours **out, struct sl_error *err);
/* Reads and checks only the header. *axes: whether the file has the axes of the points. */
int sl_neighbours_file_check(const char *path, struct sl_neighbours_summary *out, bool *axes, uint64_t *bytes,
			     struct sl_error *err);

#endif
