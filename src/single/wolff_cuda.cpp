#include "src/single/wolff_cuda.hpp"

namespace rewise::single {

std::unique_ptr<WolffCuda> make_wolff_cuda(WolffMethod method, const DevicePlan& plan,
                                           std::uint32_t systems) {
  switch (method) {
    case WolffMethod::frontier:
      return make_wolff_frontier(plan, systems, false);
    case WolffMethod::frontier_local:
      return make_wolff_frontier(plan, systems, true);
    case WolffMethod::persistent:
      return make_wolff_persistent(plan, systems);
    case WolffMethod::ccl:
      break;
  }
  return make_wolff_ccl(plan, systems);
}

std::uint64_t wolff_bytes(WolffMethod method, std::uint64_t sites, std::uint32_t systems) {
  // A queue or a label per site; `persistent` has its spins as bits besides.
  const std::uint64_t words = sites * systems * sizeof(Site);
  return method == WolffMethod::persistent ? words + sites * systems / 8 : words;
}

WolffMethod default_wolff_method(std::uint64_t /*sites*/, std::uint32_t /*systems*/) {
  return WolffMethod::persistent;
}

}  // namespace rewise::single
