/* A line is formatted on the stack and cut there; control characters are replaced, so that a client's text cannot
 * begin another line. */
#include "core/meant.h"
#include "daemon/util/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {"error", "warning", "info", "debug"};
static const int priorities[] = {3, 4, 6, 7};  /* syslog's, which the journal reads */

static atomic_int threshold = SL_LOG_INFO;
static bool journal;

/* systemd sets JOURNAL_STREAM to "device:inode" of the socket it gave us as stderr. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;
	return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 && !fstat(STDERR_FILENO, &st) &&
	       st.st_dev == device && st.st_ino == inode;
}

void sl_log_init(enum sl_log_level level)
{
	journal = stderr_is_journal();
	atomic_store(&threshold, (int)level);
}

void sl_log_set_level(enum sl_log_level level)
{
	atomic_store(&threshold, (int)level);
}

enum sl_log_level sl_log_level(void)
{
	return (enum sl_log_level)atomic_load(&threshold);
}

int sl_log_level_parse(const char *text)
{
	return sl_word_index(names, sizeof names / sizeof *names, text);
}

static size_t prefix(char *line, size_t bytes, enum sl_log_level level, const char *topic)
{
	if (journal)
		return (size_t)snprintf(line, bytes, "<%d>%s: ", priorities[level], topic);
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	size_t used = strftime(line, bytes, "%Y-%m-%dT%H:%M:%S", &tm);
	return used + (size_t)snprintf(line + used, bytes - used, ".%03ldZ %-7s %s: ", now.tv_nsec / 1000000,
				       names[level], topic);
}

/* Cleans a message in place, since it may quote clients: one line, no control characters (C0, DEL, C1), no direction
 * marks (UAX #9), which change the order of displayed text. */
static void make_plain(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		bool c1 = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0, arabic = c[0] == 0xd8 && c[1] == 0x9c;
		bool mark = c[0] == 0xe2 && c[1] == 0x80 &&
			    (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae));
		bool isolate = c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
		if (*c < ' ' || *c == 0x7f || c1 || arabic || mark || isolate)
			*c = '?';
		if (c1 || arabic || mark || isolate)
			*++c = '?';
		if (mark || isolate)
			*++c = '?';
	}
}

void sl_log(enum sl_log_level level, const char *topic, const char *format, ...)
{
	if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed))
		return;
	char line[2048];
	size_t room = sizeof line - 1, used = prefix(line, room, level, topic);
	va_list args;
	va_start(args, format);
	int more = vsnprintf(line + used, room - used, format, args);
	va_end(args);
	if (more < 0)
		return;
	size_t end = used + (size_t)more < room ? used + (size_t)more : room - 1;
	line[end] = '\0';
	make_plain(line + used);
	line[end++] = '\n';
	ssize_t written = write(STDERR_FILENO, line, end);
	(void)written;  /* a failure cannot be reported */
}
