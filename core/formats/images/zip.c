/* One file is in memory at a time. */
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/images/images.h"
#include "core/formats/numpy/archive.h"
#include "core/formats/source/source.h"

struct reading {
	struct sl__archive archive;
	struct sl_source *source;
	const struct sl_images_reader *reader;
	unsigned char *bytes;
	size_t room;
	struct sl_error *err;
};

static bool is_noise(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	return !*base || !strncmp(path, "__MACOSX/", 9) || *base == '.' || !strcmp(base, "Thumbs.db");
}

static int fail(struct reading *r, const char *path, int code, const char *what)
{
	return sl_error_at(r->err, code, sl__source_name(r->source), 0, "%.80s %s", path, what);
}

static int make_room(struct reading *r, size_t bytes)
{
	if (bytes <= r->room)
		return 0;
	int rc = sl_account_take(sl__source_account(r->source), SL_MEMORY, bytes - r->room, r->err);
	unsigned char *grown = rc ? NULL : realloc(r->bytes, bytes);
	if (!grown)
		return rc ? rc : sl_error_memory_at(r->err, sl__source_name(r->source), "an image");
	r->bytes = grown;
	r->room = bytes;
	return 0;
}

static int read_one(struct reading *r, const char *path, uint64_t index)
{
	struct sl__member m = {.source = r->source};
	zip_stat_t st;
	snprintf(m.name, sizeof m.name, "%.100s: %.160s", sl__source_name(r->source), path);
	if (zip_stat_index(r->archive.zip, index, 0, &st))
		return fail(r, path, SL_BADDATA, "cannot be found in the archive.");
	int rc = sl__member_check(&r->archive, &m, &st);
	if (!rc && st.size > SL_IMAGE_BYTES_MOST)
		rc = fail(r, path, SL_TOOBIG, "is larger than 32 MiB, the most of one image.");
	if (!rc)
		rc = make_room(r, (size_t)st.size + 1);
	if (!rc)
		rc = sl__source_check(r->source, r->err);
	if (rc)
		return rc;
	zip_file_t *file = zip_fopen_index(r->archive.zip, index, 0);
	zip_int64_t got = file ? zip_fread(file, r->bytes, st.size + 1) : -1;
	if (file)
		zip_fclose(file);
	if (got < 0 || (uint64_t)got != st.size)
		return fail(r, path, SL_BADDATA, "cannot be decompressed.");
	return r->reader->image(r->reader->arg, path, index, r->bytes, (size_t)got, r->err);
}

static int read_all(struct reading *r)
{
	zip_int64_t count = zip_get_num_entries(r->archive.zip, 0);
	unsigned char *wanted = sl_account_zeros(sl__source_account(r->source), (uint64_t)(count > 0 ? count : 0) + 1, 1);
	int rc = wanted ? 0 : sl_error_memory_at(r->err, sl__source_name(r->source), "the list of images");
	for (zip_int64_t i = 0; i < count && !rc; i++) {
		const char *path = zip_get_name(r->archive.zip, (zip_uint64_t)i, 0);
		bool want = false;
		if (!path || is_noise(path))
			continue;
		rc = r->reader->name(r->reader->arg, path, (uint64_t)i, &want, r->err);
		wanted[i] = want;
	}
	if (!rc)
		rc = r->reader->named(r->reader->arg, r->err);
	for (zip_int64_t i = 0; i < count && !rc; i++)
		if (wanted[i])
			rc = read_one(r, zip_get_name(r->archive.zip, (zip_uint64_t)i, 0), (uint64_t)i);
	free(wanted);
	return rc;
}

int sl_images_read_zip(struct sl_source *source, uint64_t max_bytes, const struct sl_images_reader *reader,
		       struct sl_error *err)
{
	struct reading r = {.source = source, .reader = reader, .err = err};
	int rc = sl__archive_open_files(&r.archive, source, max_bytes, err);
	if (!rc)
		rc = read_all(&r);
	sl__archive_close(&r.archive);
	free(r.bytes);
	return rc;
}
