/* A layout becomes a table of points. A checkpoint that belongs to another run leaves the run unusable, so it is made
 * again. */
#include "daemon/device/make_run.h"

#include <math.h>
#include <stdlib.h>

#include "core/points/points.h"

static int make_table(struct sl_run_input *in, struct sl_points **out, struct sl_error *err)
{
	size_t values = (size_t)in->rows * in->columns;
	for (size_t at = 0; at < values; at++)
		if (!isfinite(in->init[at]))
			return sl_error_set(err, SL_BADDATA, "Row %zu of the layout has a coordinate that is not a finite number.",
					    at / in->columns + 1);
	struct sl_points *table = calloc(1, sizeof *table);
	if (!table)
		return sl_error_memory(err, "starting the job");
	*table = (struct sl_points){.n = in->rows, .n_user = in->rows, .d = in->columns, .type = SL_POINTS_F32,
				    .value = in->init};
	in->init = NULL;
	*out = table;
	return 0;
}

int sl_run_make(struct sl_run_input *in, struct sl_made_run *out, struct sl_error *err)
{
	const struct sl_method *method = in->method;
	bool edges = in->origin == SL_OF_EDGES;
	struct sl_method_input input = {.start = in->start, .start_kind = in->start ? in->start_kind : SL_START_NONE};
	*out = (struct sl_made_run){0};
	int code = in->init && !edges ? make_table(in, &out->table, err) : 0;
	if (code)
		return code;
	input.points = out->table ? out->table : in->points;
	if (edges) {
		input.edges = in->graph;
		input.init = in->init;
		input.columns = in->init ? in->columns : 0;
	}
	code = method->create(&out->run, &input, in->params, err);
	if (!code && in->checkpoint) {
		out->restored = !method->load(out->run, in->checkpoint, in->checkpoint_bytes, &out->checkpoint_err);
		if (out->restored) {
			out->checkpoint_err.code = 0;
		} else {
			method->destroy(out->run);
			code = method->create(&out->run, &input, in->params, err);
		}
	}
	if (code)
		out->run = NULL;
	return code;
}
