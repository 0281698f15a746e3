/* table.c -- makes columns of labels of the cells of a text, and says what became of its rows and columns. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/account.h"
#include "core/formats/labels/labels_internal.h"

#define COLUMNS_MOST 255

struct making {
	struct sl_label_table *out;
	const char *only;
	struct sl__keys keys;
	bool ranks;                /* as in struct sl_label_nodes */
	bool repeated;             /* names of nodes are not unique */
	struct sl__cells cells;
	struct sl__join join;
	struct sl_source *source;
	uint64_t unnamed_rows;     /* rows that name no node */
	uint64_t missing;          /* cells NA and the like of the columns that are taken */
	struct sl_error *err;
};

static int memory_error(const struct making *m)
{
	return sl_error_memory_at(m->err, sl__source_name(m->source), "the labels");
}

/* ---- titles ------------------------------------------------------------------------- */

static void copy_title(char out[64], const char *text)
{
	size_t length = strlen(text);
	if (length > 63)
		for (length = 63; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--;
	memcpy(out, text, length);
	out[length] = 0;
	for (size_t k = 0; k < length; k++)
		if ((unsigned char)out[k] < ' ' || out[k] == 0x7f)
			out[k] = ' ';
}

static void title_of(const struct making *m, uint32_t column, char out[64])
{
	const char *text = m->join.header ? sl__cell_text(sl__cell(&m->cells, 0, column)) : "";
	copy_title(out, text + (!column && *text == '#'));  /* "#id<tab>label" */
}

/* Columns that are taken have different titles, none of them empty unless there is only one. */
static void settle_titles(struct sl_label_table *t, const uint32_t *number)
{
	for (uint32_t k = 0; k < t->columns; k++) {
		char *title = t->column[k].title, base[48];
		if (t->columns == 1 && !strcmp(title, "0"))
			title[0] = 0;   /* pandas calls a series without a name so */
		if (!*title && t->columns > 1)
			snprintf(title, 64, "column %u", number[k] + 1);
		for (uint32_t other = 0, copy = 2; other < k; other++) {
			if (strcmp(t->column[other].title, title) != 0)
				continue;
			size_t length = strlen(title) < sizeof base ? strlen(title) : sizeof base - 1;
			while (length && ((unsigned char)title[length] & 0xc0) == 0x80)
				length--;
			memcpy(base, title, length);
			base[length] = 0;
			snprintf(title, 64, "%s %u", base, copy++);
			other = UINT32_MAX;  /* compare again from the first one on */
		}
	}
}

/* ---- the choice of columns ------------------------------------------------------------ */

/* The next entry of a list with commas; false: there is none. */
static bool next_entry(const char **list, char out[256])
{
	const char *at = *list, *end;
	if (!at || !*at)
		return false;
	end = strchrnul(at, ',');
	*list = *end ? end + 1 : end;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	snprintf(out, 256, "%.*s", (int)(end - at < 255 ? end - at : 255), at);
	return true;
}

/* By title, or else by number from 1. */
static uint32_t find_column(const struct making *m, const char *wanted)
{
	const struct sl__cells *c = &m->cells;
	char *end;
	char title[64], cut[64];
	copy_title(cut, wanted);
	for (uint32_t k = 0; k < c->columns; k++) {
		title_of(m, k, title);
		if (*title && !strcmp(title, cut))
			return k;
	}
	unsigned long number = strtoul(wanted, &end, 10);
	return end > wanted && !*end && number >= 1 && number <= c->columns ? (uint32_t)number - 1 : UINT32_MAX;
}

static int no_column(const struct making *m, const char *wanted)
{
	char list[160] = "", title[64];
	size_t used = 0;
	for (uint32_t k = 0; m->join.header && k < m->cells.columns && k < 4 && used < sizeof list; k++) {
		title_of(m, k, title);
		used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%.30s\"", k ? ", " : "", title);
	}
	return sl_error_field(m->err, SL_BADPARAM, "/column", "%s has no column \"%.60s\"; it has %u%s%s%s",
			      sl__source_name(m->source), wanted, m->cells.columns, *list ? ": " : "", list,
			      *list && m->cells.columns > 4 ? ", ..." : "");
}

/* The number of the row in each cell, counted from any number on. */
static bool counts_rows(const struct making *m, uint32_t column)
{
	const struct sl__cells *c = &m->cells;
	uint64_t first = 0, number;
	if (c->rows - m->join.header < 3)
		return false;
	for (uint64_t i = m->join.header; i < c->rows; i++) {
		const char *text = sl__cell(c, i, column);
		if (!sl__keys_number(text, strlen(text), &number))
			return false;
		if (i == m->join.header)
			first = number;
		if (first > 1 || number != first + (i - m->join.header))
			return false;
	}
	return true;
}

static bool is_empty(const struct making *m, uint32_t column)
{
	for (uint64_t i = m->join.header; i < m->cells.rows; i++)
		if (!sl__cell_is_missing(sl__cell(&m->cells, i, column)))
			return false;
	return true;
}

/* Fills number[] with the columns that become labels, in their order, and tells what the others are. */
static int choose(struct making *m, bool *wanted, uint32_t *number, uint32_t *count)
{
	const struct sl__cells *c = &m->cells;
	struct sl_taken *t = m->out->taken;
	const char *list = m->only;
	char entry[256], title[64];
	bool only = list && *list;
	while (next_entry(&list, entry)) {
		uint32_t k = find_column(m, entry);
		if (k == UINT32_MAX)
			return no_column(m, entry);
		wanted[k] = true;
	}
	*count = 0;
	for (uint32_t k = 0; k < c->columns; k++) {
		bool key = m->join.how != SL__JOIN_ROWS && k == m->join.key;
		title_of(m, k, title);
		bool rank = m->ranks && *title && strcasecmp(title, "unnamed: 0") != 0;
		bool plain = c->columns == 1 || (!key && !is_empty(m, k) && (rank || !counts_rows(m, k)));
		if (only ? wanted[k] : plain) {
			if (*count == COLUMNS_MOST)
				return sl_error_at(m->err, SL_TOOBIG, sl__source_name(m->source), 0, "The file has more than %d "
						   "columns of labels; choose some of them (column=).", COLUMNS_MOST);
			number[(*count)++] = k;
			sl_taken_add_columns(t, k + 1, 1, SL_TAKEN_LABEL, title, key ? "names the nodes, too" : NULL);
		} else if (key) {
			sl_taken_add_columns(t, k + 1, 1, SL_TAKEN_NAME, title, NULL);
		} else if (only) {
			sl_taken_add_columns(t, k + 1, 1, SL_TAKEN_IGNORED, title, NULL);
		} else if (is_empty(m, k)) {
			sl_taken_add_columns(t, k + 1, 1, SL_TAKEN_LEFT_OUT, title, "empty");
		} else {
			sl_taken_add_columns(t, k + 1, 1, SL_TAKEN_NUMBERING, title, NULL);
		}
	}
	return 0;
}

/* ---- columns ------------------------------------------------------------------------- */

static int add_text(struct sl_label_column *out, const char *text)
{
	out->text[out->labels] = strdup(text);
	if (!out->text[out->labels])
		return SL_NOMEM;
	out->labels++;
	out->numbers = out->numbers && sl__is_number(text);
	return 0;
}

static int make_column(struct making *m, uint32_t column, struct sl_label_column *out)
{
	const struct sl__cells *c = &m->cells;
	uint32_t n = m->keys.n, texts = c->text[column].n;
	uint32_t *to = sl_account_alloc(sl__source_account(m->source), (uint64_t)texts + 1, sizeof *to);
	uint64_t bytes = c->text[column].bytes_used + (uint64_t)texts * 32;
	int rc = to ? sl_account_take(sl__source_account(m->source), SL_MEMORY, bytes, m->err) : SL_NOMEM;
	out->label = rc ? NULL : sl_account_alloc(sl__source_account(m->source), (uint64_t)n + 1, sizeof *out->label);
	out->text = rc ? NULL : sl_account_alloc(sl__source_account(m->source), (uint64_t)texts + 1, sizeof *out->text);
	if (!rc && (!out->label || !out->text))
		rc = SL_NOMEM;
	out->numbers = true;
	for (uint32_t k = 0; !rc && k < texts; k++)
		to[k] = SL_UNLABELLED;
	for (uint32_t i = 0; !rc && i < n; i++)
		out->label[i] = SL_UNLABELLED;
	for (uint64_t i = m->join.header; !rc && i < c->rows; i++) {
		uint32_t node = sl__join_node(&m->join, c, i), code = c->code[i * c->columns + column];
		const char *text = c->text[column].bytes + c->text[column].at[code];
		m->missing += *text == SL__CELL_MISSING && text[1];
		if (node == SL__NO_NAME || sl__cell_is_missing(text))
			continue;
		if (to[code] == SL_UNLABELLED) {
			to[code] = out->labels;
			rc = add_text(out, text);
		}
		out->label[node] = to[code];
	}
	out->numbers = out->numbers && out->labels;
	free(to);
	return rc ? memory_error(m) : 0;
}

bool sl__is_label_title(const char *title)
{
	static const char *const usual[] = {"label", "labels", "class", "target", "group", "cluster", "category",
			"cell_type",
					    "celltype"};
	for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
		if (!strcasecmp(title, usual[k]))
			return true;
	return false;
}

/* The column that says most as colours: one with a usual title, else the first of words that repeat, of numbers, or
 * any. */
static uint32_t find_main(const struct sl_label_table *t, uint32_t n)
{
	uint32_t best = 0, best_rank = 0;
	for (uint32_t k = 0; k < t->columns; k++) {
		const struct sl_label_column *c = &t->column[k];
		bool repeats = c->labels && 2 * (uint64_t)c->labels <= (uint64_t)n + 1;
		uint32_t rank = !c->labels ? 0 : sl__is_label_title(c->title) ? 5 : !c->numbers &&
				repeats ? 4 : repeats ? 3 :
				c->numbers ? 2 : 1;
		if (rank > best_rank) {
			best = k;
			best_rank = rank;
		}
	}
	return best;
}

/* ---- what was taken ------------------------------------------------------------------- */

static void tell_join(struct making *m)
{
	struct sl_taken *t = m->out->taken;
	char title[64] = "";
	if (m->join.how != SL__JOIN_ROWS)
		title_of(m, m->join.key, title);
	const char *column = *title ? title : "";
	char where[96] = "";
	if (*column)
		snprintf(where, sizeof where, " in the column \"%s\"", column);
	else if (m->join.key)
		snprintf(where, sizeof where, " in column %u", m->join.key + 1);
	if (m->repeated)
		sl_taken_add_note(t, false, "the nodes' names are not unique, so labels are not joined by them");
	if (m->join.how == SL__JOIN_ROWS)
		sl_taken_add_note(t, false, "labels joined by row: row i belongs to node i");
	else if (m->join.how == SL__JOIN_NAMES)
		sl_taken_add_note(t, false, "labels joined by the nodes' names%s", where);
	else
		sl_taken_add_note(t, false, "labels joined by the nodes' numbers%s, counted from %d", where,
				  m->join.how == SL__JOIN_FROM_ONE);
}

/* Counts rows and nodes without a partner, and names the first of each. */
static int tell_partners(struct making *m)
{
	const struct sl__cells *c = &m->cells;
	struct sl_taken *t = m->out->taken;
	uint64_t with = 0, without = 0, first_row = 0;
	uint32_t n = m->keys.n, first_node = 0;
	uint64_t *seen = sl_account_alloc(sl__source_account(m->source), (uint64_t)n / 64 + 1, sizeof *seen);
	if (!seen)
		return memory_error(m);
	memset(seen, 0, ((uint64_t)n / 64 + 1) * sizeof *seen);
	for (uint64_t i = m->join.header; i < c->rows; i++) {
		uint32_t node = sl__join_node(&m->join, c, i);
		if (node == SL__NO_NAME && !without++)
			first_row = i;
		if (node == SL__NO_NAME)
			continue;
		with++;
		seen[node / 64] |= 1ull << (node % 64);
	}
	while (first_node < n && seen[first_node / 64] >> (first_node % 64) & 1)
		first_node++;
	free(seen);
	t->rows_used = with;
	t->rows_left_out = without;
	if (without)
		sl_taken_add_note(t, false, "%llu row%s name%s no node; the first is line %u, \"%.60s\"",
				(unsigned long long)without,
				  without == 1 ? "" : "s", without == 1 ? "s" : "", c->line[first_row],
				  sl__cell_text(sl__cell(c, first_row, m->join.key)));
	if (with == n)
		return 0;
	if (m->keys.named)
		sl_taken_add_note(t, false, "%llu node%s no row and no label; the first is \"%.60s\"",
				(unsigned long long)(n - with),
				  n - with == 1 ? " has" : "s have",
						m->keys.names.bytes + m->keys.names.at[first_node]);
	else
		sl_taken_add_note(t, false, "%llu node%s no row and no label; the first is number %u",
				(unsigned long long)(n - with),
				  n - with == 1 ? " has" : "s have", first_node);
	return 0;
}

static int tell(struct making *m)
{
	const struct sl__cells *c = &m->cells;
	struct sl_taken *t = m->out->taken;
	t->lines = c->lines;
	t->header_lines = m->join.header;
	t->blank_lines = c->blank_lines;
	t->comment_lines = c->comment_lines;
	t->rows = c->rows - m->join.header;
	if (m->missing)
		sl_taken_add_note(t, false, "%llu cell%s NA or NaN, which means no label",
				(unsigned long long)m->missing,
				  m->missing == 1 ? " is" : "s are");
	for (uint32_t k = 0; k < m->out->columns; k++) {
		const struct sl_label_column *column = &m->out->column[k];
		if (column->labels > 20 && 4 * (uint64_t)column->labels > 3 * (uint64_t)m->keys.n && !column->numbers)
			sl_taken_add_note(t, false, "\"%.60s\" has %u different labels, too many for colours", column->title,
					  column->labels);
	}
	return tell_partners(m);
}

/* ---- reading --------------------------------------------------------------------------- */

static int take_names(struct making *m, const struct sl_label_nodes *nodes)
{
	int rc = 0;
	m->keys.n = nodes->n;
	m->keys.named = nodes->name_bytes != NULL;
	sl__names_init(&m->keys.names, sl__source_account(m->source));
	for (uint32_t i = 0; m->keys.named && !rc && i < nodes->n; i++) {
		const char *name = nodes->name_bytes + nodes->name_at[i];
		uint32_t number;
		rc = sl__names_add(&m->keys.names, name, strlen(name), &number);
		if (!rc && number != i)
			m->repeated = true;
	}
	m->keys.named = m->keys.named && !m->repeated;  /* names that are not unique name nothing */
	return rc ? memory_error(m) : 0;
}

static int make_columns(struct making *m)
{
	struct sl_label_table *out = m->out;
	uint32_t columns = m->cells.columns, count = 0;
	bool *wanted = calloc(columns, sizeof *wanted);
	uint32_t *number = malloc(columns * sizeof *number);
	out->taken = sl_taken_create();
	int rc = wanted && number && out->taken ? 0 : memory_error(m);
	if (!rc) {
		tell_join(m);
		rc = choose(m, wanted, number, &count);
	}
	if (!rc && !(out->column = calloc((size_t)count + 1, sizeof *out->column)))
		rc = memory_error(m);
	for (; !rc && out->columns < count; out->columns++) {
		struct sl_label_column *c = &out->column[out->columns];
		title_of(m, number[out->columns], c->title);
		rc = make_column(m, number[out->columns], c);
	}
	if (!rc) {
		settle_titles(out, number);
		out->main = find_main(out, m->keys.n);
		rc = tell(m);
	}
	free(wanted);
	free(number);
	return rc;
}

int sl_label_table_read(struct sl_label_table *out, const struct sl_label_nodes *nodes, const char *only,
			const struct sl_read_options *options, struct sl_source *source, struct sl_error *err)
{
	struct making m = {.out = out, .only = only, .ranks = nodes->ranks, .source = source, .err = err};
	memset(out, 0, sizeof *out);
	if (options)
		sl__source_set_options(source, options);
	int rc = take_names(&m, nodes);
	if (!rc)
		rc = sl__cells_read(&m.cells, &m.keys, source, err);
	if (!rc)
		rc = sl__join(&m.join, &m.cells, &m.keys, source, err);
	if (!rc)
		rc = make_columns(&m);
	sl__join_finish(&m.join);
	sl__cells_finish(&m.cells);
	sl__names_finish(&m.keys.names);
	return rc;
}

void sl_label_table_finish(struct sl_label_table *t)
{
	for (uint32_t k = 0; t->column && k < t->columns + 1; k++) {
		for (uint32_t i = 0; t->column[k].text && i < t->column[k].labels; i++)
			free(t->column[k].text[i]);
		free(t->column[k].text);
		free(t->column[k].label);
	}
	free(t->column);
	sl_taken_destroy(t->taken);
	memset(t, 0, sizeof *t);
}
