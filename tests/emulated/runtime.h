/* runtime.h -- streams that execute commands at once, or add them to a graph; see runtime.cc. */
#ifndef SL_EMULATED_RUNTIME_H
#define SL_EMULATED_RUNTIME_H

#include <cuda_runtime_api.h>

#include <functional>

namespace emulated {

/* Does it now, or, where the calling thread captures, in each launch of the graph. Nothing on a device that failed. */
void queue(cudaStream_t stream, const std::function<void()> &what);

/* From now on every call of every stream fails, as after a kernel's access to memory that is nobody's; until the device
 * is reset. */
void fail(cudaError_t status);

} // namespace emulated

#endif
