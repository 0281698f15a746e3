/* Makes a graph that survives a power cut from the bytes of a request:
 *
 *   loop: the upload waits in line while others are read (upload_line.h)
 *   pool: parse, read labels, digest   (cancelled when the client goes away)
 *   loop: if its user has, or is uploading, a graph with the same content, the answer is that graph;
 *         for points, the search for neighbours starts and runs beside the next steps
 *   pool: write graphs/ID.slg.tmp (.slp, .sln, .sll), fsync it and the folder
 *   data base: the record
 *   pool: rename to graphs/ID.slg; after a crash the next start does this
 *   loop: 201; the graph stays in memory, since a job on it is likely
 *
 * So a file with its final name has a record. A file without a record cannot come from an interrupted upload.
 *
 * If the client goes away after the content is known, the upload continues; a second upload finds the graph. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/read.h"
#include "daemon/http/http.h"
#include "daemon/store/db.h"
#include "daemon/store/atomic.h"
#include "daemon/users/bookings.h"
#include "daemon/users/limits.h"
#include "daemon/json/json.h"
#include "daemon/util/log.h"

#define LABELS SL_PARTS      /* index of the file of further labels; the parts come first */
#define FILES (SL_PARTS + 1)
#define UPLOAD_TIMEOUT_MS (24 * 3600 * 1000)  /* of the request; uploads normally end much earlier */

struct sl__upload {
	struct sl_link link;          /* in sl_graphs.uploads */
	struct sl_upload_place place;
	struct sl_graphs *s;
	struct sl_request *r;         /* NULL: the client is gone */
	struct sl_pool_place work;
	struct sl__reading read;
	int cancel;                   /* read by the pool */
	char *name;                   /* for people, or NULL: the id */
	char user[SL_ULID_BYTES];     /* the user whose limits count; "": none */
	char project[SL_ULID_BYTES];  /* the graph's project; "": none */
	bool saving, recording;
	char hold[SL_HOLD_BYTES];     /* for whom the graph is stored; "": it is kept */
	char found[SL_ULID_BYTES];    /* the graph that exists already, while its new hold is recorded */
	struct sl__graph *graph;      /* the record under construction; it holds what was read */
	char *temporary[FILES], *path[FILES];  /* of the parts that are stored now, and further labels; or NULL */
	uint64_t bytes;               /* of those files */
	char *document;               /* the record, for the seal of the first file */
	struct sl_list twins;         /* other uploads of the same content, which wait for this one */
	struct sl_link twin;          /* in such a list */
	int status;
	struct sl_error err;
};

static void pump(struct sl_graphs *s);

static void upload_free(struct sl__upload *u)
{
	struct sl_graphs *s = u->s;
	sl_upload_line_leave(&s->line, &u->place);
	sl_list_unlink(&u->link);
	sl_list_unlink(&u->twin);
	sl__reading_finish(&u->read);
	if (u->graph)
		sl__finder_forget(s, u->graph);
	sl__graph_free(u->graph);
	free(u->name);
	free(u->document);
	for (int p = 0; p < FILES; p++) {
		free(u->temporary[p]);
		free(u->path[p]);
	}
	free(u);
	pump(s);
	sl__graphs_work_end(s);
}

/* file: the record of an upload whose content g has; or NULL. */
static void reply_graph(const struct sl_graphs *s, struct sl_request *r, const struct sl__graph *g,
			const struct sl__graph *file)
{
	sl_reply_location(r, "/v1/graphs/%s", g->record.id);
	sl_reply_json(r, file ? 200 : 201, file ? sl__graph_json_of_file(s, g, file) : sl__graph_json(s, g, true));
}

static void upload_fail(struct sl__upload *u, const struct sl_error *err)
{
	SL_LIST_EACH(struct sl__upload, w, &u->twins, twin)
		upload_fail(w, err);
	if (u->r)
		sl_reply_error(u->r, err);
	upload_free(u);
}

/* ---- saving ----------------------------------------------------------------------------- */

static void remove_files(const struct sl__upload *u)
{
	for (int p = 0; p < FILES; p++)
		if (u->temporary[p])
			unlink(u->temporary[p]);
}

/* True if `more` bytes exceed the disk limit of the user or project; then the request has been answered. */
static bool refuse(struct sl__upload *u, uint64_t more)
{
	struct sl_limit_hit hit;
	if (!sl_graphs_exceed(u->s, u->user, more, &hit) && !sl_graphs_exceed(u->s, u->project, more, &hit))
		return false;
	if (u->r)
		sl_reply_limit(u->r, &hit);
	u->r = NULL;
	return true;
}

uint64_t sl__uploads_bytes(const struct sl_graphs *s, const char *account)
{
	uint64_t bytes = 0;
	SL_LIST_EACH(const struct sl__upload, u, &s->uploads, link)
		if (u->recording && u->graph && (!strcmp(u->user, account) || !strcmp(u->project, account)))
			bytes += sl__graph_disk_booked(u->graph);
	return bytes;
}

/* The hold on the graph that exists already is recorded. */
static void twin_held(void *arg, int status, const struct sl_error *err)
{
	struct sl__upload *u = arg;
	struct sl__graph *twin = sl__graphs_find(u->s, u->found);
	struct sl_error gone;
	if (!status && !twin)
		status = sl_error_set(&gone, SL_CONFLICT, "the graph of the same content was deleted meanwhile; send the file "
				      "again");
	if (u->r && status)
		sl_reply_error(u->r, twin ? err : &gone);
	else if (u->r)
		reply_graph(u->s, u->r, twin, u->graph);
	upload_free(u);
}

/* Replies with the graph that exists already, after starting a search if the upload asks for more neighbours. */
static void reply_twin(struct sl__upload *u, struct sl__graph *twin)
{
	struct sl_graphs *s = u->s;
	if (twin->record.kind == SL_KIND_POINTS && u->read.wanted.k > twin->record.k &&
	    !refuse(u, sl_graphs_search_bytes(&twin->record, u->read.wanted.k)))
		sl__finder_begin(s, twin, u->read.wanted.k);
	sl_list_unlink(&u->twin);
	memcpy(u->found, twin->record.id, sizeof u->found);
	int changed = sl__graph_hold(twin, u->hold[0] ? u->hold : NULL);
	if (changed > 0)
		changed = sl__graph_put(s, twin, twin_held, u) ? SL_NOMEM : 1;
	if (changed < 0)
		sl_error_memory(&u->err, "the graph");
	if (changed <= 0)
		twin_held(u, changed, &u->err);
}

/* The files have their final names: makes the graph visible, and replies. */
static void placed(void *arg)
{
	struct sl__upload *u = arg;
	struct sl_graphs *s = u->s;
	if (!u->status && sl__graphs_insert(s, u->graph))
		u->status = sl_error_memory(&u->err, "the graph");
	if (u->status) {
		sl_db_remove(s->d->db, SL_DB_GRAPHS, u->graph->record.id, NULL, NULL);
		upload_fail(u, &u->err);
		return;
	}
	struct sl__graph *g = u->graph;
	u->graph = NULL;
	g->used = ++s->tick;
	sl_metric_add(s->m_uploads, 1);
	sl_log_info("graphs", "%s (%s): %s, %u nodes, %llu entries", g->record.id, g->record.name,
		    sl__kind_name(g->record.kind), g->record.nodes, (unsigned long long)g->record.entries);
	sl__finder_recorded(s, g);
	if (u->r)
		reply_graph(s, u->r, g, NULL);
	SL_LIST_EACH(struct sl__upload, w, &u->twins, twin)
		reply_twin(w, g);
	upload_free(u);
	sl__graphs_evict(s);
}

static void place_work(void *arg)
{
	struct sl__upload *u = arg;
	for (int p = 0; p < FILES; p++) {
		if (!u->path[p] || !rename(u->temporary[p], u->path[p]))
			continue;
		u->status = sl_atomic_error(u->path[p], "renamed", errno, &u->err);
		remove_files(u);
	}
}

static void recorded(void *arg, int status, const struct sl_error *err)
{
	struct sl__upload *u = arg;
	if (status) {
		remove_files(u);
		upload_fail(u, err);
		return;
	}
	sl_pool_run_in(&u->work, u->s->d->loop, place_work, placed, u);
}

static int save_part(struct sl__upload *u, enum sl_content_part part)
{
	const struct sl_content *c = u->graph->part[part].content;
	const char *to = u->temporary[part];
	uint64_t bytes = 0;
	int rc;
	if (c->graph)
		rc = sl_graph_file_write(to, c->graph, u->graph->digest, u->document, &bytes, &u->err);
	else if (c->points)
		rc = sl_points_file_write(to, c->points, u->read.points_digest, u->document, &bytes, &u->err);
	else
		rc = sl_neighbours_file_write(to, c->neighbours, 0, &bytes, &u->err);
	u->bytes += bytes;
	return rc;
}

static void save_work(void *arg)
{
	struct sl__upload *u = arg;
	for (int p = 0; p < SL_PARTS && !u->status; p++)
		if (u->path[p])
			u->status = save_part(u, (enum sl_content_part)p);
	if (u->path[LABELS] && !u->status)
		u->status = sl_columns_create_file(u->temporary[LABELS], u->read.columns, &u->graph->column_bytes, &u->err);
	if (!u->status)
		u->status = sl_atomic_sync_folder(u->s->folder, &u->err);
	if (u->status)
		remove_files(u);
}

static void save_done(void *arg)
{
	struct sl__upload *u = arg;
	if (u->status) {
		upload_fail(u, &u->err);
		return;
	}
	u->graph->record.file_bytes = u->bytes;
	if (refuse(u, sl__graph_disk_booked(u->graph))) {
		remove_files(u);
		sl_error_set(&u->err, SL_CONFLICT, "another upload of the same content was not stored; send it again");
		upload_fail(u, &u->err);
		return;
	}
	u->recording = true;
	json_t *document = sl__graph_json(u->s, u->graph, false);
	int rc = document ? sl_db_put(u->s->d->db, SL_DB_GRAPHS, u->graph->record.id, document, recorded, u) : SL_NOMEM;
	json_decref(document);
	if (rc) {
		remove_files(u);
		sl_error_set(&u->err, rc, SL_NO_MEMORY "the graph.");
		upload_fail(u, &u->err);
	}
}

/* Moves the results of reading into the record. */
static int fill_record(struct sl__upload *u)
{
	struct sl__reading *q = &u->read;
	struct sl__graph *g = u->graph;
	struct sl_content *data = sl__content_take(q->graph, q->points, NULL);
	if (!data)
		return SL_NOMEM;
	q->graph = NULL;
	q->points = NULL;
	g->part[SL_PART_DATA].content = data;
	g->record.kind = q->found;
	memcpy(data->nodes.label_title, q->label_title, sizeof data->nodes.label_title);
	sl__graph_describe(g, data, q->coarse);
	g->wanted = q->wanted;
	g->pca = (uint32_t)q->pca;
	g->pca_columns = data->points && data->points->pca ? data->points->pca->from : 0;
	g->pca_kept = q->pca_kept;
	g->record.wanted = q->wanted.k;
	if (q->found != SL_KIND_NEIGHBOURS)
		return 0;
	struct sl_neighbours *nb = q->neighbours;
	struct sl_neighbours_summary found = sl_neighbours_summary_of(nb, 0);
	if (!(g->part[SL_PART_NEIGHBOURS].content = sl__content_take(NULL, NULL, nb)))
		return SL_NOMEM;
	q->neighbours = NULL;
	sl__graph_found(g, &found);
	g->record.search = SL_SEARCH_READY;
	return 0;
}

static int prepare_save(struct sl__upload *u)
{
	struct sl_graphs *s = u->s;
	struct sl_graph_record *r = &u->graph->record;
	sl_ulid_make(r->id);
	r->name = strdup(u->name ? u->name : r->id);
	if (!r->name || fill_record(u))
		return SL_NOMEM;
	json_t *document = sl__graph_json(u->s, u->graph, false);
	u->document = document ? json_dumps(document, JSON_COMPACT) : NULL;
	json_decref(document);
	if (!u->document)
		return SL_NOMEM;
	for (int p = 0; p < SL_PARTS; p++) {
		const char *ending = sl__graphs_ending(r->kind, (enum sl_content_part)p);
		if (!u->graph->part[p].content)
			continue;
		u->path[p] = sl__graphs_path(s, r->id, ending);
		u->temporary[p] = sl__graphs_temporary(s, r->id, ending);
		if (!u->path[p] || !u->temporary[p])
			return SL_NOMEM;
	}
	if (u->read.columns) {
		u->graph->columns = sl__columns_summaries(u->read.columns);
		u->path[LABELS] = sl__graphs_path(s, r->id, "sll");
		u->temporary[LABELS] = sl__graphs_temporary(s, r->id, "sll");
		if (!u->graph->columns || !u->path[LABELS] || !u->temporary[LABELS])
			return SL_NOMEM;
	}
	bool search = r->kind == SL_KIND_POINTS && u->graph->wanted.k;
	return search ? sl__finder_begin(s, u->graph, u->graph->wanted.k) : 0;
}

/* ---- reading ---------------------------------------------------------------------------- */

static void read_work(void *arg)
{
	struct sl__upload *u = arg;
	sl__reading_run(&u->read);
}

static struct sl__upload *find_saving(struct sl_graphs *s, const struct sl__upload *u)
{
	return SL_LIST_FIND(struct sl__upload, other, &s->uploads, link, other != u && other->saving &&
			    !memcmp(other->read.digest, u->read.digest, SL_DIGEST_BYTES) && !strcmp(other->read.label_title,
												    u->read.label_title) && !strcmp(other->user, u->user));
}

/* The number of uploads that are being stored: of this user; NULL: of all. */
static int count_saving(const struct sl_graphs *s, const char *user)
{
	int count = 0;
	SL_LIST_EACH(struct sl__upload, u, &s->uploads, link)
		count += u->saving && (!user || !strcmp(u->user, user));
	return count;
}

static int check_number(struct sl__upload *u)
{
	struct sl_graphs *s = u->s;
	int64_t most = s->d->config.max_graphs, of_user = sl_users_part(s->d->users, u->user, most), own = 0;
	for (int i = 0; of_user < most && i < s->count; i++)
		own += sl_users_owns(s->d->users, u->user, s->graph[i]->record.id);
	own += count_saving(s, u->user);
	if (of_user < most && own >= of_user)
		return sl_error_set(&u->err, SL_CONFLICT, "You have %lld graphs already, a quarter of what the server keeps "
				    "(max_graphs). Delete one first.", (long long)own);
	if (s->count + count_saving(s, NULL) >= most)
		return sl_error_set(&u->err, SL_CONFLICT, "There are %d graphs already, the limit (max_graphs).", s->count);
	return 0;
}

static void read_done(void *arg)
{
	struct sl__upload *u = arg;
	struct sl_graphs *s = u->s;
	if (u->read.status || !u->r) {
		upload_fail(u, &u->read.err);
		return;
	}
	sl__graph_of_file(u->graph, u->read.graph, u->read.points, u->read.coarse);
	u->graph->labels_taken = json_incref(u->read.labels_taken);
	memcpy(u->graph->format, u->read.format, sizeof u->graph->format);
	struct sl__graph *twin = sl__graphs_find_twin(s, u->read.digest, u->read.label_title, u->user);
	if (twin) {
		reply_twin(u, twin);
		return;
	}
	struct sl__upload *other = find_saving(s, u);
	if (other) {
		sl__reading_finish(&u->read);
		u->read = (struct sl__reading){.wanted = u->read.wanted};  /* the account is closed */
		sl_list_append(&other->twins, &u->twin);
		sl_upload_line_leave(&s->line, &u->place);  /* it no longer holds memory */
		pump(s);
		return;
	}
	int rc = check_number(u);
	const struct sl_graph_record points = {.points = u->read.points ? u->read.points->n : 0};
	memcpy(u->graph->digest, u->read.digest, SL_DIGEST_BYTES);
	if (!rc && u->read.found == SL_KIND_POINTS && !sl_graphs_search_fits(&points, u->read.wanted.k))
		rc = sl_error_field(&u->err, SL_TOOBIG, "?neighbours", "%u neighbours of each of %u points need more "
				    "than half of the server's memory; ask for fewer", u->read.wanted.k, points.points);
	else if (!rc && prepare_save(u))
		rc = sl_error_memory(&u->err, "the graph");
	if (rc) {
		upload_fail(u, &u->err);
		return;
	}
	u->saving = true;
	sl_pool_run_in(&u->work, s->d->loop, save_work, save_done, u);
}

/* Starts the uploads that may be read now. */
static void pump(struct sl_graphs *s)
{
	struct sl_upload_place *p;
	if (s->closing || !sl_upload_line_waiting(&s->line))
		return;
	uint64_t budget = sl_bookings_limit(s->d->bookings, SL_BOOK_READING);
	while ((p = sl_upload_line_next(&s->line, budget))) {
		struct sl__upload *u = SL_LIST_ITEM(struct sl__upload, &p->link, place.link);
		sl_pool_run_in(&u->work, s->d->loop, read_work, read_done, u);
	}
}

/* The client has disconnected: an upload in line is dropped with its file. */
static void upload_gone(void *arg)
{
	struct sl__upload *u = arg;
	u->r = NULL;
	__atomic_store_n(&u->cancel, 1, __ATOMIC_RELAXED);
	if (u->place.where == SL_UPLOAD_WAITING)
		upload_free(u);
}

void sl__uploads_cancel(struct sl_graphs *s)
{
	SL_LIST_EACH(struct sl__upload, u, &s->uploads, link) {
		__atomic_store_n(&u->cancel, 1, __ATOMIC_RELAXED);
		if (u->place.where == SL_UPLOAD_WAITING)
			upload_free(u);
	}
}

/* ---- the request -------------------------------------------------------------------------- */

static int read_request(struct sl__upload *u, struct sl_request *r, struct sl_error *err)
{
	int rc = sl__reading_init(&u->read, r, &u->s->d->config, &u->cancel, err);
	u->read.account = sl_bookings_account(u->s->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	u->read.passes = u->s->passes;
	u->read.by = u->s->by;
	const struct sl_part *file = sl_request_part(r, "file");
	const char *name = sl_request_query(r, "name");
	if (!rc && !name && file && file->filename && !sl_name_check(file->filename, "", NULL))
		name = file->filename;
	if (!rc && name && !(u->name = strdup(name)))
		rc = sl_error_memory(err, "the upload");
	if (!rc)
		rc = sl_request_for(r, sl_request_query(r, "project"), "?project", err);
	const char *hold = sl_request_query(r, "hold");
	if (!rc && hold && !(rc = sl_hold_check(hold, "?hold", err)))
		snprintf(u->hold, sizeof u->hold, "%s", hold);
	if (!rc && sl__graph_hold(u->graph, hold) < 0)
		rc = sl_error_memory(err, "the upload");
	return rc ? rc : sl__reading_take(&u->read, r, err);
}

void sl_graphs_upload(struct sl_graphs *s, struct sl_request *r)
{
	SL_ON_LOOP(s->d);
	struct sl_error err;
	struct sl__upload *u = calloc(1, sizeof *u);
	if (u)
		u->graph = calloc(1, sizeof *u->graph);
	if (!u || !u->graph) {
		free(u);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the upload.");
		return;
	}
	u->s = s;
	sl_list_prepend(&s->uploads, &u->link);
	sl__graphs_work_begin(s);
	int rc = read_request(u, r, &err);
	if (rc) {
		sl_reply_error(r, &err);
		upload_free(u);
		return;
	}
	u->r = r;
	memcpy(u->user, sl_request_who(r)->account, sizeof u->user);
	memcpy(u->project, sl_request_who(r)->project, sizeof u->project);
	sl_request_park_for(r, UPLOAD_TIMEOUT_MS, NULL, upload_gone, u);
	sl_upload_line_add(&s->line, &u->place, sl__reading_memory(&u->read), u->user);
	pump(s);
}
