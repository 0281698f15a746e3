/* metrics.h -- counters, gauges and histograms for /metrics, in Prometheus' text format.
 *
 * A module registers its metrics when it is created, and keeps the pointers. Names follow
 * Prometheus' conventions: prefix spaceland_, base units, _total for counters. Values may
 * be changed by any thread (they are atomic); registering and printing: loop thread. */
#ifndef SL_METRICS_H
#define SL_METRICS_H

#include <stdint.h>

struct sl_metrics;
struct sl_metric;

enum sl_metric_kind { SL_COUNTER, SL_GAUGE, SL_HISTOGRAM };

struct sl_metrics *sl_metrics_create(void);  /* NULL: no memory */
void sl_metrics_destroy(struct sl_metrics *m);

/* name, help and labels ("device=\"cpu\"" or NULL) are copied. The same name with other labels
 * belongs to the same family. Never NULL: without memory, a metric that is not printed. Owned by m. */
struct sl_metric *sl_metrics_register(struct sl_metrics *m, enum sl_metric_kind kind, const char *name,
				      const char *labels, const char *help);

/* The time of each part of a job's work. The label `phase` names the part: neighbours, affinities, iterations. */
#define SL_PHASE_SECONDS "spaceland_phase_seconds"
#define SL_PHASE_SECONDS_HELP \
	"Time of searches of neighbours, of making affinities, and of all iterations of a finished job."

/* For histograms, which take values by this function only: times from a millisecond to two hours. */
void sl_metric_observe(struct sl_metric *metric, double seconds);

void sl_metric_add(struct sl_metric *metric, double value);
void sl_metric_set(struct sl_metric *metric, double value);  /* NAN: it is not printed */

/* fn runs before each print, to bring gauges up to date. */
void sl_metrics_on_collect(struct sl_metrics *m, void (*fn)(void *arg), void *arg);

/* The page: malloc'd text, NULL when out of memory. */
char *sl_metrics_print(struct sl_metrics *m, uint64_t *bytes);

#endif
