/* time_text.h -- times as the interface writes them: RFC 3339, UTC, milliseconds. */
#ifndef SL_TIME_TEXT_H
#define SL_TIME_TEXT_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define SL_TIME_BYTES 32

static inline char *sl_time_text(uint64_t ms, char out[SL_TIME_BYTES])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	gmtime_r(&seconds, &tm);
	size_t used = strftime(out, SL_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + used, SL_TIME_BYTES - used, ".%03uZ", (unsigned)(ms % 1000));
	return out;
}

/* The system clock, counted from 1970, UTC. */
static inline uint64_t sl_time_now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t sl_time_now_ms(void)
{
	return sl_time_now_us() / 1000;
}

#endif
