/* Looking at a layout: its divergence, its coordinates, its forces, and what the parts of an iteration take. */
#include "gpu/embedding/embedding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/embedding/snapshot.h"

/* Both forces of the layout as it stands, in points.attraction and points.repulsion, and report.z. settle: as exact as
 * those at the end of a run. */
static int forces(struct sl_device_embedding *e, bool settle, struct sl_error *err)
{
	e->settle = settle;
	int code = sl__device_enter(e->graph->device, err);
	if (!code)
		code = sl__prepare(e, err);
	if (!code)
		code = sl__control_up(e, NULL, err);
	if (!code)
		code = sl__put_on_grids(e, err);
	if (!code)
		code = sl__queue(e, SL_STEP_NONE, err);
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
	if (e->small.on)
		return measure_small(e, out, err);
	int code = forces(e, true, err);
	if (code)
		return code;
	if (!e->hybrid)
		SL_CUDA(sl__measure(&e->graph->matrix, &e->points, e->part, &e->control->report, e->graph->device->stream));
	code = sl__report_down(e, err);
	if (!code && e->hybrid)
		code = sl__hybrid_measure(e->hybrid, &e->points, &e->report, e->graph->device->stream, err);
	if (code)
		return code;
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
	}
	out->finite = e->report.finite && isfinite(out->kl);
out:
	return code;
}

int sl__embedding_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err)
{
	int code = sl__device_enter(e->graph->device, err);
	if (!code)
		code = sl__points_down(e, y, e->points.y, err);
	if (!code && e->scale != 1)
		sl__scaled(y, y, e->scale, e->n * (size_t)e->settings.dims);
	return code;
}

int sl__embedding_snapshot_start(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
			       struct sl_error *err)
{
	int code = sl__device_enter(e->graph->device, err);
	return code ? code : sl__snapshot_start(e->graph->device, &e->points, e->report.low, e->report.high, e->scale,
						quantise, out, err);
}

int sl__embedding_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
		       struct sl_error *err)
{
	int code = forces(e, false, err);
	if (!code)
		code = sl__report_down(e, err);
	size_t floats = e->n * (size_t)e->settings.dims;
	if (!code && attraction)
		code = sl__points_down(e, attraction, e->points.attraction, err);
	if (!code && attraction)
		sl__scaled(attraction, attraction, e->scale, floats);
	if (!code && repulsion)
		code = sl__points_down(e, repulsion, e->points.repulsion, err);
	if (!code && repulsion)
		sl__scaled(repulsion, repulsion, e->scale / e->report.z, floats);
	if (!code && z)
		*z = e->report.z;
	return code;
}

/* ---- phases ----------------------------------------------------------------------------------------------- */

/* A small embedding has no phases: its iterations are one kernel. */
static int time_small(struct sl_device_embedding *e, struct sl_phase *out, struct sl_error *err)
{
	struct sl_stretch stretch = {.step = {.exaggeration = 1}, .iterations = SL_PART_ITERATIONS};
	uint64_t layout = sl__point_bytes(e->n, &e->settings);
	int code = 0;
	double took[SL_PART_ROUNDS] = {0};
	for (int i = -1; i < SL_PART_ROUNDS && !code; i++) {
		double began = sl__part_clock();
		code = sl__run_small(e, &stretch, err);
		took[i < 0 ? 0 : i] = (sl__part_clock() - began) / SL_PART_ITERATIONS;
	}
	sl__part_median(took, SL_PART_ROUNDS, out);
	out->name = "iteration, one cluster";
	out->bytes = (e->graph->small.bytes + 6 * layout) / SL_PART_ITERATIONS + 1;  /* once a launch */
	return code ? code : 1;
}

/* Steps of length 0 lead nowhere. *still: the layout did not leave the grids, which move a little, so that all was done
 * that was timed. */
static int time_parts(struct sl_device_embedding *e, struct sl_phase *out, int max, bool *still, struct sl_error *err)
{
	static const struct sl_step nowhere = {.exaggeration = 1};
	int code = forces(e, false, err);  /* what the parts leave each other, each finds from the start */
	if (!code)
		code = sl__report_down(e, err);
	if (!code)
		code = sl__control_up(e, &nowhere, err);
	if (code)
		return code;
	struct sl_parts parts = {
		.e = e, .queue = sl__queue_part, .n = e->n, .dims = e->settings.dims, .stride = e->stride,
		.matrix_bytes = e->hybrid ? 8 * (e->graph->matrix.m + e->n) : e->graph->bytes,
		.exact = e->exact, .split = sl__is_split(e), .splits = e->splits, .levels = e->levels,
		.smooth = sl__is_smooth(e),
	};
	for (int k = 0; k < e->levels && !e->exact; k++)
		parts.own_fft[k] = e->plan[k]->transform->own;
	int count = sl__time_parts(e->graph->device, &parts, out, max, err);
	if (count >= 0)
		code = sl__report_down(e, err);
	*still = e->report.state == SL_GO;
	return code ? code : count;
}

/* Velocities and gains, which steps change, are saved and put back. */
int sl__embedding_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err)
{
	uint64_t bytes = sl__state_bytes(e);
	void *state = malloc(bytes);
	struct sl_phase whole = {0};
	bool still = true;
	int code = state ? 0 : sl_error_set(err, SL_NOMEM, "No memory to measure the phases of %u nodes.", e->n);
	if (!code)
		code = sl__state_save(e, state, err);
	if (code)
		goto out;
	code = e->small.on ? time_small(e, max > 0 ? out : &whole, err) : time_parts(e, out, max, &still, err);
	if (code >= 0 && !still) {
		e->chosen = false;  /* new grids have room */
		code = time_parts(e, out, max, &still, err);
	}
	int restored = sl__state_load(e, state, bytes, code < 0 ? NULL : err);
	code = code < 0 || !restored ? code : restored;
out:
	free(state);
	return code;
}
