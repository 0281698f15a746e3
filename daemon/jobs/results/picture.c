/* Draws pictures of finished layouts. The picture in the default form is stored beside the layout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/picture/picture.h"
#include "core/points/points.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/nodes.h"
#include "daemon/graphs/rows/clusters/clusters.h"
#include "daemon/jobs/results/colour.h"
#include "daemon/users/bookings.h"
#include "daemon/users/users.h"
#include "daemon/util/buffer.h"

/* placed[i] is 1 if node i has an edge in the embedding. */
static uint8_t *placed_nodes(const struct sl_graph *g, bool drop_leaf_edges)
{
	uint8_t *placed = calloc(g->n, 1);
	for (uint32_t i = 0; placed && i < g->n; i++)
		for (uint64_t e = g->start[i]; e < g->start[i + 1]; e++) {
			uint32_t other = g->node[e];
			uint64_t own = g->start[i + 1] - g->start[i], theirs = g->start[other + 1] - g->start[other];
			if (drop_leaf_edges && g->symmetric && (own == 1 || theirs == 1))
				continue;
			placed[i] = placed[other] = 1;
		}
	return placed;
}

/* placed[i] is 1 if point i was laid out, 0 if it was dropped for a NaN. */
static uint8_t *placed_points(const struct sl_points *p)
{
	uint8_t *placed = p->user ? calloc(p->n_user, 1) : NULL;
	for (uint32_t i = 0; placed && i < p->n; i++)
		placed[p->user[i]] = 1;
	return placed;
}

/* NULL: all nodes; also without memory, since the picture is nearly the same. */
static uint8_t *placed(const struct sl_result *r)
{
	if (!r->content)
		return NULL;
	return r->content->graph ? placed_nodes(r->content->graph, r->drop_leaf_edges) : placed_points(r->content->points);
}

/* Reads the stored default picture, if there is one and it is undamaged. */
static int read_kept(struct sl_result *r)
{
	void *bytes;
	size_t size;
	int code = sl_job_file_read(r->folder, r->id, "png", &bytes, &size, NULL);
	return code ? code : sl_buffer_of(&r->text, bytes, size, &r->err);
}

/* A picture by labels that may change gets an ETag from its content. */
static void name_by_content(struct sl_result *r)
{
	unsigned char digest[16];
	char hex[33];
	crypto_generichash(digest, sizeof digest, r->text->data, r->text->bytes, NULL, 0);
	sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
	snprintf(r->etag, sizeof r->etag, "%s-%s", r->id, hex);
}

/* The names of the layout's clusters, borrowed from *clusters, which the caller releases; malloc'd. */
static int name_clusters(struct sl_result *r, json_t **clusters, struct sl_picture_map_name **out, uint32_t *count)
{
	const struct sl_clusters_query q = {.folder = r->folder, .job = r->id, .graph = r->graph_id, .dims = r->dims,
					    .given = r->cluster_names, .blind = r->blind};
	json_t *cluster;
	size_t k;
	if (r->picture.clusters_level < 0 || !r->content)
		return 0;
	int code = sl_clusters_named(r->job->jobs->d->graphs, &q, r->y, r->nodes, r->own_labels, r->content, &r->account,
				     clusters, &r->err);
	const json_t *levels = json_object_get(*clusters, "levels");
	size_t last = json_array_size(levels), level = (size_t)r->picture.clusters_level;
	if (code || !last)
		return code;
	const json_t *list = json_object_get(json_array_get(levels, level < last ? level : last - 1), "clusters");
	*out = calloc(json_array_size(list) + 1, sizeof **out);
	if (!*out)
		return sl_error_memory(&r->err, "the names of clusters");
	json_array_foreach(list, k, cluster) {
		const char *name = json_string_value(json_object_get(cluster, "name"));
		const json_t *at = json_object_get(cluster, "center");
		if (name)
			(*out)[(*count)++] = (struct sl_picture_map_name){name, {json_number_value(json_array_get(at, 0)),
										 json_number_value(json_array_get(at, 1))}};
	}
	return 0;
}

static int make_picture(struct sl_result *r)
{
	const struct sl_picture_form *form = &r->picture;
	struct sl__colours colours;
	void *bytes;
	size_t size;
	bool chosen = form->density || form->column[0] || form->clusters[0];
	bool usual = form->width == SL_PICTURE_SIDE && form->height == SL_PICTURE_SIDE && !form->light && !form->svg &&
		     !form->wordless && !form->names && form->clusters_level < 0 && !form->dpi && !chosen;
	if (usual && !read_kept(r))
		return 0;
	int code = sl__colours_make(&colours, r, &r->err);
	if (code) {
		sl__colours_finish(&colours);
		return code;
	}
	_Static_assert(SL_UNLABELLED == SL_PICTURE_NO_LABEL, "labels of an upload are labels of a picture");
	if (!chosen && r->names && r->names->label)   /* borrowed */
		colours = (struct sl__colours){.labels = r->names->labels, .value = r->names->label,
					       .name = r->names->label_name, .title = r->own_labels};
	json_t *clusters = NULL;
	struct sl_picture_map_name *map_name = NULL;
	uint32_t map_names = 0;
	code = name_clusters(r, &clusters, &map_name, &map_names);
	uint8_t *shown = placed(r);
	struct sl_picture_options options = {
		.width = form->width, .height = form->height, .light = form->light, .placed = shown,
		.legend = colours.labels > 0 && !form->wordless, .legend_title = colours.title,
		.names = form->names, .map_name = map_name, .map_names = map_names, .dpi = form->dpi,
		.label_name = (const char *const *)colours.name,
		.scale = colours.scale, .none = colours.none, .ordered = colours.ordered, .colour = colours.colour,
		.ellipse = colours.ellipse, .ellipses = colours.ellipses,
	};
	if (!code)
		code = (form->svg ? sl_picture_svg : sl_picture_png)(&options, r->y, r->nodes, r->dims, colours.value,
								 colours.labels, &bytes, &size, &r->err);
	if (!code)
		code = sl_buffer_of(&r->text, bytes, size, &r->err);
	free(shown);
	free(map_name);
	json_decref(clusters);
	if (chosen)
		sl__colours_finish(&colours);
	if (!code && ((colours.labels && chosen) || form->clusters_level >= 0))
		name_by_content(r);
	if (!code && usual)  /* a failure does not matter, since it can be made again */
		sl_job_file_write(r->folder, r->id, "png", NULL, 0, r->text->data, r->text->bytes, NULL, false, NULL);
	return code;
}

/* Finds the job whose clusters give the colours. */
static int find_clusters(struct sl_job *job, const struct sl_request *r, const char *id, struct sl_picture_form *form,
			 struct sl_error *err)
{
	struct sl_job *from;
	int code = sl__job_match(job->jobs, id, &from, err);
	if (code || !sl_request_sees(r, from->record.id))
		return sl_error_field(err, SL_BADPARAM, "?color", "There is no job %.64s; color=job: needs the id of a job "
				      "kmeans, gmm or signal.", id);
	const struct sl_method *method = from->record.work.method;
	form->columns = method->values ? method->value_columns(&from->record.work.params) : 0;
	form->values = method->results[0].name;
	if (!form->columns && sl_method_result_index(method, "labels") < 0)
		return sl_error_field(err, SL_BADPARAM, "?color", "Job %s is of method %s, which gives no labels to colour by; "
				      "jobs kmeans, gmm and signal do.", from->record.id, method->name);
	if (!from->record.has_results || !sl__job_ended(from))
		return sl_error_field(err, SL_CONFLICT, "?color", "Job %s is %s; it has clusters when it is done.",
				      from->record.id, sl_job_state_name[from->life.state]);
	if (strcmp(from->record.graph, job->record.graph) != 0)
		return sl_error_field(err, SL_BADPARAM, "?color", "The clusters of job %s are of graph %s; this layout is of "
				      "graph %s.", from->record.id, from->record.graph, job->record.graph);
	memcpy(form->clusters, from->record.id, sizeof form->clusters);
	const char *layout = json_string_value(json_object_get(from->record.input, "job"));
	bool of_this_layout = from->record.work.columns == 2 && layout && !strcmp(layout, job->record.id);
	form->mixture = from->record.work.method->ellipses && of_this_layout ? from->record.work.method : NULL;
	form->mixture_params = from->record.work.params;
	return 0;
}

/* This prefix allows any name of a column, also one with another meaning: "column:auto". */
#define COLUMN "column:"

/* What the sender of a request may see of the graph's labels on this job. */
struct viewer {
	const struct sl_job *job;
	const struct sl_request *r;
};

static bool may_see(void *arg, const char *column)
{
	const struct viewer *v = arg;
	return sl_users_shows(v->job->jobs->d->users, sl_request_who(v->r), v->job->record.graph, column);
}

/* Chooses among the columns that the sender may see, if these are not all: the first choice of those, else density. */
static void choose_shown(struct sl_job *job, const struct sl_request *r, struct sl_picture_form *form)
{
	struct viewer viewer = {job, r};
	json_t *list = sl_graph_columns_shown(job->jobs->d->graphs, job->record.graph, may_see, &viewer), *one;
	size_t i;
	form->density = true;
	json_array_foreach(list, i, one) {
		if (!json_object_get(one, "auto"))
			continue;
		snprintf(form->column, sizeof form->column, "%s", json_string_value(json_object_get(one, "name")));
		form->density = false;
	}
	json_decref(list);
}

/* True if the sender may read the graph; if that is deleted, the owners of the job may see what is left. */
static bool reads_graph(const struct sl_job *job, const struct sl_request *r)
{
	const struct sl_daemon *d = job->jobs->d;
	bool there = sl_graphs_find(d->graphs, job->record.graph);
	return !sl_users_may(d->users, sl_request_who(r), there ? SL_VERB_READ : SL_VERB_CHANGE,
			     there ? job->record.graph : job->record.id);
}

int sl_picture_form_colour(struct sl_job *job, const struct sl_request *r, const char *color,
			   struct sl_picture_form *form, struct sl_error *err)
{
	struct viewer viewer = {job, r};
	bool all = reads_graph(job, r);
	form->density = color && !strcmp(color, "density");
	if (form->density)
		return 0;
	if ((!color || !strcmp(color, "auto")) && !all) {
		choose_shown(job, r, form);
		return 0;
	}
	if (!color || !strcmp(color, "auto")) {
		enum sl_column_choice choice = sl_column_choose(job->jobs->d->graphs, job->record.graph, form->column,
								sizeof form->column);
		form->density = choice == SL_CHOICE_DENSITY;
		if (choice != SL_CHOICE_COLUMN)
			form->column[0] = '\0';
		return 0;
	}
	if (!strncmp(color, "job:", 4))
		return find_clusters(job, r, color + 4, form, err);
	const char *name = strncmp(color, COLUMN, strlen(COLUMN)) ? color : color + strlen(COLUMN);
	if (snprintf(form->column, sizeof form->column, "%s", name) >= (int)sizeof form->column || !name[0])
		return sl_error_field(err, SL_BADPARAM, "?color", "color must be auto, density, degree, job: and the id of a "
				      "job kmeans, or the name of a column of labels, also with column: before it.");
	if (!all && !may_see(&viewer, name))
		return sl_error_field(err, SL_BADPARAM, "?color", "Job %s shows you no column of labels named %.64s; "
				      "/v1/jobs/%s/labels lists what it shows.", job->record.id, name, job->record.id);
	return 0;
}

int sl_picture_form_layout(struct sl_job **job, const struct sl_request *r, const char *layout,
			   struct sl_picture_form *form, struct sl_error *err)
{
	struct sl_job *signal = *job, *on;
	if (!signal->record.work.method->values)
		return layout ? sl_error_field(err, SL_BADPARAM, "?layout", "layout is for jobs of method signal; job %s is "
					       "of %s.", signal->record.id, signal->record.work.method->name) : 0;
	if (!layout)
		return sl_error_field(err, SL_CONFLICT, "?layout", "Job %s is of method %s and has no layout; layout=ID must "
				      "name a job on the same graph, on whose layout it is drawn.", signal->record.id,
				      signal->record.work.method->name);
	if (sl__job_match(signal->jobs, layout, &on, err) || !sl_request_sees(r, on->record.id))
		return sl_error_field(err, SL_BADPARAM, "?layout", "There is no job %.64s.", layout);
	if (!on->record.work.method->layout || strcmp(on->record.graph, signal->record.graph) != 0)
		return sl_error_field(err, SL_BADPARAM, "?layout", "Job %s gives no layout of graph %s.", on->record.id,
				signal->record.graph);
	*job = on;
	return find_clusters(on, r, signal->record.id, form, err);
}

void sl_job_reply_picture(struct sl_job *job, struct sl_request *r, const struct sl_picture_form *form)
{
	struct sl_result result = {.make = make_picture, .picture = *form,
				   .content_type = form->svg ? "image/svg+xml" : "image/png"};
	if (sl__result_missing(job, r))
		return;
	if (form->clusters_level >= 0 && sl__work_dims(&job->record.work) != 2) {
		sl_reply_problem(r, SL_BADPARAM, "clusters writes names on layouts in two dimensions; that of job %s has %d.",
				 job->record.id, sl__work_dims(&job->record.work));
		return;
	}
	if (form->clusters_level >= 0) {
		result.cluster_names = json_deep_copy(job->record.cluster_names);
		result.blind = !reads_graph(job, r);
		result.account = sl_bookings_account(job->jobs->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	}
	snprintf(result.etag, sizeof result.etag, "%s-%d-%d-%d-%d-%d%s%s%s", job->record.id, form->width, form->height,
		 form->dpi, form->density, form->light, form->wordless ? "-w" : "", form->names ? "-n" : "",
		 form->svg ? "-svg" : "");
	sl__result_reply_layout(job, r, &result);
}
