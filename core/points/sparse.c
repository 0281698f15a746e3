/* The passes of core/points/pca.c over a sparse matrix. The matrix is transposed once for sums over rows: one thread
 * sums a column, by ascending row, so that no sum depends on the number of threads. */
#include "core/points/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/points/project.h"

#define BLOCK 8192u  /* rows of W = X v - 1 (m' v) that are stored at a time */

struct passes {
	const struct sl_sparse *s;
	uint64_t *start;     /* [d + 1] start of column k in row and value */
	uint32_t *row;
	float *value;
	double *mean;        /* [d] */
	const int *cancel;
};

void sl_sparse_destroy(struct sl_sparse *s)
{
	if (!s)
		return;
	free(s->start);
	free(s->column);
	free(s->value);
	free(s);
}

/* Stable counting sort by key[count] < keys. Entries start[k] .. start[k + 1] - 1 get key k. */
static void sort_by(const uint32_t *key, uint64_t count, uint32_t keys, uint64_t *start, const uint32_t *other,
		    const float *value, uint32_t *other_out, float *value_out)
{
	memset(start, 0, ((size_t)keys + 1) * sizeof *start);
	for (uint64_t e = 0; e < count; e++)
		start[key[e] + 1]++;
	for (uint32_t k = 0; k < keys; k++)
		start[k + 1] += start[k];
	for (uint64_t e = 0; e < count; e++) {
		uint64_t at = start[key[e]]++;
		other_out[at] = other[e];
		value_out[at] = value[e];
	}
	for (uint32_t k = keys; k > 0; k--)
		start[k] = start[k - 1];
	start[0] = 0;
}

/* Merges entries with the same position. */
static void merge(struct sl_sparse *s)
{
	uint64_t to = 0, from = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t end = s->start[i + 1], first = to;
		for (; from < end; from++) {
			if (to > first && s->column[to - 1] == s->column[from]) {
				s->value[to - 1] += s->value[from];
				continue;
			}
			s->column[to] = s->column[from];
			s->value[to++] = s->value[from];
		}
		s->start[i] = first;
	}
	s->start[s->n] = to;
}

int sl_sparse_create(struct sl_sparse **out, uint32_t n, uint32_t d, uint64_t count, uint32_t *row, uint32_t *column,
		     float *value, struct sl_account *account)
{
	struct sl_sparse *s = calloc(1, sizeof *s);
	uint64_t *start = sl_account_alloc(account, (uint64_t)d + 1, sizeof *start);
	uint32_t *by_column = sl_account_alloc(account, count + 1, sizeof *by_column), *sorted = NULL;
	float *values = sl_account_alloc(account, count + 1, sizeof *values);
	int rc = SL_NOMEM;
	*out = NULL;
	if (!s || !start || !by_column || !values)
		goto out;
	s->account = account;
	s->n = n;
	s->d = d;
	s->start = sl_account_alloc(account, (uint64_t)n + 1, sizeof *s->start);
	sorted = sl_account_alloc(account, count + 1, sizeof *sorted);  /* columns by which by_column is sorted */
	if (!s->start || !sorted)
		goto out;
	/* by column, then stably by row, so that both ascend */
	sort_by(column, count, d, start, row, value, by_column, values);
	for (uint32_t k = 0; k < d; k++)
		for (uint64_t e = start[k]; e < start[k + 1]; e++)
			sorted[e] = k;
	sort_by(by_column, count, n, s->start, sorted, values, column, value);
	s->column = column;
	s->value = value;
	column = NULL;
	value = NULL;
	merge(s);
	*out = s;
	s = NULL;
	rc = 0;
out:
	sl_sparse_destroy(s);
	free(start);
	free(by_column);
	free(values);
	free(sorted);
	free(row);
	free(column);
	free(value);
	return rc;
}

/* ---- passes -------------------------------------------------------------------------------- */

static bool cancelled(const struct passes *p)
{
	return p->cancel && __atomic_load_n(p->cancel, __ATOMIC_RELAXED);
}

static int pass_mean(void *arg, double *mean, struct sl_error *err)
{
	struct passes *p = arg;
#pragma omp parallel for schedule(dynamic, 64)
	for (uint32_t k = 0; k < p->s->d; k++) {
		double sum = 0;
		for (uint64_t e = p->start[k]; e < p->start[k + 1]; e++)
			sum += (double)p->value[e];
		mean[k] = p->mean[k] = sum / p->s->n;
	}
	return 0;
}

static double variance(const struct passes *p)
{
	double total = 0;
	for (uint32_t k = 0; k < p->s->d; k++) {
		double sum = 0, rest = (double)p->s->n - (double)(p->start[k + 1] - p->start[k]);
		for (uint64_t e = p->start[k]; e < p->start[k + 1]; e++)
			sum += ((double)p->value[e] - p->mean[k]) * ((double)p->value[e] - p->mean[k]);
		total += sum + rest * p->mean[k] * p->mean[k];
	}
	return total;
}

/* Row k of X'X - n m m': for each entry of column k, adds the products with the entries of its row. */
static int pass_covariance(void *arg, double *covariance, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_sparse *s = p->s;
	uint32_t d = s->d;
#pragma omp parallel for schedule(dynamic, 4)
	for (uint32_t k = 0; k < d; k++) {
		double *out = covariance + (size_t)k * d;
		memset(out, 0, d * sizeof *out);
		for (uint64_t e = p->start[k]; e < p->start[k + 1] && !cancelled(p); e++)
			for (uint64_t f = s->start[p->row[e]]; f < s->start[p->row[e] + 1]; f++)
				out[s->column[f]] += (double)p->value[e] * (double)s->value[f];
		for (uint32_t j = 0; j < d; j++)
			out[j] -= s->n * (p->mean[k] * p->mean[j]);
	}
	/* mirrored elements may differ in their last bits */
	for (uint32_t k = 0; k < d; k++)
		for (uint32_t j = 0; j < k; j++)
			covariance[(size_t)k * d + j] = covariance[(size_t)j * d + k];
	return 0;
}

/* w[rows][c] = X v - 1 offset, for rows [from, to). */
static void multiply_rows(const struct sl_sparse *s, uint32_t from, uint32_t to, const double *v, uint32_t c,
			  const double *offset, double *w)
{
#pragma omp parallel for schedule(static)
	for (uint32_t i = from; i < to; i++) {
		double *out = w + (size_t)(i - from) * c;
		for (uint32_t j = 0; j < c; j++)
			out[j] = -offset[j];
		for (uint64_t e = s->start[i]; e < s->start[i + 1]; e++)
			sl__add_scaled(out, (double)s->value[e], v + (size_t)s->column[e] * c, c);
	}
}

/* out = m' v */
static void mean_times(const struct passes *p, const double *v, uint32_t c, double *out)
{
	memset(out, 0, c * sizeof *out);
	for (uint32_t k = 0; k < p->s->d; k++)
		sl__add_scaled(out, p->mean[k], v + (size_t)k * c, c);
}

static int pass_apply(void *arg, const double *v, uint32_t c, double *out, double *total, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_sparse *s = p->s;
	uint64_t *next = malloc(((size_t)s->d + 1) * sizeof *next);  /* first entry of each column in the block */
	double *w = malloc((size_t)BLOCK * c * sizeof *w), *offset = malloc(2 * (size_t)c * sizeof *offset);
	int rc = next && w && offset ? 0 : SL_NOMEM;
	if (rc)
		goto out;
	double *sum = offset + c;
	memcpy(next, p->start, ((size_t)s->d + 1) * sizeof *next);
	memset(out, 0, (size_t)s->d * c * sizeof *out);
	memset(sum, 0, c * sizeof *sum);
	mean_times(p, v, c, offset);
	for (uint64_t from = 0; from < s->n && !cancelled(p); from += BLOCK) {
		uint32_t to = s->n - from < BLOCK ? s->n : (uint32_t)(from + BLOCK);
		multiply_rows(s, (uint32_t)from, to, v, c, offset, w);
		for (uint32_t i = (uint32_t)from; i < to; i++)
			sl__add_scaled(sum, 1, w + (size_t)(i - from) * c, c);
#pragma omp parallel for schedule(dynamic, 64)
		for (uint32_t k = 0; k < s->d; k++)
			for (; next[k] < p->start[k + 1] && p->row[next[k]] < to; next[k]++)
				sl__add_scaled(out + (size_t)k * c, (double)p->value[next[k]],
					       w + (size_t)(p->row[next[k]] - from) * c, c);
	}
	for (uint32_t k = 0; k < s->d; k++)
		sl__add_scaled(out + (size_t)k * c, -p->mean[k], sum, c);
	*total = variance(p);
	if (cancelled(p))
		rc = SL_CANCELLED;
out:
	free(next);
	free(w);
	free(offset);
	return rc;
}

static int pass_project(void *arg, const struct sl_pca *pca, float *out, struct sl_error *err)
{
	struct passes *p = arg;
	uint32_t to = pca->to;
	double *w = malloc((size_t)BLOCK * to * sizeof *w), *offset = malloc(to * sizeof *offset);
	int rc = w && offset ? 0 : SL_NOMEM;
	if (!rc)
		mean_times(p, pca->axis, to, offset);
	for (uint64_t from = 0; !rc && from < p->s->n; from += BLOCK) {
		uint32_t end = p->s->n - from < BLOCK ? p->s->n : (uint32_t)(from + BLOCK);
		multiply_rows(p->s, (uint32_t)from, end, pca->axis, to, offset, w);
		for (size_t i = 0; i < (end - from) * to; i++)
			out[from * to + i] = (float)w[i];
	}
	free(w);
	free(offset);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Transposes the matrix. */
static int transpose(struct passes *p)
{
	const struct sl_sparse *s = p->s;
	uint64_t count = s->start[s->n];
	p->start = sl_account_alloc(s->account, (uint64_t)s->d + 1, sizeof *p->start);
	p->row = sl_account_alloc(s->account, count + 1, sizeof *p->row);
	p->value = sl_account_alloc(s->account, count + 1, sizeof *p->value);
	p->mean = sl_account_alloc(s->account, s->d, sizeof *p->mean);
	uint32_t *row = sl_account_alloc(s->account, count + 1, sizeof *row);
	int rc = p->start && p->row && p->value && p->mean && row ? 0 : SL_NOMEM;
	for (uint32_t i = 0; !rc && i < s->n; i++)
		for (uint64_t e = s->start[i]; e < s->start[i + 1]; e++)
			row[e] = i;
	if (!rc)
		sort_by(s->column, count, s->d, p->start, row, s->value, p->row, p->value);
	free(row);
	return rc;
}

/* The columns that have entries, and as many others as are needed for `to` axes. Fills old[d] with their numbers,
 * ascending, and replaces column[] by numbers in old. Returns how many there are. */
static uint32_t keep_columns(uint32_t d, uint64_t count, uint32_t to, uint32_t *column, uint32_t *old, uint32_t *place)
{
	uint32_t used = 0, kept = 0;
	memset(place, 0, d * sizeof *place);
	for (uint64_t e = 0; e < count; e++) {
		used += !place[column[e]];
		place[column[e]] = 1;
	}
	uint32_t more = used < to ? to - used : 0;
	for (uint32_t k = 0; k < d; k++) {
		bool keep = place[k] || more;
		more -= keep && !place[k];
		place[k] = kept;
		if (keep)
			old[kept++] = k;
	}
	for (uint64_t e = 0; e < count; e++)
		column[e] = place[column[e]];
	return kept;
}

/* Makes axes of the kept columns, with numbers old[], axes of the d columns of the table. */
static int name_columns(struct sl_pca **pca, const uint32_t *old, uint32_t d)
{
	const struct sl_pca *few = *pca;
	struct sl_pca *all = sl_pca_create(d, few->from, few->to);
	if (!all)
		return SL_NOMEM;
	memcpy(all->mean, few->mean, few->from * sizeof *few->mean);
	memcpy(all->column, old, few->from * sizeof *old);
	memcpy(all->axis, few->axis, (size_t)few->from * few->to * sizeof *few->axis);
	sl_pca_destroy(*pca);
	*pca = all;
	return 0;
}

static int no_memory(const struct sl_sparse *s, struct sl_error *err)
{
	return sl_error_memory(err, "the principal axes of a sparse table of %u rows and %u " "columns", s->n, s->d);
}

static int compute(struct sl_points **out, const struct sl_sparse *s, uint32_t empty, uint32_t to, double *kept,
		   const int *cancel, struct sl_error *err)
{
	struct passes p = {.s = s, .cancel = cancel};
	const struct sl_points_passes passes = {.arg = &p, .mean = pass_mean, .covariance = pass_covariance,
						.apply = pass_apply, .project = pass_project};
	/* pca.c needs only these fields; the passes supply the values */
	struct sl_points table = {.n = s->n, .n_user = s->n, .d = s->d, .type = SL_POINTS_F32};
	int rc = transpose(&p);
	if (rc) {
		no_memory(s, err);
	} else {
		for (uint32_t i = 0; i < s->n; i++)
			table.report.zero_rows += s->start[i] == s->start[i + 1];
		table.report.constant_columns = empty;
		for (uint32_t k = 0; k < s->d; k++)
			table.report.constant_columns += p.start[k] == p.start[k + 1];
		rc = sl_points_pca_by(out, &table, to, kept, cancel, &passes, err);
	}
	free(p.start);
	free(p.row);
	free(p.value);
	free(p.mean);
	return rc;
}

/* If most columns are empty, these take no part, so that the time depends on the entries and not on the declared
 * columns. Otherwise all take part. */
int sl_sparse_pca(struct sl_points **out, const struct sl_sparse *s, uint32_t to, double *kept, const int *cancel,
		  struct sl_error *err)
{
	uint64_t count = s->start[s->n];
	*out = NULL;
	if (sl__check_axes(s->d, to, err))
		return SL_BADPARAM;
	uint32_t *column = sl_account_alloc(s->account, count + 1, sizeof *column);
	uint32_t *old = sl_account_alloc(s->account, s->d, sizeof *old);
	uint32_t *place = sl_account_alloc(s->account, s->d, sizeof *place);
	int rc = column && old && place ? 0 : no_memory(s, err);
	if (!rc) {
		if (count)
			memcpy(column, s->column, count * sizeof *column);
		struct sl_sparse few = *s;
		few.column = column;
		few.d = keep_columns(s->d, count, to, column, old, place);
		bool sparser = few.d < s->d / 2;
		rc = compute(out, sparser ? &few : s, sparser ? s->d - few.d : 0, to, kept, cancel, err);
		if (!rc && sparser && name_columns(&(*out)->pca, old, s->d)) {
			sl_points_destroy(*out);
			*out = NULL;
			rc = no_memory(s, err);
		}
	}
	free(column);
	free(old);
	free(place);
	return rc;
}
