/* bench.h -- the measurements of `spaceland bench`, and their output.
 *
 *   commands/bench.c    options; the graph; the order of measurements
 *   run.c               whole runs of a job, one after the other
 *   report.c            tables, JSON
 *
 * All times are wall-clock seconds. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "clients/cli/local/local.h"

#define BENCH_WINDOW 50  /* iterations in a timed stretch */

struct bench_spread { double median, min, max; };  /* NAN: not measured */

/* One run of the job, from the initial layout to the end. */
struct bench_job {
	double create_s;             /* creating the embedding on the device */
	double first_s;              /* its first iteration: grid, plan, spectrum */
	double all_s;                /* all iterations, including the first */
	struct bench_spread early;   /* one iteration with early exaggeration, measured by stretches */
	struct bench_spread late;    /* the same after early exaggeration */
	struct sl_measure end;
	uint64_t bits;               /* checksum of the layout */
};

struct bench {
	struct local l;              /* graph and device; without an embedding */
	struct sl_settings settings;
	long repeats;
	double open_s;
	struct sl_device_info opened, uploaded, ended;  /* device memory at these moments */
	struct bench_job *jobs;      /* [repeats], owned */
	int jobs_done;
	struct sl_phase phases[SL_PHASES_MAX];  /* measured on the final layout */
	int phase_count;
	double copy;                 /* bytes per second; 0: unknown */
};

/* Returns the spread of value[count], which it sorts. */
struct bench_spread bench_spread_of(double *value, int count);

/* Measures all runs, then phases and copy bandwidth. Returns the exit status. */
int bench_run(struct bench *b);

int bench_print_json(const struct bench *b);
int bench_print_tables(const struct bench *b);

#endif
