/* points_file.h -- points on disk (array_file.h): STATE_DIR/graphs/ID.slp.
 *
 *   value [n][d] float32 or uint8, user [n] u32, name_at [n_user + 1] u64, name bytes, label [n_user] u32,
 *   label names (each zero-terminated); missing arrays are left out. For points that were projected on their
 *   principal axes then mean [from] and axis [from][d] in double. The center of the columns, if there is one, in
 *   double: [center_columns], after the means and their columns, or in their place
 *
 * If the user gave neighbours instead of points, there are no values (d = 0), but names and labels. */
#ifndef SL_POINTS_FILE_H
#define SL_POINTS_FILE_H

#include "core/points/points.h"
#include "daemon/files/array_file.h"

/* The digest does not depend on the format of the upload. 0 or SL_NOMEM. */
int sl_points_digest(const struct sl_points *p, unsigned char digest[SL_DIGEST_BYTES]);

/* Writes path (which must not exist) and fsyncs it; *bytes: its size. Removes it on error. record: for the seal. */
int sl_points_file_write(const char *path, const struct sl_points *p, const unsigned char digest[SL_DIGEST_BYTES],
			 const char *record, uint64_t *bytes, struct sl_error *err);
/* SL_BADDATA: the file is damaged. */
int sl_points_file_read(const char *path, struct sl_points **out, struct sl_error *err);
/* Reads only the header, and checks that it is undamaged and that the file has the declared length. */
int sl_points_file_check(const char *path, struct sl_error *err);

#endif
