/* fault.h -- real failures of the device, for tests.
 *
 * SPACELAND_CUDA_FAULT=K in the environment: the K-th time that iterations are queued in this process, counted from 1,
 * a kernel that writes to an unmapped address is queued before them, which makes the context unusable. A program that
 * restarted itself because of it (SPACELAND_RESTARTED) does not fail again. Without the variable all this costs one
 * comparison. */
#ifndef SL_GPU_FAULT_H
#define SL_GPU_FAULT_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t sl__fault_if_due(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
