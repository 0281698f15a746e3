/* Copies layouts to the host while iterations go on; see snapshot.h. */
#include "gpu/embedding/snapshot.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/layout/layout.h"

#define SLOTS 4  /* snapshots in progress at the same time */

struct sl_device_snapshot {
	struct sl_device *device;
	atomic_bool busy;       /* from creation to release; any thread may release it */
	void *on_device, *on_host;     /* device, pinned */
	uint64_t room;          /* bytes of both */
	uint64_t bytes;         /* of the present snapshot */
	cudaEvent_t packed, done;
	float low[3], extent;
};

struct sl_copies {
	cudaStream_t stream;
	cudaEvent_t ready;
	struct sl_device_snapshot slot[SLOTS];
};

static void slot_empty(struct sl_device_snapshot *s)
{
	sl__device_free(s->device, s->on_device, s->room);
	cudaFreeHost(s->on_host);
	s->on_device = s->on_host = NULL;
	s->room = 0;
}

void sl__copies_trim(struct sl_device *d)
{
	for (int i = 0; d->copies && i < SLOTS; i++)
		if (!d->copies->slot[i].busy && d->copies->slot[i].room)
			slot_empty(&d->copies->slot[i]);
}

void sl__copies_close(struct sl_device *d)
{
	struct sl_copies *c = d->copies;
	if (!c)
		return;
	if (c->stream)
		cudaStreamSynchronize(c->stream);
	for (int i = 0; i < SLOTS; i++) {
		while (atomic_load(&c->slot[i].busy))  /* a reader still holds it */
			usleep(100);
		slot_empty(&c->slot[i]);
		sl__events_destroy((cudaEvent_t[]){c->slot[i].packed, c->slot[i].done}, 2);
	}
	sl__events_destroy(&c->ready, 1);
	sl__streams_destroy(&c->stream, 1);
	free(c);
	d->copies = NULL;
}

int sl__copies_open(struct sl_device *d, struct sl_error *err)
{
	int least, greatest, code = 0;
	struct sl_copies *c = calloc(1, sizeof *c);
	if (!c)
		return sl_error_memory(err, "a device");
	d->copies = c;
	SL_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	SL_CUDA(cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking, greatest));
	SL_CUDA(cudaEventCreateWithFlags(&c->ready, cudaEventDisableTiming));
	for (int i = 0; i < SLOTS; i++) {
		c->slot[i].device = d;
		SL_CUDA(cudaEventCreateWithFlags(&c->slot[i].packed, cudaEventDisableTiming));
		SL_CUDA(cudaEventCreateWithFlags(&c->slot[i].done, cudaEventDisableTiming));
	}
out:
	return code;
}

/* The smallest free slot that is large enough; if there is none, a free slot is enlarged. */
static int slot_find(struct sl_device *d, uint64_t bytes, struct sl_device_snapshot **out, struct sl_error *err)
{
	struct sl_device_snapshot *best = NULL, *any = NULL;
	int code = 0;
	for (int i = 0; i < SLOTS; i++) {
		struct sl_device_snapshot *s = &d->copies->slot[i];
		if (s->busy)
			continue;
		if (s->room >= bytes && (!best || s->room < best->room))
			best = s;
		if (!any || s->room < any->room)
			any = s;
	}
	if (!best && !any)
		return sl_error_set(err, SL_CONFLICT, "%d snapshots are under way; ask again later.", SLOTS);
	if (!best) {
		best = any;
		slot_empty(best);
		code = sl__device_alloc(d, bytes, "A snapshot", &best->on_device, err);
		if (code)
			return code;
		best->room = bytes;
		SL_CUDA(cudaMallocHost(&best->on_host, bytes));
	}
	*out = best;
out:
	if (code)
		slot_empty(best);
	return code;
}

int sl__snapshot_start(struct sl_device *d, const struct sl_particles *p, const float low[3], const float high[3],
		       double scale, bool quantise, struct sl_device_snapshot **out, struct sl_error *err)
{
	struct sl_copies *c = d->copies;
	struct sl_device_snapshot *s = NULL;
	uint64_t bytes = (uint64_t)p->n * (uint64_t)p->dims * (quantise ? sizeof(uint16_t) : sizeof(float));
	int code = slot_find(d, bytes, &s, err);
	if (code)
		return code;
	struct sl_packing packing = {.quantise = quantise, .unit = scale};
	s->extent = 0;
	memset(s->low, 0, sizeof s->low);
	for (int k = 0; k < p->dims; k++) {
		packing.low[k] = low[k];
		s->low[k] = low[k] * (float)scale;
		s->extent = fmaxf(s->extent, high[k] - low[k]);
	}
	s->extent = s->extent > 0 ? fminf(s->extent, FLT_MAX) : 1;
	packing.scale = fminf(65535.0f / s->extent, FLT_MAX);
	s->extent *= (float)scale;
	s->bytes = bytes;
	SL_CUDA(cudaEventRecord(c->ready, d->stream));
	SL_CUDA(cudaStreamWaitEvent(c->stream, c->ready, 0));
	SL_CUDA(sl__pack(p, packing, s->on_device, c->stream));
	SL_CUDA(cudaEventRecord(s->packed, c->stream));
	SL_CUDA(cudaStreamWaitEvent(d->stream, s->packed, 0));
	SL_CUDA(cudaMemcpyAsync(s->on_host, s->on_device, bytes, cudaMemcpyDeviceToHost, c->stream));
	SL_CUDA(cudaEventRecord(s->done, c->stream));
	atomic_store(&s->busy, true);
	*out = s;
out:
	return code;
}

bool sl__snapshot_ready(struct sl_device_snapshot *s)
{
	bool ready = cudaEventQuery(s->done) != cudaErrorNotReady;  /* finish() reports a failure */
	cudaGetLastError();
	return ready;
}

int sl__snapshot_finish(struct sl_device_snapshot *s, const void **out, float low[3], float *extent,
			struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaEventSynchronize(s->done));
	*out = s->on_host;
	memcpy(low, s->low, sizeof s->low);
	*extent = s->extent;
	return 0;
out:
	sl__snapshot_release(s);
	return code;
}

void sl__snapshot_release(struct sl_device_snapshot *s)
{
	atomic_store(&s->busy, false);
}
