/* Principal axes have their defining properties, for few and for many columns; projected points keep names and
 * labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "core/points/points.h"
#include "core/points/sparse.h"
#include "core/random.h"
#include "tests/unit/seeds.h"

/* Variance of axis k: 1 / (k + 1)^2, rotated by random reflections, far from the origin. */
static float *cloud(uint32_t n, uint32_t d, uint64_t seed)
{
	float *x = malloc(sizeof *x * n * d);
	double *v = malloc(sizeof *v * 3 * d), *row = malloc(sizeof *row * d);
	seed = test_seed(seed);
	for (uint32_t r = 0; r < 3; r++) {
		double norm = 0;
		for (uint32_t k = 0; k < d; k++) {
			v[r * d + k] = sl_random_normal(seed, r * d + k);
			norm += v[r * d + k] * v[r * d + k];
		}
		for (uint32_t k = 0; k < d; k++)
			v[r * d + k] /= sqrt(norm);
	}
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < d; k++)
			row[k] = sl_random_normal(seed + 1, (uint64_t)i * d + k) / (k + 1);
		for (uint32_t r = 0; r < 3; r++) {
			double dot = 0;
			for (uint32_t k = 0; k < d; k++)
				dot += v[r * d + k] * row[k];
			for (uint32_t k = 0; k < d; k++)
				row[k] -= 2 * dot * v[r * d + k];
		}
		for (uint32_t k = 0; k < d; k++)
			x[(size_t)i * d + k] = (float)(row[k] + 10 * (k % 3));
	}
	free(v);
	free(row);
	return x;
}

static struct sl_points table(uint32_t n, uint32_t d, void *value)
{
	return (struct sl_points){.n = n, .n_user = n, .d = d, .value = value};
}

static struct sl_points *pca(const struct sl_points *p, uint32_t to, double *kept)
{
	struct sl_points *q;
	struct sl_error err = {0};
	if (sl_points_pca(&q, p, to, kept, NULL, &err))
		fail_msg("%s", err.detail);
	assert_int_equal(q->n, p->n);
	assert_int_equal(q->d, to);
	return q;
}

/* Columns are centred and uncorrelated; their variances descend and sum to the reported variance. */
static void check_components(const struct sl_points *p, const struct sl_points *q, double kept, double tolerance)
{
	uint32_t n = q->n, c = q->d;
	const float *y = q->value;
	double total = 0, held = 0, before = INFINITY;
	float *row = malloc(p->d * sizeof *row);
	double *mean = calloc(p->d, sizeof *mean), *square = calloc(p->d, sizeof *square);
	for (uint32_t i = 0; i < n; i++) {
		sl_points_rows(p, i, 1, row);
		for (uint32_t k = 0; k < p->d; k++) {
			mean[k] += (double)row[k] / n;
			square[k] += (double)row[k] * row[k] / n;
		}
	}
	for (uint32_t k = 0; k < p->d; k++)
		total += square[k] - mean[k] * mean[k];
	for (uint32_t a = 0; a < c; a++)
		for (uint32_t b = 0; b <= a; b++) {
			double sum = 0, dot = 0;
			for (uint32_t i = 0; i < n; i++) {
				sum += (double)y[(size_t)i * c + a] / n;
				dot += (double)y[(size_t)i * c + a] * y[(size_t)i * c + b] / n;
			}
			assert_true(fabs(sum) < 1e-5 * sqrt(total));
			if (a != b) {
				assert_true(fabs(dot) < tolerance * total);
				continue;
			}
			assert_true(dot <= before + 1e-7 * total);
			before = dot;
			held += dot;
		}
	assert_true(fabs(held / total - kept) < 1e-5);
	free(row);
	free(mean);
	free(square);
}

static void components_are_uncorrelated_and_in_order(void **state)
{
	static const uint32_t sizes[][3] = {{200, 1, 1}, {200, 5, 5}, {500, 40, 10}, {300, 129, 30}, {20, 60, 25}};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		float *x = cloud(sizes[s][0], sizes[s][1], s);
		struct sl_points p = table(sizes[s][0], sizes[s][1], x);
		double kept;
		struct sl_points *q = pca(&p, sizes[s][2], &kept);
		check_components(&p, q, kept, 1e-6);
		if (sizes[s][2] == sizes[s][1])
			assert_true(fabs(kept - 1) < 1e-9);
		sl_points_destroy(q);
		free(x);
	}
}

/* A projection on all axes is a rotation: distances stay the same. */
static void all_axes_keep_distances(void **state)
{
	enum { N = 100, D = 17 };
	float *x = cloud(N, D, 7);
	struct sl_points p = table(N, D, x), *q = pca(&p, D, NULL);
	const float *y = q->value;
	for (uint32_t i = 1; i < N; i++) {
		double a = 0, b = 0;
		for (uint32_t k = 0; k < D; k++) {
			a += pow((double)x[i * D + k] - (double)x[k], 2);
			b += pow((double)y[i * D + k] - (double)y[k], 2);
		}
		assert_true(fabs(sqrt(a) - sqrt(b)) < 1e-4);
	}
	sl_points_destroy(q);
	free(x);
}

/* For more than 2,048 columns, axes are found by iteration; the same points in some of these columns must give the same
 * axes. */
static void many_columns_give_the_same_axes(void **state)
{
	enum { N = 400, D = 60, WIDE = 2100, TO = 6 };
	float *x = cloud(N, D, 8), *wide = calloc((size_t)N * WIDE, sizeof *wide);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = 0; k < D; k++)
			wide[(size_t)i * WIDE + 35 * k] = x[i * D + k];
	struct sl_points p = table(N, D, x), w = table(N, WIDE, wide);
	double kept, kept_wide;
	struct sl_points *a = pca(&p, TO, &kept), *b = pca(&w, TO, &kept_wide);
	assert_true(fabs(kept - kept_wide) < 1e-6);
	for (int i = 0; i < N * TO; i++)
		assert_true(fabsf(((float *)a->value)[i] - ((float *)b->value)[i]) < 1e-3f);
	sl_points_destroy(a);
	sl_points_destroy(b);
	free(x);
	free(wide);
}

static void the_number_of_threads_changes_nothing(void **state)
{
	enum { N = 3000, D = 70, TO = 9 };
	float *x = cloud(N, D, 9);
	struct sl_points p = table(N, D, x), *first = NULL;
	int before = omp_get_max_threads();
	for (int threads = 1; threads <= 3; threads++) {
		omp_set_num_threads(threads);
		struct sl_points *q = pca(&p, TO, NULL);
		if (first) {
			assert_memory_equal(first->value, q->value, sizeof(float) * N * TO);
			sl_points_destroy(q);
		} else {
			first = q;
		}
	}
	omp_set_num_threads(before);
	sl_points_destroy(first);
	free(x);
}

static void assert_same_values(const struct sl_points *a, const struct sl_points *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->d, b->d);
	assert_memory_equal(a->value, b->value, sizeof(float) * a->n * a->d);
}

/* A row's coordinates along the axes do not depend on other rows or on the time of the projection. */
static void axes_that_were_kept_give_the_same_places(void **state)
{
	static const uint32_t sizes[][3] = {{300, 40, 7}, {90, 13, 13}, {150, 2100, 4}};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		uint32_t n = sizes[s][0], d = sizes[s][1], to = sizes[s][2];
		float *x = cloud(n, d, 20 + s);
		struct sl_points p = table(n, d, x), *q = pca(&p, to, NULL), *again, *alone, one = table(1, d, x + 5 * d);
		struct sl_error err;
		assert_int_equal(q->pca->from, d);
		assert_int_equal(q->pca->to, to);
		assert_true(sl_points_bytes(q) > sizeof(float) * n * to + sizeof(double) * d * (to + 1));
		assert_int_equal(sl_pca_apply(&again, q->pca, &p, &err), 0);
		assert_same_values(again, q);
		assert_null(again->pca);
		assert_int_equal(sl_pca_apply(&alone, q->pca, &one, &err), 0);
		assert_memory_equal(alone->value, (float *)q->value + 5 * to, sizeof(float) * to);
		/* twice as far from the mean is twice as far along each axis */
		for (uint32_t k = 0; k < d; k++)
			x[5 * d + k] = (float)(2 * (double)x[5 * d + k] - q->pca->mean[k]);
		sl_points_destroy(alone);
		assert_int_equal(sl_pca_apply(&alone, q->pca, &one, &err), 0);
		for (uint32_t j = 0; j < to; j++)
			assert_true(fabsf(((float *)alone->value)[j] - 2 * ((float *)q->value)[5 * to + j]) < 1e-4f);
		sl_points_destroy(alone);
		sl_points_destroy(again);
		sl_points_destroy(q);
		free(x);
	}
}

static void what_does_not_fit_the_axes_is_refused(void **state)
{
	enum { N = 50, D = 6 };
	float *x = cloud(N, D, 30), wide[2 * D] = {0};
	uint32_t user[2] = {0, 7};
	struct sl_points p = table(N, D, x), *q = pca(&p, 2, NULL), *out, narrow = table(2, D - 1, x);
	struct sl_points far = {.n = 2, .d = D, .n_user = 9, .value = wide, .user = user};
	struct sl_error err;
	assert_int_equal(sl_pca_apply(&out, q->pca, &narrow, &err), SL_BADDATA);
	assert_string_equal(err.detail, "The points have 5 columns, but the principal axes are for 6 columns.");
	assert_null(out);
	for (int k = 0; k < D; k++)
		wide[D + k] = q->pca->axis[k * 2] > 0 ? 3e38f : -3e38f;
	assert_int_equal(sl_pca_apply(&out, q->pca, &far, &err), SL_BADDATA);
	assert_non_null(strstr(err.detail, "Row 8 is so far"));
	assert_null(out);
	sl_points_destroy(q);
	free(x);
}

static void equal_points_have_no_axes_but_zeros(void **state)
{
	float x[40];
	for (int i = 0; i < 40; i++)
		x[i] = (float)(i % 4) + 0.1f;
	struct sl_points p = table(10, 4, x);
	double kept;
	struct sl_points *q = pca(&p, 2, &kept);
	for (int i = 0; i < 20; i++)
		assert_true(fabsf(((float *)q->value)[i]) < 1e-6f);
	assert_true(kept >= 0 && kept <= 1);
	sl_points_destroy(q);
}

static void names_labels_and_rows_are_copied(void **state)
{
	uint8_t value[9] = {1, 2, 3, 4, 5, 7, 9, 8, 1};
	uint32_t user[3] = {0, 2, 3}, label[4] = {1, 0, 0, 1};
	uint64_t at[5] = {0, 2, 4, 6, 8};
	char *labels[2] = {"u", "v"};
	struct sl_points p = {.n = 3, .d = 3, .n_user = 4, .type = SL_POINTS_U8, .value = value, .user = user,
			      .name_bytes = "a\0b\0c\0d", .name_at = at, .label = label, .labels = 2, .label_name = labels,
			      .report = {.not_finite = 1}};
	struct sl_points *q = pca(&p, 2, NULL);
	assert_int_equal(q->n_user, 4);
	assert_int_equal(q->type, SL_POINTS_F32);
	assert_memory_equal(q->user, user, sizeof user);
	assert_memory_equal(q->label, label, sizeof label);
	assert_string_equal(q->label_name[1], "v");
	assert_string_equal(q->name_bytes + q->name_at[3], "d");
	assert_int_equal(q->report.not_finite, 1);
	assert_true(sl_points_bytes(q) > 24 + 12 + 8);
	sl_points_destroy(q);
}

static void more_axes_than_columns_are_refused(void **state)
{
	float x[6] = {1, 2, 3, 4, 5, 7};
	struct sl_points p = table(3, 2, x), *q;
	struct sl_error err;
	for (uint32_t to = 0; to <= 3; to += 3) {
		assert_int_equal(sl_points_pca(&q, &p, to, NULL, NULL, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, "/pca");
		assert_null(q);
	}
}

/* A table of a few rows must not take hours: it is refused before anything is allocated or read. */
static void more_axes_than_time_allows_are_refused(void **state)
{
	static const uint32_t cases[][2] = {{30000, 2049}, {30000, 30000}, {1000000, 68}, {1000000, 1000000}};
	struct sl_points *q;
	struct sl_error err;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sl_points p = table(2, cases[i][0], NULL);
		assert_int_equal(sl_points_pca(&q, &p, cases[i][1], NULL, NULL, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, "/pca");
		assert_null(q);
	}
}

static void axes_are_cancelled(void **state)
{
	static const uint32_t columns[] = {40, 2100};
	const int cancel = 1;
	for (size_t i = 0; i < 2; i++) {
		float *x = cloud(100, columns[i], 3);
		struct sl_points p = table(100, columns[i], x), *q;
		struct sl_error err;
		assert_int_equal(sl_points_pca(&q, &p, 5, NULL, &cancel, &err), SL_CANCELLED);
		assert_null(q);
		free(x);
	}
}

/* ---- sparse tables ------------------------------------------------------------------------------ */

/* One in ten values is not zero; the first column is empty, and so is the last row. x [n][d] gets the same values. */
static struct sl_sparse *sparse_cloud(uint32_t n, uint32_t d, float *x)
{
	uint32_t *row = malloc((size_t)n * d * sizeof *row), *column = malloc((size_t)n * d * sizeof *column);
	float *value = malloc((size_t)n * d * sizeof *value);
	uint64_t count = 0;
	struct sl_sparse *s;
	memset(x, 0, (size_t)n * d * sizeof *x);
	/* from the last entry to the first, since the order of entries must not matter */
	for (uint32_t i = n - 1; i-- > 0;)
		for (uint32_t k = d; k-- > 1;) {
			uint64_t at = (uint64_t)i * d + k;
			if (sl_random_uniform(7, at) > 0.1)
				continue;
			float v = (float)(sl_random_normal(8, at) * (1 + 5.0 / k) + (k % 3 == i % 3 ? 4 : 0));
			x[at] = v;
			row[count] = i;
			column[count] = k;
			value[count++] = v;
		}
	assert_int_equal(sl_sparse_create(&s, n, d, count, row, column, value, NULL), 0);
	return s;
}

/* With a dense covariance matrix and by iteration. */
static void sparse_tables_have_the_axes_of_dense_ones(void **state)
{
	static const uint32_t sizes[][3] = {{300, 40, 5}, {500, 2500, 4}, {9000, 30, 3}};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		uint32_t n = sizes[s][0], d = sizes[s][1], to = sizes[s][2];
		float *x = malloc((size_t)n * d * sizeof *x);
		struct sl_sparse *sparse = sparse_cloud(n, d, x);
		struct sl_points p = table(n, d, x), *dense, *q, *applied;
		struct sl_error err;
		double kept_dense, kept;
		dense = pca(&p, to, &kept_dense);
		assert_int_equal(sl_sparse_pca(&q, sparse, to, &kept, NULL, &err), 0);
		assert_int_equal(q->n, n);
		assert_int_equal(q->d, to);
		uint32_t zero_rows = 0;
		for (uint32_t i = 0; i < n; i++)
			zero_rows += sparse->start[i] == sparse->start[i + 1];
		assert_true(zero_rows >= 1);
		assert_int_equal(q->report.zero_rows, zero_rows);
		assert_int_equal(q->report.constant_columns, 1);
		assert_float_equal(kept, kept_dense, 1e-6);
		for (size_t i = 0; i < (size_t)n * to; i++)
			assert_float_equal(((float *)q->value)[i], ((float *)dense->value)[i], 2e-3);
		/* new points are projected on the same axes */
		assert_int_equal(sl_pca_apply(&applied, q->pca, &p, &err), 0);
		for (size_t i = 0; i < (size_t)n * to; i++)
			assert_float_equal(((float *)applied->value)[i], ((float *)q->value)[i], 1e-4);
		sl_points_destroy(dense);
		sl_points_destroy(q);
		sl_points_destroy(applied);
		sl_sparse_destroy(sparse);
		free(x);
	}
}

/* Of a table with mostly empty columns, only the others have weights; these and new points are the same as without the
 * empty columns. */
static void empty_columns_have_no_weights(void **state)
{
	enum { SIZE = 200, FEW = 40, WIDE = 10 * FEW, TO = 5 };
	float *x = malloc(SIZE * FEW * sizeof *x), *wide = calloc(SIZE * WIDE, sizeof *wide);
	struct sl_sparse *s = sparse_cloud(SIZE, FEW, x);
	struct sl_points p = table(SIZE, WIDE, wide), *few, *q, *applied;
	struct sl_error err;
	assert_int_equal(sl_sparse_pca(&few, s, TO, NULL, NULL, &err), 0);
	for (uint64_t e = 0; e < s->start[SIZE]; e++)
		s->column[e] = s->column[e] * 10 + 3;
	s->d = WIDE;
	for (int i = 0; i < SIZE; i++)
		for (int k = 0; k < WIDE; k++)
			wide[i * WIDE + k] = k % 10 == 3 ? x[i * FEW + k / 10] : k % 2 ? 0 : 1e30f;
	assert_int_equal(sl_sparse_pca(&q, s, TO, NULL, NULL, &err), 0);
	assert_int_equal(q->pca->from, WIDE);
	assert_int_equal(q->pca->kept, FEW - 1);  /* the first column is empty */
	assert_true(sl_pca_bytes(q->pca) < sl_pca_bytes(few->pca) + WIDE * sizeof(double));
	assert_int_equal(sl_pca_apply(&applied, q->pca, &p, &err), 0);
	for (int i = 0; i < SIZE * TO; i++) {
		assert_float_equal(((float *)q->value)[i], ((float *)few->value)[i], 1e-4);
		assert_float_equal(((float *)applied->value)[i], ((float *)q->value)[i], 1e-4);
	}
	sl_points_destroy(few);
	sl_points_destroy(q);
	sl_points_destroy(applied);
	sl_sparse_destroy(s);
	free(x);
	free(wide);
}

static void threads_change_nothing_of_sparse_axes(void **state)
{
	static const uint32_t sizes[][2] = {{400, 60}, {300, 2300}};
	for (size_t s = 0; s < 2; s++) {
		uint32_t n = sizes[s][0], d = sizes[s][1];
		float *x = malloc((size_t)n * d * sizeof *x);
		struct sl_sparse *sparse = sparse_cloud(n, d, x);
		struct sl_points *q[3];
		struct sl_error err;
		for (int t = 0; t < 3; t++) {
			omp_set_num_threads(t + 1);
			assert_int_equal(sl_sparse_pca(&q[t], sparse, 5, NULL, NULL, &err), 0);
		}
		for (int t = 1; t < 3; t++)
			assert_memory_equal(q[0]->value, q[t]->value, (size_t)n * 5 * sizeof(float));
		for (int t = 0; t < 3; t++)
			sl_points_destroy(q[t]);
		sl_sparse_destroy(sparse);
		free(x);
	}
}

static void entries_of_one_place_add_up(void **state)
{
	static const uint32_t rows[] = {2, 0, 2, 1, 2}, columns[] = {1, 3, 1, 0, 0};
	static const float values[] = {1, 2, 3, 4, 5};
	uint32_t *row = malloc(sizeof rows), *column = malloc(sizeof columns);
	float *value = malloc(sizeof values);
	struct sl_sparse *s;
	memcpy(row, rows, sizeof rows);
	memcpy(column, columns, sizeof columns);
	memcpy(value, values, sizeof values);
	assert_int_equal(sl_sparse_create(&s, 3, 4, 5, row, column, value, NULL), 0);
	static const uint64_t start[] = {0, 1, 2, 4};
	static const uint32_t at[] = {3, 0, 0, 1};
	static const float sums[] = {2, 4, 5, 4};
	assert_memory_equal(s->start, start, sizeof start);
	assert_memory_equal(s->column, at, sizeof at);
	assert_memory_equal(s->value, sums, sizeof sums);
	sl_sparse_destroy(s);
}

static void sparse_axes_are_refused_and_cancelled(void **state)
{
	const int cancel = 1;
	float *x = malloc(50 * 2300 * sizeof *x);
	struct sl_sparse *s = sparse_cloud(50, 2300, x);
	struct sl_points *q;
	struct sl_error err;
	assert_int_equal(sl_sparse_pca(&q, s, 5, NULL, &cancel, &err), SL_CANCELLED);
	assert_int_equal(sl_sparse_pca(&q, s, 2301, NULL, NULL, &err), SL_BADPARAM);
	assert_null(q);
	sl_sparse_destroy(s);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(components_are_uncorrelated_and_in_order),
		cmocka_unit_test(all_axes_keep_distances),
		cmocka_unit_test(many_columns_give_the_same_axes),
		cmocka_unit_test(the_number_of_threads_changes_nothing),
		cmocka_unit_test(axes_that_were_kept_give_the_same_places),
		cmocka_unit_test(what_does_not_fit_the_axes_is_refused),
		cmocka_unit_test(equal_points_have_no_axes_but_zeros),
		cmocka_unit_test(names_labels_and_rows_are_copied),
		cmocka_unit_test(more_axes_than_columns_are_refused),
		cmocka_unit_test(more_axes_than_time_allows_are_refused),
		cmocka_unit_test(axes_are_cancelled),
		cmocka_unit_test(sparse_tables_have_the_axes_of_dense_ones),
		cmocka_unit_test(empty_columns_have_no_weights), cmocka_unit_test(threads_change_nothing_of_sparse_axes),
		cmocka_unit_test(entries_of_one_place_add_up),
		cmocka_unit_test(sparse_axes_are_refused_and_cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
