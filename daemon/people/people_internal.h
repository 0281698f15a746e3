/* people_internal.h -- what the files of this room share. */
#ifndef SL_PEOPLE_INTERNAL_H
#define SL_PEOPLE_INTERNAL_H

#include <uv.h>

struct sl_people {
	struct sl_daemon *d;
	uv_timer_t timer;
	unsigned ticks;           /* of the timer */
	void (*closed)(void *arg);
	void *closed_arg;
};

#endif
