/* method.h -- what a job computes (t-SNE, k-means, mixtures, Sammon's mapping), behind one table of functions.
 *
 *   const struct sl_method *method = sl_method_find("kmeans");
 *   sl_param_defaults(method->params, record);
 *   method->create(&run, &input, record, &err);
 *   while (!status.done) method->advance(run, 10.0, &status, &err);
 *   method->result(run, &result, &err);
 *   method->destroy(run);
 *
 * A method is a room of core/ that fills a struct sl_method, and a line in core/method/method.c. Scheduling,
 * checkpoints, traces, results, the API and the clients follow from the table.
 *
 * A run belongs to one thread at a time. It borrows its input until it is destroyed; destroy() itself does not touch
 * the input any more.
 *
 * The help of a device, for methods on points and edges (t-SNE gets its engine with the input). create() makes a run
 * that the processor computes. attach() then hands it the device of an engine: the run uploads what it has and computes
 * there from then on, by an operation of struct sl_engine that is optional (kmeans_passes; core/kmeans/device.c is an
 * example). So a method needs:
 *
 *   1. an operation in core/engine/engine.h, of which the method's room declares the arguments (core/kmeans/passes.h);
 *      the engine of gpu/ fills it, and tests/plugin/ has a plain one on the processor for tests of the server;
 *   2. helped(): whether the engine has the operation, and it computes with these parameters;
 *   3. device_bytes(): the memory that it will take there;
 *   4. attach().
 *
 * The server places a job whose method is helped by an engine on a device of that engine, as jobs of t-SNE: `auto` is
 * then the preferred engine. It makes and loads the run on any thread, attaches it on the device's thread, and destroys
 * it there. If the device has no room (SL_DEVMEM of attach), the processor computes the job, and the job's notes say
 * so.
 * States (save, load) do not depend on who computes: a run goes on elsewhere, also without a device. */
#ifndef SL_METHOD_H
#define SL_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/method/status.h"
#include "core/param_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_affinities;
struct sl_device;
struct sl_device_graph;
struct sl_embedding;
struct sl_engine;
struct sl_graph;
struct sl_points;

/* What it takes, as bits. */
#define SL_TAKES_GRAPH 1u   /* P, resident on a device: runs are created on that device's thread */
#define SL_TAKES_POINTS 2u  /* a table of points: runs are created on any thread, which may take long */
#define SL_TAKES_LAYOUT 4u  /* a layout, as a table of points */
#define SL_TAKES_EDGES 8u   /* a graph as it was uploaded, and perhaps an initial state: as with points,
		on any thread. With POINTS: what was uploaded decides; there is no initial state then */

struct sl_method_input {
	/* GRAPH */
	const struct sl_engine *engine;
	struct sl_device_graph *graph;
	const struct sl_affinities *affinities;
	const float *init;              /* as of sl_embedding_create(); EDGES: the initial state [n][columns], or NULL */
	/* POINTS, LAYOUT */
	const struct sl_points *points;
	/* EDGES; both are borrowed until create() is over, and no longer */
	const struct sl_graph *edges;
	uint32_t columns;               /* of init; 0: none */
	/* POINTS, LAYOUT: what to begin with, borrowed until create() is over; NULL: the run's own choice. Labels of the
	 * user's rows, as numbers, -1: none; or means [start_rows][columns of the points]. */
	const float *start;
	uint32_t start_rows;
	bool start_labels;
};

/* An array that a run gives. */
enum sl_array_type { SL_ARRAY_FLOAT32, SL_ARRAY_INT32, SL_ARRAY_FLOAT64 };
struct sl_method_array {
	const char *name;               /* one of sl_method.results, or of sl_method.predicts */
	enum sl_array_type type;
	uint32_t shape[3];              /* 0 from the second on: no more dimensions */
	void *data;                     /* malloc'd */
};
#define SL_METHOD_ARRAYS 6
uint64_t sl_method_array_bytes(const struct sl_method_array *a);

/* What it tells of itself in the job's record: rows of numbers, one for each thing that it tried, say. */
struct sl_method_column {
	const char *name;
	enum { SL_COLUMN_NUMBER, SL_COLUMN_WHOLE, SL_COLUMN_BOOL } type;
};

struct sl_method_result {
	int count;
	struct sl_method_array array[SL_METHOD_ARRAYS];
	int rows;                       /* of the table */
	double *table;                  /* [rows][columns], malloc'd; NULL: none */
};
void sl_method_result_finish(struct sl_method_result *r);  /* frees the arrays and the table */

/* Room for a record of any method's parameters. */
#define SL_METHOD_PARAMS_BYTES 512
struct sl_method_params {
	_Alignas(16) unsigned char record[SL_METHOD_PARAMS_BYTES];
};

struct sl_method {
	const char *name;               /* "kmeans": the `method` of a job */
	const char *doc;                /* one sentence */
	const char *measure;            /* the name of what status.kl and the trace have, "kl", "inertia" or "stress" */
	unsigned takes;
	bool layout;                    /* it gives a layout, which can be watched while it forms */
	const char *const *results;     /* names of the arrays that it gives beside that, NULL-terminated; the first has an
					 * entry for each row of the user's, -1 where that was dropped */
	const char *table;              /* what the job's record calls the table of a result; NULL: it has none */
	const struct sl_method_column *columns;  /* of the table; the last one has no name */
	const char *const *predicts;    /* arrays that predict() gives, NULL-terminated; NULL: it predicts nothing */
	const char *const *model;       /* those of its results that predict() and sample() need, NULL-terminated */
	const char *relief;             /* what to change when slices take too long, as a sentence */
	const struct sl_param_table *params;
	size_t params_bytes;            /* of the record that the table describes */

	/* The parameters with an input of n rows and d columns: what the table does not know. NULL: nothing. EDGES: n
	 * nodes, and an initial state of d columns (0: none, as always where points are taken, too). */
	int (*check)(const void *params, uint32_t n, uint32_t d, struct sl_error *err);
	/* The most iterations that a run has, for progress; and forecasts: bytes of host memory beside the input, seconds
	 * on so many threads. Any thread. NULL: asked of the engine (t-SNE). EDGES: d is the number of entries of a node,
	 * rounded up. */
	int (*iterations)(const void *params);
	uint64_t (*host_bytes)(const void *params, uint32_t n, uint32_t d);
	double (*seconds)(const void *params, uint32_t n, uint32_t d, int threads);
	/* The same of a graph, of a method that takes points, too. */
	uint64_t (*edges_bytes)(const void *params, uint32_t n, uint32_t degree);
	double (*edges_seconds)(const void *params, uint32_t n, uint32_t degree, int threads);
	/* The most bytes that its arrays take for n rows of the user's. NULL: 4 n. */
	uint64_t (*disk_bytes)(const void *params, uint32_t n, uint32_t d);

	/* See above; all NULL: the processor computes it always. helped: can `engine` compute such runs on its devices, of
	 * points, or of edges? And the bytes of device memory that such a run takes. Any thread. */
	bool (*helped)(const struct sl_engine *engine, const void *params, bool edges);
	uint64_t (*device_bytes)(const void *params, uint32_t n, uint32_t d);

	/* Runs may begin with given labels or means of so many parts: checks that, and sets the parameter that says how
	 * many. NULL: they may not. */
	int (*start)(void *params, uint32_t parts, struct sl_error *err);

	int (*create)(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err);
	void (*destroy)(void *run);     /* NULL is fine */
	/* Goes on for about slice_ms, or to the end. */
	int (*advance)(void *run, double slice_ms, struct sl_status *status, struct sl_error *err);
	/* The run ends as soon as it has a result: now (status->done), or after some more slices. */
	int (*stop)(void *run, struct sl_status *status, struct sl_error *err);
	/* Steerable parameters change from the next iteration on. NULL: none is. */
	int (*steer)(void *run, const void *params, struct sl_error *err);
	/* Borrowed until the next advance. Points are only ever added. */
	const struct sl_trace_point *(*trace)(const void *run, int *count);
	/* Between two slices. A run that is loaded, of the same input and parameters, goes on to the same bytes as one that
	 * was never interrupted, on the same machine. The buffer is the caller's to free(). load: SL_BADDATA if it is of
	 * another run; then the run can only be destroyed. */
	int (*save)(void *run, void **out, uint64_t *bytes, struct sl_error *err);
	int (*load)(void *run, const void *state, uint64_t bytes, struct sl_error *err);
	/* Before the first advance(), after load() if there is one, and if helped(): from now on the device computes, which
	 * the run borrows until it is destroyed. On the device's thread, as is all else from then on, destroy() included.
	 * After an error the run is as it was, and may be attached again or computed by the processor. SL_DEVMEM,
	 * SL_DEVLOST, SL_NOMEM. */
	int (*attach)(void *run, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err);
	/* After the end, or of the run as it stands: SL_CONFLICT if it has nothing yet. It may give away arrays of the
	 * run: afterwards the run can only be destroyed. NULL: it gives a layout alone. */
	int (*result)(void *run, struct sl_method_result *out, struct sl_error *err);
	/* New points by the arrays of a run that has ended, in the order of `model`: the array `what` (of predicts) with a
	 * row for each row of the user's. SL_BADDATA: points of other columns. Any thread, as is the next one. */
	int (*predict)(const void *params, const struct sl_method_array *model, const struct sl_points *points,
		       const char *what, struct sl_method_array *out, struct sl_error *err);
	/* Points that are as likely as those of the run, float32 [count][columns], and their labels: those from .. from +
	 * count - 1 of the seed's. NULL: none. */
	int (*sample)(const void *params, const struct sl_method_array *model, uint32_t from, uint32_t count,
		      uint64_t seed, struct sl_method_array *points, struct sl_method_array *labels,
		      struct sl_error *err);
	/* Values at the nodes, which can be watched while they change: how many each has, and those after the newest
	 * iteration, out [rows * columns], in the user's order. NULL: there are none. */
	int (*value_columns)(const void *params);
	void (*values)(void *run, float *out);
	/* Of a method that gives a layout: its dimensions; and the layout as it stands, in the user's order, also before
	 * the first iteration. NULL: it gives none. */
	int (*dims)(const void *params);
	int (*layout_of)(void *run, struct sl_method_array *out, struct sl_error *err);
	/* The embedding that makes its layout on a device, borrowed (core/embedding/embedding.h): snapshots of it are taken
	 * while it goes on. NULL: there is none; layout_of() is asked between two slices. */
	struct sl_embedding *(*embedding)(void *run);
};

extern const struct sl_method *const sl_methods[];  /* NULL-terminated; the first is the one by default */
/* NULL: there is none of that name. */
const struct sl_method *sl_method_find(const char *name);
/* The number of the array of that name among its results; -1: none. */
int sl_method_result_index(const struct sl_method *method, const char *name);

#ifdef __cplusplus
}
#endif
#endif
