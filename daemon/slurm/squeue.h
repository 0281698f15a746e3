/* squeue.h -- the listing of Slurm's queue: how it is asked for, and what it says.
 *
 * All jobs of the server's account are asked for at once, in a format of our own: it is the same in all versions of
 * Slurm, while the members of `squeue --json` change from version to version, and that form ignores the filter by
 * user in some (22.05), so that it has each job of the cluster, with 3 KB each. Pure. */
#ifndef SL_SQUEUE_H
#define SL_SQUEUE_H

#include <stdint.h>

#include "daemon/slurm/allocation.h"

#define SL_SQUEUE_NAME_BYTES 64

/* Of `squeue --noheader --user=USER --states=all --format=SL_SQUEUE_FORMAT`, with SL_SQUEUE_TIMES in the environment.
 */
#define SL_SQUEUE_FORMAT "%A|%j|%T|%S|%e|%N|%r"
#define SL_SQUEUE_TIMES "SLURM_TIME_FORMAT=%s"

struct sl_squeue_line {
	uint64_t id;                        /* of the job in Slurm */
	char name[SL_SQUEUE_NAME_BYTES];
	enum sl_slurm_state state;
	int64_t start_s;                    /* since 1970: when it started, or is expected to start; 0: not known */
	int64_t end_s;                      /* when it ended, or has to end; 0: not known */
	char node[64];                      /* the first of its nodes; "": none yet */
	char reason[128];                   /* why it waits: "Resources"; "" or "None": it does not */
};

/* True if Slurm has put it back into its queue since it could not be started, and holds it there: it will never start
 * by itself. A hold of a user or of an administrator is not of this kind. */
bool sl_squeue_is_stuck(const struct sl_squeue_line *line);

/* Reads the next line from *at, which moves on. False: the end. Lines that are no jobs are passed over. */
bool sl_squeue_next(const char **at, struct sl_squeue_line *out);

#endif
