/* labels.c -- reads labels for the nodes of a graph, from an array or a text (core/formats/labels/). */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/account.h"
#include "core/formats/graphs/readers.h"
#include "core/formats/labels/labels.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/text/names.h"

#define BLOCK 8192
#define LONGEST 65536  /* bytes of a string in an array */

struct labels {
	struct sl_source *source;
	const struct sl_graph *graph;
	uint32_t *label;          /* [n] */
	struct sl__names values;  /* the different labels */
	struct sl_error *err;
};

static int memory_error(struct labels *f)
{
	return sl_error_memory_at(f->err, sl__source_name(f->source), "the labels of %u nodes", f->graph->n);
}

static int count_error(struct labels *f, uint64_t found, const char *what)
{
	return sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0,
			   "The file has %" PRIu64 " %s%s, but the graph has %u node%s; there must be one for each "
			   "node.", found, what,
			   found == 1 ? "" : "s", f->graph->n, f->graph->n == 1 ? "" : "s");
}

/* ---- arrays ------------------------------------------------------------------- */

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
	struct value *list = sl_account_alloc(sl__source_account(f->source), count, sizeof *list);
	uint32_t *to = sl_account_alloc(sl__source_account(f->source), count, sizeof *to);
	struct sl__names sorted;
	int rc = list && to ? 0 : SL_NOMEM;

	sl__names_init(&sorted, sl__source_account(f->source));
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
	int rc = sl__npy_read_header(&a, sl__source_read_for, f->source, sl__source_name(f->source), f->err);

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

/* Gives label [n] and the texts to g, in place of its present labels. */
static void replace(struct sl_graph *g, uint32_t *label, char **text, uint32_t count, const char *title,
		const char *file)
{
	for (uint32_t k = 0; g->label_name && k < g->labels; k++)
		free(g->label_name[k]);
	free(g->label_name);
	free(g->label);
	g->label = label;
	g->labels = count;
	g->label_name = text;
	if (*title)
		memcpy(g->label_title, title, sizeof g->label_title);
	else
		title_of_file(file, g->label_title);
	sl_labels_settle(&g->label, g->n, &g->label_name, &g->labels);
	if (!g->labels) {
		free(g->label);
		free(g->label_name);
		g->label = NULL;
		g->label_name = NULL;
		g->label_title[0] = '\0';
	}
}

static int give_array(struct labels *f, struct sl_graph *g)
{
	uint32_t count = f->values.n, made = 0;
	char **name = sl_account_alloc(sl__source_account(f->source), count, sizeof *name);

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
	replace(g, f->label, name, count, "", sl__source_name(f->source));
	f->label = NULL;
	return 0;
}

/* Moves the main column to g. */
static void give_main(struct sl_graph *g, struct sl_label_table *t, const char *file)
{
	struct sl_label_column *c = &t->column[t->main];

	if (!t->columns)
		return;
	replace(g, c->label, c->text, c->labels, c->title, file);
	t->columns--;
	memmove(c, c + 1, (t->columns - t->main) * sizeof *c);
	memset(&t->column[t->columns], 0, sizeof *c);
	t->main = 0;
}

static int read_array_labels(struct sl_graph *graph, struct sl_source *source, struct sl_error *err)
{
	struct labels f = {.source = source, .graph = graph, .err = err};
	int rc;

	f.label = sl_account_alloc(sl__source_account(source), graph->n, sizeof *f.label);
	if (!f.label)
		return memory_error(&f);
	sl__names_init(&f.values, sl__source_account(source));
	rc = read_array(&f);
	if (!rc)
		rc = give_array(&f, graph);
	free(f.label);
	sl__names_finish(&f.values);
	return rc;
}

int sl_graph_read_label_table(struct sl_graph *graph, struct sl_label_table *out, const char *only,
			      const struct sl_read_options *options, struct sl_source *source, struct sl_error *err)
{
	static const struct sl_read_options none;
	const struct sl_label_nodes nodes = {.n = graph->n, .name_bytes = graph->name_bytes, .name_at = graph->name_at};
	const unsigned char *bytes;
	int64_t size;
	int rc;

	memset(out, 0, sizeof *out);
	sl__source_set_options(source, options ? options : &none);
	size = sl__source_peek_text(source, &bytes, err);
	if (size < 0)
		return (int)size;
	if (size >= 6 && !memcmp(bytes, "\x93NUMPY", 6))
		return read_array_labels(graph, source, err);
	if (memchr(bytes, 0, (size_t)size) || (size >= 2 && !memcmp(bytes, "PK", 2)))
		return sl_error_at(err, SL_BADFORMAT, sl__source_name(source), 0, "This is a binary file of an unknown format; "
				   "labels must be an .npy of integers or strings, or a text with one label a line.");
	rc = sl_label_table_read(out, &nodes, only, NULL, source, err);
	if (!rc)
		give_main(graph, out, sl__source_name(source));
	return rc;
}

int sl_graph_read_labels(struct sl_graph *graph, const struct sl_read_options *options,
			 struct sl_source *source, struct sl_error *err)
{
	struct sl_label_table table;
	int rc = sl_graph_read_label_table(graph, &table, NULL, options, source, err);

	sl_label_table_finish(&table);
	return rc;
}
