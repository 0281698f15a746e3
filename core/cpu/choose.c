/* What an iteration's repulsion is computed on. The choice depends on the layout alone, not on the machine, so that the
 * same job gives the same bytes everywhere. */
#include "core/cpu/cpu.h"

#include <math.h>

/* Nanoseconds of one core with AVX-512, by measurement: a pair; a point spread and read back; a node of a padded grid
 * and of the fine one of two, whose coarse grid is in the price. */
#define PAIR 0.22
static const double point[4] = {0, 25, 40, 85};
static const double padded_node[4] = {0, 40, 22, 36};
static const double fine_node[4] = {0, 0, 11, 12};
/* So many pairs of the common kernel take the time of one of another. */
#define HEAVY 5

/* Two grids leave less of a given side to points: not where that costs more than a step of spacings. */
static bool two_are_better(const struct sl_grid *fine, const struct sl_grid *one, const struct sl_settings *s)
{
	if (s->grid_side)
		return fine->h < 1.1 * one->h;
	return fine_node[s->dims] * pow(fine->side, s->dims) < padded_node[s->dims] * pow(one->side, s->dims) ||
	       one->h > sl_grid_spacing(s->dims, s->accuracy);  /* it was to be larger */
}

int sl__cpu_choose(struct sl_grid out[2], const struct sl_settings *s, uint32_t n, double extent, double nu)
{
	struct sl_grid one;
	if (s->repulsion == SL_REPULSION_EXACT)
		return 0;
	sl_grid_choose_kernel(&one, s->dims, s->accuracy, s->grid_side, extent, nu);
	bool two = sl_grid_choose_two(&out[0], &out[1], s->dims, s->accuracy, s->grid_side, extent, nu) &&
		   two_are_better(&out[0], &one, s);
	if (two)
		out[1].through = out[0].h;
	else
		out[0] = one;
	double cost = (two ? fine_node : padded_node)[s->dims] * pow(out[0].side, s->dims) + point[s->dims] * n;
	return s->repulsion == SL_REPULSION_AUTO && (nu == 1 ? 1 : HEAVY) * PAIR * n * n < cost ? 0 : two ? 2 : 1;
}
