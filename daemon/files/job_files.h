/* job_files.h -- the files of a job, in STATE_DIR/jobs/.
 *
 *   ID.npy         the layout of a job that is done, float32 [nodes][dims]
 *   ID.trace       its trace: struct sl_trace_point, as the machine has them, after a header
 *   ID.start       given labels or means that a run begins with, float64 after the .npy header
 *   ID.initial     a given initial layout, float32 [nodes][dims] after the .npy header
 *   ID.checkpoint  the state of a running job, after a header with length and checksum
 *   ID.still       the layout, or values, of a paused job at its checkpoint, float32 after the .npy header
 *   ID.NAME        an array of that name that the method gives (core/method/method.h), after the .npy header
 *   ID.png         the picture in its default form, made at the first request for it
 *
 * Each file ends with a seal (seal.h). The seals of ID.npy, of a method's first array and of ID.checkpoint contain the
 * job's record. Files are written by sl_atomic_replace(). A damaged file is SL_IO, and err names it. Functions block:
 * for pool threads and the start. folder: STATE_DIR/jobs. */
#ifndef SL_JOB_FILES_H
#define SL_JOB_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/embedding/embedding.h"
#include "core/method/method.h"

/* "FOLDER/ID.kind", malloc'd; NULL: out of memory. */
char *sl_job_file_path(const char *folder, const char *id, const char *kind);

/* Writes trace and layout; both are on disk when it returns 0. record: the job's, as JSON, for the seal; or NULL. */
int sl_job_file_write_result(const char *folder, const char *id, const float *y, uint32_t n, int dims,
			     const struct sl_trace_point *trace, int count, const char *record, struct sl_error *err);
/* The same for arrays, whose names are the kinds of their files. */
int sl_job_file_write_arrays(const char *folder, const char *id, const struct sl_method_result *result,
			     const struct sl_trace_point *trace, int count, const char *record, struct sl_error *err);
/* kind "npy", "initial" or "still". */
int sl_job_file_write_layout(const char *folder, const char *id, const char *kind, const float *y, uint32_t n,
			     int dims, const char *record, struct sl_error *err);
/* Reads y [n * dims], which the caller frees with free(). */
int sl_job_file_read_layout(const char *folder, const char *id, const char *kind, uint32_t n, int dims, float **y,
			    struct sl_error *err);
/* The given start of a method on points, float64 [n][d]. */
int sl_job_file_write_start(const char *folder, const char *id, const double *value, uint32_t n, int d,
			    struct sl_error *err);
int sl_job_file_read_start(const char *folder, const char *id, uint32_t n, int d, double **value, struct sl_error *err);
/* Checks that the open file is an undamaged layout of this shape; reads all of it. path: for messages. */
int sl_job_file_check_layout(int fd, const char *path, uint32_t n, int dims, struct sl_error *err);
int sl_job_file_read_trace(const char *folder, const char *id, struct sl_trace_point **trace, int *count,
			   struct sl_error *err);
int sl_job_file_write_checkpoint(const char *folder, const char *id, const void *blob, uint64_t bytes,
				 const char *record, struct sl_error *err);
int sl_job_file_read_checkpoint(const char *folder, const char *id, void **blob, uint64_t *bytes, struct sl_error *err);
/* Writes any bytes, head and body; `safe`: with fsync. record may be NULL. */
int sl_job_file_write(const char *folder, const char *id, const char *kind, const void *head, size_t head_bytes,
		      const void *body, size_t body_bytes, const char *record, bool safe, struct sl_error *err);
/* Reads these bytes; *out is malloc'd. */
int sl_job_file_read(const char *folder, const char *id, const char *kind, void **out, size_t *bytes,
		     struct sl_error *err);
/* The length of the file with its seal, which is as much as sl_job_file_read() allocates, or a little more. */
int sl_job_file_bytes(const char *folder, const char *id, const char *kind, size_t *bytes, struct sl_error *err);
/* Opens a file made by sl_job_file_write(), after checking that it is undamaged. The caller closes it; its first *bytes
 * are the content. */
int sl_job_file_open(const char *folder, const char *id, const char *kind, int *fd, uint64_t *bytes,
		     struct sl_error *err);
/* Removes the files of these kinds ("npy", ...; NULL-terminated). Missing ones are fine. */
void sl_job_file_remove(const char *folder, const char *id, const char *const *kinds);
const char *const *sl_job_file_kinds(void);        /* all, NULL-terminated; any thread */
/* True if the seal of such a file has the job's record: of layouts, and of the first array of each method. */
bool sl_job_file_is_result(const char *kind);
extern const char *const sl_job_file_transient[];  /* those that an ended job does not need */

#endif
