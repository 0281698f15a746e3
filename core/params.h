/* params.h -- the parameters of one embedding job, as data.
 *
 * One table (sl_params_table, see core/param_table.h) names every parameter with its type, range, default and
 * meaning. A new parameter is one line in the table and one field. The functions here know what the table does
 * not: that a preset sets all others, and what fits together. */
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
	int preset;                     /* enum sl_preset: what "not given" means for the rest */
	int dims;                       /* 1, 2, 3 */
	double lambda;                  /* graphs: >= 1, see core/graph/affinities.h; 0: auto = 10 */
	struct sl_param_list perplexity; /* points: >= 1 each; several: the mean of their affinities; none: auto = 30 */
	bool drop_leaf_edges;
	int iterations;                 /* 0: auto, see sl_params_settle() */
	double exaggeration;            /* early exaggeration alpha */
	int exaggeration_iterations;    /* iterations with it; -1: auto */
	double late_exaggeration;       /* alpha after that; 1: none */
	double dof;                     /* degrees of freedom of the layout's kernel; 1: t-SNE */
	int optimizer;                  /* enum sl_optimizer */
	double learning_rate;           /* on gradient / 4; 0: auto = max(200, n / alpha) (adam: 0.5) */
	int learning_rate_rule;         /* enum sl_rate_rule: which alpha "auto" means */
	double early_momentum;          /* during early exaggeration */
	double momentum;                /* after it */
	int gains;                      /* enum sl_gains: one for each node or each coordinate */
	double gain_least, gain_added;  /* a gain that falls: max(gain_least, 0.8 gain + gain_added) */
	double rate_limit;              /* of learning rate * exaggeration * mass of a node; 0: none */
	double max_step;                /* longest step of a node; 0: any */
	int restart;                    /* enum sl_restart: what early exaggeration's end sets back */
	double rescale;                 /* part of the run after which the layout is scaled to the least KL; 0: never */
	int accuracy;                   /* enum sl_accuracy; AUTO: normal; in 3-D and beyond 100,000 nodes draft */
	int grid_side;                  /* > 0: fixed number of grid nodes a side; 0: by accuracy */
	int repulsion;                  /* enum sl_repulsion; AUTO: grid or exact, by cost, iteration by iteration */
	double theta;                   /* Barnes-Hut: how large a cell may look from afar; see core/cpu/tree.h */
	int init;                       /* enum sl_init */
	double init_std;                /* the initial layout is rescaled to it; 0: given layouts stay as they are */
	uint64_t seed;
	double min_gradient_norm;       /* stop below it; 0: off */
	int kl_patience;                /* stop when KL has not fallen by kl_tolerance for so many iterations; 0: off */
	double kl_tolerance;            /* relative fall; with iterations auto, in a tenth of the run; -1: auto */
	double max_seconds;             /* stop after so much compute time; 0: off */
	int trace_interval;             /* iterations between trace points; 0: only the last */
};

extern const struct sl_param_info sl_params_table[];
extern const int sl_params_count;
extern const struct sl_param_table sl_tsne_table;  /* the same as a table */

/* NULL when there is none of that name. */
const struct sl_param_info *sl_params_find(const char *name);

/* The values of a preset. */
void sl_params_preset(struct sl_params *p, enum sl_preset preset);

/* As sl_param_set() and the others of core/param_table.h. Setting "preset" resets all others: set it first. */
int sl_params_set(struct sl_params *p, const char *name, const char *text, struct sl_error *err);

int sl_params_set_number(struct sl_params *p, const struct sl_param_info *info, double value,
			 struct sl_error *err);
int sl_params_set_list(struct sl_params *p, const struct sl_param_info *info, const double *values, int count,
		       struct sl_error *err);
char *sl_params_text(const struct sl_params *p, const struct sl_param_info *info, char out[SL_PARAM_TEXT_BYTES]);
const struct sl_param_list *sl_params_list(const struct sl_params *p, const struct sl_param_info *info);
bool sl_params_number(const struct sl_params *p, const struct sl_param_info *info, double *value);

/* What depends on several fields at once. */
int sl_params_check(const struct sl_params *p, struct sl_error *err);

/* What depends on the job's input as well: lambda and drop_leaf_edges are of graphs, perplexity is of points. */
int sl_params_check_input(const struct sl_params *p, bool points, struct sl_error *err);

/* Numbers in place of automatic iterations and exaggeration_iterations: those of the first plan for n embedded nodes,
 * from which a run of automatic iterations grows (core/embedding/growth.c). */
void sl_params_settle(struct sl_params *p, uint32_t n);
/* How many iterations that plan has for many nodes. */
int sl_params_iterations(const struct sl_params *p);
/* How many iterations a run may come to. */
int sl_params_iterations_most(const struct sl_params *p, uint32_t n);
/* The relative fall of the KL divergence for which it grows by a tenth, after so many iterations. */
double sl_params_growth_tolerance(const struct sl_params *p, uint32_t n, int iteration);
/* That for which early exaggeration grows. */
double sl_params_early_tolerance(uint32_t n);

/* Takes over the steerable fields of `from` that differ; names the first field that
 * differs and is not steerable, in err. */
int sl_params_steer(struct sl_params *p, const struct sl_params *from, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
