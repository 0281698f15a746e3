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

#define BENCH_WINDOW 50  /* iterations in a stretch whose time is taken */

struct bench_spread { double median, least, most; };  /* NAN: nothing was measured */

/* One run of the job, from the initial layout to the end. */
struct bench_job {
	double create_s;             /* the embedding on the device */
	double first_s;              /* its first iteration: grid, plan, spectrum */
	double all_s;                /* all iterations, the first included */
	struct bench_spread early;   /* one iteration, by stretches: with early exaggeration */
	struct bench_spread late;    /* after it */
	struct sl_measure end;
	uint64_t bits;               /* sum over the layout's bits: equal sums are equal layouts */
};

struct bench {
	struct local l;              /* the graph, on its device; no embedding */
	struct sl_settings settings;
	long repeats;
	double open_s;
	struct sl_device_info opened, uploaded, ended;  /* memory used at these times */
	struct bench_job *jobs;      /* [repeats], owned */
	int jobs_done;
	struct sl_phase phases[SL_PHASES_MAX];  /* of the layout at the end */
	int phase_count;
	double copy;                 /* bytes a second, 0: not known */
};

/* Sorts value. */
struct bench_spread bench_spread_of(double *value, int count);

/* All runs, then phases and copy bandwidth. Exit status. */
int bench_run(struct bench *b);

int bench_print_json(const struct bench *b);
int bench_print_tables(const struct bench *b);

#endif
