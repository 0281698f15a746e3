/* Measures a layout: its divergence, its coordinates, its forces. */
#include "gpu/embedding/embedding.h"

#include <math.h>
#include <string.h>

#include "gpu/embedding/snapshot.h"

/* Computes both forces of the present layout, into points.attraction and points.repulsion, and report.z. settle: with
 * the accuracy of the end of a run. */
int sl__forces_now(struct sl_device_embedding *e, bool settle, struct sl_error *err)
{
	e->settle = settle;
	SL_RETURN(sl__device_enter(e->graph->device, err));
	int ready = sl__prepare(e, err);
	SL_RETURN(sl__meet_owners(e, ready ? ready : sl__control_up(e, NULL, err), err));
	SL_RETURN(sl__put_on_grids(e, err));
	int code = sl__queue(e, SL_STEP_NONE, err);
	e->graph->device->work->owner = NULL;  /* the charges are used up */
	return code;
}

static int measure_small(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	struct sl_stretch stretch = {.measure = true};
	int code = sl__run_small(e, &stretch, err);
	*out = stretch.measured;
	return code;
}

int sl__embedding_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	cudaStream_t stream = e->graph->device->stream;
	int code = 0;
	if (e->small.on)
		return measure_small(e, out, err);
	SL_TRY(sl__forces_now(e, true, err));
	SL_TRY(sl__freshen(e, err));
	if (!e->hybrid)
		SL_CUDA(sl__measure(&e->graph->matrix, &e->points, e->part, &e->control->report, stream));
	SL_TRY(sl__report_down(e, err));
	SL_TRY(sl__add_measures(e, err));
	if (e->hybrid)
		SL_TRY(sl__hybrid_measure(e->hybrid, &e->points, &e->report, stream, err));
	memset(out, 0, sizeof *out);
	out->z = e->report.z;
	out->kl = e->graph->entropy + e->nu * e->report.divergence + log(e->report.z);
	out->gradient_norm = sqrt(e->report.square) * e->scale;
	for (int k = 0; k < e->settings.dims; k++) {
		out->low[k] = e->report.low[k] * (float)e->scale;
		out->high[k] = e->report.high[k] * (float)e->scale;
	}
	if (!e->exact) {
		out->h = e->grid[0].h * e->scale;
		out->side = e->grid[0].side;
		out->coarse = sl__is_coarse(e);
	}
	out->finite = e->report.finite && isfinite(out->kl);
out:
	return code;
}

/* Copies points from the device, times scale, to [n * dims] on the host. */
static int points_scaled(struct sl_device_embedding *e, float *to, const float *from, double scale,
			 struct sl_error *err)
{
	SL_RETURN(sl__points_down(e, to, from, err));
	size_t count = e->n * (size_t)e->settings.dims;
	for (size_t i = 0; i < count && scale != 1; i++)
		to[i] = (float)((double)to[i] * scale);
	return 0;
}

int sl__embedding_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err)
{
	SL_RETURN(sl__device_enter(e->graph->device, err));
	SL_RETURN(sl__freshen(e, err));
	return y ? points_scaled(e, y, e->points.y, e->scale, err) : 0;
}

int sl__embedding_snapshot_start(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
				 struct sl_error *err)
{
	SL_RETURN(sl__device_enter(e->graph->device, err));
	SL_RETURN(sl__freshen(e, err));
	if (!out)
		return 0;
	return sl__snapshot_start(e->graph->device, &e->points, e->report.low, e->report.high, e->scale, quantise, out,
				  err);
}

int sl__embedding_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
			 struct sl_error *err)
{
	SL_RETURN(sl__forces_now(e, false, err));
	SL_RETURN(sl__gather_points(e, e->points.attraction, e->points.repulsion, err));
	SL_RETURN(sl__report_down(e, err));
	if (attraction)
		SL_RETURN(points_scaled(e, attraction, e->points.attraction, e->scale, err));
	if (repulsion)
		SL_RETURN(points_scaled(e, repulsion, e->points.repulsion, e->scale / e->report.z, err));
	if (z)
		*z = e->report.z;
	return 0;
}
