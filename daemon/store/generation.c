/* One write(2) of one line, alternately at two places: whatever a crash interrupts, the other line is whole. */
#include "daemon/store/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "daemon/store/atomic.h"
#include "daemon/util/log.h"

/* All lines have the same length, so that a new line replaces the whole old one. */
enum { UNCHECKED_BYTES = SL_ULID_BYTES - 1 + 1 + 20, LINE_BYTES = UNCHECKED_BYTES + 1 + 8 + 1, LINES = 2 };

static void format(char line[LINE_BYTES + 1], const struct sl_generation *g)
{
	snprintf(line, LINE_BYTES + 1, "%s %020" PRIu64, g->id, g->number);
	uLong crc = crc32(0, (const Bytef *)line, UNCHECKED_BYTES);
	snprintf(line + UNCHECKED_BYTES, LINE_BYTES + 1 - UNCHECKED_BYTES, " %08lx\n", crc);
}

/* Parses a line. Returns false if its checksum or form is wrong. */
static bool parse(const char *text, struct sl_generation *out)
{
	char again[LINE_BYTES + 1];
	if (sscanf(text, "%26s %20" SCNu64, out->id, &out->number) != 2 || !sl_ulid_valid(out->id))
		return false;
	format(again, out);
	return !memcmp(text, again, LINE_BYTES);
}

enum sl_generation_found sl_generation_read(const char *path, struct sl_generation *out)
{
	char text[LINES * LINE_BYTES + 1] = "";
	struct sl_generation line;
	bool found = false;
	int fd = sl_file_open(path);
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, LINES * LINE_BYTES);
	if (bytes < 0 && errno != ENOENT)
		sl_log_warning("db", "%s cannot be read: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (bytes < 0)
		return SL_GENERATION_NONE;
	for (int i = 0; i < LINES; i++)
		if (parse(text + i * LINE_BYTES, &line) && (!found || line.number > out->number)) {
			*out = line;
			found = true;
		}
	return found ? SL_GENERATION_READ : SL_GENERATION_DAMAGED;
}

int sl_generation_open(const char *path, const struct sl_generation *g)
{
	char line[LINE_BYTES + 1];
	struct sl_error err;
	format(line, g);
	struct sl_array lines[LINES] = {{line, LINE_BYTES}, {line, LINE_BYTES}};
	if (sl_atomic_replace(path, lines, LINES, 0600, true, &err))
		sl_log_warning("db", "%s: %s", path, err.detail);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		sl_log_warning("db", "%s cannot be written: %s", path, strerror(errno));
	return fd;
}

void sl_generation_write(int fd, const struct sl_generation *g)
{
	char line[LINE_BYTES + 1];
	if (fd < 0)
		return;
	format(line, g);
	if (pwrite(fd, line, LINE_BYTES, (off_t)(g->number % LINES * LINE_BYTES)) != LINE_BYTES)
		sl_log_warning("db", "the generation cannot be written: %s", strerror(errno));
}
