/* A dry run of an upload: reports how the beginning of a file would be read, and keeps nothing. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/formats/preview.h"
#include "core/taken/taken.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/read.h"
#include "daemon/files/taken_json.h"
#include "daemon/http/http.h"
#include "daemon/store/seal.h"
#include "daemon/users/bookings.h"
#include "daemon/users/users.h"
#include "daemon/json/problem.h"

#define MOST_BYTES (1 << 20)   /* of the file that are read */

struct preview {
	struct sl_graphs *s;
	struct sl_request *r;          /* NULL: the client is gone */
	struct sl__reading read;       /* the parameters, and the file */
	int cancel;
	struct sl_preview found;
	int status;
	struct sl_error err;
};

static void preview_work(void *arg)
{
	struct preview *p = arg;
	const struct sl_uploaded *in = &p->read.file;
	size_t bytes = in->bytes < MOST_BYTES ? (size_t)in->bytes : MOST_BYTES;
	char *data = in->data;
	if (in->path) {
		int fd = open(in->path, O_RDONLY | O_CLOEXEC);
		data = malloc(bytes + 1);
		if (fd < 0 || !data || sl__read_at(fd, data, bytes, 0))
			p->status = sl_error_set(&p->err, SL_IO, "the file cannot be read again");
		if (fd >= 0)
			close(fd);
	}
	if (!p->status)
		p->status = sl_preview_make(&p->found, &p->read.options, in->name, data ? data : "", bytes,
					    &p->read.account, &p->err);
	if (in->path)
		free(data);
	sl__reading_close(&p->read);
}

static json_t *column_json(const struct sl_preview_column *c)
{
	json_t *examples = json_array();
	for (int i = 0; i < c->examples; i++)
		json_array_append_new(examples, json_string(c->example[i]));
	return json_pack("{s:I, s:s, s:s, s:o}", "column", (json_int_t)c->number, "title", c->title, "role",
			 sl_column_role_name(c->role), "examples", examples);
}

static json_t *preview_json(const struct sl_preview *p)
{
	json_t *columns = json_array(), *labels = json_array();
	if (p->main_label)
		json_array_append_new(labels, json_integer(p->main_label));
	for (uint32_t i = 0; i < p->listed; i++) {
		json_array_append_new(columns, column_json(&p->column[i]));
		if (p->column[i].role == SL_ROLE_LABEL && p->column[i].number != p->main_label)
			json_array_append_new(labels, json_integer(p->column[i].number));
	}
	return json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:o, s:o, s:o, s:o}", "kind", sl_input_kind_name(p->kind),
			 "format", p->format, "sign", p->sign, "header", p->header, "columns", (json_int_t)p->columns,
			 "coordinates", (json_int_t)p->coordinates, "listed", columns, "label_columns", labels, "taken",
			 sl_taken_json(p->taken), "problem",
			 p->problem.code ? sl_problem_json(&p->problem) : json_null());
}

static bool wanted(void *arg)
{
	const struct preview *p = arg;
	return p->r != NULL;
}

static void preview_free(struct preview *p)
{
	sl__reading_finish(&p->read);
	sl_preview_finish(&p->found);
	free(p);
}

static void preview_done(void *arg)
{
	struct preview *p = arg;
	struct sl_graphs *s = p->s;
	if (p->r && p->status)
		sl_reply_error(p->r, &p->err);
	else if (p->r)
		sl_reply_json(p->r, 200, preview_json(&p->found));
	preview_free(p);
	sl__graphs_work_end(s);
}

void sl_graphs_preview(struct sl_graphs *s, struct sl_request *r)
{
	struct sl_error err;
	struct preview *p = calloc(1, sizeof *p);
	if (!p) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return;
	}
	p->s = s;
	p->read.account = sl_bookings_account(s->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	int rc = sl__reading_init(&p->read, r, &s->d->config, &p->cancel, &err);
	if (!rc)
		rc = sl__reading_take(&p->read, r, &err);
	if (rc) {
		sl_reply_error(r, &err);
		preview_free(p);
		return;
	}
	p->r = r;
	sl__graphs_work_begin(s);
	sl_park(&p->r, 0);
	sl_pool_answer(s->d->loop, sl_request_whose(r), wanted, preview_work, preview_done, p);
}
