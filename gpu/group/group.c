/* The threads of a group, their tasks, and their meetings on the host. */
#include "gpu/group/group_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ABORT_MS 2000  /* a rank has failed, and others do not come to the meeting */

/* ---- meetings ------------------------------------------------------------------------------- */

/* Ends the collectives that ranks wait in. The communicators are lost; freeing them could wait for graphs that use
 * them, so nobody does. Called with the lock held. */
static void break_up(struct sl_group *g)
{
	if (g->broken)
		return;
	g->broken = true;
	pthread_mutex_unlock(&g->lock);
	for (int r = 0; r < g->ranks; r++)
		if (g->comm[r])
			g->nccl.CommAbort(g->comm[r]);
	pthread_mutex_lock(&g->lock);
}

static struct timespec in_ms(long ms)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* Waits until all have come to the meeting. Called with the lock held. */
static void await_all(struct sl_group *g, uint64_t meeting)
{
	while (g->meeting == meeting) {
		struct timespec until = in_ms(ABORT_MS);
		if (pthread_cond_timedwait(&g->changed, &g->lock, &until) == ETIMEDOUT && g->worst && g->meeting == meeting)
			break_up(g);
	}
}

static void conclude(struct sl_group *g)
{
	g->outcome = g->worst;
	g->outcome_why = g->why;
	memcpy(g->outcome_told, g->told, sizeof g->told);
	g->arrived = g->worst = 0;
	g->meeting++;
	pthread_cond_broadcast(&g->changed);
}

int sl__group_tell(struct sl_device *d, int code, const uint64_t *mine, int count, uint64_t *all, struct sl_error *err)
{
	struct sl_group *g = d->group;
	if (!g) {
		for (int i = 0; i < count; i++)
			all[i] = mine[i];
		return code;
	}
	pthread_mutex_lock(&g->lock);
	for (int i = 0; i < count; i++)
		g->told[d->rank][i] = mine[i];
	if (code && !g->worst) {
		g->worst = code;
		g->why = err ? *err : (struct sl_error){.code = code};
	}
	uint64_t meeting = g->meeting;
	if (++g->arrived == g->ranks)
		conclude(g);
	else
		await_all(g, meeting);
	int outcome = g->outcome;
	for (int r = 0; r < g->ranks; r++)
		for (int i = 0; i < count; i++)
			all[r * count + i] = g->outcome_told[r][i];
	if (outcome) {
		g->member[d->rank].ended = true;
		if (err)
			*err = g->outcome_why;
	}
	pthread_mutex_unlock(&g->lock);
	return outcome;
}

int sl__group_meet(struct sl_device *d, int code, struct sl_error *err)
{
	return sl__group_tell(d, code, NULL, 0, NULL, err);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* Runs the present task on this rank. */
static void take_part(struct sl_member *m)
{
	struct sl_group *g = m->group;
	struct sl_device *d = g->device[m->rank];
	memset(&m->err, 0, sizeof m->err);
	m->ended = false;
	m->code = sl__device_enter(d, &m->err);
	if (!m->code && g->broken)
		m->code = sl_error_set(&m->err, SL_DEVLOST, "The GPUs that compute together have lost one another.");
	if (!m->code)
		m->code = g->task(g->context, m->rank, &m->err);
	if (!m->ended)
		m->code = sl__group_meet(d, m->code, &m->err);
}

static void *serve(void *context)
{
	struct sl_member *m = context;
	struct sl_group *g = m->group;
	uint64_t done = 0;
	pthread_mutex_lock(&g->lock);
	for (;;) {
		while (!g->closing && g->turn == done)
			pthread_cond_wait(&g->changed, &g->lock);
		if (g->turn == done)
			break;
		done = g->turn;
		pthread_mutex_unlock(&g->lock);
		take_part(m);
		pthread_mutex_lock(&g->lock);
		g->running--;
		pthread_cond_broadcast(&g->changed);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

int sl__group_run(struct sl_group *g, int (*task)(void *context, int rank, struct sl_error *err), void *context,
		  struct sl_error *err)
{
	pthread_mutex_lock(&g->lock);
	g->task = task;
	g->context = context;
	g->running = g->ranks - 1;
	g->turn++;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	take_part(&g->member[0]);
	pthread_mutex_lock(&g->lock);
	while (g->running)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	if (g->member[0].code && err)
		*err = g->member[0].err;
	return g->member[0].code;
}

/* ---- life ------------------------------------------------------------------------------------- */

int sl__nccl_failed(const struct sl_group *g, struct sl_error *err, int status, const char *what)
{
	cudaGetLastError();
	return sl_error_set(err, SL_DEVLOST, "GPUs that compute together failed: %.200s (%.100s).",
			    g->nccl.GetErrorString(status), what);
}

static int connect_all(struct sl_group *g, struct sl_error *err)
{
	int index[SL_RANKS_MAX];
	int code = sl__nccl_open(&g->nccl, err);
	if (code)
		return code;
	for (int r = 0; r < g->ranks; r++)
		index[r] = g->device[r]->index;
	int status = g->nccl.CommInitAll(g->comm, g->ranks, index);
	if (status == SL_NCCL_SUCCESS)
		return 0;
	memset(g->comm, 0, sizeof g->comm);
	return sl__nccl_failed(g, err, status, "ncclCommInitAll");
}

static int start_threads(struct sl_group *g, struct sl_error *err)
{
	for (int r = 0; r < g->ranks; r++)
		g->member[r] = (struct sl_member){.group = g, .rank = r};
	for (int r = 1; r < g->ranks; r++, g->threads++)
		if (pthread_create(&g->member[r].thread, NULL, serve, &g->member[r]))
			return sl_error_set(err, SL_NOMEM, "The system has no thread left for GPU %d.", g->device[r]->index);
	return 0;
}

int sl__group_open(struct sl_device **devices, int ranks, struct sl_group **out, struct sl_error *err)
{
	pthread_condattr_t monotonic;
	struct sl_group *g = calloc(1, sizeof *g);
	if (!g)
		return sl_error_memory(err, "a group of %d GPUs", ranks);
	g->ranks = ranks;
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&g->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	for (int r = 0; r < ranks; r++) {
		g->device[r] = devices[r];
		devices[r]->group = g;
		devices[r]->rank = r;
		devices[r]->ranks = ranks;
	}
	int code = connect_all(g, err);
	if (!code)
		code = start_threads(g, err);
	if (code)
		sl__group_close(g);
	else
		*out = g;
	return code;
}

void sl__group_close(struct sl_group *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->closing = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	for (int r = 1; r <= g->threads; r++)
		pthread_join(g->member[r].thread, NULL);
	for (int r = 0; r < g->ranks; r++) {
		if (g->comm[r] && !g->broken) {
			sl__device_enter(g->device[r], NULL);
			g->nccl.CommDestroy(g->comm[r]);
		}
		g->device[r]->group = NULL;
		g->device[r]->rank = 0;
		g->device[r]->ranks = 0;
	}
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g);
}
