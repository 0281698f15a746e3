/* Predicts clusters, probabilities and densities of new points by the model of a job, and draws samples of the model.
 * The thread pool computes some rows in each turn (queue/fair_queue.h), because it uses all cores. Nothing is
 * stored. */
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
#include "daemon/jobs/queue/fair_queue.h"
#include "daemon/users/users.h"

#define FIRST_ROWS 1024         /* rows of the first turn */
#define TIMEOUT_MS (3600 * 1000)  /* time limit of the request; predictions normally end much earlier */
#define NPY_BYTES 12              /* host memory for a number of a reply: itself, and twice in the file */
#define TEXT_BYTES 28             /* the same, and its text */
#define HEAD_BYTES 2048           /* of a reply, at most */
#define MOST_PRODUCTS 2e13        /* points times numbers of the model: some minutes */

struct prediction {
	struct sl_link link;         /* in sl_jobs.predictions */
	struct sl_fair_entry place;
	struct sl_job *job;          /* a reference */
	struct sl_request *request;  /* NULL: the client is gone */
	enum sl_layout_form form;
	const char *what;            /* name of the requested array */
	int cancel;                  /* the client is gone; read by the worker */
	bool sample;
	uint32_t count;              /* rows of the reply; before the first turn: of a sample */
	uint64_t seed;
	struct sl_uploaded file;
	/* from the first turn on */
	struct sl_points *points;    /* NULL: a sample */
	struct sl_method_array model[SL_METHOD_ARRAYS];
	void *model_file[SL_METHOD_ARRAYS];
	int model_count;
	struct sl_method_array out;  /* its first `ready` rows are */
	uint32_t ready, rows;        /* rows of the next turn */
	struct sl_fair_pace pace;
	struct sl_buffer *text;      /* the reply */
	int code;
	struct sl_error err;
};

/* Frees what only the worker uses. Any thread. */
static void free_work(struct prediction *p)
{
	sl_points_destroy(p->points);
	free(p->out.data);
	for (int i = 0; i < SL_METHOD_ARRAYS; i++)
		free(p->model_file[i]);
	p->points = NULL;
	p->out.data = NULL;
	memset(p->model_file, 0, sizeof p->model_file);
}

static void drop(struct prediction *p)
{
	struct sl_jobs *j = p->job->jobs;
	sl_list_unlink(&p->link);
	free_work(p);
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

/* The last turn has ended. */
static void finish(void *arg)
{
	struct prediction *p = arg;
	if (p->request)
		answer(p);
	drop(p);
}

/* ---- on the pool ----------------------------------------------------------------------- */

/* Reads an array from a file of the job. Its data follow the header in *file, which the caller frees with free(). */
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

/* Bytes of the host's memory that a row of the reply takes. */
static double row_bytes(const struct prediction *p, double wide)
{
	return wide * (p->form == SL_LAYOUT_NPY ? NPY_BYTES : TEXT_BYTES);
}

/* The most rows: by the time that they take, by half of the host's memory, and by the bytes that a reply may have. */
static double most_rows(const struct prediction *p, double values, double wide)
{
	double memory = (double)sl_host_memory() / 2 / row_bytes(p, wide);
	double reply = ((double)sl_buffer_most() - HEAD_BYTES) / (wide * (p->form == SL_LAYOUT_NPY ? 4 : SL_TEXT_BYTES));
	return floor(fmin(MOST_PRODUCTS / values, fmin(memory, reply)));
}

static int read_points(struct prediction *p, double values)
{
	int code = sl_read_new_points(&p->points, &p->file, &p->job->jobs->d->config, &p->cancel, &p->err);
	sl_uploaded_finish(&p->file);
	if (code)
		return code;
	double row = row_bytes(p, p->model[0].shape[0]), most = most_rows(p, values, p->model[0].shape[0]);
	if (p->points->n > most)
		return sl_error_set(&p->err, SL_TOOBIG, "%u points are too many for one request; send at most %.0f.",
				    p->points->n, most);
	p->count = p->points->n_user;
	p->place.bytes = sl_points_bytes(p->points) + (uint64_t)(row * p->count);
	return 0;
}

static int check_sample(struct prediction *p, double values)
{
	double row = row_bytes(p, p->model[0].shape[1]), most = most_rows(p, values, p->model[0].shape[1]);
	if (p->count > most)
		return sl_error_field(&p->err, SL_TOOBIG, "?count", "%u points are too many for one request; ask for at most "
				      "%.0f.", p->count, most);
	p->place.bytes = (uint64_t)(row * p->count);
	return 0;
}

/* Prepares the first turn. If rows were left out, all rows are computed in one turn, because only the whole result can
 * be brought into the order of the user's rows. */
static int prepare(struct prediction *p)
{
	const struct sl_method *method = p->job->work.method;
	int code = 0;
	for (; !code && method->model[p->model_count]; p->model_count++)
		code = read_array(p, method->model[p->model_count], &p->model[p->model_count], &p->model_file[p->model_count]);
	if (code)
		return code;
	double values = numbers(p->model, p->model_count);
	code = p->sample ? check_sample(p, values) : read_points(p, values);
	p->rows = p->points && p->points->user ? p->count : FIRST_ROWS;
	return code;
}

/* Predicts a part of the rows; the data are malloc'd. */
static int predict(struct prediction *p, uint32_t rows, struct sl_method_array *part)
{
	const struct sl_work *w = &p->job->work;
	if (p->points->user)
		return w->method->predict(&w->values, p->model, p->points, p->what, part, &p->err);
	size_t number = p->points->type == SL_POINTS_U8 ? 1 : sizeof(float);
	const struct sl_points some = {
		.n = rows, .n_user = rows, .d = p->points->d, .type = p->points->type,
		.value = (char *)p->points->value + (size_t)p->ready * p->points->d * number,
	};
	return w->method->predict(&w->values, p->model, &some, p->what, part, &p->err);
}

/* Draws a sample, and keeps the requested one of its two arrays. */
static int sample(struct prediction *p, uint32_t rows, struct sl_method_array *part)
{
	const struct sl_work *w = &p->job->work;
	struct sl_method_array points = {0}, labels = {0};
	int code = w->method->sample(&w->values, p->model, p->ready, rows, p->seed, &points, &labels, &p->err);
	bool labelled = !strcmp(p->what, "labels");
	*part = labelled ? labels : points;
	free(labelled ? points.data : labels.data);
	return code;
}

static int append(struct prediction *p, const struct sl_method_array *part)
{
	size_t row = sl_method_array_bytes(part) / part->shape[0];
	if (!p->out.data) {
		p->out = *part;
		p->out.shape[0] = p->count;
		p->out.data = malloc(row * p->count);
	}
	if (!p->out.data)
		return sl_error_set(&p->err, SL_NOMEM, "Out of memory for an array of %u rows.", p->count);
	memcpy((char *)p->out.data + row * p->ready, part->data, row * part->shape[0]);
	p->ready += part->shape[0];
	return 0;
}

static int compute_rows(struct prediction *p)
{
	struct sl_method_array part = {0};
	uint32_t rows = p->rows < p->count - p->ready ? p->rows : p->count - p->ready;
	uint64_t since = uv_hrtime();
	int code = (p->sample ? sample : predict)(p, rows, &part);
	if (!code)
		code = append(p, &part);
	free(part.data);
	p->rows = sl_fair_pace_amount(&p->pace, rows, (double)(uv_hrtime() - since) / 1e9);
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
	int code = sl__array_book(&p->text, p->form, SL_NPY_HEADER_BYTES + bytes, &p->err);
	if (!code)
		sl__array_write(&p->text, p->job, p->what, p->form, npy, SL_NPY_HEADER_BYTES + bytes);
	free(npy);
	return code;
}

/* One turn: computes some rows. */
static bool turn(void *arg)
{
	struct prediction *p = arg;  /* the fields of the job that are read no longer change */
	if (!p->model_count)
		p->code = prepare(p);
	if (!p->code && __atomic_load_n(&p->cancel, __ATOMIC_RELAXED))
		p->code = sl_error_set(&p->err, SL_CANCELLED, "The server is stopping.");
	if (!p->code)
		p->code = compute_rows(p);
	return !p->code && p->ready < p->count;
}

/* Writes the reply on the pool, because the text of many rows takes long. */
static void make_reply(void *arg)
{
	struct prediction *p = arg;
	if (!p->code && __atomic_load_n(&p->cancel, __ATOMIC_RELAXED))
		p->code = sl_error_set(&p->err, SL_CANCELLED, "The server is stopping.");
	if (!p->code)
		p->code = to_text(p, &p->out);
	free_work(p);
}

/* ---- the request ----------------------------------------------------------------------- */

void sl__predictions_cancel(struct sl_jobs *j)
{
	SL_LIST_EACH(struct prediction, p, &j->predictions, link)
		__atomic_store_n(&p->cancel, 1, __ATOMIC_RELAXED);
}

/* A waiting prediction frees its upload at once: clients that disconnect and send again must not fill the memory. */
static void gone(void *arg)
{
	struct prediction *p = arg;
	p->request = NULL;
	__atomic_store_n(&p->cancel, 1, __ATOMIC_RELAXED);
	if (p->place.begun)  /* its next turn ends it */
		return;
	sl_fair_queue_leave(&p->place);
	drop(p);
}

/* True if the job has a model that can do this; otherwise the request has been answered. */
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
	struct sl_jobs *j = p->job->jobs;
	p->place = (struct sl_fair_entry){.turn = turn, .rest = make_reply, .done = finish, .arg = p, .loop = j->d->loop,
					  .bytes = 4 * p->file.bytes};
	sl_list_append(&j->predictions, &p->link);
	sl_request_park_for(p->request, TIMEOUT_MS, NULL, gone, p);
	sl_fair_queue_join(&j->fair_queue, &p->place, sl_request_who(p->request)->user);
}

/* The name in the list that equals `give`; give NULL: the first. NULL: there is none, and the request has been
 * answered. */
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
