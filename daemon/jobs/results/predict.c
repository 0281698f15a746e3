/* New points under the model that a job has left (clusters, probabilities, densities), and samples of it. Runs on the
 * thread pool, one request at a time, since it uses all cores. Nothing is stored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/numpy/npy.h"
#include "core/host_memory.h"
#include "core/points/points.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/results/text.h"
#include "daemon/util/buffer.h"
#include "daemon/util/pool.h"

#define TIMEOUT_MS (3600 * 1000)  /* it ends by itself; this is a last resort */
#define NPY_BYTES 12              /* of the host's memory for a number of a reply: itself, and twice in the file */
#define TEXT_BYTES 28             /* the same, and its text */
#define MOST_PRODUCTS 2e13        /* points times numbers of the model: some minutes */

struct prediction {
	struct sl_link link;         /* in sl_jobs.predictions */
	struct sl_job *job;          /* a reference */
	struct sl_request *request;  /* NULL: the client is gone */
	enum sl_layout_form form;
	const char *what;            /* the array asked for */
	bool started;
	int cancel;                  /* the client is gone; read by the worker */
	bool sample;
	uint32_t count;              /* of samples */
	uint64_t seed;
	struct sl_uploaded file;
	struct sl_buffer *text;      /* the reply */
	int code;
	struct sl_error err;
};

static void next(struct sl_jobs *j);

static void drop(struct prediction *p)
{
	struct sl_jobs *j = p->job->jobs;
	sl_uploaded_finish(&p->file);
	sl__job_unref(p->job);
	sl_buffer_unref(p->text);
	free(p);
	sl__works_done(j);
}

static void answer(struct prediction *p)
{
	if (p->code == SL_CANCELLED) {
		sl_reply_status(p->request, 503, "The server is stopping.");
	} else if (p->code) {
		sl_reply_error(p->request, &p->err);
	} else {
		sl_reply_buffer(p->request, sl__layout_type[p->form], NULL, sl_buffer_ref(p->text));
	}
}

/* The first of the line has ended, well or not. */
static void finish(void *arg)
{
	struct prediction *p = arg;
	struct sl_jobs *j = p->job->jobs;
	sl_list_unlink(&p->link);
	if (p->request)
		answer(p);
	next(j);
	drop(p);
}

/* ---- on the pool ----------------------------------------------------------------------- */

/* Of a file of the job. Its data are behind the header of *file, which is the caller's to free(). */
static int read_array(struct prediction *p, const char *name, struct sl_method_array *a, void **file)
{
	char type[4];
	size_t bytes;
	int code = sl_job_file_read(p->job->jobs->folder, p->job->id, name, file, &bytes, &p->err);
	if (code)
		return code;
	*a = (struct sl_method_array){.name = name};
	if (bytes < SL_NPY_HEADER_BYTES || !sl_npy_header_read(*file, type, a->shape))
		return sl_error_set(&p->err, SL_IO, "Array %s of job %s has no header.", name, p->job->id);
	a->type = !strcmp(type, "<f8") ? SL_ARRAY_FLOAT64 : !strcmp(type, "<i4") ? SL_ARRAY_INT32 : SL_ARRAY_FLOAT32;
	a->data = (char *)*file + SL_NPY_HEADER_BYTES;
	if (sl_method_array_bytes(a) != bytes - SL_NPY_HEADER_BYTES)
		return sl_error_set(&p->err, SL_IO, "Array %s of job %s has the wrong length.", name, p->job->id);
	return 0;
}

static double numbers(const struct sl_method_array *model, int count)
{
	double sum = 0;
	for (int i = 0; i < count; i++)
		sum += (double)sl_method_array_bytes(&model[i]) / 4;
	return sum;
}

static int predict(struct prediction *p, const struct sl_method_array *model, double values,
		   struct sl_method_array *out)
{
	const struct sl_work *w = &p->job->work;
	struct sl_points *points = NULL;
	int code = sl_read_new_points(&points, &p->file, &p->job->jobs->d->config, &p->cancel, &p->err);
	double wide = (double)model[0].shape[0] * (p->form == SL_LAYOUT_NPY ? NPY_BYTES : TEXT_BYTES);
	double most = fmin(MOST_PRODUCTS / values, (double)sl_host_memory() / 2 / wide);
	if (!code && points->n > most)
		code = sl_error_set(&p->err, SL_TOOBIG, "%u points are too many for one request; send at most %.0f.", points->n,
				    floor(most));
	if (!code)
		code = w->method->predict(&w->values, model, points, p->what, out, &p->err);
	sl_points_destroy(points);
	return code;
}

/* The array asked for out of the two that a sample has. */
static int sample(struct prediction *p, const struct sl_method_array *model, double values, struct sl_method_array *out)
{
	const struct sl_work *w = &p->job->work;
	struct sl_method_array points = {0}, labels = {0};
	double row = (double)model[0].shape[1] * (p->form == SL_LAYOUT_NPY ? NPY_BYTES : TEXT_BYTES);
	double most = fmin(MOST_PRODUCTS / values, (double)sl_host_memory() / 2 / row);
	if (p->count > most)
		return sl_error_field(&p->err, SL_TOOBIG, "?count", "%u points are too many for one request; ask for at most "
				      "%.0f.", p->count, floor(most));
	int code = w->method->sample(&w->values, model, p->count, p->seed, &points, &labels, &p->err);
	bool labelled = !strcmp(p->what, "labels");
	*out = labelled ? labels : points;
	free(labelled ? points.data : labels.data);
	return code;
}

static int to_text(struct prediction *p, const struct sl_method_array *a)
{
	static const char *const types[] = {"<f4", "<i4", "<f8"};
	uint64_t bytes = sl_method_array_bytes(a);
	char *npy = malloc(SL_NPY_HEADER_BYTES + bytes);
	if (!npy)
		return sl_error_set(&p->err, SL_NOMEM, "Out of memory for an array of %u rows.", a->shape[0]);
	sl_npy_header_of(npy, types[a->type], a->shape);
	memcpy(npy + SL_NPY_HEADER_BYTES, a->data, bytes);
	int code = sl__array_reply(&p->text, p->job, p->what, p->form, npy, SL_NPY_HEADER_BYTES + bytes, &p->err);
	free(npy);
	return code;
}

static void compute(void *arg)
{
	struct prediction *p = arg;
	const struct sl_method *method = p->job->work.method;  /* what is read of the job does not change any more */
	struct sl_method_array model[SL_METHOD_ARRAYS] = {{0}}, out = {0};
	void *file[SL_METHOD_ARRAYS] = {0};
	int count = 0;
	for (; !p->code && method->model[count]; count++)
		p->code = read_array(p, method->model[count], &model[count], &file[count]);
	if (!p->code)
		p->code = (p->sample ? sample : predict)(p, model, numbers(model, count), &out);
	if (!p->code)
		p->code = to_text(p, &out);
	free(out.data);
	for (int i = 0; i < SL_METHOD_ARRAYS; i++)
		free(file[i]);
}

/* ---- the line -------------------------------------------------------------------------- */

/* Starts the first of the line, unless it is under way. */
static void next(struct sl_jobs *j)
{
	struct prediction *p = SL_LIST_FIRST(struct prediction, &j->predictions, link);
	if (!p || p->started)
		return;
	p->started = true;
	if (!j->stopping && !p->cancel) {
		sl_pool_run(j->d->loop, compute, finish, p);
		return;
	}
	p->code = sl_error_set(&p->err, SL_CANCELLED, "The server is stopping.");
	finish(p);
}

void sl__predictions_cancel(struct sl_jobs *j)
{
	SL_LIST_EACH(struct prediction, p, &j->predictions, link)
		__atomic_store_n(&p->cancel, 1, __ATOMIC_RELAXED);
}

/* One that waits takes its upload along: who goes away and comes again must not fill the memory. */
static void gone(void *arg)
{
	struct prediction *p = arg;
	p->request = NULL;
	__atomic_store_n(&p->cancel, 1, __ATOMIC_RELAXED);
	if (p->started)
		return;
	sl_list_unlink(&p->link);
	drop(p);
}

/* Has the job a model that does this? Else the request has been answered. */
static bool able(const struct sl_job *job, struct sl_request *r, bool does, const char *what)
{
	const struct sl_method *method = job->work.method;
	if (!does)
		sl_reply_problem(r, SL_CONFLICT, "Job %s is of method %s, which does not %s.", job->id, method->name, what);
	else if (!job->has_results || !sl__job_ended(job))
		sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has a model when it is done.", job->id,
				 sl__job_state_name[job->state]);
	return does && job->has_results && sl__job_ended(job);
}

static struct prediction *create(struct sl_job *job, struct sl_request *r, enum sl_layout_form form, const char *what)
{
	struct prediction *p = calloc(1, sizeof *p);
	if (!p) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a request.");
		return NULL;
	}
	p->form = form;
	p->what = what;
	p->job = sl__job_ref(job);
	p->request = r;
	job->jobs->works++;
	return p;
}

static void enqueue(struct prediction *p)
{
	sl_list_append(&p->job->jobs->predictions, &p->link);
	sl_request_park_for(p->request, TIMEOUT_MS, NULL, gone, p);
	next(p->job->jobs);
}

/* One of the names; NULL: the request has been answered. give NULL: the first. */
static const char *chosen(struct sl_request *r, const char *const *names, const char *give)
{
	char known[120] = "";
	struct sl_error err;
	for (int i = 0; names[i]; i++) {
		if (!give || !strcmp(give, names[i]))
			return names[i];
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", names[i]);
	}
	sl_error_field(&err, SL_BADPARAM, "?give", "give must be one of %s, not \"%.40s\".", known, give);
	sl_reply_error(r, &err);
	return NULL;
}

void sl_job_predict(struct sl_job *job, struct sl_request *r, const char *give, enum sl_layout_form form)
{
	const struct sl_method *method = job->work.method;
	struct sl_error err;
	if (!able(job, r, method->predict, "say anything of new points"))
		return;
	const char *what = chosen(r, method->predicts, give);
	struct prediction *p = what ? create(job, r, form, what) : NULL;
	if (!p)
		return;
	if (!sl_uploaded_take(r, &p->file, &err)) {
		enqueue(p);
		return;
	}
	sl_reply_error(r, &err);
	drop(p);
}

void sl_job_sample(struct sl_job *job, struct sl_request *r, const char *give, uint32_t count, uint64_t seed,
		   enum sl_layout_form form)
{
	static const char *const gives[] = {"points", "labels", NULL};
	if (!able(job, r, job->work.method->sample, "draw samples"))
		return;
	const char *what = chosen(r, gives, give);
	struct prediction *p = what ? create(job, r, form, what) : NULL;
	if (!p)
		return;
	p->sample = true;
	p->count = count;
	p->seed = seed;
	enqueue(p);
}
