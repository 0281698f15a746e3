#include "daemon/util/pool.h"

#include <stdbool.h>
#include <stdlib.h>

#include "daemon/util/log.h"

#define SPARE 32

struct task {
	uv_work_t work;
	void (*run)(void *arg);
	void (*done)(void *arg);  /* or NULL */
	void *arg;
	struct task *next;        /* of the spare ones */
};

/* Loop thread only. */
static struct task spare[SPARE];
static struct task *unused;
static bool complained;

static struct task *take(void)
{
	static bool ready;
	for (int i = 0; !ready && i < SPARE; i++) {
		spare[i].next = unused;
		unused = &spare[i];
	}
	ready = true;
	struct task *task = malloc(sizeof *task);
	if (!task && (task = unused))
		unused = task->next;
	return task;
}

static void put_back(struct task *task)
{
	if (task < spare || task >= spare + SPARE) {
		free(task);
		return;
	}
	task->next = unused;
	unused = task;
}

static void on_work(uv_work_t *work)
{
	struct task *task = work->data;
	task->run(task->arg);
}

static void on_done(uv_work_t *work, int status)
{
	struct task task = *(struct task *)work->data;
	put_back(work->data);
	if (task.done)
		task.done(task.arg);
}

void sl_pool_run(uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	struct task *task = take();
	if (task) {
		task->run = work;
		task->done = done;
		task->arg = arg;
		task->work.data = task;
		if (!uv_queue_work(loop, &task->work, on_work, on_done)) {
			complained = false;
			return;
		}
		put_back(task);
	}
	if (!complained)
		sl_log_error("pool", "no memory for a piece of work: the loop does it itself");
	complained = true;
	work(arg);
	if (done)
		done(arg);
}
