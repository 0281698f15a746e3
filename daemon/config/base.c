/* The option base_url: the address under which browsers and programs reach the server through a proxy. */
#include "daemon/config/base.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/config/config.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* True if the segments of the path have letters, digits and -_.~ only, and none is empty, "." or "..". */
static bool is_path(const char *path)
{
	for (const char *at = path; *at;) {
		size_t length = *at == '/' ? strspn(++at, LETTERS "-_.~") : 0;
		if (!length || (at[length] && at[length] != '/') || !strncmp(at, "./", length + 1) ||
		    !strncmp(at, "../", length + 1) || (!at[length] && (!strcmp(at, ".") || !strcmp(at, ".."))))
			return false;
		at += length;
	}
	return true;
}

bool sl_base_read(const char *text, struct sl_base *out)
{
	memset(out, 0, sizeof *out);
	if (!text[0])
		return true;
	out->tls = !strncasecmp(text, "https://", 8);
	if (!out->tls && strncasecmp(text, "http://", 7))
		return false;
	const char *host = text + 7 + out->tls, *path = host + strcspn(host, "/");
	size_t length = strlen(path);
	length -= length && path[length - 1] == '/';
	snprintf(out->origin, sizeof out->origin, "%s://%.*s", out->tls ? "https" : "http", (int)(path - host), host);
	snprintf(out->path, sizeof out->path, "%.*s", (int)length, path);
	return path - host < (int)sizeof out->origin - 9 && length < sizeof out->path && is_path(out->path);
}

const char *sl_base_authority(const struct sl_base *base)
{
	return base->origin[0] ? base->origin + 7 + base->tls : "";
}
