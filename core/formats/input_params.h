/* input_params.h -- the parameters of an upload: how to read a file of a graph, points or neighbours. They are also the
 * client's options. */
#ifndef SL_INPUT_PARAMS_H
#define SL_INPUT_PARAMS_H

#include "core/formats/read_points.h"
#include "core/param_table.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_METRIC_PRECOMPUTED 100  /* the file holds distances */

struct sl_input_params {
	uint64_t given;            /* bit i: parameter i of the table was set */
	int kind;                  /* enum sl_input_kind */
	const char *format;        /* a word of sl_input_format_parse(), or NULL */
	bool directed;             /* edge lists */
	const char *source, *target, *weight;  /* columns of edge lists, as in struct sl_read_options */
	bool bipartite;            /* edge lists; not given: by their titles */
	bool isolated;             /* a matrix may have many more nodes than its entries reach */
	int values;                /* enum sl_input_values: of a sparse matrix */
	int metric;                /* enum sl_distance, or SL_METRIC_PRECOMPUTED */
	double metric_p;           /* of SL_LP; 0: not given */
	int neighbours;            /* number of neighbours that the first search finds */
	double recall;
	int pca;                   /* 0: no projection */
	const char *name_column, *label_column, *ignore_columns, *keep_columns;  /* as in struct sl_input_options */
	int decimal;               /* 0: recognised, 1: point, 2: comma */
	bool transpose;
	bool drop_not_finite;
};

/* All of them. The others are its beginnings, so that each may fill the same record: */
extern const struct sl_param_table sl_input_params_table;
extern const struct sl_param_table sl_file_params_table;     /* without those of the search for neighbours */
extern const struct sl_param_table sl_points_params_table;   /* those that concern a file of points */
extern const struct sl_param_table sl_columns_params_table;  /* those that say how a table is laid out: of new points */

/* Checks combinations of parameters, and fills in the options for reading (kind, read.format, read.directed, columns,
 * drop_not_finite) and for the search (metric, p, recall, k). Strings are borrowed. If a parameter of points was set,
 * the kind is points. err->pointer is "/name". */
int sl_input_params_settle(const struct sl_input_params *p, struct sl_input_options *options,
			   struct sl_neighbours_params *search, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
