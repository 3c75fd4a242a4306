// Wolff updates of all replicas on a CUDA device (wolff.hpp defines the update; same bits), by the
// methods of WolffMethod:
//
//   frontier        one kernel per level of the search, over the queues of all replicas; spins stay
//                   bytes in global memory (wolff_frontier.cu)
//   frontier-local  the same, but a block continues from its sites of the queue in shared memory
//                   for some levels before it returns the rest (wolff_frontier.cu)
//   persistent      one cooperative kernel makes all updates of a cycle; a group of blocks with its
//                   own barrier processes a replica (wolff_persistent.cu)
//   ccl             labels the clusters of all bonds and flips the one of the seed (wolff_ccl.cu)
//
// Every method adds the sizes of the flipped clusters to DeviceReplicas::pending.
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

// A method with its work space on the device that was current when it was created.
class WolffCuda {
 public:
  virtual ~WolffCuda() = default;

  // Queues `updates` updates of every replica that the object was created for, numbered from
  // replicas.step on. frontier and frontier-local wait for the stream from time to time, to check
  // whether the clusters are complete; the other methods never wait.
  virtual void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) = 0;
};

// Bytes of work space on the device. `stride`: DeviceReplicas::stride. Reads only the numbers of
// `plan`, not its device pointers.
std::uint64_t wolff_bytes(WolffMethod method, const DevicePlan& plan, std::uint32_t replicas,
                          std::uint64_t stride);

// The replicas' spins must keep their addresses, and the device memory of `plan` must outlive the
// result.
// Throws Error(device) if the work space does not fit, Error(usage) if the graph is too large for
// the method.
std::unique_ptr<WolffCuda> make_wolff_cuda(WolffMethod method, const DevicePlan& plan,
                                           const DeviceReplicas& replicas, cudaStream_t stream);

// The default method: the fastest near Tc (RESULTS.md). Reads only the numbers of `plan`.
WolffMethod default_wolff_method(const DevicePlan& plan, std::uint32_t replicas);

// Used by make_wolff_cuda().
std::unique_ptr<WolffCuda> make_wolff_frontier(const DevicePlan& plan, std::uint32_t replicas,
                                               bool local);
std::unique_ptr<WolffCuda> make_wolff_persistent(const DevicePlan& plan, std::uint32_t replicas);
std::unique_ptr<WolffCuda> make_wolff_ccl(const DevicePlan& plan, const DeviceReplicas& replicas,
                                          cudaStream_t stream);

}  // namespace rewise::bytespin
