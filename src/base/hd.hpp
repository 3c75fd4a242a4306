// Marks the small rules that CPU and CUDA share, so that a test on either side tests both.
#pragma once

#if defined(__CUDACC__)
#define RW_HD __host__ __device__ __forceinline__
#else
#define RW_HD inline
#endif
