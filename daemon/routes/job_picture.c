/* GET /v1/jobs/{id}/picture.png. The default form is kept beside the layout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/picture.h"
#include "daemon/routes/job_result.h"
#include "daemon/routes/routes.h"
#include "daemon/store/job_files.h"

#define SIDE 1024

enum colour { BY_LABEL_IF_ANY, BY_LABEL, BY_DENSITY };
enum number { WIDTH, HEIGHT, COLOUR, LIGHT };

/* placed[i]: does node i have an edge that the embedding followed? */
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

/* ... was point i laid out, or dropped for a NaN? */
static uint8_t *placed_points(const struct sl_points *p)
{
	uint8_t *placed = p->user ? calloc(p->n_user, 1) : NULL;
	for (uint32_t i = 0; placed && i < p->n; i++)
		placed[p->user[i]] = 1;
	return placed;
}

/* NULL: all of them, or no memory, which is as good. */
static uint8_t *placed(const struct sl_result *r)
{
	if (!r->content)
		return NULL;
	return r->content->graph ? placed_nodes(r->content->graph, r->drop_leaf_edges) : placed_points(r->content->points);
}

/* The default picture as it was made before, if it was. */
static int read_kept(struct sl_result *r)
{
	char *path = sl_job_file_path(r->folder, r->id, "png");
	FILE *file = path ? fopen(path, "rb") : NULL;
	long size = -1;
	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size > 0 && (r->bytes = malloc((size_t)size))) {
		rewind(file);
		r->size = fread(r->bytes, 1, (size_t)size, file);
		if (r->size != (size_t)size) {
			free(r->bytes);
			r->bytes = NULL;
		}
	}
	if (file)
		fclose(file);
	free(path);
	return r->bytes ? 0 : SL_NOTFOUND;
}

static int make_picture(struct sl_result *r)
{
	bool usual = r->numbers[WIDTH] == SIDE && r->numbers[HEIGHT] == SIDE && !r->numbers[LIGHT] &&
		     r->numbers[COLOUR] == BY_LABEL_IF_ANY;
	if (usual && !read_kept(r))
		return 0;
	bool by_label = r->names && r->names->label && r->numbers[COLOUR] != BY_DENSITY;
	if (!by_label && r->numbers[COLOUR] == BY_LABEL)
		return sl_error_field(&r->err, SL_BADPARAM, "?color",
				      "The graph has no labels to colour by; color must be auto or density.");
	uint8_t *shown = placed(r);
	struct sl_picture_options options = {
		.width = r->numbers[WIDTH], .height = r->numbers[HEIGHT], .light = r->numbers[LIGHT], .legend = by_label,
		.placed = shown, .label_name = by_label ? (const char *const *)r->names->label_name : NULL,
	};
	int code = sl_picture_png(&options, r->y, r->nodes, r->dims, by_label ? r->names->label : NULL,
				  by_label ? r->names->labels : 0, &r->bytes, &r->size, &r->err);
	free(shown);
	if (!code && usual)  /* it can always be made again, so a full disk does not matter */
		sl_job_file_write(r->folder, r->id, "png", NULL, 0, r->bytes, r->size, false, NULL);
	return code;
}

static int read_form(const struct sl_request *r, struct sl_result *result, struct sl_error *err)
{
	const char *colour = sl_request_query(r, "color");
	int64_t width = SIDE, height = SIDE;
	bool light = false;
	int code = sl_request_query_int(r, "width", 16, 4096, &width, err);
	if (!code)
		code = sl_request_query_int(r, "height", 16, 4096, &height, err);
	if (!code)
		code = sl_request_query_bool(r, "light", &light, err);
	if (!code && colour && strcmp(colour, "auto") && strcmp(colour, "label") && strcmp(colour, "density"))
		code = sl_error_field(err, SL_BADPARAM, "?color", "color must be one of auto, label, density.");
	result->numbers[WIDTH] = (int)width;
	result->numbers[HEIGHT] = (int)height;
	result->numbers[LIGHT] = light;
	result->numbers[COLOUR] = !colour || !strcmp(colour, "auto") ? BY_LABEL_IF_ANY :
				  !strcmp(colour, "label") ? BY_LABEL : BY_DENSITY;
	return code;
}

void sl_route_job_picture(struct sl_request *r)
{
	struct sl_job *job = sl__job_of_request(r);
	struct sl_result result = {.make = make_picture, .content_type = "image/png"};
	struct sl_error err;
	if (!job)
		return;
	if (read_form(r, &result, &err)) {
		sl_reply_error(r, &err);
		return;
	}
	if (sl__result_missing(job, r))
		return;
	const int *n = result.numbers;
	snprintf(result.etag, sizeof result.etag, "%s-%d-%d-%d-%d", job->id, n[WIDTH], n[HEIGHT], n[COLOUR], n[LIGHT]);
	sl__result_reply(job, r, &result);
}
