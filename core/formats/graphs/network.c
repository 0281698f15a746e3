/* network.c -- graphs as other programs write them: METIS, DIMACS, Pajek and TGF.
 *
 * All number their nodes from 1; the numbers, or the labels that the file gives, become the nodes' names. METIS has a
 * line for each node, with its neighbours, and lists an edge at both ends. DIMACS has "a FROM TO LENGTH" or "e A B".
 * Pajek has sections, *Vertices, *Edges, *Arcs, *Edgeslist, *Arcslist. TGF has nodes, "#", edges.
 *
 * DIMACS' lengths of roads are distances, and weights of a graph are similarities, so lengths are left out unless an
 * option asks for them. */
#include <string.h>
#include <strings.h>

#include "core/formats/graphs/network.h"
#include "core/formats/text/names.h"
#include "core/formats/text/number.h"
#include "core/graph/builder.h"
#include "core/taken/taken.h"

#define LONG_LINE (16u << 20)   /* bytes of the longest line of a METIS file */
#define TGF_LOOK 1000           /* nodes of a TGF file that are compared with its first edge */

/* ---- words -------------------------------------------------------------------------- */

struct word {
	const char *at, *end;
};

static const char *skip(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* The next word of the line. False: there is none. */
static bool take(const char **at, const char *end, struct word *out)
{
	const char *p = skip(*at, end);
	out->at = p;
	while (p < end && *p != ' ' && *p != '\t')
		p++;
	out->end = *at = p;
	return out->end > out->at;
}

static bool is(const struct word *w, const char *text)
{
	return (size_t)(w->end - w->at) == strlen(text) && !strncasecmp(w->at, text, strlen(text));
}

static bool whole(const struct word *w, uint64_t *out)
{
	char text[24];
	const char *p = text;
	size_t length = (size_t)(w->end - w->at);
	if (!length || length >= sizeof text)
		return false;
	memcpy(text, w->at, length);  /* a word of a text in memory may end with the text */
	text[length] = '\n';
	return sl__parse_u64(&p, out) && p == text + length;
}

static bool take_whole(const char **at, const char *end, uint64_t *out)
{
	struct word w;
	return take(at, end, &w) && whole(&w, out);
}

/* ---- recognition -------------------------------------------------------------------- */

static bool line_ends(const char *at, const char *end)
{
	return skip(at, end) == end;
}

static bool next(const char **at, const char *end, struct sl__line *line, bool all)
{
	return sl__next_line(at, end, line) && (all || *at < end);
}

/* The first line that is not blank and does not begin with this mark, followed by a blank or the end of the line. */
static bool first_line(const char **at, const char *end, const char *mark, bool all, struct sl__line *line)
{
	while (next(at, end, line, all)) {
		const char *p = skip(line->at, line->end), *after = p;
		struct word w;
		take(&after, line->end, &w);
		if (p < line->end && !(mark[1] ? is(&w, mark) : *p == *mark && (*mark == '%' || is(&w, mark))))
			return true;
	}
	return false;
}

/* "p sp 30 120", perhaps below comments "c ..." */
static bool is_dimacs(const char *at, const char *end, bool all)
{
	struct sl__line line;
	struct word w, kind;
	uint64_t n, m;
	if (!first_line(&at, end, "c", all, &line))
		return false;
	const char *p = line.at;
	return take(&p, line.end, &w) && is(&w, "p") && take(&p, line.end, &kind) && !whole(&kind, &n) &&
	       take_whole(&p, line.end, &n) && take_whole(&p, line.end, &m) && line_ends(p, line.end);
}

static bool is_pajek(const char *at, const char *end, bool all)
{
	struct sl__line line;
	struct word w;
	if (!first_line(&at, end, "%", all, &line))
		return false;
	const char *p = line.at;
	return take(&p, line.end, &w) && (is(&w, "*vertices") || is(&w, "*network"));
}

/* What the first line of a METIS file says. */
struct metis {
	uint64_t n, m;
	bool sizes, weighted;
	uint64_t constraints;   /* weights of a node */
};

static bool metis_header(const struct sl__line *line, struct metis *out)
{
	const char *p = line->at;
	uint64_t format = 0;
	struct word w;
	*out = (struct metis){0};
	if (!take_whole(&p, line->end, &out->n) || !take_whole(&p, line->end, &out->m) || !out->n)
		return false;
	if (take(&p, line->end, &w)) {
		if (!whole(&w, &format) || format > 111 || format % 10 > 1 || format / 10 % 10 > 1)
			return false;
		out->constraints = format / 10 % 10;
		if (take(&p, line->end, &w) && (!whole(&w, &out->constraints) || out->constraints > 100))
			return false;
	}
	out->sizes = format / 100;
	out->weighted = format % 10;
	return line_ends(p, line->end);
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b + 0x7f4a7c159e3779b9u) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 29) * 0x94d049bb133111ebu;
	return h ^ h >> 32;
}

/* True if the file has as many lines as nodes, with two numbers for each edge, one at each end. */
static bool is_metis(const char *at, const char *end)
{
	struct sl__line line;
	struct metis m;
	uint64_t lines = 0, words = 0, balance = 0;  /* balance: 0 if each entry has its counterpart */
	if (!first_line(&at, end, "%", true, &line) || !metis_header(&line, &m) || !m.m)
		return false;
	while (sl__next_line(&at, end, &line)) {
		const char *p = skip(line.at, line.end);
		uint64_t number;
		struct word w;
		if (p < line.end && *p == '%')
			continue;
		if (p == line.end && lines >= m.n)
			continue;
		lines++;
		for (uint64_t k = 0; take(&p, line.end, &w); k++, words++) {
			if (k < m.sizes + m.constraints || (m.weighted && (k - m.sizes - m.constraints) % 2))
				continue;
			if (!whole(&w, &number) || number < 1 || number > m.n || number == lines)
				return false;
			balance += mixed(lines, number) - mixed(number, lines);
		}
	}
	return lines == m.n && words == 2 * m.m * (1u + m.weighted) + m.n * (m.sizes + m.constraints) && !balance;
}

/* True if a line "#" stands alone, and the two ends of the first edge below it begin lines above. */
static bool is_tgf(const char *at, const char *end, bool all)
{
	const char *begin = at;
	struct sl__line line;
	struct word w, from, to, one;
	int nodes = 0, found = 0;
	for (; next(&at, end, &line, all); nodes++) {
		const char *p = line.at;
		if (take(&p, line.end, &w) && is(&w, "#") && line_ends(p, line.end))
			break;
	}
	if (!nodes || !next(&at, end, &line, all))
		return false;
	const char *p = line.at;
	if (!take(&p, line.end, &from) || !take(&p, line.end, &to))
		return false;
	for (int k = 0; k < nodes && k < TGF_LOOK && sl__next_line(&begin, end, &line); k++) {
		p = line.at;
		if (!take(&p, line.end, &one))
			continue;
		for (int side = 0; side < 2; side++) {
			const struct word *node = side ? &to : &from;
			if (one.end - one.at == node->end - node->at && !memcmp(one.at, node->at, (size_t)(one.end - one.at)))
				found |= 1 << side;
		}
	}
	return found == 3;
}

static bool named_metis(const char *name)
{
	return sl__name_ends_in(name, ".graph") || sl__name_ends_in(name, ".metis");
}

enum sl__network sl__network_of(const unsigned char *bytes, size_t size, bool all, const char *name)
{
	const char *at = (const char *)bytes, *end = at + size;
	struct sl__line line;
	struct metis m;
	if (is_dimacs(at, end, all))
		return SL__DIMACS;
	if (is_pajek(at, end, all))
		return SL__PAJEK;
	if (all && is_metis(at, end))
		return SL__METIS;
	if (sl__name_ends_in(name, ".tgf") || is_tgf(at, end, all))
		return SL__TGF;
	const char *p = at;
	return named_metis(name) && first_line(&p, end, "%", all, &line) && metis_header(&line, &m) ? SL__METIS
	     : SL__NO_NETWORK;
}

const char *sl__network_name(enum sl__network kind)
{
	static const char *const names[] = {"", "METIS", "DIMACS", "Pajek", "TGF"};
	return names[kind];
}

/* ---- reading ------------------------------------------------------------------------ */

struct network {
	enum sl__network kind;
	struct sl_source *source;
	const struct sl_read_options *options;
	struct sl_graph_builder *builder;
	struct sl__names names, ids;    /* of the nodes, in their order; TGF: their ids */
	struct sl_taken *taken;
	uint64_t n, m;                  /* nodes and edges as the file declares them; 0: it does not */
	uint64_t arcs;                  /* edges that have a direction */
	bool weighted, lengths;         /* some edge has a weight; the weights are lengths, and left out */
	const char *passed;             /* a section that was not read, or NULL */
	struct sl_error *err;
};

static int memory_error(struct network *f, int rc)
{
	return sl__source_fail(f->source, rc, f->err, SL_NO_MEMORY "more than %u nodes and the edges read so far.",
			       f->names.n);
}

static int too_many(struct network *f, uint64_t n)
{
	uint64_t limit = f->options->max_nodes, most = limit && limit < SL__MAX_NODES ? limit : SL__MAX_NODES;
	return n <= most ? 0 : sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has %llu nodes; the limit "
					       "(max_nodes) is %llu.", (unsigned long long)n,
					       (unsigned long long)most);
}

/* Adds the edge of two nodes, counted from 1. */
static int add(struct network *f, uint64_t a, uint64_t b, float w)
{
	if (!f->n && f->kind != SL__TGF)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The edge stands above the number of nodes, which a %s "
				       "file has first.", sl__network_name(f->kind));
	if (a < 1 || b < 1 || (f->n && (a > f->n || b > f->n)))
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The edge joins nodes %llu and %llu; nodes have numbers "
				       "from 1 to %llu.", (unsigned long long)a, (unsigned long long)b, (unsigned long long)f->n);
	int rc = sl_graph_builder_add(f->builder, (uint32_t)(a - 1), (uint32_t)(b - 1), w);
	if (rc)
		return memory_error(f, rc);
	f->taken->rows++;
	if (f->options->max_entries && f->builder->count > f->options->max_entries)
		return sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has more than %llu entries, the limit "
				       "(max_entries).", (unsigned long long)f->options->max_entries);
	return 0;
}

/* An edge without a direction in a directed graph is two. */
static int add_undirected(struct network *f, uint64_t a, uint64_t b, float w)
{
	int rc = add(f, a, b, w);
	if (rc || !f->options->directed || a == b)
		return rc;
	f->taken->rows--;
	return add(f, b, a, w);
}

static int bad(struct network *f, const char *wanted)
{
	return sl__source_fail(f->source, SL_BADDATA, f->err, "The line must have %s, since this is a %s file.", wanted,
			       sl__network_name(f->kind));
}

static int weight_of(struct network *f, const struct word *w, float *out)
{
	const char *p = w->at;
	if (!sl__parse_float(&p, out) || p != w->end)
		return bad(f, "a number as the weight");
	if (!(*out >= 0 && *out <= SL__MAX_WEIGHT))
		return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The weight %.*s is %s; weights must be finite and not "
				       "negative.", (int)(w->end - w->at), w->at, sl__weight_fault(*out, w->at));
	f->weighted = true;
	return 0;
}

/* The weight at *at, if there is one and it is wanted. */
static int take_weight(struct network *f, const char **at, const char *end, float *out)
{
	const char *column = f->options->weight_column;
	struct word w;
	*out = 1;
	bool none = column ? !*column : f->lengths;
	return take(at, end, &w) && !none ? weight_of(f, &w, out) : 0;
}

static int name_node(struct network *f, const char *text, size_t length)
{
	if (!sl__valid_utf8(text, length))
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The node's name is not valid UTF-8; convert the file "
				       "(iconv -t UTF-8).");
	int rc = sl__names_append(&f->names, text, length);
	return rc ? memory_error(f, rc) : 0;
}

/* Names nodes by their numbers until there are n names. */
static int number_nodes(struct network *f, uint64_t n)
{
	char text[16];
	int rc = 0;
	while (!rc && f->names.n < n) {
		int length = snprintf(text, sizeof text, "%u", f->names.n + 1);
		rc = name_node(f, text, (size_t)length);
	}
	return rc;
}

/* ---- METIS -------------------------------------------------------------------------- */

static int metis_line(struct network *f, const struct metis *m, uint64_t node, const struct sl__line *line)
{
	const char *p = line->at;
	struct word w;
	uint64_t other;
	float weight = 1;
	int rc = 0;
	for (uint64_t k = 0; k < m->sizes + m->constraints; k++)
		if (!take(&p, line->end, &w))
			return bad(f, "the node's weights before its neighbours");
	while (!rc && take(&p, line->end, &w)) {
		if (!whole(&w, &other))
			return bad(f, "the numbers of a node's neighbours");
		if (m->weighted && (!take(&p, line->end, &w) || (rc = weight_of(f, &w, &weight))))
			return rc ? rc : bad(f, "a weight after each neighbour");
		bool none = f->options->weight_column && !*f->options->weight_column;
		rc = rc ? rc : add(f, node, other, none ? 1 : weight);
		f->taken->rows -= other < node;  /* the edge is listed at both ends */
	}
	return rc;
}

static int read_metis(struct network *f)
{
	struct sl__line line;
	struct metis m;
	uint64_t node = 0;
	int rc;
	while ((rc = sl__source_line(f->source, &line, f->err)) > 0) {
		const char *p = skip(line.at, line.end);
		if (p < line.end && *p != '%')
			break;
	}
	if (rc <= 0 || !metis_header(&line, &m))
		return rc < 0 ? rc : bad(f, "the numbers of nodes and of edges");
	f->n = m.n;
	rc = too_many(f, m.n);
	if (!rc)
		rc = sl__source_widen(f->source, m.m < LONG_LINE / 48 ? 48 * m.m : LONG_LINE, f->err);
	while (!rc && (rc = sl__source_line(f->source, &line, f->err)) > 0) {
		const char *p = skip(line.at, line.end);
		rc = 0;
		if (p < line.end && *p == '%')
			continue;
		if (node == m.n && p < line.end)
			return sl__source_fail(f->source, SL_BADDATA, f->err, "The first line promises %llu nodes; this line is "
					       "one more.", (unsigned long long)m.n);
		if (node < m.n)
			rc = metis_line(f, &m, ++node, &line);
	}
	if (!rc && node < m.n)
		rc = sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0, "The first line promises %llu nodes, but "
				 "the file ends after %llu.", (unsigned long long)m.n, (unsigned long long)node);
	return rc;
}

/* ---- DIMACS ------------------------------------------------------------------------- */

static int dimacs_problem(struct network *f, const char *p, const char *end)
{
	struct word kind;
	if (f->n)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The file has a second line \"p\"; it must have "
				       "one, with the number of nodes.");
	if (!take(&p, end, &kind) || !take_whole(&p, end, &f->n) || !take_whole(&p, end, &f->m))
		return bad(f, "\"p\", the problem, and the numbers of nodes and of edges");
	f->lengths = is(&kind, "sp");
	return too_many(f, f->n);
}

static int dimacs_line(struct network *f, const struct sl__line *line)
{
	const char *p = line->at;
	struct word w;
	uint64_t a, b;
	float weight;
	if (!take(&p, line->end, &w) || is(&w, "c"))
		return 0;
	if (is(&w, "p"))
		return dimacs_problem(f, p, line->end);
	bool arc = is(&w, "a"), edge = is(&w, "e");
	if (!arc && !edge)  /* sources, colours and the like */
		return w.end - w.at == 1 ? 0 : bad(f, "\"a\" or \"e\" and two nodes");
	if (!take_whole(&p, line->end, &a) || !take_whole(&p, line->end, &b))
		return bad(f, "two nodes");
	int rc = take_weight(f, &p, line->end, &weight);
	f->arcs += arc;
	return rc ? rc : arc ? add(f, a, b, weight) : add_undirected(f, a, b, weight);
}

/* ---- Pajek -------------------------------------------------------------------------- */

enum section { HEAD, VERTICES, EDGES, ARCS, EDGES_LIST, ARCS_LIST, PASSED };

static int pajek_section(struct network *f, const char *p, const char *end, enum section *section)
{
	static const struct {
		const char *title;
		enum section section;
	} sections[] = {{"*network", HEAD}, {"*vertices", VERTICES}, {"*edges", EDGES}, {"*arcs", ARCS},
			{"*edgeslist", EDGES_LIST}, {"*arcslist", ARCS_LIST}};
	struct word w;
	take(&p, end, &w);
	if (is(&w, "*matrix"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "A *Matrix of Pajek is not read; save the network with "
				       "*Arcs or *Edges.");
	bool second = is(&w, "*vertices") && f->n;
	*section = PASSED;
	for (size_t k = 0; !second && k < sizeof sections / sizeof *sections; k++)
		if (is(&w, sections[k].title))
			*section = sections[k].section;
	if (*section == PASSED)
		f->passed = second ? "a second *Vertices" : "sections other than *Vertices, *Edges and *Arcs";
	if (*section == VERTICES && !take_whole(&p, end, &f->n))
		return bad(f, "the number of nodes after *Vertices");
	return *section == VERTICES ? too_many(f, f->n) : 0;
}

static int pajek_vertex(struct network *f, const char *p, const char *end)
{
	uint64_t number;
	struct word w;
	if (!take_whole(&p, end, &number) || number <= f->names.n || number > f->n)
		return bad(f, "the number of the next node, and its label");
	int rc = number_nodes(f, number - 1);
	p = skip(p, end);
	bool quoted = p < end && *p == '"';
	const char *close = quoted ? memchr(p + 1, '"', (size_t)(end - p - 1)) : NULL;
	if (quoted && !close)
		return bad(f, "a quote after the node's label");
	if (rc || (!quoted && !take(&p, end, &w)) || (quoted && close == p + 1))
		return rc ? rc : number_nodes(f, number);
	return quoted ? name_node(f, p + 1, (size_t)(close - p - 1)) : name_node(f, w.at, (size_t)(w.end - w.at));
}

static int pajek_edge(struct network *f, const char *p, const char *end, enum section section)
{
	bool arc = section == ARCS || section == ARCS_LIST, list = section == EDGES_LIST || section == ARCS_LIST;
	uint64_t a, b;
	float weight = 1;
	int rc = 0;
	if (!take_whole(&p, end, &a) || !take_whole(&p, end, &b))
		return bad(f, "two nodes");
	do {
		if (!list)
			rc = take_weight(f, &p, end, &weight);
		if (!rc)
			rc = arc ? add(f, a, b, weight) : add_undirected(f, a, b, weight);
		f->arcs += arc;
	} while (!rc && list && take_whole(&p, end, &b));
	return rc ? rc : list && !line_ends(p, end) ? bad(f, "nodes") : 0;
}

static int pajek_line(struct network *f, const struct sl__line *line, enum section *section)
{
	const char *p = skip(line->at, line->end);
	if (p == line->end || *p == '%' || (*p != '*' && (*section == PASSED || *section == HEAD)))
		return 0;
	if (*p == '*')
		return pajek_section(f, p, line->end, section);
	return *section == VERTICES ? pajek_vertex(f, p, line->end) : pajek_edge(f, p, line->end, *section);
}

/* ---- TGF ---------------------------------------------------------------------------- */

static int tgf_node(struct network *f, const char *p, const char *end)
{
	struct word id;
	uint32_t index, before = f->ids.n;
	take(&p, end, &id);
	int rc = sl__names_add(&f->ids, id.at, (size_t)(id.end - id.at), &index);
	if (!rc && index < before)
		return bad(f, "a node that is not on a line above");
	if (rc || (rc = too_many(f, f->ids.n)))
		return rc == SL_TOOBIG ? rc : memory_error(f, rc);
	p = skip(p, end);
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return p < end ? name_node(f, p, (size_t)(end - p)) : name_node(f, id.at, (size_t)(id.end - id.at));
}

static int tgf_edge(struct network *f, const char *p, const char *end)
{
	struct word from, to, w;
	float weight = 1;
	if (!take(&p, end, &from) || !take(&p, end, &to))
		return bad(f, "two nodes");
	uint32_t a = sl__names_find(&f->ids, from.at, (size_t)(from.end - from.at));
	uint32_t b = sl__names_find(&f->ids, to.at, (size_t)(to.end - to.at));
	if (a == SL__NO_NAME || b == SL__NO_NAME)
		return bad(f, "two nodes that are above the line \"#\"");
	/* a label is a weight if it is a number */
	const char *label = skip(p, end), *at = label;
	bool number = take(&p, end, &w) && sl__parse_float(&at, &weight) && at == w.end && line_ends(p, end);
	weight = 1;
	int rc = number ? take_weight(f, &label, end, &weight) : 0;
	f->arcs++;
	return rc ? rc : add(f, (uint64_t)a + 1, (uint64_t)b + 1, weight);
}

static int tgf_line(struct network *f, const struct sl__line *line, enum section *section)
{
	const char *p = skip(line->at, line->end), *after = p;
	struct word w;
	if (!take(&after, line->end, &w))
		return 0;
	if (is(&w, "#") && line_ends(after, line->end)) {
		*section = EDGES;
		return 0;
	}
	return *section == EDGES ? tgf_edge(f, p, line->end) : tgf_node(f, p, line->end);
}

/* ---- the whole ---------------------------------------------------------------------- */

static int read_lines(struct network *f)
{
	enum section section = HEAD;
	struct sl__line line;
	int rc;
	while ((rc = sl__source_line(f->source, &line, f->err)) > 0) {
		rc = f->kind == SL__DIMACS ? dimacs_line(f, &line) : f->kind == SL__PAJEK ? pajek_line(f, &line, &section)
									       : tgf_line(f, &line, &section);
		if (rc)
			return rc;
	}
	if (!rc && f->m && f->taken->rows != f->m)
		sl_taken_add_note(f->taken, false, "The file says that it has %llu edges, and has %llu",
				  (unsigned long long)f->m, (unsigned long long)f->taken->rows);
	return rc;
}

static void tell(struct network *f, const struct sl_graph *g)
{
	struct sl_taken *t = f->taken;
	sl_taken_add_columns(t, 1, 1, SL_TAKEN_SOURCE, NULL, NULL);
	sl_taken_add_columns(t, 2, 1, SL_TAKEN_TARGET, NULL, NULL);
	if (f->weighted)
		sl_taken_add_columns(t, 3, 1, SL_TAKEN_WEIGHT, NULL, NULL);
	snprintf(t->sign, sizeof t->sign, "the format of %s", sl__network_name(f->kind));
	t->directed = f->options->directed;
	t->rows_left_out = g->report.self_loops + g->report.zero_weights;
	t->rows_used = t->rows - t->rows_left_out;
	if (f->lengths && !f->options->weight_column)
		sl_taken_add_note(t, true, "The lengths of the arcs are left out, because a weight says how close two nodes "
				  "are; weight=4 takes them as weights");
	if (f->arcs && !f->options->directed && f->kind != SL__TGF)
		sl_taken_add_note(t, true, "The file's arcs are directed; they were read as undirected. directed=true changes "
				  "that");
	if (f->kind == SL__METIS && f->n == f->taken->rows && !f->weighted)
		sl_taken_add_note(t, !named_metis(sl__source_name(f->source)), "If its lines are edges, and no neighbours of "
				  "nodes, source=1 reads them so");
	if (f->passed)
		sl_taken_add_note(t, true, "The file has %s, which are left out", f->passed);
}

static int finish(struct network *f, struct sl_graph **out)
{
	uint64_t n = f->kind == SL__TGF ? f->ids.n : f->n;
	int rc = sl__check_isolated(f->options, n, f->builder->count, sl__source_name(f->source), f->err);
	if (!rc && !n)
		rc = sl_error_at(f->err, SL_BADGRAPH, sl__source_name(f->source), 0, "The %s file has no nodes.",
				 sl__network_name(f->kind));
	if (!rc)
		rc = number_nodes(f, n);
	if (rc)
		return rc;
	f->builder->weighted = f->weighted;  /* edges that are listed twice add up only then */
	rc = sl__finish_graph(f->builder, (uint32_t)n, f->source, out, f->err);
	f->builder = NULL;
	if (!rc) {
		sl__names_give(&f->names, &(*out)->name_bytes, &(*out)->name_at);
		tell(f, *out);
		(*out)->taken = f->taken;
		f->taken = NULL;
	}
	if (!rc && f->kind == SL__METIS && !(*out)->symmetric) {
		sl_graph_destroy(*out);
		*out = NULL;
		rc = sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0, "In a METIS file each edge must be listed "
				 "at both ends, with the same weight.");
	}
	return rc;
}

int sl__read_network(struct sl_graph **out, enum sl__network kind, const struct sl_read_options *options,
		     struct sl_source *source, struct sl_error *err)
{
	struct network f = {.kind = kind, .source = source, .options = options, .taken = sl_taken_create(), .err = err};
	sl__names_init(&f.names, sl__source_account(source));
	sl__names_init(&f.ids, sl__source_account(source));
	int rc = f.taken ? 0 : sl_error_memory(err, "reading %s", sl__source_name(source));
	if (!rc)
		rc = sl__graph_builder_create(&f.builder, options->directed || kind == SL__METIS ? SL_GENERAL :
					     SL_SYMMETRIC, true, 0, sl__source_account(source), err);
	if (!rc)
		rc = kind == SL__METIS ? read_metis(&f) : read_lines(&f);
	if (!rc)
		rc = finish(&f, out);
	sl_graph_builder_destroy(f.builder);
	sl__names_finish(&f.names);
	sl__names_finish(&f.ids);
	sl_taken_destroy(f.taken);
	return rc;
}
