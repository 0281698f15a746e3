/* load.h -- an engine by its name.
 *
 * The CPU engine is part of the program. The CUDA engines are a plug-in (spaceland-cuda.so), which is loaded when a
 * caller opens one of them. The plug-in is searched in the folders of $SPACELAND_PLUGINS (separated by colons), then in
 * ../lib/spaceland relative to the program's folder, in the program's build tree if it has one, and in the folder of
 * the installation. It stays loaded until the program ends. Thread-safe. */
#ifndef SL_ENGINE_LOAD_H
#define SL_ENGINE_LOAD_H

#include "core/engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The engines, a line for each, the preferred ones first: the name that users know, and the function that returns it,
 * HERE in this program, IN_PLUGIN, or ON_SERVERS only (daemon/slurm/). Configuration, client, server and their messages
 * read this list. */
#define SL_ENGINES(X, LAST) \
	X("cuda", IN_PLUGIN, sl_engine_cuda) \
	X("hybrid", IN_PLUGIN, sl_engine_hybrid) \
	X("hybrid-double", IN_PLUGIN, sl_engine_hybrid_double) \
	X(SL_ENGINE_SLURM, ON_SERVERS, none) \
	LAST("cpu", HERE, sl_engine_cpu)

#define SL__ENGINE_ONE(name, place, function) 1 +
#define SL__ENGINE_LAST_ONE(name, place, function) 1
#define SL__ENGINE_COMMA(name, place, function) ", " name
#define SL__ENGINE_OR(name, place, function) " or " name

#define SL_ENGINE_AUTO "auto"
#define SL_ENGINE_SLURM "slurm"  /* a server's: workers in allocations of a cluster */
#define SL_ENGINES_COUNT (SL_ENGINES(SL__ENGINE_ONE, SL__ENGINE_LAST_ONE))
#define SL_ENGINES_TEXT SL_ENGINE_AUTO SL_ENGINES(SL__ENGINE_COMMA, SL__ENGINE_OR)  /* "auto, cuda, ... or cpu" */

/* "auto", then the engines; NULL-terminated. */
extern const char *const sl_engine_words[SL_ENGINES_COUNT + 2];
/* The one of sl_engine_words that equals text; NULL: none, or text is NULL. */
const char *sl_engine_word(const char *text);

/* Finds an engine that has a usable device. name: "cpu"; "cuda"; "hybrid", which is cuda with the attraction on the CPU
 * and P in host memory; "hybrid-double", the same with the attraction in double precision; or "auto": cuda if the
 * plug-in loads and finds a usable GPU, else cpu. "slurm" is not found: servers alone have it. Returns 0, SL_NODEVICE
 * or SL_BADPARAM. If auto selects cpu, reason says why and its code is SL_NODEVICE; after all other successes its code
 * is SL_OK. */
int sl_engine_open(const char *name, const struct sl_engine **out, struct sl_error *reason);
/* Finds an engine even if it has no usable device now, because a lost device may come back. Not for "auto". */
int sl_engine_load(const char *name, const struct sl_engine **out, struct sl_error *reason);
/* The number of devices that the engine might open, with indices from 0: the GPUs of this machine, usable or not; 1 for
 * cpu; 0 without a plug-in, and for slurm. Not for "auto". */
int sl_engine_devices(const char *name);

#ifdef __cplusplus
}
#endif
#endif
