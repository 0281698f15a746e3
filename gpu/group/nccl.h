/* nccl.h -- the functions of NCCL that group/ calls. The library is opened at run time, so that the plug-in needs
 * neither its header to be built nor the library to run on one GPU. The types are those of nccl.h, whose binary
 * interface has not changed since version 2.0. */
#ifndef SL_GPU_NCCL_H
#define SL_GPU_NCCL_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclComm *sl_nccl_comm;

/* ncclResult_t, ncclDataType_t, ncclRedOp_t */
enum { SL_NCCL_SUCCESS = 0 };
enum { SL_NCCL_UINT8 = 1, SL_NCCL_UINT64 = 5 };
enum { SL_NCCL_SUM = 0 };

struct sl_nccl {
	int (*GetVersion)(int *version);
	const char *(*GetErrorString)(int status);
	int (*CommInitAll)(sl_nccl_comm *comm, int devices, const int *index);
	int (*CommDestroy)(sl_nccl_comm comm);
	int (*CommAbort)(sl_nccl_comm comm);
	int (*AllReduce)(const void *from, void *to, size_t count, int type, int operation, sl_nccl_comm comm,
			 cudaStream_t stream);
	int (*Broadcast)(const void *from, void *to, size_t count, int type, int root, sl_nccl_comm comm,
			 cudaStream_t stream);
	int (*GroupStart)(void);
	int (*GroupEnd)(void);
};

/* Opens the library, once in a process. Any thread. SL_NODEVICE: it is not installed, or too old. Tests on the emulated
 * GPU have a version of their own. */
int sl__nccl_open(struct sl_nccl *out, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
