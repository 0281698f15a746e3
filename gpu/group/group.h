/* group.h -- several GPUs that compute one layout together: their threads, and what they exchange.
 *
 * A group has `ranks` devices of one kind, a thread and an NCCL communicator for each. The same code runs on each
 * rank (sl__group_run()), as in a program of MPI: all ranks call the same functions of this file in the same order.
 * Rank 0 is the caller's thread, and its device is the one that core/ holds. Threads, not processes: the ranks share
 * the host's copy of P, and one report to core/. A thread for each GPU, not one for all: capturing and launching
 * graphs takes the host tens of microseconds a GPU, and a thread that waits for one GPU must not hold up another.
 *
 *   group.c       threads, tasks, meetings on the host
 *   collective.c  sums and gathers between the GPUs, on streams
 *   nccl.c        opens NCCL
 *
 * Determinism. sl__group_reduce() adds integers, so its result does not depend on the order of the ranks or on their
 * number; a gather only copies. So whatever a rank computes from them is the same as on one GPU.
 *
 * Errors. A task that fails on one rank fails on all: each ends with a meeting, and all get the code and text of one
 * that failed. If a rank fails while others wait in a collective, they would wait for ever; so after ABORT_MS the
 * communicators are aborted. After that the group is broken, and every task returns SL_DEVLOST. */
#ifndef SL_GPU_GROUP_H
#define SL_GPU_GROUP_H

#include "gpu/device/device.h"

#define SL_RANKS_MAX 16
#define SL_TOLD_MAX 4

struct sl_group;

/* Sets group, rank and ranks of each device. The devices must be open, on different GPUs of one kind; they must outlive
 * the group. The thread that opens the group is rank 0, and must be the one that runs tasks. */
int sl__group_open(struct sl_device **devices, int ranks, struct sl_group **out, struct sl_error *err);
/* No CUDA graph with a collective of the group may exist any more. NULL is fine. */
void sl__group_close(struct sl_group *g);
/* Runs the task on all ranks, with the rank's device as the current one, and waits for all. */
int sl__group_run(struct sl_group *g, int (*task)(void *context, int rank, struct sl_error *err), void *context,
		  struct sl_error *err);

/* ---- within a task, by all ranks; for a device without a group they do nothing ---- */

/* Waits for all ranks. code: how far this rank is; with err. Returns 0 if all have 0, else a code and text of one that
 * failed; then the task must end. */
int sl__group_meet(struct sl_device *d, int code, struct sl_error *err);
/* The same with an exchange of numbers: mine [count], all [ranks][count], count <= SL_TOLD_MAX. */
int sl__group_tell(struct sl_device *d, int code, const uint64_t *mine, int count, uint64_t *all, struct sl_error *err);

/* Both can be captured. numbers [count], on the device: sums over all ranks, modulo 2^64. */
int sl__group_reduce(struct sl_device *d, uint64_t *numbers, uint64_t count, cudaStream_t stream, struct sl_error *err);

/* An array of which rank r has the elements parts[r] .. parts[r + 1] - 1. */
struct sl_gathered {
	void *array;            /* on the device */
	uint64_t each;          /* bytes of an element */
	const uint32_t *parts;  /* [ranks + 1] */
};

/* Copies all parts of up to 4 arrays to all ranks. */
int sl__group_gather(struct sl_device *d, const struct sl_gathered *arrays, int count, cudaStream_t stream,
		     struct sl_error *err);

#endif
