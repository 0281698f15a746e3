/* sammon_pairs.c -- the sums over pairs of sammon_reference.py, in plain double precision, so that 10,000 points and
 * more take seconds. sammon_reference.py loads this library if it is built. It has no code of spaceland. */
#include <math.h>

/* inverse [n][n]: 1 / distance, 0: no pair; y [n][2]; first, second [n][2]: what Reference.all() returns.
 * Returns the sum over pairs, each once, of d^2 / D - 2 d. */
__attribute__((visibility("default")))
double sammon_pairs(long n, const double *inverse, const double *y, double *first, double *second);

double sammon_pairs(long n, const double *inverse, const double *y, double *first, double *second)
{
	double stress = 0;
#pragma omp parallel for reduction(+ : stress) schedule(dynamic, 16)
	for (long i = 0; i < n; i++) {
		const double *row = inverse + i * n, a = y[2 * i], b = y[2 * i + 1];
		double share = 0, fa = 0, fb = 0, sa = 0, sb = 0;
#pragma omp simd reduction(+ : share, fa, fb, sa, sb)
		for (long j = 0; j < n; j++) {
			double w = row[j], p = a - y[2 * j], q = b - y[2 * j + 1], square = p * p + q * q, d = sqrt(square);
			double pair = w > 0 ? 1 : 0, k = square > 0 ? pair / d : 0, cube = k * k * k, force = k - w;
			share += pair * (w * square - 2 * d);
			fa += force * p;
			fb += force * q;
			sa += force - cube * p * p;
			sb += force - cube * q * q;
		}
		stress += share;
		first[2 * i] = fa;
		first[2 * i + 1] = fb;
		second[2 * i] = sa;
		second[2 * i + 1] = sb;
	}
	return stress / 2;
}
