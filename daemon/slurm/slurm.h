/* slurm.h -- engine slurm: workers in allocations of a cluster that Slurm shares out.
 *
 * The daemon stays the queue of its jobs, and Slurm that of its machines. When jobs wait for engine slurm,
 * allocations are requested (sbatch), up to slurm_max_workers; each runs a worker that dials in (engines/remote.h)
 * and becomes a device of the engine. A worker takes many jobs, and its allocation ends when it has been idle for
 * slurm_idle_s. If it is preempted, reaches its time limit or dies, its jobs wait for the next one, from their last
 * state.
 *
 * What Slurm says is asked for all allocations at once (squeue), at most each slurm_interval_s. *Unknown is not
 * dead*: a worker lives as long as its connection does, whatever a listing says or fails to say (allocation.h). If
 * slurmctld does not answer, running workers go on, and new allocations wait.
 *
 * A name tells Slurm's administrators, and the server after a restart, whose an allocation is: spaceland-SERVER-ID.
 * Those in STATE_DIR/slurm.json (book.c) are taken up again; others with this server's name are orphans, and are
 * cancelled. Loop thread. */
#ifndef SL_SLURM_H
#define SL_SLURM_H

#include "daemon/engines/remote.h"

struct sl_slurm;

/* A job that waits for engine slurm. */
struct sl_slurm_need {
	char job[SL_ULID_BYTES];
	char user[80], project[80];  /* names; "": none */
	uint64_t bytes;              /* of host memory */
};

struct sl_slurm_listener {
	/* Counts the jobs that wait for engine slurm and may start, and those on its devices. Returns how many of
	 * `out`, which has room for `most`, it has filled with those that wait, the first in line first. */
	int (*needs)(void *arg, struct sl_slurm_need *out, int most, int *large, int *small);
	/* Somebody has cancelled the allocation in Slurm: its jobs are to be cancelled. job: the one that it was
	 * requested for, if it never had a worker; else "". */
	void (*cancelled)(void *arg, uint64_t slurm_job, const char *job, const char *why);
};

/* *out NULL, without an error: the configuration has no allocations. */
int sl_slurm_create(struct sl_slurm **out, struct sl_daemon *d, const struct sl_slurm_listener *listener, void *arg,
		    struct sl_error *err);
/* Asks Slurm no more; closed runs later. Allocations stay, and their workers wait for the next start of the server. */
void sl_slurm_stop(struct sl_slurm *s, void (*closed)(void *arg), void *arg);
/* After the engines are closed. NULL is fine. */
void sl_slurm_destroy(struct sl_slurm *s);

/* The jobs that wait have changed: looks at them before this turn of the loop ends. NULL is fine. */
void sl_slurm_look(struct sl_slurm *s);

/* The options have changed: what Slurm has refused is tried again at once. NULL is fine. */
void sl_slurm_reload(struct sl_slurm *s);

/* Why a job for engine slurm waits, as far as Slurm is concerned: a sentence. expected_s: seconds until it starts;
 * NAN: not known. */
void sl_slurm_why(const struct sl_slurm *s, const char *job, char *text, size_t bytes, double *expected_s);

/* The allocation of a device. False: the device is not one of Slurm's. */
struct sl_slurm_facts {
	uint64_t job;      /* its id in Slurm */
	char node[64];
	int gpus;
};
/* So much of the time of its allocation is accounted to somebody. */
void sl_slurm_charged(struct sl_slurm *s, const struct sl_server_device *d, double seconds);
bool sl_slurm_facts(const struct sl_slurm *s, const struct sl_server_device *d, struct sl_slurm_facts *out);

#endif
