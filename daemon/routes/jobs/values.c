/* GET /v1/jobs/{id}/values: the newest values of a signal, also while it runs. */
#include <string.h>

#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_values(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	const char *format = sl_request_query(r, "format");
	struct sl_error err;
	if (!job)
		return;
	if (!format || !strcmp(format, "npy") || !strcmp(format, "csv")) {
		sl_job_reply_values(job, r, format && !strcmp(format, "csv") ? SL_LAYOUT_CSV : SL_LAYOUT_NPY);
		return;
	}
	sl_error_field(&err, SL_BADPARAM, "?format", "format must be npy or csv.");
	sl_reply_error(r, &err);
}
