/* method.h -- the methods that a job can compute (t-SNE, k-means, Gaussian mixtures, Sammon's mapping, signals), each
 * as one table of functions.
 *
 *   const struct sl_method *method = sl_method_find("kmeans");
 *   sl_param_defaults(method->params, record);
 *   method->create(&run, &input, record, &err);
 *   while (!status.done) method->advance(run, 10.0, &status, &err);
 *   method->result(run, &result, &err);
 *   method->destroy(run);
 *
 * A method is a folder of core/ that fills a struct sl_method, and a line in core/method/list.h. Scheduling,
 * checkpoints, traces, results, the API and the clients ask the table and need no change for a new method. None of them
 * asks which method a job has; what differs is a member here. t-SNE is an entry like the others.
 *
 * A run belongs to one thread at a time. It borrows its input until destroy() is called; destroy() itself does not read
 * the input.
 *
 * How methods on points and edges use a device (t-SNE gets its engine with the input): create() makes a run that the
 * processor computes. attach() then lends it a device of an engine. The run uploads its data and computes there from
 * then on, by an operation of the engine (sl_engine_operation(engine, "kmeans.passes"); core/kmeans/device.c is an
 * example). Such a method needs:
 *
 *   1. an operation, whose name and type the method's folder declares (core/kmeans/passes.h). gpu/ implements it, with
 *      a line in gpu/engine/operations.c; tests/plugin/ implements it on the processor, for tests of the server;
 *   2. `operation`, its name, and `operates_on`, the inputs from which it computes;
 *   3. device_bytes(): the device memory that a run will take;
 *   4. attach().
 *
 * If an engine helps the method, the server places the job on a device of that engine, as it does with jobs of t-SNE;
 * `auto` then stands for the preferred engine. The server makes and loads the run on any thread, and attaches and
 * destroys it on the device's thread. If the device has too little memory (attach() returns SL_DEVMEM), the processor
 * computes the job, and the job's notes say so. A saved state does not depend on the device: a run saved on a device
 * can continue on the processor, and the other way round. */
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
struct sl_affinities_params;
struct sl_device;
struct sl_device_graph;
struct sl_embedding;
struct sl_engine;
struct sl_graph;
struct sl_points;
struct sl_settings;

/* The inputs that a method accepts, as bits. */
#define SL_TAKES_GRAPH 1u   /* P, resident on a device: runs are created on that device's thread */
#define SL_TAKES_POINTS 2u  /* a table of points: runs are created on any thread, which may take long */
#define SL_TAKES_LAYOUT 4u  /* a layout, as a table of points */
/* A graph as it was uploaded, perhaps with an initial state; runs are created on any thread. A method with both POINTS
 * and EDGES accepts either upload, and no initial state. */
#define SL_TAKES_EDGES 8u

/* What a run is computed from: the one of these inputs that a job has. */
enum sl_origin { SL_OF_AFFINITIES, SL_OF_POINTS, SL_OF_LAYOUT, SL_OF_EDGES };

/* The data that a job is computed from, as far as a server knows it without reading it. */
struct sl_method_data {
	bool known;             /* false: only n is known, since the data have been deleted */
	bool graph;             /* a graph; else points, or neighbours of points */
	bool coordinates;       /* points with their coordinates */
	bool symmetric;         /* of a graph */
	uint32_t n;             /* nodes or points */
	uint32_t neighbours;    /* of each point: those that the default parameters use; else 0 */
	const char *coarse;     /* why metrics that compare values with 0 refuse the points; NULL: they do not */
};

/* How a run on P begins. */
enum sl_initial {
	SL_INITIAL_OWN,         /* create() makes its layout */
	SL_INITIAL_GIVEN,       /* a layout that the client gives */
	SL_INITIAL_WALK,        /* the run makes it by a walk on P: in host memory if the engine has no walk_filter */
};

/* How a run on points begins, if it is given, as rows of numbers. */
enum sl_start {
	SL_START_NONE,          /* the method chooses */
	SL_START_LABELS,        /* [user's rows] the part of each row, -1: none */
	SL_START_MEANS,         /* [parts][columns of the points] in the user's units */
	SL_START_SHARES,        /* [user's rows][parts] the share of each part in each row */
};

/* A value that stands for "auto" in a run, for people. */
struct sl_resolved {
	const char *name;
	enum { SL_RESOLVED_UNKNOWN, SL_RESOLVED_NUMBER, SL_RESOLVED_WORD, SL_RESOLVED_LIST } type;
	double number;
	const char *word;       /* static */
	struct sl_param_list list;
};
#define SL_RESOLVED_MOST 16

struct sl_method_input {
	/* GRAPH */
	const struct sl_engine *engine;
	struct sl_device_graph *graph;
	const struct sl_affinities *affinities;
	const float *init;              /* as in sl_embedding_create(); EDGES: the initial state [n][columns], or NULL */
	/* POINTS, LAYOUT */
	const struct sl_points *points;
	/* EDGES; both are borrowed only until create() returns */
	const struct sl_graph *edges;
	uint32_t columns;               /* of init; 0: none */
	/* POINTS, LAYOUT: the start, borrowed until create() returns; NULL with SL_START_NONE. The parameters have the
	 * number of its parts. */
	enum sl_start start_kind;
	const double *start;
};

/* An array of a run's result. */
enum sl_array_type { SL_ARRAY_FLOAT32, SL_ARRAY_INT32, SL_ARRAY_FLOAT64 };
struct sl_method_array {
	const char *name;               /* one of sl_method.results, or of sl_method.predicts */
	enum sl_array_type type;
	uint32_t shape[3];              /* 0 from the second on: no more dimensions */
	void *data;                     /* malloc'd */
};
#define SL_METHOD_ARRAYS 6
uint64_t sl_method_array_bytes(const struct sl_method_array *a);

/* What is told of an array before there is one. */
struct sl_method_output {
	const char *name;
	const char *doc;                /* what it holds: "the cluster of each node" */
	/* Type and dimensions: 'i' int32, -1 or the number of a part; 'f' float32, 'd' float64, 'r' either, all finite.
	 * Then a letter for each dimension: n the user's rows, d columns of the input, k parts, v values of a node, t any
	 * number; '*': any dimensions. NULL: anything. */
	const char *form;
};

/* A column of the table of numbers that a method adds to the job's record, for example one row for each number of
 * clusters that it tried. */
struct sl_method_column {
	const char *name;
	enum { SL_TABLE_NUMBER, SL_TABLE_WHOLE, SL_TABLE_BOOL } type;
};

struct sl_method_result {
	int count;
	struct sl_method_array array[SL_METHOD_ARRAYS];
	int rows;                       /* of the table */
	double *table;                  /* [rows][columns], malloc'd; NULL: none */
	uint32_t parts;                 /* clusters, components; 0: the method finds none */
	char note[240];                 /* a sentence for the owner of the run, or "" */
};
void sl_method_result_finish(struct sl_method_result *r);  /* frees the arrays and the table */

/* Room for a record of any method's parameters. */
#define SL_METHOD_PARAMS_BYTES 512
struct sl_method_params {
	_Alignas(16) unsigned char record[SL_METHOD_PARAMS_BYTES];
};

struct sl_method {
	const char *name;               /* "kmeans": the `method` of a job */
	const char *title;              /* "k-means": the name for people; NULL: `name` */
	const char *doc;                /* one sentence */
	const char *summary;            /* what it does to its input: "put points into clusters" */
	const char *about;              /* a paragraph for users: what it computes, by which algorithm */
	const char *measure;            /* name of the measure in status.measure and the trace: "kl", "inertia", "stress" */
	const char *measure_title;      /* the same for people: "KL divergence", "log-likelihood" */
	unsigned takes;                 /* SL_TAKES_... */
	bool layout;                    /* true: the result is a layout, which can be watched while it forms */
	bool converges;                 /* most runs end before their iterations are used up, so the forecast tells the time
					 * left */
	bool timed;                     /* a run goes through a time of its model (status.model_time), to its end */
	bool traces_layout;             /* trace points have the layout's extent and what was in force */
	const struct sl_method_output *results;  /* the other arrays of the result; an entry without a name ends the list.
					 * The first array has an entry for each of the user's rows, -1 for a dropped row */
	const char *table;              /* the field of the job's record that holds the result's table; NULL: no table */
	const struct sl_method_column *columns;  /* of the table; an entry without a name ends the list */
	const char *const *predicts;    /* names of the arrays that predict() can make, NULL-terminated; NULL: none */
	const char *const *model;       /* the results that predict() and sample() need, NULL-terminated */
	const char *relief;             /* a sentence: which parameter to change if slices take too long */
	const char *doing[2];           /* what a run does: "cluster", "clustering"; NULL: compute */
	const char *devices;            /* a sentence: how results of a device differ from the processor's; NULL: nothing to
					 * tell */
	const struct sl_param_table *params;
	size_t params_bytes;            /* size of the record that `params` describes */

	/* Checks the parameters against an input of n rows and d columns; the table has checked each parameter alone. NULL:
	 * nothing to check. EDGES: n nodes and an initial state of d columns; d is 0 without an initial state. */
	int (*check)(const void *params, uint32_t n, uint32_t d, struct sl_error *err);
	/* Whether the parameters make sense for these data. NULL: check() says it all. */
	int (*check_data)(const void *params, const struct sl_method_data *data, struct sl_error *err);
	/* The values that stand for "auto" in a run, after `iteration` iterations; last: its newest trace point, or NULL.
	 * Returns how many. NULL: none. */
	int (*resolved)(const void *params, const struct sl_method_data *data, int iteration,
			const struct sl_trace_point *last, struct sl_resolved out[SL_RESOLVED_MOST]);

	/* ---- runs on P (SL_TAKES_GRAPH); NULL in other methods ---- */

	/* Which P (core/graph/affinities.h), and the embedding of n nodes that an engine computes (core/engine/engine.h),
	 * by which it forecasts time and memory. */
	void (*affinities)(const void *params, struct sl_affinities_params *out);
	void (*settings)(const void *params, uint32_t n, struct sl_settings *out);
	/* The parameter that chooses the initial layout, for which the word "given" stands for one that the client gives;
	 * how a run of these data begins; the longest side of that layout, INFINITY: any. */
	const char *initial_param;
	enum sl_initial (*initial)(const void *params, const struct sl_method_data *data);
	double (*initial_extent)(const void *params);
	/* The number of iterations that was asked for; 0: the run chooses. NULL: iterations() is that number. */
	int (*asked)(const void *params);
	/* The most points of a trace. */
	int (*trace_points)(const void *params);
	/* The parameters of placing new points in the layout (core/embedding/transform.h). NULL: it cannot be done. */
	const struct sl_param_table *transform;

	/* ---- all methods ---- */

	/* The most iterations that a run can have (for progress), and forecasts: bytes of host memory beside the input, and
	 * seconds with `threads` threads. Any thread. Both NULL: nearly none, or, of runs on P, the engine makes the
	 * forecast. EDGES: d is the mean
	 * number of entries of a node, rounded up. */
	int (*iterations)(const void *params);
	uint64_t (*host_bytes)(const void *params, uint32_t n, uint32_t d);
	double (*seconds)(const void *params, uint32_t n, uint32_t d, int threads);
	/* The same forecasts for a graph, in methods that accept points as well. */
	uint64_t (*edges_bytes)(const void *params, uint32_t n, uint32_t degree);
	double (*edges_seconds)(const void *params, uint32_t n, uint32_t degree, int threads);
	/* The most bytes that the result's arrays take on disk, for n rows of the user's. centered: the points have a
	 * center, which results in the user's units include, in float64. NULL: 4 n. */
	uint64_t (*disk_bytes)(const void *params, uint32_t n, uint32_t d, bool centered);

	/* NULL: only the processor computes this method. Else the operation of an engine (core/engine/engine.h) that
	 * computes such runs on its devices, and the inputs from which it does (SL_TAKES_POINTS, which includes layouts,
	 * SL_TAKES_EDGES). device_bytes(): device memory of such a run. Any thread. */
	const char *operation;
	unsigned operates_on;
	uint64_t (*device_bytes)(const void *params, uint32_t n, uint32_t d);

	/* Runs that begin with a given start: checks the parameters and sets the number of parts in them. NULL: a run
	 * cannot begin so, and these are NULL, too: the parameter with the number of parts ("clusters"); what a file with a
	 * start holds, and how the clients describe it. */
	int (*start)(void *params, uint32_t parts, struct sl_error *err);
	const char *parts;
	enum sl_start start_file;
	const char *start_doc;
	/* True if the method compares values with 0, so that no offset may be subtracted from columns. NULL: it never
	 * does. */
	bool (*absolute)(const void *params);

	/* EDGES: a sentence for users about the direction of edges, static; NULL: nothing to tell, or no such function. */
	const char *(*told)(const void *params, bool symmetric);
	int (*create)(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err);
	void (*destroy)(void *run);     /* NULL is fine */
	/* Computes for about slice_ms, or to the end. */
	int (*advance)(void *run, double slice_ms, struct sl_status *status, struct sl_error *err);
	/* Ends the run as soon as it has a result: now (status->done is set), or after some more slices. */
	int (*stop)(void *run, struct sl_status *status, struct sl_error *err);
	/* Changes the steerable parameters from the next iteration on. NULL: the method has no steerable parameters. */
	int (*steer)(void *run, const void *params, struct sl_error *err);
	/* The trace, borrowed until the next advance(). Trace points are added, never changed or removed. */
	const struct sl_trace_point *(*trace)(const void *run, int *count);
	/* Save and load the run's state between two slices. On the same machine, a run that loads the state, with the same
	 * input and parameters, ends with the same bytes as one that was never interrupted. The caller frees *out with
	 * free(). load: SL_BADDATA if the state belongs to another run; then the run can only be destroyed. */
	int (*save)(void *run, void **out, uint64_t *bytes, struct sl_error *err);
	int (*load)(void *run, const void *state, uint64_t bytes, struct sl_error *err);
	/* Lets the device compute the run from now on; the run borrows the device until destroy(). Only if
	 * sl_engine_supports(), before the first advance() and after load(), if any. This call and all later ones,
	 * destroy() included, belong to the device's thread. After an error the run is unchanged: it may be attached again,
	 * or the processor computes it. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
	int (*attach)(void *run, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err);
	/* The result of a run that has ended, or the result so far; SL_CONFLICT: there is none yet. *out may take over
	 * arrays of the run: afterwards the run can only be destroyed. NULL: the result is only a layout. */
	int (*result)(void *run, struct sl_method_result *out, struct sl_error *err);
	/* Predicts for new points from the arrays of a run that has ended; model: these arrays in the order of `model`
	 * above. Makes the array `what`, one of `predicts`, with a row for each of the user's rows. SL_BADDATA: the points
	 * have other columns. Any thread. */
	int (*predict)(const void *params, const struct sl_method_array *model, const struct sl_points *points,
		       const char *what, struct sl_method_array *out, struct sl_error *err);
	/* Of methods with predict(): the center[columns] near which the model lies, 0 for columns near 0. predict() gets
	 * points that were read with this center (new_points of struct sl_input_options). */
	void (*center)(const struct sl_method_array *model, const void *params, double *center);
	/* Draws points from the fitted distribution, [count][columns], float32 or, far from 0, float64, and their labels.
	 * `seed` defines an endless sequence of points; these are its points from .. from + count - 1. Any thread. NULL:
	 * the method cannot. */
	int (*sample)(const void *params, const struct sl_method_array *model, uint32_t from, uint32_t count,
		      uint64_t seed, struct sl_method_array *points, struct sl_method_array *labels,
		      struct sl_error *err);
	/* Methods whose model is a distribution in parts, of points in the plane: mean x, y and covariance xx, xy, yy of up
	 * to `most` parts; returns how many there are. model: as for predict(). NULL: no such model. */
	uint32_t (*ellipses)(const void *params, const struct sl_method_array *model, double (*out)[5], uint32_t most);
	/* Methods whose nodes have values that can be watched while they change: the number of values of each node, and the
	 * values after the newest iteration, out [rows * columns], in the user's order. NULL: there are no values. */
	int (*value_columns)(const void *params);
	void (*values)(void *run, float *out);
	/* Methods with a layout: its dimensions, and the present layout in the user's order, also before the first
	 * iteration. NULL: there is no layout. */
	int (*dims)(const void *params);
	int (*layout_of)(void *run, struct sl_method_array *out, struct sl_error *err);
	/* The embedding that computes the layout on a device, borrowed (core/embedding/embedding.h): its snapshots are
	 * taken while it runs. NULL: there is none; the caller uses layout_of() between two slices. */
	struct sl_embedding *(*embedding)(void *run);
};

extern const struct sl_method *const sl_methods[];  /* NULL-terminated; the first is the default */
/* The method of this name; NULL: there is none. */
const struct sl_method *sl_method_find(const char *name);
/* check() of the method, if it has one. */
int sl_method_check(const struct sl_method *method, const void *params, uint32_t n, uint32_t d, struct sl_error *err);
/* What a run of the method is computed from. graph: the data are a graph; given: the client gives a layout or an
 * initial state to compute from. */
enum sl_origin sl_method_origin(const struct sl_method *method, bool graph, bool given);
bool sl_method_takes(const struct sl_method *method, enum sl_origin origin);
/* True if engines may have an operation for runs of the method, of points or, with `edges`, of a graph. */
bool sl_method_operates(const struct sl_method *method, bool edges);
/* All names of arrays that methods give, each once: writes up to `most` of them, and returns how many there are. */
int sl_method_outputs(const struct sl_method_output **out, int most);
/* What is wrong with the result of a run that has ended: its arrays are those of the method, once each, in its order,
 * and of their forms. NULL: nothing. n: rows of the user's; d: columns of the input, 0: not known; v: values of a
 * node. */
const char *sl_method_result_wrong(const struct sl_method *method, const struct sl_method_result *r, uint32_t n,
				   uint32_t d, uint32_t v);
/* The index of the array of this name among the method's results; -1: none. */
int sl_method_result_index(const struct sl_method *method, const char *name);

#ifdef __cplusplus
}
#endif
#endif
