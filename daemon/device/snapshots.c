/* Layouts on their way to those who watch.
 *
 * The engine copies a layout while iterations go on; the device's thread asks between two slices whether it has
 * arrived, and gives it to the expander, a thread of its own that puts it into the user's order (for a million nodes a
 * matter of milliseconds) and tells the loop. The graph counts one job more until that is done, because the expander
 * reads its affinities. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/device/device_internal.h"

#define NICE 5  /* as the device's thread */

struct snapshot {
	struct sl_message message;
	uint64_t job, graph;
	const struct sl_affinities *affinities;
	struct sl_status status;
	struct sl_picked picked;  /* owned */
	bool last;                /* the thread ends */
};

struct sl_expander {
	struct sl_device_thread *t;
	struct sl_mailbox snapshots;
	pthread_t thread;
	struct snapshot end;
};

/* ---- the expander's thread ------------------------------------------------------------ */

/* NULL with err. Takes p->picked. */
static struct sl_layout *expand(struct snapshot *p, struct sl_error *err)
{
	const struct sl_affinities *a = p->affinities;
	struct sl_picked *from = &p->picked;
	size_t each = from->quantised ? sizeof(uint16_t) : sizeof(float);
	void *out = malloc((size_t)a->n_user * (size_t)from->dims * each + 1);
	struct sl_layout *l = NULL;
	if (out) {
		sl_picked_expand(a, from, out);
		if (from->quantised)
			l = sl_layout_create_quantised(out, a->n_user, from->dims, p->status.iteration, p->status.kl, from->low,
						       from->extent);
		else
			l = sl_layout_create_take(out, a->n_user, from->dims, p->status.iteration, p->status.kl);
	}
	if (!l)
		sl_error_set(err, SL_NOMEM, "Out of memory for a layout of %u nodes.", a->n_user);
	free(from->data);
	return l;
}

static void *expander_main(void *arg)
{
	struct sl_expander *x = arg;
	bool last = false;
	pthread_setname_np(pthread_self(), "snapshots");
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	while (!last) {
		struct sl_message *m = sl_mailbox_wait(&x->snapshots);
		while (m) {
			struct snapshot *p = (struct snapshot *)m;
			m = m->next;
			if (p->last) {
				last = true;
				continue;
			}
			struct sl_device_event *e = sl__event(SL_EVENT_SNAPSHOT, p->job);
			e->status = p->status;
			e->layout = expand(p, &e->err);
			sl__post_expanded(x->t, p->graph);
			sl__tell(x->t, e);
			free(p);
		}
	}
	return NULL;
}

int sl__expander_create(struct sl_expander **out, struct sl_device_thread *t, struct sl_error *err)
{
	struct sl_expander *x = calloc(1, sizeof *x);
	if (!x)
		return sl_error_set(err, SL_NOMEM, "Out of memory for a device.");
	x->t = t;
	x->end.last = true;
	sl_mailbox_init(&x->snapshots);
	if (pthread_create(&x->thread, NULL, expander_main, x)) {
		sl_mailbox_finish(&x->snapshots);
		free(x);
		return sl_error_set(err, SL_NOMEM, "A device's second thread could not be started.");
	}
	*out = x;
	return 0;
}

void sl__expander_destroy(struct sl_expander *x)
{
	if (!x)
		return;
	sl_mailbox_put(&x->snapshots, &x->end.message);
	pthread_join(x->thread, NULL);
	sl_mailbox_finish(&x->snapshots);
	free(x);
}

/* ---- the device's thread ---------------------------------------------------------------- */

static void answer_nothing(struct sl_device_thread *t, uint64_t job, const struct sl_error *err)
{
	struct sl_device_event *e = sl__event(SL_EVENT_SNAPSHOT, job);
	e->err = *err;
	sl__tell(t, e);
}

void sl__snapshot_start(struct sl_device_thread *t, struct sl_task *k, bool quantise)
{
	struct sl_error err = {0};
	if (k->snapshot)
		sl_error_set(&err, SL_CONFLICT, "A snapshot is on its way already.");
	else if (!sl__note(t, &err, sl_embedding_snapshot_start(k->embedding, quantise, &k->snapshot, &err)))
		k->snapshot_status = k->status;
	else
		k->snapshot = NULL;
	if (err.code)
		answer_nothing(t, k->key, &err);
}

void sl__snapshot_finish(struct sl_device_thread *t, struct sl_task *k)
{
	struct sl_error err = {0};
	struct snapshot *p;
	if (!k->snapshot)
		return;
	while (!(p = calloc(1, sizeof *p)))
		usleep(10000);  /* as in sl__event(): somebody waits for the answer */
	if (sl__note(t, &err, sl_embedding_snapshot_finish(k->snapshot, &p->picked, &err))) {
		answer_nothing(t, k->key, &err);
		free(p);
	} else {
		p->job = k->key;
		p->graph = k->resident->key;
		p->affinities = k->resident->affinities;
		p->status = k->snapshot_status;
		k->resident->jobs++;
		sl_mailbox_put(&t->expander->snapshots, &p->message);
	}
	k->snapshot = NULL;
}

bool sl__snapshots_poll(struct sl_device_thread *t)
{
	bool waiting = false;
	SL_LIST_EACH(struct sl_task, k, &t->tasks, link) {
		if (k->snapshot && sl_embedding_snapshot_ready(k->snapshot))
			sl__snapshot_finish(t, k);
		waiting = waiting || k->snapshot;
	}
	return waiting;
}

struct sl_layout *sl__layout_of(struct sl_task *k, struct sl_error *err)
{
	const struct sl_affinities *a = k->resident->affinities;
	int dims = sl_embedding_params(k->embedding)->dims;
	float *y = malloc(((size_t)a->n_user * (size_t)dims + 1) * sizeof *y);
	if (!y) {
		sl_error_set(err, SL_NOMEM, "Out of memory for a layout of %u nodes.", a->n_user);
		return NULL;
	}
	if (sl_embedding_layout(k->embedding, y, err)) {
		free(y);
		return NULL;
	}
	struct sl_layout *l = sl_layout_create_take(y, a->n_user, dims, k->status.iteration, k->status.kl);
	if (!l)
		sl_error_set(err, SL_NOMEM, "Out of memory for a layout.");
	return l;
}
