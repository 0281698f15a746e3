/* Words come from the index of texts, in the order of the alphabet, so that one word is counted at a time. A word
 * counts once for each node that has it, however often its texts have it. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/text/date.h"
#include "daemon/graphs/rows/clusters/clusters_internal.h"
#include "daemon/graphs/rows/text_index.h"

#define CATEGORIES_MOST 2000
#define NODES_LEAST 3         /* that have a word */

/* Words that tell nothing about what has them, also where they are a bit more frequent. */
static const char *const empty_words[] = {
	"about", "after", "all", "also", "and", "any", "are", "based", "been", "but", "can", "does", "each", "etc", "for",
	"from", "has", "have", "how", "into", "its", "like", "many", "may", "more", "most", "not", "one", "only", "other",
	"our", "over", "several", "should", "some", "such", "than", "that", "the", "their", "them", "then", "there",
	"these", "they", "this", "those", "two", "use", "used", "uses", "using", "very", "was", "well", "were", "what",
	"when", "which", "while", "will", "with", "without", "you", "your",
};

static int compare_words(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

/* True if a word may be in a name: three letters or more, one of them no digit. */
static bool tells(const char *word)
{
	int letters = 0;
	bool digits = true;
	for (const unsigned char *c = (const unsigned char *)word; *c; c++) {
		letters += (*c & 0xc0) != 0x80;
		digits &= isdigit(*c) != 0;
	}
	return letters >= 3 && !digits && !bsearch(word, empty_words, sizeof empty_words / sizeof *empty_words,
			sizeof *empty_words, compare_words);
}

struct counting {
	struct sl__naming *n;
	struct sl_terms *terms;
	uint32_t *count;              /* [clusters + 1] of the word */
	uint32_t clusters;
	uint64_t nodes;
	struct sl_error *err;
};

static uint32_t last_count(const struct sl_map_clusters *c)
{
	return c->levels ? c->level[c->levels - 1].count : 0;
}

static void count_node(void *arg, uint32_t node)
{
	struct counting *c = arg;
	uint32_t code = c->n->clusters->code[node];
	c->count[code < c->clusters ? code : c->clusters]++;
	c->nodes++;
}

static int end_word(void *arg, const char *word)
{
	struct counting *c = arg;
	int rc = 0;
	if (c->nodes >= NODES_LEAST && tells(word))
		rc = sl_terms_add(c->terms, word, strlen(word), c->count, c->err);
	memset(c->count, 0, (c->clusters + 1ull) * sizeof *c->count);
	c->nodes = 0;
	return rc;
}

/* The words of all chosen columns of texts, as one column. */
static int count_words(struct sl__naming *n, struct sl__counted *to, const bool *texts, const int *cancel,
		       struct sl_error *err)
{
	struct sl__rows *r = n->rows;
	struct counting c = {.n = n, .clusters = last_count(n->clusters), .err = err};
	char *path = sl__graphs_path(r->q->s, r->q->id, "index");
	c.count = calloc(c.clusters + 1ull, sizeof *c.count);
	int rc = path && c.count ? sl_terms_create(&to->terms, c.clusters, err) : sl_error_memory(err, "words");
	c.terms = to->terms;
	if (!rc)
		rc = sl__index_settle(path, r->path, r->columns, cancel, err);
	if (!rc)
		rc = sl__index_words(path, r->columns, texts, cancel, count_node, end_word, &c, err);
	free(path);
	free(c.count);
	return rc;
}

static int count_categories(struct sl__naming *n, struct sl__counted *to, struct sl_error *err)
{
	const struct sl__row_column *c = to->column;
	uint32_t clusters = last_count(n->clusters), nodes = n->clusters->n;
	size_t row = clusters + 1ull;
	uint32_t *count = calloc(row * (c->words_count + 1ull), sizeof *count);
	int rc = count ? sl_terms_create(&to->terms, clusters, err) : sl_error_memory(err, "the categories");
	for (uint32_t i = 0; i < nodes && !rc; i++) {
		uint32_t code = sl__row_code(c, i), cluster = n->clusters->code[i];
		if (code < c->words_count)
			count[row * code + (cluster < clusters ? cluster : clusters)]++;
	}
	for (uint32_t k = 0; k < c->words_count && !rc; k++) {
		uint64_t all = 0;
		for (size_t j = 0; j < row; j++)
			all += count[row * k + j];
		to->overall = all > to->overall ? all : to->overall;
		if (all)
			rc = sl_terms_add(to->terms, c->words[k], strlen(c->words[k]), &count[row * k], err);
	}
	free(count);
	return rc;
}

static int take_numbers(struct sl__naming *n, struct sl__counted *to, struct sl_error *err)
{
	uint32_t nodes = n->clusters->n;
	to->value = malloc((nodes + 1ull) * sizeof *to->value);
	if (!to->value)
		return sl_error_memory(err, "a column of numbers");
	for (uint32_t i = 0; i < nodes; i++) {
		if (to->column->kind == SL_COLUMN_NUMBER)
			to->value[i] = sl__row_number(to->column, i);
		else
			to->value[i] = sl__row_date(to->column, i) == SL_NO_DATE ? (double)NAN
					: (double)sl__row_date(to->column, i);
	}
	return 0;
}

/* ---- the choice ---------------------------------------------------------------------------------------- */

/* True if a column is in the list. Names may have anything but ';'. */
static bool listed(const char *columns, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = columns; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL)
		if (!strncmp(at, name, length) && (!at[length] || at[length] == ';'))
			return true;
	return false;
}

static int check_list(struct sl__naming *n, const char *columns, struct sl_error *err)
{
	for (const char *at = columns; at && *at; at += strcspn(at, ";"), at += *at == ';') {
		char name[300];
		bool found = false;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ";"), at);
		for (int k = 0; k < n->rows->count; k++) {
			struct sl__row_column *c = &n->rows->column[k];
			if (strcmp(c->name, name))
				continue;
			found = true;
			if (c->kind == SL_COLUMN_LINK || c->kind == SL_COLUMN_IMAGE)
				return sl_error_field(err, SL_BADPARAM, "?columns", "column \"%.60s\" is of kind %s; names come from "
						      "texts, categories, numbers and dates", name, sl_column_kind_name(c->kind));
		}
		if (!found)
			return sl_error_field(err, SL_BADPARAM, "?columns", "the graph has no column named \"%.60s\"; columns is a "
					      "list of columns with ';' between them", name);
	}
	return 0;
}

static bool tells_apart(const struct sl__row_column *c, uint32_t nodes)
{
	return c->words_count >= 2 && c->words_count <= CATEGORIES_MOST && c->words_count <= nodes / 2;
}

/* Columns of texts and categories are chosen; numbers only if there are neither. */
static bool chosen(const struct sl__naming *n, const struct sl__row_column *c, const char *columns, bool numbers)
{
	if (columns)
		return listed(columns, c->name);
	if (c->kind == SL_COLUMN_CATEGORY)
		return tells_apart(c, n->clusters->n);
	if (c->kind == SL_COLUMN_NUMBER || c->kind == SL_COLUMN_DATE)
		return numbers;
	return c->kind == SL_COLUMN_TEXT;
}

static int count_column(struct sl__naming *n, struct sl__row_column *c, struct sl_error *err)
{
	struct sl__counted *to = &n->counted[n->count];
	to->column = c;
	n->count++;
	int rc = sl__rows_load(n->rows, c);
	if (!rc)
		rc = c->kind == SL_COLUMN_CATEGORY ? count_categories(n, to, err) : take_numbers(n, to, err);
	return rc;
}

static int count_all(struct sl__naming *n, const char *columns, bool numbers, const int *cancel, struct sl_error *err)
{
	bool texts[SL_COLUMNS_PLACES] = {false};
	struct sl__row_column *first = NULL;
	int place = 0, rc = 0;
	for (int k = 0; k < n->rows->count && !rc; k++) {
		struct sl__row_column *c = &n->rows->column[k];
		bool wanted = chosen(n, c, columns, numbers);
		if (c->kind == SL_COLUMN_TEXT) {
			if (place < SL_COLUMNS_PLACES)
				texts[place++] = wanted;
			first = wanted && !first ? c : first;
			n->used[k] = wanted;
		} else if (wanted && c->kind != SL_COLUMN_LINK && c->kind != SL_COLUMN_IMAGE) {
			n->used[k] = true;
			rc = count_column(n, c, err);
		}
	}
	if (rc || !first)
		return rc;
	n->words = n->count++;
	n->counted[n->words].column = first;
	return count_words(n, &n->counted[n->words], texts, cancel, err);
}

int sl__counting(struct sl__naming *n, const char *columns, const int *cancel, struct sl_error *err)
{
	n->best_category = n->words = -1;
	n->count = 0;
	n->counted = calloc((size_t)n->rows->count + 1, sizeof *n->counted);
	if (!n->counted)
		return sl_error_memory(err, "the columns");
	if (n->blind)
		return 0;
	int rc = check_list(n, columns, err);
	if (!rc && n->clusters->levels)
		rc = count_all(n, columns, columns != NULL, cancel, err);
	if (!rc && n->clusters->levels && !columns && !n->count)
		rc = count_all(n, NULL, true, cancel, err);
	return rc;
}

void sl__counting_finish(struct sl__naming *n)
{
	for (int k = 0; k < n->count; k++) {
		sl_terms_destroy(n->counted[k].terms);
		free(n->counted[k].value);
	}
	free(n->counted);
}
