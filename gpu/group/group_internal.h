/* group_internal.h -- a group, for the files of this folder. */
#ifndef SL_GPU_GROUP_INTERNAL_H
#define SL_GPU_GROUP_INTERNAL_H

#include <pthread.h>

#include "gpu/group/group.h"
#include "gpu/group/nccl.h"

/* A rank's thread, and how its task ended. */
struct sl_member {
	struct sl_group *group;
	int rank;
	pthread_t thread;  /* not of rank 0 */
	struct sl_error err;
	bool ended;        /* a meeting of this task has failed: the task must end */
	int code;
};

struct sl_group {
	int ranks;
	struct sl_device *device[SL_RANKS_MAX];
	struct sl_nccl nccl;
	sl_nccl_comm comm[SL_RANKS_MAX];  /* NULL: none */
	struct sl_member member[SL_RANKS_MAX];
	pthread_mutex_t lock;     /* guards all below */
	pthread_cond_t changed;
	int threads;              /* started, beside rank 0 */
	bool closing, broken;
	int (*task)(void *context, int rank, struct sl_error *err);
	void *context;
	uint64_t turn;            /* number of the task */
	int running;              /* ranks that have not finished it */
	uint64_t meeting;         /* number of the meeting that ranks arrive at */
	int arrived, worst;       /* ranks that are there; the code of one that failed */
	struct sl_error why;
	uint64_t told[SL_RANKS_MAX][SL_TOLD_MAX];
	int outcome;              /* of the meeting before */
	struct sl_error outcome_why;
	uint64_t outcome_told[SL_RANKS_MAX][SL_TOLD_MAX];
};

int sl__nccl_failed(const struct sl_group *g, struct sl_error *err, int status, const char *what);

#endif
