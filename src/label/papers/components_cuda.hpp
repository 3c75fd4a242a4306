// Connected components of a bond configuration on a CUDA device, for `rewise label` and for tests:
// the labels of src/label/labeller.hpp, by the same methods.
#pragma once

#include <cstdint>
#include <vector>

#include "src/label/configuration.hpp"
#include "src/label/method.hpp"

namespace rewise {

struct CudaComponents {
  std::vector<Site> label;   // [sites] smallest site of the component; kNoLabel where absent
  double label_seconds = 0;  // on the device, within tiles
  double merge_seconds = 0;  // the total for methods without tiles
};

// `tile`: edge of tiles, 0 for the method's default. Labels `repeats` times and returns the fastest
// time. Throws Error(device) if there is no such device or its memory is too small.
CudaComponents label_components_cuda(const BondConfiguration& configuration, LabelMethod method,
                                     std::uint32_t tile, int device, int repeats = 1);

}  // namespace rewise
