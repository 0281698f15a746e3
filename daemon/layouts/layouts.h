/* layouts.h -- layouts that clients upload as initial layouts of jobs (`initial`).
 *
 * A layout is a file STATE_DIR/layouts/ID.npy: float32 [nodes][dims], and a seal whose record has shape and user. Jobs
 * copy the file when they are submitted. It is removed layout_lifetime_s after its upload, or when its owner deletes
 * it, and survives restarts until then. One upload is read at a time, while others wait in line; its memory is reserved
 * in the budget of uploads.
 *
 * All functions: loop thread. */
#ifndef SL_LAYOUTS_H
#define SL_LAYOUTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "daemon/util/ulid.h"

struct sl_daemon;
struct sl_layouts;
struct sl_request;

/* Borrowed until the caller returns to the loop, or while the caller holds it. */
struct sl_layout_record {
	char id[SL_ULID_BYTES];
	uint32_t nodes;
	int dims;
	uint64_t bytes;              /* of its file */
	char user[SL_ULID_BYTES];    /* the user whose limits count; "": none */
};

int sl_layouts_create(struct sl_layouts **out, struct sl_daemon *d, struct sl_error *err);
/* Closes after uploads in progress have ended; no layout may be held. */
void sl_layouts_close(struct sl_layouts *s, void (*closed)(void *arg), void *arg);

/* The record of this id; NULL: none, or it was removed. */
const struct sl_layout_record *sl_layouts_find(struct sl_layouts *s, const char *id);
/* Keeps the file until sl_layouts_release(), even if the record is removed. */
void sl_layouts_hold(struct sl_layouts *s, const char *id);
void sl_layouts_release(struct sl_layouts *s, const char *id);
/* The folder of their files, for sl_job_file_read_layout() with kind "npy". */
const char *sl_layouts_folder(const struct sl_layouts *s);
/* Bytes on disk of a user's layouts. */
uint64_t sl_layouts_disk_use(struct sl_layouts *s, const char *user);

void sl_layouts_each(const struct sl_layouts *s, void (*each)(void *arg, const struct sl_layout_record *l), void *arg);

/* ---- requests of clients -------------------------------------------------------- */

/* New references; json: NULL if there is none. */
json_t *sl_layouts_json(struct sl_layouts *s, const char *id);
json_t *sl_layouts_list(struct sl_layouts *s);
/* Replies to the request when the removal of the file is safe against a power cut; 404: there is no such layout. */
void sl_layouts_delete(struct sl_layouts *s, const char *id, struct sl_request *r);
/* The same without a request. */
void sl_layouts_remove(struct sl_layouts *s, const char *id);
void sl_layouts_not_found(struct sl_request *r, const char *id);
/* Takes the parts of the request and replies to it. */
void sl_layouts_upload(struct sl_layouts *s, struct sl_request *r);

#endif
