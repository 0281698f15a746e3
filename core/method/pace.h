/* pace.h -- divides a slice of time into chunks of work, so that a call that may take `ms` milliseconds looks at the
 * clock some sixteen times:
 *
 *   for (struct sl_pace pace = sl_pace_begin(ms); !code && !*ended && sl_pace_left(&pace) > 0;) {
 *       code = work(m, m->chunk, ended);
 *       sl_pace_adapt(&pace, &m->chunk, most, SL_PACE_PARTS);
 *   }
 *
 * The chunk is kept from call to call. Chunks only divide the work: they change no byte of a result. */
#ifndef SL_METHOD_PACE_H
#define SL_METHOD_PACE_H

#include <stdint.h>

#include "core/clock.h"

#define SL_PACE_PARTS 16

struct sl_pace {
	double ms, began, before;  /* before: the end of the newest chunk */
};

static inline struct sl_pace sl_pace_begin(double ms)
{
	double now = sl_clock_ms();
	return (struct sl_pace){ms, now, now};
}

/* Milliseconds left at the end of the newest chunk. */
static inline double sl_pace_left(const struct sl_pace *p)
{
	return p->ms - (p->before - p->began);
}

/* After a chunk: doubles it, up to `most`, if it took less than ms / parts; halves it if it took four times as long. */
static inline void sl_pace_adapt(struct sl_pace *p, uint32_t *chunk, uint32_t most, double parts)
{
	double now = sl_clock_ms(), took = now - p->before, low = p->ms / parts;
	if (chunk && took < low && *chunk < most)
		*chunk *= 2;
	else if (chunk && took > 4 * low && *chunk > 1)
		*chunk /= 2;
	p->before = now;
}

#endif
