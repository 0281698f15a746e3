#include "core/graph/vector_math.h"

#include <math.h>

void sl__log_float(const float *w, uint64_t k, double *l)
{
	for (uint64_t i = 0; i < k; i++)
		l[i] = log(w[i]);
}

void sl__sum_exp(const double *l, uint64_t k, double gamma, double *sum, double *slope)
{
	double s = 0, d = 0;
	for (uint64_t i = 0; i < k; i++) {
		double e = exp(gamma * l[i]);
		s += e;
		d += l[i] * e;
	}
	*sum = s;
	*slope = d;
}

void sl__exp_in_place(double *x, uint64_t k)
{
	for (uint64_t i = 0; i < k; i++)
		x[i] = exp(x[i]);
}

double sl__sum_p_log_p(const float *p, uint64_t k)
{
	double s = 0;
	for (uint64_t i = 0; i < k; i++)
		s += (double)p[i] * log(p[i]);
	return s;
}
