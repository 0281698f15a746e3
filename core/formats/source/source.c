/* source.c -- bytes from a file, a descriptor or memory, decompressed.
 *
 * There are three layers, each of which reads from the next: lines and peeks in `buffer`; decoded bytes from
 * sl__source_produce() (decode.c); stored bytes in `in`. If the source is memory, `in` is that memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/account.h"
#include "core/formats/source/container.h"
#include "core/formats/source/source_internal.h"
#include "core/formats/text/encoding.h"
#include "core/formats/text/fields.h"

struct sl_account *sl__source_account(const struct sl_source *s) { return s->account; }
const char *sl__source_name(const struct sl_source *s) { return s->name; }
int64_t sl__source_line_number(const struct sl_source *s) { return s->line; }
void sl__source_set_line_number(struct sl_source *s, int64_t line) { s->line = line; }
enum sl_graph_format sl_source_format(const struct sl_source *s) { return s->format; }
void sl__source_set_format(struct sl_source *s, enum sl_graph_format format) { s->format = format; }

void sl__source_set_options(struct sl_source *s, const struct sl_read_options *options)
{
	s->max_bytes = options->max_bytes;
	if (options->temporary_folder)
		s->temporary_folder = options->temporary_folder;
	s->cancel = options->cancel;
}

/* ---- open and close ----------------------------------------------------- */

/* Takes fd; -1: none. */
static int create(struct sl_source **out, int fd, const char *name, struct sl_error *err)
{
	struct sl_source *s = calloc(1, sizeof *s);

	*out = NULL;
	if (s) {
		s->room = SL__LINE_BUFFER;
		s->buffer = malloc(s->room + 1);
		s->in_buffer = fd >= 0 ? malloc(SL__IN_BYTES) : NULL;
	}
	if (!s || !s->buffer || (fd >= 0 && !s->in_buffer)) {
		if (s) {
			free(s->buffer);
			free(s->in_buffer);
		}
		free(s);
		if (fd >= 0)
			close(fd);
		return sl_error_memory(err, "reading %s", name);
	}
	snprintf(s->name, sizeof s->name, "%s", name);
	s->fd = fd;
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
		return sl_error_at(err, errno == ENOENT ? SL_NOTFOUND : SL_IO, path, 0, "The file cannot be opened: "
				   "%s.",
				   strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return sl_error_at(err, SL_IO, path, 0, "This is a folder; name a file.");
	}
	return create(out, fd, name, err);
}

void sl_source_set_account(struct sl_source *s, struct sl_account *account)
{
	s->account = account;
}

void sl_source_set_folder(struct sl_source *s, const char *folder)
{
	s->temporary_folder = folder;
}

int sl_source_open_memory(struct sl_source **out, const void *bytes, uint64_t size, const char *name,
			  struct sl_error *err)
{
	int rc = create(out, -1, name ? name : "(memory)", err);

	if (rc)
		return rc;
	(*out)->memory = bytes;
	(*out)->memory_size = size;
	return 0;
}

int sl__source_widen(struct sl_source *s, uint64_t bytes, struct sl_error *err)
{
	if (bytes <= s->room)
		return 0;
	int rc = sl_account_take(s->account, SL_MEMORY, bytes - s->room, err);
	char *grown = rc ? NULL : realloc(s->buffer, bytes + 1);
	if (!grown)
		return rc ? rc : sl_error_memory(err, "reading %s", s->name);
	s->buffer = grown;
	s->room = bytes;
	return 0;
}

void sl_source_close(struct sl_source *s)
{
	if (!s)
		return;
	if (s->z_open)
		inflateEnd(&s->z);
	ZSTD_freeDStream(s->zstd);
	sl_account_give(s->account, SL_MEMORY, s->window);
	sl__container_close(s);
	if (s->fd >= 0)
		close(s->fd);
	if (s->parts)
		s->whole->destroy(s->parts);
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
	struct sl__field said = {detail, strlen(detail)};
	char shown[sizeof detail];  /* words of the file may be no UTF-8 */
	int64_t line = s->line;
	const char *name = s->parts ? s->whole->place(s->parts, &line) : s->name;
	return sl_error_at(err, code, name, line, "%s", sl__field_show(&said, shown, sizeof shown));
}

/* ---- peeks, blocks, lines ------------------------------------------------- */

int sl__source_fill(struct sl_source *s, struct sl_error *err)
{
	int64_t got;

	if (s->at > 0) {
		memmove(s->buffer, s->buffer + s->at, s->end - s->at);
		s->end -= s->at;
		s->at = 0;
	}
	if (s->eof || s->end == s->room)
		return 0;
	got = sl__source_produce(s, s->buffer + s->end, s->room - s->end, err);
	if (got < 0)
		return (int)got;
	s->end += (size_t)got;
	s->eof = got == 0;
	if (s->bars && got)
		sl__source_replace_bars(s, s->end - (size_t)got);
	return 0;
}

int64_t sl__source_peek(struct sl_source *s, const unsigned char **bytes, struct sl_error *err)
{
	do {
		int rc = sl__source_fill(s, err);
		if (rc)
			return rc;
	} while (s->end < s->room && !s->eof);
	*bytes = (const unsigned char *)s->buffer;
	return (int64_t)s->end;
}

int64_t sl__source_peek_text(struct sl_source *s, const unsigned char **bytes, struct sl_error *err)
{
	int rc = sl__source_unpack(s, err);
	if (rc)
		return rc;
	int64_t size = sl__source_peek(s, bytes, err);
	if (size > 0 && sl_text_mark(*bytes, (size_t)size)) {
		s->at += 3;
		size = sl__source_peek(s, bytes, err);
	}
	const char *encoding = size > 0 ? sl_text_encoding(*bytes, (size_t)size) : NULL;
	if (encoding)
		return sl_error_at(err, SL_BADFORMAT, s->name, 1, "This is a %s text; convert it (iconv -f %s -t UTF-8).",
				   encoding, encoding);
	return size;
}

size_t sl__source_beginning(struct sl_source *s, const unsigned char **bytes)
{
	struct sl_error cut;
	sl__source_peek(s, bytes, &cut);
	*bytes = (const unsigned char *)s->buffer;
	return s->end;
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
		int64_t got = sl__source_produce(s, (char *)out + done, want - done, err);
		if (got < 0)
			return got;
		s->eof = got == 0;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

int64_t sl__source_read_for(void *source, void *out, uint64_t want, struct sl_error *err)
{
	return sl__source_read(source, out, want, err);
}

int sl_source_copy(struct sl_source *s, FILE *out, struct sl_error *err)
{
	char block[65536];
	int64_t got;
	while ((got = sl__source_read(s, block, sizeof block, err)) > 0)
		if (fwrite(block, 1, (size_t)got, out) != (size_t)got)
			return sl_error_at(err, SL_IO, s->name, 0, "Writing a temporary file failed: %s.", strerror(errno));
	return (int)got;
}

int sl__source_line(struct sl_source *s, struct sl__line *line, struct sl_error *err)
{
	size_t searched = 0;

	for (;;) {
		char *at = s->buffer + s->at, *next = NULL;
		size_t held = s->end - s->at;
		char *end = sl__line_end(at + searched, at + held, s->eof, &next);

		if (end) {
			s->at = (size_t)(next - s->buffer);
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
			line->end = end;
			return 1;
		}
		if (held == s->room) {
			s->line++;
			return sl__source_fail(s, SL_BADDATA, err, "The line is longer than %zu bytes; this is "
					       "probably not a text file of one entry a line.", s->room);
		}
		searched = held ? held - 1 : 0;  /* it may be a carriage return */
		int rc = sl__source_fill(s, err);
		if (rc)
			return rc;
	}
}
