/* Makes the colours of a picture from a column of labels or numbers, the clusters of a job, or the values of a
 * signal. */
#include "daemon/jobs/results/colour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/numpy/npy.h"
#include "core/picture/picture_steps.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/columns/column_order.h"
#include "daemon/graphs/nodes.h"

static int memory_error(struct sl_error *err)
{
	return sl_error_memory(err, "the colours of a picture");
}

static int make_room(struct sl__colours *c, uint32_t nodes, uint32_t labels, struct sl_error *err)
{
	c->labels = labels;
	c->value = calloc((size_t)nodes + 1, sizeof *c->value);
	c->name = calloc((size_t)labels + 1, sizeof *c->name);
	return c->value && c->name ? 0 : memory_error(err);
}

/* The last label stands for nodes that have none. */
static int finish_labels(struct sl__colours *c, struct sl_error *err)
{
	c->none = true;
	c->name[c->labels - 1] = strdup("none");
	for (uint32_t k = 0; k < c->labels; k++)
		if (!c->name[k])
			return memory_error(err);
	return 0;
}

/* ---- words ------------------------------------------------------------------------------ */

/* The order and the colours that the column's owner gave to its categories. */
static int take_order(struct sl__colours *c, const struct sl_column *from, uint32_t count, struct sl_error *err)
{
	const json_t *colors = json_object_get(from->description, "colors");
	c->ordered = json_is_true(json_object_get(from->description, "ordered"));
	if (!count || json_array_size(colors) != count)
		return 0;
	c->colour = calloc((size_t)count + 1, sizeof *c->colour);
	for (uint32_t k = 0; k < count && c->colour; k++)
		sl__column_colour(json_string_value(json_array_get(colors, k)), &c->colour[k]);
	return c->colour ? 0 : memory_error(err);
}

static int by_categories(struct sl__colours *c, const struct sl_column *from, uint32_t nodes, struct sl_error *err)
{
	const json_t *categories = json_object_get(from->description, "categories");
	uint32_t count = (uint32_t)json_array_size(categories);
	int rc = make_room(c, nodes, count + 1, err);
	for (uint32_t k = 0; k < count && !rc; k++) {
		const char *name = json_string_value(json_array_get(categories, k));
		c->name[k] = strdup(name ? name : "");
	}
	for (uint32_t i = 0; i < nodes && !rc; i++) {
		uint32_t code = ((const uint32_t *)from->value)[i];
		c->value[i] = code < count ? code : count;
	}
	if (!rc)
		rc = take_order(c, from, count, err);
	return rc ? rc : finish_labels(c, err);
}

/* ---- numbers ------------------------------------------------------------------------------ */

static int by_numbers(struct sl__colours *c, const struct sl_column *from, uint32_t nodes, struct sl_error *err)
{
	struct sl_picture_steps steps;
	int rc = sl_picture_steps_create(&steps, from->value, nodes, err);
	*c = (struct sl__colours){.labels = steps.labels, .value = steps.label, .name = steps.name, .scale = true,
				  .none = true};
	return rc;
}

/* ---- clusters ------------------------------------------------------------------------------- */

static int by_clusters(struct sl__colours *c, const char *folder, const char *job, uint32_t nodes, struct sl_error *err)
{
	void *file = NULL;
	size_t size;
	char name[16];
	int32_t most = -1;
	int rc = sl_job_file_read(folder, job, "labels", &file, &size, err);
	if (!rc && size != SL_NPY_HEADER_BYTES + (size_t)nodes * sizeof(int32_t))
		rc = sl_error_field(err, SL_BADPARAM, "?color", "The clusters of job %s are of other nodes.", job);
	const int32_t *label = rc ? NULL : (const int32_t *)((const char *)file + SL_NPY_HEADER_BYTES);
	for (uint32_t i = 0; i < nodes && !rc; i++)
		most = label[i] > most ? label[i] : most;
	if (!rc)
		rc = make_room(c, nodes, (uint32_t)(most + 2), err);
	for (uint32_t i = 0; i < nodes && !rc; i++)
		c->value[i] = label[i] >= 0 ? (uint32_t)label[i] : (uint32_t)(most + 1);
	for (int32_t k = 0; k <= most && !rc; k++) {
		snprintf(name, sizeof name, "%d", k);
		c->name[k] = strdup(name);
	}
	free(file);
	c->title = "cluster";
	return rc ? rc : finish_labels(c, err);
}

#define ELLIPSES_MOST 4096

/* The parts of a mixture of points in the plane. */
static int add_ellipses(struct sl__colours *c, const char *folder, const struct sl_picture_form *form,
			struct sl_error *err)
{
	struct sl_method_array model[SL_METHOD_ARRAYS];
	void *file[SL_METHOD_ARRAYS] = {NULL};
	const struct sl_method *method = form->mixture;
	double (*part)[5] = calloc(ELLIPSES_MOST, sizeof *part);
	c->ellipse = calloc(ELLIPSES_MOST, sizeof *c->ellipse);
	int rc = part && c->ellipse ? 0 : memory_error(err);
	for (int i = 0; method->model[i] && !rc; i++)
		rc = sl__array_read(folder, form->clusters, method->model[i], &model[i], &file[i], err);
	uint32_t parts = rc ? 0 : method->ellipses(&form->mixture_params, model, part, ELLIPSES_MOST);
	for (uint32_t i = 0; i < parts && i < ELLIPSES_MOST; i++)
		c->ellipse[c->ellipses++] = (struct sl_picture_ellipse){
			{part[i][0], part[i][1]}, {part[i][2], part[i][3], part[i][4]}, i};
	if (!rc && !parts)
		rc = sl_error_set(err, SL_IO, "The arrays of job %s do not belong together.", form->clusters);
	for (int i = 0; i < SL_METHOD_ARRAYS; i++)
		free(file[i]);
	free(part);
	return rc;
}

/* ---- values --------------------------------------------------------------------------------- */

/* The first value of each node, of a job that gives values. */
static int by_values(struct sl__colours *c, const char *folder, const struct sl_picture_form *form, uint32_t nodes,
		     struct sl_error *err)
{
	struct sl_picture_steps steps;
	float *values = NULL, *first = malloc((size_t)nodes * sizeof *first + 1);
	size_t columns = (size_t)form->columns;
	int rc = first ? sl_job_file_read_layout(folder, form->clusters, form->values, nodes, form->columns, &values, err) :
			 memory_error(err);
	for (uint32_t i = 0; i < nodes && !rc; i++)
		first[i] = values[i * columns + (size_t)form->shown];
	if (!rc)
		rc = sl_picture_steps_create(&steps, first, nodes, err);
	if (!rc)
		*c = (struct sl__colours){.labels = steps.labels, .value = steps.label, .name = steps.name, .scale = true,
					  .none = true, .title = form->values};
	free(values);
	free(first);
	return rc;
}

/* ---- all ---------------------------------------------------------------------------------- */

static int by_column(struct sl__colours *c, const struct sl_result *r, const char *name, struct sl_error *err)
{
	const struct sl_column_source from = {.path = r->columns_path, .id = r->graph_id, .own = r->own_labels,
					      .nodes = r->nodes, .data = r->content, .neighbours = r->neighbours};
	struct sl_column_read read;
	if (!r->content)
		return sl_error_field(err, SL_BADPARAM, "?color", "The graph with its labels has been deleted; color must be "
				      "auto or density.");
	int rc = sl_column_read(&read, &from, name, err);
	if (rc == SL_NOTFOUND)
		sl_error_field(err, SL_BADPARAM, "?color", "The graph has no column of labels named %.64s; color must be auto, "
			       "density, degree, job: and the id of a job kmeans, gmm or signal, or a "
			       "column that /v1/graphs/%s/labels lists.", name, r->graph_id);
	if (!rc)
		rc = strcmp(sl_column_kind(&read.column), "number") ? by_categories(c, &read.column, r->nodes, err)
								    : by_numbers(c, &read.column, r->nodes, err);
	if (!rc)
		c->title = c->owned_title = strdup(sl_column_name(&read.column));
	sl_column_read_finish(&read);
	return rc == SL_NOTFOUND ? SL_BADPARAM : rc;
}

int sl__colours_make(struct sl__colours *c, const struct sl_result *r, struct sl_error *err)
{
	const struct sl_picture_form *form = &r->picture;
	*c = (struct sl__colours){.labels = 0};
	if (form->clusters[0] && form->columns)
		return by_values(c, r->folder, form, r->nodes, err);
	if (form->clusters[0]) {
		int rc = by_clusters(c, r->folder, form->clusters, r->nodes, err);
		return rc || !form->mixture ? rc : add_ellipses(c, r->folder, form, err);
	}
	if (form->column[0])
		return by_column(c, r, form->column, err);
	return 0;
}

void sl__colours_finish(struct sl__colours *c)
{
	for (uint32_t k = 0; c->name && k < c->labels; k++)
		free(c->name[k]);
	free(c->name);
	free(c->value);
	free(c->ellipse);
	free(c->colour);
	free(c->owned_title);
}
