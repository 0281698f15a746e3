/* An idle handle steps the work for TURN_NS in each turn of the loop. */
#include "daemon/util/turns.h"

#include <stdlib.h>

#define TURN_NS 5000000  /* the work's time in one turn of the loop */

struct turns {
	uv_idle_t idle;
	bool (*step)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

static bool take_turn(bool (*step)(void *arg), void *arg)
{
	uint64_t end = uv_hrtime() + TURN_NS;
	while (!step(arg))
		if (uv_hrtime() >= end)
			return false;
	return true;
}

static void closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_idle(uv_idle_t *idle)
{
	struct turns *t = idle->data;
	if (!take_turn(t->step, t->arg))
		return;
	uv_close((uv_handle_t *)idle, closed);
	t->done(t->arg);
}

bool sl_turns(uv_loop_t *loop, bool (*step)(void *arg), void (*done)(void *arg), void *arg)
{
	struct turns *t = NULL;
	bool all = take_turn(step, arg);
	if (!all && !(t = malloc(sizeof *t)))
		while (!all)
			all = step(arg);
	if (all) {
		done(arg);
		return true;
	}
	*t = (struct turns){.step = step, .done = done, .arg = arg};
	uv_idle_init(loop, &t->idle);
	t->idle.data = t;
	uv_idle_start(&t->idle, on_idle);
	return false;
}
