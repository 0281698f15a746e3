/* make_run.h -- makes the run of a job that is computed from points, a layout or edges (core/method/method.h). Any
 * thread; it may take long. */
#ifndef SL_DEVICE_MAKE_RUN_H
#define SL_DEVICE_MAKE_RUN_H

#include "core/method/method.h"

/* What a run is made from; borrowed unless stated otherwise. */
struct sl_run_input {
	const struct sl_method *method;
	const void *params;
	enum sl_origin origin;           /* not SL_OF_AFFINITIES */
	const struct sl_points *points;  /* OF_POINTS */
	const struct sl_graph *graph;    /* OF_EDGES */
	float *init;                     /* malloc'd [rows * columns]. OF_LAYOUT: the layout; OF_EDGES: an initial state, or
					    NULL */
	uint32_t rows, columns;
	const double *start;             /* as in struct sl_method_input; NULL: none */
	enum sl_start start_kind;
	const void *checkpoint;          /* NULL: none */
	uint64_t checkpoint_bytes;
};

struct sl_made_run {
	void *run;                       /* NULL after an error */
	struct sl_points *table;         /* OF_LAYOUT: the layout, which the run borrows; owned by the caller */
	bool restored;                   /* it has loaded the checkpoint */
	struct sl_error checkpoint_err;  /* why not; code 0: there was none, or it has */
};

/* Makes the run and loads its checkpoint; if that cannot be read, the run starts from the beginning. Of a layout, *init
 * moves into the table and becomes NULL. */
int sl_run_make(struct sl_run_input *in, struct sl_made_run *out, struct sl_error *err);

#endif
