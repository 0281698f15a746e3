/* adjacency.c -- lists of neighbours: "a: b c", and the two forms of networkx.
 *
 * Blanks or tabs separate the nodes, or commas if a line has them and no blank. networkx writes an edge at one of its
 * ends only, others at both; since there are no weights, an edge that is listed twice is one. In blocks, a dictionary
 * behind the neighbour may have a weight. */
#include "core/formats/graphs/adjacency.h"

#include <string.h>

#include "core/formats/text/names.h"
#include "core/taken/taken.h"

#define LOOK 1000               /* lines that are looked at */
#define LONG_LINE (16u << 20)   /* bytes of the longest line */

struct word {
	const char *at;
	size_t length;
};

static bool parts(char c, bool commas) { return c == ' ' || c == '\t' || (commas && c == ','); }

/* The next word of a line. False: there is none. */
static bool take(const char **at, const char *end, bool commas, struct word *out)
{
	const char *p = *at;
	while (p < end && parts(*p, commas))
		p++;
	out->at = p;
	while (p < end && !parts(*p, commas))
		p++;
	out->length = (size_t)(p - out->at);
	*at = p;
	return out->length > 0;
}

/* Takes the node of a line "a: b" or "a : b". */
static bool take_before_colon(const char **at, const char *end, struct word *out)
{
	struct word colon;
	if (!take(at, end, false, out))
		return false;
	if (out->length > 1 && out->at[out->length - 1] == ':') {
		out->length--;
		return out->at[out->length - 1] != ':';
	}
	return take(at, end, false, &colon) && colon.length == 1 && *colon.at == ':';
}

static bool whole(const struct word *w, uint64_t *out)
{
	*out = 0;
	for (size_t k = 0; k < w->length; k++) {
		if (w->at[k] < '0' || w->at[k] > '9' || k > 17)
			return false;
		*out = *out * 10 + (uint64_t)(w->at[k] - '0');
	}
	return w->length > 0;
}

/* Commas separate the words if a line has them and no blank, apart from a dictionary. */
static bool has_commas(const struct sl__line *line)
{
	const char *brace = memchr(line->at, '{', (size_t)(line->end - line->at));
	size_t size = (size_t)((brace ? brace : line->end) - line->at);
	return memchr(line->at, ',', size) && !memchr(line->at, ' ', size) && !memchr(line->at, '\t', size);
}

static bool is_empty(const struct sl__line *line)
{
	const char *p = line->at;
	struct word w;
	return !take(&p, line->end, false, &w) || *w.at == '#' || *w.at == '%';
}

/* ---- recognition -------------------------------------------------------------------- */

static bool has_header_of_networkx(const char *at, const char *end)
{
	struct sl__line line[3];
	for (int k = 0; k < 3; k++)
		if (!sl__next_line(&at, end, &line[k]) || line[k].at == line[k].end || *line[k].at != '#')
			return false;
	return line[1].end - line[1].at > 6 && !memcmp(line[1].at, "# GMT ", 6);
}

/* True if the first node that has neighbours has a line for each, with a dictionary. */
static bool has_blocks(const char *at, const char *end)
{
	struct sl__line line;
	struct word w;
	uint64_t degree = 0;
	while (sl__next_line(&at, end, &line)) {
		const char *p = line.at;
		if (is_empty(&line))
			continue;
		bool commas = has_commas(&line);
		if (!take(&p, line.end, commas, &w) || !take(&p, line.end, commas, &w))
			return false;
		if (degree)
			return *w.at == '{';
		if (!whole(&w, &degree))
			return false;
	}
	return false;
}

/* True if each line is "a: b c", and the first words that follow a colon have lines, too. */
static bool has_colons(const char *at, const char *end, bool all)
{
	struct word listed[LOOK], node, first[16];
	struct sl__line line;
	uint32_t lines = 0, neighbours = 0, found = 0;
	while (lines < LOOK && sl__next_line(&at, end, &line) && (all || at < end)) {
		const char *p = line.at;
		if (is_empty(&line))
			continue;
		if (!take_before_colon(&p, line.end, &node))
			return false;
		listed[lines++] = node;
		bool commas = memchr(p, ',', (size_t)(line.end - p)) != NULL;
		if (neighbours < 16 && take(&p, line.end, commas, &first[neighbours]))
			neighbours++;
	}
	for (uint32_t k = 0; k < neighbours; k++)
		for (uint32_t i = 0; i < lines; i++)
			if (listed[i].length == first[k].length && !memcmp(listed[i].at, first[k].at, first[k].length)) {
				found++;
				break;
			}
	return lines > 1 && 2 * found > neighbours;
}

enum sl__adjacency sl__adjacency_of(const unsigned char *bytes, size_t size, bool all, const char *name)
{
	const char *at = (const char *)bytes, *end = at + size;
	bool networkx = has_header_of_networkx(at, end);
	if (has_colons(at, end, all))
		return SL__ADJACENCY_COLON;
	if (!networkx && !sl__name_ends_in(name, ".adjlist"))
		return SL__NO_ADJACENCY;
	return has_blocks(at, end) ? SL__ADJACENCY_BLOCKS : SL__ADJACENCY_LINES;
}

/* ---- reading ------------------------------------------------------------------------ */

struct adjacency {
	enum sl__adjacency kind;
	struct sl_source *source;
	const struct sl_read_options *options;
	struct sl_graph_builder *builder;
	struct sl__names names;
	struct sl_taken *taken;
	uint64_t left;              /* BLOCKS: neighbours of the node that are still to come */
	uint32_t node;
	bool weighted;
	struct sl_error *err;
};

static int bad(struct adjacency *f, const char *wanted)
{
	return sl__source_fail(f->source, SL_BADDATA, f->err, "The line must have %s, since this is a list of neighbours.",
			       wanted);
}

static int memory_error(struct adjacency *f, int rc)
{
	return sl__source_fail(f->source, rc, f->err, SL_NO_MEMORY "more than %u nodes and the edges read so far.",
			       f->names.n);
}

static int find(struct adjacency *f, const struct word *w, uint32_t *out)
{
	uint64_t limit = f->options->max_nodes;
	if (!sl__valid_utf8(w->at, w->length))
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The node's name is not valid UTF-8; convert the file "
				       "(iconv -t UTF-8).");
	int rc = sl__names_add(&f->names, w->at, w->length, out);
	if (rc)
		return memory_error(f, rc);
	return !limit || f->names.n <= limit ? 0 :
	       sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has more than %llu nodes, the limit (max_nodes).",
			       (unsigned long long)limit);
}

static int add(struct adjacency *f, const struct word *to, float weight)
{
	uint32_t other;
	int rc = find(f, to, &other);
	if (!rc && (rc = sl_graph_builder_add(f->builder, f->node, other, weight)))
		rc = memory_error(f, rc);
	f->taken->rows += !rc;
	if (!rc && f->options->max_entries && f->builder->count > f->options->max_entries)
		rc = sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has more than %llu entries, the limit "
				     "(max_entries).", (unsigned long long)f->options->max_entries);
	return rc;
}

/* The value of "{'weight': 2.5}"; 1: there is none. p: after the neighbour. */
static int weight_of(struct adjacency *f, const char *p, const char *end, float *out)
{
	static const char key[] = "'weight': ";
	const char *at = memmem(p, (size_t)(end - p), key, sizeof key - 1);
	*out = 1;
	if (!at || (f->options->weight_column && !*f->options->weight_column))
		return 0;
	at += sizeof key - 1;
	if (!sl__parse_float(&at, out) || !(*out >= 0 && *out <= SL__MAX_WEIGHT))
		return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The weight must be a finite number that is not "
				       "negative; weight= with no column leaves weights out.");
	f->weighted = true;
	return 0;
}

/* "a 2", or the line of one of its neighbours. */
static int block_line(struct adjacency *f, const struct sl__line *line)
{
	const char *p = line->at;
	struct word node, degree;
	float weight;
	bool commas = has_commas(line);
	take(&p, line->end, commas, &node);
	if (f->left) {
		int rc = weight_of(f, p, line->end, &weight);
		f->left--;
		return rc ? rc : add(f, &node, weight);
	}
	if (!take(&p, line->end, commas, &degree) || !whole(&degree, &f->left))
		return bad(f, "a node and the number of its neighbours");
	return find(f, &node, &f->node);
}

static int one_line(struct adjacency *f, const struct sl__line *line)
{
	const char *p = line->at;
	struct word w;
	bool colon = f->kind == SL__ADJACENCY_COLON;
	if (f->kind == SL__ADJACENCY_BLOCKS)
		return block_line(f, line);
	if (colon ? !take_before_colon(&p, line->end, &w) : !take(&p, line->end, has_commas(line), &w))
		return bad(f, "a node, a colon and its neighbours");
	bool commas = colon ? memchr(p, ',', (size_t)(line->end - p)) != NULL : has_commas(line);
	int rc = find(f, &w, &f->node);
	while (!rc && take(&p, line->end, commas, &w))
		rc = add(f, &w, 1);
	return rc;
}

static int read_lines(struct adjacency *f)
{
	struct sl__line line;
	int rc = sl__source_widen(f->source, LONG_LINE, f->err);
	while (!rc && (rc = sl__source_line(f->source, &line, f->err)) > 0) {
		rc = is_empty(&line) ? 0 : one_line(f, &line);
	}
	if (!rc && f->left)
		rc = bad(f, "a neighbour");
	if (!rc && !f->names.n)
		rc = sl_error_at(f->err, SL_BADGRAPH, sl__source_name(f->source), 0, "The list of neighbours has no node.");
	return rc;
}

static void tell(struct adjacency *f, const struct sl_graph *g)
{
	struct sl_taken *t = f->taken;
	snprintf(t->sign, sizeof t->sign, "a list of neighbours%s", f->kind == SL__ADJACENCY_COLON ? " behind colons" :
		 ", as networkx writes it");
	t->directed = f->options->directed;
	t->rows_left_out = g->report.self_loops + g->report.zero_weights;
	t->rows_used = t->rows - t->rows_left_out;
	sl_taken_add_columns(t, 1, 1, SL_TAKEN_SOURCE, NULL, NULL);
	sl_taken_add_columns(t, 2, 1, SL_TAKEN_TARGET, NULL, NULL);
	if (f->weighted)
		sl_taken_add_columns(t, 3, 1, SL_TAKEN_WEIGHT, NULL, NULL);
	if (g->report.self_loops)
		sl_taken_add_note(t, false, "Left out: %llu edges from a node to itself",
				  (unsigned long long)g->report.self_loops);
	if (g->report.zero_weights)
		sl_taken_add_note(t, false, "Left out: %llu edges of weight 0", (unsigned long long)g->report.zero_weights);
}

int sl__read_adjacency(struct sl_graph **out, enum sl__adjacency kind, const struct sl_read_options *options,
		       struct sl_source *source, struct sl_error *err)
{
	struct adjacency f = {.kind = kind, .source = source, .options = options, .taken = sl_taken_create(), .err = err};
	sl__names_init(&f.names, sl__source_account(source));
	int rc = f.taken ? 0 : sl_error_memory(err, "reading %s", sl__source_name(source));
	if (!rc)
		rc = sl__graph_builder_create(&f.builder, options->directed ? SL_GENERAL : SL_SYMMETRIC, true, 0,
					      sl__source_account(source), err);
	if (!rc)
		rc = read_lines(&f);
	if (!rc) {
		f.builder->weighted = f.weighted;  /* edges that are listed twice add up only then */
		rc = sl__finish_graph(f.builder, f.names.n, source, out, err);
		f.builder = NULL;
	}
	if (!rc) {
		tell(&f, *out);
		sl__names_give(&f.names, &(*out)->name_bytes, &(*out)->name_at);
		(*out)->taken = f.taken;
		f.taken = NULL;
	}
	sl_graph_builder_destroy(f.builder);
	sl__names_finish(&f.names);
	sl_taken_destroy(f.taken);
	return rc;
}
