/* jobs.h -- embedding jobs, from accepted to ended.
 *
 *   queued -> running <-> paused -> done | failed | cancelled
 *
 * A job's record is on disk before its submission is acknowledged, its result before it is
 * done. In between it waits for a place on the device (scheduler.h), for the affinities of
 * its graph (affinity_cache.h), runs in slices on the device's thread (device.h), and is
 * saved (job_files.h). After a crash or a restart, jobs that had not ended go on from their
 * last checkpoint, or from the start.
 *
 * Here: the table of jobs and their states. jobs_internal.h has the structs, record.c
 * what a job looks like as JSON, watch.c who watches its layout. Everything belongs
 * to the loop thread. */
#ifndef SL_JOBS_H
#define SL_JOBS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/error.h"

struct sl_daemon;
struct sl_jobs;

/* Opens the engines (d->engines) and the frame publisher, and takes up the jobs of the data base. */
int sl_jobs_create(struct sl_jobs **out, struct sl_daemon *d, struct sl_error *err);

/* Checkpoints what runs, stops the threads, closes the handles; then runs done. */
void sl_jobs_shutdown(struct sl_jobs *j, void (*done)(void *arg), void *arg);

/* After the shutdown, when no request is left. NULL is fine. */
void sl_jobs_destroy(struct sl_jobs *j);

/* Where frames are published, "tcp://127.0.0.1:7071"; NULL: switched off. */
const char *sl_jobs_stream_endpoint(const struct sl_jobs *j);

/* {"queued": 0, "running": 1, ...}, new reference. */
json_t *sl_jobs_counts(const struct sl_jobs *j);

#endif
