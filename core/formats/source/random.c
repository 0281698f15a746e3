/* random.c -- random access to a source, through a temporary file if the source has none. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/account.h"
#include "core/formats/source/container.h"
#include "core/formats/source/source_internal.h"

#define SPOOL_GRANT ((uint64_t)16 << 20) /* bytes of disk that are reserved at a time */

static int spool(struct sl_source *s, FILE *file, struct sl_error *err)
{
	uint64_t written = 0, granted = 0;

	for (;;) {
		size_t held = s->end - s->at;

		written += held;
		while (granted < written) {
			int rc = sl_account_take(s->account, SL_DISK, SPOOL_GRANT, err);
			if (rc)
				return rc;
			granted += SPOOL_GRANT;
		}
		if (held && fwrite(s->buffer + s->at, 1, held, file) != held)
			break;
		s->at = s->end = 0;
		if (s->eof)
			return fflush(file) ? sl_error_at(err, SL_IO, s->name, 0, "Writing a temporary file failed: %s.",
							  strerror(errno)) : 0;
		int rc = sl__source_fill(s, err);
		if (rc)
			return rc;
	}
	return sl_error_at(err, SL_IO, s->name, 0, "Writing a temporary file failed: %s.", strerror(errno));
}

/* Makes the decompressed file the source, from its start, so that another reader may read it after an archive was
 * tried. */
static int restart(struct sl_source *s, FILE *file, struct sl_error *err)
{
	const unsigned char *peeked;
	int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);

	if (!s->in_buffer)
		s->in_buffer = malloc(SL__IN_BYTES);
	if (fd < 0 || !s->in_buffer || lseek(fd, 0, SEEK_SET) < 0) {
		if (fd >= 0)
			close(fd);
		return sl_error_at(err, SL_IO, s->name, 0, "The decompressed file cannot be read again.");
	}
	if (s->fd >= 0)
		close(s->fd);
	sl__container_close(s);
	s->part = false;
	s->fd = fd;
	s->in = s->in_buffer;
	s->in_at = s->in_end = 0;
	s->in_eof = s->eof = s->member_open = false;
	s->compression = SL__NONE;
	s->produced = 0;
	s->at = s->end = 0;
	int64_t got = sl__source_peek(s, &peeked, err);
	return got < 0 ? (int)got : 0;
}

/* Opens a temporary file without a name. What an untrusted client sends goes only to the folder of the source: others
 * are not booked. */
static FILE *open_temporary(const struct sl_source *s)
{
	int fd = s->temporary_folder ? open(s->temporary_folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
	char path[4096];
	bool fits = s->temporary_folder &&
		    snprintf(path, sizeof path, "%s/unpacked-XXXXXX", s->temporary_folder) < (int)sizeof path;
	if (fd < 0 && fits && (fd = mkostemp(path, O_CLOEXEC)) >= 0)  /* for file systems without O_TMPFILE */
		unlink(path);
	if (fd < 0 && s->account) {
		errno = s->temporary_folder ? errno : ENOENT;
		return NULL;
	}
	FILE *file = fd >= 0 ? fdopen(fd, "w+b") : tmpfile();

	if (!file && fd >= 0)
		close(fd);
	return file;
}

int sl__source_random(struct sl_source *s, const void **bytes, uint64_t *size, FILE **file, struct sl_error *err)
{
	const unsigned char *peeked;
	int64_t got = sl__source_peek(s, &peeked, err);
	struct stat st;
	int rc, fd;

	*bytes = NULL;
	*size = 0;
	*file = NULL;
	if (got < 0)
		return (int)got;
	if (s->compression == SL__NONE && sl__in_memory(s)) {
		*bytes = s->memory;
		*size = s->memory_size;
		return s->max_bytes && *size > s->max_bytes ?
			sl_error_at(err, SL_TOOBIG, s->name, 0, "The file has %llu bytes; the limit (max_bytes) is %llu.",
				    (unsigned long long)*size, (unsigned long long)s->max_bytes) : 0;
	}
	if (s->compression == SL__NONE && !s->part && !s->zip_member && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
		*file = fd >= 0 ? fdopen(fd, "rb") : NULL;
		if (*file)
			return 0;
		if (fd >= 0)
			close(fd);
		return sl_error_at(err, SL_IO, s->name, 0, "The file cannot be opened again: %s.", strerror(errno));
	}
	*file = open_temporary(s);
	if (!*file)
		return sl_error_at(err, SL_IO, s->name, 0, "No temporary file can be made for the decompressed "
				   "content: %s.", strerror(errno));
	rc = spool(s, *file, err);
	if (!rc)
		rc = restart(s, *file, err);
	if (rc) {
		fclose(*file);
		*file = NULL;
	}
	return rc;
}
