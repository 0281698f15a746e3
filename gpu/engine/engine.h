/* engine.h -- the engines of this plug-in, which core/engine/load.c looks up by these names. */
#ifndef SL_GPU_ENGINE_H
#define SL_GPU_ENGINE_H

#include "core/engine/engine.h"

__attribute__((visibility("default"))) const struct sl_engine *sl_engine_cuda(void);
/* doubles: attraction in double precision. */
__attribute__((visibility("default"))) const struct sl_engine *sl_engine_hybrid(int doubles);

/* The operations of all of them (operations.c). */
extern const struct sl_operation sl__operations[];

#endif
