#include "daemon/util/pool.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/util/list.h"
#include "daemon/util/log.h"

#define SPARE 32
#define NICE 5

struct task {
	struct sl_pool_place place;  /* its arg is the task */
	void (*run)(void *arg);
	void (*done)(void *arg);     /* or NULL */
	void *arg;
	struct task *next;           /* in the list of spare tasks */
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
	uv_queue_work(loop, &place->work, on_work, on_done);  /* fails only if on_work is NULL */
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

/* ---- answers --------------------------------------------------------------------------- */

struct answer {
	struct sl_link link;         /* in waiting or running */
	struct sl_pool_place place;
	uv_loop_t *loop;
	char whose[32];
	bool (*wanted)(void *arg);
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

/* Loop thread only. */
static struct sl_list waiting, running;

static size_t running_of(const char *whose)
{
	size_t count = 0;
	SL_LIST_EACH(struct answer, a, &running, link)
		count += !strcmp(a->whose, whose);
	return count;
}

/* The answer to start next; NULL: none may start now. */
static struct answer *next_answer(void)
{
	struct answer *best = NULL;
	size_t fewest = SL_POOL_ANSWERS - 1;
	SL_LIST_EACH(struct answer, a, &waiting, link) {
		size_t count = running_of(a->whose);
		if (count < fewest) {
			best = a;
			fewest = count;
		}
		if (!fewest)
			break;
	}
	return running.count < SL_POOL_ANSWERS ? best : NULL;
}

static void start_answers(void);

static void answer_work(void *arg)
{
	const struct answer *a = arg;
	a->work(a->arg);
}

static void answer_done(void *arg)
{
	struct answer *a = arg, copy = *a;
	sl_list_unlink(&a->link);
	free(a);
	copy.done(copy.arg);
	start_answers();
}

/* May be re-entered: done() may call sl_pool_answer(). */
static void start_answers(void)
{
	struct answer *a;
	while ((a = next_answer())) {
		sl_list_unlink(&a->link);
		if (a->wanted(a->arg)) {
			sl_list_append(&running, &a->link);
			sl_pool_run_in(&a->place, a->loop, answer_work, answer_done, a);
		} else {
			struct answer copy = *a;
			free(a);
			copy.done(copy.arg);
		}
	}
}

void sl_pool_answer(uv_loop_t *loop, const char *whose, bool (*wanted)(void *arg), void (*work)(void *arg),
		    void (*done)(void *arg), void *arg)
{
	struct answer *a = calloc(1, sizeof *a);
	if (!a) {
		sl_pool_run(loop, work, done, arg);
		return;
	}
	*a = (struct answer){.loop = loop, .wanted = wanted, .work = work, .done = done, .arg = arg};
	snprintf(a->whose, sizeof a->whose, "%s", whose);
	sl_list_append(&waiting, &a->link);
	start_answers();
}
