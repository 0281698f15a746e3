/* pool.h -- the one way to run work on libuv's thread pool.
 *
 * work(arg) runs on a thread of the pool, then done(arg) on the loop; both run exactly once, in this
 * order. done may be NULL. Loop thread only. arg is the caller's until done returns. The threads of
 * the pool have a low priority (nice 5), so that the loop answers while they use all cores.
 *
 * sl_pool_run() cannot fail: without memory it takes one of a few places kept for that, and when
 * these are taken, too, it does the work on the loop before it returns, and says so in the log.
 * sl_pool_run_in() takes the memory from its caller, so that done never runs before it returns. */
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

/* Threads for answers. */
#define SL_POOL_ANSWERS 4
/* The same for what makes a reply (reading, drawing, writing texts). SL_POOL_ANSWERS of them run at once, one less of
 * the same `whose` (a name of at most 31 characters; "": nobody's in particular), so that any number of requests leaves
 * threads for the data base, and those of one user a thread for others. The next is the first of those with the fewest
 * under way. wanted(arg), on the loop: false when its turn has come leaves the work out; done follows at once. */
void sl_pool_answer(uv_loop_t *loop, const char *whose, bool (*wanted)(void *arg), void (*work)(void *arg),
		    void (*done)(void *arg), void *arg);

#endif
