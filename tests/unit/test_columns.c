/* Products and orthonormal columns of tall matrices, against plain loops, for any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <omp.h>

#include "core/points/columns.h"
#include "core/random.h"
#include "tests/unit/seeds.h"

static double *matrix(uint32_t d, uint32_t c, uint64_t seed)
{
	double *m = malloc(sizeof *m * d * c);
	for (size_t i = 0; i < (size_t)d * c; i++)
		m[i] = sl_random_normal(seed, i);
	return m;
}

static void products_are_the_sums(void **state)
{
	static const uint32_t sizes[][4] = {{1, 1, 1, 1}, {300, 5, 3, 9}, {700, 270, 70, 300}, {256, 16, 64, 64}};
	uint64_t seed = fresh_seed();
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		uint32_t d = sizes[s][0], p = sizes[s][1], q = sizes[s][2], pitch = sizes[s][3];
		double *v = matrix(d, pitch, seed), *w = matrix(d, pitch, seed + 1), *out = matrix(p, q, seed + 2);
		double *sum = matrix(d, pitch, seed + 3), *before = malloc(sizeof *before * d * pitch);
		memcpy(before, sum, sizeof *before * d * pitch);
		assert_int_equal(sl__products(v, p, w, q, pitch, d, out), 0);
		assert_int_equal(sl__add_combinations(v, p, pitch, d, out, q, sum, pitch), 0);
		for (uint32_t i = 0; i < p; i++)
			for (uint32_t j = 0; j < q; j++) {
				double dot = 0;
				for (uint32_t k = 0; k < d; k++)
					dot += v[k * pitch + i] * w[k * pitch + j];
				assert_true(fabs(dot - out[i * q + j]) < 1e-10 * d);
			}
		for (uint32_t k = 0; k < d; k++)
			for (uint32_t j = 0; j < pitch; j++) {
				double dot = before[k * pitch + j];
				for (uint32_t i = 0; i < p && j < q; i++)
					dot += v[k * pitch + i] * out[i * q + j];
				assert_true(fabs(dot - sum[k * pitch + j]) < 1e-10 * d * p);
			}
		free(v);
		free(w);
		free(out);
		free(sum);
		free(before);
	}
}

/* In several blocks; columns that are combinations of others, or nearly, and a column of zeros. */
static void columns_become_orthonormal(void **state)
{
	enum { D = 400, C = 150 };
	uint64_t seed = fresh_seed();
	double *v = matrix(D, C, seed), *first = NULL, *copy = malloc(sizeof *copy * D * C);
	for (int k = 0; k < D; k++) {
		v[k * C + 20] = 0;
		v[k * C + 70] = v[k * C + 3] - 2 * v[k * C + 69];
		v[k * C + 140] = v[k * C + 1] + 1e-9 * v[k * C + 140];
	}
	for (int threads = 1; threads <= 3; threads++) {
		int had = omp_get_max_threads();
		omp_set_num_threads(threads);
		memcpy(copy, v, sizeof *copy * D * C);
		assert_int_equal(sl__orthonormalise(copy, C, D, NULL), 0);
		omp_set_num_threads(had);
		if (!first) {
			first = copy;
			copy = malloc(sizeof *copy * D * C);
		} else {
			assert_memory_equal(first, copy, sizeof *copy * D * C);
		}
	}
	for (int i = 0; i < C; i++)
		for (int j = 0; j <= i; j++) {
			double dot = 0;
			for (int k = 0; k < D; k++)
				dot += first[k * C + i] * first[k * C + j];
			assert_true(fabs(dot - (i == j && i != 20 && i != 70)) < 1e-12);
		}
	free(v);
	free(copy);
	free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_the_sums),
		cmocka_unit_test(columns_become_orthonormal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
