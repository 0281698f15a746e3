/* Finds the beta of each row that gives the requested perplexity. Entropy as a function of log beta decreases from log
 * k to log(ties for the smallest distance), so there is one solution. Newton's method finds it in four or five steps.
 * If a step would leave the bracket, or is more than half as long as the step before, the bracket is halved; otherwise
 * two points could lead to each other for ever. Distances enter as l_j = -(d_j^2 - d_0^2) / (their mean), so beta is
 * near 1 for any unit. */
#include "core/graph/perplexity.h"

#include <math.h>

#include "core/graph/vector_math.h"

#define TOLERANCE 1e-6  /* on the entropy */
#define STEPS 200

struct entropy {
	double value, slope, sum;  /* H, dH / d log beta, sum_j exp(beta l_j) */
};

/* Sets weight[j] = exp(beta l_j). */
static struct entropy entropy_at(const double *l, uint32_t k, double beta, double *weight)
{
	double sum = 0, first = 0, second = 0;
	for (uint32_t j = 0; j < k; j++)
		weight[j] = beta * l[j];
	sl__exp_in_place(weight, k);
#pragma omp simd reduction(+ : sum, first, second)
	for (uint32_t j = 0; j < k; j++) {
		sum += weight[j];
		first += weight[j] * l[j];
		second += weight[j] * l[j] * l[j];
	}
	double mean = first / sum;
	/* k > 0, so the sum is not 0 */
	/* cppcheck-suppress invalidFunctionArg */
	return (struct entropy){log(sum) - beta * mean, -beta * beta * (second / sum - mean * mean), sum};
}

static void add_equal(uint32_t count, double share, double *p)
{
	for (uint32_t j = 0; j < count; j++)
		p[j] += share / count;
}

bool sl__calibrate_row(const float *distance, uint32_t k, double perplexity, double share, double *room, double *p)
{
	double *l = room, *weight = room + k, target = log(perplexity), nearest = distance[0], spread = 0;
	uint32_t ties = 0;
	for (uint32_t j = 0; j < k; j++) {
		double d = distance[j];
		l[j] = (d - nearest) * (d + nearest);
		spread += l[j];
		ties += distance[j] == distance[0];
	}
	if (k <= perplexity || ties == k) {
		add_equal(k, share, p);
		return false;
	}
	if (ties >= perplexity) {
		add_equal(ties, share, p);
		return false;
	}
	spread /= k;
	for (uint32_t j = 0; j < k; j++)
		l[j] /= -spread;

	double low = -INFINITY, high = INFINITY, x = 0, last = INFINITY;  /* bracket of log beta; the last step */
	struct entropy h = {0};
	bool found = false;
	for (int step = 0; step < STEPS && !found; step++) {
		h = entropy_at(l, k, exp(x), weight);
		found = fabs(h.value - target) <= TOLERANCE;
		if (found)
			break;
		if (h.value > target)
			low = x;
		else
			high = x;
		double next = x - (h.value - target) / h.slope;
		if (isinf(low) || isinf(high))
			next = fabs(next - x) > 4 || !(next > low && next < high) ? x + (isinf(low) ? -2 : 2) : next;
		else if (!(next > low && next < high) || fabs(next - x) > 0.5 * last)
			next = 0.5 * (low + high);
		if (next == x || fabs(next) > 600)
			break;
		last = fabs(next - x);
		x = next;
	}
	for (uint32_t j = 0; j < k; j++)
		p[j] += share * weight[j] / h.sum;
	return found;
}
