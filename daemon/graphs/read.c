/* Runs on a worker, in the account of the upload (core/account.h): parameters come from the table of
 * core/formats/input_params.h; then the file is opened, recognised, read, checked, projected if asked for, and its
 * digest is made. The first error ends it, and everything that was made is freed; nothing is stored here. An error of
 * a budget counts before one of the reader that it caused. */
#include "daemon/graphs/read.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "core/engine/engine.h"
#include "core/formats/input_params.h"
#include "core/formats/read_points.h"
#include "core/taken/taken.h"
#include "daemon/files/taken_json.h"
#include "daemon/graphs/columns/column_values.h"
#include "daemon/graphs/graphs.h"
#include "daemon/json/json.h"

/* ---- the request ------------------------------------------------------------------- */

/* Converts the pointer "/field" of an error of core/ to that of a query parameter. */
static int as_query(int rc, struct sl_error *err)
{
	if (rc && err->pointer[0] == '/')
		err->pointer[0] = '?';
	return rc;
}

/* Reads the query with the parameter table, in which the server's limits replace some ranges. */
static int read_query(struct sl_input_params *p, const struct sl_request *r, const struct sl_config *c,
		      struct sl_error *err)
{
	struct sl_param_info own[64];  /* a table has no more: one bit each */
	struct sl_param_table table = sl_input_params_table;
	sl_param_defaults(&sl_input_params_table, p);
	for (int i = 0; i < table.count; i++) {
		own[i] = table.param[i];
		if (!strcmp(own[i].name, "neighbours"))
			own[i].max = fmin(own[i].max, (double)c->max_neighbours);
		if (!strcmp(own[i].name, "pca"))
			own[i].max = fmin(own[i].max, (double)c->max_columns);
	}
	if (p->neighbours > c->max_neighbours)
		p->neighbours = (int)c->max_neighbours;
	table.param = own;
	return sl_request_query_params(r, &table, p, err);
}

static int keep_text(const char *text, char **out, struct sl_error *err)
{
	*out = text ? strdup(text) : NULL;
	return text && !*out ? sl_error_memory(err, "the upload") : 0;
}

int sl__reading_init(struct sl__reading *q, const struct sl_request *r, const struct sl_config *c, const int *cancel,
		     struct sl_error *err)
{
	const char *name = sl_request_query(r, "name");
	struct sl_input_params p = {0};
	q->options.read.max_bytes = (uint64_t)c->max_decompressed_bytes;
	q->options.read.max_nodes = (uint64_t)c->max_nodes;
	q->options.read.max_entries = (uint64_t)c->max_entries;
	q->options.read.cancel = cancel;
	q->max_columns = c->max_columns;
	int rc = name ? sl_name_check(name, "?name", err) : 0;
	if (!rc)
		rc = read_query(&p, r, c, err);
	if (!rc)
		rc = as_query(sl_input_params_settle(&p, &q->options, &q->wanted, err), err);
	if (!rc)
		rc = keep_text(p.name_column, &q->name_column, err);
	if (!rc)
		rc = keep_text(p.label_column, &q->label_column, err);
	if (!rc)
		rc = keep_text(p.ignore_columns, &q->ignore_columns, err);
	if (!rc)
		rc = keep_text(p.keep_columns, &q->keep_columns, err);
	if (!rc)
		rc = keep_text(p.source, &q->source, err);
	if (!rc)
		rc = keep_text(p.target, &q->target, err);
	if (!rc)
		rc = keep_text(p.weight, &q->weight, err);
	q->options.read.source_column = q->source;
	q->options.read.target_column = q->target;
	q->options.read.weight_column = q->weight;
	q->options.name_column = q->name_column;
	q->options.label_column = q->label_column;
	q->options.ignore_columns = q->ignore_columns;
	q->options.keep_columns = q->keep_columns;
	q->options.read.few_isolated = !p.isolated;
	q->pca = p.pca;
	q->asked = sl_param_given(&sl_input_params_table, &p, "neighbours");
	return rc;
}

static int check_labels_name(const char *name, struct sl_error *err)
{
	int rc = sl_name_check(name, "?labels_name", err);
	if (!rc && strlen(name) >= sizeof ((struct sl_graph_record *)NULL)->label_title)
		rc = sl_error_field(err, SL_BADPARAM, "?labels_name", "labels_name must have at most 63 bytes, not %zu.",
				    strlen(name));
	return rc;
}

int sl__reading_take(struct sl__reading *q, struct sl_request *r, struct sl_error *err)
{
	struct sl_part *file = sl_request_part(r, "file"), *labels = sl_request_part(r, "labels");
	const char *name = sl_request_query(r, "name");
	if (!file)
		return sl_error_set(err, SL_BADPARAM, "the form has no part named 'file'");
	for (int i = 0; i < sl_request_parts(r); i++) {
		struct sl_part *part = sl_request_part_at(r, i);
		if (part != labels && strcmp(part->name, "file") != 0)
			return sl_error_set(err, SL_BADPARAM, "the form has a part named '%.64s'; known ones: file, labels",
					    part->name);
	}
	sl_uploaded_of(r, &q->file, file, name ? name : "upload");
	for (int i = 0; i < sl_request_parts(r); i++) {
		struct sl_part *part = sl_request_part_at(r, i);
		if (part == file || part == labels)
			continue;
		if (q->more_count == SL__FILES_MOST - 1)
			return sl_error_set(err, SL_BADPARAM, "the form has more than %d files", SL__FILES_MOST);
		sl_uploaded_of(r, &q->more[q->more_count++], part, "upload");
	}
	if (labels) {
		q->has_labels = true;
		const char *labels_name = sl_request_query(r, "labels_name");
		int rc = labels_name ? check_labels_name(labels_name, err) : 0;
		if (rc || (rc = keep_text(labels_name, &q->labels_name, err)))
			return rc;
		rc = keep_text(sl_request_query(r, "labels_column"), &q->labels_column, err);
		if (rc)
			return rc;
		sl_uploaded_of(r, &q->labels, labels, "labels");
	}
	return 0;
}

/* Estimates the memory from the first bytes of the file, which was just written and is still in the page cache. */
static uint64_t input_memory(const struct sl_uploaded *in)
{
	char head[4] = "";
	ssize_t size = 0;
	if (in->data) {
		size = in->bytes < sizeof head ? (ssize_t)in->bytes : (ssize_t)sizeof head;
		memcpy(head, in->data, (size_t)size);
	} else if (in->path) {
		int fd = open(in->path, O_RDONLY | O_CLOEXEC);
		size = fd < 0 ? 0 : read(fd, head, sizeof head);
		if (fd >= 0)
			close(fd);
	}
	return sl_upload_memory(in->bytes, head, size > 0 ? (size_t)size : 0);
}

uint64_t sl__reading_memory(const struct sl__reading *q)
{
	uint64_t all = input_memory(&q->labels);
	for (int i = -1; i < q->more_count; i++) {
		uint64_t file = input_memory(i < 0 ? &q->file : &q->more[i]);
		all = file > UINT64_MAX - all ? UINT64_MAX : all + file;
	}
	return all;
}

/* ---- reading ----------------------------------------------------------------------- */

static int read_labels(struct sl__reading *q)
{
	struct sl_source *source;
	struct sl_label_table table = {0};
	uint32_t n = q->graph ? q->graph->n : q->points->n_user;
	int rc = sl_uploaded_open(&q->labels, &q->account, &source, &q->err);
	if (rc)
		return rc;
	if (q->graph)
		rc = sl_graph_read_label_table(q->graph, &table, q->labels_column, &q->options.read, source, &q->err);
	else
		rc = sl_points_read_label_table(q->points, &table, q->labels_column, &q->options.read, source, &q->err);
	sl_source_close(source);
	if (rc && !strcmp(q->err.pointer, "/column"))
		snprintf(q->err.pointer, sizeof q->err.pointer, "?labels_column");
	if (!rc && table.columns && !q->columns && !(q->columns = sl_columns_create(n)))
		rc = sl_error_memory(&q->err, "labels");
	if (!rc)
		rc = sl__label_columns_set(q->columns, &table, NULL, n, &q->account, &q->err);
	if (!rc && table.taken)
		q->labels_taken = sl_taken_json(table.taken);
	sl_label_table_finish(&table);
	return rc;
}

/* Given neighbours: stores names and labels in a table of points without columns. */
static int make_table(struct sl__reading *q)
{
	const struct sl_neighbours *nb = q->neighbours;
	struct sl_points *p = q->points = calloc(1, sizeof *p);
	if (!p)
		return sl_error_memory(&q->err, "the neighbours");
	p->n = nb->n;
	p->n_user = nb->n_user;
	p->type = SL_POINTS_F32;
	if (nb->user && !(p->user = malloc((size_t)nb->n * sizeof *p->user)))
		return sl_error_memory(&q->err, "the neighbours");
	p->taken = sl_taken_copy(nb->taken);
	if (nb->user)
		memcpy(p->user, nb->user, (size_t)nb->n * sizeof *p->user);
	return 0;
}

static int project(struct sl__reading *q)
{
	struct sl_points *p = q->points, *projected;
	if (q->pca > p->d)
		return sl_error_field(&q->err, SL_BADPARAM, "?pca", "pca is %lld, but the points have only %u "
				      "columns", (long long)q->pca, p->d);
	uint64_t d = p->d, axes = (uint64_t)q->pca;
	int rc = sl_account_take(&q->account, SL_MEMORY, p->n * axes * sizeof(float) + d * axes * sizeof(double), &q->err);
	if (!rc)
		rc = sl__project(q->passes, &q->by, &projected, p, (uint32_t)q->pca, &q->pca_kept, q->options.read.cancel,
				 &q->err);
	if (rc)
		return as_query(rc, &q->err);
	projected->report = p->report;  /* the report about the table before the projection */
	projected->taken = p->taken;
	p->taken = NULL;
	sl_points_destroy(p);
	q->points = projected;
	return 0;
}

static int check_points(struct sl__reading *q)
{
	const struct sl_points *p = q->points;
	if (p->d > q->max_columns)
		return sl_error_at(&q->err, SL_TOOBIG, q->file.name, 0, "The table has %u columns; at most %lld are allowed "
				   "(max_columns).", p->d, (long long)q->max_columns);
	struct sl_neighbours_params later = q->wanted;   /* 0 now: a job may want some */
	later.k += !later.k;
	int rc = as_query(sl_neighbours_check(p, &later, &q->err), &q->err);
	const struct sl_points *view = p;
	if (!rc && p->center) {  /* refuses a metric that such columns cannot have */
		rc = sl_distance_points(&view, p, q->wanted.metric, &q->err);
		if (!rc)
			sl_points_uncentred_end(view, p);
	}
	if (rc)
		snprintf(q->err.file, sizeof q->err.file, "%s", q->file.name);
	if (q->wanted.k > p->n - 1 && q->asked && p->taken)
		sl_taken_add_note(p->taken, false, "neighbours is %u, but each of the %u points has only %u others",
				  q->wanted.k, p->n, p->n - 1);
	if (q->wanted.k > p->n - 1)
		q->wanted.k = p->n - 1;
	return rc;
}

/* Names the labels by the request, or else by the file, so that all columns have different names. */
static void name_labels(struct sl__reading *q)
{
	const char *title = q->graph ? q->graph->label_title : q->points->label_title;
	if (!(q->graph ? q->graph->label : q->points->label))
		return;
	title = q->labels_name ? q->labels_name : title;
	if (!*title || (q->columns && sl_columns_find(q->columns, title)))
		title = SL__OWN_LABELS;
	snprintf(q->label_title, sizeof q->label_title, "%s", title);
}

/* Makes the digest by which equal uploads are recognised: of the content and the parameters of the search. (The title
 * of the labels is compared separately.) */
static int make_digest(struct sl__reading *q)
{
	crypto_generichash_state state;
	double search[3] = {q->wanted.metric, q->wanted.metric == SL_LP ? q->wanted.p : 0, q->wanted.recall};
	if (q->found == SL_KIND_GRAPH) {
		sl_graph_digest(q->graph, q->digest);
		if (!q->columns)
			return 0;
		crypto_generichash_init(&state, NULL, 0, SL_DIGEST_BYTES);
		crypto_generichash_update(&state, q->digest, SL_DIGEST_BYTES);
		sl__more_labels_digest(q->columns, &state);
		crypto_generichash_final(&state, q->digest, SL_DIGEST_BYTES);
		return 0;
	}
	if (sl_points_digest(q->points, q->points_digest))
		return sl_error_memory(&q->err, "the points");
	crypto_generichash_init(&state, NULL, 0, SL_DIGEST_BYTES);
	crypto_generichash_update(&state, q->points_digest, SL_DIGEST_BYTES);
	if (q->found == SL_KIND_NEIGHBOURS) {
		sl_neighbours_digest(q->neighbours, q->digest);
		crypto_generichash_update(&state, q->digest, SL_DIGEST_BYTES);
	} else {
		crypto_generichash_update(&state, (const unsigned char *)search, sizeof search);
	}
	sl__more_labels_digest(q->columns, &state);
	crypto_generichash_final(&state, q->digest, SL_DIGEST_BYTES);
	return 0;
}

/* Moves the results of the reader to q. */
static int take_input(struct sl__reading *q, struct sl_input *input)
{
	q->graph = input->graph;
	q->points = input->points;
	q->neighbours = input->neighbours;
	if (q->points && q->points->pca)
		q->pca_kept = input->pca_kept;
	memcpy(q->format, input->format, sizeof input->format);
	*input = (struct sl_input){0};
	q->found = q->graph ? SL_KIND_GRAPH : q->neighbours ? SL_KIND_NEIGHBOURS : SL_KIND_POINTS;
	if (q->found == SL_KIND_NEIGHBOURS) {
		q->wanted = (struct sl_neighbours_params){.k = q->neighbours->k, .metric = q->neighbours->metric,
							.p = q->neighbours->p, .recall = q->neighbours->recall};
		return make_table(q);
	}
	return q->points ? sl__more_labels_take(q->points, &q->columns, &q->err) : 0;
}

static int read_all(struct sl__reading *q, struct sl_source *source)
{
	struct sl_input input = {0};
	int rc = sl_input_read(&input, &q->options, source, &q->err);
	if (!rc)
		rc = take_input(q, &input);
	sl_input_finish(&input);
	as_query(rc, &q->err);
	if (!rc && q->has_labels)
		rc = read_labels(q);
	if (!rc && q->found == SL_KIND_POINTS)
		rc = check_points(q);
	if (!rc && q->pca && !q->points->pca)  /* sparse points were projected while they were read */
		rc = project(q);
	struct sl_error coarse;
	if (!rc && q->found == SL_KIND_POINTS && sl_points_check_steps(q->points, "cosine", &coarse))
		rc = keep_text(coarse.detail, &q->coarse, &q->err);
	if (rc)
		return rc;
	name_labels(q);
	return make_digest(q);
}

/* Opens the file, or several files as one. */
static int open_files(struct sl__reading *q, struct sl_source **out)
{
	struct sl_source *part[SL__FILES_MOST] = {NULL};
	int code = sl_uploaded_open(&q->file, &q->account, &part[0], &q->err);
	for (int i = 0; i < q->more_count && !code; i++)
		code = sl_uploaded_open(&q->more[i], &q->account, &part[i + 1], &q->err);
	*out = part[0];
	if (!code && q->more_count)
		code = sl_source_join(out, part, q->more_count + 1, &q->err);
	if (!code && q->more_count) {
		sl_source_set_account(*out, &q->account);
		sl_source_set_folder(*out, q->file.folder);
	}
	for (int i = 0; i <= q->more_count && code; i++)
		sl_source_close(part[i]);
	return code;
}

void sl__reading_run(struct sl__reading *q)
{
	struct sl_source *source;
	q->status = open_files(q, &source);
	if (!q->status) {
		q->status = read_all(q, source);
		sl_source_close(source);
	}
	if (q->status && q->status != SL_CANCELLED && q->account.refusal.code) {
		q->err = q->account.refusal;
		q->status = q->err.code;
		snprintf(q->err.file, sizeof q->err.file, "%s", q->file.name);
	}
	sl_account_give_all(&q->account, SL_DISK);
	sl__reading_close(q);
}

void sl__reading_close(struct sl__reading *q)
{
	sl_uploaded_finish(&q->file);
	sl_uploaded_finish(&q->labels);
	while (q->more_count)
		sl_uploaded_finish(&q->more[--q->more_count]);
}

void sl__reading_finish(struct sl__reading *q)
{
	sl__reading_close(q);
	sl_graph_destroy(q->graph);
	sl_points_destroy(q->points);
	sl_neighbours_destroy(q->neighbours);
	sl_columns_free(q->columns);
	free(q->name_column);
	free(q->labels_name);
	free(q->labels_column);
	json_decref(q->labels_taken);
	free(q->label_column);
	free(q->ignore_columns);
	free(q->keep_columns);
	free(q->coarse);
	free(q->source);
	free(q->target);
	free(q->weight);
	if (q->account.give)
		sl_account_close(&q->account);
}

int sl_read_new_points(struct sl_points **out, const struct sl_uploaded *file, struct sl_account *account,
		       const struct sl_config *c, const struct sl_input_options *how, const int *cancel,
		       struct sl_error *err)
{
	struct sl_input_options options = *how;
	struct sl_source *source = NULL;
	options.kind = SL_INPUT_POINTS;
	options.new_points = true;
	options.read = (struct sl_read_options){
		.max_bytes = (uint64_t)c->max_decompressed_bytes, .max_nodes = (uint64_t)c->max_nodes,
		.max_entries = (uint64_t)c->max_entries, .cancel = cancel,
	};
	int code = sl_uploaded_open(file, account, &source, err);
	if (!code)
		code = as_query(sl_points_read(out, &options, source, err), err);
	sl_source_close(source);
	return code;
}
