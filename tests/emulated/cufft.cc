/* Implements with FFTW the cuFFT functions that the engine calls: single transforms, real to complex and back, in
 * float. */
#include <cufft.h>
#include <fftw3.h>

#include <map>
#include <mutex>

#include "tests/emulated/runtime.h"

namespace {

struct plan {
	int rank, n[3];
	cufftType type;
	cudaStream_t stream;
};

std::mutex lock;
std::map<cufftHandle, struct plan> plans;
cufftHandle last;

struct plan *find(cufftHandle handle)
{
	auto found = plans.find(handle);
	return found == plans.end() ? NULL : &found->second;
}

cufftResult execute(cufftHandle handle, cufftType type, void *in, void *out)
{
	std::unique_lock<std::mutex> l(lock);
	struct plan *p = find(handle);
	if (!p || p->type != type)
		return CUFFT_INVALID_PLAN;
	struct plan copy = *p;
	l.unlock();
	emulated::queue(copy.stream, [=] {
		std::lock_guard<std::mutex> l(lock);  /* FFTW's planner is not thread-safe */
		const unsigned flags = FFTW_ESTIMATE | FFTW_DESTROY_INPUT | FFTW_UNALIGNED;
		fftwf_plan f = type == CUFFT_R2C ?
			fftwf_plan_dft_r2c(copy.rank, copy.n, (float *)in, (fftwf_complex *)out, flags & ~FFTW_DESTROY_INPUT) :
			fftwf_plan_dft_c2r(copy.rank, copy.n, (fftwf_complex *)in, (float *)out, flags);
		fftwf_execute(f);
		fftwf_destroy_plan(f);
	});
	return CUFFT_SUCCESS;
}

} // namespace

cufftResult cufftCreate(cufftHandle *handle)
{
	std::lock_guard<std::mutex> l(lock);
	*handle = ++last;
	plans[*handle] = {};
	return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle)
{
	std::lock_guard<std::mutex> l(lock);
	return plans.erase(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetAutoAllocation(cufftHandle, int) { return CUFFT_SUCCESS; }
cufftResult cufftSetWorkArea(cufftHandle, void *) { return CUFFT_SUCCESS; }

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
	std::lock_guard<std::mutex> l(lock);
	struct plan *p = find(handle);
	if (!p)
		return CUFFT_INVALID_PLAN;
	p->stream = stream;
	return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int *n, int *, int, int, int *, int, int, cufftType type,
			      int batch, size_t *work)
{
	std::lock_guard<std::mutex> l(lock);
	struct plan *p = find(handle);
	if (!p || rank < 1 || rank > 3 || batch != 1)
		return CUFFT_INVALID_PLAN;
	p->rank = rank;
	p->type = type;
	for (int i = 0; i < rank; i++)
		p->n[i] = n[i];
	*work = 256;
	return CUFFT_SUCCESS;
}

cufftResult cufftExecR2C(cufftHandle handle, cufftReal *in, cufftComplex *out)
{
	return execute(handle, CUFFT_R2C, in, out);
}

cufftResult cufftExecC2R(cufftHandle handle, cufftComplex *in, cufftReal *out)
{
	return execute(handle, CUFFT_C2R, in, out);
}
