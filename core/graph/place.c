/* Places isolated nodes. They have no position of their own, so they are spread evenly outside the layout, at about its
 * density.
 *
 *   2-D  in a ring from RING times the layout's radius outwards, at multiples of the golden angle, with
 *        equal areas (Vogel 1979, the sunflower's arrangement)
 *   3-D  in a shell, with directions along the Fibonacci spiral and radii by the cube root
 *   1-D  at both ends, alternating, at equal distances
 *
 * The density is that of the embedded nodes in the disc (ball, segment) that contains them. So the ratio of the areas
 * of ring and disc is that of isolated to embedded nodes: 92,000 isolated and 228,000 embedded nodes make a ring whose
 * width is 19 % of the radius. The ring's outer radius is at most MAX_SPREAD times the inner one; if nearly all nodes
 * are isolated, the ring is denser instead. Without embedded nodes the arrangement starts at the origin, with a density
 * of one node per unit. */
#include "core/graph/affinities.h"

#include <math.h>
#include <string.h>

#define RING 1.06        /* inner radius, relative to the layout's */
#define MAX_SPREAD 2.0   /* largest outer radius, relative to the inner one */
#define GOLDEN_ANGLE 2.399963229728653
#define GOLDEN_RATIO 1.618033988749895

struct circle {
	double centre[3];
	double inner, outer;  /* radii of the ring */
};

static double power(double x, int dims)
{
	return dims == 1 ? x : dims == 2 ? x * x : x * x * x;
}

static double root(double x, int dims)
{
	return dims == 1 ? x : dims == 2 ? sqrt(x) : cbrt(x);
}

/* volume of the unit segment, disc, ball */
static double unit_volume(int dims)
{
	return dims == 1 ? 2 : dims == 2 ? M_PI : 4 * M_PI / 3;
}

static struct circle find_circle(const float *y, uint32_t n, uint32_t isolated, int dims)
{
	struct circle c = {{0, 0, 0}, 0, 0};
	double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, largest = 0;
	for (uint32_t i = 0; i < n; i++)
		for (int d = 0; d < dims; d++) {
			double v = y[(size_t)i * (size_t)dims + (size_t)d];
			if (!isfinite(v))
				continue;  /* the layout has diverged */
			low[d] = v < low[d] ? v : low[d];
			high[d] = v > high[d] ? v : high[d];
		}
	for (int d = 0; d < dims; d++)
		c.centre[d] = low[d] <= high[d] ? 0.5 * (low[d] + high[d]) : 0;
	for (uint32_t i = 0; i < n; i++) {
		double square = 0;
		for (int d = 0; d < dims; d++) {
			double v = y[(size_t)i * (size_t)dims + (size_t)d] - c.centre[d];
			square += v * v;
		}
		if (square > largest && isfinite(square))
			largest = square;
	}
	double radius = sqrt(largest);
	if (!n) {
		c.outer = root(isolated / unit_volume(dims), dims);
		return c;
	}
	/* all nodes at one position: any radius works that is not lost in rounding */
	double least = 1e-5 * (fabs(c.centre[0]) + fabs(c.centre[1]) + fabs(c.centre[2]));
	radius = radius > least ? radius : least > 0 ? least : 1e-4;
	c.inner = RING * radius;
	c.outer = root(power(c.inner, dims) + power(radius, dims) * isolated / n, dims);
	c.outer = c.outer < MAX_SPREAD * c.inner ? c.outer : MAX_SPREAD * c.inner;
	return c;
}

/* Places isolated node k of count. */
static void place(const struct circle *c, uint32_t k, uint32_t count, int dims, float *y)
{
	double share = (k + 0.5) / count;
	double r = root(power(c->inner, dims) + share * (power(c->outer, dims) - power(c->inner, dims)), dims);
	if (dims == 1) {
		y[0] = (float)(c->centre[0] + (k % 2 ? -r : r));
		return;
	}
	if (dims == 2) {
		y[0] = (float)(c->centre[0] + r * cos(k * GOLDEN_ANGLE));
		y[1] = (float)(c->centre[1] + r * sin(k * GOLDEN_ANGLE));
		return;
	}
	/* another irrational stride, so that height and radius are independent */
	double turn = fmod(k * GOLDEN_RATIO, 1.0), height = 2 * fmod((k + 0.5) * M_SQRT2, 1.0) - 1;
	double flat = sqrt(1 - height * height);
	y[0] = (float)(c->centre[0] + r * flat * cos(2 * M_PI * turn));
	y[1] = (float)(c->centre[1] + r * flat * sin(2 * M_PI * turn));
	y[2] = (float)(c->centre[2] + r * height);
}

/* A NaN that no computation produces marks the positions of nodes that are not embedded. */
#define VACANT 0x7fc51a5eu

static void set_vacant(float *x)
{
	uint32_t bits = VACANT;
	memcpy(x, &bits, sizeof bits);
}

static bool is_vacant(const float *x)
{
	uint32_t bits;
	memcpy(&bits, x, sizeof bits);
	return bits == VACANT;
}

void sl_affinities_expand(const struct sl_affinities *a, int dims, const float *y, float *out)
{
	uint32_t isolated = a->n_user - a->n, k = 0;
	for (uint32_t i = 0; isolated && i < a->n_user; i++)
		set_vacant(&out[(size_t)i * (size_t)dims]);
	for (uint32_t i = 0; i < a->n; i++)
		memcpy(out + (size_t)a->user[i] * (size_t)dims, y + (size_t)i * (size_t)dims,
		       (size_t)dims * sizeof *y);
	if (!isolated)
		return;
	if (a->n_user == 1) {
		memset(out, 0, (size_t)dims * sizeof *out);
		return;
	}
	struct circle c = find_circle(y, a->n, isolated, dims);
	for (uint32_t i = 0; i < a->n_user; i++)
		if (is_vacant(&out[(size_t)i * (size_t)dims]))
			place(&c, k++, isolated, dims, out + (size_t)i * (size_t)dims);
}
