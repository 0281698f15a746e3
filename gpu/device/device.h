/* device.h -- an open GPU: its streams, its memory within a budget, and what an error of CUDA means.
 *
 * Who. A device and all that was made on it belong to one thread at a time. Its embeddings take turns, so they share
 * one set of streams, one control block and one set of grids. The functions that say so may be called from other
 * threads.
 *
 * Life. sl__device_open() makes the device; engine/engine.c then has the upper rooms put their own state into it, and
 * takes it away again before sl__device_close(). This room only stores those pointers. */
#ifndef SL_GPU_DEVICE_H
#define SL_GPU_DEVICE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct sl_device_options;

/* ---- errors ---------------------------------------------------------------------- */

/* What a CUDA error means to the caller; clears it if it can be cleared. Returns a code. */
int sl__cuda_failed(struct sl_error *err, cudaError_t status, const char *what);

/* In functions with `code`, `err` and a label `out`. */
#define SL_CUDA(call) do { \
	cudaError_t status_ = (call); \
	if (status_ != cudaSuccess) { \
		code = sl__cuda_failed(err, status_, #call); \
		goto out; \
	} \
} while (0)

/* The same for functions that return a code. */
#define SL_TRY(call) do { \
	code = (call); \
	if (code) \
		goto out; \
} while (0)

/* The same where there is nothing to clean up. */
#define SL_RETURN(call) do { \
	int code_ = (call); \
	if (code_) \
		return code_; \
} while (0)

#define SL_DIVERGED_DETAIL "The layout has diverged (coordinates beyond 1e15 or not a number); a lower learning rate " \
			   "would be right."

/* ---- devices ---------------------------------------------------------------------- */

struct sl_device {
	int index;
	char name[128];
	char pci[16];                 /* "0000:01:00.0" */
	cudaStream_t stream, side, far;  /* repulsion and all else; attraction; the far level of the repulsion */
	cudaEvent_t fork, join, far_fork, far_join;
	uint64_t total, budget;       /* bytes of the card; for us */
	uint64_t used;                /* all that sl__device_alloc() gave */
	uint64_t graph_bytes, embedding_bytes;  /* of these */
	struct sl_small *small;       /* small/; NULL: the device has no clusters */
	struct sl_control *control;   /* embedding/: pinned */
	struct sl_plans *plans;       /* embedding/ */
	struct sl_work *work;         /* embedding/ */
	struct sl_copies *copies;     /* embedding/ */
	int threads;                  /* of the host, for the hybrid engine */
	bool doubles;                 /* the hybrid engine's attraction in double precision */
};

int sl__device_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err);
/* Frees the device; what upper rooms put into it must be gone. */
void sl__device_close(struct sl_device *d);
/* Waits for all three streams; errors do not matter any more. */
void sl__device_drain(struct sl_device *d);
/* Around work on the GPU in other threads than the device's: a context that a failure made unusable is not reset, by
 * sl__device_close(), before they have let go of it. */
void sl__context_hold(void);
void sl__context_release(void);
/* Makes d the calling thread's current device. */
int sl__device_enter(struct sl_device *d, struct sl_error *err);

/* Memory within the budget, from a pool that keeps what was freed. what: "a graph of 70000 nodes". */
int sl__device_alloc(struct sl_device *d, uint64_t bytes, const char *what, void *out, struct sl_error *err);
void sl__device_free(struct sl_device *d, void *memory, uint64_t bytes);  /* NULL is fine */

/* From the device to the host, and waits for all that the stream had before. */
cudaError_t sl__fetch(void *to, const void *from, uint64_t bytes, cudaStream_t stream);
/* 90 % of what the current GPU has free, its pool's unused part included; at most `limit` if that is not 0. */
cudaError_t sl__free_bytes(int index, uint64_t limit, uint64_t *out);
/* Frees what is not NULL. */
void sl__streams_destroy(cudaStream_t *streams, int count);
void sl__events_destroy(cudaEvent_t *events, int count);

/* Arrays in one block of memory begin at multiples of 256 bytes. */
static inline uint64_t sl__aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
/* The next array of the block, which `at` walks along; at NULL the first time, it only counts. */
static inline void *sl__carve(char **at, uint64_t bytes)
{
	void *array = *at;
	*at += sl__aligned(bytes);
	return array;
}

#ifdef __cplusplus
extern "C" {
#endif
/* out[count] = value, on the device. */
cudaError_t sl__fill(float *out, float value, uint64_t count, cudaStream_t stream);
/* x[count] *= factor, on the device. */
cudaError_t sl__scale(float *x, float factor, uint64_t count, cudaStream_t stream);
#ifdef __cplusplus
}
#endif

#endif
