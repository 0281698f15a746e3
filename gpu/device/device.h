/* device.h -- an open GPU: its streams, its memory within a budget, and the codes for errors of CUDA.
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
struct sl_group;

/* ---- errors ---------------------------------------------------------------------- */

/* Returns the code for a CUDA error, and clears the error if that is possible. what: the call that failed. */
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

#define SL_DIVERGED_DETAIL "The layout has diverged: a coordinate is beyond 1e15 or not a number. " \
			   "Use a lower learning rate."

/* ---- devices ---------------------------------------------------------------------- */

struct sl_device {
	int index;
	char name[128];
	char pci[16];                 /* "0000:01:00.0" */
	cudaStream_t stream, side, far;  /* repulsion and all else; attraction; the far level of the repulsion */
	cudaEvent_t fork, join, far_fork, far_join;
	uint64_t total, budget;       /* bytes of the GPU; bytes that we may use */
	uint64_t used;                /* bytes allocated by sl__device_alloc() */
	uint64_t graph_bytes, embedding_bytes;  /* parts of used */
	struct sl_small *small;       /* small/; NULL if the device has no thread block clusters */
	struct sl_control *control;   /* embedding/: pinned */
	struct sl_plans *plans;       /* embedding/ */
	struct sl_work *work;         /* embedding/ */
	struct sl_copies *copies;     /* embedding/ */
	int threads;                  /* of the host, for the hybrid engine */
	bool doubles;                 /* the hybrid engine's attraction in double precision */
	struct sl_group *group;       /* group/: the GPUs that compute together; NULL: this one is alone */
	int rank, ranks;              /* of the group */
	uint32_t divide_nodes;        /* graphs of fewer nodes are not divided */
	struct sl_device *others;     /* engine/: rank 0 holds the devices of ranks 1, 2, ... by this link */
};

int sl__device_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err);
/* Frees the device. Upper rooms must have freed their parts of it. */
void sl__device_close(struct sl_device *d);
/* Waits for all three streams and ignores their errors. */
void sl__device_drain(struct sl_device *d);
/* Enclose work on the GPU by a thread that is not the device's. If a failure made the context unusable,
 * sl__device_close() resets it only after all such threads have released it. */
void sl__context_hold(void);
void sl__context_release(void);
/* Makes d the calling thread's current device. */
int sl__device_enter(struct sl_device *d, struct sl_error *err);

/* Allocates memory within the budget, from a pool that keeps freed memory. what: "a graph of 70000 nodes", for
 * errors. */
int sl__device_alloc(struct sl_device *d, uint64_t bytes, const char *what, void *out, struct sl_error *err);
void sl__device_free(struct sl_device *d, void *memory, uint64_t bytes);  /* NULL is fine */

/* Copies from the device to the host, after all earlier work of the stream; waits. */
cudaError_t sl__fetch(void *to, const void *from, uint64_t bytes, cudaStream_t stream);
/* 90 % of the current GPU's free memory, including the unused part of the pool; at most `limit`, unless that is 0. */
cudaError_t sl__free_bytes(int index, uint64_t limit, uint64_t *out);
/* Destroy the elements that are not NULL. */
void sl__streams_destroy(cudaStream_t *streams, int count);
void sl__events_destroy(cudaEvent_t *events, int count);

/* Arrays in one block of memory begin at multiples of 256 bytes. */
static inline uint64_t sl__aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
/* Takes the next array of a block of memory and advances *at. If *at is NULL at first, this only counts bytes. */
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
