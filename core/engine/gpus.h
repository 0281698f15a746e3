/* gpus.h -- how many GPUs should compute a layout together. */
#ifndef SL_ENGINE_GPUS_H
#define SL_ENGINE_GPUS_H

#include "core/engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forecasts the seconds of an iteration on so many GPUs, each of them with its share of P and the nodes, from the
 * engine's forecast for one and the time of what they exchange. */
double sl_engine_iteration_on(const struct sl_engine *engine, const struct sl_settings *s, uint32_t n, uint64_t entries,
			      int gpus);
/* Bytes of memory that a layout takes on each of so many GPUs: the embedding, which has all nodes on each, and a
 * share of P. Grids and plans come on top. */
uint64_t sl_engine_bytes_on(const struct sl_engine *engine, const struct sl_settings *s, uint32_t n, uint64_t entries,
			    int gpus);
/* The number of GPUs, 1 .. most, for a run of so many iterations: the fewest that have enough memory (`memory`:
 * bytes of one, 0: unknown); and more if they save more time than they take to start. start_s: 0 if they are open
 * anyway. */
int sl_engine_gpus(const struct sl_engine *engine, const struct sl_settings *s, uint32_t n, uint64_t entries,
		   int iterations, int most, uint64_t memory, double start_s);

#ifdef __cplusplus
}
#endif
#endif
