/* The versions of libmicrohttpd that this folder was tried with. The library has no rule by which versions tell what
 * they parse how, so an unknown version is named in the log, and one whose parser is known to be unsafe, and whose
 * buffer is not known (framing.c), is refused.
 *
 * The version counts that runs, not the one whose header was compiled: both have the same soname. */
#include <string.h>

#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/util/log.h"

static const struct {
	const char *version, *of;
} known[] = {
	{"0.9.75", "Debian 12"},
	{"1.0.1", "Debian 13"},
};

/* True before 1.0, which parses requests as RFC 9112 says. */
bool sl__version_is_old(void)
{
	return !strncmp(MHD_get_version(), "0.", 2);
}

int sl__version_check(struct sl_error *err)
{
	const char *version = MHD_get_version();
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(version, known[i].version))
			return 0;
	if (sl__version_is_old())
		return sl_error_set(err, SL_IO, "this machine's libmicrohttpd is version %s, which reads some requests "
				    "otherwise than proxies do. Use version 0.9.75, or 1.0.1 or later.", version);
	sl_log_warning("http", "this machine's libmicrohttpd is version %s; this program was tried with %s (%s) and %s "
		       "(%s)", version, known[0].version, known[0].of, known[1].version, known[1].of);
	return 0;
}
