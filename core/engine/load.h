/* load.h -- an engine by its name.
 *
 * The CPU engine is part of the program; the CUDA engine is a plug-in (spaceland-cuda.so) that is
 * opened when it is asked for. It is looked for in the folders of $SPACELAND_PLUGINS (separated by colons), then in
 * ../lib/spaceland beside the program's own folder, in the build tree that the program may lie in, and where
 * it is installed. A plug-in stays open until the program ends. Thread-safe. */
#ifndef SL_ENGINE_LOAD_H
#define SL_ENGINE_LOAD_H

#include "core/engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The engines, as users name them, in the order in which they are preferred. Configuration, client, server and their
 * messages read this list; what a name stands for is in load.c. */
#define SL_ENGINES(X, LAST) X("cuda") X("hybrid") X("hybrid-double") LAST("cpu")

#define SL__ENGINE_ONE(name) 1 +
#define SL__ENGINE_LAST_ONE(name) 1
#define SL__ENGINE_COMMA(name) ", " name
#define SL__ENGINE_OR(name) " or " name

#define SL_ENGINE_AUTO "auto"
#define SL_ENGINES_COUNT (SL_ENGINES(SL__ENGINE_ONE, SL__ENGINE_LAST_ONE))
#define SL_ENGINES_TEXT SL_ENGINE_AUTO SL_ENGINES(SL__ENGINE_COMMA, SL__ENGINE_OR)  /* "auto, cuda, ... or cpu" */

/* "auto", then the engines; NULL-terminated. */
extern const char *const sl_engine_words[SL_ENGINES_COUNT + 2];
/* The one of sl_engine_words that equals text; NULL: none, or text is NULL. */
const char *sl_engine_word(const char *text);

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
