/* One table of parameters for the API, the client and Python (core/param_table.h). Its order matters: the first
 * entries are those of tables, then those of all points, then those of all files; each FIRST() is a prefix of it. */
#include "core/formats/input_params.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_words[] = {"auto", "graph", "points", "neighbours", NULL};
static const char *const metric_words[] = {"euclidean", "cosine", "inner_product", "l1", "lp", "linf", "correlation",
					   "hamming", "jaccard", NULL};

static const char *const decimal_words[] = {"auto", "point", "comma", NULL};
static const char *const values_words[] = {"auto", "similarities", "distances", NULL};

/* Also accepts "precomputed", as SciPy and scikit-learn call given distances. */
static int parse_metric(const char *text, int *out, struct sl_error *err)
{
	if (strcmp(text, "precomputed"))
		return sl_distance_parse(text, out, err);
	*out = SL_METRIC_PRECOMPUTED;
	return 0;
}

static int parse_kind(const char *text, int *out, struct sl_error *err)
{
	enum sl_input_kind kind = SL_INPUT_AUTO;
	int code = sl_input_kind_parse(text, &kind, err);
	*out = (int)kind;
	return code;
}

#define PARAM(...) SL_PARAM(struct sl_input_params, __VA_ARGS__)
#define POINTS .points = true

static const struct sl_param_info params_table[] = {
	/* how a table of text or numbers is laid out; also of new points */
	{PARAM(name_column, TEXT, 0, 0, 0), POINTS, .doc =
	 "Tables of text: the column of the points' names, by its title or its number from 1; empty: none. Default: "
	 "recognised."},
	{PARAM(label_column, TEXT, 0, 0, 0), POINTS, .doc =
	 "Tables of text: columns of the points' labels, by titles or numbers with commas between them; the first "
	 "colours pictures. Other columns of words are left out then. Default: all columns of words that do not name the "
	 "points."},
	{PARAM(ignore_columns, TEXT, 0, 0, 0), POINTS, .doc =
	 "Tables of text: columns to leave out, by titles or numbers with commas between them; words stands for all "
	 "columns of words that options and titles do not make names or labels."},
	{PARAM(keep_columns, TEXT, 0, 0, 0), POINTS, .doc =
	 "Tables of text: columns of numbers that are coordinates although they count the rows or have titles of names or "
	 "labels, by titles or numbers with commas between them; all: all columns that hold numbers."},
	{PARAM(decimal, ENUM, 0, 2, 0), .words = decimal_words, POINTS, .doc =
	 "Tables of text: the decimal mark of formatted numbers, point or comma; with point, 1,234 is 1234. Default: "
	 "recognised from the numbers, or else from the separator."},
	{PARAM(transpose, BOOL, 0, 1, false), POINTS, .doc =
	 "Points: the file has a column for each point, such as genes in rows and cells in columns. Default: false, but "
	 "true for matrices that say that Cell Ranger wrote them."},
	/* what else concerns a file of points */
	{PARAM(format, TEXT, 0, 0, 0), .doc =
	 "mtx (MatrixMarket), edges (edge list), npz (SciPy or NumPy), npy or csv (also separated by tabs or spaces), each "
	 "also compressed by gzip or zstd. Default: recognised from the content."},
	{PARAM(isolated, BOOL, 0, 1, false), .doc =
	 "A matrix may declare many more nodes than its entries reach: beyond 65,536 nodes, more than 16 an entry. Without "
	 "it such a file is refused."},
	{PARAM(drop_not_finite, BOOL, 0, 1, false), POINTS, .doc =
	 "Points: leave out rows with a NaN or an infinity, instead of refusing the file."},
	{PARAM(pca, INT, 1, 2048, 0), POINTS, .doc =
	 "Points: project them on so many principal axes before the search; at most their columns."},
	/* what concerns a file of any kind */
	{PARAM(kind, ENUM, 0, 3, SL_INPUT_AUTO), .words = kind_words, .parse = parse_kind, .doc =
	 "What the file holds: graph, points (a table of numbers, a row a point) or neighbours (found elsewhere: indices "
	 "and distances, or a sparse matrix of distances); auto: recognised from the content."},
	{PARAM(directed, BOOL, 0, 1, false), .doc =
	 "Edge lists: a,b is the one entry (row a, column b), not both directions."},
	{PARAM(source, TEXT, 0, 0, 0), .graphs = true, .doc =
	 "Edge lists: the column of the source nodes, by its title or its number from 1. Default: recognised by its title, "
	 "else the first column."},
	{PARAM(target, TEXT, 0, 0, 0), .graphs = true, .doc =
	 "Edge lists: the column of the target nodes. Default: recognised by its title, else the second column."},
	{PARAM(weight, TEXT, 0, 0, 0), .graphs = true, .doc =
	 "Edge lists: the column of the weights; empty: none. Default: recognised by its title, else the third column if "
	 "it holds numbers. Columns that are none of the three are left out."},
	{PARAM(bipartite, BOOL, 0, 1, false), .graphs = true, .doc =
	 "Edge lists: the two columns hold nodes of two kinds, such as users and films, so that equal names in both are "
	 "two nodes. Default: false, but true if the titles of the columns name different kinds of things, such as userId "
	 "and movieId."},
	{PARAM(values, ENUM, 0, SL_VALUES_DISTANCES, SL_VALUES_AUTO), .words = values_words, .doc =
	 "Sparse matrices: what their values are: similarities (a graph: the larger, the closer) or distances (of "
	 "neighbours: the smaller, the closer). Default: similarities, unless they look like distances, which is refused."},
	/* the search for neighbours */
	{PARAM(metric, ENUM, 0, SL_JACCARD, SL_EUCLIDEAN), .words = metric_words, .parse = parse_metric, POINTS, .doc =
	 "Points: the distance between them. Names of scikit-learn and SciPy will do, too; precomputed: a sparse matrix "
	 "of distances."},
	{PARAM(metric_p, DOUBLE, 1, 16, 0), POINTS, .doc =
	 "Points: exponent of metric lp, which needs it."},
	{PARAM(neighbours, INT, 0, 1000000, 90), POINTS, .doc =
	 "Points: neighbours of each point that are searched at first, three times the largest perplexity that is "
	 "expected; 0: none, for k-means, mixtures and Sammon's mapping. A job that needs more has them searched."},
	{PARAM(recall, DOUBLE, 1e-6, 1, SL_NEIGHBOURS_RECALL), POINTS, .doc =
	 "Points: the recall that the search must reach: the share of the true neighbours that it finds; 1: all."},
};

#define OF_TABLES 6
#define OF_POINTS (OF_TABLES + 4)
#define OF_FILES (OF_POINTS + 7)
#define FIRST(count_) {.param = params_table, .count = count_, .given = offsetof(struct sl_input_params, given)}

const struct sl_param_table sl_input_params_table = FIRST(sizeof params_table / sizeof *params_table);
const struct sl_param_table sl_file_params_table = FIRST(OF_FILES);
const struct sl_param_table sl_points_params_table = FIRST(OF_POINTS);
const struct sl_param_table sl_columns_params_table = FIRST(OF_TABLES);

static int check_metric(const struct sl_input_params *p, struct sl_error *err)
{
	if (p->metric_p > 0 && p->metric != SL_LP)
		return sl_error_field(err, SL_BADPARAM, "/metric_p", "metric_p is the exponent of metric lp, which has to be "
				      "given with it.");
	if (!(p->metric_p > 0) && p->metric == SL_LP)
		return sl_error_field(err, SL_BADPARAM, "/metric_p", "Metric lp needs its exponent, metric_p, from 1 to 16.");
	return 0;
}

static int settle_kind(const struct sl_input_params *p, struct sl_input_options *options, struct sl_error *err)
{
	const struct sl_param_info *of_points = sl_param_of_points(&sl_input_params_table, p);
	bool graph = options->read.format == SL_FORMAT_EDGES || p->values == SL_VALUES_SIMILARITIES;
	char pointer[48];
	if (!of_points || options->kind == SL_INPUT_POINTS)
		return 0;
	if (options->kind == SL_INPUT_AUTO && !graph) {
		options->kind = SL_INPUT_POINTS;
		return 0;
	}
	snprintf(pointer, sizeof pointer, "/%s", of_points->name);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s is for points, but %s says that the file holds %s.",
			      of_points->name, p->values == SL_VALUES_SIMILARITIES ? "values" : graph ? "format" : "kind",
			      options->kind == SL_INPUT_NEIGHBOURS ? "neighbours" : "a graph");
}

/* A column of edges makes the file a graph. */
static int settle_columns(const struct sl_input_params *p, struct sl_input_options *options, struct sl_error *err)
{
	const struct sl_param_info *of_graphs = sl_param_of_graphs(&sl_input_params_table, p);
	char pointer[48];
	if (!of_graphs || options->kind == SL_INPUT_GRAPH)
		return 0;
	if (options->kind == SL_INPUT_AUTO) {
		options->kind = SL_INPUT_GRAPH;
		return 0;
	}
	const struct sl_param_info *of_points = sl_param_of_points(&sl_input_params_table, p);
	snprintf(pointer, sizeof pointer, "/%s", of_graphs->name);
	if (of_points)
		return sl_error_field(err, SL_BADPARAM, pointer, "%s is for edge lists, but %s is for points.", of_graphs->name,
				      of_points->name);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s is for edge lists, but the file holds %s.", of_graphs->name,
			      sl_input_kind_name(options->kind));
}

/* With distances as values, the file contains neighbours. */
static int settle_values(const struct sl_input_params *p, struct sl_input_options *options, struct sl_error *err)
{
	bool precomputed = p->metric == SL_METRIC_PRECOMPUTED;
	options->values = precomputed ? SL_VALUES_DISTANCES : (enum sl_input_values)p->values;
	if (precomputed && p->values == SL_VALUES_SIMILARITIES)
		return sl_error_field(err, SL_BADPARAM, "/values", "values is similarities, but metric precomputed is of "
				      "distances.");
	if (options->values != SL_VALUES_DISTANCES)
		return options->values == SL_VALUES_SIMILARITIES && options->kind > SL_INPUT_GRAPH ?
		       sl_error_field(err, SL_BADPARAM, "/values", "values is similarities, which a graph has; kind is %s.",
				      sl_input_kind_name(options->kind)) : 0;
	if (options->kind == SL_INPUT_GRAPH || options->kind == SL_INPUT_POINTS)
		return sl_error_field(err, SL_BADPARAM, precomputed ? "/metric" : "/values", "A sparse matrix of distances is "
				      "of kind neighbours, not %s.", sl_input_kind_name(options->kind));
	options->kind = SL_INPUT_NEIGHBOURS;
	return 0;
}

int sl_input_params_settle(const struct sl_input_params *p, struct sl_input_options *options,
			   struct sl_neighbours_params *search, struct sl_error *err)
{
	options->kind = (enum sl_input_kind)p->kind;
	int code = p->format ? sl_input_format_parse(p->format, options, err) : 0;
	if (!code)
		code = check_metric(p, err);
	if (!code)
		code = settle_values(p, options, err);
	if (!code && p->metric != SL_METRIC_PRECOMPUTED)
		code = settle_kind(p, options, err);
	if (!code)
		code = settle_columns(p, options, err);
	options->read.directed = p->directed;
	options->read.source_column = p->source;
	options->read.target_column = p->target;
	options->read.weight_column = p->weight;
	options->read.bipartite = !sl_param_given(&sl_input_params_table, p, "bipartite") ? SL_SIDES_AUTO
				: p->bipartite ? SL_SIDES_TWO : SL_SIDES_ONE;
	options->pca = (uint32_t)p->pca;
	options->transpose = !sl_param_given(&sl_input_params_table, p, "transpose") ? SL_TRANSPOSE_AUTO
			   : p->transpose ? SL_TRANSPOSE_YES : SL_TRANSPOSE_NO;
	options->drop_not_finite = p->drop_not_finite;
	options->name_column = p->name_column;
	options->label_column = p->label_column;
	options->ignore_columns = p->ignore_columns;
	options->keep_columns = p->keep_columns;
	options->decimal = p->decimal ? (p->decimal == 1 ? '.' : ',') : 0;
	search->metric = p->metric == SL_METRIC_PRECOMPUTED ? SL_EUCLIDEAN : p->metric;
	search->p = p->metric_p > 0 ? p->metric_p : 2;
	search->recall = p->recall;
	search->k = (uint32_t)p->neighbours;
	return code;
}
