/* sl_pool_run(): each work function runs once, followed by its done function, also if memory is short. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "daemon/util/pool.h"

#define COUNT 200

static int refused = 0;  /* refused allocations of this thread */
static __thread bool refuse;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	if (!refuse)
		return __real_malloc(bytes);
	refused++;
	return NULL;
}

struct piece {
	int works, dones;
	pthread_t thread;
};

static void work(void *arg)
{
	struct piece *p = arg;
	p->works++;
	p->thread = pthread_self();
}

static void done(void *arg)
{
	struct piece *p = arg;
	assert_int_equal(p->works, 1);
	p->dones++;
}

static void run_all(bool memory)
{
	static struct piece pieces[COUNT];
	uv_loop_t loop;
	int elsewhere = 0;
	for (int i = 0; i < COUNT; i++)
		pieces[i] = (struct piece){0};
	assert_int_equal(uv_loop_init(&loop), 0);
	refuse = !memory;
	for (int i = 0; i < COUNT; i++)
		sl_pool_run(&loop, work, done, &pieces[i]);
	refuse = false;
	uv_run(&loop, UV_RUN_DEFAULT);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(pieces[i].works, 1);
		assert_int_equal(pieces[i].dones, 1);
		elsewhere += !pthread_equal(pieces[i].thread, pthread_self());
	}
	assert_true(memory ? elsewhere == COUNT : elsewhere > 0 && elsewhere < COUNT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void on_the_pool(void **state)
{
	run_all(true);
}

static void without_memory(void **state)
{
	for (int round = 0; round < 3; round++)  /* the places are reused */
		run_all(false);
	assert_true(refused >= 3 * COUNT);
}

static void without_done(void **state)
{
	uv_loop_t loop;
	struct piece p = {0};
	assert_int_equal(uv_loop_init(&loop), 0);
	sl_pool_run(&loop, work, NULL, &p);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(p.works, 1);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* Work with its own memory never waits for memory and never ends before the call returns; its done function may submit
 * the next work in the same place. */
struct chain {
	struct sl_pool_place place;
	uv_loop_t *loop;
	int works, dones, nice;
	bool returned;
};

static void chain_work(void *arg)
{
	struct chain *c = arg;
	c->works++;
	c->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
}

static void chain_done(void *arg)
{
	struct chain *c = arg;
	assert_true(c->returned);
	if (++c->dones < COUNT)
		sl_pool_run_in(&c->place, c->loop, chain_work, chain_done, c);
}

static void in_a_place_of_its_own(void **state)
{
	uv_loop_t loop;
	struct chain c = {.loop = &loop};
	int asked = refused;
	assert_int_equal(uv_loop_init(&loop), 0);
	refuse = true;
	sl_pool_run_in(&c.place, &loop, chain_work, chain_done, &c);
	c.returned = true;
	refuse = false;
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(c.works, COUNT);
	assert_int_equal(c.dones, COUNT);
	assert_int_equal(refused, asked);
	assert_true(c.nice >= 5);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- answers --- */

#define ANSWERS 40

struct reply {
	const char *whose;
	bool wanted;
	int works, dones;
};

static int under_way, most_under_way, most_of_ann, of_ann;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool reply_wanted(void *arg)
{
	const struct reply *r = arg;
	return r->wanted;
}

static void count_up(const struct reply *r, int by)
{
	pthread_mutex_lock(&lock);
	under_way += by;
	of_ann += r->whose[0] == 'a' ? by : 0;
	most_under_way = under_way > most_under_way ? under_way : most_under_way;
	most_of_ann = of_ann > most_of_ann ? of_ann : most_of_ann;
	pthread_mutex_unlock(&lock);
}

static bool all_at_once(void)
{
	pthread_mutex_lock(&lock);
	bool reached = most_under_way >= SL_POOL_ANSWERS;
	pthread_mutex_unlock(&lock);
	return reached;
}

/* Waits until the permitted number has been in progress, since threads may start late on a busy machine. */
static void reply_work(void *arg)
{
	struct reply *r = arg;
	count_up(r, 1);
	usleep(2000);
	for (int ms = 0; ms < 5000 && !all_at_once(); ms++)
		usleep(1000);
	r->works++;
	count_up(r, -1);
}

static void reply_done(void *arg)
{
	struct reply *r = arg;
	r->dones++;
}

static void some_answers_at_a_time(void **state)
{
	struct reply r[ANSWERS];
	uv_loop_t loop;
	assert_int_equal(uv_loop_init(&loop), 0);
	for (int i = 0; i < ANSWERS; i++) {
		r[i] = (struct reply){.whose = i < ANSWERS - 2 ? "ann" : "bob", .wanted = i % 5 != 4};
		sl_pool_answer(&loop, r[i].whose, reply_wanted, reply_work, reply_done, &r[i]);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	for (int i = 0; i < ANSWERS; i++)
		assert_true(r[i].dones == 1 && r[i].works == (i % 5 != 4));
	assert_int_equal(most_under_way, SL_POOL_ANSWERS);
	assert_int_equal(most_of_ann, SL_POOL_ANSWERS - 1);  /* one thread stays free for others */
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(on_the_pool), cmocka_unit_test(without_memory),
					   cmocka_unit_test(some_answers_at_a_time),
					   cmocka_unit_test(without_done), cmocka_unit_test(in_a_place_of_its_own)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
