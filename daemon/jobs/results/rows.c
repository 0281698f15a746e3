/* A request passes: body taken, read on a worker, in the queue, turns, reply. The client may leave at any step; then
 * the step in progress ends, and what it made is freed. */
#include "daemon/jobs/results/rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/formats/input_params.h"
#include "core/points/points.h"
#include "core/taken/taken.h"
#include "daemon/graphs/graphs.h"
#include "daemon/users/bookings.h"
#include "daemon/util/buffer.h"

#define TIMEOUT_MS (3600 * 1000)  /* time limit of the request; it normally ends much earlier */

/* ---- life ----------------------------------------------------------------------------- */

void *sl__rows_create(struct sl_job *job, struct sl_request *r, const struct sl__rows_kind *kind, size_t bytes,
		      enum sl_layout_form form)
{
	struct sl__rows *q = calloc(1, bytes);
	if (!q) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a request.");
		return NULL;
	}
	q->kind = kind;
	q->form = form;
	q->job = sl__job_ref(job);
	q->request = r;
	job->jobs->works++;
	return q;
}

static void drop(struct sl__rows *q)
{
	struct sl_jobs *j = q->job->jobs;
	sl_list_unlink(&q->link);
	q->kind->free_work(q);
	if (q->kind->release)
		q->kind->release(q);
	sl_uploaded_finish(&q->file);
	for (int i = 0; i < 4; i++)
		free(q->text[i]);
	sl_taken_destroy(q->as);
	json_decref(q->notes);
	if (q->account.give)
		sl_account_close(&q->account);
	sl__job_unref(q->job);
	sl_buffer_unref(q->reply);
	free(q);
	sl__works_done(j);
}

/* A header for each note: a JSON text in ASCII. */
static void reply_notes(const struct sl__rows *q)
{
	size_t i;
	json_t *note;
	json_array_foreach(q->notes, i, note) {
		char *text = json_dumps(note, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
		if (text)
			sl_reply_header(q->request, "Spaceland-Note", "%s", text);
		free(text);
	}
}

static void answer(struct sl__rows *q)
{
	if (q->code == SL_CANCELLED) {
		sl_reply_status(q->request, 503, "The server is stopping.");
	} else if (q->code) {
		sl_reply_error(q->request, &q->err);
	} else {
		if (q->kind->head)
			q->kind->head(q);
		reply_notes(q);
		sl_reply_buffer(q->request, sl__layout_type[q->form], NULL, sl_buffer_ref(q->reply));
	}
}

/* It has ended or failed, and has left the queue. */
static void finish(void *arg)
{
	struct sl__rows *q = arg;
	if (q->request)
		answer(q);
	drop(q);
}

void sl__rows_fail(struct sl__rows *q, const struct sl_error *err)
{
	q->err = *err;
	q->code = err->code;
	sl_fair_queue_leave(&q->place);
	finish(q);
}

/* One that waits frees its upload at once: clients that disconnect and send again must not fill the memory. */
static void gone(void *arg)
{
	struct sl__rows *q = arg;
	q->request = NULL;
	__atomic_store_n(&q->cancel, 1, __ATOMIC_RELAXED);
	if (q->place.begun)  /* its next turn ends it */
		return;
	sl_fair_queue_leave(&q->place);
	drop(q);
}

void sl__rows_cancel(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl__rows, q, &j->rows, link)
		__atomic_store_n(&q->cancel, 1, __ATOMIC_RELAXED);
}

/* ---- on the pool ---------------------------------------------------------------------- */

static int check_cancel(struct sl__rows *q)
{
	return __atomic_load_n(&q->cancel, __ATOMIC_RELAXED) ?
	       sl_error_set(&q->err, SL_CANCELLED, "The server is stopping.") : 0;
}

static void compute(struct sl__rows *q)
{
	uint32_t rows = q->next < q->count - q->ready ? q->next : q->count - q->ready;
	uint64_t since = uv_hrtime();
	q->code = q->kind->compute(q, rows);
	q->next = sl_fair_pace_amount(&q->pace, rows, (double)(uv_hrtime() - since) / 1e9);
	q->ready += rows;
}

static bool turn(void *arg)
{
	struct sl__rows *q = arg;  /* the fields of the job that are read no longer change */
	if (!q->prepared) {
		q->prepared = true;
		q->next = q->kind->first;
		q->code = q->kind->prepare(q);
	}
	if (!q->code)
		q->code = check_cancel(q);
	if (!q->code)
		compute(q);
	return !q->code && q->ready < q->count;
}

/* Writes the reply on the pool, because the text of many rows takes long. */
static void write_reply(void *arg)
{
	struct sl__rows *q = arg;
	if (!q->code)
		q->code = check_cancel(q);
	if (!q->code)
		q->code = q->kind->write(q);
	q->kind->free_work(q);
}

static void take_notes(struct sl__rows *q, const struct sl_taken *taken)
{
	q->notes = json_array();
	for (uint32_t k = 0; taken && k < taken->notes; k++)
		if (taken->note[k].changes)
			json_array_append_new(q->notes, json_string(taken->note[k].text));
}

int sl__rows_read(struct sl__rows *q, const double *center, uint32_t columns, struct sl_points **out)
{
	q->how.center = center;
	q->how.center_columns = columns;
	q->how.as = q->as;
	int code = sl_read_new_points(out, &q->file, &q->account, &q->job->jobs->d->config, &q->how, &q->cancel,
				      &q->err);
	sl_account_give_all(&q->account, SL_DISK);
	if (code && code != SL_CANCELLED && q->account.refusal.code) {
		q->err = q->account.refusal;
		snprintf(q->err.file, sizeof q->err.file, "%s", q->file.name);
	}
	sl_uploaded_finish(&q->file);
	if (!code)
		take_notes(q, (*out)->taken);
	return code ? q->err.code : 0;
}

struct sl_points sl__rows_part(const struct sl__rows *q, const struct sl_points *all, uint32_t rows)
{
	size_t number = all->type == SL_POINTS_U8 ? 1 : sizeof(float);
	return (struct sl_points){.n = rows, .n_user = rows, .d = all->d, .type = all->type,
				  .value = (char *)all->value + (size_t)q->ready * all->d * number,
				  .center = all->center, .center_columns = all->center_columns};
}

/* ---- the request ---------------------------------------------------------------------- */

static void begin(void *arg)
{
	struct sl__rows *q = arg;
	struct sl_error err;
	if (q->job->jobs->stopping || q->cancel) {
		sl_error_set(&err, SL_CANCELLED, "The server is stopping.");
		sl__rows_fail(q, &err);
	} else {
		q->kind->begin(q);
	}
}

/* Reads the query, whose texts end with the request. */
static int read_query(struct sl__rows *q, struct sl_error *err)
{
	struct sl_input_params given;
	struct sl_neighbours_params search;
	sl_param_defaults(&sl_input_params_table, &given);
	int code = sl_request_query_params(q->request, &sl_columns_params_table, &given, err);
	if (!code)
		code = sl_input_params_settle(&given, &q->how, &search, err);
	const char **texts[] = {&q->how.name_column, &q->how.label_column, &q->how.ignore_columns, &q->how.keep_columns};
	for (int i = 0; i < 4; i++) {
		q->text[i] = *texts[i] ? strdup(*texts[i]) : NULL;
		if (*texts[i] && !q->text[i] && !code)
			code = sl_error_memory(err, "a request");
		*texts[i] = q->text[i];
	}
	return code;
}

bool sl__rows_take(struct sl__rows *q, bool of_points)
{
	struct sl_error err;
	q->account = sl_bookings_account(q->job->jobs->d->bookings, SL_BOOK_READING, sl_request_who(q->request)->account);
	if (of_points)
		q->as = sl_graphs_taken(q->job->jobs->d->graphs, q->job->record.graph);
	if (!read_query(q, &err) && !sl_uploaded_take(q->request, &q->file, &err))
		return true;
	sl_reply_error(q->request, &err);
	drop(q);
	return false;
}

void sl__rows_join(struct sl__rows *q)
{
	struct sl_jobs *j = q->job->jobs;
	q->place = (struct sl_fair_entry){.begin = q->kind->begin ? begin : NULL, .turn = turn, .rest = write_reply,
					  .done = finish, .arg = q, .loop = j->d->loop, .bytes = 4 * q->file.bytes};
	sl_list_append(&j->rows, &q->link);
	sl_request_park_for(q->request, TIMEOUT_MS, NULL, gone, q);
	sl_fair_queue_join(&j->fair_queue, &q->place, sl_request_who(q->request)->user);
}
