/* daemon.h -- what the daemon's parts share: one loop, and a pointer to each part.
 *
 * Created by main.c in the order of the fields, closed in the reverse order. Every field
 * belongs to the loop thread; other threads get messages, never this struct. */
#ifndef SL_DAEMON_H
#define SL_DAEMON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "daemon/config/config.h"

struct sl_daemon {
	uv_loop_t *loop;
	pthread_t loop_thread;
	struct sl_config config;
	char *state_dir;             /* absolute; has graphs/, jobs/, layouts/ and tmp/ */
	char *tmp_dir;               /* the last of these */
	struct sl_metrics *metrics;
	struct sl_db *db;
	struct sl_settings *settings; /* what is set while it runs; upkeep/settings.h */
	struct sl_maintenance *maintenance;  /* drain and banner; upkeep/maintenance.h */
	struct sl_spare *spare;      /* a copy of the records of people; upkeep/spare.h */
	struct sl_uses *uses;        /* when graphs and jobs were used last; store/uses.h */
	struct sl_collect *collect;  /* keeps state_dir within max_state_bytes; collect/collect.h */
	struct sl_people *people;    /* things of users who leave; people/people.h */
	struct sl_backups *backups;  /* files/backup.h */
	struct sl_users *users;
	struct sl_bookings *bookings; /* what clients make the server hold; users/bookings.h. Created before users */
	struct sl_events *events;    /* the event stream and its readers; stream/events.h */
	struct sl_graphs *graphs;
	struct sl_layouts *layouts;  /* layouts that clients upload; layouts/layouts.h */
	struct sl_engines *engines;  /* engines.h; jobs own it, and make and end it with themselves */
	struct sl_slurm *slurm;      /* allocations of a cluster, slurm/slurm.h; jobs own it, too. NULL: none */
	struct sl_jobs *jobs;        /* jobs.h: sl_jobs_create(&d->jobs, d, &err) at the start; at the end
	                              * sl_jobs_shutdown(d->jobs, done, arg) checkpoints, stops its threads and
	                              * closes its handles, then runs done on the loop; then, when HTTP is closed
	                              * and sl_jobs_idle(), sl_jobs_destroy() */
	struct sl_http *http;
	uint64_t started_ms;         /* uv_now() at the start */
	bool ready;                  /* for /v1/health/ready */
	bool ending;                 /* SIGTERM was seen: not ready, no new jobs; it still serves for shutdown_grace_s */
	bool stopping;               /* the parts are being closed; every request is answered 503 */
	void (*restart)(struct sl_daemon *d);  /* stops as SIGTERM does, then starts again in the same process id */
};

/* Aborts unless called on the loop thread: a programming error. */
#define SL_ON_LOOP(d) \
	do { \
		if (!pthread_equal(pthread_self(), (d)->loop_thread)) { \
			fprintf(stderr, "%s:%d: not on the loop thread\n", __FILE__, __LINE__); \
			abort(); \
		} \
	} while (0)

#endif
