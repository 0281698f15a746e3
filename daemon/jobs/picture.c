/* Pictures of finished layouts. The default form is kept beside the layout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/picture.h"
#include "core/points/points.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"

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

/* The default picture as it was made before, if it was, and undamaged. */
static int read_kept(struct sl_result *r)
{
	return sl_job_file_read(r->folder, r->id, "png", &r->bytes, &r->size, NULL);
}

static int make_picture(struct sl_result *r)
{
	const struct sl_picture_form *form = &r->picture;
	bool usual = form->width == SL_PICTURE_SIDE && form->height == SL_PICTURE_SIDE && !form->light &&
		     form->colour == SL_COLOUR_AUTO && !form->svg;
	if (usual && !read_kept(r))
		return 0;
	bool by_label = r->names && r->names->label && form->colour != SL_COLOUR_DENSITY;
	if (!by_label && form->colour == SL_COLOUR_LABEL)
		return sl_error_field(&r->err, SL_BADPARAM, "?color",
				      "The graph has no labels to colour by; color must be auto or density.");
	uint8_t *shown = placed(r);
	struct sl_picture_options options = {
		.width = form->width, .height = form->height, .light = form->light, .legend = by_label,
		.placed = shown, .label_name = by_label ? (const char *const *)r->names->label_name : NULL,
	};
	int code = (form->svg ? sl_picture_svg : sl_picture_png)(&options, r->y, r->nodes, r->dims,
								 by_label ? r->names->label : NULL,
								 by_label ? r->names->labels : 0, &r->bytes, &r->size, &r->err);
	free(shown);
	if (!code && usual)  /* it can always be made again, so a full disk does not matter */
		sl_job_file_write(r->folder, r->id, "png", NULL, 0, r->bytes, r->size, NULL, false, NULL);
	return code;
}

void sl_job_reply_picture(struct sl_job *job, struct sl_request *r, const struct sl_picture_form *form)
{
	struct sl_result result = {.make = make_picture, .picture = *form,
				   .content_type = form->svg ? "image/svg+xml" : "image/png"};
	if (sl__result_missing(job, r))
		return;
	snprintf(result.etag, sizeof result.etag, "%s-%d-%d-%d-%d%s", job->id, form->width, form->height, (int)form->colour,
		 form->light, form->svg ? "-svg" : "");
	sl__result_reply(job, r, &result);
}
