/* health.h -- whether the server accepts work. */
#ifndef SL_ROUTES_HEALTH_H
#define SL_ROUTES_HEALTH_H

#include "core/error.h"

struct sl_daemon;

#define SL_NOT_NOW 1
/* 0: it is ready. Otherwise SL_DISKFULL, SL_READONLY or SL_NOT_NOW (it starts, stops or is drained), and err->detail
 * says why. Asks the disk. */
int sl_health(const struct sl_daemon *d, struct sl_error *err);

#endif
