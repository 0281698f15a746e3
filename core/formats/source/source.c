/* source.c -- bytes from a file, a descriptor or memory, decompressed on the way.
 *
 * Three layers, each pulling from the one below: lines and peeks out of buffer, decoded
 * bytes out of produce(), stored bytes out of in. For memory in is the memory itself. */
#include "core/formats/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "core/account.h"

#define IN_BYTES (128 * 1024)
#define RATIO_MAX 256u             /* of bytes after decompression and before */
#define RATIO_FROM ((uint64_t)64 << 20)  /* ... beyond so many */
#define SPOOL_GRANT ((uint64_t)16 << 20) /* bytes of disk asked for at once */
#define ZSTD_WINDOW_LOG_MAX 27  /* the decoder takes at most 128 MiB */

enum compression { UNKNOWN, NONE, GZIP, ZSTD };

struct sl_source {
	char name[224];
	int fd;                    /* -1: memory */
	bool own_fd;
	const unsigned char *memory;
	uint64_t memory_size, memory_at;

	unsigned char *in_buffer;  /* [IN_BYTES], NULL for memory */
	const unsigned char *in;   /* stored bytes not used yet: in[in_at .. in_end) */
	size_t in_at, in_end;
	bool in_eof;

	enum compression compression;
	z_stream z;
	bool z_open;
	ZSTD_DStream *zstd;
	bool member_open;          /* inside a compressed member: the end would come too early */
	uint64_t stored;           /* bytes read of the descriptor so far */
	uint64_t produced;         /* decoded bytes so far */

	char *buffer;              /* [SL__LINE_BUFFER + 1] decoded bytes not given out yet: [at .. end) */
	size_t at, end;
	bool eof;
	int64_t line;

	uint64_t max_bytes;
	const char *temporary_folder;
	const int *cancel;
	enum sl_graph_format format;
};

const char *sl__source_name(const struct sl_source *s) { return s->name; }
int64_t sl__source_line_number(const struct sl_source *s) { return s->line; }
void sl__source_set_line_number(struct sl_source *s, int64_t line) { s->line = line; }
enum sl_graph_format sl_source_format(const struct sl_source *s) { return s->format; }
void sl__source_set_format(struct sl_source *s, enum sl_graph_format format) { s->format = format; }

void sl__source_set_options(struct sl_source *s, const struct sl_read_options *options)
{
	s->max_bytes = options->max_bytes;
	s->temporary_folder = options->temporary_folder;
	s->cancel = options->cancel;
}

/* ---- open and close ----------------------------------------------------- */

static int create(struct sl_source **out, int fd, bool own_fd, const char *name, struct sl_error *err)
{
	struct sl_source *s = calloc(1, sizeof *s);

	*out = NULL;
	if (s) {
		s->buffer = malloc(SL__LINE_BUFFER + 1);
		s->in_buffer = fd >= 0 ? malloc(IN_BYTES) : NULL;
	}
	if (!s || !s->buffer || (fd >= 0 && !s->in_buffer)) {
		if (s) {
			free(s->buffer);
			free(s->in_buffer);
		}
		free(s);
		if (own_fd)
			close(fd);
		return sl_error_set(err, SL_NOMEM, "No memory to read %s.", name);
	}
	snprintf(s->name, sizeof s->name, "%s", name);
	s->fd = fd;
	s->own_fd = own_fd;
	s->in = s->in_buffer;
	*out = s;
	return 0;
}

int sl_source_open_path(struct sl_source **out, const char *path, const char *name, struct sl_error *err)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	int fd;

	*out = NULL;
	if (!name)
		name = slash && slash[1] ? slash + 1 : path;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return sl_error_at(err, errno == ENOENT ? SL_NOTFOUND : SL_IO, path, 0, "Cannot be opened: %s.",
				   strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return sl_error_at(err, SL_IO, path, 0, "Is a folder; the path of a file is needed.");
	}
	return create(out, fd, true, name, err);
}

int sl_source_open_fd(struct sl_source **out, int fd, const char *name, struct sl_error *err)
{
	return create(out, fd, false, name ? name : "(input)", err);
}

int sl_source_open_memory(struct sl_source **out, const void *bytes, uint64_t size, const char *name,
			  struct sl_error *err)
{
	int rc = create(out, -1, false, name ? name : "(memory)", err);

	if (rc)
		return rc;
	(*out)->memory = bytes;
	(*out)->memory_size = size;
	return 0;
}

void sl_source_close(struct sl_source *s)
{
	if (!s)
		return;
	if (s->z_open)
		inflateEnd(&s->z);
	ZSTD_freeDStream(s->zstd);
	if (s->own_fd)
		close(s->fd);
	free(s->in_buffer);
	free(s->buffer);
	free(s);
}

int sl__source_fail(const struct sl_source *s, int code, struct sl_error *err, const char *format, ...)
{
	char detail[sizeof err->detail];
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof detail, format, args);
	va_end(args);
	return sl_error_at(err, code, s->name, s->line, "%s", detail);
}

int sl__source_check(const struct sl_source *s, struct sl_error *err)
{
	if (s->cancel && __atomic_load_n(s->cancel, __ATOMIC_RELAXED))
		return sl_error_at(err, SL_CANCELLED, s->name, 0, "Reading was cancelled.");
	return 0;
}

/* ---- stored bytes -------------------------------------------------------- */

static int64_t read_fd(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	ssize_t got;

	do
		got = read(s->fd, out, want);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return sl_error_at(err, SL_IO, s->name, 0, "Reading failed: %s.", strerror(errno));
	s->in_eof = got == 0;
	s->stored += (uint64_t)got;
	return got;
}

/* Makes in non-empty unless the source is at its end. */
static int refill_in(struct sl_source *s, struct sl_error *err)
{
	if (s->in_at < s->in_end || s->in_eof)
		return 0;
	s->in_at = s->in_end = 0;
	if (s->fd >= 0) {
		int64_t got = read_fd(s, s->in_buffer, IN_BYTES, err);
		if (got < 0)
			return (int)got;
		s->in_end = (size_t)got;
		return 0;
	}
	uint64_t left = s->memory_size - s->memory_at;
	s->in = s->memory + s->memory_at;
	s->in_end = left > 1u << 30 ? 1u << 30 : (size_t)left;
	s->memory_at += s->in_end;
	s->in_eof = s->in_end == 0;
	return 0;
}

static int recognise_compression(struct sl_source *s, struct sl_error *err)
{
	int rc = refill_in(s, err);

	if (rc)
		return rc;
	while (s->fd >= 0 && s->in_end < 4 && !s->in_eof) {
		int64_t got = read_fd(s, s->in_buffer + s->in_end, IN_BYTES - s->in_end, err);
		if (got < 0)
			return (int)got;
		s->in_end += (size_t)got;
	}
	size_t held = s->in_end - s->in_at;
	const unsigned char *p = s->in + s->in_at;
	s->compression = NONE;
	if (held >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
		if (inflateInit2(&s->z, 15 + 16) != Z_OK)
			return sl_error_at(err, SL_NOMEM, s->name, 0, "No memory to decompress.");
		s->z_open = s->member_open = true;
		s->compression = GZIP;
	} else if (held >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) {
		s->zstd = ZSTD_createDStream();
		if (!s->zstd || ZSTD_isError(ZSTD_initDStream(s->zstd)))
			return sl_error_at(err, SL_NOMEM, s->name, 0, "No memory to decompress.");
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
		s->member_open = true;
		s->compression = ZSTD;
	}
	return 0;
}

/* ---- decoded bytes -------------------------------------------------------- */

static int truncated(const struct sl_source *s, struct sl_error *err)
{
	return sl_error_at(err, SL_BADDATA, s->name, 0, "The %s stream ends too early, after %llu bytes of content: "
			   "the file was cut off.", s->compression == GZIP ? "gzip" : "zstd",
			   (unsigned long long)s->produced);
}

static int corrupt(const struct sl_source *s, const char *why, struct sl_error *err)
{
	return sl_error_at(err, SL_BADDATA, s->name, 0, "The %s stream is damaged after %llu bytes of content (%s).",
			   s->compression == GZIP ? "gzip" : "zstd", (unsigned long long)s->produced, why);
}

/* Behind a gzip member: another one, zero padding (as tapes leave it), or the end. */
static int next_gzip_member(struct sl_source *s, struct sl_error *err)
{
	while (s->in_at < s->in_end && s->in[s->in_at] == 0)
		s->in_at++;
	if (s->in_at == s->in_end)
		return 0;
	if (s->in[s->in_at] != 0x1f)
		return corrupt(s, "what follows its end is neither another gzip member nor zero padding", err);
	if (inflateReset(&s->z) != Z_OK)
		return corrupt(s, "zlib cannot start over", err);
	s->member_open = true;
	return 0;
}

static int64_t produce_gzip(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	s->z.next_out = out;
	s->z.avail_out = (uInt)want;
	while (s->z.avail_out == want) {
		int rc = refill_in(s, err);
		if (rc)
			return rc;
		if (!s->member_open) {
			rc = next_gzip_member(s, err);
			if (rc)
				return rc;
			if (!s->member_open) {
				if (s->in_eof)
					return 0;
				continue;
			}
		}
		if (s->in_at == s->in_end)
			return truncated(s, err);
		s->z.next_in = (Bytef *)(uintptr_t)(s->in + s->in_at);
		s->z.avail_in = (uInt)(s->in_end - s->in_at);
		int zrc = inflate(&s->z, Z_NO_FLUSH);
		s->in_at = s->in_end - s->z.avail_in;
		if (zrc == Z_STREAM_END)
			s->member_open = false;
		else if (zrc == Z_MEM_ERROR)
			return sl_error_at(err, SL_NOMEM, s->name, 0, "No memory to decompress.");
		else if (zrc != Z_OK && zrc != Z_BUF_ERROR)
			return s->produced += want - s->z.avail_out, corrupt(s, s->z.msg ? s->z.msg : "zlib gives no reason", err);
	}
	return (int64_t)(want - s->z.avail_out);
}

static int64_t produce_zstd(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	ZSTD_outBuffer target = {out, want, 0};

	while (target.pos == 0) {
		int rc = refill_in(s, err);
		if (rc)
			return rc;
		/* With its input used up the decoder may still hold output, so it is asked once more. */
		if (s->in_at == s->in_end && !s->member_open)
			return 0;
		ZSTD_inBuffer input = {s->in, s->in_end, s->in_at};
		size_t left = ZSTD_decompressStream(s->zstd, &target, &input);
		bool stuck = input.pos == s->in_at && target.pos == 0;
		s->in_at = input.pos;
		if (ZSTD_isError(left))
			return corrupt(s, ZSTD_getErrorName(left), err);
		s->member_open = left != 0;
		if (stuck && s->in_eof)
			return s->member_open ? truncated(s, err) : 0;
	}
	return (int64_t)target.pos;
}

static int64_t produce_plain(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	if (s->in_at == s->in_end && s->fd >= 0)
		return s->in_eof ? 0 : read_fd(s, out, want, err);
	int rc = refill_in(s, err);
	if (rc)
		return rc;
	size_t held = s->in_end - s->in_at;
	if (want > held)
		want = held;
	memcpy(out, s->in + s->in_at, want);
	s->in_at += want;
	return (int64_t)want;
}

int sl__source_check_ratio(const struct sl_source *s, uint64_t stored, uint64_t unfolded, struct sl_error *err)
{
	if (!sl_account_is_open() || unfolded <= RATIO_FROM || unfolded / RATIO_MAX <= stored)
		return 0;
	return sl_error_at(err, SL_TOOBIG, s->name, 0, "The file unfolds to more than %u times its size; send it "
			   "uncompressed if this is meant.", RATIO_MAX);
}

static int check_unfolded(const struct sl_source *s, struct sl_error *err)
{
	uint64_t stored = s->fd >= 0 ? s->stored : s->memory_at;
	return s->compression == NONE ? 0 : sl__source_check_ratio(s, stored - (s->in_end - s->in_at), s->produced, err);
}

/* At least one byte unless at the end (0) or failing. */
static int64_t produce(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	int rc = sl__source_check(s, err);
	int64_t got;

	if (!rc && s->compression == UNKNOWN)
		rc = recognise_compression(s, err);
	if (rc)
		return rc;
	if (want > 1u << 30)
		want = 1u << 30;
	if (s->compression == GZIP)
		got = produce_gzip(s, out, want, err);
	else if (s->compression == ZSTD)
		got = produce_zstd(s, out, want, err);
	else
		got = produce_plain(s, out, want, err);
	if (got <= 0)
		return got;
	s->produced += (uint64_t)got;
	if (s->max_bytes && s->produced > s->max_bytes)
		return sl_error_at(err, SL_TOOBIG, s->name, 0, "More than %llu bytes%s, the limit (max_bytes).",
				   (unsigned long long)s->max_bytes, s->compression == NONE ? "" : " after decompression");
	rc = check_unfolded(s, err);
	return rc ? rc : got;
}

/* ---- peeks, blocks, lines ------------------------------------------------- */

static int fill(struct sl_source *s, struct sl_error *err)
{
	int64_t got;

	if (s->at > 0) {
		memmove(s->buffer, s->buffer + s->at, s->end - s->at);
		s->end -= s->at;
		s->at = 0;
	}
	if (s->eof || s->end == SL__LINE_BUFFER)
		return 0;
	got = produce(s, s->buffer + s->end, SL__LINE_BUFFER - s->end, err);
	if (got < 0)
		return (int)got;
	s->end += (size_t)got;
	s->eof = got == 0;
	return 0;
}

int64_t sl__source_peek(struct sl_source *s, const unsigned char **bytes, struct sl_error *err)
{
	do {
		int rc = fill(s, err);
		if (rc)
			return rc;
	} while (s->end < SL__LINE_BUFFER && !s->eof);
	*bytes = (const unsigned char *)s->buffer;
	return (int64_t)s->end;
}

int64_t sl__source_read(struct sl_source *s, void *out, uint64_t want, struct sl_error *err)
{
	uint64_t done = 0, held = s->end - s->at;

	if (held) {
		done = held < want ? held : want;
		memcpy(out, s->buffer + s->at, done);
		s->at += done;
	}
	while (done < want && !s->eof) {
		int64_t got = produce(s, (char *)out + done, want - done, err);
		if (got < 0)
			return got;
		s->eof = got == 0;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

int sl__source_line(struct sl_source *s, struct sl__line *line, struct sl_error *err)
{
	size_t searched = 0;

	for (;;) {
		char *at = s->buffer + s->at, *end = NULL;
		size_t held = s->end - s->at;

		if (held > searched)
			end = memchr(at + searched, '\n', held - searched);
		if (end) {
			s->at = (size_t)(end + 1 - s->buffer);
		} else if (s->eof) {
			if (held == 0)
				return 0;
			end = at + held;
			*end = '\n';
			s->at = s->end;
		}
		if (end) {
			s->line++;
			line->at = at;
			line->end = end > at && end[-1] == '\r' ? end - 1 : end;
			return 1;
		}
		if (held == SL__LINE_BUFFER) {
			s->line++;
			return sl__source_fail(s, SL_BADDATA, err, "The line is longer than %d bytes; this is "
					       "probably not a text file of one entry a line.", SL__LINE_BUFFER);
		}
		searched = held;
		int rc = fill(s, err);
		if (rc)
			return rc;
	}
}

/* ---- random access -------------------------------------------------------- */

static int spool(struct sl_source *s, FILE *file, struct sl_error *err)
{
	uint64_t written = 0, granted = 0;

	for (;;) {
		size_t held = s->end - s->at;

		written += held;
		while (granted < written) {
			int rc = sl_account_take(SL_DISK, SPOOL_GRANT, err);
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
		int rc = fill(s, err);
		if (rc)
			return rc;
	}
	return sl_error_at(err, SL_IO, s->name, 0, "Writing a temporary file failed: %s.", strerror(errno));
}

/* From here on the source is the decompressed file, at its start, as if it had come like that: whoever looked into an
 * archive may leave it to another reader. */
static int restart(struct sl_source *s, FILE *file, struct sl_error *err)
{
	const unsigned char *peeked;
	int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);

	if (!s->in_buffer)
		s->in_buffer = malloc(IN_BYTES);
	if (fd < 0 || !s->in_buffer || lseek(fd, 0, SEEK_SET) < 0) {
		if (fd >= 0)
			close(fd);
		return sl_error_at(err, SL_IO, s->name, 0, "The decompressed file cannot be read again.");
	}
	if (s->own_fd)
		close(s->fd);
	s->fd = fd;
	s->own_fd = true;
	s->in = s->in_buffer;
	s->in_at = s->in_end = 0;
	s->in_eof = s->eof = s->member_open = false;
	s->compression = NONE;
	s->produced = 0;
	s->at = s->end = 0;
	int64_t got = sl__source_peek(s, &peeked, err);
	return got < 0 ? (int)got : 0;
}

/* A file without a name. */
static FILE *open_temporary(const struct sl_source *s)
{
	int fd = s->temporary_folder ? open(s->temporary_folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
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
	if (s->compression == NONE && s->fd < 0) {
		*bytes = s->memory;
		*size = s->memory_size;
		return s->max_bytes && *size > s->max_bytes ?
			sl_error_at(err, SL_TOOBIG, s->name, 0, "%llu bytes; the limit (max_bytes) is %llu.",
				    (unsigned long long)*size, (unsigned long long)s->max_bytes) : 0;
	}
	if (s->compression == NONE && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
		*file = fd >= 0 ? fdopen(fd, "rb") : NULL;
		if (*file)
			return 0;
		if (fd >= 0)
			close(fd);
		return sl_error_at(err, SL_IO, s->name, 0, "Cannot be opened again: %s.", strerror(errno));
	}
	*file = open_temporary(s);
	if (!*file)
		return sl_error_at(err, SL_IO, s->name, 0, "No temporary file to decompress into: %s.", strerror(errno));
	rc = spool(s, *file, err);
	if (!rc)
		rc = restart(s, *file, err);
	if (rc) {
		fclose(*file);
		*file = NULL;
	}
	return rc;
}
