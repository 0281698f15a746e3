/* The first GREEDY balls are placed one by one: in each of DIRECTIONS directions at the nearest distance from the
 * middle at which the ball touches none before it, and of these positions at the nearest. */
#include "core/init/pack.h"

#include <math.h>
#include <string.h>

#define GREEDY 256      /* balls that are placed one by one */
#define DIRECTIONS 24   /* directions tried for each of these */
#define LOOSE 1.4       /* space for a small ball, relative to its volume */
#define GOLDEN 2.399963229728653

/* Direction number i of a sequence that spreads evenly for any length. */
static void direction(int dims, uint32_t i, double out[3])
{
	memset(out, 0, 3 * sizeof *out);
	if (dims == 1) {
		out[0] = i % 2 ? -1 : 1;
	} else if (dims == 2) {
		out[0] = cos(GOLDEN * i);
		out[1] = sin(GOLDEN * i);
	} else {
		double z = 2 * fmod(0.5 + 0.6180339887498949 * i, 1) - 1, r = sqrt(1 - z * z);
		out[0] = r * cos(GOLDEN * i);
		out[1] = r * sin(GOLDEN * i);
		out[2] = z;
	}
}

static double radius(int dims, double volume)
{
	return dims == 1 ? volume : dims == 2 ? sqrt(volume) : cbrt(volume);
}

/* The distance along `u` at which ball i touches none of those before it. */
static double clearance(int dims, uint32_t i, const double *volume, const double *centre, const double u[3])
{
	double r = 0, own_radius = radius(dims, volume[i]);
	for (uint32_t j = 0; j < i; j++) {
		double along = 0, square = 0, gap = own_radius + radius(dims, volume[j]);
		for (int k = 0; k < dims; k++) {
			double x = centre[j * (uint32_t)dims + (uint32_t)k];
			along += u[k] * x;
			square += x * x;
		}
		double inside = along * along - square + gap * gap;
		if (inside > 0 && along + sqrt(inside) > r)
			r = along + sqrt(inside);
	}
	return r;
}

static double place(int dims, uint32_t i, const double *volume, double *centre)
{
	double best = INFINITY, best_u[3] = {0};
	for (uint32_t t = 0; t < (dims == 1 ? 2 : DIRECTIONS) && i; t++) {
		double u[3];
		direction(dims, i * DIRECTIONS + t, u);
		double r = clearance(dims, i, volume, centre, u);
		if (r < best) {
			best = r;
			memcpy(best_u, u, sizeof u);
		}
	}
	for (int k = 0; k < dims; k++)
		centre[i * (uint32_t)dims + (uint32_t)k] = i ? best * best_u[k] : 0;
	return (i ? best : 0) + radius(dims, volume[i]);
}

void sl__pack(int dims, uint32_t count, const double *volume, double *centre)
{
	double reach = 0;
	uint32_t i = 0;
	for (; i < count && i < GREEDY; i++)
		reach = fmax(reach, place(dims, i, volume, centre));
	double filled = pow(reach, dims);
	for (; i < count; i++) {
		double u[3], r = radius(dims, filled + 0.5 * LOOSE * volume[i]);
		direction(dims, i, u);
		for (int k = 0; k < dims; k++)
			centre[i * (uint32_t)dims + (uint32_t)k] = r * u[k];
		filled += LOOSE * volume[i];
	}
}
