/* gpus.h -- how many GPUs should compute a layout together. */
#ifndef SL_ENGINE_GPUS_H
#define SL_ENGINE_GPUS_H

#include "core/engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of GPUs, 1 .. most, for a run of so many iterations: the fewest that have enough memory (`memory`:
 * bytes of one, 0: unknown); and more if they save more time than they take to start. start_s: 0 if they are open
 * anyway. */
int sl_engine_gpus(const struct sl_engine *engine, const struct sl_settings *s, uint32_t n, uint64_t entries,
		   int iterations, int most, uint64_t memory, double start_s);

#ifdef __cplusplus
}
#endif
#endif
