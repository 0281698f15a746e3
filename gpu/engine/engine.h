/* engine.h -- the engines of this plug-in, which core/engine/load.c looks up by these names. */
#ifndef SL_GPU_ENGINE_H
#define SL_GPU_ENGINE_H

#include "core/engine/engine.h"

#define SL_PLUGIN_EXPORT __attribute__((visibility("default")))

SL_PLUGIN_EXPORT const struct sl_engine *sl_engine_cuda(void);
SL_PLUGIN_EXPORT const struct sl_engine *sl_engine_hybrid(void);
SL_PLUGIN_EXPORT const struct sl_engine *sl_engine_hybrid_double(void);  /* attraction in double precision */

/* The operations of all of them (operations.c). */
extern const struct sl_operation sl__operations[];

#endif
