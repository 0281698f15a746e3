/* runtime.h -- streams that execute commands at once, or add them to a graph; see runtime.cc. */
#ifndef SL_EMULATED_RUNTIME_H
#define SL_EMULATED_RUNTIME_H

#include <cuda_runtime_api.h>

#include <functional>

namespace emulated {

/* Executes the command now or, if the calling thread captures, in each launch of the graph. Does nothing on a failed
 * device. */
void queue(cudaStream_t stream, const std::function<void()> &what);

/* From now on every call on every stream fails, as after a kernel's access to unmapped memory, until the device is
 * reset. */
void fail(cudaError_t status);

} // namespace emulated

#endif
