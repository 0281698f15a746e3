/* pool.h -- the one way to run work on libuv's thread pool.
 *
 * work(arg) runs on a thread of the pool, then done(arg) on the loop; both run exactly once, in this
 * order. done may be NULL. Loop thread only. arg is the caller's until done returns. The threads of
 * the pool have a low priority (nice 5), so that the loop answers while they use all cores.
 *
 * sl_pool_run() cannot fail. When memory runs out, it uses one of a few spare places. When no spare place
 * is free, it does the work on the loop before it returns, and logs a warning.
 * sl_pool_run_in() uses memory of its caller, so done never runs before it returns. */
#ifndef SL_POOL_H
#define SL_POOL_H

#include <stdbool.h>
#include <uv.h>

/* Memory for one piece of work at a time; embed it in what arg points to. done may use it again. */
struct sl_pool_place {
	uv_work_t work;
	void (*run)(void *arg);
	void (*done)(void *arg);  /* or NULL */
	void *arg;
};

void sl_pool_run_in(struct sl_pool_place *place, uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg),
		    void *arg);
void sl_pool_run(uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg);

/* Threads of the pool that may prepare replies at the same time. */
#define SL_POOL_ANSWERS 4
/* Like sl_pool_run(), for work that prepares a reply (reading, drawing, formatting). At most SL_POOL_ANSWERS pieces run
 * at once, and at most one fewer for the same user: the data base always finds threads, and other users find one.
 * `whose` names the user (at most 31 characters; "": no particular user). Waiting work of the user with the fewest
 * running pieces starts next, in order of arrival. wanted(arg) runs on the loop just before the work would start; if it
 * returns false, the work is skipped and done runs at once. */
void sl_pool_answer(uv_loop_t *loop, const char *whose, bool (*wanted)(void *arg), void (*work)(void *arg),
		    void (*done)(void *arg), void *arg);

#endif
