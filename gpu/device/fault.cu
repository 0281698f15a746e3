/* An illegal access on purpose, if the environment says so: for tests of a lost device. */
#include <stdlib.h>
#include <unistd.h>

#include "gpu/device/fault.h"

static __global__ void write_nowhere(int *address) { *address = 1; }

cudaError_t sl__fault_if_due(cudaStream_t stream)
{
	static long due = -1;  /* needs no lock: in tests only one device thread runs at a time */
	static const char *file;
	static int known;
	if (!known) {
		const char *text = getenv("SPACELAND_CUDA_FAULT");
		file = text && *text == '/' ? text : NULL;
		due = text && !file && !getenv("SPACELAND_RESTARTED") ? strtol(text, NULL, 10) : 0;
		known = 1;
	}
	if (file ? unlink(file) != 0 : due <= 0 || --due > 0)
		return cudaSuccess;
	write_nowhere<<<1, 1, 0, stream>>>((int *)0x10);
	return cudaGetLastError();
}
