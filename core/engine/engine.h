/* engine.h -- the interface of the engines, which compute on the CPU or a GPU.
 *
 * An engine is a struct sl_engine of functions: the CPU engine (core/cpu/) is always there, the CUDA engines (gpu/, a
 * plug-in) when loaded. Callers treat all engines alike.
 *
 * The order of calls: open a device; put graphs on it; create embeddings of a graph with settings; run iterations; take
 * snapshots and measure; destroy in the reverse order. Functions return 0 or a negative code with err, unless stated
 * otherwise. A device and all objects made on it belong to one thread at a time (in the daemon the device's thread);
 * two devices are independent. Objects must be destroyed before their device. No function prints or exits.
 *
 * Layouts in this interface are float32, [n][dims], in the engine's node order; sl_affinities_expand() converts to the
 * user's order. core/embedding/embedding.h runs an embedding through its phases, stop rules and trace, on any
 * engine. */
#ifndef SL_ENGINE_H
#define SL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_graph;                 /* core/graph/graph.h */
struct sl_affinities;            /* core/graph/affinities.h */
struct sl_affinities_params;
struct sl_neighbours;            /* core/neighbours/neighbours.h */
struct sl_neighbours_params;
struct sl_points;                /* core/points/points.h */
struct sl_method;                /* core/method/method.h */
struct sl_points_passes;

struct sl_device;            /* an opened device; each engine has its own */
struct sl_device_graph;      /* P resident on a device */
struct sl_device_embedding;  /* the state of one embedding on a device */
struct sl_device_snapshot;   /* a layout on its way to the host */
struct sl_device_neighbours; /* neighbours resident on a device, from which it computes P for any perplexity */

struct sl_device_options {
	int index;             /* which GPU; CPU: 0 */
	int gpus;              /* so many GPUs, from index on, are one device; 0 stands for 1; more: engine cuda only */
	uint32_t divide_nodes; /* graphs of fewer nodes are computed by the first of them alone; 0: small ones */
	int threads;           /* CPU threads, 0: all */
	uint64_t plan_bytes;   /* budget of the plan and spectra cache, 0: default (256 MiB) */
	uint64_t memory_bytes; /* budget for graphs and embeddings, 0: default */
};

struct sl_device_info {
	char name[128];           /* "CPU, 16 threads, AVX-512", "NVIDIA H200" */
	char kind[16];            /* "cpu", "cuda", "hybrid" */
	char pci[16];             /* where the GPU is, "0000:01:00.0"; "": no GPU */
	uint64_t memory_total, memory_used;   /* bytes of the device; used: by all programs */
	uint64_t memory_budget;               /* bytes that this program may use at most; 0: no limit */
	uint64_t graph_bytes, embedding_bytes;  /* parts of memory_used: graphs and neighbours; embeddings */
	uint64_t plan_bytes, plan_budget;
	uint64_t plans, plan_hits, plan_misses, plan_evictions;
};

/* One cached plan, for listing. */
struct sl_plan_info {
	int dims;
	int side;         /* grid nodes a side, unpadded */
	double h;         /* grid spacing of the spectra */
	int window;       /* nodes a side that one point touches */
	uint64_t bytes, uses;
};

/* The settings of an embedding that never change. */
struct sl_settings {
	int dims;
	int optimizer;      /* enum sl_optimizer */
	int accuracy;       /* SL_DRAFT, SL_NORMAL or SL_FINE */
	int grid_side;      /* 0: by accuracy */
	int repulsion;      /* enum sl_repulsion; AUTO: grid or exact, the cheaper one in each iteration */
	double theta;       /* of Barnes-Hut */
	double dof;         /* degrees of freedom nu of the kernel (1 + r^2 / nu)^-nu; 0 stands for 1 */
};

/* The settings that may change from one run() to the next. `gains` and all below apply to the momentum rule only
 * (update.h). */
struct sl_step {
	float exaggeration;
	float learning_rate;
	float momentum;
	bool settle;  /* the layout comes to rest: approximations that move nodes, however slightly, are off */
	int gains;          /* enum sl_gains */
	float gain_least;   /* 0 stands for SL_GAIN_LEAST */
	float gain_added;   /* added to a gain that falls */
	float rate_limit;   /* 0 stands for SL_RATE_LIMIT; INFINITY: none */
	float max_step;     /* longest step of a node; 0: any */
	int restart;        /* enum sl_restart: what is reset before the first iteration of this run(), if it has any */
};

/* Measurements of the present layout; taking them costs about one iteration. */
struct sl_measure {
	double kl;             /* KL(P || Q), without exaggeration */
	double z;              /* sum over i != j of 1 / (1 + |y_i - y_j|^2) */
	double gradient_norm;  /* l2 norm of the gradient / 4, without exaggeration */
	float low[3], high[3]; /* bounding box */
	double h;              /* grid spacing, 0 without a grid */
	int side;              /* grid nodes a side */
	bool finite;           /* false: a coordinate is NaN or infinite */
	bool coarse;           /* the layout is too wide for the grids: kl, z and forces may be far off */
};

/* The duration of one phase of an iteration when it runs alone, on the present layout. */
struct sl_phase {
	const char *name;          /* "attraction", "spread"; static */
	double seconds, low, high; /* of one pass: median, least and most of several measurements */
	uint64_t bytes;            /* memory traffic of one pass: an array counts once each time it is read or written */
	bool beside;               /* true: runs at the same time as the following phases */
};

#define SL_PHASES_MAX 16

/* A number of iterations with the same step, followed by a measurement if `measure` is set. */
struct sl_stretch {
	struct sl_step step;
	int iterations;              /* may be 0, with measure */
	bool measure;
	struct sl_measure measured;  /* out, if measure */
};

/* One embedding in a call of run_many(). */
struct sl_run {
	struct sl_device_embedding *embedding;
	struct sl_stretch *stretch;  /* [stretches], run one after the other */
	int stretches;
	int code;                    /* out; with err when it is not 0 */
	struct sl_error err;
};

/* What an engine computes for a method, under a name that the method's room chooses. The room declares the function's
 * type and has a function that finds it, for example core/kmeans/passes.h: "kmeans.passes", sl_kmeans_opener(). */
typedef void (*sl_operation_function)(void);  /* to be converted to that type */
struct sl_operation {
	const char *name;
	sl_operation_function function;
};
/* An entry of the list; it does not compile if `given` is not of `type`. */
#define SL_OPERATION(name, type, given) {name, (sl_operation_function)(1 ? (given) : (type *)0)}

struct sl_engine {
	const char *name;  /* "cpu", "cuda", "hybrid" */
	/* The number of iterations that "auto" stands for beyond SL_EMBEDDING_LARGE nodes; 0: as many as pay. */
	int large_budget;

	int (*open)(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err);
	void (*close)(struct sl_device *device);
	void (*info)(struct sl_device *device, struct sl_device_info *out);
	/* Fills up to max plans, most recently used first; returns how many there are. */
	int (*plans)(struct sl_device *device, struct sl_plan_info *out, int max);
	/* Drops cached plans that no embedding uses now. */
	void (*plans_clear)(struct sl_device *device);

	/* Borrows a until graph_drop: the CPU engine reads it directly. */
	int (*graph_put)(struct sl_device *device, const struct sl_affinities *a,
			 struct sl_device_graph **out, struct sl_error *err);
	void (*graph_drop)(struct sl_device_graph *graph);
	/* Makes P of a graph on the device, as sl_affinities_create() and graph_put() do, and *summary for the host: a
	 * struct sl_affinities whose start, node and p are NULL, the caller's to destroy. The numbering is the host's; an
	 * entry may differ from the host's by one unit in the last place. *out does not depend on g afterwards. SL_DEVMEM,
	 * SL_TOOBIG, SL_BADPARAM: the host makes P, or tells what is wrong. NULL: the engine leaves it to the host. */
	int (*graph_make)(struct sl_device *device, const struct sl_graph *g, const struct sl_affinities_params *params,
			  struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err);
	/* From how many entries of a graph on graph_make saves time. Smaller graphs keep the host's P, which devices
	 * share. */
	uint64_t graph_make_least;

	/* Bytes of device memory that an embedding of n nodes takes, without grids, which all embeddings of a device share.
	 * Any thread. */
	uint64_t (*embedding_bytes)(uint32_t n, const struct sl_settings *settings);
	/* Bytes of host memory for the grids and plans of a layout with this longest side. NULL: grids are in the device's
	 * own memory, and the engine returns SL_DEVMEM if they do not fit. Any thread. */
	uint64_t (*grid_bytes)(uint32_t n, const struct sl_settings *settings, double extent);
	/* Forecasts the seconds of one iteration, in a layout as wide as those of n nodes usually become, with so many
	 * entries of P. threads: of the CPU, 0: all. The model was fitted on one machine; a caller that has measured
	 * iterations on this machine corrects it by a factor. Any thread. */
	double (*iteration_seconds)(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads);
	/* y0 [n * dims] is copied. Borrows graph until destroy. SL_BADPARAM: settings that this engine does not compute. */
	int (*embedding_create)(struct sl_device_graph *graph, const struct sl_settings *settings,
				const float *y0, struct sl_device_embedding **out, struct sl_error *err);
	void (*embedding_destroy)(struct sl_device_embedding *e);

	int (*run)(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err);
	int (*measure)(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err);
	/* y [n * dims] */
	int (*snapshot)(struct sl_device_embedding *e, float *y, struct sl_error *err);
	/* Multiplies the layout and its velocities by `factor`, about the origin. */
	int (*rescale)(struct sl_device_embedding *e, float factor, struct sl_error *err);

	/* ---- optional, NULL where the engine has nothing better than run(), measure() and snapshot() ---- */

	/* Runs embeddings side by side that are too small to fill the device: those for which joins() is true. The bytes of
	 * each layout are those of run() and measure(). run_many() returns errors of the device, which concern all
	 * embeddings; run[i] holds the error of a single one. */
	bool (*joins)(const struct sl_device_embedding *e);
	int (*run_many)(struct sl_run *run, int count, struct sl_error *err);

	/* Copies the present layout to the host while iterations go on. snapshot_start() returns at once; snapshot_ready()
	 * is true when the copy is complete; snapshot_finish() waits for it and must be called before the embedding is
	 * destroyed. *out is the snapshot's memory; it is valid until snapshot_release(), which any thread may call and
	 * for which close() waits. If snapshot_finish() fails, the snapshot is freed. quantise: *out holds uint16 v as in
	 * proto/frame.h, for the coordinate low + extent * v / 65535; otherwise float32. */
	int (*snapshot_start)(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
			      struct sl_error *err);
	bool (*snapshot_ready)(struct sl_device_snapshot *s);
	int (*snapshot_finish)(struct sl_device_snapshot *s, const void **out, float low[3], float *extent,
			       struct sl_error *err);
	void (*snapshot_release)(struct sl_device_snapshot *s);

	/* Saves and loads the whole state (layout, velocities, gains). A resumed run gives the same bytes as one that was
	 * never interrupted, on the same engine and machine. The format is private to the engine. */
	uint64_t (*state_bytes)(const struct sl_device_embedding *e);
	int (*state_save)(struct sl_device_embedding *e, void *out, struct sl_error *err);
	int (*state_load)(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err);

	/* For tests and accuracy tables: both terms of gradient / 4 at the present layout, attraction
	 * sum_j p_ij q~_ij (y_i - y_j) and repulsion (1/Z) sum_j q~_ij^2 (y_i - y_j), with q~_ij = 1 / (1 + |y_i - y_j|^2);
	 * each [n * dims]; either may be NULL. */
	int (*forces)(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
		      struct sl_error *err);

	/* ---- points; all NULL in engines that leave this to core/points/, core/neighbours/ and core/graph/ ---- */

	/* Opens the sums over all points for principal axes (core/points/points.h; sl_engine_pca() uses them), on GPU
	 * `index`. Any thread, like neighbours_find. Borrows p and cancel until out->close(). */
	int (*points_passes)(int index, uint64_t memory_bytes, const struct sl_points *p, const int *cancel,
			     struct sl_points_passes *out, struct sl_error *err);

	/* Searches on GPU `index`, with its own streams and memory (at most memory_bytes; 0: what is free). Any thread,
	 * also while the device's thread computes there. The caller destroys *out. SL_BADPARAM: the engine does not know
	 * the metric. */
	int (*neighbours_find)(int index, uint64_t memory_bytes, const struct sl_points *p,
			       const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err);
	/* Copies nb to the device, ordered for locality. */
	int (*neighbours_put)(struct sl_device *device, const struct sl_neighbours *nb,
			      struct sl_device_neighbours **out, struct sl_error *err);
	void (*neighbours_drop)(struct sl_device_neighbours *nb);
	/* Computes P for the perplexities of params on the device, and *summary for the host: a struct sl_affinities whose
	 * start, node and p are NULL, the caller's to destroy. *out does not depend on nb afterwards. */
	int (*neighbours_graph)(struct sl_device_neighbours *nb, const struct sl_affinities_params *params,
				struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err);

	/* The operations for methods that need more of a device than embeddings (attach() in core/method/method.h); an
	 * entry without a name ends the list. NULL: none. */
	const struct sl_operation *operations;

	/* ---- measuring; both may be NULL ---- */

	/* Times each phase of an iteration alone, in many repetitions. Layout and state do not change. Fills up to max
	 * phases; returns how many there are, or a negative code. */
	int (*phases)(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err);
	/* Measures the bandwidth of copies within the device's memory: bytes read and written in a second. */
	int (*copy_bandwidth)(struct sl_device *device, double *bytes_per_second, struct sl_error *err);

	/* ---- the walk on a graph, for spectral initial layouts; NULL in engines that leave it to core/init/walk.c, which
	 * needs P on the host. As in struct sl_walk (core/init/spectral.h): mass, components (may be NULL alone) and
	 * filter, all arrays on the host, in the engine's node order. ---- */

	int (*walk_mass)(struct sl_device_graph *graph, float *out, struct sl_error *err);
	int (*walk_components)(struct sl_device_graph *graph, uint32_t *label, struct sl_error *err);
	int (*walk_filter)(struct sl_device_graph *graph, int k, int steps, const float *slope, const float *shift,
			   float **before, float **x, struct sl_error *err);
};

/* Plug-ins use the program's CPU engine: FFTW has one planner in a process, so only one engine may guard it. */
__attribute__((visibility("default"))) const struct sl_engine *sl_engine_cpu(void);

/* True if a graph of so many entries gets its P by graph_make(). */
bool sl_engine_makes_graph(const struct sl_engine *engine, uint64_t entries);

/* The engine's operation of this name; NULL: the engine leaves it to the method's own code on the processor. */
sl_operation_function sl_engine_operation(const struct sl_engine *engine, const char *name);
/* True if devices of the engine compute runs of the method, of points or, with `edges`, of a graph. */
bool sl_engine_supports(const struct sl_engine *engine, const struct sl_method *method, bool edges);

/* True if the points are so many that copying them to a device takes less time than it saves. */
bool sl_engine_pca_pays(const struct sl_points *p);
/* sl_points_pca() on the engine, if it can and has enough memory (index and memory_bytes as in neighbours_find), else
 * on the processor. engine may be NULL. */
int sl_engine_pca(const struct sl_engine *engine, int index, uint64_t memory_bytes, struct sl_points **out,
		  const struct sl_points *p, uint32_t to, double *kept, const int *cancel, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
