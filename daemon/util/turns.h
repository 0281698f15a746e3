/* turns.h -- long work on the loop thread, cut into steps. After some milliseconds of steps the loop serves other
 * events, and continues the work in its next turn. */
#ifndef SL_TURNS_H
#define SL_TURNS_H

#include <stdbool.h>
#include <uv.h>

/* Calls step(arg) until it returns true, then done(arg) once. Returns true if done has run within this call, false if
 * the work continues in later turns of the loop. Data that step() reads may change between turns. If memory runs out,
 * the whole work is done within this call. */
bool sl_turns(uv_loop_t *loop, bool (*step)(void *arg), void (*done)(void *arg), void *arg);

#endif
