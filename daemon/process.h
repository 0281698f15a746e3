/* process.h -- the usual Prometheus metrics of a process: memory, descriptors, processor time, start. */
#ifndef SL_PROCESS_H
#define SL_PROCESS_H

struct sl_metrics;

void sl_process_metrics(struct sl_metrics *m);  /* once; loop thread */

#endif
