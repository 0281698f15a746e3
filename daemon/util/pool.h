/* pool.h -- the one way to run work on libuv's thread pool.
 *
 * work(arg) runs on a thread of the pool, then done(arg) on the loop; both run exactly once, in this
 * order. The call cannot fail: without memory it takes one of a few places kept for that, and when
 * these are taken, too, it does the work on the loop before it returns, and says so in the log.
 * done may be NULL. Loop thread only. arg is the caller's until done returns. */
#ifndef SL_POOL_H
#define SL_POOL_H

#include <uv.h>

void sl_pool_run(uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg);

#endif
