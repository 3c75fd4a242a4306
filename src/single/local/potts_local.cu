// Metropolis and heat-bath sweeps of Potts on a CUDA device: as local.cu does them for Ising, with
// two Philox calls for four sites. In the heat bath a thread keeps up to eight neighbours' states
// sorted in registers; a cell with more of them has a warp, which counts them in shared memory.
#include "src/single/launch_share.hpp"
#include "src/single/local/local_cuda.hpp"
#include "src/single/local/potts_rules.hpp"

namespace rewise::single {
namespace {

constexpr unsigned kThreads = 128;

// The tables of a system's temperature: [max_degree + 1] each.
struct PottsTables {
  const Threshold* flip;
  const std::uint64_t* weight;

  __device__ __forceinline__ PottsTables(const DevicePlan& plan, const DeviceSystems& systems,
                                         std::uint32_t who)
      : flip(plan.flip + offset(plan, systems, who)),
        weight(plan.weight + offset(plan, systems, who)) {}

 private:
  __device__ __forceinline__ static std::size_t offset(const DevicePlan& plan,
                                                       const DeviceSystems& systems,
                                                       std::uint32_t who) {
    return systems.temperature(who) * (std::size_t{plan.max_degree} + 1);
  }
};

// The two words that decide a site.
struct SiteDraws {
  std::uint32_t draw, proposal;

  __device__ __forceinline__ std::uint64_t both() const {
    return std::uint64_t{draw} << 32 | proposal;
  }
};

__device__ __forceinline__ SiteDraws draws_of(const DrawKey& key, std::uint64_t slot) {
  return {slot_draw(key, Stream::single_local, slot),
          slot_draw(key, Stream::single_proposal, slot)};
}

// The new state of a site from its neighbours' in registers.
template <bool kHeatBath, int kCount>
__device__ __forceinline__ std::uint32_t new_state(const PottsTables& tables, std::uint32_t q,
                                                   std::uint32_t old,
                                                   std::uint32_t (&neighbour)[kCount],
                                                   const SiteDraws& draws) {
  if constexpr (kHeatBath) {
    sort_states(neighbour);
    return heat_bath_state(tables.weight, q, neighbour, draws.both());
  } else {
    const std::uint32_t proposed = other_state(draws.proposal, old, q);
    std::uint32_t same = 0, other = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      same += neighbour[i] == old;
      other += neighbour[i] == proposed;
    }
    return metropolis_state(tables.flip, old, same, proposed, other, draws.draw);
  }
}

template <int kDim, bool kHeatBath>
__device__ __forceinline__ void regular_cell(const PottsTables& tables, std::uint32_t q,
                                             const Geometry& g, Site site, const SiteDraws& draws,
                                             std::uint8_t* spins) {
  std::uint32_t c[kDim], neighbour[2 * kDim];
  g.coordinates<kDim>(site, c);
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    neighbour[2 * k] = spins[g.ahead(site, c[k], k)];
    neighbour[2 * k + 1] = spins[g.behind(site, c[k], k)];
  }
  spins[site] =
      static_cast<std::uint8_t>(new_state<kHeatBath>(tables, q, spins[site], neighbour, draws));
}

// Thread i of a block of slots holds the draws of the pairs of sites 64 b + i + 16 j.
template <int kDim, bool kHeatBath>
__device__ __forceinline__ void regular_cells(const DevicePlan& plan, const Geometry& g,
                                              const LocalGroup* groups,
                                              const DeviceSystems& systems, int colour,
                                              std::uint32_t who, std::uint64_t call) {
  const std::uint64_t item =
      static_cast<unsigned>(colour) * plan.site_slots.half / kSlotsPerBlock * kCallsPerBlock + call;
  const DrawKey key = systems.key(who);
  const Words4 draw = random_words(key.seed, Stream::single_local, item, key.who, 0, key.step);
  const Words4 proposal =
      random_words(key.seed, Stream::single_proposal, item, key.who, 0, key.step);
  const PottsTables tables(plan, systems, who);
  std::uint8_t* spins = systems.system(who);
  const std::uint64_t first = (call >> 4) * kSlotsPerBlock + (call & 15u);
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    const std::uint64_t pair = first + 16 * j;
    if (2 * pair >= plan.sites) return;
    const LocalGroup group = groups[pair >> 4];
    const Site even = static_cast<Site>(2 * pair);
    const std::uint32_t odd = (group.colour >> (even & 31u) & 1u) ^ static_cast<unsigned>(colour);
    const Site site = even + odd;
    if ((group.modified >> (site & 31u) & 1u) != 0) continue;
    regular_cell<kDim, kHeatBath>(tables, plan.states, g, site, {draw.w[j], proposal.w[j]}, spins);
  }
}

template <int kDim, bool kHeatBath>
__global__ void __launch_bounds__(kThreads)
    update_regular_potts(const __grid_constant__ DevicePlan plan,
                         const __grid_constant__ Geometry g, const LocalGroup* groups,
                         const __grid_constant__ DeviceSystems systems, int colour,
                         std::uint64_t calls, const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  const std::uint64_t call = static_cast<std::uint64_t>(block) * kThreads + threadIdx.x;
  if (call < calls) {
    regular_cells<kDim, kHeatBath>(plan, g, groups, systems, colour, who, call);
  }
}

// A modified cell as its slice holds it.
struct Cell {
  Site site;
  std::uint32_t degree;
  const Site* neighbour;  // the next one 32 entries on

  __device__ __forceinline__ Cell(const CellSlices& cells, std::uint32_t cell)
      : site(cells.site[cell]),
        degree(cells.degree[cell]),
        neighbour(cells.neighbour + cells.offset[cell / 32] + cell % 32) {}
  __device__ __forceinline__ Site operator[](std::uint32_t j) const {
    return neighbour[32 * std::size_t{j}];
  }
};

__device__ __forceinline__ std::uint32_t metropolis_cell(const PottsTables& tables, std::uint32_t q,
                                                         const Cell& cell,
                                                         const std::uint8_t* spins,
                                                         const SiteDraws& draws) {
  const std::uint32_t old = spins[cell.site], proposed = other_state(draws.proposal, old, q);
  std::uint32_t same = 0, other = 0;
#pragma unroll 4
  for (std::uint32_t j = 0; j < cell.degree; ++j) {
    const std::uint32_t state = spins[cell[j]];
    same += state == old;
    other += state == proposed;
  }
  return metropolis_state(tables.flip, old, same, proposed, other, draws.draw);
}

// Of kFewNeighbours at most.
__device__ __forceinline__ std::uint32_t heat_bath_cell(const PottsTables& tables, std::uint32_t q,
                                                        const Cell& cell, const std::uint8_t* spins,
                                                        const SiteDraws& draws) {
  std::uint32_t neighbour[kFewNeighbours];
#pragma unroll
  for (std::uint32_t j = 0; j < kFewNeighbours; ++j) {
    neighbour[j] = j < cell.degree ? spins[cell[j]] : kNoState;
  }
  sort_states(neighbour);
  return heat_bath_state(tables.weight, q, neighbour, draws.both());
}

template <bool kHeatBath>
__device__ __forceinline__ void modified_cell(const DevicePlan& plan, const CellSlices& cells,
                                              const DeviceSystems& systems, int colour,
                                              std::uint32_t who, std::uint32_t number) {
  const Cell cell(cells, number);
  if (cell.site == kNoCell) return;
  std::uint8_t* spins = systems.system(who);
  const PottsTables tables(plan, systems, who);
  const SiteDraws draws = draws_of(systems.key(who), plan.site_slots.slot(cell.site, colour));
  spins[cell.site] = static_cast<std::uint8_t>(
      kHeatBath ? heat_bath_cell(tables, plan.states, cell, spins, draws)
                : metropolis_cell(tables, plan.states, cell, spins, draws));
}

template <bool kHeatBath>
__global__ void __launch_bounds__(kThreads)
    update_modified_potts(const __grid_constant__ DevicePlan plan, CellSlices cells,
                          const __grid_constant__ DeviceSystems systems, int colour,
                          std::uint32_t first, std::uint32_t last,
                          const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  const std::uint32_t cell = first + block * kThreads + threadIdx.x;
  if (cell < last) modified_cell<kHeatBath>(plan, cells, systems, colour, who, cell);
}

// Heat bath of a cell with many neighbours by a warp: count [256] of its own, in shared memory.
// Each lane has eight states that follow each other.
__device__ __forceinline__ void wide_cell(const DevicePlan& plan, const CellSlices& cells,
                                          const DeviceSystems& systems, int colour,
                                          std::uint32_t who, std::uint32_t number,
                                          std::uint32_t* count) {
  constexpr unsigned kStates = 8;
  const unsigned lane = threadIdx.x % 32, first = kStates * lane;
  const Cell cell(cells, number);
  if (cell.site == kNoCell) return;
  std::uint8_t* spins = systems.system(who);
  const PottsTables tables(plan, systems, who);
#pragma unroll
  for (unsigned i = 0; i < kStates; ++i) count[32 * i + lane] = 0;
  __syncwarp();
  for (std::uint32_t j = lane; j < cell.degree; j += 32) atomicAdd(count + spins[cell[j]], 1u);
  __syncwarp();
  std::uint32_t most = 0;
#pragma unroll
  for (unsigned i = 0; i < kStates; ++i) most = max(most, count[first + i]);
  most = __reduce_max_sync(~0u, most);
  std::uint64_t own = 0;
  for (unsigned i = 0; i < kStates && first + i < plan.states; ++i) {
    own += tables.weight[most - count[first + i]];
  }
  std::uint64_t up_to = own;
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint64_t before = __shfl_up_sync(~0u, up_to, step);
    if (lane >= step) up_to += before;
  }
  const std::uint64_t total = __shfl_sync(~0u, up_to, 31);
  const SiteDraws draws = draws_of(systems.key(who), plan.site_slots.slot(cell.site, colour));
  std::uint64_t rest = mulhi64(draws.both(), total);
  if (rest < up_to - own || rest >= up_to) return;
  rest -= up_to - own;
  std::uint32_t state = first;
  for (; rest >= tables.weight[most - count[state]]; ++state) {
    rest -= tables.weight[most - count[state]];
  }
  spins[cell.site] = static_cast<std::uint8_t>(state);
}

__global__ void __launch_bounds__(kThreads)
    update_wide_potts(const __grid_constant__ DevicePlan plan, CellSlices cells,
                      const __grid_constant__ DeviceSystems systems, int colour,
                      std::uint32_t first, std::uint32_t last,
                      const __grid_constant__ SystemBlocks blocks) {
  __shared__ std::uint32_t count[kThreads / 32][256];
  const auto [who, block] = blocks.place(blockIdx.x);
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t cell = first + block * (kThreads / 32) + warp;
  if (cell < last) wide_cell(plan, cells, systems, colour, who, cell, count[warp]);
}

std::uint64_t blocks_for(std::uint64_t threads) { return (threads + kThreads - 1) / kThreads; }

}  // namespace

void LocalCuda::sweep_colour_potts(int colour, const DeviceSystems& systems,
                                   cudaStream_t stream) const {
  const bool heat_bath = update_ == LocalUpdate::glauber;
  const std::uint64_t calls =
      (plan_.sites / 2 + kSlotsPerBlock - 1) / kSlotsPerBlock * kCallsPerBlock;
  if (any_regular_) {
    with_dim(plan_.lattice.dim, [&]<int kDim>() {
      if constexpr (kDim > 0) {
        launch_share(
            heat_bath ? update_regular_potts<kDim, true> : update_regular_potts<kDim, false>,
            blocks_for(calls), kThreads, systems, stream, plan_, geometry_, groups_.data(), systems,
            colour, calls);
      }
    });
  }
  const auto k = static_cast<std::size_t>(colour);
  const std::uint32_t first = 32 * first_slice_[k], last = 32 * first_slice_[k + 1];
  const std::uint32_t wide = heat_bath ? first_wide_[k] : last;
  const DeviceSystems all = systems.whole();  // the cells are the share's already
  launch_share(heat_bath ? update_modified_potts<true> : update_modified_potts<false>,
               blocks_for(wide - first), kThreads, all, stream, plan_, cells_, all, colour, first,
               wide);
  launch_share(update_wide_potts, blocks_for(32ull * (last - wide)), kThreads, all, stream, plan_,
               cells_, all, colour, wide, last);
}

}  // namespace rewise::single
