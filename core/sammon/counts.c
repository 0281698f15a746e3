/* How many pivots or partners a node has, by the parameters and the number of nodes. */
#include "core/sammon/sammon_internal.h"

uint32_t sl_sammon_pivots(const struct sl_sammon_params *params, uint32_t n)
{
	uint32_t wanted = params->pivots ? (uint32_t)params->pivots : n <= SL_SAMMON_ALL ? n : SL_SAMMON_PIVOTS;
	return wanted < n ? wanted : n;
}

uint32_t sl_sammon_partners(const struct sl_sammon_params *params, uint32_t n)
{
	if (params->partners)
		return (uint32_t)params->partners < n ? (uint32_t)params->partners : n;
	return n <= SL_SAMMON_EXACT ? n : SL_SAMMON_PARTNERS;
}
