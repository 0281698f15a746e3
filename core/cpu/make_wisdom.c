/* make_wisdom -- writes wisdom.txt, the plans that FFTW measured to be fastest for the transforms of core/cpu/plans.c.
 *
 * Plans that FFTW measures are about twice as fast as those it estimates. But measuring takes a second for each size
 * and may give another plan each time, which changes the last bits of every layout. So the plans are measured once, by
 * this program, and wisdom.txt is part of spaceland. Run it on a quiet machine:
 *   ninja -C build core/make_wisdom && build/core/make_wisdom > core/cpu/wisdom.txt */
#include <stdbool.h>
#include <stdio.h>

#include "core/cpu/cpu.h"
#include "core/params.h"

#define LONGEST 8192
#define FIXED_MAX 1024  /* largest side that is given by a job */

static bool wanted[LONGEST + 1];

static void want(int dims, int accuracy, int side, double extent)
{
	struct sl_settings s = {.dims = dims, .accuracy = accuracy, .grid_side = side, .repulsion = SL_REPULSION_GRID};
	static const uint32_t nodes[] = {1000, 20000, 1u << 31};  /* in 3-D more nodes get finer grids */
	struct sl_grid g[2];
	double cost;
	for (int at = 0; at < 3; at++) {
		int grids = sl__cpu_choose(g, &s, nodes[at], extent, 1, &cost);
		for (int k = 0; k < grids; k++)
			wanted[sl_grid_length(&g[k])] = true;
	}
}

/* Adds the grids of all layouts whose longest side is at most `units`. */
static void want_up_to(int dims, double units)
{
	for (double extent = 0.5; extent < units; extent *= 1.004)
		for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++)
			want(dims, accuracy, 0, extent);
}

/* Adds round numbers and products of 2, 3 and 5. */
static void want_fixed_sides(void)
{
	for (int side = 64; side <= FIXED_MAX; side += 8) {
		int rest = side;
		for (int prime = 2; prime <= 5; prime++)
			while (rest % prime == 0)
				rest /= prime;
		if (rest == 1 || side % 100 == 0)
			want(2, SL_NORMAL, side, side / 4.0);
	}
}

int main(void)
{
	want_up_to(2, 1400);
	want_up_to(3, 400);
	want_fixed_sides();
	for (int length = 1; length <= LONGEST; length++) {
		if (!wanted[length])
			continue;
		struct sl_transforms *t = sl__transforms_create(length, SL_LINES, FFTW_MEASURE);
		if (!t)
			return 1;
		fprintf(stderr, "length %d\n", length);
		sl__transforms_destroy(t);
	}
	fftwf_export_wisdom_to_file(stdout);
	return 0;
}
