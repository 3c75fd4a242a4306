// Marks functions that are compiled for both CPU and CUDA, so that a test on one tests both.
#pragma once

#if defined(__CUDACC__)
#define RW_HD __host__ __device__ __forceinline__
#else
#define RW_HD inline
#endif
