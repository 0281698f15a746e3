/* Rows come in order. Memory doubles as rows come; nothing is allocated for what a header promises. Dropped rows are
 * marked while reading, and the gaps are closed at the end, so that row numbers in messages are the file's. */
#include "core/formats/points/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/text/names.h"
#include "core/points/center.h"
#include "core/points/examine.h"
#include "core/taken/taken.h"

#define MAX_COLUMNS 1000000
#define MAX_ROWS 4294967280u
#define FIRST_VALUES 16384  /* initial capacity, in values */

void sl__table_init(struct sl__table *t, const struct sl_input_options *options, struct sl_source *source,
		    struct sl_error *err)
{
	*t = (struct sl__table){.options = options, .source = source, .account = sl__source_account(source), .err = err};
}

void sl__table_finish(struct sl__table *t)
{
	free(t->value);
	sl__centre_finish(&t->centre);
	free(t->bad);
	free(t->name_bytes);
	free(t->name_at);
	free(t->label);
	for (uint32_t k = 0; t->label_name && k < t->labels; k++)
		free(t->label_name[k]);
	free(t->label_name);
	sl_more_labels_free(t->more, t->more_count);
	sl_taken_destroy(t->taken);
	memset(t, 0, sizeof *t);
}

int sl__table_memory_error(struct sl__table *t)
{
	return sl_error_memory_at(t->err, sl__source_name(t->source),
				  "a table of %" PRIu64 " columns, after %" PRIu64 " rows", t->d, t->n);
}

int sl__table_shape(struct sl__table *t, uint64_t rows, uint64_t columns, const char *file)
{
	const struct sl_read_options *o = &t->options->read;
	uint64_t limit = o->max_nodes && o->max_nodes < MAX_ROWS ? o->max_nodes : MAX_ROWS, values;

	if (columns > MAX_COLUMNS)
		return sl_error_at(t->err, SL_TOOBIG, file, 0, "The table has %" PRIu64 " columns; the limit is "
				   "%d.", columns, MAX_COLUMNS);
	if (rows > limit)
		return sl_error_at(t->err, SL_TOOBIG, file, 0, "The table has %" PRIu64 " points; the limit (max_nodes) is "
				   "%" PRIu64 ".", rows, limit);
	if (__builtin_mul_overflow(rows, columns, &values) || (o->max_entries && values > o->max_entries))
		return sl_error_at(t->err, SL_TOOBIG, file, 0, "The table has %" PRIu64 " points of %" PRIu64 " columns; the "
				   "limit on the product (max_entries) is %" PRIu64 ".", rows, columns, o->max_entries);
	t->d = columns;
	return 0;
}

int sl__table_reserve(struct sl__table *t, uint64_t values, uint64_t expected)
{
	size_t size = t->type == SL_POINTS_U8 ? 1 : sizeof(float);
	if (values <= t->capacity)
		return 0;
	uint64_t wanted = t->capacity * 2 > FIRST_VALUES ? t->capacity * 2 : FIRST_VALUES;
	if (expected && wanted > expected)
		wanted = expected;
	if (wanted < values)
		wanted = values;
	int rc = wanted < SIZE_MAX / 2 / size ?
		 sl_account_take(t->account, SL_MEMORY, (wanted - t->capacity) * size, t->err) : 0;
	if (rc)
		return rc;
	void *grown = wanted < SIZE_MAX / 2 / size ? realloc(t->value, wanted * size) : NULL;
	if (!grown)
		return sl__table_memory_error(t);
	t->value = grown;
	t->capacity = wanted;
	return 0;
}

/* The center that new points get; NULL: those of a table get their own. */
static int start_centre(struct sl__table *t)
{
	const struct sl_input_options *o = t->options;
	double *none = NULL;
	if (t->centre.d)
		return 0;
	const double *given = o->center && o->center_columns == t->d ? o->center : NULL;
	if (!given && o->new_points)
		given = none = calloc(t->d, sizeof *none);
	int rc = o->new_points && !given ? SL_NOMEM :
		 sl__centre_init(&t->centre, t->d, o->new_points ? given : NULL, t->account);
	free(none);
	return rc;
}

int sl__table_put(struct sl__table *t, uint64_t at, uint64_t count, const double *value)
{
	t->wide = true;
	return start_centre(t) || sl__centre_take(&t->centre, at, count, value, t->value) ? sl__table_memory_error(t) : 0;
}

int sl__table_put_columns(struct sl__table *t, uint64_t n, uint64_t at, uint64_t count, const double *value)
{
	t->wide = true;
	return start_centre(t) || sl__centre_take_columns(&t->centre, n, at, count, value, t->value) ?
	       sl__table_memory_error(t) : 0;
}

const char *sl__table_drop_hint(const struct sl__table *t, const char *things, char *buffer, size_t size)
{
	buffer[0] = 0;
	if (!t->options->new_points)
		snprintf(buffer, size, " Such %s can be left out (drop_not_finite).", things);
	return buffer;
}

bool sl__table_drop(struct sl__table *t, uint64_t row, int *rc)
{
	*rc = 0;
	if (!t->options->drop_not_finite)
		return false;
	if (row >= t->bad_rows) {
		uint64_t rows = row * 2 + 1024;
		uint8_t *grown = realloc(t->bad, rows / 8 + 1);
		if (!grown) {
			*rc = sl__table_memory_error(t);
			return true;
		}
		uint64_t old = t->bad ? t->bad_rows / 8 + 1 : 0;
		memset(grown + old, 0, rows / 8 + 1 - old);
		t->bad = grown;
		t->bad_rows = rows;
	}
	uint8_t bit = (uint8_t)(1u << (row % 8));
	t->dropped += !(t->bad[row / 8] & bit);
	t->bad[row / 8] |= bit;
	return true;
}

static bool is_bad(const struct sl__table *t, uint64_t row)
{
	return t->bad && row < t->bad_rows && (t->bad[row / 8] >> (row % 8) & 1);
}

/* Closes the gaps left by dropped rows; only tables of floats have any. */
static int close_gaps(struct sl__table *t, struct sl_points *p)
{
	float *value = t->value;
	uint32_t kept = 0;
	if (!t->dropped)
		return 0;
	p->user = sl_account_alloc(t->account, t->n + 1, sizeof *p->user);
	if (!p->user)
		return sl__table_memory_error(t);
	for (uint64_t row = 0; row < t->n; row++) {
		if (is_bad(t, row))
			continue;
		if (kept < row && t->wide)
			t->centre.hash[kept] = t->centre.hash[row];
		if (kept < row)
			memmove(value + (size_t)kept * t->d, value + row * t->d, t->d * sizeof *value);
		p->user[kept++] = (uint32_t)row;
	}
	p->n = kept;
	return 0;
}

static int check_count(struct sl__table *t, const struct sl_points *p)
{
	const char *file = sl__source_name(t->source);
	uint32_t least = t->options->new_points ? 1 : 2;
	if (p->n >= least)
		return 0;
	if (t->dropped)
		return sl_error_at(t->err, SL_BADDATA, file, 0, "Of %" PRIu64 " points, %u were left out because they have "
				   "values that are not finite; at least %u must remain.", t->n, t->dropped, least);
	return sl_error_at(t->err, SL_BADDATA, file, 0, "The table has %s; it must have at least %u.",
			   p->n ? "one point" : "no points", least);
}

static int copy_names(struct sl__table *t, const struct sl__names *names, char ***out, uint32_t *count)
{
	char **list = calloc((size_t)names->n + 1, sizeof *list);
	if (!list)
		return sl__table_memory_error(t);
	*out = list;
	*count = names->n;
	for (uint32_t k = 0; k < names->n; k++) {
		list[k] = strdup(names->bytes + names->at[k]);
		if (!list[k])
			return sl__table_memory_error(t);
	}
	return 0;
}

int sl__table_take_labels(struct sl__table *t, const char *title, struct sl__names *names, uint32_t *value)
{
	snprintf(t->label_title, sizeof t->label_title, "%s", title);
	int rc = copy_names(t, names, &t->label_name, &t->labels);
	if (rc)
		return rc;
	t->label = value;
	sl_labels_settle(&t->label, t->n, &t->label_name, &t->labels);
	if (!t->label)
		t->label_title[0] = '\0';
	return 0;
}

int sl__table_add_labels(struct sl__table *t, const char *title, struct sl__names *names, uint32_t *value)
{
	struct sl_more_labels *grown = realloc(t->more, ((size_t)t->more_count + 1) * sizeof *grown);
	if (!grown)
		return sl__table_memory_error(t);
	t->more = grown;
	struct sl_more_labels *fresh = &t->more[t->more_count++];
	*fresh = (struct sl_more_labels){0};
	snprintf(fresh->title, sizeof fresh->title, "%s", title);
	int rc = copy_names(t, names, &fresh->label_name, &fresh->labels);
	if (rc)
		return rc;
	fresh->label = value;
	sl_labels_settle(&fresh->label, t->n, &fresh->label_name, &fresh->labels);
	t->more_count -= !fresh->label;  /* all are missing */
	return 0;
}

/* Bytes become floats if a center is to be subtracted from them. */
static int widen(struct sl__table *t)
{
	uint64_t values = t->n * t->d;
	float *wide = sl_account_alloc(t->account, values + 1, sizeof *wide);
	if (!wide)
		return SL_NOMEM;
	for (uint64_t i = 0; i < values; i++)
		wide[i] = ((const uint8_t *)t->value)[i];
	free(t->value);
	t->value = wide;
	t->capacity = values;
	t->type = SL_POINTS_F32;
	return 0;
}

/* Completes values and center of a table whose rows are all read; before rows are left out. */
static int settle_centre(struct sl__table *t)
{
	int rc = t->d ? start_centre(t) : 0;
	if (!t->d)
		return 0;
	if (!rc && t->wide)
		return sl__centre_end(&t->centre, t->value);
	if (!rc && t->type == SL_POINTS_U8 && t->centre.any)
		rc = widen(t);
	return rc || t->type == SL_POINTS_U8 ? rc : sl__centre_decide(&t->centre, t->n, t->value);
}

#define CENTRES_TOLD 4
#define SQUARE_LEAST 5   /* smaller tables are symmetric by chance */

/* Tells the owner which columns got a center. A constant column needs no word. */
static void tell_centre(struct sl_points *p, const struct sl__centre *c)
{
	uint32_t told = 0, more = 0;
	const char *title;
	for (uint32_t k = 0; p->taken && k < p->d; k++) {
		if (c->center[k] == 0 || !(c->low[k] < c->high[k]))
			continue;
		if (told == CENTRES_TOLD) {
			more++;
			continue;
		}
		told++;
		uint32_t number = sl__coordinate_column(p, k, &title);
		sl_taken_add_note(p->taken, false, "Column %u%s%.64s%s lies far from 0: %.15g was subtracted from it in double "
				  "precision, and is added again to centroids, means and samples", number,
				  *title ? " (\"" : "", title, *title ? "\")" : "", c->center[k]);
	}
	if (more)
		sl_taken_add_note(p->taken, false, "%u more column%s far from 0 and %s shifted so, too", more,
				  more > 1 ? "s lie" : " lies", more > 1 ? "were" : "was");
}

/* Counts unusual rows and columns of the file, and subtracts the center from values that were floats in it. */
static int examine(struct sl__table *t, struct sl_points *p)
{
	struct sl__centre *c = &t->centre;
	struct sl__exact exact = {c->hash, c->seed[0], c->low, c->high};
	for (uint64_t k = 0; k < t->d; k++)
		exact.zero = sl__row_hash(exact.zero, 0, c->seed[1]);
	int rc = sl__points_examine(p, t->wide ? &exact : NULL, t->account);
	if (rc)
		return rc;
	if (!t->wide && p->type == SL_POINTS_F32)
		sl__centre_subtract(c, p->n, p->value);
	if (c->any) {
		if (!t->options->new_points)
			tell_centre(p, c);
		p->center = c->center;
		p->center_columns = p->d;
		c->center = NULL;
	}
	return 0;
}

static double value_of(const struct sl_points *p, uint32_t i, uint32_t k)
{
	size_t at = (size_t)i * p->d + k;
	return p->type == SL_POINTS_U8 ? ((const uint8_t *)p->value)[at] : (double)((const float *)p->value)[at];
}

/* A symmetric table compares its rows with each other, which coordinates do not. */
void sl__tell_square(struct sl_points *p)
{
	bool zeros = true, ones = true, pattern = true;
	if (!p->taken || p->n != p->d || p->n < SQUARE_LEAST || p->center)
		return;
	for (uint32_t i = 0; i < p->n; i++) {
		zeros &= value_of(p, i, i) == 0;
		ones &= value_of(p, i, i) == 1;
		for (uint32_t k = 0; k < i; k++) {
			double value = value_of(p, i, k);
			pattern &= value == 0 || value == 1;
			if (value != value_of(p, k, i) || (value < 0 && !ones))
				return;
		}
	}
	sl_taken_add_note(p->taken, true, "The table is symmetric, as a matrix of %s is, but its rows were read as points; "
			  "%s", ones && !pattern ? "correlations" : zeros && !pattern ? "distances" : "edges", ones && !pattern ?
			  "upload the data instead" : zeros && !pattern ?
			  "save it by scipy.sparse.save_npz and say values=distances" : "kind=graph takes it as a graph");
}

int sl__table_points(struct sl__table *t, struct sl_points **out)
{
	struct sl_points *p = calloc(1, sizeof *p);
	int rc;
	if (!p || settle_centre(t)) {
		free(p);
		return sl__table_memory_error(t);
	}
	size_t size = t->type == SL_POINTS_U8 ? 1 : sizeof(float);
	p->n = p->n_user = (uint32_t)t->n;
	p->d = (uint32_t)t->d;
	p->type = t->type;
	p->report.not_finite = t->dropped;
	rc = close_gaps(t, p);
	if (!rc)
		rc = check_count(t, p);
	if (!rc) {
		uint64_t values = (uint64_t)p->n * p->d;
		void *fitted = values < t->capacity ? realloc(t->value, values * size) : NULL;
		p->value = fitted ? fitted : t->value;
		p->name_bytes = t->name_bytes;
		p->name_at = t->name_at;
		p->label = t->label;
		p->labels = t->labels;
		p->label_name = t->label_name;
		memcpy(p->label_title, t->label_title, sizeof p->label_title);
		p->more = t->more;
		p->more_count = t->more_count;
		p->taken = t->taken;
		if (p->taken) {
			p->taken->rows = t->n;
			p->taken->rows_used = p->n;
			p->taken->rows_left_out = t->dropped;
		}
		free(t->bad);
		t->value = t->bad = NULL;
		t->name_bytes = NULL;
		t->name_at = NULL;
		t->label = NULL;
		t->label_name = NULL;
		t->more = NULL;
		t->more_count = 0;
		t->taken = NULL;
		rc = examine(t, p) ? sl__table_memory_error(t) : 0;
		if (!rc && !t->options->new_points)
			sl__tell_square(p);
	}
	if (rc)
		sl_points_destroy(p);
	else
		*out = p;
	return rc;
}
