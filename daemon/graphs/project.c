/* Principal axes on a device of another process: a thread of the pool runs sl_points_pca_by(), whose passes are
 * messages to the loop. It waits for each answer, and borrows nothing when it goes on. The loop passes the steps to the
 * computer of struct sl_graphs_computers. */
#include <pthread.h>
#include <stdlib.h>

#include "core/engine/engine.h"
#include "core/points/points.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/util/log.h"

/* A step, in the memory of the thread that waits for it. */
struct step {
	struct sl_device_pass pass;  /* first */
	struct sl_link link;         /* in sl__passes.steps, until the loop takes it */
	struct sl__passes *of;
	bool done;
	struct sl_error err;
};

struct sl__passes {
	struct sl_graphs *s;
	pthread_mutex_t lock;        /* guards what follows; never held with another lock */
	pthread_cond_t changed;
	struct sl_list steps;
	uv_async_t wake;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* The state of one projection on the thread's side. */
struct remote {
	struct sl__passes *of;
	const struct sl_points *points;
	const int *cancel;
	void *session;
};

static void done(struct sl_device_pass *p, const struct sl_error *err)
{
	struct step *step = (struct step *)p;
	struct sl__passes *x = step->of;
	pthread_mutex_lock(&x->lock);
	step->err = err ? *err : (struct sl_error){.code = 0};
	step->done = true;
	pthread_cond_broadcast(&x->changed);
	pthread_mutex_unlock(&x->lock);
}

static struct step *next_step(struct sl__passes *x)
{
	pthread_mutex_lock(&x->lock);
	struct step *step = SL_LIST_FIRST(struct step, &x->steps, link);
	if (step)
		sl_list_unlink(&step->link);
	pthread_mutex_unlock(&x->lock);
	return step;
}

static void on_wake(uv_async_t *async)
{
	struct sl__passes *x = async->data;
	const struct sl_graphs_computers *by = &x->s->by;
	struct sl_error err;
	for (struct step *step; (step = next_step(x));) {
		if (by->pass) {
			by->pass(by->arg, &step->pass);
			continue;
		}
		if (step->pass.what == SL_PASS_CLOSE)
			free(step->pass.session);
		sl_error_set(&err, SL_NODEVICE, "The server stops.");
		done(&step->pass, &err);
	}
}

/* Runs a step on the loop. A device that computes is not interrupted: passes take seconds at most. */
static int run(struct remote *r, struct step *step, struct sl_error *err)
{
	struct sl__passes *x = r->of;
	if (r->cancel && __atomic_load_n(r->cancel, __ATOMIC_RELAXED) && step->pass.what != SL_PASS_CLOSE)
		return sl_error_set(err, SL_CANCELLED, "Computing the principal axes was cancelled.");
	step->of = x;
	step->pass.session = r->session;
	step->pass.done = done;
	pthread_mutex_lock(&x->lock);
	sl_list_append(&x->steps, &step->link);
	uv_async_send(&x->wake);
	while (!step->done)
		pthread_cond_wait(&x->changed, &x->lock);
	pthread_mutex_unlock(&x->lock);
	r->session = step->pass.session;
	if (step->err.code && err)
		*err = step->err;
	return step->err.code;
}

static int mean(void *arg, double *out, struct sl_error *err)
{
	struct remote *r = arg;
	struct step step = {.pass = {.what = SL_PASS_MEAN, .out = out, .out_bytes = r->points->d * sizeof *out}};
	return run(r, &step, err);
}

static int covariance(void *arg, double *out, struct sl_error *err)
{
	struct remote *r = arg;
	struct step step = {.pass = {.what = SL_PASS_COVARIANCE, .out = out,
				     .out_bytes = (uint64_t)r->points->d * r->points->d * sizeof *out}};
	return run(r, &step, err);
}

static int apply(void *arg, const double *v, uint32_t c, double *out, double *total, struct sl_error *err)
{
	struct remote *r = arg;
	uint64_t bytes = (uint64_t)r->points->d * c * sizeof *v;
	struct step step = {.pass = {.what = SL_PASS_APPLY, .in = v, .in_bytes = bytes, .width = c, .out = out,
				     .out_bytes = bytes}};
	int code = run(r, &step, err);
	*total = step.pass.total;
	return code;
}

static int project(void *arg, const struct sl_pca *pca, float *out, struct sl_error *err)
{
	struct remote *r = arg;
	struct step step = {.pass = {.what = SL_PASS_PROJECT, .mean = pca->mean,
				     .mean_bytes = pca->kept * sizeof *pca->mean, .in = pca->axis,
				     .in_bytes = (uint64_t)pca->kept * pca->to * sizeof *pca->axis,
				     .width = pca->to, .out = out,
				     .out_bytes = (uint64_t)r->points->n * pca->to * sizeof *out}};
	return run(r, &step, err);
}

int sl__project(struct sl__passes *x, const struct sl_graphs_computers *by, struct sl_points **out,
		const struct sl_points *p, uint32_t to, double *kept, const int *cancel, struct sl_error *err)
{
	struct remote r = {.of = x, .points = p, .cancel = cancel};
	const struct sl_points_passes passes = {.arg = &r, .mean = mean, .covariance = covariance, .apply = apply,
						.project = project};
	struct step open = {.pass = {.what = SL_PASS_OPEN, .points = p}}, close = {.pass = {.what = SL_PASS_CLOSE}};
	struct sl_error why = {.code = 0};
	if (!by->pass || !sl_engine_pca_pays(p))
		return sl_engine_pca(by->engine, by->index, by->memory_bytes, out, p, to, kept, cancel, err);
	int code = run(&r, &open, &why);
	if (!code) {
		code = sl_points_pca_by(out, p, to, kept, cancel, &passes, &why);
		run(&r, &close, NULL);
	}
	if (!code)
		return 0;
	if (code == SL_CANCELLED || code == SL_BADPARAM || code == SL_BADDATA) {
		*err = why;
		return code;
	}
	if (code != SL_NODEVICE)
		sl_log_warning("graphs", "principal axes are computed on the CPU: %s", why.detail);
	return sl_points_pca(out, p, to, kept, cancel, err);
}

int sl__passes_open(struct sl_graphs *s)
{
	struct sl__passes *x = s->passes = calloc(1, sizeof *x);
	if (!x)
		return SL_NOMEM;
	x->s = s;
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->changed, NULL);
	uv_async_init(s->d->loop, &x->wake, on_wake);
	x->wake.data = x;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct sl__passes *x = handle->data;
	void (*closed)(void *) = x->closed;
	void *arg = x->closed_arg;
	pthread_mutex_destroy(&x->lock);
	pthread_cond_destroy(&x->changed);
	free(x);
	closed(arg);
}

void sl__passes_close(struct sl__passes *x, void (*closed)(void *arg), void *arg)
{
	x->closed = closed;
	x->closed_arg = arg;
	uv_close((uv_handle_t *)&x->wake, on_closed);
}
