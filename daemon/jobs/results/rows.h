/* rows.h -- a request whose reply the thread pool computes some rows at a time, in turns with those of others
 * (queue/fair_queue.h), because a turn uses all cores: predictions, samples and placements of new points. Nothing is
 * stored. The struct is the first member of the caller's own. */
#ifndef SL_ROWS_H
#define SL_ROWS_H

#include "core/formats/read_points.h"
#include "daemon/graphs/read.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/queue/fair_queue.h"

struct sl_points;
struct sl__rows;

struct sl__rows_kind {
	uint32_t first;                          /* rows of the first turn */
	/* Loop: fetches what the computation needs, then calls sl_fair_queue_ready() or sl__rows_fail(); or NULL. */
	void (*begin)(struct sl__rows *q);
	/* Pool. prepare() sets count and place.bytes; and next to count, if all rows must be computed in one turn.
	 * compute() computes rows from `ready` on, write() makes the reply. */
	int (*prepare)(struct sl__rows *q);
	int (*compute)(struct sl__rows *q, uint32_t rows);
	int (*write)(struct sl__rows *q);
	void (*free_work)(struct sl__rows *q);   /* what only the pool uses; any thread, also twice */
	void (*head)(struct sl__rows *q);        /* loop: adds headers to the reply; or NULL */
	void (*release)(struct sl__rows *q);     /* loop: what begin() has fetched; or NULL */
};

struct sl__rows {
	const struct sl__rows_kind *kind;
	struct sl_link link;         /* in sl_jobs.rows */
	struct sl_fair_entry place;
	struct sl_job *job;          /* a reference */
	struct sl_request *request;  /* NULL: the client is gone */
	enum sl_layout_form form;
	int cancel;                  /* the client is gone, or the server stops; read by the pool */
	struct sl_uploaded file;     /* the new points, if the request has some */
	struct sl_input_options how; /* how they are read, by the request (and `axes`); texts are: */
	char *text[4];               /* of name_column, label_column, ignore_columns, keep_columns */
	struct sl_taken *as;         /* what was taken of the file of the job's points, or NULL; owned */
	json_t *notes;               /* what was guessed or changed in that of the new points: texts; or NULL */
	struct sl_account account;   /* of what they take, from the first turn to the end */
	/* from the first turn on */
	bool prepared;
	uint32_t count, ready, next; /* rows of the reply; those that are computed; of the next turn */
	struct sl_fair_pace pace;
	struct sl_buffer *reply;
	int code;
	struct sl_error err;
};

/* Makes a zeroed struct of so many bytes. NULL: no memory, and the request has been answered. */
void *sl__rows_create(struct sl_job *job, struct sl_request *r, const struct sl__rows_kind *kind, size_t bytes,
		      enum sl_layout_form form);
/* Takes the new points in the body, and reads the query that says how they are laid out. of_points: they are compared
 * with the points of the job's graph, whose file is laid out in the same way unless the query says otherwise. False:
 * there are none, the request has been answered, and q is freed. */
bool sl__rows_take(struct sl__rows *q, bool of_points);
void sl__rows_join(struct sl__rows *q);
/* Ends it before its first turn, with an error. */
void sl__rows_fail(struct sl__rows *q, const struct sl_error *err);
/* Pool: reads the new points, and frees the upload. center[columns], or NULL: of struct sl_input_options. */
int sl__rows_read(struct sl__rows *q, const double *center, uint32_t columns, struct sl_points **out);
/* Rows [ready, ready + rows) of a table without left out rows; borrowed. */
struct sl_points sl__rows_part(const struct sl__rows *q, const struct sl_points *all, uint32_t rows);

#endif
