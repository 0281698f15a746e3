/* From the bytes of a request to a graph that survives a power cut:
 *
 *   pool: parse, read labels, digest   (cancelled when the client goes away)
 *   loop: the same content here already, or on its way? then that one is the answer
 *   pool: write STATE_DIR/tmp/graph-ID, fsync, rename to graphs/ID.slg, fsync the folder
 *   data base: the record
 *   loop: 201, and the graph stays in memory for the job that comes presumably
 *
 * A client that goes away during the second half does not stop it: uploading again finds
 * the graph. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/db.h"
#include "daemon/graphs_internal.h"
#include "daemon/log.h"
#include "daemon/state_dir.h"

#define UPLOAD_TIMEOUT_MS (24 * 3600 * 1000)  /* parsing ends by itself; this is a last resort */

/* What a part held, taken over from the request. */
struct input {
	char *path, *data;
	uint64_t bytes;
	char name[256];
};

struct sl__upload {
	struct sl__upload *next;
	struct sl_graphs *s;
	struct sl_request *r;         /* NULL: the client is gone */
	uv_work_t work;
	struct input file, labels;
	bool has_labels, saving;
	struct sl_read_options options;
	int cancel;                   /* read by the pool */
	char *name;                   /* for people, or NULL: the id */
	struct sl_graph *g;
	struct sl__graph *graph;      /* the record under construction */
	char *temporary, *path;
	struct sl__upload *same;      /* others with the same content, who wait for this one */
	int status;
	struct sl_error err;
};

static void input_take(struct input *in, struct sl_part *part, const char *name)
{
	in->path = sl_part_take(part);
	in->data = part->data;
	part->data = NULL;
	in->bytes = part->bytes;
	snprintf(in->name, sizeof in->name, "%s", name);
}

static void input_free(struct input *in)
{
	if (in->path)
		unlink(in->path);
	free(in->path);
	free(in->data);
	memset(in, 0, sizeof *in);
}

static void upload_free(struct sl__upload *u)
{
	struct sl_graphs *s = u->s;
	for (struct sl__upload **at = &s->uploads; *at; at = &(*at)->next) {
		if (*at == u) {
			*at = u->next;
			break;
		}
	}
	input_free(&u->file);
	input_free(&u->labels);
	sl_graph_destroy(u->g);
	sl__graph_free(u->graph);
	free(u->name);
	free(u->temporary);
	free(u->path);
	free(u);
	sl__graphs_work_end(s);
}

static void reply_graph(struct sl_request *r, struct sl__graph *g, int status)
{
	sl_reply_header(r, "Location", "/v1/graphs/%s", g->record.id);
	sl_reply_json(r, status, sl__graph_json(g, true));
}

static void upload_fail(struct sl__upload *u, const struct sl_error *err)
{
	for (struct sl__upload *w = u->same, *next; w; w = next) {
		next = w->same;
		w->same = NULL;
		upload_fail(w, err);
	}
	if (u->r)
		sl_reply_error(u->r, err);
	upload_free(u);
}

/* ---- saving ----------------------------------------------------------------------------- */

static void recorded(void *arg, int status, const struct sl_error *err)
{
	struct sl__upload *u = arg;
	struct sl_graphs *s = u->s;
	struct sl_error why;
	if (!status && sl__graphs_insert(s, u->graph))
		status = sl_error_set(&why, SL_NOMEM, "no memory for the graph");
	else if (status)
		why = *err;
	if (status) {
		unlink(u->path);
		upload_fail(u, &why);
		return;
	}
	struct sl__graph *g = u->graph;
	u->graph = NULL;
	g->g = u->g;
	u->g = NULL;
	g->memory = sl_graph_bytes(g->g);
	g->record.loaded = true;
	g->used = ++s->tick;
	sl_metric_add(s->m_uploads, 1);
	sl_log_info("graphs", "%s (%s): %u nodes, %llu entries", g->record.id, g->record.name, g->record.nodes,
		    (unsigned long long)g->record.entries);
	if (u->r)
		reply_graph(u->r, g, 201);
	for (struct sl__upload *w = u->same, *next; w; w = next) {
		next = w->same;
		if (w->r)
			reply_graph(w->r, g, 200);
		upload_free(w);
	}
	upload_free(u);
	sl__graphs_evict(s);
}

static void save_work(uv_work_t *work)
{
	struct sl__upload *u = work->data;
	u->status = sl_graph_file_write(u->temporary, u->g, u->graph->digest, &u->graph->record.file_bytes, &u->err);
	if (u->status)
		return;
	if (rename(u->temporary, u->path)) {
		u->status = sl_error_set(&u->err, SL_IO, "the graph cannot be stored: %s", strerror(errno));
		unlink(u->temporary);
		return;
	}
	u->status = sl_state_dir_sync(u->s->folder, &u->err);
}

static void save_done(uv_work_t *work, int status)
{
	struct sl__upload *u = work->data;
	if (u->status) {
		upload_fail(u, &u->err);
		return;
	}
	json_t *document = sl__graph_json(u->graph, false);
	int rc = document ? sl_db_put(u->s->d->db, SL_DB_GRAPHS, u->graph->record.id, document, recorded, u) : SL_NOMEM;
	json_decref(document);
	if (rc) {
		sl_error_set(&u->err, rc, "no memory for the graph");
		upload_fail(u, &u->err);
	}
}

static int prepare_save(struct sl__upload *u)
{
	struct sl_graphs *s = u->s;
	struct sl_graph_record *r = &u->graph->record;
	sl_ulid_make(r->id);
	r->name = strdup(u->name ? u->name : r->id);
	u->path = sl__graphs_path(s, r->id);
	if (asprintf(&u->temporary, "%s/tmp/graph-%s", s->d->state_dir, r->id) < 0)
		u->temporary = NULL;
	sl__graph_describe(u->graph, u->g);
	return r->name && u->path && u->temporary ? 0 : SL_NOMEM;
}

/* ---- reading ---------------------------------------------------------------------------- */

static int open_input(const struct input *in, struct sl_source **out, struct sl_error *err)
{
	if (in->path)
		return sl_source_open_path(out, in->path, in->name, err);
	return sl_source_open_memory(out, in->data ? in->data : "", in->bytes, in->name, err);
}

static int read_labels(struct sl__upload *u)
{
	struct sl_source *source;
	int rc = open_input(&u->labels, &source, &u->err);
	if (rc)
		return rc;
	rc = sl_graph_read_labels(u->g, &u->options, source, &u->err);
	sl_source_close(source);
	return rc;
}

static void read_work(uv_work_t *work)
{
	struct sl__upload *u = work->data;
	struct sl_source *source;
	sl__graphs_be_nice();
	u->status = open_input(&u->file, &source, &u->err);
	if (u->status)
		return;
	u->status = sl_graph_read(&u->g, &u->options, source, &u->err);
	if (!u->status) {
		u->graph->format = sl_source_format(source);
		if (u->has_labels)
			u->status = read_labels(u);
	}
	sl_source_close(source);
	if (!u->status)
		sl_graph_digest(u->g, u->graph->digest);
}

static struct sl__upload *find_saving(struct sl_graphs *s, const struct sl__upload *u)
{
	for (struct sl__upload *other = s->uploads; other; other = other->next)
		if (other != u && other->saving && !memcmp(other->graph->digest, u->graph->digest, SL_GRAPH_DIGEST_BYTES))
			return other;
	return NULL;
}

static int count_saving(const struct sl_graphs *s)
{
	int count = 0;
	for (struct sl__upload *u = s->uploads; u; u = u->next)
		count += u->saving;
	return count;
}

static void read_done(uv_work_t *work, int status)
{
	struct sl__upload *u = work->data;
	struct sl_graphs *s = u->s;
	input_free(&u->file);
	input_free(&u->labels);
	if (u->status || !u->r) {
		upload_fail(u, &u->err);
		return;
	}
	struct sl__graph *twin = sl__graphs_find_digest(s, u->graph->digest);
	if (twin) {
		reply_graph(u->r, twin, 200);
		upload_free(u);
		return;
	}
	struct sl__upload *other = find_saving(s, u);
	if (other) {
		sl_graph_destroy(u->g);
		u->g = NULL;
		u->same = other->same;
		other->same = u;
		return;
	}
	int rc = 0;
	if (s->count + count_saving(s) >= s->d->config.max_graphs)
		rc = sl_error_set(&u->err, SL_CONFLICT, "there are %d graphs already, and no more are kept (max_graphs); "
				  "delete one first", s->count);
	else if (prepare_save(u))
		rc = sl_error_set(&u->err, SL_NOMEM, "no memory for the graph");
	if (rc) {
		upload_fail(u, &u->err);
		return;
	}
	u->saving = true;
	uv_queue_work(s->d->loop, &u->work, save_work, save_done);
}

static void upload_gone(void *arg)
{
	struct sl__upload *u = arg;
	u->r = NULL;
	__atomic_store_n(&u->cancel, 1, __ATOMIC_RELAXED);
}

void sl__uploads_cancel(struct sl_graphs *s)
{
	for (struct sl__upload *u = s->uploads; u; u = u->next)
		__atomic_store_n(&u->cancel, 1, __ATOMIC_RELAXED);
}

/* ---- the request -------------------------------------------------------------------------- */

/* A name for people: text, 1 to 200 characters. */
static int check_name(const char *name, const char *pointer, struct sl_error *err)
{
	json_t *text = json_string(name);
	size_t characters = 0;
	for (const char *at = name; *at; at++)
		characters += (*at & 0xc0) != 0x80;
	json_decref(text);
	if (!text)
		return sl_error_field(err, SL_BADPARAM, pointer, "name must be UTF-8 text");
	if (!characters || characters > 200)
		return sl_error_field(err, SL_BADPARAM, pointer, "name must have from 1 to 200 characters, not %zu", characters);
	return 0;
}

static int read_query(struct sl__upload *u, struct sl_request *r, struct sl_error *err)
{
	const struct sl_config *c = &u->s->d->config;
	const char *format = sl_request_query(r, "format"), *name = sl_request_query(r, "name");
	int rc = 0;
	if (format && (!strcmp(format, "auto") || sl_graph_format_parse(format, &u->options.format, NULL)))
		return sl_error_field(err, SL_BADPARAM, "?format", "format must be mtx, edges or npz, not '%.64s'", format);
	if (name && (rc = check_name(name, "?name", err)))
		return rc;
	u->options.max_bytes = (uint64_t)c->max_decompressed_bytes;
	u->options.max_nodes = (uint64_t)c->max_nodes;
	u->options.max_entries = (uint64_t)c->max_entries;
	u->options.cancel = &u->cancel;
	return sl_request_query_bool(r, "directed", &u->options.directed, err);
}

static int take_parts(struct sl__upload *u, struct sl_request *r, struct sl_error *err)
{
	struct sl_part *file = sl_request_part(r, "file"), *labels = sl_request_part(r, "labels");
	const char *name = sl_request_query(r, "name");
	if (!file)
		return sl_error_set(err, SL_BADPARAM, "the form has no part named 'file'");
	for (int i = 0; i < sl_request_parts(r); i++) {
		struct sl_part *part = sl_request_part_at(r, i);
		if (part != file && part != labels)
			return sl_error_set(err, SL_BADPARAM, "the form has a part named '%.64s'; known ones: file, labels",
					    part->name);
	}
	if (!name && file->filename && !check_name(file->filename, "", NULL))
		name = file->filename;
	if (name && !(u->name = strdup(name)))
		return sl_error_set(err, SL_NOMEM, "no memory for the upload");
	input_take(&u->file, file, file->filename ? file->filename : name ? name : "upload");
	if (labels) {
		u->has_labels = true;
		input_take(&u->labels, labels, labels->filename ? labels->filename : "labels");
	}
	return 0;
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
		sl_reply_problem(r, SL_NOMEM, "no memory for the upload");
		return;
	}
	u->s = s;
	u->next = s->uploads;
	s->uploads = u;
	sl__graphs_work_begin(s);
	int rc = read_query(u, r, &err);
	if (!rc)
		rc = take_parts(u, r, &err);
	if (rc) {
		sl_reply_error(r, &err);
		upload_free(u);
		return;
	}
	u->r = r;
	u->work.data = u;
	sl_request_park_for(r, UPLOAD_TIMEOUT_MS, NULL, upload_gone, u);
	uv_queue_work(s->d->loop, &u->work, read_work, read_done);
}
