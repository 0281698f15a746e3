/* Reads members of .npz files through libzip. A member is decompressed in pieces of PIECE bytes, between which the
 * cancel flag counts. */
#include "core/formats/numpy/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/source/source.h"

/* ---- archive ---------------------------------------------------------------- */

static int size_of(struct sl__archive *f, uint64_t *size)
{
	off_t end = fseeko(f->file, 0, SEEK_END) ? -1 : ftello(f->file);
	if (end < 0 || fseeko(f->file, 0, SEEK_SET))
		return sl_error_at(f->err, SL_IO, sl__source_name(f->source), 0, "The ZIP archive cannot be read: %s.",
				   strerror(errno));
	*size = (uint64_t)end;
	return 0;
}

static int open_archive(struct sl__archive *f, struct sl_source *source, uint64_t max_bytes, bool files,
			struct sl_error *err)
{
	*f = (struct sl__archive){.source = source, .max_bytes = max_bytes, .err = err};
	const char *name = sl__source_name(f->source);
	const void *bytes;
	uint64_t size;
	zip_source_t *zs;
	zip_error_t error;
	int rc = sl__source_random(f->source, &bytes, &size, &f->file, f->err);

	if (!rc && f->file)
		rc = size_of(f, &size);
	if (!rc)
		rc = sl__archive_check_directory(name, bytes, f->file, size, files, sl__source_account(source), f->err);
	if (rc) {
		if (f->file)
			fclose(f->file);
		f->file = NULL;
		return rc;
	}
	zip_error_init(&error);
	zs = f->file ? zip_source_filep_create(f->file, 0, -1, &error) : zip_source_buffer_create(bytes, size, 0, &error);
	if (!zs) {
		if (f->file)
			fclose(f->file);
	} else {
		/* from here on libzip's source closes the file */
		f->zip = zip_open_from_source(zs, ZIP_RDONLY, &error);
		if (!f->zip)
			zip_source_free(zs);
	}
	if (!f->zip)
		rc = sl_error_at(f->err, zip_error_code_zip(&error) == ZIP_ER_MEMORY ? SL_NOMEM : SL_BADDATA, name, 0,
				 "The ZIP archive cannot be opened: %s.", zip_error_strerror(&error));
	zip_error_fini(&error);
	return rc;
}

int sl__archive_open(struct sl__archive *f, struct sl_source *source, uint64_t max_bytes, struct sl_error *err)
{
	return open_archive(f, source, max_bytes, false, err);
}

int sl__archive_open_files(struct sl__archive *f, struct sl_source *source, uint64_t max_bytes, struct sl_error *err)
{
	return open_archive(f, source, max_bytes, true, err);
}

bool sl__archive_has(const struct sl__archive *f, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s.npy", name);
	return zip_name_locate(f->zip, path, 0) >= 0;
}

#define PIECE ((uint64_t)1 << 20)  /* bytes that are decompressed before the cancel flag is read again */

/* ---- members ---------------------------------------------------------------- */

static int64_t read_member(void *context, void *out, uint64_t want, struct sl_error *err)
{
	struct sl__member *m = context;
	uint64_t done = 0;

	while (done < want) {
		uint64_t piece = want - done < PIECE ? want - done : PIECE;
		int rc = sl__source_check(m->source, err);
		if (rc)
			return rc;
		zip_int64_t got = zip_fread(m->file, (char *)out + done, piece);
		if (got < 0)
			return sl_error_at(err, SL_BADDATA, m->name, 0, "The member cannot be decompressed: %s.",
					   zip_file_strerror(m->file));
		if (got == 0)
			break;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

void sl__member_close(struct sl__member *m)
{
	if (m->file)
		zip_fclose(m->file);
	free(m->block);
	m->file = NULL;
	m->block = NULL;
}

int sl__member_check(struct sl__archive *f, struct sl__member *m, const zip_stat_t *st)
{
	if (!(st->valid & ZIP_STAT_SIZE))
		return sl_error_at(f->err, SL_BADDATA, m->name, 0, "The archive does not have the length of the member.");
	if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method != ZIP_EM_NONE)
		return sl_error_at(f->err, SL_BADFORMAT, m->name, 0, "The member is encrypted.");
	if ((st->valid & ZIP_STAT_COMP_METHOD) && st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
		return sl_error_at(f->err, SL_BADFORMAT, m->name, 0, "The member is compressed by method %d; it must be stored "
				   "or deflated, as save_npz does.", st->comp_method);
	if (__builtin_add_overflow(f->bytes, st->size, &f->bytes) ||
	    (f->max_bytes && f->bytes > f->max_bytes))
		return sl_error_at(f->err, SL_TOOBIG, m->name, 0,
				"With this member the archive has more than %llu bytes, the limit (max_bytes).",
				   (unsigned long long)(f->max_bytes ? f->max_bytes : UINT64_MAX));
	f->stored += st->valid & ZIP_STAT_COMP_SIZE ? st->comp_size : st->size;
	return sl__source_check_ratio(f->source, f->stored, f->bytes, f->err);
}

int sl__member_open(struct sl__archive *f, struct sl__member *m, const char *name, bool *found)
{
	char path[256];
	zip_stat_t st;

	*m = (struct sl__member){.source = f->source};
	snprintf(path, sizeof path, "%s.npy", name);
	snprintf(m->name, sizeof m->name, "%s: %s", sl__source_name(f->source), path);
	zip_stat_init(&st);
	*found = zip_stat(f->zip, path, 0, &st) == 0;
	if (!*found)
		return 0;
	int rc = sl__member_check(f, m, &st);
	if (rc)
		return rc;
	m->file = zip_fopen_index(f->zip, st.index, 0);
	if (!m->file)
		return sl_error_at(f->err, SL_BADDATA, m->name, 0, "The member cannot be read: %s.", zip_strerror(f->zip));
	rc = sl__npy_read_header(&m->array, read_member, m, m->name, f->err);
	if (rc)
		return rc;
	uint64_t want = m->array.count * (uint64_t)m->array.size, have = st.size - m->array.header_bytes;
	if (st.size < m->array.header_bytes || have != want)
		return sl_error_at(f->err, SL_BADDATA, m->name, 0,
				"The member has %" PRIu64 " bytes of numbers; its header promises %" PRIu64 " "
				   "(%" PRIu64 " of %d bytes).", st.size < m->array.header_bytes ? 0 : have, want,
				   m->array.count, m->array.size);
	m->left = m->array.count;
	return 0;
}

int sl__member_read(struct sl__archive *f, struct sl__member *m, uint64_t count, void *out)
{
	uint64_t want = count * (uint64_t)m->array.size;
	int64_t got = read_member(m, out, want, f->err);

	if (got < 0)
		return (int)got;
	if ((uint64_t)got < want)
		return sl_error_at(f->err, SL_BADDATA, m->name, 0, "The member ends %" PRIu64 " numbers too early.",
				   m->left - (uint64_t)got / (uint64_t)m->array.size);
	m->left -= count;
	/* reading the end checks the checksum */
	if (m->left == 0) {
		char extra;
		got = read_member(m, &extra, 1, f->err);
		if (got < 0)
			return (int)got;
	}
	return 0;
}

int sl__member_block(struct sl__archive *f, struct sl__member *m, uint64_t count)
{
	if (!m->block)
		m->block = malloc((size_t)SL__BLOCK * (m->array.size > 8 ? (size_t)m->array.size : 8));
	if (!m->block)
		return sl_error_memory_at(f->err, m->name, "reading");
	return sl__member_read(f, m, count, m->block);
}
