/* Replies with an array of a finished job: its file unchanged, or its values as CSV or JSON. Loop thread, except
 * read_array(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/numpy/npy.h"
#include "daemon/files/job_files.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/results/text.h"

static int read_array(struct sl_result *r)
{
	void *npy = NULL;
	size_t bytes;
	if (r->form == SL_LAYOUT_NPY)
		return sl_job_file_open(r->folder, r->id, r->array, &r->fd, &r->bytes, &r->err);
	int code = sl_job_file_bytes(r->folder, r->id, r->array, &bytes, &r->err);
	if (!code)
		code = sl__array_book(&r->text, r->form, bytes, &r->err);
	if (!code)
		code = sl_job_file_read(r->folder, r->id, r->array, &npy, &bytes, &r->err);
	if (!code)
		sl__array_write(&r->text, r->job, r->array, r->form, npy, bytes);
	free(npy);
	return code;
}

int sl__array_read(const char *folder, const char *id, const char *name, struct sl_method_array *a, void **file,
		   struct sl_error *err)
{
	char type[4];
	size_t bytes;
	int code = sl_job_file_read(folder, id, name, file, &bytes, err);
	if (code)
		return code;
	*a = (struct sl_method_array){.name = name};
	if (bytes < SL_NPY_HEADER_BYTES || !sl_npy_header_read(*file, type, a->shape))
		return sl_error_set(err, SL_IO, "Array %s of job %s has no header.", name, id);
	a->type = !strcmp(type, "<f8") ? SL_ARRAY_FLOAT64 : !strcmp(type, "<i4") ? SL_ARRAY_INT32 : SL_ARRAY_FLOAT32;
	a->data = (char *)*file + SL_NPY_HEADER_BYTES;
	if (sl_method_array_bytes(a) != bytes - SL_NPY_HEADER_BYTES)
		return sl_error_set(err, SL_IO, "Array %s of job %s has the wrong length.", name, id);
	return 0;
}

static bool missing(const struct sl_job *job, struct sl_request *r, const char *name)
{
	const struct sl_method *method = job->record.work.method;
	char known[120] = "";
	for (const struct sl_method_output *o = method->results; o->name; o++)
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "", o->name);
	if (!method->results[0].name)
		sl_reply_problem(r, SL_NOTFOUND, "Job %s is of method %s, which gives a layout alone: /v1/jobs/%s/layout.",
				 job->record.id, method->name, job->record.id);
	else if (sl_method_result_index(method, name) < 0)
		sl_reply_problem(r, SL_NOTFOUND, "Method %s gives no result \"%.40s\"; it gives %s.", method->name, name,
				 known);
	else if (!job->record.has_results || !sl__job_ended(job))
		sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has results when it is done.", job->record.id,
				 sl_job_state_name[job->life.state]);
	else
		return false;
	return true;
}

void sl_job_reply_array(struct sl_job *job, struct sl_request *r, const char *name, enum sl_layout_form form)
{
	static const char *const ending[] = {"npy", "csv", "json"};
	struct sl_result result = {.make = read_array, .content_type = sl__layout_type[form], .form = form};
	if (missing(job, r, name))
		return;
	result.array = job->record.work.method->results[sl_method_result_index(job->record.work.method, name)].name;
	snprintf(result.etag, sizeof result.etag, "%s-%s-%s", job->record.id, result.array, ending[form]);
	sl__result_reply(job, r, &result);
}
