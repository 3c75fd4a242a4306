// Wolff updates of all systems on a CUDA device (wolff.hpp says what an update is; same bits), by
// the methods of WolffMethod:
//
//   frontier        one kernel per level of the search, over the queues of all systems at once;
//                   spins stay bytes in global memory (wolff_frontier.cu)
//   frontier-local  the same, but a block that took sites from the queue goes on with what they
//                   lead to in shared memory before it gives the rest back (wolff_frontier.cu)
//   persistent      one cooperative kernel makes all updates of a cycle; a system is a group of
//                   blocks with a barrier of their own (wolff_persistent.cu)
//   ccl             labels the clusters of all bonds and flips the one of the seed (wolff_ccl.cu)
//
// Every method adds the sizes of the flipped clusters to DeviceSystems::pending.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "src/bytespin/device_plan.hpp"
#include "src/engine/engine.hpp"

namespace rewise {
enum class WolffMethod;  // methods.hpp
}

namespace rewise::bytespin {

// A method with its work space on the device that was current when it was made.
class WolffCuda {
 public:
  virtual ~WolffCuda() = default;

  // Makes `updates` updates, numbered from systems.step on, of every system: those that the object
  // was made for. Queues work on the stream; where the method needs to know whether a cluster is
  // complete (frontier, frontier-local) it waits for the stream now and then, the others never do.
  virtual void run(const DeviceSystems& systems, std::uint32_t updates, cudaStream_t stream) = 0;
};

// Bytes of work space on the device; `stride` is DeviceSystems::stride, of `plan` only the numbers
// are used.
std::uint64_t wolff_bytes(WolffMethod method, const DevicePlan& plan, std::uint32_t systems,
                          std::uint64_t stride);

// For these systems, whose spins stay where they are. `plan` points to device memory that must
// outlive the result. Error(device) where the work space does not fit, Error(usage) where the
// method does not take so large a graph.
std::unique_ptr<WolffCuda> make_wolff_cuda(WolffMethod method, const DevicePlan& plan,
                                           const DeviceSystems& systems, cudaStream_t stream);

// The method that the engine takes if none is asked for: the fastest near Tc (RESULTS.md). Of
// `plan` only the numbers are used.
WolffMethod default_wolff_method(const DevicePlan& plan, std::uint32_t systems);

// Used by make_wolff_cuda().
std::unique_ptr<WolffCuda> make_wolff_frontier(const DevicePlan& plan, std::uint32_t systems,
                                               bool local);
std::unique_ptr<WolffCuda> make_wolff_persistent(const DevicePlan& plan, std::uint32_t systems);
std::unique_ptr<WolffCuda> make_wolff_ccl(const DevicePlan& plan, const DeviceSystems& systems,
                                          cudaStream_t stream);

}  // namespace rewise::bytespin
