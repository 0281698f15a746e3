/* clock.h -- the monotonic clock. Any thread. */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include <time.h>

static inline double sl_clock_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double sl_clock_ms(void) { return 1e3 * sl_clock_s(); }

#endif
