/* clusters_internal.h -- naming clusters, in two steps: counting words, categories and numbers of a graph's columns,
 * and choosing names. Pool thread. */
#ifndef SL_CLUSTERS_INTERNAL_H
#define SL_CLUSTERS_INTERNAL_H

#include "core/names/clusters.h"
#include "core/names/score.h"
#include "daemon/graphs/rows/clusters/clusters.h"
#include "daemon/graphs/rows/rows_internal.h"

/* What is known of one column. */
struct sl__counted {
	struct sl__row_column *column;   /* borrowed of rows */
	struct sl_terms *terms;          /* words and categories; NULL: numbers and dates */
	double *value;                   /* [n] of numbers and dates */
	uint64_t overall;                /* of a category: nodes of the most frequent one */
};

struct sl__naming {
	struct sl__rows *rows;
	const struct sl_map_clusters *clusters;
	struct sl__counted *counted;     /* [count]: those to name from */
	int count;
	bool used[SL_COLUMNS_MAX + 2];   /* by column of rows: names come from it */
	int best_category;               /* of counted: the one that tells clusters apart best; -1: none */
	bool blind;                      /* no names */
	int words;                       /* of counted: the first column of texts; -1: none. It has the words of all */
};

/* counting.c: columns NULL: those that are chosen. */
int sl__counting(struct sl__naming *n, const char *columns, const int *cancel, struct sl_error *err);
void sl__counting_finish(struct sl__naming *n);

/* naming.c: {"columns": [...], "levels": [...]}. */
int sl__naming_json(const struct sl__naming *n, json_t **out, struct sl_error *err);

#endif
