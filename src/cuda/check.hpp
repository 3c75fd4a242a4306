// CUDA's return codes as rewise::Error(device), with the place of the call. fmt stays out: nvcc
// includes this file.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

#include "src/base/error.hpp"

namespace rewise {

// "src/multispin/wolff/wolff.cu:41: out of memory (cudaErrorMemoryAllocation) while allocating 8
// bytes"
inline std::string cuda_error_text(cudaError_t status, const std::string& doing,
                                   const std::source_location& where) {
  std::string file = where.file_name();
  for (const char* root : {"/src/", "/tests/", "/experiments/"}) {
    const auto at = file.rfind(root);
    if (at != std::string::npos) file.erase(0, at + 1);
  }
  return file + ":" + std::to_string(where.line()) + ": " + cudaGetErrorString(status) + " (" +
         cudaGetErrorName(status) + ")" + (doing.empty() ? "" : " while " + doing);
}

// Throws unless the call succeeded. `doing` is a phrase such as "copying the spins to the device".
inline void check_cuda(cudaError_t status, const char* doing = "",
                       std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the runtime would report the same error again at the next launch
  throw Error(ExitCode::device, cuda_error_text(status, doing, where));
}

}  // namespace rewise
