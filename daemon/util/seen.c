/* The start's difference between both clocks is kept; only a jump ahead beyond the slack is undone. */
#include "daemon/util/seen.h"

#include <time.h>

#include "daemon/util/log.h"
#include "daemon/util/time_text.h"

uint64_t sl_seen_ms(struct sl_seen *s, uint64_t wall_ms, uint64_t passed_ms)
{
	uint64_t seen_ms = s->wall_ms + (passed_ms - s->passed_ms);
	s->ahead = wall_ms > seen_ms + SL_SEEN_SLACK_MS;
	return s->ahead ? seen_ms : wall_ms;
}

uint64_t sl_seen_now_ms(void)
{
	static struct sl_seen seen;
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	uint64_t wall_ms = sl_time_now_ms(), passed_ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	if (!seen.wall_ms)
		seen = (struct sl_seen){wall_ms, passed_ms, false};
	bool before = seen.ahead;
	uint64_t now_ms = sl_seen_ms(&seen, wall_ms, passed_ms);
	if (seen.ahead && !before)
		sl_log_warning("main", "the clock jumped ahead by %.1f hours; until it is corrected or spacelandd restarts, "
			       "the age of results counts only the time that passed", (double)(wall_ms - now_ms) / 3.6e6);
	return now_ms;
}
