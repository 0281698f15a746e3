/* Recognises what a file holds: a graph, points or neighbours. Signs that leave no doubt come first (the options,
 * magic bytes, the members of an archive, a square matrix), then a guess, which is told in `taken`. */
#include "core/formats/read_points.h"

#include <stdio.h>
#include <string.h>

#include "core/formats/content.h"
#include "core/formats/graphs/dense.h"
#include "core/formats/graphs/readers.h"
#include "core/formats/labels/labels.h"
#include "core/formats/numpy/archive.h"
#include "core/formats/points/sparse.h"
#include "core/formats/points/table.h"
#include "core/taken/taken.h"

static const struct sl_input_options no_options;
static const char *const kind_names[] = {"auto", "graph", "points", "neighbours"};

const char *sl_input_kind_name(enum sl_input_kind kind)
{
	return (unsigned)kind <= SL_INPUT_NEIGHBOURS ? kind_names[kind] : "unknown";
}

int sl_input_kind_parse(const char *name, enum sl_input_kind *out, struct sl_error *err)
{
	for (int k = 0; k <= SL_INPUT_NEIGHBOURS; k++)
		if (!strcmp(name, kind_names[k])) {
			*out = (enum sl_input_kind)k;
			return 0;
		}
	return sl_error_field(err, SL_BADPARAM, "/kind", "There is no kind \"%.40s\"; it must be graph, points, neighbours "
			      "or auto.", name);
}

int sl_input_format_parse(const char *name, struct sl_input_options *options, struct sl_error *err)
{
	bool table = !strcmp(name, "npy") || !strcmp(name, "csv");
	enum sl_graph_format format = SL_FORMAT_AUTO;
	if (!table && sl_graph_format_parse(name, &format, NULL))
		return sl_error_field(err, SL_BADPARAM, "/format", "There is no format \"%.40s\"; it must be mtx, edges, npz, "
				      "npy, csv or auto.", name);
	bool graphs_only = format == SL_FORMAT_EDGES;
	if ((table && options->kind != SL_INPUT_AUTO && options->kind != SL_INPUT_POINTS) ||
	    (graphs_only && options->kind != SL_INPUT_AUTO && options->kind != SL_INPUT_GRAPH))
		return sl_error_field(err, SL_BADPARAM, "/format", "The format %s cannot hold %s.",
				      name,
						options->kind == SL_INPUT_GRAPH ? "graphs" : sl_input_kind_name(options->kind));
	options->read.format = format;
	options->table = !table ? SL_TABLE_ANY : !strcmp(name, "npy") ? SL_TABLE_NPY : SL_TABLE_CSV;
	if (table)
		options->kind = SL_INPUT_POINTS;
	if (graphs_only)
		options->kind = SL_INPUT_GRAPH;
	return 0;
}

void sl_input_finish(struct sl_input *input)
{
	sl_graph_destroy(input->graph);
	sl_points_destroy(input->points);
	sl_neighbours_destroy(input->neighbours);
	memset(input, 0, sizeof *input);
}

/* True if the archive has arrays called indices and distances, and none called format. */
static bool holds_neighbours(const struct sl__archive *f)
{
	return !sl__archive_has(f, "format") && sl__archive_has(f, "indices") && sl__archive_has(f, "distances");
}

static int read_points(struct sl_input *out, enum sl__content content, const struct sl_input_options *options,
		       struct sl_source *source, struct sl_error *err)
{
	struct sl__archive archive = {0};
	struct sl__table table;
	int rc = 0;

	if (options->read.format == SL_FORMAT_MTX)
		content = SL__MATRIX;  /* its reader reports the error */
	bool sparse = content == SL__MATRIX;
	sl__table_init(&table, options, source, err);
	if (content == SL__ARRAY) {
		rc = sl__read_points_npy(&table, &out->points);
	} else if (content == SL__ARCHIVE) {
		rc = sl__archive_open(&archive, source, options->read.max_bytes, err);
		sparse = !rc && sl__archive_has(&archive, "format");
		if (!rc && !sparse)
			rc = sl__read_points_npz(&table, &archive, &out->points);
		sl__archive_close(&archive);
	} else if (content == SL__TEXT) {
		rc = options->transpose == SL_TRANSPOSE_YES ? sl__read_points_transposed(&table, &out->points)
							    : sl__read_points_text(&table, &out->points);
	}
	sl__table_finish(&table);
	if (!rc && sparse)
		rc = sl__read_points_sparse(&out->points, content == SL__MATRIX, &out->pca_kept, options, source, err);
	return rc;
}

static int read_distance_matrix(struct sl_neighbours **out, enum sl__content content,
				const struct sl_input_options *options, struct sl_source *source, struct sl_error *err)
{
	struct sl_graph *g = NULL;
	int rc = content == SL__MATRIX ? sl__read_mtx(&g, &options->read, true, source, err)
				: sl__read_npz(&g, &options->read, true, source, err);
	if (!rc)
		rc = sl__neighbours_from_graph(out, g, source, err);
	if (!rc) {
		struct sl_taken *taken = g->taken;
		g->taken = (*out)->taken;
		(*out)->taken = taken;
		sl__tell_neighbours(*out, g);
	}
	sl_graph_destroy(g);
	return rc;
}

static int read_neighbours(struct sl_neighbours **out, enum sl__content content, const struct sl_input_options *options,
			   struct sl_source *source, struct sl_error *err)
{
	struct sl__archive archive = {0};
	bool arrays = false;
	int rc = 0;

	if (content != SL__ARCHIVE && content != SL__MATRIX)
		return sl_error_at(err, SL_BADFORMAT, sl__source_name(source), 0, "Neighbours must be two arrays, "
				   "numpy.savez(file, indices=, distances=), or a sparse matrix of distances (.npz by "
				   "scipy.sparse.save_npz, "
				   ".mtx)%s.", content == SL__ARRAY ? "; from a dense matrix, the Python package takes the "
				   "nearest of each row (metric=\"precomputed\")" : "");
	if (content == SL__ARCHIVE) {
		rc = sl__archive_open(&archive, source, options->read.max_bytes, err);
		arrays = !rc && !sl__archive_has(&archive, "format");
		if (arrays)
			rc = sl__read_neighbours_npz(out, options, &archive, err);
		if (arrays && !rc && options->kind == SL_INPUT_AUTO)
			snprintf((*out)->taken->sign, sizeof (*out)->taken->sign, "arrays called indices and distances");
		sl__archive_close(&archive);
	}
	return rc || arrays ? rc : read_distance_matrix(out, content, options, source, err);
}

/* Reads the shape of a sparse matrix. False: it cannot be read. */
static bool read_shape(struct sl__archive *archive, int64_t shape[2])
{
	struct sl__member m;
	bool found;
	int rc = sl__member_open(archive, &m, "shape", &found);
	bool fine = !rc && found && m.array.count == 2 && sl__npy_is_integer(&m.array) && m.array.kind != 'b' &&
		    !sl__member_block(archive, &m, 2);
	if (fine)
		sl__npy_to_i64(&m.array, m.block, 2, shape);
	sl__member_close(&m);
	return fine;
}

/* Determines the kind of input in an archive if the options do not give it. */
static int detect_archive(enum sl_input_kind *kind, const struct sl_input_options *options, struct sl_source *source,
			     struct sl_error *err)
{
	struct sl__archive archive = {0};
	int64_t shape[2];
	int rc = sl__archive_open(&archive, source, options->read.max_bytes, err);
	if (!rc)
		*kind = !sl__archive_has(&archive, "format") ?
			(holds_neighbours(&archive) ? SL_INPUT_NEIGHBOURS : SL_INPUT_POINTS)
			: read_shape(&archive, shape) && shape[0] != shape[1] ? SL_INPUT_POINTS : SL_INPUT_GRAPH;
	sl__archive_close(&archive);
	return rc;
}

/* True if a MatrixMarket file has as many rows as columns, or its size line is not in the first bytes. */
bool sl__is_square(struct sl_source *source)
{
	const unsigned char *bytes;
	int64_t size = sl__source_peek(source, &bytes, NULL), at = 0;
	while (at < size) {
		const unsigned char *end = memchr(bytes + at, '\n', (size_t)(size - at));
		unsigned long long rows, columns;
		char line[128];
		int64_t next = end ? end - bytes + 1 : size;
		snprintf(line, sizeof line, "%.*s", (int)(next - at), (const char *)bytes + at);
		if (sl__is_cell_ranger(line))
			return false;
		if (line[0] != '%' && sscanf(line, " %llu %llu", &rows, &columns) == 2)
			return rows == columns;
		at = next;
	}
	return true;
}

/* Adds a hint to the error if the text was only assumed to be an edge list. */
static void tell_guess(const struct sl_input_options *options, const struct sl_source *source, const char *sign,
		       struct sl_error *err)
{
	size_t length = err ? strlen(err->detail) : 0;
	if (!err)
		return;
	bool content = err->code == SL_BADDATA || err->code == SL_BADGRAPH;
	if (content && options->kind == SL_INPUT_AUTO && options->read.format == SL_FORMAT_AUTO &&
	    sl_source_format(source) == SL_FORMAT_EDGES && !strstr(sign, "the format of"))
		snprintf(err->detail + length, sizeof err->detail - length, " The file was read as an edge list; kind=points "
			 "reads a table of points.");
}

/* Says how the kind of a text was recognised. */
static void tell_sign(const struct sl_input *in, const char *sign)
{
	struct sl_taken *t = in->graph ? in->graph->taken : in->points ? in->points->taken : NULL;
	if (!t || !*sign)
		return;
	if (!t->sign[0])
		snprintf(t->sign, sizeof t->sign, "%s", sign);
	if (in->graph && (!strncmp(sign, "whole numbers", 13) || !strncmp(sign, "names and whole", 15)))
		sl_taken_add_note(t, true, "Its columns of %swhole numbers have no titles, so they were read as edges; "
				  "kind=points reads a table of points", *sign == 'n' ? "names and " : "");
	if (in->graph && strstr(sign, "below other titles"))
		sl_taken_add_note(t, true, "Its first two columns hold words, so they were read as edges; kind=points reads "
				  "a table of points");
}

/* One line of words is rather a header without rows, or no table at all, than a graph of one edge. */
static int check_one_line(struct sl_input *in, const struct sl_source *source, struct sl_error *err)
{
	const struct sl_taken *t = in->graph->taken;
	const char *name = in->graph->name_bytes;
	if (sl_source_format(source) != SL_FORMAT_EDGES || !t || !t->lines || t->rows != 1 || t->header_lines || !name ||
	    (*name >= '0' && *name <= '9'))
		return 0;
	sl_graph_destroy(in->graph);
	in->graph = NULL;
	return sl_error_at(err, SL_BADDATA, sl__source_name(source), 1, "The file has one line of words alone, such as a "
			   "header without rows. kind=graph reads it as an edge.");
}

/* True if a file of unknown kind looks like points rather than a graph. sign: the reason, of a text; 160 bytes. */
static int text_is_points(struct sl_source *source, bool *points, char *sign, struct sl_error *err)
{
	const unsigned char *bytes;
	int64_t size = sl__source_peek_text(source, &bytes, err);
	bool matrix = sl__name_ends_in(sl__source_name(source), ".mtx");
	*points = false;
	if (size <= 0 || matrix)
		return size < 0 ? (int)size : 0;
	return sl__looks_like_points(points, bytes, size, sl__source_name(source), sl__source_account(source), sign, err);
}

static int detect_kind(enum sl_input_kind *kind, enum sl__content content, const struct sl_input_options *options,
		       struct sl_source *source, char *sign, struct sl_error *err)
{
	bool told = options->read.format == SL_FORMAT_MTX || options->read.format == SL_FORMAT_EDGES;
	bool points = content == SL__MATRIX ? !sl__is_square(source) : content == SL__ARRAY && !told;
	int rc = content == SL__TEXT && !told ? text_is_points(source, &points, sign, err) : 0;
	*kind = points ? SL_INPUT_POINTS : SL_INPUT_GRAPH;
	return content == SL__ARCHIVE && !told ? detect_archive(kind, options, source, err) : rc;
}

/* The format that the options name must be that of the content. */
static int check_format(enum sl__content content, const struct sl_input_options *options,
			const struct sl_source *source, struct sl_error *err)
{
	static const char *const are[] = {"a NumPy array", "a ZIP archive", "MatrixMarket", "a text"};
	bool archive = options->read.format == SL_FORMAT_NPZ && options->kind != SL_INPUT_AUTO;
	enum sl__content wanted = options->table == SL_TABLE_NPY ? SL__ARRAY : options->table == SL_TABLE_CSV ? SL__TEXT
				: archive ? SL__ARCHIVE : content;
	return wanted == content ? 0 :
	       sl_error_at(err, SL_BADFORMAT, sl__source_name(source), 0, "format is %s, but this is %s, not %s.",
			   sl__content_name(wanted), are[content], are[wanted]);
}

/* A matrix with entries on one side of the diagonal alone may be half of a symmetric one. */
static void tell_half(const struct sl_graph *g)
{
	bool above = false, below = false;
	for (uint32_t j = 0; j < g->n && !(above && below) && !g->symmetric; j++)
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++) {
			above |= g->node[k] < j;
			below |= g->node[k] > j;
		}
	if (g->taken && above != below)
		sl_taken_add_note(g->taken, false, "All entries are %s the diagonal, so each edge has one direction; if they "
				  "are half of a symmetric matrix, add its transpose", above ? "above" : "below");
}

static int read_graph(struct sl_input *out, const struct sl_input_options *options, struct sl_source *source,
		      const char *sign, struct sl_error *err)
{
	int rc = sl_graph_read(&out->graph, &options->read, source, err);
	if (!rc && options->values == SL_VALUES_AUTO && sl_source_format(source) != SL_FORMAT_EDGES)
		rc = sl__check_similarities(out->graph, source, err);
	if (!rc && sl_source_format(source) != SL_FORMAT_EDGES)
		tell_half(out->graph);
	if (rc) {
		tell_guess(options, source, sign, err);
		sl_graph_destroy(out->graph);
		out->graph = NULL;
	} else if (options->kind == SL_INPUT_AUTO && options->read.format == SL_FORMAT_AUTO) {
		rc = check_one_line(out, source, err);
		if (!rc)
			tell_sign(out, sign);
	}
	out->kind = SL_INPUT_GRAPH;
	snprintf(out->format, sizeof out->format, "%s", sl_graph_format_name(sl_source_format(source)));
	return rc;
}

/* Whether a file that shall be a graph is a dense matrix. */
static int is_dense(bool *dense, struct sl_source *source, const struct sl_input_options *options,
		    enum sl__content *content, struct sl_error *err)
{
	const unsigned char *bytes;
	struct sl_error ignored;
	*dense = false;
	if (sl__content_find(source, content, &ignored))
		return 0;
	int64_t size = sl__source_peek(source, &bytes, &ignored);
	*dense = *content == SL__ARRAY;
	if (*content != SL__TEXT || size <= 0)
		return 0;
	if (sl__text_is_dense(dense, bytes, (size_t)size, size < SL__LINE_BUFFER, &options->read,
			      sl__source_name(source), sl__source_account(source)))
		return sl_error_memory_at(err, sl__source_name(source), "its columns");
	return 0;
}

static int read_dense(struct sl_input *out, enum sl__content content, const struct sl_input_options *options,
		      struct sl_source *source, struct sl_error *err)
{
	struct sl_input_options table = {.read = options->read, .kind = SL_INPUT_POINTS, .keep_columns =
					 content == SL__TEXT ? "all" : NULL};
	struct sl_input matrix = {0};
	int rc = read_points(&matrix, content, &table, source, err);
	if (!rc)
		rc = sl__graph_of_dense(&out->graph, matrix.points, &options->read, source, err);
	if (!rc && options->values == SL_VALUES_AUTO)
		rc = sl__check_similarities(out->graph, source, err);
	if (rc) {
		sl_graph_destroy(out->graph);
		out->graph = NULL;
	}
	sl_points_destroy(matrix.points);
	if (!rc)
		sl__tell_container(source, out->graph->taken);
	out->kind = SL_INPUT_GRAPH;
	snprintf(out->format, sizeof out->format, "%s", sl__content_name(content));
	return rc;
}

int sl_input_read(struct sl_input *out, const struct sl_input_options *options, struct sl_source *source,
		  struct sl_error *err)
{
	enum sl__content content;
	char sign[160] = "";
	bool dense = false;
	int rc = 0;

	memset(out, 0, sizeof *out);
	if (!options)
		options = &no_options;
	sl__source_set_options(source, &options->read);
	enum sl_input_kind kind = options->kind;
	if (kind == SL_INPUT_GRAPH && options->read.format == SL_FORMAT_AUTO)
		rc = is_dense(&dense, source, options, &content, err);
	if (rc)
		return rc;
	if (dense)
		return read_dense(out, content, options, source, err);
	if (kind == SL_INPUT_GRAPH)  /* its reader recognises the format, or is told it */
		return read_graph(out, options, source, sign, err);
	rc = sl__content_find(source, &content, err);
	if (!rc)
		rc = check_format(content, options, source, err);
	if (!rc && kind == SL_INPUT_AUTO)
		rc = detect_kind(&kind, content, options, source, sign, err);
	if (rc)
		return rc;
	snprintf(out->format, sizeof out->format, "%s", sl__content_name(content));
	out->kind = kind;
	if (kind == SL_INPUT_POINTS) {
		rc = read_points(out, content, options, source, err);
		if (!rc && options->kind == SL_INPUT_AUTO)
			tell_sign(out, sign);
		sl__tell_container(source, rc ? NULL : out->points->taken);
		return rc;
	}
	if (kind == SL_INPUT_NEIGHBOURS) {
		rc = read_neighbours(&out->neighbours, content, options, source, err);
		sl__tell_container(source, rc ? NULL : out->neighbours->taken);
		return rc;
	}
	return read_graph(out, options, source, sign, err);
}

int sl_points_read(struct sl_points **out, const struct sl_input_options *options, struct sl_source *source,
		   struct sl_error *err)
{
	struct sl_input_options wanted = options ? *options : no_options;
	struct sl_input input;
	wanted.kind = SL_INPUT_POINTS;
	int rc = sl_input_read(&input, &wanted, source, err);
	*out = input.points;
	return rc;
}

int sl_points_read_label_table(struct sl_points *points, struct sl_label_table *out, const char *only,
			       const struct sl_read_options *options, struct sl_source *source, struct sl_error *err)
{
	struct sl_graph nodes = {
		.n = points->n_user, .name_bytes = points->name_bytes, .name_at = points->name_at,
		.label = points->label, .labels = points->labels, .label_name = points->label_name,
	};
	int rc = sl_graph_read_label_table(&nodes, out, only, options, source, err);
	points->label = nodes.label;
	points->labels = nodes.labels;
	points->label_name = nodes.label_name;
	if (!rc)
		memcpy(points->label_title, nodes.label_title, sizeof points->label_title);
	return rc;
}

int sl_points_read_labels(struct sl_points *points, const struct sl_read_options *options, struct sl_source *source,
			  struct sl_error *err)
{
	struct sl_label_table table;
	int rc = sl_points_read_label_table(points, &table, NULL, options, source, err);
	sl_label_table_finish(&table);
	return rc;
}
