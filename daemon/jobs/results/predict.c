/* Predicts clusters, probabilities and densities of new points by the model of a job, and draws samples of the model,
 * some rows in each turn (rows.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/numpy/npy.h"
#include "core/host_memory.h"
#include "core/points/points.h"
#include "daemon/jobs/results/rows.h"
#include "daemon/jobs/results/text.h"
#include "daemon/util/buffer.h"

#define FIRST_ROWS 1024         /* rows of the first turn */
#define NPY_BYTES 12              /* host memory for a number of a reply: itself, and twice in the file */
#define TEXT_BYTES 28             /* the same, and its text */
#define HEAD_BYTES 2048           /* of a reply, at most */
#define MOST_PRODUCTS 2e13        /* points times numbers of the model: some minutes */

struct prediction {
	struct sl__rows q;           /* q.count: before the first turn, of a sample */
	const char *what;            /* name of the requested array */
	bool sample;
	uint64_t seed;
	/* from the first turn on */
	struct sl_points *points;    /* NULL: a sample */
	struct sl_method_array model[SL_METHOD_ARRAYS];
	void *model_file[SL_METHOD_ARRAYS];
	int model_count;
	struct sl_method_array out;  /* its first q.ready rows are */
};

static void free_work(struct sl__rows *q)
{
	struct prediction *p = (struct prediction *)q;
	sl_points_destroy(p->points);
	free(p->out.data);
	for (int i = 0; i < SL_METHOD_ARRAYS; i++)
		free(p->model_file[i]);
	p->points = NULL;
	p->out.data = NULL;
	memset(p->model_file, 0, sizeof p->model_file);
}

/* ---- on the pool ----------------------------------------------------------------------- */

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
	return wide * (p->q.form == SL_LAYOUT_NPY ? NPY_BYTES : TEXT_BYTES);
}

/* The most rows: by the time that they take, by half of the host's memory, and by the bytes that a reply may have. */
static double most_rows(const struct prediction *p, double values, double wide)
{
	double memory = (double)sl_host_memory() / 2 / row_bytes(p, wide);
	double reply = ((double)sl_buffer_most() - HEAD_BYTES) / (wide * (p->q.form == SL_LAYOUT_NPY ? 4 : SL_TEXT_BYTES));
	return floor(fmin(MOST_PRODUCTS / values, fmin(memory, reply)));
}

static int read_points(struct prediction *p, double values)
{
	const struct sl_work *w = &p->q.job->record.work;
	uint32_t d = p->model[0].shape[1];
	double *center = w->method->center ? malloc((d + 1) * sizeof *center) : NULL;
	if (w->method->center && !center)
		return sl_error_memory(&p->q.err, "a model of %u columns", d);
	if (center)
		w->method->center(p->model, &w->params, center);
	p->q.how.axes = d;
	int code = sl__rows_read(&p->q, center, center ? d : 0, &p->points);
	free(center);
	if (code)
		return code;
	double row = row_bytes(p, p->model[0].shape[0]), most = most_rows(p, values, p->model[0].shape[0]);
	if (p->points->n > most)
		return sl_error_set(&p->q.err, SL_TOOBIG, "%u points are too many for one request; send at most %.0f.",
				    p->points->n, most);
	p->q.count = p->points->n_user;
	p->q.place.bytes = sl_points_bytes(p->points) + (uint64_t)(row * p->q.count);
	return 0;
}

static int check_sample(struct prediction *p, double values)
{
	double row = row_bytes(p, p->model[0].shape[1]), most = most_rows(p, values, p->model[0].shape[1]);
	if (p->q.count > most)
		return sl_error_field(&p->q.err, SL_TOOBIG, "?count", "%u points are too many for one request; ask for at most "
				      "%.0f.", p->q.count, most);
	p->q.place.bytes = (uint64_t)(row * p->q.count);
	return 0;
}

/* If rows were left out, all rows are computed in one turn, because only the whole result can be brought into the order
 * of the user's rows. */
static int prepare(struct sl__rows *q)
{
	struct prediction *p = (struct prediction *)q;
	const struct sl_method *method = q->job->record.work.method;
	int code = 0;
	for (; !code && method->model[p->model_count]; p->model_count++)
		code = sl__array_read(q->job->jobs->folder, q->job->record.id, method->model[p->model_count],
				      &p->model[p->model_count], &p->model_file[p->model_count], &q->err);
	if (code)
		return code;
	double values = numbers(p->model, p->model_count);
	code = p->sample ? check_sample(p, values) : read_points(p, values);
	if (p->points && p->points->user)
		q->next = q->count;
	return code;
}

/* Predicts a part of the rows; the data are malloc'd. */
static int predict(struct prediction *p, uint32_t rows, struct sl_method_array *part)
{
	const struct sl_work *w = &p->q.job->record.work;
	const struct sl_points some = sl__rows_part(&p->q, p->points, rows);
	return w->method->predict(&w->params, p->model, p->points->user ? p->points : &some, p->what, part, &p->q.err);
}

/* Draws a sample, and keeps the requested one of its two arrays. */
static int sample(struct prediction *p, uint32_t rows, struct sl_method_array *part)
{
	const struct sl_work *w = &p->q.job->record.work;
	struct sl_method_array points = {0}, labels = {0};
	int code = w->method->sample(&w->params, p->model, p->q.ready, rows, p->seed, &points, &labels, &p->q.err);
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
		p->out.shape[0] = p->q.count;
		p->out.data = malloc(row * p->q.count);
	}
	if (!p->out.data)
		return sl_error_memory(&p->q.err, "an array of %u rows", p->q.count);
	memcpy((char *)p->out.data + row * p->q.ready, part->data, row * part->shape[0]);
	return 0;
}

static int compute(struct sl__rows *q, uint32_t rows)
{
	struct prediction *p = (struct prediction *)q;
	struct sl_method_array part = {0};
	int code = (p->sample ? sample : predict)(p, rows, &part);
	if (!code)
		code = append(p, &part);
	free(part.data);
	return code;
}

static int write_array(struct sl__rows *q)
{
	static const char *const types[] = {"<f4", "<i4", "<f8"};
	const struct prediction *p = (struct prediction *)q;
	const struct sl_method_array *a = &p->out;
	uint64_t bytes = sl_method_array_bytes(a);
	char *npy = malloc(SL_NPY_HEADER_BYTES + bytes);
	if (!npy)
		return sl_error_memory(&q->err, "an array of %u rows", a->shape[0]);
	sl_npy_header_of(npy, types[a->type], a->shape);
	memcpy(npy + SL_NPY_HEADER_BYTES, a->data, bytes);
	int code = sl__array_book(&q->reply, q->form, SL_NPY_HEADER_BYTES + bytes, &q->err);
	if (!code)
		sl__array_write(&q->reply, q->job, p->what, q->form, npy, SL_NPY_HEADER_BYTES + bytes);
	free(npy);
	return code;
}

static const struct sl__rows_kind kind = {
	.first = FIRST_ROWS, .prepare = prepare, .compute = compute, .write = write_array, .free_work = free_work,
};

/* ---- the request ----------------------------------------------------------------------- */

/* True if the job has a model that can do this; otherwise the request has been answered. */
static bool able(const struct sl_job *job, struct sl_request *r, bool does, const char *what)
{
	const struct sl_method *method = job->record.work.method;
	if (!does)
		sl_reply_problem(r, SL_CONFLICT, "Job %s is of method %s, which does not %s.", job->record.id, method->name,
				 what);
	else if (!job->record.has_results || !sl__job_ended(job))
		sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has a model when it is done.", job->record.id,
				 sl_job_state_name[job->life.state]);
	return does && job->record.has_results && sl__job_ended(job);
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
	const struct sl_method *method = job->record.work.method;
	if (!able(job, r, method->predict, "say anything of new points"))
		return;
	const char *what = chosen(r, method->predicts, give);
	struct prediction *p = what ? sl__rows_create(job, r, &kind, sizeof *p, form) : NULL;
	if (!p || !sl__rows_take(&p->q, !job->record.input))
		return;
	p->what = what;
	sl__rows_join(&p->q);
}

void sl_job_sample(struct sl_job *job, struct sl_request *r, const char *give, uint32_t count, uint64_t seed,
		   enum sl_layout_form form)
{
	static const char *const gives[] = {"points", "labels", NULL};
	if (!able(job, r, job->record.work.method->sample, "draw samples"))
		return;
	const char *what = chosen(r, gives, give);
	struct prediction *p = what ? sl__rows_create(job, r, &kind, sizeof *p, form) : NULL;
	if (!p)
		return;
	p->what = what;
	p->sample = true;
	p->q.count = count;
	p->seed = seed;
	sl__rows_join(&p->q);
}
