/* make_wisdom -- writes wisdom.txt: FFTW's findings about the transforms of core/cpu/plans.c.
 *
 * Plans that FFTW measures are about twice as fast as those it estimates, but measuring takes
 * a second a size and may turn out differently each time, and with it the last bits of every
 * layout. So it is done once, here, and its outcome is part of the program. Run on a quiet machine:
 *   ninja -C build core/make_wisdom && build/core/make_wisdom > core/cpu/wisdom.txt */
#include <stdio.h>
#include <stdlib.h>

#include "core/cpu/cpu.h"

int main(void)
{
	for (int dims = 2; dims <= 3; dims++) {
		int before = 0;
		for (double extent = 1; before < (dims == 2 ? 4096 : 320); extent *= 1.004) {
			struct sl_grid g;
			sl_grid_choose(&g, dims, SL_DRAFT, 0, extent);
			if (g.side == before)
				continue;
			before = g.side;
			struct sl_transforms *t = sl__transforms_create(g.side, SL_LINES, FFTW_MEASURE);
			if (!t)
				return 1;
			fprintf(stderr, "%d-D, side %d\n", dims, g.side);
			sl__transforms_destroy(t);
		}
	}
	fftwf_export_wisdom_to_file(stdout);
	return 0;
}
