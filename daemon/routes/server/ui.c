/* The dashboard: files that scripts/web.py bundled and compressed when the server was built. They are the same for all
 * users and need no token; the data that they show do. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/routes/routes.h"
#include "daemon/util/buffer.h"

struct ui_file {
	const char *path, *type, *etag;
	const unsigned char *plain;
	size_t plain_bytes;
	const unsigned char *gzip;
	size_t gzip_bytes;
};

#include "ui_files.h"  /* ui_files[] */

/* Allows scripts, styles and requests of this server only, and pictures and downloads that the page makes (blob:,
 * data:). */
#define POLICY \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " \
	"base-uri 'none'; form-action 'none'; frame-ancestors %s"

#define PARTS "/ui/part-"  /* clients/web/build.mjs names them */

static const struct ui_file *find(const char *path)
{
	for (size_t i = 0; i < sizeof ui_files / sizeof *ui_files; i++)
		if (!strcmp(ui_files[i].path, path))
			return &ui_files[i];
	return NULL;
}

/* Returns true if Accept-Encoding allows gzip; false if it is absent or has "gzip;q=0". */
static bool takes_gzip(const char *accept)
{
	for (const char *at = accept; at && *at;) {
		at += strspn(at, ", \t");
		size_t length = strcspn(at, ",; \t");
		bool named = (length == 4 && !strncasecmp(at, "gzip", 4)) || (length == 1 && *at == '*');
		at += length;
		size_t rest = strcspn(at, ",");
		const char *q = memmem(at, rest, "q=", 2);
		if (named)
			return !(q && strtod(q + 2, NULL) <= 0);
		at += rest;
	}
	return false;
}

static void reply_file(struct sl_request *r, const struct ui_file *file)
{
	bool packed = takes_gzip(sl_request_header(r, "Accept-Encoding"));
	size_t bytes = packed ? file->gzip_bytes : file->plain_bytes;
	char etag[64];
	struct sl_buffer *b = sl_buffer_create(bytes);
	if (!b) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a page.");
		return;
	}
	memcpy(b->data, packed ? file->gzip : file->plain, bytes);
	snprintf(etag, sizeof etag, "%s%s", file->etag, packed ? "-gzip" : "");
	if (packed)
		sl_reply_header(r, "Content-Encoding", "gzip");
	sl_reply_header(r, "Vary", "Accept-Encoding");
	sl_reply_header(r, "Content-Security-Policy", POLICY, sl_request_ancestors(r));
	if (strcmp(sl_request_ancestors(r), "'none'"))  /* these files are the same for everybody */
		sl_reply_header(r, "Cross-Origin-Resource-Policy", "cross-origin");
	sl_reply_header(r, "Referrer-Policy", "no-referrer");
	if (!strncmp(file->path, PARTS, strlen(PARTS)))  /* the name has a hash of the content */
		sl_reply_header(r, "Cache-Control", "public, max-age=31536000, immutable");
	sl_reply_buffer(r, file->type, etag, b);
}

/* GET /: the dashboard's page. */
void sl_route_ui_page(struct sl_request *r)
{
	reply_file(r, find("/"));
}

/* GET /ui/{file}: a script, a style, an icon. */
void sl_route_ui_file(struct sl_request *r)
{
	const char *name = sl_request_path(r, "file");
	char path[80];
	snprintf(path, sizeof path, "/ui/%.70s", name);
	const struct ui_file *file = find(path);
	if (file)
		reply_file(r, file);
	else
		sl_reply_status(r, 404, "The dashboard has no file %.70s.", name);
}
