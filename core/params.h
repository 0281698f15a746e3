/* params.h -- the parameters of one embedding job, as data.
 *
 * One table (sl_params_table, see core/param_table.h) names every parameter with its type, range, default and
 * meaning. A new parameter is one line in the table and one field. The functions here add what the table cannot
 * express: a preset sets all other parameters, and some combinations are not valid. */
#ifndef SL_PARAMS_H
#define SL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/param_table.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_ITERATIONS_MOST 1000000

enum sl_optimizer { SL_MOMENTUM, SL_ADAM };
enum sl_accuracy { SL_DRAFT, SL_NORMAL, SL_FINE, SL_ACCURACY_AUTO };
enum sl_repulsion { SL_REPULSION_AUTO, SL_REPULSION_GRID, SL_REPULSION_EXACT, SL_REPULSION_BARNES_HUT };
enum sl_init { SL_INIT_RANDOM, SL_INIT_GIVEN, SL_INIT_PCA, SL_INIT_SPECTRAL, SL_INIT_AUTO };
enum sl_rate_rule { SL_RATE_PHASE, SL_RATE_EARLY };
enum sl_gains { SL_GAINS_NODE, SL_GAINS_COORDINATE };
enum sl_restart { SL_RESTART_NOTHING, SL_RESTART_VELOCITIES, SL_RESTART_ALL };
/* docs/presets.md maps each program's parameters to ours. */
enum sl_preset { SL_PRESET_DEFAULT, SL_PRESET_SGTSNEPI, SL_PRESET_FITSNE, SL_PRESET_OPENTSNE, SL_PRESET_SKLEARN,
		 SL_PRESET_TSNECUDA, SL_PRESET_SKLEARN_BARNES_HUT, SL_PRESET_TSNECUDA1 };

struct sl_params {
	int preset;                     /* enum sl_preset: the defaults of all other fields */
	int dims;                       /* 1, 2, 3 */
	double lambda;                  /* graphs: >= 1, see core/graph/affinities.h; 0: auto = 10 */
	struct sl_param_list perplexity; /* points: >= 1 each; several: the mean of their affinities; empty: auto = 30 */
	bool drop_leaf_edges;           /* graphs: leave out the edges of nodes with one neighbour */
	int iterations;                 /* 0: auto, see sl_params_settle() */
	double exaggeration;            /* factor alpha of the attraction in the first iterations (early exaggeration) */
	int exaggeration_iterations;    /* number of iterations with early exaggeration; -1: auto */
	int exaggeration_decay;         /* iterations after these in which it falls to late_exaggeration; -1: auto */
	double late_exaggeration;       /* alpha in the iterations after that; 1: none */
	double dof;                     /* degrees of freedom of the layout's kernel; 1: t-SNE */
	int optimizer;                  /* enum sl_optimizer */
	double learning_rate;           /* multiplies gradient / 4; 0: auto = max(200, n / alpha) (adam: 0.5) */
	int learning_rate_rule;         /* enum sl_rate_rule: "auto" uses the alpha of the phase, or always the early one */
	double early_momentum;          /* during early exaggeration */
	double momentum;                /* after early exaggeration */
	int gains;                      /* enum sl_gains: one gain for each node, or one for each coordinate */
	double gain_least, gain_added;  /* a gain that falls becomes max(gain_least, 0.8 gain + gain_added) */
	double rate_limit;              /* limit of learning rate * exaggeration * mass of a node; 0: none */
	double max_step;                /* longest step of a node in an iteration; 0: no limit */
	int restart;                    /* enum sl_restart: what is reset when early exaggeration ends */
	double rescale;                 /* share of the run after which the layout is scaled to the least KL; 0: never */
	int accuracy;                   /* enum sl_accuracy; AUTO: normal; in 3-D and beyond 100,000 nodes draft */
	int grid_side;                  /* > 0: fixed number of grid nodes a side; 0: by accuracy */
	int repulsion;                  /* enum sl_repulsion; AUTO: grid or exact, the cheaper one in each iteration */
	double theta;                   /* Barnes-Hut: the largest ratio of cell size to distance; see core/cpu/tree.h */
	int init;                       /* enum sl_init */
	double init_std;                /* standard deviation of the initial layout; 0: a given layout is not rescaled */
	uint64_t seed;                  /* of all random numbers */
	double min_gradient_norm;       /* stop when the gradient norm is below this; 0: off */
	int kl_patience;                /* stop when KL has not fallen by kl_tolerance for so many iterations; 0: off */
	double kl_tolerance;            /* relative fall; with iterations auto: in a tenth of the run; -1: auto */
	double max_seconds;             /* stop after so much compute time; 0: off */
	int trace_interval;             /* iterations between trace points; 0: only the last */
	int pause_at;                   /* iteration at which status.held is told once; 0: off */
};

extern const struct sl_param_info sl_params_table[];
extern const int sl_params_count;
extern const struct sl_param_table sl_tsne_table;  /* the array above as a struct sl_param_table */

/* The parameter of this name; NULL: there is none. */
const struct sl_param_info *sl_params_find(const char *name);

/* Sets all fields to the values of a preset. */
void sl_params_preset(struct sl_params *p, enum sl_preset preset);

/* Like sl_param_set() (core/param_table.h), which serves for all else. Setting "preset" resets
 * all other parameters, so set it first. */
int sl_params_set(struct sl_params *p, const char *name, const char *text, struct sl_error *err);

/* Checks the combinations of fields. 0 or SL_BADPARAM. */
int sl_params_check(const struct sl_params *p, struct sl_error *err);

/* Checks the fields against the job's input: lambda and drop_leaf_edges need a graph, perplexity needs points. */
int sl_params_check_input(const struct sl_params *p, bool points, struct sl_error *err);

/* Replaces automatic iterations, exaggeration_iterations and exaggeration_decay by the numbers of the first plan. A run
 * of automatic iterations may extend this plan (core/embedding/growth.c). */
void sl_params_settle(struct sl_params *p);
/* True if the number of iterations, 20 or more, is a budget for the run of "auto" (core/embedding/growth.c): without a
 * preset of another program, and with the usual search for the scale. */
bool sl_params_budgeted(const struct sl_params *p);
/* The number of iterations of such a run's first plan. p: as requested. */
int sl_params_first_plan(const struct sl_params *p);
/* The number of iterations of the first plan. */
int sl_params_iterations(const struct sl_params *p);
/* The most iterations to which a run of n embedded nodes can be extended, and the iteration at which the first search
 * for the scale begins at the latest: half of a long run is left for the layout at its scale. */
int sl_params_iterations_most(const struct sl_params *p, uint32_t n);
int sl_params_search_latest(const struct sl_params *p, uint32_t n);
/* After early exaggeration and its decay, the run is extended by a tenth if the KL divergence has fallen by this
 * relative amount. */
double sl_params_growth_tolerance(const struct sl_params *p, uint32_t n);
/* The relative fall of the KL divergence for which early exaggeration is extended. */
double sl_params_early_tolerance(void);

/* Copies the steerable fields of `from` that differ. SL_CONFLICT: another field differs; err names the first. */
int sl_params_steer(struct sl_params *p, const struct sl_params *from, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
