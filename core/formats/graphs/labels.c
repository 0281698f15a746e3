/* labels.c -- reads labels for the nodes of a graph, from an array or a text. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/graphs/readers.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/names.h"

#define BLOCK 8192
#define LONGEST 65536  /* bytes of a string in an array */

struct labels {
	struct sl_source *source;
	const struct sl_graph *graph;
	uint32_t *label;          /* [n] */
	struct sl__names values;  /* the different labels */
	struct sl__names nodes;   /* names of the graph's nodes, if needed */
	char title[64];           /* of the header, or "" */
	struct sl_error *err;
};

static int memory_error(struct labels *f)
{
	return sl_error_at(f->err, SL_NOMEM, sl__source_name(f->source), 0, "No memory for the labels of %u nodes.",
			f->graph->n);
}

static int count_error(struct labels *f, uint64_t found, const char *what)
{
	return sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0,
			   "The file has %" PRIu64 " %s%s, but the graph has %u node%s; there must be one for each "
			   "node.", found, what,
			   found == 1 ? "" : "s", f->graph->n, f->graph->n == 1 ? "" : "s");
}

/* ---- arrays ------------------------------------------------------------------- */

static int64_t read_source(void *context, void *out, uint64_t want, struct sl_error *err)
{
	return sl__source_read(context, out, want, err);
}

struct value {
	int64_t value;
	uint32_t label;
};

static int by_value(const void *a, const void *b)
{
	int64_t x = ((const struct value *)a)->value, y = ((const struct value *)b)->value;

	return x < y ? -1 : x > y;
}

/* Sorts labels by their numbers. */
static int sort_values(struct labels *f)
{
	uint32_t count = f->values.n;
	struct value *list = malloc(count * sizeof *list);
	uint32_t *to = malloc(count * sizeof *to);
	struct sl__names sorted;
	int rc = list && to ? 0 : SL_NOMEM;

	sl__names_init(&sorted);
	for (uint32_t k = 0; !rc && k < count; k++)
		list[k] = (struct value){strtoll(f->values.bytes + f->values.at[k], NULL, 10), k};
	if (!rc)
		qsort(list, count, sizeof *list, by_value);
	for (uint32_t k = 0; !rc && k < count; k++) {
		const char *text = f->values.bytes + f->values.at[list[k].label];
		to[list[k].label] = k;
		rc = sl__names_append(&sorted, text, strlen(text));
	}
	for (uint32_t i = 0; !rc && i < f->graph->n; i++)
		f->label[i] = to[f->label[i]];
	free(list);
	free(to);
	if (rc) {
		sl__names_finish(&sorted);
		return memory_error(f);
	}
	sl__names_finish(&f->values);
	f->values = sorted;
	return 0;
}

static int check_array(struct labels *f, const struct sl__npy *a)
{
	const char *file = sl__source_name(f->source);

	if (!sl__npy_is_text(a) || a->size > LONGEST)
		return sl_error_at(f->err, SL_BADFORMAT, file, 0, "The array's type is '%s'; labels must be integers "
				   "(labels.astype(\"int32\")) or strings (labels.astype(str)).", a->descr);
	if (a->dims < 1 || a->dims > 2 || (a->dims == 2 && a->shape[1] != 1))
		return sl_error_at(f->err, SL_BADDATA, file, 0, "The array has %d dimensions; it must have one, the nodes.",
				   a->dims);
	return a->count == f->graph->n ? 0 : count_error(f, a->count, "label");
}

static int ends_early(struct labels *f, uint64_t after)
{
	return sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0, "The file ends after %" PRIu64 " of the %u "
			   "labels that its header promises.", after, f->graph->n);
}

static int read_integers(struct labels *f, const struct sl__npy *a)
{
	unsigned char block[BLOCK * 8];
	int64_t value[BLOCK], previous = 0;
	uint32_t done = 0, n = f->graph->n;

	while (done < n) {
		uint32_t count = n - done < BLOCK ? n - done : BLOCK;
		int64_t got = sl__source_read(f->source, block, (uint64_t)count * (uint64_t)a->size, f->err);
		if (got < 0)
			return (int)got;
		if (got < (int64_t)count * a->size)
			return ends_early(f, done + (uint64_t)got / (uint64_t)a->size);
		sl__npy_to_i64(a, block, count, value);
		for (uint32_t k = 0; k < count; k++) {
			char text[24];
			if (a->kind == 'u' && value[k] < 0)
				return sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0,
						   "Label %u (counted from 0) is larger than 2^63 - 1.", done + k);
			/* runs of equal labels are common and need no look-up */
			if (done + k > 0 && value[k] == previous) {
				f->label[done + k] = f->label[done + k - 1];
				continue;
			}
			previous = value[k];
			int length = snprintf(text, sizeof text, "%" PRId64, value[k]);
			if (sl__names_add(&f->values, text, (size_t)length, &f->label[done + k]))
				return memory_error(f);
		}
		done += count;
	}
	return 0;
}

static int read_strings(struct labels *f, const struct sl__npy *a)
{
	unsigned char *element = malloc((size_t)a->size + 8);
	char *text = malloc((size_t)a->size + 32);
	int rc = element && text ? 0 : memory_error(f);

	for (uint32_t i = 0; !rc && i < f->graph->n; i++) {
		int64_t got = sl__source_read(f->source, element, (uint64_t)a->size, f->err);
		if (got < a->size) {
			rc = got < 0 ? (int)got : ends_early(f, i);
			break;
		}
		size_t length = sl__npy_to_text(a, element, text);
		if (!sl__valid_utf8(text, length))
			rc = sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0, "Label %u (counted from 0) is not "
					 "valid UTF-8.", i);
		else if (sl__names_add(&f->values, text, length, &f->label[i]))
			rc = memory_error(f);
	}
	free(element);
	free(text);
	return rc;
}

static int read_array(struct labels *f)
{
	unsigned char next;
	struct sl__npy a;
	int rc = sl__npy_read_header(&a, read_source, f->source, sl__source_name(f->source), f->err);

	if (!rc)
		rc = check_array(f, &a);
	bool integers = !rc && sl__npy_is_integer(&a);
	if (!rc)
		rc = integers ? read_integers(f, &a) : read_strings(f, &a);
	if (rc)
		return rc;
	int64_t got = sl__source_read(f->source, &next, 1, f->err);
	if (got != 0)
		return got < 0 ? (int)got : sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0,
							"The file has more than the %u labels that its header "
							"promises.",
							f->graph->n);
	return integers ? sort_values(f) : 0;
}

/* ---- texts ---------------------------------------------------------------------- */

static int add_label(struct labels *f, uint32_t node, const char *text, size_t length)
{
	if (!sl__valid_utf8(text, length))
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The label is not valid UTF-8; convert the file "
				       "(iconv -t UTF-8).");
	return sl__names_add(&f->values, text, length, &f->label[node]) ? memory_error(f) : 0;
}

/* If the file has one line more than the graph has nodes, the first one may be a header, such as "cell_type": it is a
 * word that occurs only once, and the other lines are numbers or have few different values. Then moves labels up by
 * one. */
static int drop_header(struct labels *f, const struct sl__names *last)
{
	const struct sl__names *v = &f->values;
	uint32_t n = f->graph->n, label = SL__NO_NAME;
	struct sl__names kept;
	bool numbers = true;
	int rc = 0;

	for (uint32_t k = 1; k < v->n; k++) {
		const char *text = v->bytes + v->at[k];
		numbers = numbers && *text && strspn(text, "+-.0123456789eE") == strlen(text);
	}
	for (uint32_t i = 1; i < n; i++)
		if (f->label[i] == f->label[0])
			return 1;
	const char *first = v->bytes + v->at[0], *end = last->bytes + last->at[0];
	bool word = strspn(first, "+-.0123456789eE") < strlen(first);
	if (!word || !strcmp(first, end) || (!numbers && 2 * (uint64_t)v->n > n))
		return 1;
	if (strlen(first) < sizeof f->title)
		memcpy(f->title, first, strlen(first) + 1);
	rc = sl__names_add(&f->values, end, strlen(end), &label);
	memmove(f->label, f->label + 1, (n - 1) * sizeof *f->label);
	f->label[n - 1] = label;
	sl__names_init(&kept);
	for (uint32_t k = 1; !rc && k < f->values.n; k++) {
		const char *text = f->values.bytes + f->values.at[k];
		rc = sl__names_append(&kept, text, strlen(text));
	}
	for (uint32_t i = 0; !rc && i < n; i++)
		f->label[i]--;
	if (rc) {
		sl__names_finish(&kept);
		return memory_error(f);
	}
	sl__names_finish(&f->values);
	f->values = kept;
	return 0;
}

static void trim_line(struct sl__line *line)
{
	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
		line->at++;
	while (line->at < line->end && (line->end[-1] == ' ' || line->end[-1] == '\t'))
		line->end--;
}

static void unquote(struct sl__line *line)
{
	if (line->end - line->at >= 2 && *line->at == '"' && line->end[-1] == '"') {
		line->at++;
		line->end--;
	}
}

/* Line i is the label of node i; blank lines at the end do not count. */
static int read_lines(struct labels *f)
{
	uint64_t lines = 0, blank = 0;
	struct sl__names last;   /* the line after those of all nodes, if any */
	struct sl__line line;
	int rc;

	sl__names_init(&last);
	while ((rc = sl__source_line(f->source, &line, f->err)) > 0) {
		trim_line(&line);
		lines++;
		blank = line.at == line.end ? blank + 1 : 0;
		unquote(&line);
		if (lines == (uint64_t)f->graph->n + 1) {
			size_t length = (size_t)(line.end - line.at);
			rc = !sl__valid_utf8(line.at, length) ? 0 : sl__names_append(&last, line.at, length) ? memory_error(f) : 0;
		} else if (lines <= f->graph->n) {
			rc = add_label(f, (uint32_t)(lines - 1), line.at, (size_t)(line.end - line.at));
		} else {
			rc = 0;
		}
		if (rc)
			break;
	}
	if (!rc && lines - blank == (uint64_t)f->graph->n + 1 && last.n)
		rc = drop_header(f, &last);
	else if (!rc && (lines < f->graph->n || lines - blank > f->graph->n))
		rc = 1;
	sl__names_finish(&last);
	return rc > 0 ? count_error(f, lines - (lines > f->graph->n ? blank : 0), "line") : rc;
}

static int read_pair(struct labels *f, struct sl__fields *fields, const struct sl__line *line, bool header_allowed)
{
	char text[80];

	int rc = sl__fields_split(fields, line->at, line->end);
	if (rc == SL_NOMEM)
		return memory_error(f);
	if (rc)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "A quoted field does not end on its line, or something "
				       "other than a separator follows its closing quote.");
	if (fields->count != 2)
		return sl__source_fail(f->source, SL_BADDATA, f->err,
				"The line has %d %s, separated by %s; it must have two, a node's name and its label.",
				       fields->count, fields->count == 1 ? "field" : fields->count < SL__FIELDS_MAX ? "fields"
						: "fields or more",
				       sl__separator_name(fields->separator));
	uint32_t node = sl__names_find(&f->nodes, fields->field[0].text, fields->field[0].length);
	if (node == SL__NO_NAME && header_allowed) {
		const struct sl__field *title = &fields->field[1];
		if (title->length < sizeof f->title && sl__valid_utf8(title->text, title->length)) {
			memcpy(f->title, title->text, title->length);
			f->title[title->length] = '\0';
		}
		return 0;
	}
	if (node == SL__NO_NAME)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The graph has no node \"%s\".",
				       sl__field_show(&fields->field[0], text, sizeof text));
	if (f->label[node] != SL__NO_NAME)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The node \"%s\" already has a label, from a line above.",
				       sl__field_show(&fields->field[0], text, sizeof text));
	return add_label(f, node, fields->field[1].text, fields->field[1].length);
}

static int read_pairs(struct labels *f, struct sl__fields *fields)
{
	struct sl__line line;
	int rc;

	memset(f->label, 0xff, f->graph->n * sizeof *f->label);
	while ((rc = sl__source_line(f->source, &line, f->err)) > 0) {
		int64_t number = sl__source_line_number(f->source);
		if (line.at == line.end)
			continue;
		rc = read_pair(f, fields, &line, number == 1);
		if (rc)
			return rc;
	}
	for (uint32_t i = 0; !rc && i < f->graph->n; i++)
		if (f->label[i] == SL__NO_NAME)
			rc = add_label(f, i, "", 0);
	return rc;
}

/* 1 if the lines are pairs of name and label: the first line, or the second one below a header, begins with the name of
 * a node. Otherwise 0 or a negative code. */
static int are_pairs(struct labels *f, struct sl__fields *fields, const unsigned char *bytes, int64_t size)
{
	const char *at = (const char *)bytes, *end = at + size;

	for (int k = 0; k < 2 && at < end; k++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *text_end;

		if (!stop)
			stop = end;
		text_end = stop > at && stop[-1] == '\r' ? stop - 1 : stop;
		fields->separator = sl__guess_separator(at, text_end);
		int rc = fields->separator == ' ' ? SL_BADDATA : sl__fields_split(fields, at, text_end);
		if (rc == SL_NOMEM)
			return memory_error(f);
		if (!rc && fields->count >= 2 &&
		    sl__names_find(&f->nodes, fields->field[0].text, fields->field[0].length) != SL__NO_NAME)
			return 1;
		at = stop + 1;
	}
	return 0;
}

static int read_text(struct labels *f, const unsigned char *bytes, int64_t size)
{
	const struct sl_graph *g = f->graph;
	struct sl__fields fields;
	int rc = 0, pairs = 0;

	sl__fields_init(&fields);
	for (uint32_t i = 0; g->name_bytes && !rc && i < g->n; i++) {
		const char *name = sl_graph_name(g, i);
		uint32_t same;
		rc = sl__names_add(&f->nodes, name, strlen(name), &same) ? memory_error(f) : 0;
	}
	if (!rc && g->name_bytes)
		pairs = are_pairs(f, &fields, bytes, size);
	if (pairs < 0)
		rc = pairs;
	if (!rc)
		rc = pairs ? read_pairs(f, &fields) : read_lines(f);
	sl__fields_finish(&fields);
	return rc;
}

/* ---- result ------------------------------------------------------------------------ */

/* The name of the file without its endings, as the title of labels that have none; "" if it says nothing. */
static void title_of_file(const char *file, char out[64])
{
	static const char *const packed[] = {".gz", ".zst", ".bz2", ".xz", NULL};
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
	size_t length = strlen(base);
	bool letters = false;

	out[0] = '\0';
	for (int k = 0; dot && packed[k]; k++)
		if (!strcmp(dot, packed[k]))
			length = (size_t)(dot - base);
	dot = memrchr(base, '.', length);
	if (dot && dot > base)
		length = (size_t)(dot - base);
	for (size_t k = 0; k < length; k++) {
		letters = letters || isalpha((unsigned char)base[k]) || (unsigned char)base[k] >= 0x80;
		if ((unsigned char)base[k] < ' ' || base[k] == 0x7f)
			return;
	}
	if (!letters || length >= 64 || !sl__valid_utf8(base, length) || !strncmp(file, "/dev/", 5) ||
	    !strncmp(file, "/proc/", 6) || (length >= 5 && length <= 6 && !strncasecmp(base, "labels", length)))
		return;
	memcpy(out, base, length);
	out[length] = '\0';
}

static int give(struct labels *f, struct sl_graph *g)
{
	uint32_t count = f->values.n, made = 0;
	char **name = malloc(count * sizeof *name);

	if (!name)
		return memory_error(f);
	for (; made < count; made++) {
		name[made] = strdup(f->values.bytes + f->values.at[made]);
		if (!name[made])
			break;
	}
	if (made < count) {
		while (made > 0)
			free(name[--made]);
		free(name);
		return memory_error(f);
	}
	for (uint32_t k = 0; g->label_name && k < g->labels; k++)
		free(g->label_name[k]);
	free(g->label_name);
	free(g->label);
	g->label = f->label;
	g->labels = count;
	if (f->title[0])
		memcpy(g->label_title, f->title, sizeof g->label_title);
	else
		title_of_file(sl__source_name(f->source), g->label_title);
	g->label_name = name;
	f->label = NULL;
	sl_labels_settle(&g->label, g->n, &g->label_name, &g->labels);
	if (!g->label)
		g->label_title[0] = '\0';
	return 0;
}

int sl_graph_read_labels(struct sl_graph *graph, const struct sl_read_options *options,
			 struct sl_source *source, struct sl_error *err)
{
	static const struct sl_read_options none;
	struct labels f = {.source = source, .graph = graph, .err = err};
	const unsigned char *bytes;
	int64_t size;
	int rc = 0;

	sl__source_set_options(source, options ? options : &none);
	size = sl__source_peek_text(source, &bytes, err);
	if (size < 0)
		return (int)size;
	f.label = malloc(graph->n * sizeof *f.label);
	if (!f.label)
		return memory_error(&f);
	sl__names_init(&f.values);
	sl__names_init(&f.nodes);
	if (size >= 6 && !memcmp(bytes, "\x93NUMPY", 6))
		rc = read_array(&f);
	else if (memchr(bytes, 0, (size_t)size) || (size >= 2 && !memcmp(bytes, "PK", 2)))
		rc = sl_error_at(err, SL_BADFORMAT, sl__source_name(source), 0, "This is a binary file of an unknown format; "
				 "labels must be an .npy of integers or strings, or a text with one label a line.");
	else
		rc = read_text(&f, bytes, size);
	if (!rc)
		rc = give(&f, graph);
	free(f.label);
	sl__names_finish(&f.values);
	sl__names_finish(&f.nodes);
	return rc;
}
