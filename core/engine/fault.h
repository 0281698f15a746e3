/* fault.h -- an engine that fails on request, for tests of the code that uses engines.
 *
 * The environment variable SPACELAND_FAULT holds words separated by commas:
 *
 *   lost=K     the K-th run of iterations in this process loses the device (SL_DEVLOST): all calls fail until the
 *              device is opened again
 *   again=K    after that, each K-th run does
 *   again=K    after that, each K-th run does
 *   file=PATH  a run of iterations removes this file, if it is there, and loses the device
 *   open=N     opening the lost device fails N times (SL_NODEVICE)
 *   stuck      this process cannot open the lost device again (SL_DEVLOST); a new process can
 *   hang=K     the K-th run of iterations never returns
 *   graphs=N   no more than N graphs fit on the device (SL_DEVMEM)
 *
 * Only the first engine that the program opens fails. A process that replaces one whose device failed sees no further
 * faults but those of file=. Without the variable sl__engine_with_faults() returns its argument. */
#ifndef SL_ENGINE_FAULT_H
#define SL_ENGINE_FAULT_H

#include "core/engine/engine.h"

/* A program that executes itself again sets this environment variable to the time in seconds since 1970. */
#define SL_RESTARTED "SPACELAND_RESTARTED"

/* again: the process replaces one whose device failed. */
const struct sl_engine *sl__engine_with_faults(const struct sl_engine *engine, bool again);

#endif
