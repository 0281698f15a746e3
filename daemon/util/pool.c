#include "daemon/util/pool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/util/log.h"

#define SPARE 32
#define NICE 5

struct task {
	struct sl_pool_place place;  /* its arg is the task */
	void (*run)(void *arg);
	void (*done)(void *arg);     /* or NULL */
	void *arg;
	struct task *next;           /* of the spare ones */
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
	static _Thread_local bool nice;
	struct sl_pool_place *place = work->data;
	if (!nice)
		setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	nice = true;
	place->run(place->arg);
}

static void on_done(uv_work_t *work, int status)
{
	struct sl_pool_place *place = work->data;
	if (place->done)
		place->done(place->arg);
}

void sl_pool_run_in(struct sl_pool_place *place, uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg),
		    void *arg)
{
	*place = (struct sl_pool_place){.run = work, .done = done, .arg = arg};
	place->work.data = place;
	uv_queue_work(loop, &place->work, on_work, on_done);  /* fails without a function only */
}

static void task_run(void *arg)
{
	const struct task *task = arg;
	task->run(task->arg);
}

static void task_done(void *arg)
{
	struct task task = *(struct task *)arg;
	put_back(arg);
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
		sl_pool_run_in(&task->place, loop, task_run, task_done, task);
		complained = false;
		return;
	}
	if (!complained)
		sl_log_error("pool", "no memory for a piece of work: the loop does it itself");
	complained = true;
	work(arg);
	if (done)
		done(arg);
}
