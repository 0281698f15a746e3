/* GET /v1/jobs/{id}/picture.png and picture.svg */
#include "core/names/clusters.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

static int read_form(struct sl_job *job, const struct sl_request *r, struct sl_picture_form *form, struct sl_error *err)
{
	int64_t width = SL_PICTURE_SIDE, height = SL_PICTURE_SIDE;
	int64_t dpi = 0, level = -1;
	bool legend = true;
	form->light = false;
	int code = sl_request_query_int(r, "width", 16, 4096, &width, err);
	if (!code)
		code = sl_request_query_int(r, "height", 16, 4096, &height, err);
	if (!code)
		code = sl_request_query_bool(r, "light", &form->light, err);
	if (!code)
		code = sl_request_query_bool(r, "legend", &legend, err);
	if (!code)
		code = sl_request_query_bool(r, "names", &form->names, err);
	if (!code && sl_request_query(r, "dpi"))
		code = sl_request_query_int(r, "dpi", 36, 1200, &dpi, err);
	if (!code && sl_request_query(r, "clusters"))
		code = sl_request_query_int(r, "clusters", 0, SL_MAP_LEVELS - 1, &level, err);
	form->clusters_level = (int)level;
	if (!code)
		code = sl_picture_form_colour(job, r, sl_request_query(r, "color"), form, err);
	form->width = (int)width;
	form->height = (int)height;
	form->dpi = (int)dpi;
	form->wordless = !legend;
	return code;
}

static void reply(struct sl_request *r, bool svg)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_picture_form form = {.svg = svg};
	struct sl_error err;
	if (!job)
		return;
	if (read_form(job, r, &form, &err) || sl_picture_form_layout(&job, r, sl_request_query(r, "layout"), &form, &err))
		sl_reply_error(r, &err);
	else
		sl_job_reply_picture(job, r, &form);
}

void sl_route_job_picture(struct sl_request *r)
{
	reply(r, false);
}

void sl_route_job_picture_svg(struct sl_request *r)
{
	reply(r, true);
}
