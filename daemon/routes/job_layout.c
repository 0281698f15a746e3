/* GET /v1/jobs/{id}/layout */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/layout.h"
#include "daemon/routes/job_result.h"
#include "daemon/routes/routes.h"
#include "daemon/store/job_files.h"

static int make_csv(struct sl_result *r)
{
	char *text;
	int code = sl_layout_csv(&text, &r->size, r->names, r->y, r->nodes, r->dims, &r->err);
	r->bytes = code ? NULL : text;
	return code;
}

static json_t *rows_json(const struct sl_result *r)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < r->nodes; i++) {
		json_t *row = json_array();
		for (int k = 0; k < r->dims; k++)
			json_array_append_new(row, json_real((double)r->y[i * (size_t)r->dims + (size_t)k]));
		json_array_append_new(rows, row);
	}
	return rows;
}

static int make_json(struct sl_result *r)
{
	json_t *object = json_pack("{s:s, s:s, s:i, s:I, s:o}", "job", r->id, "graph", r->graph_id, "dims", r->dims,
				   "nodes", (json_int_t)r->nodes, "layout", rows_json(r));
	if (object && r->names && r->names->name_bytes) {
		json_t *names = json_array();
		for (uint32_t i = 0; i < r->nodes; i++)
			json_array_append_new(names, json_string(sl_graph_name(r->names, i)));
		json_object_set_new(object, "names", names);
	}
	if (object && r->names && r->names->label) {
		json_t *labels = json_array();
		for (uint32_t i = 0; i < r->nodes; i++)
			json_array_append_new(labels, json_string(r->names->label_name[r->names->label[i]]));
		json_object_set_new(object, "labels", labels);
	}
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(object);
	if (!text)
		return sl_error_set(&r->err, SL_NOMEM, "Out of memory for a layout of %u nodes as JSON.", r->nodes);
	r->bytes = text;
	r->size = strlen(text);
	return 0;
}

/* The file as it is. */
static void reply_npy(struct sl_job *job, struct sl_request *r)
{
	char etag[64];
	char *path = sl_job_file_path(job->jobs->folder, job->id, "npy");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	snprintf(etag, sizeof etag, "%s-npy", job->id);
	if (fd < 0)
		sl_reply_problem(r, SL_IO, "The layout of job %s cannot be opened: %s.", job->id,
				 path ? strerror(errno) : "out of memory");
	else
		sl_reply_file(r, "application/octet-stream", etag, fd);
	free(path);
}

void sl_route_job_layout(struct sl_request *r)
{
	struct sl_job *job = sl__job_of_request(r);
	const char *format = sl_request_query(r, "format");
	struct sl_result result = {0};
	struct sl_error err;
	if (!job)
		return;
	if (format && strcmp(format, "npy") && strcmp(format, "csv") && strcmp(format, "json")) {
		sl_error_field(&err, SL_BADPARAM, "?format", "format must be one of npy, csv, json.");
		sl_reply_error(r, &err);
		return;
	}
	if (sl__result_missing(job, r))
		return;
	if (!format || !strcmp(format, "npy")) {
		reply_npy(job, r);
		return;
	}
	bool csv = !strcmp(format, "csv");
	result.make = csv ? make_csv : make_json;
	result.content_type = csv ? "text/csv; charset=utf-8" : "application/json";
	snprintf(result.etag, sizeof result.etag, "%s-%s", job->id, format);
	sl__result_reply(job, r, &result);
}
