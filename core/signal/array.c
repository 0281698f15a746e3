/* Arrays of one number for each node, and sums over nodes. Sums are added block by block in their order, so that they
 * do not depend on the number of threads. */
#include <stdlib.h>

#include "core/signal/signal_internal.h"

double *sl__signal_array(const struct sl_signal *s)
{
	return calloc((size_t)s->n + 1, sizeof(double));
}

double sl__signal_total(const struct sl_signal *s, int which)
{
	double sum = 0;
	for (uint32_t b = 0; b < s->c->blocks; b++)
		sum += s->sum[which][b];
	return sum;
}
