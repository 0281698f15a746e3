/* Opens NCCL. NVLink multicast stays off: a program that uses it and dies can put the GPUs of a machine out of
 * service. */
#include "gpu/group/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define LIBRARY "libnccl.so.2"
#define VERSION_LEAST 21100  /* 2.11: the first that can be captured by several threads */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sl_nccl known;
static void *library;

static int find_all(struct sl_nccl *n, struct sl_error *err)
{
	const struct {
		const char *name;
		void *at;
	} all[] = {
		{"ncclGetVersion", &n->GetVersion}, {"ncclGetErrorString", &n->GetErrorString},
		{"ncclCommInitAll", &n->CommInitAll}, {"ncclCommDestroy", &n->CommDestroy},
		{"ncclCommAbort", &n->CommAbort}, {"ncclAllReduce", &n->AllReduce}, {"ncclBroadcast", &n->Broadcast},
		{"ncclGroupStart", &n->GroupStart}, {"ncclGroupEnd", &n->GroupEnd},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		void *found = dlsym(library, all[i].name);
		if (!found)
			return sl_error_set(err, SL_NODEVICE, LIBRARY " has no function %s.", all[i].name);
		*(void **)all[i].at = found;
	}
	return 0;
}

static int open_library(struct sl_nccl *n, struct sl_error *err)
{
	int version = 0;
	setenv("NCCL_NVLS_ENABLE", "0", 1);
	setenv("NCCL_RUNTIME_CONNECT", "0", 0);  /* connect when the group opens, not while a graph is captured */
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return sl_error_set(err, SL_NODEVICE, "Several GPUs compute together by NCCL, and " LIBRARY " does not open: "
				    "%.300s. Install NCCL 2 (libnccl2), or use one GPU.", dlerror());
	int code = find_all(n, err);
	if (!code && n->GetVersion(&version) == SL_NCCL_SUCCESS && version < VERSION_LEAST)
		code = sl_error_set(err, SL_NODEVICE, "NCCL has version %d.%d; 2.11 or newer is needed for several GPUs.",
				    version < 10000 ? version / 1000 : version / 10000,
				    version < 10000 ? version % 1000 / 100 : version % 10000 / 100);
	if (code) {
		dlclose(library);
		library = NULL;
	}
	return code;
}

int sl__nccl_open(struct sl_nccl *out, struct sl_error *err)
{
	int code = 0;
	pthread_mutex_lock(&lock);
	if (!library)
		code = open_library(&known, err);
	*out = known;
	pthread_mutex_unlock(&lock);
	return code;
}
