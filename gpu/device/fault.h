/* fault.h -- makes the device really fail, for tests.
 *
 * With SPACELAND_CUDA_FAULT=K in the environment, the K-th time (from 1) that this process queues iterations, a kernel
 * that writes to an unmapped address is queued before them. It makes the context unusable. A program that restarted
 * itself because of that (SPACELAND_RESTARTED) does not fail again. If the value is the absolute path of a file, this
 * happens whenever the file is there; it is removed then. Without the variable, the cost is one comparison. */
#ifndef SL_GPU_FAULT_H
#define SL_GPU_FAULT_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Queues that kernel if it is due. */
cudaError_t sl__fault_if_due(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
