/* The functions of the CUDA run-time that gpu/ and its tests call, for a GPU emulated on the CPU.
 *
 * Device memory is memory of the process, so the address sanitizer checks kernels. It is filled with 1 bits, which are
 * NaN, so that use of unwritten memory shows. A stream executes each command before the call returns, in the order of
 * the calls, which is one of the orders that events allow. A thread that captures a graph captures all commands that it
 * queues.
 *
 * SPACELAND_EMULATED_MEMORY: bytes of the GPUs' memory (16 GiB).
 * SPACELAND_EMULATED_GPUS: how many there are (1), up to 16. They share their memory; each thread has a current one.
 * SPACELAND_EMULATED_SHARED: bytes of shared memory that a block may have (227 KiB, as in compute capability 9.0; many
 * cards have 99 KiB).
 * SPACELAND_EMULATED_RECORD: a file that gets a line for each launched kernel: its program or plug-in and its address
 * there, which "addr2line -f -C -e" translates to a name. */
#include "tests/emulated/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "tests/emulated/blocks.h"

#define SHARED_DEFAULT (48 << 10)

struct CUgraph_st {
	std::vector<std::function<void()>> steps;
};
struct CUgraphExec_st {
	std::vector<std::function<void()>> steps;
};
struct CUstream_st {
	int priority;
};
struct CUevent_st {
	std::chrono::steady_clock::time_point when;
};

namespace {

std::mutex lock;  /* guards everything below */
std::map<void *, size_t> memory;
std::map<const void *, int> shared_most;  /* allowed shared memory of kernels */
size_t used;
cudaError_t failed;  /* sticky */

thread_local cudaError_t last;
thread_local struct CUgraph_st *capture;
thread_local int current;

cudaError_t told(cudaError_t status)
{
	if (status == cudaSuccess) {
		std::lock_guard<std::mutex> l(lock);
		status = failed;
	}
	if (status != cudaSuccess)
		last = status;
	return status;
}

size_t total(void)
{
	const char *text = getenv("SPACELAND_EMULATED_MEMORY");
	return text ? strtoull(text, NULL, 10) : (size_t)16 << 30;
}

int gpus(void)
{
	const char *text = getenv("SPACELAND_EMULATED_GPUS");
	return text ? atoi(text) : 1;
}

int shared_max(void)
{
	const char *text = getenv("SPACELAND_EMULATED_SHARED");
	return text ? atoi(text) : 227 << 10;
}

/* Called with the lock held. Processes may share the file, so each line is one write. */
void record(const void *kernel)
{
	static const char *const path = getenv("SPACELAND_EMULATED_RECORD");
	static std::set<const void *> seen;
	Dl_info from;
	if (!path || !seen.insert(kernel).second || !dladdr(kernel, &from))
		return;
	if (FILE *f = fopen(path, "a")) {
		fprintf(f, "%s %#zx\n", from.dli_fname, (size_t)((const char *)kernel - (const char *)from.dli_fbase));
		fclose(f);
	}
}

} // namespace

/* ---- work ------------------------------------------------------------------------------------ */

namespace emulated {

void queue(cudaStream_t, const std::function<void()> &what)
{
	if (capture) {
		capture->steps.push_back(what);
		return;
	}
	if (told(cudaSuccess) == cudaSuccess)
		what();
}

void fail(cudaError_t status)
{
	std::lock_guard<std::mutex> l(lock);
	failed = status;
}

cudaError_t
launch(const void *kernel, const struct shape &shape, cudaStream_t stream, const std::function<void()> &body)
{
	uint64_t threads = (uint64_t)shape.threads.x * shape.threads.y * shape.threads.z;
	uint64_t blocks = (uint64_t)shape.blocks.x * shape.blocks.y * shape.blocks.z;
	size_t most = SHARED_DEFAULT;
	{
		std::lock_guard<std::mutex> l(lock);
		auto found = shared_most.find(kernel);
		if (found != shared_most.end() && (size_t)found->second > most)
			most = (size_t)found->second;
		record(kernel);
	}
	if (!threads || threads > 1024 || !blocks || shape.blocks.x > 0x7fffffff || shape.blocks.y > 65535 ||
	    shape.blocks.z > 65535 || shape.blocks.x % shape.cluster || shape.shared > most)
		return told(cudaErrorInvalidConfiguration);
	queue(stream, [shape, body] { run(shape, body); });
	return told(cudaSuccess);
}

} // namespace emulated

cudaError_t cudaStreamBeginCapture(cudaStream_t, enum cudaStreamCaptureMode)
{
	if (capture)
		return told(cudaErrorStreamCaptureUnsupported);
	capture = new CUgraph_st();
	return told(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph)
{
	*graph = capture;
	capture = NULL;
	return told(*graph ? cudaSuccess : cudaErrorIllegalState);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
	*out = new CUgraphExec_st{graph->steps};
	return told(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
	for (auto &step : graph->steps)
		emulated::queue(stream, step);
	return told(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	delete graph;
	return told(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
	delete graph;
	return told(cudaSuccess);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	emulated::queue(stream, [=] { function(data); });
	return told(cudaSuccess);
}

/* ---- errors, devices --------------------------------------------------------------------------- */

cudaError_t cudaGetLastError(void)
{
	cudaError_t status = last;
	last = cudaSuccess;
	return status == cudaSuccess ? told(cudaSuccess) : status;
}

const char *cudaGetErrorName(cudaError_t status)
{
	return status == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaError";
}

const char *cudaGetErrorString(cudaError_t status)
{
	static thread_local char text[64];
	snprintf(text, sizeof text, "emulated error %d", (int)status);
	return text;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	*count = gpus();
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
	*device = current;
	return told(cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
	if (device < 0 || device >= gpus())
		return told(cudaErrorInvalidDevice);
	current = device;
	return told(cudaSuccess);
}

/* Frees all memory, as a reset of the context does. */
cudaError_t cudaDeviceReset(void)
{
	std::lock_guard<std::mutex> l(lock);
	failed = cudaSuccess;
	for (auto &m : memory)
		free(m.first);
	memory.clear();
	used = 0;
	return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) { return told(cudaSuccess); }

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	if (device < 0 || device >= gpus())
		return told(cudaErrorInvalidDevice);
	memset(p, 0, sizeof *p);
	p->pciBusID = device;
	strcpy(p->name, "emulated GPU");
	p->major = 9;
	p->totalGlobalMem = total();
	p->multiProcessorCount = 4;
	p->sharedMemPerBlockOptin = (size_t)shared_max();
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int)
{
	switch (what) {
	case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_max(); break;
	case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
	case cudaDevAttrMultiProcessorCount: *value = 4; break;
	default: return told(cudaErrorInvalidValue);
	}
	return told(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -1;
	return told(cudaSuccess);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *)
{
	memset(a, 0, sizeof *a);
	a->ptxVersion = a->binaryVersion = 90;
	a->maxThreadsPerBlock = 1024;
	return told(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute what, int value)
{
	if (what == cudaFuncAttributeMaxDynamicSharedMemorySize) {
		if (value > shared_max())
			return told(cudaErrorInvalidValue);
		std::lock_guard<std::mutex> l(lock);
		shared_most[kernel] = value;
	}
	return told(cudaSuccess);
}

/* ---- memory --------------------------------------------------------------------------------------- */

cudaError_t cudaMalloc(void **out, size_t bytes)
{
	cudaError_t status = told(cudaSuccess);
	if (status != cudaSuccess)
		return status;
	std::lock_guard<std::mutex> l(lock);
	void *p = NULL;
	if (bytes > total() - used || posix_memalign(&p, 256, bytes ? bytes : 1))
		return last = cudaErrorMemoryAllocation;
	memset(p, 0xff, bytes);
	memory[p] = bytes;
	used += bytes;
	*out = p;
	return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
	{
		std::lock_guard<std::mutex> l(lock);
		auto found = memory.find(p);
		if (p && found == memory.end() && failed == cudaSuccess)
			return last = cudaErrorInvalidValue;
		if (found != memory.end()) {
			used -= found->second;
			memory.erase(found);
			free(p);
		}
	}
	return told(cudaSuccess);
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t) { return cudaMalloc(out, bytes); }
cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
	*out = malloc(bytes ? bytes : 1);
	return told(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostRegister(void *, size_t, unsigned) { return cudaSuccess; }

cudaError_t cudaHostUnregister(void *) { return cudaSuccess; }

cudaError_t cudaFreeHost(void *p)
{
	free(p);
	return told(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *all)
{
	std::unique_lock<std::mutex> l(lock);
	*all = total();
	*available = *all - used;
	l.unlock();
	return told(cudaSuccess);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int)
{
	*pool = NULL;
	return told(cudaSuccess);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *) { return told(cudaSuccess); }

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *value)
{
	std::unique_lock<std::mutex> l(lock);
	*(uint64_t *)value = used;  /* the pool keeps no freed memory */
	l.unlock();
	return told(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind, cudaStream_t stream)
{
	emulated::queue(stream, [=] { memcpy(to, from, bytes); });
	return told(cudaSuccess);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	return cudaMemcpyAsync(to, from, bytes, kind, 0);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
			      size_t height, enum cudaMemcpyKind, cudaStream_t stream)
{
	emulated::queue(stream, [=] {
		for (size_t i = 0; i < height; i++)
			memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
	});
	return told(cudaSuccess);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	emulated::queue(stream, [=] { memset(to, value, bytes); });
	return told(cudaSuccess);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, 0); }

/* ---- streams and events --------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned, int priority)
{
	*out = new CUstream_st{priority};
	return told(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
	return cudaStreamCreateWithPriority(out, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	delete stream;
	return told(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
	return told(capture ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return told(cudaSuccess); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned)
{
	*out = new CUevent_st();
	return told(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *out) { return cudaEventCreateWithFlags(out, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	delete event;
	return told(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
	event->when = std::chrono::steady_clock::now();
	return told(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t) { return told(cudaSuccess); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return told(cudaSuccess); }

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	*ms = std::chrono::duration<float, std::milli>(to->when - from->when).count();
	return told(cudaSuccess);
}
