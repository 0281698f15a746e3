/* Metrics. Families are in the order of their first registration, members of a family next to each other, as the text
 * format requires. A value is a double in an atomic 64-bit word; a histogram's value is its sum, and each bucket is a
 * count. */
#include "daemon/util/metrics.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Upper ends of the buckets in seconds; a last bucket without an upper end follows. */
static const double times[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
			       1, 2.5, 5, 10, 30, 60, 300, 1800, 7200};
#define TIMES (sizeof times / sizeof *times)

struct sl_metric {
	struct sl_metric *next;
	enum sl_metric_kind kind;
	char *name, *labels, *help;
	_Atomic double value;
	_Atomic uint64_t *bucket;  /* TIMES + 1 of a histogram, else NULL */
};

struct collector {
	struct collector *next;
	void (*fn)(void *arg);
	void *arg;
};

struct sl_metrics {
	struct sl_metric *first;
	struct collector *collectors;
	struct sl_metric nobody;  /* returned when memory runs out; never printed */
};

struct sl_metrics *sl_metrics_create(void)
{
	return calloc(1, sizeof(struct sl_metrics));
}

static void metric_free(struct sl_metric *metric)
{
	free(metric->name);
	free(metric->labels);
	free(metric->help);
	free(metric->bucket);
	free(metric);
}

void sl_metrics_destroy(struct sl_metrics *m)
{
	if (!m)
		return;
	for (struct sl_metric *metric = m->first, *next; metric; metric = next) {
		next = metric->next;
		metric_free(metric);
	}
	for (struct collector *c = m->collectors, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(m);
}

struct sl_metric *sl_metrics_register(struct sl_metrics *m, enum sl_metric_kind kind, const char *name,
				      const char *labels, const char *help)
{
	struct sl_metric *metric = calloc(1, sizeof *metric);
	if (!metric)
		return &m->nobody;
	metric->kind = kind;
	metric->name = strdup(name);
	metric->labels = strdup(labels ? labels : "");
	metric->help = strdup(help);
	if (kind == SL_HISTOGRAM)
		metric->bucket = calloc(TIMES + 1, sizeof *metric->bucket);
	if (!metric->name || !metric->labels || !metric->help || (kind == SL_HISTOGRAM && !metric->bucket)) {
		metric_free(metric);
		return &m->nobody;
	}
	/* after the last of the same family, or at the end */
	struct sl_metric **end = &m->first, **family = NULL;
	for (; *end; end = &(*end)->next)
		if (!strcmp((*end)->name, name))
			family = &(*end)->next;
	struct sl_metric **at = family ? family : end;
	metric->next = *at;
	*at = metric;
	return metric;
}

void sl_metric_observe(struct sl_metric *metric, double seconds)
{
	size_t i = 0;
	if (!metric->bucket || !isfinite(seconds))
		return;
	while (i < TIMES && seconds > times[i])
		i++;
	atomic_fetch_add_explicit(&metric->bucket[i], 1, memory_order_relaxed);
	sl_metric_add(metric, fmax(seconds, 0));
}

void sl_metric_add(struct sl_metric *metric, double value)
{
	double old = atomic_load_explicit(&metric->value, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&metric->value, &old, old + value))
		;
}

void sl_metric_set(struct sl_metric *metric, double value)
{
	atomic_store(&metric->value, value);
}

void sl_metrics_on_collect(struct sl_metrics *m, void (*fn)(void *arg), void *arg)
{
	struct collector *c = malloc(sizeof *c);
	if (!c)
		return;
	*c = (struct collector){m->collectors, fn, arg};
	m->collectors = c;
}

static void print_histogram(FILE *out, const struct sl_metric *metric)
{
	uint64_t sum = 0;
	const char *comma = metric->labels[0] ? "," : "";
	for (size_t i = 0; i <= TIMES; i++) {
		char end[32] = "+Inf";
		if (i < TIMES)
			snprintf(end, sizeof end, "%g", times[i]);
		sum += atomic_load_explicit(&metric->bucket[i], memory_order_relaxed);
		fprintf(out, "%s_bucket{%s%sle=\"%s\"} %llu\n", metric->name, metric->labels, comma, end,
			(unsigned long long)sum);
	}
	const char *open = metric->labels[0] ? "{" : "", *close = metric->labels[0] ? "}" : "";
	fprintf(out, "%s_sum%s%s%s %.9g\n%s_count%s%s%s %llu\n", metric->name, open, metric->labels, close,
		atomic_load(&metric->value), metric->name, open, metric->labels, close, (unsigned long long)sum);
}

char *sl_metrics_print(struct sl_metrics *m, uint64_t *bytes)
{
	for (struct collector *c = m->collectors; c; c = c->next)
		c->fn(c->arg);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	static const char *const kinds[] = {"counter", "gauge", "histogram"};
	const char *family = "";
	for (struct sl_metric *metric = m->first; metric; metric = metric->next) {
		if (isnan(atomic_load(&metric->value)))
			continue;
		if (strcmp(family, metric->name))
			fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
				kinds[metric->kind]);
		family = metric->name;
		if (metric->kind == SL_HISTOGRAM) {
			print_histogram(out, metric);
			continue;
		}
		double value = atomic_load(&metric->value);
		if (metric->labels[0])
			fprintf(out, "%s{%s} ", metric->name, metric->labels);
		else
			fprintf(out, "%s ", metric->name);
		if (value == floor(value) && fabs(value) < 1e15)
			fprintf(out, "%.0f\n", value);
		else
			fprintf(out, "%.9g\n", value);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	*bytes = size;
	return text;
}
