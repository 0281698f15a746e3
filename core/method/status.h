/* status.h -- the status of a run of a method: its progress, the points of its trace, and the reason of its end. */
#ifndef SL_METHOD_STATUS_H
#define SL_METHOD_STATUS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sl_trace_point {
	int iteration;          /* iterations done */
	double seconds;         /* compute time so far */
	double measure;         /* of the method (struct sl_method): KL divergence, inertia, stress, ... */
	/* only t-SNE; 0 in other methods: */
	double gradient_norm, z;
	float low[3], high[3];
	double h;               /* grid spacing, 0: no grid */
	double exaggeration, learning_rate, momentum;  /* in force */
};

enum sl_stop { SL_STOP_NOT_YET, SL_STOP_ITERATIONS, SL_STOP_GRADIENT, SL_STOP_KL, SL_STOP_TIME, SL_STOP_ASKED,
	       SL_STOP_CONVERGED };
/* "iterations", "gradient_norm", "kl", "time", "asked", "converged" */
const char *sl_stop_name(enum sl_stop stop);

struct sl_status {
	int iteration;           /* iterations done so far */
	int iterations;          /* iterations requested; with "auto", those of the present plan */
	double seconds;          /* compute time so far */
	double measure;          /* the method's, at the newest trace point; NaN before it */
	double gradient_norm;    /* NaN in other methods than t-SNE */
	double model_time;       /* signals: time of the model; 0 in other methods */
	bool held;               /* the iteration of pause_at was reached: the job is to be paused. Told once */
	bool done;
	enum sl_stop stop;
};

#ifdef __cplusplus
}
#endif
#endif
