/* shim.c -- sets the system clock of one process. Loaded with LD_PRELOAD.
 *
 * $CLOCK names a file with a number of seconds, by which the time of day is ahead; it may be negative. No file: 0.
 * A second number is that by which CLOCK_BOOTTIME is ahead: if both are equal, the machine seems to have slept. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead(clockid_t id)
{
	const char *name = getenv("CLOCK");
	FILE *file = name ? fopen(name, "re") : NULL;
	long long day = 0, boot = 0;
	if (file && fscanf(file, "%lld %lld", &day, &boot) < 1)
		day = 0;
	if (file)
		fclose(file);
	return (time_t)(id == CLOCK_BOOTTIME ? boot : day);
}

#pragma GCC visibility push(default)

int clock_gettime(clockid_t id, struct timespec *out)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int rc = real(id, out);
	if (!rc && (id == CLOCK_REALTIME || id == CLOCK_BOOTTIME))
		out->tv_sec += ahead(id);
	return rc;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
