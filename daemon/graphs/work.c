/* Counts the work of a store in the pool and in the data base. When a store that closes has none left, idle() frees
 * it. */
#include "daemon/graphs/graphs_internal.h"

void sl__graphs_work_begin(struct sl_graphs *s)
{
	s->active++;
}

void sl__graphs_work_end(struct sl_graphs *s)
{
	if (--s->active == 0 && s->closing && !s->ready.count)
		s->idle(s);
}
