/* score.h -- which words or categories are characteristic of a group of nodes.
 *
 * The score is the log-odds ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn, "Fightin' Words",
 * Political Analysis 16, 2008, equations 16 and 22): of a word w in group i against all other groups j
 *
 *   d = log (y_iw + a_w) / (n_i + a - y_iw - a_w)  -  log (y_jw + a_w) / (n_j + a - y_jw - a_w)
 *   z = d / sqrt(1 / (y_iw + a_w) + 1 / (y_jw + a_w))
 *
 * y_iw: nodes of i that have the word; n_i: the sum of y_iw over all words; the prior a_w = a y_w / n says that a
 * word is as frequent in each group as in all of them, with the weight of a = 500 words. So neither words that all
 * groups have nor words that only a few nodes have come first. A category is a word, of which each node has one.
 *
 * Numbers have Cliff's delta (1993), from the ranks of the Mann-Whitney test: how much more often a value of the
 * group is the larger one of two than the smaller one, from -1 to 1. Any thread. */
#ifndef SL_NAMES_SCORE_H
#define SL_NAMES_SCORE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_TERMS_PRIOR 500.0

struct sl_terms;

struct sl_term {
	const char *text;          /* borrowed */
	double score;              /* z */
	uint32_t inside, outside;  /* nodes that have it, in the group and elsewhere */
};

/* Counts for so many clusters, and of the nodes in none. */
int sl_terms_create(struct sl_terms **out, uint32_t clusters, struct sl_error *err);
void sl_terms_destroy(struct sl_terms *t);   /* NULL is fine */
/* Adds a word once, with the nodes that have it: count[clusters + 1], the last one of nodes in no cluster. */
int sl_terms_add(struct sl_terms *t, const char *text, size_t length, const uint32_t *count, struct sl_error *err);

/* The `most` best words of each group of clusters: out[groups * most], the best first, text NULL at the end.
 * to[clusters]: the group of a cluster, or UINT32_MAX. Only words with z > 0 that at least fewest[group] nodes of the
 * group have. Equal scores: in the order of sl_terms_add(). */
int sl_terms_best(const struct sl_terms *t, const uint32_t *to, uint32_t groups, const uint32_t *fewest, uint32_t most,
		  struct sl_term *out, struct sl_error *err);

/* Cliff's delta of each group against all other nodes: delta[groups], NaN without values on both sides. value[n], NaN:
 * none; group[n] < groups or UINT32_MAX, which counts as another node. */
int sl_cliffs_delta(const double *value, const uint32_t *group, uint32_t n, uint32_t groups, double *delta,
		    struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
