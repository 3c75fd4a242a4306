#include "src/bytespin/wolff/wolff_cuda.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::bytespin {
namespace {

// The candidates of `persistent` store a slot in 32 bits.
constexpr std::uint64_t kMaxSlots = std::uint64_t{1} << 32;
// A block per replica is faster than labelling with at least kManyReplicas replicas, or with fewer
// than kFewSites sites.
constexpr std::uint32_t kManyReplicas = 64;
constexpr std::uint64_t kFewSites = 1u << 15;

}  // namespace

std::unique_ptr<WolffCuda> make_wolff_cuda(WolffMethod method, const DevicePlan& plan,
                                           const DeviceReplicas& replicas, cudaStream_t stream) {
  if (method == WolffMethod::persistent && plan.slots > kMaxSlots) {
    throw Error(ExitCode::usage,
                fmt::format("Wolff method 'persistent' supports up to {} bonds, not {} "
                            "(choose ccl or frontier-local)",
                            kMaxSlots, plan.slots));
  }
  switch (method) {
    case WolffMethod::frontier:
      return make_wolff_frontier(plan, replicas.count, false);
    case WolffMethod::frontier_local:
      return make_wolff_frontier(plan, replicas.count, true);
    case WolffMethod::persistent:
      return make_wolff_persistent(plan, replicas.count);
    case WolffMethod::ccl:
    case WolffMethod::automatic:
      break;
  }
  return make_wolff_ccl(plan, replicas, stream);
}

std::uint64_t wolff_bytes(WolffMethod method, const DevicePlan& plan, std::uint32_t replicas,
                          std::uint64_t stride) {
  if (method == WolffMethod::ccl) return SwendsenWangCuda::bytes(plan, replicas, stride);
  // A queue; `persistent` also needs the spins as bits.
  const std::uint64_t queues = plan.sites * replicas * sizeof(Site);
  return method == WolffMethod::persistent ? queues + plan.sites * replicas / 8 : queues;
}

// On a plain lattice a search at Tc takes about L levels. Shortcuts reduce their number: near Tc
// one rewired bond in a hundred sites is enough for a search to be faster than labelling all.
WolffMethod default_wolff_method(const DevicePlan& plan, std::uint32_t replicas) {
  if (plan.slots > kMaxSlots) return WolffMethod::ccl;
  const bool search =
      replicas >= kManyReplicas || plan.sites < kFewSites || plan.rewired_count * 100 >= plan.sites;
  return search ? WolffMethod::persistent : WolffMethod::ccl;
}

}  // namespace rewise::bytespin
