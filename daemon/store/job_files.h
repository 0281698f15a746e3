/* job_files.h -- what a job leaves under STATE/jobs/.
 *
 *   ID.npy         the layout of a job that is done, float32 [nodes][dims]
 *   ID.trace       its trace: struct sl_trace_point, as the machine has them, after a header
 *   ID.initial     a given initial layout, float32 [nodes][dims] after the .npy header
 *   ID.checkpoint  the state of a running job, after a header with length and checksum
 *   ID.png         the picture in its default form, made when it is first asked for
 *
 * Each is written to ID.kind.tmp, fsynced, renamed, and the folder fsynced. These functions
 * block: they are for the thread pool (and the start). folder is STATE/jobs. */
#ifndef SL_JOB_FILES_H
#define SL_JOB_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/embedding.h"

/* "FOLDER/ID.kind", malloc'd; NULL: out of memory. */
char *sl_job_file_path(const char *folder, const char *id, const char *kind);

/* Layout and trace, both safe when it returns 0. */
int sl_job_file_write_result(const char *folder, const char *id, const float *y, uint32_t n, int dims,
			     const struct sl_trace_point *trace, int count, struct sl_error *err);
/* kind "npy" or "initial". */
int sl_job_file_write_layout(const char *folder, const char *id, const char *kind, const float *y, uint32_t n,
			     int dims, struct sl_error *err);
/* y [n * dims], the caller's to free(). */
int sl_job_file_read_layout(const char *folder, const char *id, const char *kind, uint32_t n, int dims, float **y,
			    struct sl_error *err);
int sl_job_file_read_trace(const char *folder, const char *id, struct sl_trace_point **trace, int *count,
			   struct sl_error *err);
int sl_job_file_write_checkpoint(const char *folder, const char *id, const void *blob, uint64_t bytes,
				 struct sl_error *err);
/* SL_BADDATA when it is damaged. */
int sl_job_file_read_checkpoint(const char *folder, const char *id, void **blob, uint64_t *bytes, struct sl_error *err);
/* Any bytes; `safe`: with the fsyncs. */
int sl_job_file_write(const char *folder, const char *id, const char *kind, const void *head, size_t head_bytes,
		      const void *body, size_t body_bytes, bool safe, struct sl_error *err);
/* Removes the files of these kinds ("npy", ...; NULL-terminated). Missing ones are fine. */
void sl_job_file_remove(const char *folder, const char *id, const char *const *kinds);
extern const char *const sl_job_file_kinds[];      /* all */
extern const char *const sl_job_file_transient[];  /* what an ended job does not need */

#endif
