/* Eigenvectors of a symmetric matrix: Householder's reduction to a tridiagonal matrix (Golub and Van Loan, Matrix
 * Computations, section 8.3), by several threads; its eigenpairs by LAPACK (dstemr); reflection back. On one thread,
 * 784 columns take 63 ms; with LAPACK's own reduction and a plain BLAS they take 147 ms.
 *
 * The full matrix is stored, so that all loops run along rows. Step k must subtract u w' + w u' from the rest of the
 * matrix; this is done when step k + 1 reads the rows for its product, so a step reads the matrix once. One thread sums
 * a row, so the result does not depend on the number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
#endif

#include "core/points/project.h"
#include "core/vector.h"

#define PARALLEL_LEAST 256  /* with fewer rows, starting threads takes longer */
#define THREADS_MOST 8      /* more threads would mostly wait for each other */
#define NOTHING 1e-250      /* a smaller sum of squares counts as 0; the largest number of the matrix is about 1 */

/* LAPACK: some eigenvalues and eigenvectors of a symmetric tridiagonal matrix. */
extern void dstemr_(const char *jobz, const char *range, const int *n, double *d, double *e, const double *vl,
		    const double *vu, const int *il, const int *iu, int *m, double *w, double *z, const int *ldz,
		    const int *nzc, int *isuppz, int *tryrac, double *work, const int *lwork, int *iwork,
		    const int *liwork, int *info);

/* x -= a v + b u; returns its product with y. */
VECTOR static double update_and_multiply(double *restrict x, double a, const double *restrict v, double b,
					 const double *restrict u, const double *restrict y, int count)
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int j = 0; j < count; j++) {
		x[j] -= a * v[j] + b * u[j];
		sum += x[j] * y[j];
	}
	return sum;
}

VECTOR static double multiply(const double *restrict x, const double *restrict y, int count)
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int j = 0; j < count; j++)
		sum += x[j] * y[j];
	return sum;
}

VECTOR static void subtract(double *restrict x, double a, const double *restrict y, int count)
{
	for (int j = 0; j < count; j++)
		x[j] -= a * y[j];
}

struct reduction {
	double *m;                 /* [n][n]; row k becomes the k-th reflection's vector, from column k + 1 on */
	int n;
	double *diagonal, *beside; /* [n] */
	double *factor;            /* [n] the k-th reflection is 1 - factor u u' */
	double *product, *w;       /* [n] product: of step k; w: of step k - 1 */
};

/* Subtracts the previous step from row k, which is then final. The reflection maps x, the part right of the diagonal,
 * to its first axis. */
static void begin_step(struct reduction *r, int k)
{
	int n = r->n, rest = n - k - 1;
	double *row = r->m + (size_t)k * n, *u = row + k + 1;
	if (k) {
		const double *before = row - n;
		double factor = r->factor[k - 1];  /* its square may overflow */
		double half = 0.5 * factor * (factor * multiply(r->product + k, before + k, n - k));
		for (int j = k; j < n; j++)
			r->w[j] = factor * r->product[j] - half * before[j];
		double a = before[k], b = r->w[k];
		for (int j = k; j < n; j++)
			row[j] -= a * r->w[j] + b * before[j];
	}
	r->diagonal[k] = row[k];
	r->factor[k] = 0;
	if (!rest)
		return;
	double tail = multiply(u + 1, u + 1, rest - 1), norm = sqrt(u[0] * u[0] + tail);
	r->beside[k] = u[0];
	if (tail > NOTHING) {
		r->beside[k] = u[0] > 0 ? -norm : norm;
		u[0] -= r->beside[k];
		r->factor[k] = 2 / (u[0] * u[0] + tail);
	} else {
		memset(u, 0, (size_t)rest * sizeof *u);
	}
}

static void reduce(struct reduction *r)
{
	int n = r->n, threads = omp_get_max_threads() < THREADS_MOST ? omp_get_max_threads() : THREADS_MOST;
#pragma omp parallel if (n >= PARALLEL_LEAST) num_threads(threads)
	for (int k = 0; k < n; k++) {
#pragma omp single
		begin_step(r, k);
#pragma omp for schedule(static)
		for (int i = k + 1; i < n; i++) {
			double *row = r->m + (size_t)i * n + k + 1;
			const double *u = r->m + (size_t)k * n + k + 1, *before = u - n;
			int rest = n - k - 1;
			r->product[i] = k ? update_and_multiply(row, before[i - k - 1], r->w + k + 1, r->w[i], before, u, rest) :
					    multiply(row, u, rest);
		}
	}
}

/* Scales the largest number to about 1, so that fourth powers do not overflow. The factor is a power of two, so this is
 * exact. */
static int scale(double *m, int n)
{
	double largest = 0;
	int exponent = 0;
	for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
		largest = fmax(largest, fabs(m[i]));
	if (!(largest > 0) || !isfinite(largest))
		return 0;
	frexp(largest, &exponent);
	for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
		m[i] = ldexp(m[i], -exponent);
	return exponent;
}

int sl__largest_eigen(double *m, int n, int count, double *value, double *vector)
{
	int first = n - count + 1, found = 0, info = 0, work_size = 18 * n, integers_size = 10 * n, careful = 1;
	double none = 0, *room = malloc(((size_t)6 * n + (size_t)work_size) * sizeof *room);
	double *z = malloc((size_t)n * (size_t)count * sizeof *z);
	int *integers = malloc(((size_t)integers_size + 2 * (size_t)n) * sizeof *integers);
	int rc = room && z && integers ? 0 : SL_NOMEM;
	if (rc)
		goto out;
	struct reduction r = {.m = m, .n = n, .diagonal = room, .beside = room + n, .factor = room + 2 * n,
			      .product = room + 3 * n, .w = room + 4 * n};
	double *w = room + 5 * n;
	int exponent = scale(m, n);
	reduce(&r);
	dstemr_("V", "I", &n, r.diagonal, r.beside, &none, &none, &first, &n, &found, w, z, &n, &count,
		integers + integers_size, &careful, room + 6 * n, &work_size, integers, &integers_size, &info);
	rc = info || found != count ? SL_INTERNAL : 0;
#pragma omp parallel for schedule(static)
	for (int i = 0; i < count; i++) {
		double *out = vector + (size_t)i * n;
		if (rc)
			continue;
		value[i] = ldexp(w[count - 1 - i], exponent);
		memcpy(out, z + (size_t)(count - 1 - i) * n, (size_t)n * sizeof *z);
		for (int k = n - 2; k >= 0; k--) {
			const double *u = m + (size_t)k * n + k + 1;
			subtract(out + k + 1, r.factor[k] * multiply(u, out + k + 1, n - k - 1), u, n - k - 1);
		}
	}
out:
	free(room);
	free(z);
	free(integers);
	return rc;
}
