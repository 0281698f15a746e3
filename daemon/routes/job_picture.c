/* GET /v1/jobs/{id}/picture.png and picture.svg */
#include <string.h>

#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

static int read_form(const struct sl_request *r, struct sl_picture_form *form, struct sl_error *err)
{
	const char *colour = sl_request_query(r, "color");
	int64_t width = SL_PICTURE_SIDE, height = SL_PICTURE_SIDE;
	form->light = false;
	int code = sl_request_query_int(r, "width", 16, 4096, &width, err);
	if (!code)
		code = sl_request_query_int(r, "height", 16, 4096, &height, err);
	if (!code)
		code = sl_request_query_bool(r, "light", &form->light, err);
	if (!code && colour && strcmp(colour, "auto") && strcmp(colour, "label") && strcmp(colour, "density"))
		code = sl_error_field(err, SL_BADPARAM, "?color", "color must be one of auto, label, density.");
	form->width = (int)width;
	form->height = (int)height;
	form->colour = !colour || !strcmp(colour, "auto") ? SL_COLOUR_AUTO :
		       !strcmp(colour, "label") ? SL_COLOUR_LABEL : SL_COLOUR_DENSITY;
	return code;
}

static void reply(struct sl_request *r, bool svg)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_picture_form form = {.svg = svg};
	struct sl_error err;
	if (job && read_form(r, &form, &err))
		sl_reply_error(r, &err);
	else if (job)
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
