/* Cyclic sweeps of Jacobi rotations, until what is off the diagonal is below rounding, or SWEEPS times. The order of
 * the rotations is fixed, so the result is the same everywhere. */
#include "core/init/dense.h"

#include <math.h>
#include <string.h>

#define SWEEPS 30

static void rotate(sl__small a, sl__small v, int p, int q)
{
	double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
	double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
	double c = 1 / sqrt(t * t + 1), s = t * c;
	for (int k = 0; k < SL__COLUMNS; k++) {
		double x = a[k][p], y = a[k][q];
		a[k][p] = c * x - s * y;
		a[k][q] = s * x + c * y;
	}
	for (int k = 0; k < SL__COLUMNS; k++) {
		double x = a[p][k], y = a[q][k];
		a[p][k] = c * x - s * y;
		a[q][k] = s * x + c * y;
	}
	for (int k = 0; k < SL__COLUMNS; k++) {
		double x = v[k][p], y = v[k][q];
		v[k][p] = c * x - s * y;
		v[k][q] = s * x + c * y;
	}
}

static void sort(double value[SL__COLUMNS], sl__small v)
{
	for (int i = 0; i < SL__COLUMNS; i++) {
		int best = i;
		for (int j = i + 1; j < SL__COLUMNS; j++)
			if (value[j] > value[best])
				best = j;
		double x = value[i];
		value[i] = value[best];
		value[best] = x;
		for (int k = 0; k < SL__COLUMNS; k++) {
			x = v[k][i];
			v[k][i] = v[k][best];
			v[k][best] = x;
		}
	}
}

void sl__small_eigen(sl__small a, double value[SL__COLUMNS], sl__small v)
{
	memset(v, 0, sizeof(sl__small));
	for (int i = 0; i < SL__COLUMNS; i++)
		v[i][i] = 1;
	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		double off = 0, all = 0;
		for (int i = 0; i < SL__COLUMNS; i++)
			for (int j = 0; j < SL__COLUMNS; j++) {
				all += a[i][j] * a[i][j];
				off += i == j ? 0 : a[i][j] * a[i][j];
			}
		if (off <= 1e-30 * all)
			break;
		for (int p = 0; p < SL__COLUMNS; p++)
			for (int q = p + 1; q < SL__COLUMNS; q++)
				if (fabs(a[p][q]) > 1e-300)
					rotate(a, v, p, q);
	}
	for (int i = 0; i < SL__COLUMNS; i++)
		value[i] = a[i][i];
	sort(value, v);
}
