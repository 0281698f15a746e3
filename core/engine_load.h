/* engine_load.h -- an engine by its name.
 *
 * The CPU engine is part of the program; the CUDA engine is a plug-in (spaceland-cuda.so) that is
 * opened when it is asked for. It is looked for in the folders of $SPACELAND_PLUGINS (separated by colons), then in
 * ../lib/spaceland beside the program's own folder, in the build tree that the program may lie in, and where
 * it is installed. A plug-in stays open until the program ends. Thread-safe. */
#ifndef SL_ENGINE_LOAD_H
#define SL_ENGINE_LOAD_H

#include "core/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name: "cpu"; "cuda"; "hybrid", which is cuda with the attraction on the CPU, and P in host memory; "hybrid-double",
 * the same with the attraction in double precision; or "auto": cuda when the plug-in opens and finds a usable GPU,
 * else cpu. Returns 0 or SL_NODEVICE, SL_BADPARAM. When auto falls back to cpu, reason says why (its code is
 * SL_NODEVICE), in all other successes its code is SL_OK. */
int sl_engine_open(const char *name, const struct sl_engine **out, struct sl_error *reason);
/* The engine, whether there is a device for it now or not: one that was there may come back. Not for auto. */
int sl_engine_load(const char *name, const struct sl_engine **out, struct sl_error *reason);
/* How many devices it might open, indices from 0 on: the GPUs of this machine, usable or not; 1 for cpu; 0: none, or
 * no plug-in. Not for auto. */
int sl_engine_devices(const char *name);

#ifdef __cplusplus
}
#endif
#endif
