/* Makes a layout that survives a power cut from the bytes of a request:
 *
 *   loop: uploads wait in line; one is read at a time
 *   pool: read, checked, written to layouts/ID.npy (temporary file, fsync, rename, fsync of the folder)
 *   loop: the record; http records the owner; 201
 *
 * A crash between writing the file and the reply leaves a layout that no client knows, until its time expires. */
#include <stdlib.h>
#include <string.h>

#include "core/formats/layout.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"
#include "daemon/layouts/layouts_internal.h"
#include "daemon/users/bookings.h"
#include "daemon/users/limits.h"
#include "daemon/util/pool.h"

#define UPLOAD_TIMEOUT_MS (24 * 3600 * 1000)  /* reading ends by itself; this is only a last limit */

struct sl__layout_upload {
	struct sl_link link;          /* in sl_layouts.uploads */
	struct sl_layouts *s;
	struct sl_request *r;         /* NULL: the client is gone */
	struct sl_pool_place work;
	struct sl_account account;
	int cancel;                   /* read by the pool */
	bool started;
	struct sl_uploaded file;
	int raw_dims;
	uint64_t max_nodes, max_bytes;
	struct sl_layout_record record;
	int code;
	struct sl_error err;
};

static void next(struct sl_layouts *s);

static void finish(struct sl__layout_upload *u)
{
	struct sl_layouts *s = u->s;
	sl_list_unlink(&u->link);
	sl_uploaded_finish(&u->file);
	if (u->account.give)
		sl_account_close(&u->account);
	free(u);
	next(s);
}

static void fail(struct sl__layout_upload *u, const struct sl_error *err)
{
	if (u->r)
		sl_reply_error(u->r, err);
	u->r = NULL;
	finish(u);
}

/* ---- on the pool -------------------------------------------------------------------------- */

static int read_layout(struct sl__layout_upload *u, float **y)
{
	const struct sl_read_options options = {.max_bytes = u->max_bytes, .max_nodes = u->max_nodes, .cancel = &u->cancel};
	struct sl_source *source = NULL;
	int rc = sl_uploaded_open(&u->file, &u->account, &source, &u->err);
	if (!rc)
		rc = sl_layout_read(y, &u->record.nodes, &u->record.dims, u->raw_dims, &options, source, &u->err);
	sl_source_close(source);
	return rc;
}

static void read_work(void *arg)
{
	struct sl__layout_upload *u = arg;
	char record[128];
	float *y = NULL;
	u->code = read_layout(u, &y);
	if (u->code && u->code != SL_CANCELLED && u->account.refusal.code) {
		u->err = u->account.refusal;
		u->code = u->err.code;
	}
	snprintf(record, sizeof record, "{\"nodes\": %u, \"dims\": %d, \"user\": \"%s\"}", u->record.nodes, u->record.dims,
		 u->record.user);
	if (!u->code)
		u->code = sl_job_file_write_layout(u->s->folder, u->record.id, "npy", y, u->record.nodes, u->record.dims,
						   record, &u->err);
	if (!u->code)
		u->code = sl_job_file_bytes(u->s->folder, u->record.id, "npy", &u->record.bytes, &u->err);
	free(y);
	sl_uploaded_finish(&u->file);
}

static bool refuse(struct sl__layout_upload *u)
{
	struct sl_layouts *s = u->s;
	struct sl_limit_hit hit;
	if (!u->record.user[0] || !sl_graphs_exceed(s->d->graphs, u->record.user, u->record.bytes, &hit))
		return false;
	if (u->r)
		sl_reply_limit(u->r, &hit);
	u->r = NULL;
	return true;
}

static void read_done(void *arg)
{
	struct sl__layout_upload *u = arg;
	struct sl_layouts *s = u->s;
	struct sl_error err;
	if (u->code) {
		fail(u, &u->err);
		return;
	}
	bool refused = !u->r || refuse(u);
	struct sl__layout *l = refused ? NULL : sl__layout_insert(s, &u->record, sl_ulid_time_ms(u->record.id));
	if (!l) {
		sl__layouts_remove_file(s, u->record.id);
		sl_error_memory(&err, "the layout");
		fail(u, &err);
		return;
	}
	struct sl_request *r = u->r;
	u->r = NULL;
	sl_reply_location(r, "/v1/layouts/%s", u->record.id);
	sl_reply_json(r, 201, sl_layouts_json(s, u->record.id));
	finish(u);
}

/* ---- the line ----------------------------------------------------------------------------- */

/* Starts the first upload of the line, unless it runs. */
static void next(struct sl_layouts *s)
{
	struct sl__layout_upload *u = SL_LIST_FIRST(struct sl__layout_upload, &s->uploads, link);
	if (!u) {
		sl__layouts_idle(s);
		return;
	}
	if (u->started)
		return;
	u->started = true;
	u->account = sl_bookings_account(s->d->bookings, SL_BOOK_READING, u->record.user);
	sl_pool_run_in(&u->work, s->d->loop, read_work, read_done, u);
}

/* The client is gone. If its upload still waits, its file is removed. */
static void gone(void *arg)
{
	struct sl__layout_upload *u = arg;
	u->r = NULL;
	__atomic_store_n(&u->cancel, 1, __ATOMIC_RELAXED);
	if (!u->started)
		finish(u);
}

void sl__layout_uploads_cancel(struct sl_layouts *s)
{
	SL_LIST_EACH_BACK(struct sl__layout_upload, u, &s->uploads, link) {
		__atomic_store_n(&u->cancel, 1, __ATOMIC_RELAXED);
		if (!u->started)
			finish(u);
	}
}

/* ---- the request -------------------------------------------------------------------------- */

static int check_room(struct sl_layouts *s, const char *user, struct sl_error *err)
{
	int64_t most = s->d->config.max_layouts, of_user = sl_users_part(s->d->users, user, most), own = 0;
	SL_LIST_EACH(const struct sl__layout, l, &s->all, link)
		own += !strcmp(l->record.user, user);
	SL_LIST_EACH(const struct sl__layout_upload, u, &s->uploads, link)
		own += !strcmp(u->record.user, user);
	if (of_user < most && own >= of_user)
		return sl_error_set(err, SL_CONFLICT, "You have %lld uploaded layouts already, a quarter of what the server "
				    "keeps (max_layouts). Delete one, or wait until one expires.", (long long)own);
	if ((int64_t)(s->all.count + s->uploads.count) >= most)
		return sl_error_set(err, SL_CONFLICT, "There are %lld uploaded layouts already, and no more are "
				    "kept (max_layouts). Delete one, or wait until one expires.", (long long)s->all.count);
	return 0;
}

void sl_layouts_upload(struct sl_layouts *s, struct sl_request *r)
{
	SL_ON_LOOP(s->d);
	struct sl_error err;
	int64_t dims = 0;
	const char *user = sl_request_who(r)->account;
	struct sl__layout_upload *u = calloc(1, sizeof *u);
	int rc = u ? 0 : sl_error_memory(&err, "the upload");
	if (!rc)
		rc = sl_request_query_int(r, "dims", 1, 3, &dims, &err);
	if (!rc)
		rc = check_room(s, user, &err);
	if (!rc)
		rc = sl_uploaded_take(r, &u->file, &err);
	if (rc) {
		sl_reply_error(r, &err);
		free(u);
		return;
	}
	u->s = s;
	u->raw_dims = (int)dims;
	u->max_nodes = (uint64_t)s->d->config.max_nodes;
	u->max_bytes = (uint64_t)s->d->config.max_decompressed_bytes;
	memcpy(u->record.user, user, sizeof u->record.user);
	sl_ulid_make(u->record.id);
	u->r = r;
	sl_list_append(&s->uploads, &u->link);
	sl_request_park_for(r, UPLOAD_TIMEOUT_MS, NULL, gone, u);
	next(s);
}
