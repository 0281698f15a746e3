/* seen.h -- the clock that measures the age of results, safe from jumps of the system clock.
 *
 * If the system clock jumped ahead by mistake, all results would become old at once and be deleted for good. So while
 * the system clock is more than SL_SEEN_SLACK_MS ahead of the time that has passed since the process started, ages
 * follow the passed time instead. A system clock that is already wrong at the start is not noticed. */
#ifndef SL_SEEN_H
#define SL_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define SL_SEEN_SLACK_MS 3600000  /* larger jumps ahead are ignored */

struct sl_seen {
	uint64_t wall_ms, passed_ms;  /* both clocks at the start */
	bool ahead;                   /* the system clock is ahead by more than the slack */
};

/* The time for ages, in milliseconds since 1970. passed_ms: a clock that nobody can set (CLOCK_BOOTTIME). */
uint64_t sl_seen_ms(struct sl_seen *s, uint64_t wall_ms, uint64_t passed_ms);

/* The time for ages now; the first call counts as the start of the process. Logs a jump. Loop thread. */
uint64_t sl_seen_now_ms(void);

#endif
