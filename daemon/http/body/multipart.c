/* Parses multipart forms. `held` has the bytes that are not parsed yet; each piece of the body is appended to it. A
 * boundary is "\r\n--boundary". The first boundary has no line before it, so `held` is initialised with a line end. */
#include "daemon/http/body/multipart.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY_MOST 70
#define PADDING_MOST 256  /* blanks after a boundary */

enum state { PREAMBLE, BOUNDARY, HEADER, DATA, EPILOGUE };

struct sl__multipart {
	const struct sl__multipart_ops *ops;
	void *arg;
	enum state state;
	char delimiter[BOUNDARY_MOST + 5];  /* "\r\n--boundary" */
	size_t length;
	char *held;
	size_t bytes, room;
};

static int bad(struct sl_error *err, const char *what)
{
	return sl_error_set(err, SL_BADPARAM, "the body is not valid multipart/form-data: %s", what);
}

/* ---- headers ---------------------------------------------------------------------------- */

/* Reads a value from its first character on; *end: the character after it. */
static int read_value(const char *at, const char **end, char *out, size_t bytes)
{
	bool quoted = *at == '"';
	size_t n = 0;
	at += quoted;
	while (*at && (quoted ? *at != '"' : !strchr("; \t\r\n", *at))) {
		if (quoted && *at == '\\' && (at[1] == '"' || at[1] == '\\'))
			at++;
		if (n + 1 >= bytes)
			return -1;
		out[n++] = *at++;
	}
	out[n] = '\0';
	if (quoted && *at++ != '"')
		return -1;
	*end = at;
	return 1;
}

/* Copies the value of a parameter of a header ("form-data; name=x; filename=\"y\""), quoted or not. Returns 1; 0: no
 * such parameter; -1: it is too long, or its quotes are not closed. */
static int header_parameter(const char *header, const char *name, char *out, size_t bytes)
{
	char other[1024] = "";
	const char *at = header + strcspn(header, ";");
	while (*at == ';') {
		at += 1 + strspn(at + 1, " \t");
		size_t length = strcspn(at, "=; \t");
		bool wanted = length == strlen(name) && !strncasecmp(at, name, length);
		at += length;
		at += strspn(at, " \t");
		if (*at == '=') {
			at += 1 + strspn(at + 1, " \t");
			int rc = read_value(at, &at, wanted ? out : other, wanted ? bytes : sizeof other);
			if (rc < 0 || wanted)
				return rc;
		}
		at += strcspn(at, ";");
	}
	return 0;
}

/* The value of header `name` among the lines of a part's header, or NULL. The lines are zero-terminated one by one. */
static const char *find_line(const char *lines, const char *end, const char *name)
{
	size_t length = strlen(name);
	for (const char *line = lines; line < end; line += strlen(line) + 1)
		if (!strncasecmp(line, name, length) && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " \t");
	return NULL;
}

static int check_encoding(const char *encoding, struct sl_error *err)
{
	if (!encoding || !strcasecmp(encoding, "binary") || !strcasecmp(encoding, "8bit") || !strcasecmp(encoding, "7bit"))
		return 0;
	return sl_error_set(err, SL_BADPARAM, "a part of the form is encoded as '%.32s'; it must be binary", encoding);
}

/* Reads the header of a part, without the empty line after it. */
static int read_header(struct sl__multipart *m, char *lines, char *end, struct sl_error *err)
{
	char name[256], filename[1024];
	if (memchr(lines, '\0', (size_t)(end - lines)))
		return bad(err, "there is a zero byte in a part's header");
	*end = '\0';
	for (char *at = lines; (at = memmem(at, (size_t)(end - at), "\r\n", 2)); at += 2)
		at[0] = at[1] = '\0';
	const char *disposition = find_line(lines, end, "Content-Disposition");
	int code = check_encoding(find_line(lines, end, "Content-Transfer-Encoding"), err);
	if (code)
		return code;
	int named = disposition ? header_parameter(disposition, "name", name, sizeof name) : 0;
	int filed = disposition ? header_parameter(disposition, "filename", filename, sizeof filename) : 0;
	if (named < 0 || filed < 0)
		return bad(err, "the name of a part is too long, or its quotes do not end");
	if (!named || !name[0])
		return sl_error_set(err, SL_BADPARAM, "a part of the form has no name; it needs Content-Disposition: "
				    "form-data; name=\"file\"");
	return m->ops->part(m->arg, name, filed && filename[0] ? filename : NULL,
			    find_line(lines, end, "Content-Type"), err);
}

/* ---- states: they return the number of bytes used, or a negative code; 0: more are needed ---- */

static ptrdiff_t on_data(struct sl__multipart *m, char *at, size_t bytes, struct sl_error *err)
{
	char *found = memmem(at, bytes, m->delimiter, m->length);
	size_t keep = m->length - 1, n = found ? (size_t)(found - at) : bytes > keep ? bytes - keep : 0;
	if (m->state == DATA && n) {
		int code = m->ops->data(m->arg, at, n, err);
		if (code)
			return code;
	}
	if (found)
		m->state = BOUNDARY;
	return (ptrdiff_t)(found ? n + m->length : n);
}

/* After a boundary: "--", or blanks and the end of the line, which remains as the beginning of the header. */
static ptrdiff_t on_boundary(struct sl__multipart *m, const char *at, size_t bytes, struct sl_error *err)
{
	if (bytes < 2)
		return 0;
	if (at[0] == '-' && at[1] == '-') {
		m->state = EPILOGUE;
		return 2;
	}
	size_t blank = 0;
	while (blank < bytes && (at[blank] == ' ' || at[blank] == '\t'))
		blank++;
	if (blank > PADDING_MOST || (bytes > blank && at[blank] != '\r') || (bytes > blank + 1 && at[blank + 1] != '\n'))
		return bad(err, "the end of a line is missing after a boundary");
	if (bytes < blank + 2)
		return 0;
	m->state = HEADER;
	return (ptrdiff_t)blank;
}

static ptrdiff_t on_header(struct sl__multipart *m, char *at, size_t bytes, struct sl_error *err)
{
	char *end = memmem(at, bytes, "\r\n\r\n", 4);
	if (end ? end - at > SL__PART_HEADER_BYTES : bytes > SL__PART_HEADER_BYTES)
		return bad(err, "the header of a part is too long");
	if (!end)
		return 0;
	int code = read_header(m, end > at ? at + 2 : at, end, err);
	m->state = DATA;
	return code ? code : end - at + 4;
}

static ptrdiff_t step(struct sl__multipart *m, char *at, size_t bytes, struct sl_error *err)
{
	switch (m->state) {
	case PREAMBLE:
	case DATA:
		return on_data(m, at, bytes, err);
	case BOUNDARY:
		return on_boundary(m, at, bytes, err);
	case HEADER:
		return on_header(m, at, bytes, err);
	default:
		return (ptrdiff_t)bytes;
	}
}

/* ---- the life of a parser --------------------------------------------------------------- */

static int hold(struct sl__multipart *m, const char *data, size_t bytes)
{
	if (m->bytes + bytes > m->room) {
		size_t room = m->bytes + bytes + 1024;
		char *held = realloc(m->held, room);
		if (!held)
			return SL_NOMEM;
		m->held = held;
		m->room = room;
	}
	memcpy(m->held + m->bytes, data, bytes);
	m->bytes += bytes;
	return 0;
}

int sl__multipart_create(struct sl__multipart **out, const char *content_type, const struct sl__multipart_ops *ops,
			 void *arg, struct sl_error *err)
{
	char boundary[BOUNDARY_MOST + 1];
	int found = header_parameter(content_type, "boundary", boundary, sizeof boundary);
	if (!found)
		return sl_error_field(err, SL_BADPARAM, "@Content-Type", "the boundary of multipart/form-data is missing");
	if (found < 0 || !boundary[0])
		return sl_error_field(err, SL_BADPARAM, "@Content-Type",
				      "the boundary of multipart/form-data must have from 1 to %d characters", BOUNDARY_MOST);
	struct sl__multipart *m = calloc(1, sizeof *m);
	if (!m || hold(m, "\r\n", 2)) {
		free(m);
		return sl_error_memory(err, "the upload");
	}
	m->ops = ops;
	m->arg = arg;
	m->length = (size_t)snprintf(m->delimiter, sizeof m->delimiter, "\r\n--%s", boundary);
	*out = m;
	return 0;
}

int sl__multipart_feed(struct sl__multipart *m, const char *data, size_t bytes, struct sl_error *err)
{
	if (hold(m, data, bytes))
		return sl_error_memory(err, "the upload");
	size_t at = 0;
	for (;;) {
		enum state before = m->state;
		ptrdiff_t used = step(m, m->held + at, m->bytes - at, err);
		if (used < 0)
			return (int)used;
		at += (size_t)used;
		if (!used && m->state == before)
			break;
	}
	memmove(m->held, m->held + at, m->bytes - at);
	m->bytes -= at;
	return 0;
}

int sl__multipart_end(struct sl__multipart *m, struct sl_error *err)
{
	return m->state == EPILOGUE ? 0 : bad(err, "it ends too early");
}

void sl__multipart_destroy(struct sl__multipart *m)
{
	if (m)
		free(m->held);
	free(m);
}
