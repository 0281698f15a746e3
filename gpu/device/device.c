/* Opens and closes a device, allocates its memory, and translates errors of CUDA. */
#include "core/engine/engine.h"
#include "gpu/device/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS_MAX 64
#define CAPABILITY_MIN 80  /* compute capability 8.0: the oldest that the plug-in is compiled for */

/* ---- errors ------------------------------------------------------------------------ */

/* True if CUDA refused a call and the context is still valid. The cause is a fault of the plug-in; it ends one job, not
 * the device. */
static bool refused(cudaError_t status)
{
	switch (status) {
	case cudaErrorInvalidValue:
	case cudaErrorInvalidConfiguration:
	case cudaErrorLaunchOutOfResources:
	case cudaErrorNotSupported:
	case cudaErrorStreamCaptureUnsupported:
	case cudaErrorStreamCaptureInvalidated:
	case cudaErrorStreamCaptureUnjoined:
	case cudaErrorStreamCaptureImplicit:
		return cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess;
	default:
		return false;
	}
}

int sl__cuda_failed(struct sl_error *err, cudaError_t status, const char *what)
{
	cudaGetLastError();  /* clears the error, if it can be cleared */
	if (status == cudaErrorMemoryAllocation)
		return sl_error_set(err, SL_DEVMEM, "The GPU has no memory left (%.100s).", what);
	if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || status == cudaErrorInvalidDevice)
		return sl_error_set(err, SL_NODEVICE, "No usable GPU: %s.", cudaGetErrorString(status));
	if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction ||
	    status == cudaErrorUnsupportedPtxVersion)
		return sl_error_set(err, SL_NODEVICE, "The CUDA engine's plug-in was built without code for this GPU: %s.",
				    cudaGetErrorString(status));
	if (refused(status))
		return sl_error_set(err, SL_INTERNAL, "The GPU refused a call: %s (%s, %.100s).", cudaGetErrorString(status),
				    cudaGetErrorName(status), what);
	return sl_error_set(err, SL_DEVLOST, "The GPU failed: %s (%s, %.100s).", cudaGetErrorString(status),
			    cudaGetErrorName(status), what);
}

/* ---- life ---------------------------------------------------------------------------- */

static int check(int index, struct cudaDeviceProp *p, struct sl_error *err)
{
	int count = 0, driver = 0;
	cudaError_t status = cudaGetDeviceCount(&count);
	if (status == cudaErrorInsufficientDriver) {
		cudaGetLastError();
		cudaDriverGetVersion(&driver);
		if (!driver)
			return sl_error_set(err, SL_NODEVICE, "No NVIDIA driver is loaded.");
		return sl_error_set(err, SL_NODEVICE, "The NVIDIA driver is too old: it knows CUDA %d.%d, the CUDA engine "
				    "needs %d.%d.", driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
				    CUDART_VERSION % 1000 / 10);
	}
	if (status != cudaSuccess && status != cudaErrorNoDevice)
		return sl__cuda_failed(err, status, "cudaGetDeviceCount");
	if (status == cudaErrorNoDevice || !count) {
		cudaGetLastError();
		return sl_error_set(err, SL_NODEVICE, "There is no NVIDIA GPU in this machine.");
	}
	count = count < GPUS_MAX ? count : GPUS_MAX;
	if (index < 0 || index >= count)
		return sl_error_set(err, SL_NODEVICE, "There is no GPU %d; this machine has 0 to %d.", index, count - 1);
	status = cudaGetDeviceProperties(p, index);
	if (status != cudaSuccess)
		return sl__cuda_failed(err, status, "cudaGetDeviceProperties");
	if (p->major * 10 + p->minor < CAPABILITY_MIN)
		return sl_error_set(err, SL_NODEVICE, "GPU %d (%.100s) has compute capability %d.%d; %d.%d or newer is "
				    "needed.", index, p->name, p->major, p->minor, CAPABILITY_MIN / 10, CAPABILITY_MIN % 10);
	return 0;
}

/* For the loader: the number of GPUs, or an error if open() would accept none of them. */
__attribute__((visibility("default"))) int sl_engine_cuda_check(struct sl_error *reason);
__attribute__((visibility("default"))) int sl_engine_cuda_count(void);

/* One GPU suffices; the error is that of the first. */
int sl_engine_cuda_check(struct sl_error *reason)
{
	struct cudaDeviceProp p;
	int code = check(0, &p, reason), count = sl_engine_cuda_count();
	for (int i = 1; code && i < count; i++)
		code = check(i, &p, NULL) ? code : 0;
	return code;
}

int sl_engine_cuda_count(void)
{
	int count = 0;
	if (cudaGetDeviceCount(&count) != cudaSuccess) {
		cudaGetLastError();
		return 0;
	}
	return count;
}

static int set_up(struct sl_device *d, const struct sl_device_options *o, struct sl_error *err)
{
	size_t available, total;
	uint64_t keep = UINT64_MAX;
	cudaMemPool_t pool;
	int code = 0, least, greatest;
	SL_CUDA(cudaSetDevice(d->index));
	SL_CUDA(cudaMemGetInfo(&available, &total));
	d->total = total;
	d->budget = o && o->memory_bytes ? o->memory_bytes : available / 10 * 9;
	SL_CUDA(cudaDeviceGetDefaultMemPool(&pool, d->index));
	SL_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	SL_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	SL_CUDA(cudaStreamCreateWithPriority(&d->stream, cudaStreamNonBlocking, greatest));
	SL_CUDA(cudaStreamCreateWithPriority(&d->side, cudaStreamNonBlocking, least));
	SL_CUDA(cudaStreamCreateWithPriority(&d->far, cudaStreamNonBlocking, greatest));
	cudaEvent_t *events[] = {&d->fork, &d->join, &d->far_fork, &d->far_join};
	for (int i = 0; i < 4; i++)
		SL_CUDA(cudaEventCreateWithFlags(events[i], cudaEventDisableTiming));
out:
	return code;
}

/* Guards the CUDA context, which all devices on one GPU share. Setting up a device, and using the context from a thread
 * that is not a device's, take it as readers; a reset takes it as writer. No other lock is taken while it is held. */
static pthread_rwlock_t context = PTHREAD_RWLOCK_INITIALIZER;
static int in_use[GPUS_MAX];  /* devices on each GPU */

void sl__context_hold(void) { pthread_rwlock_rdlock(&context); }
void sl__context_release(void) { pthread_rwlock_unlock(&context); }

/* Resets the context if it has failed: then every call repeats the error. Only the last device on a GPU resets it:
 * others still have streams and memory in the context, and will find the failure themselves. (The test must not
 * synchronise the whole device, which would invalidate a capture by another thread.) */
static void recover(int index)
{
	cudaGetLastError();
	if (cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess) {
		__atomic_sub_fetch(&in_use[index], 1, __ATOMIC_RELAXED);
		return;
	}
	pthread_rwlock_wrlock(&context);
	if (__atomic_sub_fetch(&in_use[index], 1, __ATOMIC_RELAXED) == 0)
		cudaDeviceReset();
	cudaGetLastError();
	pthread_rwlock_unlock(&context);
}

void sl__device_drain(struct sl_device *d)
{
	cudaStream_t streams[] = {d->side, d->far, d->stream};
	for (int i = 0; i < 3; i++)
		if (streams[i])
			cudaStreamSynchronize(streams[i]);
}

void sl__device_close(struct sl_device *d)
{
	if (!d)
		return;
	cudaSetDevice(d->index);
	sl__device_drain(d);
	sl__events_destroy((cudaEvent_t[]){d->fork, d->join, d->far_fork, d->far_join}, 4);
	sl__streams_destroy((cudaStream_t[]){d->far, d->side, d->stream}, 3);
	recover(d->index);
	free(d);
}

int sl__device_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	struct cudaDeviceProp p;
	int index = options ? options->index : 0, code = check(index, &p, err);
	if (code)
		return code;
	struct sl_device *d = calloc(1, sizeof *d);
	if (!d)
		return sl_error_memory(err, "a device");
	d->index = index;
	snprintf(d->name, sizeof d->name, "%.120s", p.name);
	snprintf(d->pci, sizeof d->pci, "%04x:%02x:%02x.0", p.pciDomainID & 0xffff, p.pciBusID & 0xff,
		 p.pciDeviceID & 0xff);
	sl__context_hold();
	__atomic_add_fetch(&in_use[index], 1, __ATOMIC_RELAXED);
	code = set_up(d, options, err);
	sl__context_release();
	if (code)
		sl__device_close(d);
	else
		*out = d;
	return code;
}

int sl__device_enter(struct sl_device *d, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaSetDevice(d->index));
out:
	return code;
}

/* ---- memory ------------------------------------------------------------------------------ */

int sl__device_alloc(struct sl_device *d, uint64_t bytes, const char *what, void *out, struct sl_error *err)
{
	void *memory = NULL;
	if (bytes > d->budget || d->used > d->budget - bytes)
		return sl_error_set(err, SL_DEVMEM, "%s needs %llu bytes of GPU memory; %llu of %llu are free.", what,
				    (unsigned long long)bytes,
				    (unsigned long long)(d->used < d->budget ? d->budget - d->used : 0),
				    (unsigned long long)d->budget);
	cudaError_t status = cudaMallocAsync(&memory, bytes, d->stream);
	if (status == cudaErrorMemoryAllocation) {
		cudaGetLastError();
		return sl_error_set(err, SL_DEVMEM, "%s needs %llu bytes of GPU memory; other programs leave less than "
				    "that.", what, (unsigned long long)bytes);
	}
	if (status != cudaSuccess)
		return sl__cuda_failed(err, status, "cudaMallocAsync");
	d->used += bytes;
	*(void **)out = memory;
	return 0;
}

void sl__device_free(struct sl_device *d, void *memory, uint64_t bytes)
{
	if (!memory)
		return;
	cudaFreeAsync(memory, d->stream);
	d->used -= bytes;
}

cudaError_t sl__fetch(void *to, const void *from, uint64_t bytes, cudaStream_t stream)
{
	cudaError_t status = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
	return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}

cudaError_t sl__free_bytes(int index, uint64_t limit, uint64_t *out)
{
	size_t available = 0, total = 0;
	uint64_t reserved = 0, used = 0;
	cudaMemPool_t pool;
	cudaError_t status = cudaDeviceGetDefaultMemPool(&pool, index);
	if (status == cudaSuccess)
		status = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
	if (status == cudaSuccess)
		status = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
	if (status == cudaSuccess)
		status = cudaMemGetInfo(&available, &total);
	*out = (available + reserved - used) / 10 * 9;
	if (limit && limit < *out)
		*out = limit;
	return status;
}

void sl__streams_destroy(cudaStream_t *streams, int count)
{
	for (int i = 0; i < count; i++)
		if (streams[i])
			cudaStreamDestroy(streams[i]);
}

void sl__events_destroy(cudaEvent_t *events, int count)
{
	for (int i = 0; i < count; i++)
		if (events[i])
			cudaEventDestroy(events[i]);
}
