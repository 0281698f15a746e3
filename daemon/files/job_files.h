/* job_files.h -- what a job leaves under STATE/jobs/.
 *
 *   ID.npy         the layout of a job that is done, float32 [nodes][dims]
 *   ID.trace       its trace: struct sl_trace_point, as the machine has them, after a header
 *   ID.initial     a given initial layout, float32 [nodes][dims] after the .npy header
 *   ID.checkpoint  the state of a running job, after a header with length and checksum
 *   ID.labels, ID.centroids  arrays of methods that give no layout, int32 or float32 after the .npy header
 *   ID.png         the picture in its default form, made when it is first asked for
 *
 * Each ends with a seal (seal.h); ID.npy, ID.labels and ID.checkpoint have the job's record in it. Each is written by
 * sl_atomic_replace(). Files without a seal, of before there were seals, are read, too. What is damaged is SL_IO, which
 * names the file. These functions block: they are for the thread pool (and the start). folder is STATE/jobs. */
#ifndef SL_JOB_FILES_H
#define SL_JOB_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/embedding/embedding.h"
#include "core/method/method.h"

/* "FOLDER/ID.kind", malloc'd; NULL: out of memory. */
char *sl_job_file_path(const char *folder, const char *id, const char *kind);

/* Trace and layout, both safe when it returns 0. record: the job's, as JSON, for the seal; or NULL. */
int sl_job_file_write_result(const char *folder, const char *id, const float *y, uint32_t n, int dims,
			     const struct sl_trace_point *trace, int count, const char *record, struct sl_error *err);
/* The same for arrays, whose names are the kinds of their files. */
int sl_job_file_write_arrays(const char *folder, const char *id, const struct sl_method_result *result,
			     const struct sl_trace_point *trace, int count, const char *record, struct sl_error *err);
/* kind "npy", "initial" or "start". */
int sl_job_file_write_layout(const char *folder, const char *id, const char *kind, const float *y, uint32_t n,
			     int dims, const char *record, struct sl_error *err);
/* y [n * dims], the caller's to free(). */
int sl_job_file_read_layout(const char *folder, const char *id, const char *kind, uint32_t n, int dims, float **y,
			    struct sl_error *err);
/* Is the open file a layout of this shape, and undamaged? Reads all of it. path is for messages. */
int sl_job_file_check_layout(int fd, const char *path, uint32_t n, int dims, struct sl_error *err);
int sl_job_file_read_trace(const char *folder, const char *id, struct sl_trace_point **trace, int *count,
			   struct sl_error *err);
int sl_job_file_write_checkpoint(const char *folder, const char *id, const void *blob, uint64_t bytes,
				 const char *record, struct sl_error *err);
int sl_job_file_read_checkpoint(const char *folder, const char *id, void **blob, uint64_t *bytes, struct sl_error *err);
/* Any bytes, head and body; `safe`: with the fsyncs. record may be NULL. */
int sl_job_file_write(const char *folder, const char *id, const char *kind, const void *head, size_t head_bytes,
		      const void *body, size_t body_bytes, const char *record, bool safe, struct sl_error *err);
/* The same bytes back; out is malloc'd. A file without a seal counts as damaged. */
int sl_job_file_read(const char *folder, const char *id, const char *kind, void **out, size_t *bytes,
		     struct sl_error *err);
/* Opens a file that sl_job_file_write() has made, when it has been found undamaged. The caller closes it; its first
 * *bytes are the content. */
int sl_job_file_open(const char *folder, const char *id, const char *kind, int *fd, uint64_t *bytes,
		     struct sl_error *err);
/* Removes the files of these kinds ("npy", ...; NULL-terminated). Missing ones are fine. */
void sl_job_file_remove(const char *folder, const char *id, const char *const *kinds);
extern const char *const sl_job_file_kinds[];      /* all */
extern const char *const sl_job_file_transient[];  /* what an ended job does not need */

#endif
