/* array.c -- reads points from NumPy arrays: .npy, and .npz with one array of two dimensions.
 *
 * Bytes and single-precision floats are read directly into the table; all other types are converted a block at a time.
 * An array in Fortran order is transposed after reading, which takes its memory twice. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/account.h"
#include "core/formats/numpy/archive.h"
#include "core/formats/points/table.h"
#include "core/formats/text/names.h"
#include "core/taken/taken.h"

#define NUMBERING_ROWS 3

/* The source of the elements. */
struct elements {
	struct sl__table *t;
	struct sl__archive *archive;   /* NULL: the source itself */
	struct sl__member *member;
	struct sl__npy array;
	const char *file;
	uint64_t done;
};

static int next_elements(struct elements *e, uint64_t count, void *out)
{
	struct sl__table *t = e->t;
	int rc = sl__source_check(t->source, t->err);
	if (rc)
		return rc;
	if (e->archive)
		return sl__member_read(e->archive, e->member, count, out);
	uint64_t want = count * (uint64_t)e->array.size;
	int64_t got = sl__source_read(t->source, out, want, t->err);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got < want)
		return sl_error_at(t->err, SL_BADDATA, e->file, 0, "The file ends after %" PRIu64 " of the %" PRIu64 " numbers "
				   "that its header promises.", e->done + (uint64_t)got / (uint64_t)e->array.size, e->array.count);
	return 0;
}

/* A transposed array has the same elements in the other order. */
static void transpose(struct sl__npy *a)
{
	uint64_t rows = a->shape[0];
	if (a->dims == 1) {
		a->dims = 2;
		a->shape[1] = 1;
	}
	a->shape[0] = a->shape[1];
	a->shape[1] = rows;
	a->fortran = !a->fortran;
}

static int check_array(struct elements *e)
{
	const struct sl__npy *a = &e->array;
	struct sl__table *t = e->t;
	uint64_t d = a->dims > 1 ? a->shape[1] : 1;

	if (!sl__npy_is_real(a))
		return sl_error_at(t->err, SL_BADFORMAT, e->file, 0, "The array's type is '%s'; points must be "
				   "numbers, preferably float32 (numpy.asarray(a, dtype=\"float32\"))%s.", a->descr,
				   a->kind == 'c' ? "; make columns of the real and imaginary parts of complex "
				   "numbers" : "");
	if (a->dims < 1 || a->dims > 2)
		return sl_error_at(t->err, SL_BADDATA, e->file, 0, "The array has %d dimensions; it must have two: "
				   "(points, "
				   "columns)%s.", a->dims, a->dims > 2 ? "; a.reshape(len(a), -1) makes them" : "");
	uint64_t least = t->options->new_points ? 1 : 2;
	if (a->shape[0] < least || d < 1)
		return sl_error_at(t->err, SL_BADDATA, e->file, 0, "The array's shape is (%" PRIu64 ", %" PRIu64 "); "
				   "it must be (points, columns) with at least %" PRIu64 " point%s and 1 "
				   "column.", a->shape[0], d, least,
				   least > 1 ? "s" : "");
	return sl__table_shape(t, a->shape[0], d, e->file);
}

/* Handles element `at` of the file, which is not finite. Returns 0 if its row is dropped. */
static int not_finite(struct elements *e, uint64_t at, double value)
{
	const struct sl__npy *a = &e->array;
	uint64_t row = a->fortran ? at % a->shape[0] : at / e->t->d;
	char hint[80];
	int rc;

	if (sl__table_drop(e->t, row, &rc))
		return rc;
	return sl_error_at(e->t->err, SL_BADDATA, e->file, 0, "Row %" PRIu64 ", column %" PRIu64 " (counted from 0) is "
			   "%g; coordinates must be finite single-precision numbers.%s", row,
			   a->fortran ? at / a->shape[0] : at % e->t->d, value,
			   sl__table_drop_hint(e->t, "rows", hint, sizeof hint));
}

static int check_floats(struct elements *e, const float *value, uint64_t count)
{
	float largest = 0;
#pragma omp simd reduction(max : largest)
	for (uint64_t k = 0; k < count; k++) {
		/* NaN makes the difference NaN, and the comparison true */
		float zero = value[k] - value[k];
		largest = !(zero == 0) ? 1 : largest;
	}
	for (uint64_t k = 0; largest > 0 && k < count; k++)
		if (!isfinite(value[k])) {
			int rc = not_finite(e, e->done + k, (double)value[k]);
			if (rc)
				return rc;
		}
	return 0;
}

/* Types that single precision holds exactly. */
static bool is_narrow(const struct sl__npy *a)
{
	return a->kind == 'f' ? a->size <= 4 : a->size <= 2;
}

static int convert(struct elements *e, uint64_t count, float *out)
{
	unsigned char block[SL__BLOCK * 8];
	double value[SL__BLOCK];
	int rc = next_elements(e, count, block);

	if (rc)
		return rc;
	sl__npy_to_double(&e->array, block, count, value);
	for (uint64_t k = 0; !rc && k < count; k++)
		if (!(fabs(value[k]) <= FLT_MAX))
			rc = not_finite(e, e->done + k, value[k]);
	if (rc)
		return rc;
	if (!is_narrow(&e->array))
		return e->array.fortran ? sl__table_put_columns(e->t, e->array.shape[0], e->done, count, value)
					: sl__table_put(e->t, e->done, count, value);
	for (uint64_t k = 0; k < count; k++)
		out[k] = (float)value[k];
	return 0;
}

static int read_block(struct elements *e, uint64_t count)
{
	struct sl__table *t = e->t;
	int rc;

	if (t->type == SL_POINTS_U8)
		return next_elements(e, count, (uint8_t *)t->value + e->done);
	float *to = (float *)t->value + e->done;
	if (e->array.kind != 'f' || e->array.size != 4 || e->array.swapped)
		return convert(e, count, to);
	rc = next_elements(e, count, to);
	return rc ? rc : check_floats(e, to, count);
}

static int turn(struct sl__table *t, uint64_t n, uint64_t d)
{
	size_t size = t->type == SL_POINTS_U8 ? 1 : sizeof(float);
	void *out = sl_account_alloc(t->account, n * d, size);
	if (!out)
		return sl__table_memory_error(t);
#pragma omp parallel for schedule(static)
	for (uint64_t from = 0; from < n; from += 64)
		for (uint64_t k = 0; k < d; k++)
			for (uint64_t i = from; i < n && i < from + 64; i++)
				if (size == 1)
					((uint8_t *)out)[i * d + k] = ((const uint8_t *)t->value)[k * n + i];
				else
					((float *)out)[i * d + k] = ((const float *)t->value)[k * n + i];
	free(t->value);
	sl_account_give(t->account, SL_MEMORY, n * d * size);
	t->value = out;
	t->capacity = n * d;
	return 0;
}

static int read_values(struct elements *e)
{
	const struct sl__npy *a = &e->array;
	struct sl__table *t = e->t;
	if (t->options->transpose == SL_TRANSPOSE_YES && (a->dims == 1 || a->dims == 2))
		transpose(&e->array);
	int rc = check_array(e);

	if (rc)
		return rc;
	t->type = (a->kind == 'u' || a->kind == 'b') && a->size == 1 ? SL_POINTS_U8 : SL_POINTS_F32;
	while (!rc && e->done < a->count) {
		uint64_t count = a->count - e->done < SL__BLOCK ? a->count - e->done : SL__BLOCK;
		rc = sl__table_reserve(t, e->done + count, a->count);
		if (!rc)
			rc = read_block(e, count);
		e->done += count;
	}
	if (!rc && a->fortran && t->d > 1)
		rc = turn(t, a->shape[0], t->d);
	if (!rc && a->kind == 'b')
		for (uint64_t k = 0; k < a->count; k++)
			((uint8_t *)t->value)[k] = ((const uint8_t *)t->value)[k] != 0;
	t->n = a->shape[0];
	return rc;
}

/* True if column k counts the rows from 0 or 1, as far as it is in the table. */
static bool counts(const struct sl__table *t, uint64_t k)
{
	float first = 0;
	for (uint64_t i = 0; i < t->n; i++) {
		uint64_t at = i * t->d + k;
		float value = t->type == SL_POINTS_U8 ? (float)((const uint8_t *)t->value)[at] : ((const float *)t->value)[at];
		first = i ? first : value;
		if ((i == 0 && value != 0 && value != 1) || value != first + (float)i)
			return false;
	}
	return t->n >= NUMBERING_ROWS;
}

/* Says what was taken of the array. A column that counts the rows stays a coordinate: unlike a text, an array was made
 * of numbers that somebody chose. */
static int tell(struct sl__table *t, bool transposed)
{
	uint32_t told = 0;
	t->taken = sl_taken_create();
	if (!t->taken)
		return sl__table_memory_error(t);
	t->taken->transposed = transposed;
	sl_taken_add_columns(t->taken, 1, (uint32_t)t->d, SL_TAKEN_COORDINATE, NULL, NULL);
	for (uint64_t k = 0; k < t->d && t->d > 1 && told < 3; k++)
		if (counts(t, k) && ++told)
			sl_taken_add_note(t->taken, false, "Column %llu (from 1) counts the rows and is a coordinate; leave it "
					  "out of the array if it is a numbering", (unsigned long long)k + 1);
	return 0;
}

int sl__read_points_npy(struct sl__table *t, struct sl_points **out)
{
	struct elements e = {.t = t, .file = sl__source_name(t->source)};
	char extra;
	int rc = sl__npy_read_header(&e.array, sl__source_read_for, t->source, e.file, t->err);

	if (!rc)
		rc = read_values(&e);
	if (!rc) {
		int64_t got = sl__source_read(t->source, &extra, 1, t->err);
		if (got < 0)
			rc = (int)got;
		else if (got > 0)
			rc = sl_error_at(t->err, SL_BADDATA, e.file, 0, "The file has more than the %" PRIu64 " "
					 "numbers that its header promises.", e.array.count);
	}
	if (!rc)
		rc = tell(t, t->options->transpose == SL_TRANSPOSE_YES);
	return rc ? rc : sl__table_points(t, out);
}

/* ---- archives -------------------------------------------------------------------- */

/* The member's name without .npy; false: it has another ending or is too long. */
static bool array_name(const struct sl__archive *f, int64_t i, char out[200])
{
	const char *name = zip_get_name(f->zip, (zip_uint64_t)i, 0);
	size_t length = name ? strlen(name) : 0;
	if (length < 5 || length >= 200 || strcmp(name + length - 4, ".npy"))
		return false;
	memcpy(out, name, length - 4);
	out[length - 4] = 0;
	return true;
}

/* Finds the array of the points: by its name, or the only one of two dimensions. */
static int find_array(struct sl__table *t, struct sl__archive *f, char out[200])
{
	static const char *const usual[] = {"X", "x", "points", "data"};
	char name[200], seen[300] = "";
	int found = 0;
	const char *file = sl__source_name(t->source);

	for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
		if (sl__archive_has(f, usual[k])) {
			snprintf(out, 200, "%s", usual[k]);
			return 0;
		}
	for (int64_t i = 0; i < zip_get_num_entries(f->zip, 0); i++) {
		struct sl__member m;
		bool exists;
		if (!array_name(f, i, name))
			continue;
		uint64_t bytes = f->bytes;
		bool two = sl__member_open(f, &m, name, &exists) == 0 && exists && m.array.dims == 2;
		sl__member_close(&m);
		f->bytes = bytes;  /* only the header was read */
		size_t used = strlen(seen);
		if (used < 200)
			snprintf(seen + used, sizeof seen - used, "%s%.90s", used ? ", " : "", name);
		if (two && found++ == 0)
			snprintf(out, 200, "%s", name);
	}
	if (found == 1)
		return 0;
	return sl_error_at(t->err, SL_BADFORMAT, file, 0, "The archive has %s. Name the array of the points X, x, "
			   "points or data, or save only one array of two dimensions. The arrays are: %s.",
			   found ? "several arrays of two dimensions" : "no array of two dimensions", seen[0] ? seen : "none");
}

#define SURE_LABELS 3   /* names of arrays that must be labels; the others are if their shape and type fit */

static bool may_be_labels(const struct sl__table *t, struct sl__archive *f, const char *name)
{
	struct sl__member m;
	bool exists;
	uint64_t bytes = f->bytes;
	struct sl_error *err = f->err;
	f->err = NULL;
	bool fits = !sl__member_open(f, &m, name, &exists) && exists && m.array.count == t->n &&
		    (sl__npy_is_integer(&m.array) || m.array.kind == 'U' || m.array.kind == 'S');
	sl__member_close(&m);
	f->err = err;
	f->bytes = bytes;  /* only the header was read */
	return fits;
}

/* *labels: the name of the array of labels, or NULL. */
static int read_companions(struct sl__table *t, struct sl__archive *f, const char **labels)
{
	static const char *const usual[] = {"labels", "label", "y", "target", "targets", "classes"};
	struct sl__names names;
	int rc = 0;

	sl__names_init(&names, t->account);
	if (sl__archive_has(f, "names")) {
		rc = sl__archive_texts(f, "names", t->n, "points", &names, NULL);
		if (!rc)
			sl__names_give(&names, &t->name_bytes, &t->name_at);
	}
	sl__names_finish(&names);
	*labels = NULL;
	for (size_t k = 0; !rc && !t->label && k < sizeof usual / sizeof *usual; k++) {
		if (!sl__archive_has(f, usual[k]) || (k >= SURE_LABELS && !may_be_labels(t, f, usual[k])))
			continue;
		uint32_t *value = sl_account_alloc(t->account, t->n + 1, sizeof *value);
		sl__names_init(&names, t->account);
		rc = value ? sl__archive_texts(f, usual[k], t->n, "points", &names, value) : sl__table_memory_error(t);
		if (!rc)
			rc = sl__table_take_labels(t, "", &names, value);
		*labels = rc ? NULL : usual[k];
		if (rc)
			free(value);
		sl__names_finish(&names);
	}
	return rc;
}

/* Tells which arrays were left out. */
static void tell_others(struct sl__table *t, const struct sl__archive *f, const char *points, const char *labels)
{
	char name[200], seen[160] = "";
	uint32_t count = 0;
	for (int64_t i = 0; i < zip_get_num_entries(f->zip, 0); i++) {
		if (!array_name(f, i, name) || !strcmp(name, points) || (labels && !strcmp(name, labels)) ||
		    !strcmp(name, "names"))
			continue;
		size_t used = strlen(seen);
		if (used < 100 && sl__valid_utf8(name, strlen(name)) && strlen(name) < 50)
			snprintf(seen + used, sizeof seen - used, "%s%.50s", used ? ", " : "", name);
		count++;
	}
	if (count)
		sl_taken_add_note(t->taken, false, "The points are the array %.40s; %u other%s left out: %s", points, count,
				  count == 1 ? " is" : "s are", seen);
}

int sl__read_points_npz(struct sl__table *t, struct sl__archive *archive, struct sl_points **out)
{
	struct sl__member m = {0};
	struct elements e = {.t = t, .archive = archive, .member = &m};
	char name[200];
	const char *labels = NULL;
	bool found;
	int rc = find_array(t, archive, name);

	if (!rc)
		rc = sl__member_open(archive, &m, name, &found);
	e.array = m.array;
	e.file = m.name;
	if (!rc)
		rc = read_values(&e);
	sl__member_close(&m);
	if (!rc)
		rc = read_companions(t, archive, &labels);
	if (!rc)
		rc = tell(t, t->options->transpose == SL_TRANSPOSE_YES);
	if (!rc && t->name_at)
		sl_taken_add_note(t->taken, false, "The array names holds the names");
	if (!rc && labels)
		sl_taken_add_note(t->taken, false, "The array %s holds the labels", labels);
	if (!rc)
		tell_others(t, archive, name, labels);
	return rc ? rc : sl__table_points(t, out);
}
