/* Receives the bodies of requests. JSON goes to memory. An upload is one part named "file", or several parts as
 * multipart/form-data. A part starts in memory and moves to a file in STATE_DIR/tmp when it exceeds SL__MEMORY_BYTES. A
 * raw body with a known length that is not too large stays in memory and is read from there; its memory grows as bytes
 * arrive. The loop writes chunks to files itself: they go to the page cache, and the thread pool calls fsync(). */
#include "daemon/http/http_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/db.h"
#include "daemon/users/bookings.h"
#include "daemon/util/ulid.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define DISK_STEP ((uint64_t)1 << 20)          /* bytes of disk that are booked at a time */
#define WORDS_BYTES 256                        /* of the names of a part, beyond their letters */
#define FORM_BYTES (4 * SL__PART_HEADER_BYTES) /* of the parser of a form */

static int64_t limit(const struct sl_request *r)
{
	const struct sl_config *c = &r->http->d->config;
	if (r->route->verb == SL_VERB_OPEN && c->max_request_bytes > SL__STRANGER_BYTES)
		return SL__STRANGER_BYTES;
	return r->route->flags & SL_BODY_UPLOAD ? c->max_upload_bytes : c->max_request_bytes;
}

/* True if the body is too big for the server, or for an upload of this user. */
static bool is_too_big(struct sl_request *r, uint64_t bytes)
{
	bool upload = r->route->flags & SL_BODY_UPLOAD;
	return bytes > (uint64_t)limit(r) || (upload && sl_users_exceeds(r->http->d->users, r->who.account,
									SL_LIMIT_UPLOAD_BYTES, 0, (double)bytes, &r->hit));
}

static int too_big(const struct sl_request *r, struct sl_error *err)
{
	if (limit(r) == SL__STRANGER_BYTES && r->route->verb == SL_VERB_OPEN)
		return sl_error_set(err, SL_TOOBIG, "without a token, the body must have at most %d bytes",
				    SL__STRANGER_BYTES);
	return sl_error_set(err, SL_TOOBIG, "the body must have at most %lld bytes (%s)", (long long)limit(r),
			    r->route->flags & SL_BODY_UPLOAD ? "max_upload_bytes" : "max_request_bytes");
}

/* Makes room for more bytes and a zero byte after them, in r->body_room, and books it before. */
static int grow(struct sl_request *r, char **data, size_t bytes, size_t more, struct sl_error *err)
{
	size_t *room = &r->body_room;
	if (bytes + more + 1 <= *room)
		return 0;
	size_t want = *room ? *room : 1024;
	while (want < bytes + more + 1)
		want *= 2;
	int rc = sl_account_take(&r->account, SL_MEMORY, want - *room, err);
	if (rc)
		return rc;
	char *bigger = realloc(*data, want);
	if (!bigger) {
		sl_account_give(&r->account, SL_MEMORY, want - *room);
		return sl_error_memory(err, "the request");
	}
	*data = bigger;
	*room = want;
	return 0;
}

/* Books disk for more bytes of a part. */
static int book_disk(struct sl_request *r, struct sl_part *part, size_t more, struct sl_error *err)
{
	uint64_t need = part->bytes + more, held = part->held[SL_DISK];
	if (need <= held)
		return 0;
	uint64_t step = (need - held + DISK_STEP - 1) / DISK_STEP * DISK_STEP;
	if (!r->account.taken[SL_DISK])
		sl_bookings_disk_part(r->http->d->bookings, &r->account);
	int rc = sl_account_take(&r->account, SL_DISK, step, err);
	if (!rc) {
		part->held[SL_DISK] += step;
		return 0;
	}
	const struct sl_bookings *b = r->http->d->bookings;
	sl_users_exceeds(r->http->d->users, r->who.account, SL_LIMIT_DISK_BYTES,
			 (double)(sl_bookings_disk_use(b, r->who.account) + r->account.taken[SL_DISK]), (double)step, &r->hit);
	return rc;
}

static int write_all(struct sl_request *r, int i, const char *data, size_t bytes, size_t more, struct sl_error *err)
{
	int rc = book_disk(r, &r->parts[i], more, err);
	if (rc || !sl__write_all(r->part_fd[i], data, bytes))
		return rc;
	return sl_error_set(err, sl_atomic_code(errno), "the upload cannot be stored: %s", strerror(errno));
}

/* Moves a part from memory to a file. */
static int spill(struct sl_request *r, int i, struct sl_error *err)
{
	struct sl_part *part = &r->parts[i];
	char id[SL_ULID_BYTES];
	if (asprintf(&part->path, "%s/upload-%s", r->http->d->tmp_dir, sl_ulid_make(id)) < 0) {
		part->path = NULL;
		return sl_error_memory(err, "the upload");
	}
	r->part_fd[i] = open(part->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r->part_fd[i] < 0) {
		free(part->path);
		part->path = NULL;
		return sl_error_set(err, sl_atomic_code(errno), "the upload cannot be stored: %s",
				    strerror(errno));
	}
	int rc = write_all(r, i, part->data ? part->data : "", part->bytes, 0, err);
	free(part->data);
	part->data = NULL;
	sl_account_give(&r->account, SL_MEMORY, part->held[SL_MEMORY]);
	part->held[SL_MEMORY] = 0;
	return rc;
}

static int part_add(struct sl_request *r, const char *name, const char *filename, const char *type,
		    struct sl_error *err)
{
	if (r->part_count == SL__PARTS)
		return sl_error_set(err, SL_BADPARAM, "a form must have at most %d parts", SL__PARTS);
	int i = r->part_count;
	struct sl_part *part = &r->parts[i];
	memset(part, 0, sizeof *part);
	r->part_fd[i] = -1;
	r->part_count++;
	const char *slash = filename ? strrchr(filename, '/') : NULL;
	const char *base = slash ? slash + 1 : filename;
	size_t words = strlen(name) + (base ? strlen(base) : 0) + (type ? strlen(type) : 0);
	int rc = sl_account_take(&r->account, SL_MEMORY, words + WORDS_BYTES, err);
	if (rc)
		return rc;
	part->name = strdup(name);
	part->filename = base && *base ? strdup(base) : NULL;
	part->content_type = type ? strdup(type) : NULL;
	part->data = calloc(1, 1);
	if (!part->name || !part->data || (base && *base && !part->filename) || (type && !part->content_type))
		return sl_error_memory(err, "the upload");
	return 0;
}

static int part_append(struct sl_request *r, int i, const char *data, size_t bytes, struct sl_error *err)
{
	struct sl_part *part = &r->parts[i];
	int rc = 0;
	/* body_room is the room of the part that grows: parts come one after the other */
	if (!part->path && (part->bytes + bytes > (r->whole ? r->whole : SL__MEMORY_BYTES) ||
			    grow(r, &part->data, part->bytes, bytes, err)))
		rc = spill(r, i, err);
	if (!rc && part->path) {
		rc = write_all(r, i, data, bytes, bytes, err);
	} else if (!rc) {
		part->held[SL_MEMORY] = r->body_room;
		memcpy(part->data + part->bytes, data, bytes);
		part->data[part->bytes + bytes] = '\0';
	}
	part->bytes += bytes;
	return rc;
}

static int on_part(void *arg, const char *name, const char *filename, const char *type, struct sl_error *err)
{
	struct sl_request *r = arg;
	r->body_room = 0;
	if (sl_request_part(r, name) && strcmp(name, "file") != 0)  /* handlers ask for the number of files */
		return sl_error_set(err, SL_BADPARAM, "the form has two parts named '%.64s'", name);
	return part_add(r, name, filename, type, err);
}

static int on_part_data(void *arg, const char *data, size_t bytes, struct sl_error *err)
{
	struct sl_request *r = arg;
	return part_append(r, r->part_count - 1, data, bytes, err);
}

static const struct sl__multipart_ops form_ops = {on_part, on_part_data};

static bool is_type(const char *content_type, const char *wanted)
{
	size_t length = strcspn(content_type, "; \t");
	return length == strlen(wanted) && !strncasecmp(content_type, wanted, length);
}

/* Allocates memory for the whole body, if it leaves half of the budget for others; pages take no memory before they are
 * written. */
static void keep_whole(struct sl_request *r, uint64_t bytes)
{
	struct sl_bookings *b = r->http->d->bookings;
	uint64_t room_bytes = (bytes + HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE;
	if (bytes <= SL__MEMORY_BYTES || bytes > SL__WHOLE_BYTES ||
	    sl_bookings_taken(b, SL_BOOK_BODY) + room_bytes > sl_bookings_limit(b, SL_BOOK_BODY) / 2 ||
	    sl_account_take(&r->account, SL_MEMORY, room_bytes, NULL))
		return;
	char *room = aligned_alloc(HUGE_PAGE, room_bytes);
	if (!room) {
		sl_account_give(&r->account, SL_MEMORY, room_bytes);
		return;
	}
	madvise(room, bytes, MADV_HUGEPAGE);  /* thousands of page faults less */
	free(r->parts[0].data);
	r->parts[0].data = room;
	r->body_room = bytes + 1;
	r->whole = bytes;
	r->parts[0].held[SL_MEMORY] = room_bytes;
}

/* Checks the headers of the body. Returns an error code, or an HTTP status > 0 if there is no code for it. */
int sl__body_begin(struct sl_request *r, struct sl_error *err)
{
	const char *length = sl_request_header(r, "Content-Length"), *type = sl_request_header(r, "Content-Type");
	char *end;
	if (length && is_too_big(r, strtoull(length, &end, 10)))
		return too_big(r, err);
	if (r->route->flags & (SL_BODY_JSON | SL_BODY_UPLOAD))
		r->account = sl_bookings_account(r->http->d->bookings, SL_BOOK_BODY, r->who.account);
	if (r->route->flags & SL_BODY_JSON) {
		bool body = length ? strcmp(length, "0") : sl_request_header(r, "Transfer-Encoding") != NULL;
		if (type ? !is_type(type, "application/json") : body) {
			sl_error_set(err, SL_BADPARAM, "the body must be application/json, not %.64s", type ? type : "of no type");
			return 415;
		}
		return 0;
	}
	if (!(r->route->flags & SL_BODY_UPLOAD))
		return 0;
	/* the little room that is left is for records, of deletions first of all */
	if ((r->route->verb == SL_VERB_CREATE || r->route->verb == SL_VERB_CHANGE) && sl_db_uses_reserve(r->http->d->db))
		return sl_error_set(err, SL_DISKFULL, "the disk is full: uploads are refused until there is room in %s",
				    r->http->d->state_dir);
	if (!type || strncasecmp(type, "multipart/", 10)) {
		int rc = part_add(r, "file", NULL, type, err);
		if (!rc && length)
			keep_whole(r, strtoull(length, NULL, 10));
		return rc;
	}
	if (!is_type(type, "multipart/form-data")) {
		sl_error_set(err, SL_BADPARAM, "the body must be the file itself or multipart/form-data, not %.64s", type);
		return 415;
	}
	int rc = sl_account_take(&r->account, SL_MEMORY, FORM_BYTES, err);
	return rc ? rc : sl__multipart_create(&r->form, type, &form_ops, r, err);
}

int sl__body_data(struct sl_request *r, const char *data, size_t bytes, struct sl_error *err)
{
	r->received += bytes;
	if (is_too_big(r, r->received))
		return too_big(r, err);
	if (r->form)
		return sl__multipart_feed(r->form, data, bytes, err);
	if (r->route->flags & SL_BODY_UPLOAD)
		return part_append(r, 0, data, bytes, err);
	if (!(r->route->flags & SL_BODY_JSON))
		return 0;
	int rc = grow(r, &r->body, r->body_bytes, bytes, err);
	if (rc)
		return rc;
	memcpy(r->body + r->body_bytes, data, bytes);
	r->body_bytes += bytes;
	r->body[r->body_bytes] = '\0';
	return 0;
}

int sl__body_end(struct sl_request *r, struct sl_error *err)
{
	int code = r->form ? sl__multipart_end(r->form, err) : 0;
	if (code)
		return code;
	for (int i = 0; i < r->part_count; i++) {
		if (r->part_fd[i] < 0)
			continue;
		int rc = close(r->part_fd[i]);
		r->part_fd[i] = -1;
		if (rc)
			return sl_error_set(err, sl_atomic_code(errno), "the upload cannot be stored: %s", strerror(errno));
	}
	return 0;
}

void sl__body_free(struct sl_request *r)
{
	sl__multipart_destroy(r->form);
	r->form = NULL;
	for (int i = 0; i < r->part_count; i++) {
		struct sl_part *part = &r->parts[i];
		if (r->part_fd[i] >= 0)
			close(r->part_fd[i]);
		if (part->path)
			unlink(part->path);
		free(part->path);
		free(part->data);
		free(part->name);
		free(part->filename);
		free(part->content_type);
	}
	r->part_count = 0;
	r->whole = 0;
	sl__document_free(r);
	free(r->body);
	r->body = NULL;
	sl_account_close(&r->account);
}

const char *sl_request_body(const struct sl_request *r, size_t *bytes)
{
	if (bytes)
		*bytes = r->body_bytes;
	return r->body ? r->body : "";
}

int sl_request_parts(const struct sl_request *r)
{
	return r->part_count;
}

struct sl_part *sl_request_part_at(const struct sl_request *r, int i)
{
	return (struct sl_part *)&r->parts[i];
}

struct sl_part *sl_request_part(const struct sl_request *r, const char *name)
{
	for (int i = 0; i < r->part_count; i++)
		if (r->parts[i].name && !strcmp(r->parts[i].name, name))
			return (struct sl_part *)&r->parts[i];
	return NULL;
}
