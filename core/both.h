/* both.h -- SL_BOTH: a function for the host and, compiled by nvcc, for the device. */
#ifndef SL_BOTH_H
#define SL_BOTH_H

#ifdef __CUDACC__
#define SL_BOTH static __host__ __device__ __forceinline__
#else
#define SL_BOTH static inline
#endif

#endif
