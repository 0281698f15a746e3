/* seen.h -- the time by which results grow old. A clock that jumps ahead (a wrong time server, a hand that slips) would
 * make all of them old at once, and what was deleted for its age would stay deleted when the clock is right again. So
 * from the start of the process on, only time counts that has really passed. A clock that is wrong at the start is
 * believed. */
#ifndef SL_SEEN_H
#define SL_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define SL_SEEN_SLACK_MS 3600000  /* corrections of the clock that are followed */

struct sl_seen {
	uint64_t wall_ms, passed_ms;  /* both clocks at the start */
	bool ahead;                   /* the clock is, by more than the slack */
};

/* Milliseconds since 1970 that ages are counted by; passed_ms: of a clock that nobody sets. */
uint64_t sl_seen_ms(struct sl_seen *s, uint64_t wall_ms, uint64_t passed_ms);

/* Now, since the first call. Logs a jump. Loop thread. */
uint64_t sl_seen_now_ms(void);

#endif
