// Wolff's cluster by one cooperative kernel (Komura & Okabe 2012): blocks that are all resident
// search breadth first with a wave-front queue and a barrier between levels, through all updates of
// a cycle.
//
// Their barrier spans the grid and their levels go to all blocks. Here a system has a team of
// blocks and the team a barrier: with as many systems as multiprocessors a team is one block and
// its barrier __syncthreads(). And a level goes to the whole team only where it is wide: one block
// leads, keeps the frontier in its shared memory and takes narrow levels alone, since near Tc
// a cluster of 2 10^5 sites has levels of 100 sites and a barrier across blocks costs more than
// their work.
//
// The systems' spins are packed to bits for the length of the launch. The leader holds them in
// shared memory where they fit (L = 1024 in 2D does) and gives them to the team for wide levels.
// Potts: spins stay where they are, bytes in global memory.
//
// Cost: near Tc about a microsecond per level, the latency of a candidate's way through one block
// (its draw, two atomics, a barrier), and about 2 us where the team takes it; per launch the spins
// are read and written once.
#include <algorithm>

#include "src/cuda/device_buffer.hpp"
#include "src/cuda/launch.hpp"
#include "src/single/wolff/wolff_cuda.hpp"
#include "src/single/wolff/wolff_member.cuh"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kMostThreads = 512;

template <int kDim, Hold kHold>
__global__ void __launch_bounds__(kMostThreads, 1)
    wolff_updates(const __grid_constant__ PersistentRun run) {
  extern __shared__ uint4 dynamic[];
  __shared__ CandidateShared counts;
  __shared__ GrowthCounts common;
  auto* const candidates = reinterpret_cast<Candidate*>(dynamic);
  const Memory memory{reinterpret_cast<std::uint32_t*>(candidates + 2 * run.capacity), candidates};
  Member<kDim, kHold> member(run, memory, counts, common);
  for (std::uint32_t who = blockIdx.x / run.blocks; who < run.systems.systems; who += run.teams) {
    member.serve(who);
  }
}

using Kernel = void (*)(PersistentRun);

Kernel kernel_for(int dim, Hold hold) {
  return with_dim(dim, [&]<int kDim>() -> Kernel {
    if (hold == Hold::states) return wolff_updates<kDim, Hold::states>;
    return hold == Hold::shared_bits ? wolff_updates<kDim, Hold::shared_bits>
                                     : wolff_updates<kDim, Hold::global_bits>;
  });
}

unsigned attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&value, which, device));
  return static_cast<unsigned>(value);
}

// Never lowered: an engine with a larger lattice may have set it.
void raise_shared_memory(Kernel kernel, int bytes) {
  cudaFuncAttributes now{};
  check_cuda(cudaFuncGetAttributes(&now, kernel));
  if (now.maxDynamicSharedSizeBytes >= bytes) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

class Persistent final : public WolffCuda {
 public:
  Persistent(const DevicePlan& plan, std::uint32_t systems) {
    run_.plan = plan;
    run_.geometry = Geometry::make(plan.lattice);
    run_.words = plan.potts ? 0 : (plan.sites + 31) / 32;
    run_.together = 1024;
    run_.alone = 512;
    run_.capacity = plan.sites < 16384 ? 512 : plan.sites < 131072 ? 2048 : 4096;
    const std::size_t candidates = 2 * run_.capacity * sizeof(Candidate);
    const std::size_t plane = run_.words * sizeof(std::uint32_t);
    const bool fits =
        plane + candidates + 1024 <= attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    kernel_ = kernel_for(plan.lattice.dim, plan.potts ? Hold::states
                                           : fits     ? Hold::shared_bits
                                                      : Hold::global_bits);
    shape_.cooperative = true;
    shape_.shared = candidates + (fits ? plane : 0);
    shape_.threads = plan.sites <= 4096    ? 64
                     : plan.sites <= 16384 ? 128
                     : plan.sites <= 65536 ? 256
                                           : kMostThreads;
    raise_shared_memory(kernel_, static_cast<int>(shape_.shared));
    int per = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &per, kernel_, static_cast<int>(shape_.threads), shape_.shared));
    const unsigned processors = attribute(cudaDevAttrMultiProcessorCount);
    const unsigned most = processors * std::max(1u, static_cast<unsigned>(per));
    run_.teams = std::min(systems, most);
    // Small systems have no levels to share.
    const auto useful = plan.sites < 16384 ? 1 : static_cast<unsigned>(plan.sites / 8192);
    run_.blocks = std::clamp(std::min(most, processors) / run_.teams, 1u, useful);
    shape_.blocks = run_.teams * run_.blocks;
    team_ = DeviceBuffer<Team>(run_.teams);
    planes_ = DeviceBuffer<std::uint32_t>(run_.teams * run_.words);
    queues_ = DeviceBuffer<Site>(run_.teams * plan.sites);
    run_.team = team_.data();
    run_.planes = planes_.data();
    run_.queues = queues_.data();
  }

  void run(const DeviceSystems& systems, std::uint32_t updates, cudaStream_t stream) override {
    run_.systems = systems;
    run_.updates = updates;
    team_.clear(stream);
    launch(kernel_, shape_, stream, run_);
  }

 private:
  Kernel kernel_;
  LaunchShape shape_;
  PersistentRun run_{};
  DeviceBuffer<Team> team_;
  DeviceBuffer<std::uint32_t> planes_;
  DeviceBuffer<Site> queues_;
};

}  // namespace

std::unique_ptr<WolffCuda> make_wolff_persistent(const DevicePlan& plan, std::uint32_t systems) {
  return std::make_unique<Persistent>(plan, systems);
}

}  // namespace rewise::single
