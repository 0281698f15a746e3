/* Whether reading goes on: it may be cancelled, and what is decompressed must not be many times what is stored. */
#include "core/formats/source/source_internal.h"

#define RATIO_FROM ((uint64_t)64 << 20)  /* checked beyond so many bytes */
#define RATIO_MAX 256u             /* largest ratio of decompressed to compressed bytes */

int sl__source_check(const struct sl_source *s, struct sl_error *err)
{
	if (s->cancel && __atomic_load_n(s->cancel, __ATOMIC_RELAXED))
		return sl_error_at(err, SL_CANCELLED, s->name, 0, "Reading was cancelled.");
	return 0;
}

int sl__source_check_ratio(const struct sl_source *s, uint64_t stored, uint64_t unfolded, struct sl_error *err)
{
	if (!s->account || unfolded <= RATIO_FROM || unfolded / RATIO_MAX <= stored)
		return 0;
	return sl_error_at(err, SL_TOOBIG, s->name, 0, "The file decompresses to more than %u times its size; if this "
			   "is intended, send it uncompressed.", RATIO_MAX);
}
