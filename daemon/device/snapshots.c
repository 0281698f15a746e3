/* Snapshots of layouts for readers of frames.
 *
 * The engine copies a layout while iterations go on. Between two slices the device's thread tests whether the copy has
 * arrived, and gives it to the expander. The expander is a thread that puts the layout into the user's order (some
 * milliseconds for a million nodes, out of the engine's own memory) and sends it to the loop. Until then the graph
 * counts as used by one more job, because the expander reads its affinities. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/device/device_internal.h"

#define NICE 5  /* the same as the device's thread */

/* A snapshot for the expander. It is allocated when the snapshot starts, so that only the layout needs memory when it
 * ends. */
struct sl__expansion {
	struct sl_message message;
	const struct sl_affinities *affinities;
	struct sl_status status;
	struct sl_picked picked;         /* owned */
	struct sl_device_event *answer;  /* owned */
	struct sl_command *expanded;     /* gives the graph back to the device's thread; owned */
	bool last;                       /* tells the thread to end */
};

struct sl_expander {
	struct sl_device_thread *t;
	struct sl_mailbox snapshots;
	pthread_t thread;
	struct sl__expansion end;
};

/* ---- the expander's thread ------------------------------------------------------------ */

/* Returns the layout, or NULL with err. Takes over p->picked. */
static struct sl_layout *expand(struct sl__expansion *p, struct sl_error *err)
{
	const struct sl_affinities *a = p->affinities;
	struct sl_picked *from = &p->picked;
	size_t each = from->quantised ? sizeof(uint16_t) : sizeof(float);
	void *out = malloc((size_t)a->n_user * (size_t)from->dims * each + 1);
	struct sl_layout *l = NULL;
	if (out) {
		sl_picked_expand(a, from, out);
		if (from->quantised)
			l = sl_layout_create_quantised(out, a->n_user, from->dims, p->status.iteration, p->status.measure,
						       from->low,
						       from->extent);
		else
			l = sl_layout_create_take(out, a->n_user, from->dims, p->status.iteration, p->status.measure);
	}
	if (!l)
		sl_error_memory(err, "a layout of %u nodes", a->n_user);
	sl_picked_release(from);
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
			struct sl__expansion *p = (struct sl__expansion *)m;
			m = m->next;
			if (p->last) {
				last = true;
				continue;
			}
			p->answer->status = p->status;
			p->answer->layout = expand(p, &p->answer->err);
			sl_mailbox_put(&x->t->commands, &p->expanded->message);
			sl__tell(x->t, p->answer);
			free(p);
		}
	}
	return NULL;
}

int sl__expander_create(struct sl_expander **out, struct sl_device_thread *t, struct sl_error *err)
{
	struct sl_expander *x = calloc(1, sizeof *x);
	if (!x)
		return sl_error_memory(err, "a device");
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

static void expansion_destroy(struct sl__expansion *p)
{
	if (!p)
		return;
	sl_device_event_destroy(p->answer);
	sl__command_destroy(p->expanded);
	free(p);
}

/* Takes over *owed if it succeeds. */
static struct sl__expansion *expansion_create(struct sl_task *k, struct sl_device_event **owed)
{
	struct sl__expansion *p = calloc(1, sizeof *p);
	if (!p || !(p->expanded = calloc(1, sizeof *p->expanded))) {
		expansion_destroy(p);
		return NULL;
	}
	p->expanded->kind = SL__EXPANDED;
	p->expanded->key = k->resident->key;
	p->affinities = k->resident->affinities;
	p->status = k->status;
	p->answer = sl__event_owed(owed, SL_EVENT_SNAPSHOT, k->key);
	return p;
}

static void answer_nothing(struct sl_device_thread *t, struct sl_device_event **owed, uint64_t job,
			   const struct sl_error *err)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_SNAPSHOT, job);
	e->err = *err;
	sl__tell(t, e);
}

/* Answers that the snapshot failed. */
static void fail(struct sl_device_thread *t, struct sl_task *k, const struct sl_error *err)
{
	answer_nothing(t, &k->expansion->answer, k->key, err);
	expansion_destroy(k->expansion);
	k->expansion = NULL;
	k->snapshot = NULL;
}

/* Answers with the layout of a run in host memory, which needs no copy from the device. */
static void answer_at_once(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_SNAPSHOT, k->key);
	e->status = k->status;
	e->layout = sl__layout_of(k, &e->err);
	sl__tell(t, e);
}

void sl__snapshot_start(struct sl_device_thread *t, struct sl_task *k, bool quantise, struct sl_device_event **owed)
{
	struct sl_error err = {0};
	if (!k->embedding) {
		answer_at_once(t, k, owed);
		return;
	}
	if (k->snapshot)
		sl_error_set(&err, SL_CONFLICT, "A snapshot is on its way already.");
	else if (!(k->expansion = expansion_create(k, owed)))
		sl_error_memory(&err, "a snapshot");
	if (err.code)
		answer_nothing(t, owed, k->key, &err);
	else if (sl__note(t, &err, sl_embedding_snapshot_start(k->embedding, quantise, &k->snapshot, &err)))
		fail(t, k, &err);
}

static struct sl_layout *values_of(struct sl_task *k)
{
	float *values = malloc((size_t)k->nodes * (size_t)k->columns * sizeof *values + 1);
	if (!values)
		return NULL;
	k->method->values(k->run, values);
	return sl_layout_create_values(values, k->nodes, k->columns, k->status.iteration, k->status.measure,
				       k->status.model_time);
}

struct sl_layout *sl__picture_of(struct sl_task *k)
{
	struct sl_error ignored;
	return k->method->layout ? sl__layout_of(k, &ignored) : k->method->values ? values_of(k) : NULL;
}

void sl__snapshot_values(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_SNAPSHOT, k->key);
	e->layout = values_of(k);
	if (!e->layout)
		sl_error_memory(&e->err, "the values of %u nodes", k->nodes);
	e->status = k->status;
	sl__tell(t, e);
}

void sl__snapshot_finish(struct sl_device_thread *t, struct sl_task *k)
{
	struct sl_error err = {0};
	if (!k->snapshot)
		return;
	if (sl__note(t, &err, sl_embedding_snapshot_finish(k->snapshot, &k->expansion->picked, &err))) {
		fail(t, k, &err);
		return;
	}
	k->resident->jobs++;
	sl_mailbox_put(&t->expander->snapshots, &k->expansion->message);
	k->expansion = NULL;
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
	struct sl_method_array y;
	if (k->method->layout_of(k->run, &y, err))
		return NULL;
	struct sl_layout *l = sl_layout_create_take(y.data, y.shape[0], (int)y.shape[1], k->status.iteration,
						    k->status.measure);
	if (!l)
		sl_error_memory(err, "a layout");
	return l;
}
