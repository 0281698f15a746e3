/* Replies with an array of a finished job: its file unchanged, or its values as CSV or JSON. Loop thread, except
 * read_array(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/files/job_files.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/results/text.h"
#include "daemon/util/buffer.h"
#include "daemon/util/pool.h"

struct reading {
	struct sl_job *job;          /* a reference */
	struct sl_request *request;  /* NULL: the client is gone */
	const char *name;
	enum sl_layout_form form;
	struct sl_buffer *text;      /* the reply, or */
	int fd;                      /* the reply's file; -1: none */
	uint64_t bytes;              /* of the file */
	int code;
	struct sl_error err;
};

static bool wanted(void *arg)
{
	const struct reading *a = arg;
	return a->request != NULL;
}

static void read_array(void *arg)
{
	struct reading *a = arg;
	const char *folder = a->job->jobs->folder;
	void *npy = NULL;
	size_t bytes;
	if (a->form == SL_LAYOUT_NPY) {
		a->code = sl_job_file_open(folder, a->job->id, a->name, &a->fd, &a->bytes, &a->err);
		return;
	}
	a->code = sl_job_file_bytes(folder, a->job->id, a->name, &bytes, &a->err);
	if (!a->code)
		a->code = sl__array_book(&a->text, a->form, bytes, &a->err);
	if (!a->code)
		a->code = sl_job_file_read(folder, a->job->id, a->name, &npy, &bytes, &a->err);
	if (!a->code)
		sl__array_write(&a->text, a->job, a->name, a->form, npy, bytes);
	free(npy);
}

static void reply(struct reading *a)
{
	static const char *const ending[] = {"npy", "csv", "json"};
	char etag[96];
	snprintf(etag, sizeof etag, "%s-%s-%s", a->job->id, a->name, ending[a->form]);
	if (a->code) {
		sl_reply_error(a->request, &a->err);
	} else if (a->fd >= 0) {
		sl_reply_file(a->request, sl__layout_type[a->form], etag, a->fd, a->bytes);
		a->fd = -1;
	} else {
		sl_reply_buffer(a->request, sl__layout_type[a->form], etag, sl_buffer_ref(a->text));
	}
}

static void array_read(void *arg)
{
	struct reading *a = arg;
	struct sl_jobs *j = a->job->jobs;
	if (a->request)
		reply(a);
	if (a->fd >= 0)
		close(a->fd);
	sl__job_unref(a->job);
	sl_buffer_unref(a->text);
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
	a->fd = -1;
	job->jobs->works++;
	sl_park(&a->request, 0);
	sl_pool_answer(job->jobs->d->loop, sl_request_whose(r), wanted, read_array, array_read, a);
}
