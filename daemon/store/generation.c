#include "daemon/store/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/util/log.h"

/* Of one length, so that writing anew replaces all of it. */
#define FORMAT "%s %020" PRIu64 "\n"
enum { BYTES = SL_ULID_BYTES - 1 + 1 + 20 + 1 };

bool sl_generation_read(const char *path, struct sl_generation *out)
{
	char text[BYTES + 1] = "", again[BYTES + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, BYTES);
	close(fd);
	bool fine = n == BYTES && sscanf(text, "%26s %" SCNu64, out->id, &out->number) == 2 && sl_ulid_valid(out->id);
	if (fine) {
		snprintf(again, sizeof again, FORMAT, out->id, out->number);
		fine = !strcmp(text, again);
	}
	if (!fine)
		sl_log_warning("db", "%s is damaged; it is written anew", path);
	return fine;
}

int sl_generation_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		sl_log_warning("db", "%s cannot be written: %s", path, strerror(errno));
	return fd;
}

void sl_generation_write(int fd, const struct sl_generation *g)
{
	char text[BYTES + 1];
	if (fd < 0)
		return;
	snprintf(text, sizeof text, FORMAT, g->id, g->number);
	if (pwrite(fd, text, BYTES, 0) != BYTES)
		sl_log_warning("db", "the generation cannot be written: %s", strerror(errno));
}
