/* The operations for methods beside t-SNE: a line for each. */
#include <stddef.h>

#include "core/gmm/passes.h"
#include "core/kmeans/passes.h"
#include "core/sammon/passes.h"
#include "core/signal/passes.h"
#include "gpu/engine/engine.h"
#include "gpu/gmm/gmm.h"
#include "gpu/kmeans/kmeans.h"
#include "gpu/sammon/sammon.h"
#include "gpu/signal/signal.h"

const struct sl_operation sl__operations[] = {
	SL_OPERATION(SL_KMEANS_PASSES, sl_kmeans_open, sl__kmeans_passes),
	SL_OPERATION(SL_GMM_PASSES, sl_gmm_open, sl__gmm_passes),
	SL_OPERATION(SL_SAMMON_PASSES, sl_sammon_open, sl__sammon_passes),
	SL_OPERATION(SL_SIGNAL_PASSES, sl_signal_open, sl__signal_passes),
	{NULL, NULL},
};
