// Metropolis and Glauber sweeps (local_cuda.hpp). The kernels visit sites; a rule (IsingFlip,
// PottsMetropolis or PottsHeatBath) defines the random words of a site and its new state. A rule
// points to the thresholds of one replica; next<kCount>() returns a site's new state and reads the
// neighbours through each(f), which calls f for every neighbour. In the heat bath a thread keeps
// the states of up to kFewNeighbours neighbours sorted in registers. A site with more neighbours is
// processed by a warp, which counts their states in shared memory.
#include <algorithm>

#include "src/bytespin/local/local_cuda.hpp"
#include "src/bytespin/local/potts_rules.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bytespin {
namespace {

constexpr unsigned kThreads = 128;

// The draws of four sites whose draw indices are 16 apart; one(): the draw of one site.
struct IsingDraws {
  Words4 draw;

  __device__ __forceinline__ IsingDraws(const DrawKey& key, std::uint64_t item)
      : draw(key.words(Stream::bytespin_local, item)) {}
  __device__ __forceinline__ std::uint32_t operator[](unsigned j) const { return draw.w[j]; }
  __device__ __forceinline__ static std::uint32_t one(const DrawKey& key,
                                                      std::uint64_t draw_index) {
    return draw_at(key, Stream::bytespin_local, draw_index);
  }
};

// Metropolis and Glauber of Ising, which differ in the table only.
class IsingFlip {
 public:
  using Draws = IsingDraws;
  static constexpr bool kSorts = false;

  __device__ __forceinline__ IsingFlip(const GraphView& graph, const DeviceReplicas& replicas,
                                       std::uint32_t replica)
      : flip_(graph.flip + replicas.temperature(replica) * (2 * std::size_t{graph.max_degree} + 1) +
              graph.max_degree) {}

  template <std::uint32_t kCount, class Each>
  __device__ __forceinline__ std::uint32_t next(std::uint32_t old, std::uint32_t degree,
                                                std::uint32_t draw, const Each& each) const {
    std::uint32_t up = 0;
    each([&](std::uint32_t spin) { up += spin; });
    const int field = 2 * static_cast<int>(up) - static_cast<int>(degree);
    return old ^ static_cast<std::uint32_t>(is_below(draw, flip_[old != 0 ? field : -field]));
  }

 private:
  const Threshold* flip_;  // by s h, the field along the spin
};

// The tables of a replica's temperature, [max_degree + 1] each.
struct PottsTables {
  const Threshold* flip;
  const std::uint64_t* weight;

  __device__ __forceinline__ PottsTables(const GraphView& graph, const DeviceReplicas& replicas,
                                         std::uint32_t replica)
      : flip(graph.flip + offset(graph, replicas, replica)),
        weight(graph.weight + offset(graph, replicas, replica)) {}

 private:
  __device__ __forceinline__ static std::size_t offset(const GraphView& graph,
                                                       const DeviceReplicas& replicas,
                                                       std::uint32_t replica) {
    return replicas.temperature(replica) * (std::size_t{graph.max_degree} + 1);
  }
};

// The two random words of a site's update.
struct PottsDraw {
  std::uint32_t draw, proposal;

  __device__ __forceinline__ std::uint64_t both() const {
    return std::uint64_t{draw} << 32 | proposal;
  }
};

struct PottsDraws {
  IsingDraws draw;
  Words4 proposal;

  __device__ __forceinline__ PottsDraws(const DrawKey& key, std::uint64_t item)
      : draw(key, item), proposal(key.words(Stream::bytespin_proposal, item)) {}
  __device__ __forceinline__ PottsDraw operator[](unsigned j) const {
    return {draw[j], proposal.w[j]};
  }
  __device__ __forceinline__ static PottsDraw one(const DrawKey& key, std::uint64_t draw_index) {
    return {draw_at(key, Stream::bytespin_local, draw_index),
            draw_at(key, Stream::bytespin_proposal, draw_index)};
  }
};

class PottsMetropolis {
 public:
  using Draws = PottsDraws;
  static constexpr bool kSorts = false;

  __device__ __forceinline__ PottsMetropolis(const GraphView& graph, const DeviceReplicas& replicas,
                                             std::uint32_t replica)
      : tables_(graph, replicas, replica), q_(graph.states) {}

  template <std::uint32_t kCount, class Each>
  __device__ __forceinline__ std::uint32_t next(std::uint32_t old, std::uint32_t,
                                                const PottsDraw& draw, const Each& each) const {
    const std::uint32_t proposed = other_state(draw.proposal, old, q_);
    std::uint32_t same = 0, other = 0;
    each([&](std::uint32_t state) {
      same += state == old;
      other += state == proposed;
    });
    return metropolis_state(tables_.flip, old, same, proposed, other, draw.draw);
  }

 private:
  PottsTables tables_;
  std::uint32_t q_;
};

class PottsHeatBath {
 public:
  using Draws = PottsDraws;
  static constexpr bool kSorts = true;  // each() passes kCount states, the last ones kNoState

  __device__ __forceinline__ PottsHeatBath(const GraphView& graph, const DeviceReplicas& replicas,
                                           std::uint32_t replica)
      : tables_(graph, replicas, replica), q_(graph.states) {}

  template <std::uint32_t kCount, class Each>
  __device__ __forceinline__ std::uint32_t next(std::uint32_t, std::uint32_t, const PottsDraw& draw,
                                                const Each& each) const {
    std::uint32_t neighbour[kCount];
    unsigned count = 0;
    each([&](std::uint32_t state) { neighbour[count++] = state; });
    sort_states(neighbour);
    return heat_bath_state(tables_.weight, q_, neighbour, draw.both());
  }

 private:
  PottsTables tables_;
  std::uint32_t q_;
};

template <int kDim, class Rule, class Draw>
__device__ __forceinline__ void regular_cell(const Rule& rule, const Geometry& g,
                                             const SiteMasks& masks, Site site, const Draw& draw,
                                             std::uint8_t* spins) {
  const auto each = [&](const auto& f) {
    if ((masks.edge >> (site & 31u) & 1u) == 0) {
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        f(spins[site + g.stride[k]]);
        f(spins[site - g.stride[k]]);
      }
      return;
    }
    std::uint32_t c[kDim];
    g.coordinates<kDim>(site, c);
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      f(spins[g.forward(site, c[k], k)]);
      f(spins[g.backward(site, c[k], k)]);
    }
  };
  spins[site] =
      static_cast<std::uint8_t>(rule.template next<2 * kDim>(spins[site], 2 * kDim, draw, each));
}

// Updates four sites. Call i of the 16 Philox calls of block b has the draws of the pairs of
// sites 64 b + i + 16 j, j = 0 .. 3. One site of each pair has the colour.
template <int kDim, class Rule>
__device__ __forceinline__ void regular_cells(const GraphView& graph, const Geometry& g,
                                              const DeviceReplicas& replicas, int colour,
                                              std::uint32_t replica, std::uint64_t call) {
  const std::uint64_t first_call =
      static_cast<unsigned>(colour) * graph.site_draw_index.half / kDrawsPerBlock * kCallsPerBlock;
  const typename Rule::Draws draws(replicas.key(replica), first_call + call);
  const Rule rule(graph, replicas, replica);
  std::uint8_t* spins = replicas.spins_of(replica);
  const std::uint64_t first = (call >> 4) * kDrawsPerBlock + (call & 15u);
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    const std::uint64_t pair = first + 16 * j;
    if (2 * pair >= graph.sites) return;
    const SiteMasks masks = graph.site_masks[pair >> 4];
    const Site even = static_cast<Site>(2 * pair);
    const std::uint32_t odd = (masks.colour >> (even & 31u) & 1u) ^ static_cast<unsigned>(colour);
    const Site site = even + odd;
    if ((masks.modified >> (site & 31u) & 1u) != 0) continue;
    regular_cell<kDim>(rule, g, masks, site, draws[j], spins);
  }
}

template <int kDim, class Rule>
__global__ void __launch_bounds__(kThreads)
    update_regular(const __grid_constant__ GraphView graph, const __grid_constant__ Geometry g,
                   const __grid_constant__ DeviceReplicas replicas, int colour, std::uint64_t calls,
                   const __grid_constant__ ReplicaBlocks blocks) {
  const auto [replica, block] = blocks.position(blockIdx.x);
  const std::uint64_t call = static_cast<std::uint64_t>(block) * kThreads + threadIdx.x;
  if (call < calls) regular_cells<kDim, Rule>(graph, g, replicas, colour, replica, call);
}

// A modified cell as stored in its slice.
struct Cell {
  Site site;
  std::uint32_t degree;
  const Site* neighbour;  // the next one is 32 entries further on

  __device__ __forceinline__ Cell(const CellSlices& cells, std::uint32_t cell)
      : site(cells.site[cell]),
        degree(cells.degree[cell]),
        neighbour(cells.neighbour + cells.offset[cell / 32] + cell % 32) {}
  __device__ __forceinline__ Site operator[](std::uint32_t j) const {
    return neighbour[32 * std::size_t{j}];
  }
};

template <class Rule>
__device__ __forceinline__ void modified_cell(const GraphView& graph, const CellSlices& cells,
                                              const DeviceReplicas& replicas, int colour,
                                              std::uint32_t replica, std::uint32_t number) {
  const Cell cell(cells, number);
  if (cell.site == kNoCell) return;
  std::uint8_t* spins = replicas.spins_of(replica);
  const auto each = [&](const auto& f) {
    if constexpr (Rule::kSorts) {
#pragma unroll
      for (std::uint32_t j = 0; j < kFewNeighbours; ++j) {
        f(j < cell.degree ? std::uint32_t{spins[cell[j]]} : kNoState);
      }
    } else {
#pragma unroll 4
      for (std::uint32_t j = 0; j < cell.degree; ++j) f(spins[cell[j]]);
    }
  };
  const Rule rule(graph, replicas, replica);
  const auto draw =
      Rule::Draws::one(replicas.key(replica), graph.site_draw_index.at(cell.site, colour));
  spins[cell.site] = static_cast<std::uint8_t>(
      rule.template next<kFewNeighbours>(spins[cell.site], cell.degree, draw, each));
}

template <class Rule>
__global__ void __launch_bounds__(kThreads)
    update_modified(const __grid_constant__ GraphView graph, CellSlices cells,
                    const __grid_constant__ DeviceReplicas replicas, int colour,
                    std::uint32_t first, std::uint32_t last,
                    const __grid_constant__ ReplicaBlocks blocks) {
  const auto [replica, block] = blocks.position(blockIdx.x);
  const std::uint32_t cell = first + block * kThreads + threadIdx.x;
  if (cell < last) modified_cell<Rule>(graph, cells, replicas, colour, replica, cell);
}

// Heat bath of a site with many neighbours by a warp. count: [256] in shared memory, neighbours in
// each state. Lane l adds up the weights of states 8 l to 8 l + 7.
__device__ __forceinline__ void wide_cell(const GraphView& graph, const CellSlices& cells,
                                          const DeviceReplicas& replicas, int colour,
                                          std::uint32_t replica, std::uint32_t number,
                                          std::uint32_t* count) {
  constexpr unsigned kStates = 8;
  const unsigned lane = threadIdx.x % 32, first = kStates * lane;
  const Cell cell(cells, number);
  if (cell.site == kNoCell) return;
  std::uint8_t* spins = replicas.spins_of(replica);
  const PottsTables tables(graph, replicas, replica);
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
  for (unsigned i = 0; i < kStates && first + i < graph.states; ++i) {
    own += tables.weight[most - count[first + i]];
  }
  std::uint64_t up_to = own;
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint64_t before = __shfl_up_sync(~0u, up_to, step);
    if (lane >= step) up_to += before;
  }
  const std::uint64_t total = __shfl_sync(~0u, up_to, 31);
  const PottsDraw draw =
      PottsDraws::one(replicas.key(replica), graph.site_draw_index.at(cell.site, colour));
  std::uint64_t rest = mulhi64(draw.both(), total);
  if (rest < up_to - own || rest >= up_to) return;
  rest -= up_to - own;
  std::uint32_t state = first;
  for (; rest >= tables.weight[most - count[state]]; ++state) {
    rest -= tables.weight[most - count[state]];
  }
  spins[cell.site] = static_cast<std::uint8_t>(state);
}

__global__ void __launch_bounds__(kThreads)
    update_wide(const __grid_constant__ GraphView graph, CellSlices cells,
                const __grid_constant__ DeviceReplicas replicas, int colour, std::uint32_t first,
                std::uint32_t last, const __grid_constant__ ReplicaBlocks blocks) {
  __shared__ std::uint32_t count[kThreads / 32][256];
  const auto [replica, block] = blocks.position(blockIdx.x);
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t cell = first + block * (kThreads / 32) + warp;
  if (cell < last) wide_cell(graph, cells, replicas, colour, replica, cell, count[warp]);
}

std::uint64_t blocks_for(std::uint64_t items) { return (items + kThreads - 1) / kThreads; }

}  // namespace

LocalCuda::LocalCuda(const GraphTables& tables, const GraphView& device, LocalUpdate update,
                     cudaStream_t stream, const DevicePart& part)
    : update_(update),
      graph_(device),
      geometry_(Geometry::make(tables.lattice)),
      colours_(tables.graph.colours()),
      first_slice_(1, 0),
      any_regular_(tables.graph.modified_sites().size() < tables.sites) {
  sort_cells(tables, part, stream);
}

std::uint64_t LocalCuda::bytes(const GraphTables& tables) {
  const std::uint64_t cells = tables.graph.modified_sites().size();
  // Slices of 32 cells are padded to their largest degree. Cells are sorted by degree, so padding
  // adds at most 32 entries of 4 bytes for each unit of a colour's largest degree.
  const auto colours = static_cast<std::uint64_t>(tables.graph.colours());
  return cells * 9 + tables.entries.size() * 4 + 128 * colours * tables.max_degree;
}

void LocalCuda::sort_cells(const GraphTables& tables, const DevicePart& part, cudaStream_t stream) {
  const Graph& graph = tables.graph;
  const auto offsets = graph.offsets();
  std::vector<Site> site, neighbour;
  std::vector<std::uint32_t> degree;
  std::vector<std::uint64_t> offset;
  for (int colour = 0; colour < colours_; ++colour) {
    std::vector<std::uint32_t> cells;
    for (const std::uint32_t cell : graph.modified_of_colour(colour)) {
      if (part.has(graph.modified_sites()[cell], tables.sites)) cells.push_back(cell);
    }
    const auto degree_of = [&](std::uint32_t c) { return offsets[c + 1] - offsets[c]; };
    std::stable_sort(cells.begin(), cells.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return degree_of(a) < degree_of(b); });
    const auto few = std::partition_point(cells.begin(), cells.end(), [&](std::uint32_t c) {
      return degree_of(c) <= kFewNeighbours;
    });
    const std::size_t first_wide = site.size() + static_cast<std::size_t>(few - cells.begin());
    for (std::size_t first = 0; first < cells.size(); first += 32) {
      const std::size_t count = std::min<std::size_t>(32, cells.size() - first);
      offset.push_back(neighbour.size());
      neighbour.resize(neighbour.size() + 32 * degree_of(cells[first + count - 1]), 0);
      for (std::size_t i = 0; i < 32; ++i) {
        if (i >= count) {
          site.push_back(kNoCell);
          degree.push_back(0);
          continue;
        }
        const std::uint32_t cell = cells[first + i];
        site.push_back(graph.modified_sites()[cell]);
        degree.push_back(static_cast<std::uint32_t>(degree_of(cell)));
        for (std::uint64_t j = 0; j < degree_of(cell); ++j) {
          neighbour[offset.back() + 32 * j + i] = graph.neighbours()[offsets[cell] + j];
        }
      }
    }
    first_wide_.push_back(
        static_cast<std::uint32_t>(few == cells.end() ? site.size() : first_wide));
    first_slice_.push_back(static_cast<std::uint32_t>(offset.size()));
  }
  cells_ = {memory_.upload(site, stream), memory_.upload(degree, stream),
            memory_.upload(offset, stream), memory_.upload(neighbour, stream)};
}

// Sites per block of sweep_regular(): each thread visits four pairs.
constexpr std::uint64_t kBlockSites = std::uint64_t{8} * kThreads;

std::uint64_t regular_blocks(std::uint64_t sites) {
  return (sites + kBlockSites - 1) / kBlockSites;
}

// The part of a rank: blocks [begin, inner) and [outer, end) contain its first and its last plane,
// [inner, outer) the sites between them. If there are none, all blocks are before `inner`.
struct PlaneBlocks {
  std::uint64_t begin, inner, outer, end;

  PlaneBlocks(std::uint64_t sites, const DevicePart& part, std::uint64_t plane)
      : begin(part.begin(sites) / kBlockSites),
        inner(regular_blocks(part.begin(sites) + plane)),
        outer((part.end(sites) - plane) / kBlockSites),
        end(regular_blocks(part.end(sites))) {
    if (outer <= inner) inner = outer = end;
  }
};

template <class F>
void LocalCuda::with_rule(const F& f) const {
  if (!graph_.potts) {
    f.template operator()<IsingFlip>();
  } else if (update_ == LocalUpdate::metropolis) {
    f.template operator()<PottsMetropolis>();
  } else {
    f.template operator()<PottsHeatBath>();
  }
}

void LocalCuda::sweep_colour(int colour, const DeviceReplicas& replicas,
                             cudaStream_t stream) const {
  with_rule([&]<class Rule>() {
    sweep_regular<Rule>(colour, replicas, replicas.blocks(regular_blocks(graph_.sites)), stream);
    sweep_modified<Rule>(colour, replicas, stream);
  });
}

void LocalCuda::sweep_outer(int colour, const DeviceReplicas& replicas, std::uint64_t plane,
                            cudaStream_t stream) const {
  const PlaneBlocks blocks(graph_.sites, replicas.part, plane);
  const auto range = [&](std::uint64_t begin, std::uint64_t end) {
    return ReplicaBlocks::range(begin, end, replicas.count);
  };
  with_rule([&]<class Rule>() {
    sweep_regular<Rule>(colour, replicas, range(blocks.begin, blocks.inner), stream);
    sweep_regular<Rule>(colour, replicas, range(blocks.outer, blocks.end), stream);
    sweep_modified<Rule>(colour, replicas, stream);
  });
}

void LocalCuda::sweep_inner(int colour, const DeviceReplicas& replicas, std::uint64_t plane,
                            cudaStream_t stream) const {
  const PlaneBlocks blocks(graph_.sites, replicas.part, plane);
  with_rule([&]<class Rule>() {
    sweep_regular<Rule>(colour, replicas,
                        ReplicaBlocks::range(blocks.inner, blocks.outer, replicas.count), stream);
  });
}

template <class Rule>
void LocalCuda::sweep_regular(int colour, const DeviceReplicas& replicas,
                              const ReplicaBlocks& blocks, cudaStream_t stream) const {
  if (!any_regular_) return;
  const std::uint64_t calls =
      (graph_.sites / 2 + kDrawsPerBlock - 1) / kDrawsPerBlock * kCallsPerBlock;
  with_dim(graph_.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch(update_regular<kDim, Rule>, blocks, {.threads = kThreads}, stream, graph_, geometry_,
             replicas, colour, calls);
    }
  });
}

template <class Rule>
void LocalCuda::sweep_modified(int colour, const DeviceReplicas& replicas,
                               cudaStream_t stream) const {
  const LaunchShape shape{.threads = kThreads};
  const auto k = static_cast<std::size_t>(colour);
  const std::uint32_t first = 32 * first_slice_[k], last = 32 * first_slice_[k + 1];
  const std::uint32_t wide = Rule::kSorts ? first_wide_[k] : last;
  const DeviceReplicas all = replicas.whole();  // these cells belong to the part already
  launch(update_modified<Rule>, all.blocks(blocks_for(wide - first)), shape, stream, graph_, cells_,
         all, colour, first, wide);
  if constexpr (Rule::kSorts) {
    launch(update_wide, all.blocks(blocks_for(32ull * (last - wide))), shape, stream, graph_,
           cells_, all, colour, wide, last);
  }
}

}  // namespace rewise::bytespin
