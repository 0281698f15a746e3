#include "daemon/graph_read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

/* ---- the request ------------------------------------------------------------------- */

int sl__check_name(const char *name, const char *pointer, struct sl_error *err)
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

int sl__reading_init(struct sl__reading *q, const struct sl_request *r, const struct sl_config *c, const int *cancel,
		     struct sl_error *err)
{
	const char *format = sl_request_query(r, "format"), *name = sl_request_query(r, "name");
	int rc = 0;
	q->kind = -1;
	if (format && (!strcmp(format, "auto") || sl_graph_format_parse(format, &q->options.format, NULL)))
		return sl_error_field(err, SL_BADPARAM, "?format", "format must be mtx, edges or npz, not '%.64s'", format);
	if (name && (rc = sl__check_name(name, "?name", err)))
		return rc;
	q->options.max_bytes = (uint64_t)c->max_decompressed_bytes;
	q->options.max_nodes = (uint64_t)c->max_nodes;
	q->options.max_entries = (uint64_t)c->max_entries;
	q->options.cancel = cancel;
	return sl_request_query_bool(r, "directed", &q->options.directed, err);
}

static void input_take(struct sl__input *in, struct sl_part *part, const char *name)
{
	in->path = sl_part_take(part);
	in->data = part->data;
	part->data = NULL;
	in->bytes = part->bytes;
	snprintf(in->name, sizeof in->name, "%s", name);
}

int sl__reading_take(struct sl__reading *q, struct sl_request *r, struct sl_error *err)
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
	input_take(&q->file, file, file->filename ? file->filename : name ? name : "upload");
	if (labels) {
		q->has_labels = true;
		input_take(&q->labels, labels, labels->filename ? labels->filename : "labels");
	}
	return 0;
}

/* ---- reading ----------------------------------------------------------------------- */

static int open_input(const struct sl__input *in, struct sl_source **out, struct sl_error *err)
{
	if (in->path)
		return sl_source_open_path(out, in->path, in->name, err);
	return sl_source_open_memory(out, in->data ? in->data : "", in->bytes, in->name, err);
}

static int read_labels(struct sl__reading *q)
{
	struct sl_source *source;
	int rc = open_input(&q->labels, &source, &q->err);
	if (rc)
		return rc;
	rc = sl_graph_read_labels(q->graph, &q->options, source, &q->err);
	sl_source_close(source);
	return rc;
}

static int read_graph(struct sl__reading *q, struct sl_source *source)
{
	int rc = sl_graph_read(&q->graph, &q->options, source, &q->err);
	if (rc)
		return rc;
	q->found = SL_KIND_GRAPH;
	snprintf(q->format, sizeof q->format, "%s", sl_graph_format_name(sl_source_format(source)));
	if (q->has_labels)
		rc = read_labels(q);
	if (!rc)
		sl_graph_digest(q->graph, q->digest);
	return rc;
}

void sl__reading_run(struct sl__reading *q)
{
	struct sl_source *source;
	sl__graphs_be_nice();
	q->status = open_input(&q->file, &source, &q->err);
	if (q->status)
		return;
	q->status = read_graph(q, source);
	sl_source_close(source);
}

static void input_free(struct sl__input *in)
{
	if (in->path)
		unlink(in->path);
	free(in->path);
	free(in->data);
	memset(in, 0, sizeof *in);
}

void sl__reading_close(struct sl__reading *q)
{
	input_free(&q->file);
	input_free(&q->labels);
}

void sl__reading_finish(struct sl__reading *q)
{
	sl__reading_close(q);
	sl_graph_destroy(q->graph);
	sl_points_destroy(q->points);
	sl_neighbours_destroy(q->neighbours);
}
