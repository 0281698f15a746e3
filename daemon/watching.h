/* watching.h -- metrics of the server as a whole: whether it is ready, its disk, its people, its version. */
#ifndef SL_WATCHING_H
#define SL_WATCHING_H

struct sl_daemon;

void sl_watching_metrics(struct sl_daemon *d);

#endif
