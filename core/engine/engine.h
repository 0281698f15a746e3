/* engine.h -- the one interface between a server (or program) and the mathematics.
 *
 * An engine fills struct sl_engine: the CPU engine (core/cpu/) always, the CUDA
 * engine (gpu/, a plug-in) when loaded. Nobody above this line asks which it is.
 *
 * Story: open a device; put graphs on it; create embeddings of (graph, settings);
 * run iterations; snapshot, measure; destroy in the reverse order. A device and
 * everything made on it belong to one thread at a time (the device thread of the
 * daemon); two devices are independent. Objects made from a device must be
 * destroyed before it. Nothing here prints or exits.
 *
 * Layouts that cross this line are float32, [n][dims], in the engine's node order
 * (sl_affinities maps to the user's). What drives an embedding through its phases,
 * stop rules and trace is engine-independent: core/embedding/embedding.h. */
#ifndef SL_ENGINE_H
#define SL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_affinities;            /* core/graph/affinities.h */
struct sl_affinities_params;
struct sl_neighbours;            /* core/neighbours/neighbours.h */
struct sl_neighbours_params;
struct sl_points;                /* core/points/points.h */
struct sl_points_passes;
struct sl_kmeans_table;          /* core/kmeans/passes.h */
struct sl_kmeans_passes;
struct sl_signal_table;          /* core/signal/passes.h */
struct sl_signal_passes;
struct sl_sammon_table;          /* core/sammon/passes.h */
struct sl_sammon_passes;
struct sl_gmm_table;             /* core/gmm/passes.h */
struct sl_gmm_passes;

struct sl_device;            /* an opened device; each engine has its own */
struct sl_device_graph;      /* P resident on a device */
struct sl_device_embedding;  /* the state of one embedding on a device */
struct sl_device_snapshot;   /* a layout on its way to the host */
struct sl_device_neighbours; /* neighbours resident on a device: P of any perplexity follows */

struct sl_device_options {
	int index;             /* which GPU; CPU: 0 */
	int threads;           /* CPU threads, 0: all */
	uint64_t plan_bytes;   /* budget of the plan and spectra cache, 0: default (256 MiB) */
	uint64_t memory_bytes; /* budget for graphs and embeddings, 0: default */
};

struct sl_device_info {
	char name[128];           /* "CPU, 16 threads, AVX-512", "NVIDIA H200" */
	char kind[16];            /* "cpu", "cuda", "hybrid" */
	char pci[16];             /* where the GPU is, "0000:01:00.0"; "": no GPU */
	uint64_t memory_total, memory_used;   /* bytes; used: all that is taken */
	uint64_t memory_budget;               /* most that may be used; 0: none */
	uint64_t graph_bytes, embedding_bytes;  /* of memory_used: graphs and neighbours; embeddings */
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

/* What an embedding keeps from creation to end. */
struct sl_settings {
	int dims;
	int optimizer;      /* enum sl_optimizer */
	int accuracy;       /* SL_DRAFT, SL_NORMAL or SL_FINE */
	int grid_side;      /* 0: by accuracy */
	int repulsion;      /* enum sl_repulsion; AUTO: in each iteration, what costs less of grid and exact */
	double theta;       /* of Barnes-Hut */
	double dof;         /* degrees of freedom nu of the kernel (1 + r^2 / nu)^-nu; 0 stands for 1 */
};

/* What may change from one run() to the next. All from gains on are of the momentum rule alone (update.h). */
struct sl_step {
	float exaggeration;
	float learning_rate;
	float momentum;
	bool settle;  /* the layout comes to rest: no savings that shake it, however slightly */
	int gains;          /* enum sl_gains */
	float gain_least;   /* 0 stands for SL_GAIN_LEAST */
	float gain_added;   /* when a gain falls */
	float rate_limit;   /* 0 stands for SL_RATE_LIMIT; INFINITY: none */
	float max_step;     /* longest step of a node; 0: any */
	int restart;        /* enum sl_restart: done before the first iteration, if there is one */
};

/* Of the layout as it stands; costs about one iteration. */
struct sl_measure {
	double kl;             /* KL(P || Q), without exaggeration */
	double z;              /* sum over i != j of 1 / (1 + |y_i - y_j|^2) */
	double gradient_norm;  /* l2 norm of the gradient / 4, without exaggeration */
	float low[3], high[3]; /* bounding box */
	double h;              /* grid spacing, 0 without a grid */
	int side;              /* grid nodes a side */
	bool finite;           /* false: a coordinate is NaN or infinite */
};

/* How long one phase of an iteration takes by itself, on the layout as it stands. */
struct sl_phase {
	const char *name;          /* "attraction", "spread"; static */
	double seconds, low, high; /* one pass: median, least and most of several measurements */
	uint64_t bytes;            /* moved by one pass: every array counts once for each time it is gone through */
	bool beside;               /* runs beside the phases that follow, not before them */
};

#define SL_PHASES_MAX 16

/* One stretch of an embedding's way: iterations with one step, then a look at the layout if asked for. */
struct sl_stretch {
	struct sl_step step;
	int iterations;              /* may be 0, with measure */
	bool measure;
	struct sl_measure measured;  /* out, if measure */
};

/* An embedding's part in run_many(). */
struct sl_run {
	struct sl_device_embedding *embedding;
	struct sl_stretch *stretch;  /* [stretches], run one after the other */
	int stretches;
	int code;                    /* out; with err when it is not 0 */
	struct sl_error err;
};

struct sl_engine {
	const char *name;  /* "cpu", "cuda", "hybrid" */

	int (*open)(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err);
	void (*close)(struct sl_device *device);
	void (*info)(struct sl_device *device, struct sl_device_info *out);
	/* Fills up to max plans, most recently used first; returns how many there are. */
	int (*plans)(struct sl_device *device, struct sl_plan_info *out, int max);
	/* Drops cached plans that no embedding uses now. */
	void (*plans_clear)(struct sl_device *device);

	/* Borrows a until graph_drop: the CPU engine computes right on it. */
	int (*graph_put)(struct sl_device *device, const struct sl_affinities *a,
			 struct sl_device_graph **out, struct sl_error *err);
	void (*graph_drop)(struct sl_device_graph *graph);

	/* Bytes of device memory an embedding of n nodes takes, without grids, which all on a device share. */
	uint64_t (*embedding_bytes)(uint32_t n, const struct sl_settings *settings);
	/* Bytes of the grids and their plans that a layout of such an extent needs. NULL: the device's own memory holds
	 * them, and the engine says so when there is no room. Any thread. */
	uint64_t (*grid_bytes)(uint32_t n, const struct sl_settings *settings, double extent);
	/* A forecast of what one iteration takes, in seconds, in a layout as wide as those of n nodes usually become, with
	 * so many entries of P; threads: of the CPU, 0: all. It is made of measurements of one machine: whoever has seen
	 * iterations on this one knows better by a factor. Any thread. */
	double (*iteration_seconds)(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads);
	/* y0 [n * dims] is copied. Borrows graph until destroy. SL_BADPARAM: settings that this engine does not compute. */
	int (*embedding_create)(struct sl_device_graph *graph, const struct sl_settings *settings,
				const float *y0, struct sl_device_embedding **out, struct sl_error *err);
	void (*embedding_destroy)(struct sl_device_embedding *e);

	int (*run)(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err);
	int (*measure)(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err);
	/* y [n * dims] */
	int (*snapshot)(struct sl_device_embedding *e, float *y, struct sl_error *err);
	/* The layout and its velocities times `factor`, about the origin. */
	int (*rescale)(struct sl_device_embedding *e, float factor, struct sl_error *err);

	/* ---- optional, NULL where the engine has nothing better than run(), measure() and snapshot() ---- */

	/* Embeddings too small to fill the device, for which joins() is true, run side by side. Each gets the bytes
	 * that run() and measure() would give it. An error is one of the device, for all; others are told in run[i]. */
	bool (*joins)(const struct sl_device_embedding *e);
	int (*run_many)(struct sl_run *run, int count, struct sl_error *err);

	/* The layout as it stands now, copied while iterations go on: start() takes no time, ready() asks without waiting,
	 * finish() waits if need be, before the embedding is destroyed. *out is the snapshot's own memory, which stays
	 * until release(); any thread may call that, and close() waits for it. After an error of finish() the snapshot is
	 * gone. quantise: uint16 as in proto/frame.h, a number is low + extent * v / 65535; else float32. */
	int (*snapshot_start)(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
			      struct sl_error *err);
	bool (*snapshot_ready)(struct sl_device_snapshot *s);
	int (*snapshot_finish)(struct sl_device_snapshot *s, const void **out, float low[3], float *extent,
			       struct sl_error *err);
	void (*snapshot_release)(struct sl_device_snapshot *s);

	/* The whole state (layout, velocities, gains): what a resumed run needs to give the
	 * same bytes as one never interrupted. Format private to the engine, same machine. */
	uint64_t (*state_bytes)(const struct sl_device_embedding *e);
	int (*state_save)(struct sl_device_embedding *e, void *out, struct sl_error *err);
	int (*state_load)(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err);

	/* For tests and accuracy tables: both terms of gradient / 4 at the present layout,
	 * attraction sum_j p_ij q~_ij (y_i - y_j) and repulsion (1/Z) sum_j q~_ij^2 (y_i - y_j),
	 * each [n * dims]; either may be NULL. */
	int (*forces)(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
		      struct sl_error *err);

	/* ---- points; all NULL in engines that leave this to core/points/, core/neighbours/ and core/graph/ ---- */

	/* What principal axes need of all points (core/points/points.h; sl_engine_pca() goes this way), on GPU `index`,
	 * from any thread, like neighbours_find. Borrows p and cancel until out->close(). */
	int (*points_passes)(int index, uint64_t memory_bytes, const struct sl_points *p, const int *cancel,
			     struct sl_points_passes *out, struct sl_error *err);

	/* Searches on GPU `index` from any thread, beside whatever the device's own thread does there, with streams
	 * and memory of its own (at most memory_bytes, 0: what is free). SL_BADPARAM: a metric it does not know. */
	int (*neighbours_find)(int index, uint64_t memory_bytes, const struct sl_points *p,
			       const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err);
	/* Copies nb to the device, ordered for locality. */
	int (*neighbours_put)(struct sl_device *device, const struct sl_neighbours *nb,
			      struct sl_device_neighbours **out, struct sl_error *err);
	void (*neighbours_drop)(struct sl_device_neighbours *nb);
	/* P for params' perplexities, calibrated, symmetrised and scaled without leaving the device. summary is what
	 * an embedding needs to know: sl_affinities without start, node and p, which are NULL. Independent of nb
	 * afterwards. */
	int (*neighbours_graph)(struct sl_device_neighbours *nb, const struct sl_affinities_params *params,
				struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err);

	/* ---- what methods beside t-SNE ask for (core/method/method.h, attach); each is NULL in engines that leave it to
	 * the method's own code on the processor ---- */

	/* The passes over all points of k-means, on points that are copied to the device and stay there until
	 * out->close(). All of them on the device's thread. SL_DEVMEM: no room. */
	int (*kmeans_passes)(struct sl_device *device, const struct sl_kmeans_table *table, struct sl_kmeans_passes *out,
			     struct sl_error *err);
	/* Steps of signals, with the weights and the values on the device until out->close(). All of them on the device's
	 * thread. SL_DEVMEM: no room. */
	int (*signal_passes)(struct sl_device *device, const struct sl_signal_table *table, struct sl_signal_passes *out,
			     struct sl_error *err);
	/* The passes over pairs of points of Sammon's mapping, with the points on the device until out->close(). All of
	 * them on the device's thread. SL_DEVMEM: no room. */
	int (*sammon_passes)(struct sl_device *device, const struct sl_sammon_table *table, struct sl_sammon_passes *out,
			     struct sl_error *err);
	/* The passes over all points of mixtures of Gaussians, with the points on the device until out->close(). All of
	 * them on the device's thread. SL_DEVMEM: no room. */
	int (*gmm_passes)(struct sl_device *device, const struct sl_gmm_table *table, struct sl_gmm_passes *out,
			  struct sl_error *err);

	/* ---- measuring; both may be NULL ---- */

	/* Runs each phase of an iteration alone, many times. Layout and state stay as they are. Fills up to max;
	 * returns how many there are, or a negative code. */
	int (*phases)(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err);
	/* Copies large blocks of the device's own memory: bytes read and written in a second. */
	int (*copy_bandwidth)(struct sl_device *device, double *bytes_per_second, struct sl_error *err);

	/* ---- the walk on a graph, for spectral initial layouts; NULL in engines that leave it to core/init/walk.c, which
	 * needs P on the host. As in struct sl_walk (core/init/spectral.h): mass, components (may be NULL alone) and
	 * filter, all arrays on the host, in the engine's node order. ---- */

	int (*walk_mass)(struct sl_device_graph *graph, float *out, struct sl_error *err);
	int (*walk_components)(struct sl_device_graph *graph, uint32_t *label, struct sl_error *err);
	int (*walk_filter)(struct sl_device_graph *graph, int k, int steps, const float *slope, const float *shift,
			   float **before, float **x, struct sl_error *err);
};

/* Visible to plug-ins: FFTW's planner is one for the process, so the engine that guards it must be one, too. */
__attribute__((visibility("default"))) const struct sl_engine *sl_engine_cpu(void);

/* sl_points_pca() by the engine, if it can and has the memory (index and memory_bytes as of neighbours_find), else
 * here. engine may be NULL. */
int sl_engine_pca(const struct sl_engine *engine, int index, uint64_t memory_bytes, struct sl_points **out,
		  const struct sl_points *p, uint32_t to, double *kept, const int *cancel, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
