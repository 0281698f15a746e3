/* fault.h -- an engine that fails on request, for tests of the code that uses engines.
 *
 * SPACELAND_FAULT in the environment, words separated by commas:
 *
 *   lost=K     the K-th run of iterations in this process loses the device (SL_DEVLOST): all calls fail until it is
 *              opened again
 *   open=N     after that it does not open N times (SL_NODEVICE)
 *   stuck      after that this process cannot open it at all (SL_DEVLOST), only a new one can
 *   hang=K     the K-th run of iterations never returns
 *   graphs=N   no more than N graphs fit on the device (SL_DEVMEM)
 *
 * The engine that is opened first fails, the others of the program do not.
 * Nothing of this happens again in a program that started itself anew because of it (SPACELAND_RESTARTED). Without the
 * variable the engine is returned as it is. */
#ifndef SL_ENGINE_FAULT_H
#define SL_ENGINE_FAULT_H

#include "core/engine/engine.h"

/* Set in the environment, to the time in seconds since 1970, by a program that starts itself anew. */
#define SL_RESTARTED "SPACELAND_RESTARTED"

const struct sl_engine *sl__engine_with_faults(const struct sl_engine *engine);

#endif
