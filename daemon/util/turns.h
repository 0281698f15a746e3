/* turns.h -- long work of the loop, cut into steps: after some milliseconds the loop serves others, and goes on with
 * the work in its next turn. */
#ifndef SL_TURNS_H
#define SL_TURNS_H

#include <stdbool.h>
#include <uv.h>

/* Calls step(arg) until it returns true, then done(arg), once. True: that was all within this call. False: the rest
 * follows in later turns of the loop. What step() uses may change between turns. Without memory all is done at once. */
bool sl_turns(uv_loop_t *loop, bool (*step)(void *arg), void (*done)(void *arg), void *arg);

#endif
