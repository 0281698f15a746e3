/* Tasks are counted from sl_pool_run() to done(); replies that read or draw wait in a line of their own, in turns by
 * their sender, so that at least one thread stays free for records. */
#include "daemon/util/pool.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/error.h"
#include "daemon/util/crashes.h"
#include "daemon/util/list.h"
#include "daemon/util/log.h"

#define SPARE 32
#define NICE 5

struct task {
	struct sl_pool_place place;  /* first */
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
	static _Thread_local bool prepared;
	struct sl_pool_place *place = work->data;
	if (!prepared) {
		setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
		sl_crashes_thread("pool");
	}
	prepared = true;
	place->run(place->arg);
}

static void finish(const struct sl_pool_place *place)
{
	if (place->done)
		place->done(place->arg);
}

static void on_done(uv_work_t *work, int status)
{
	finish(work->data);
}

static void start(struct sl_pool_place *place, uv_loop_t *loop, uv_after_work_cb after)
{
	place->work.data = place;
	uv_queue_work(loop, &place->work, on_work, after);  /* fails only if on_work is NULL */
}

void sl_pool_run_in(struct sl_pool_place *place, uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg),
		    void *arg)
{
	*place = (struct sl_pool_place){.run = work, .done = done, .arg = arg};
	start(place, loop, on_done);
}

static void on_task_done(uv_work_t *work, int status)
{
	struct task *task = work->data;
	struct sl_pool_place place = task->place;
	put_back(task);
	finish(&place);
}

void sl_pool_run(uv_loop_t *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	struct task *task = take();
	if (task) {
		task->place = (struct sl_pool_place){.run = work, .done = done, .arg = arg};
		start(&task->place, loop, on_task_done);
		complained = false;
		return;
	}
	if (!complained)
		sl_log_error("pool", SL_NO_MEMORY "a piece of work: the loop does it itself");
	complained = true;
	work(arg);
	if (done)
		done(arg);
}

/* ---- answers --------------------------------------------------------------------------- */

struct answer {
	struct sl_pool_place place;  /* first */
	struct sl_link link;         /* in waiting or running */
	uv_loop_t *loop;
	char whose[32];
	bool (*wanted)(void *arg);
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

static void answer_done(struct answer *a)
{
	struct sl_pool_place place = a->place;
	sl_list_unlink(&a->link);
	free(a);
	finish(&place);
}

static void on_answer_done(uv_work_t *work, int status)
{
	answer_done(work->data);
	start_answers();
}

/* May be re-entered: done() may call sl_pool_answer(). */
static void start_answers(void)
{
	struct answer *a;
	while ((a = next_answer())) {
		if (a->wanted(a->place.arg)) {
			sl_list_unlink(&a->link);
			sl_list_append(&running, &a->link);
			start(&a->place, a->loop, on_answer_done);
		} else {
			answer_done(a);
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
	*a = (struct answer){.place = {.run = work, .done = done, .arg = arg}, .loop = loop, .wanted = wanted};
	snprintf(a->whose, sizeof a->whose, "%s", whose);
	sl_list_append(&waiting, &a->link);
	start_answers();
}
