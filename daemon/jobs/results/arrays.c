/* Replies with an array of a finished job: its file unchanged, or its values as CSV or JSON. Loop thread, except
 * make(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/numpy/npy.h"
#include "daemon/files/job_files.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/json.h"
#include "daemon/util/buffer.h"
#include "daemon/util/pool.h"

struct reading {
	struct sl_job *job;          /* a reference */
	struct sl_request *request;  /* NULL: the client is gone */
	const char *name;
	enum sl_layout_form form;
	void *text;                  /* of the reply, malloc'd */
	size_t size;
	int code;
	struct sl_error err;
};

struct shape {
	char type[4];
	uint32_t size[3];            /* 0 from the second on: no more dimensions */
	size_t rows, columns;        /* lines of text, numbers in each */
};

static struct shape shape_of(const char *npy)
{
	struct shape s;
	if (!sl_npy_header_read(npy, s.type, s.size))
		memset(&s, 0, sizeof s);
	int last = s.size[2] ? 2 : s.size[1] ? 1 : 0;
	s.columns = last ? s.size[last] : 1;
	s.rows = s.size[0];
	if (last == 2)
		s.rows *= s.size[1];
	return s;
}

static double value_at(const struct shape *s, const void *data, size_t at)
{
	return !strcmp(s->type, "<i4") ? (double)((const int32_t *)data)[at] :
	       !strcmp(s->type, "<f8") ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

static json_t *number_of(const struct shape *s, const void *data, size_t at)
{
	double value = value_at(s, data, at);
	return !strcmp(s->type, "<i4") ? json_integer((json_int_t)value) : sl_json_number(value);
}

/* From dimension `level` on; *at: the next number. */
static json_t *nested(const struct shape *s, const void *data, int level, size_t *at)
{
	json_t *list = json_array();
	bool last = level == 2 || !s->size[level + 1];
	for (uint32_t i = 0; i < s->size[level]; i++)
		json_array_append_new(list, last ? number_of(s, data, (*at)++) : nested(s, data, level + 1, at));
	return list;
}

static json_t *json_of(const struct sl_job *job, const char *name, const struct shape *s, const void *data)
{
	size_t at = 0;
	return json_pack("{s:s, s:s, s:s, s:o}", "job", job->id, "graph", job->graph, "name", name, "values",
			 nested(s, data, 0, &at));
}

static char *to_csv(const struct shape *s, const void *data, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);
	int digits = !strcmp(s->type, "<f8") ? 17 : 9;
	for (size_t i = 0; f && i < s->rows; i++)
		for (size_t k = 0; k < s->columns; k++)
			fprintf(f, "%.*g%c", digits, value_at(s, data, i * s->columns + k), k + 1 < s->columns ? ',' : '\n');
	if (f && !fclose(f))
		return text;
	free(text);
	return NULL;
}

/* Numbers that read back. */
static char *to_json(json_t *object, const struct shape *s, size_t *size)
{
	size_t flags = !strcmp(s->type, "<f8") ? JSON_REAL_PRECISION(17) : JSON_REAL_PRECISION(9);
	char *text = object ? json_dumps(object, JSON_COMPACT | flags) : NULL;
	json_decref(object);
	*size = text ? strlen(text) : 0;
	return text;
}

int sl__array_text(const struct sl_job *job, const char *name, enum sl_layout_form form, void **text, size_t *size,
		   struct sl_error *err)
{
	char *npy = *text;
	struct shape s = shape_of(npy);
	const void *data = npy + SL_NPY_HEADER_BYTES;
	if (form == SL_LAYOUT_NPY)
		return 0;
	*text = form == SL_LAYOUT_JSON ? to_json(json_of(job, name, &s, data), &s, size) : to_csv(&s, data, size);
	free(npy);
	return *text ? 0 : sl_error_set(err, SL_NOMEM, "Out of memory for an array of %zu rows as text.", s.rows);
}

static void read_array(void *arg)
{
	struct reading *a = arg;
	a->code = sl_job_file_read(a->job->jobs->folder, a->job->id, a->name, &a->text, &a->size, &a->err);
	if (!a->code)
		a->code = sl__array_text(a->job, a->name, a->form, &a->text, &a->size, &a->err);
}

static void reply(struct reading *a)
{
	static const char *const ending[] = {"npy", "csv", "json"};
	char etag[96];
	struct sl_buffer *b = a->code ? NULL : sl_buffer_create(a->size);
	if (!b) {
		if (!a->code)
			sl_error_set(&a->err, SL_NOMEM, "Out of memory for a reply of %zu bytes.", a->size);
		sl_reply_error(a->request, &a->err);
		return;
	}
	memcpy(b->data, a->text, a->size);
	snprintf(etag, sizeof etag, "%s-%s-%s", a->job->id, a->name, ending[a->form]);
	sl_reply_buffer(a->request, sl__layout_type[a->form], etag, b);
}

static void array_read(void *arg)
{
	struct reading *a = arg;
	struct sl_jobs *j = a->job->jobs;
	if (a->request)
		reply(a);
	sl__job_unref(a->job);
	free(a->text);
	free(a);
	sl__works_done(j);
}

static bool missing(const struct sl_job *job, struct sl_request *r, const char *name)
{
	const struct sl_method *method = job->work.method;
	char known[120] = "";
	for (int i = 0; method->results[i]; i++)
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", method->results[i]);
	if (!method->results[0])
		sl_reply_problem(r, SL_NOTFOUND, "Job %s is of method %s, which gives a layout alone: /v1/jobs/%s/layout.",
				 job->id, method->name, job->id);
	else if (sl_method_result_index(method, name) < 0)
		sl_reply_problem(r, SL_NOTFOUND, "Method %s gives no result \"%.40s\"; it gives %s.", method->name, name,
				 known);
	else if (!job->has_results || !sl__job_ended(job))
		sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has results when it is done.", job->id,
				 sl__job_state_name[job->state]);
	else
		return false;
	return true;
}

void sl_job_reply_array(struct sl_job *job, struct sl_request *r, const char *name, enum sl_layout_form form)
{
	if (missing(job, r, name))
		return;
	struct reading *a = calloc(1, sizeof *a);
	if (!a) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a reply.");
		return;
	}
	a->job = sl__job_ref(job);
	a->request = r;
	a->name = job->work.method->results[sl_method_result_index(job->work.method, name)];
	a->form = form;
	job->jobs->works++;
	sl_park(&a->request, 0);
	sl_pool_run(job->jobs->d->loop, read_array, array_read, a);
}
