#include <algorithm>

#include "src/single/launch_share.hpp"
#include "src/single/local/local_cuda.hpp"

namespace rewise::single {
namespace {

constexpr unsigned kThreads = 128;

// Thresholds of a system by s h, the field along the spin.
__device__ __forceinline__ const Threshold* flip_by_field(const DevicePlan& plan,
                                                          const DeviceSystems& systems,
                                                          std::uint32_t who) {
  const std::size_t width = 2 * static_cast<std::size_t>(plan.max_degree) + 1;
  return plan.flip + systems.temperature(who) * width + plan.max_degree;
}

__device__ __forceinline__ std::uint32_t new_spin(std::uint32_t spin, std::uint32_t up, int degree,
                                                  std::uint32_t draw, const Threshold* flip) {
  const int field = 2 * static_cast<int>(up) - degree;
  return spin ^ static_cast<std::uint32_t>(happens(draw, flip[spin != 0 ? field : -field]));
}

template <int kDim>
__device__ __forceinline__ void regular_cell(const Geometry& g, const LocalGroup& group, Site site,
                                             std::uint32_t draw, const Threshold* flip,
                                             std::uint8_t* spins) {
  std::uint32_t up = 0;
  if ((group.edge >> (site & 31u) & 1u) == 0) {
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      up += spins[site + g.stride[k]] + spins[site - g.stride[k]];
    }
  } else {
    std::uint32_t c[kDim];
    g.coordinates<kDim>(site, c);
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      up += spins[g.ahead(site, c[k], k)] + spins[g.behind(site, c[k], k)];
    }
  }
  spins[site] = static_cast<std::uint8_t>(new_spin(spins[site], up, 2 * kDim, draw, flip));
}

// Thread i of a block of slots holds the draws of the pairs of sites 64 b + i + 16 j.
template <int kDim>
__device__ __forceinline__ void regular_cells(const DevicePlan& plan, const Geometry& g,
                                              const LocalGroup* groups,
                                              const DeviceSystems& systems, int colour,
                                              std::uint32_t who, std::uint64_t call) {
  const std::uint64_t first_call =
      static_cast<unsigned>(colour) * plan.site_slots.half / kSlotsPerBlock * kCallsPerBlock;
  const DrawKey key = systems.key(who);
  const Words4 words =
      random_words(key.seed, Stream::single_local, first_call + call, key.who, 0, key.step);
  std::uint8_t* spins = systems.system(who);
  const Threshold* flip = flip_by_field(plan, systems, who);
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
    regular_cell<kDim>(g, group, site, words.w[j], flip, spins);
  }
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    update_regular(const __grid_constant__ DevicePlan plan, const __grid_constant__ Geometry g,
                   const LocalGroup* groups, const __grid_constant__ DeviceSystems systems,
                   int colour, std::uint64_t calls, const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  const std::uint64_t call = static_cast<std::uint64_t>(block) * kThreads + threadIdx.x;
  if (call < calls) regular_cells<kDim>(plan, g, groups, systems, colour, who, call);
}

__device__ __forceinline__ void modified_cell(const DevicePlan& plan, const CellSlices& cells,
                                              const DeviceSystems& systems, int colour,
                                              std::uint32_t who, std::uint32_t cell) {
  const Site site = cells.site[cell];
  if (site == kNoCell) return;
  std::uint8_t* spins = systems.system(who);
  const std::uint32_t degree = cells.degree[cell];
  const Site* neighbour = cells.neighbour + cells.offset[cell / 32] + cell % 32;
  std::uint32_t up = 0;
#pragma unroll 4
  for (std::uint32_t j = 0; j < degree; ++j) up += spins[neighbour[32 * std::size_t{j}]];
  const DrawKey key = systems.key(who);
  const std::uint64_t slot = plan.site_slots.slot(site, colour);
  const Words4 words =
      random_words(key.seed, Stream::single_local, slot_item(slot), key.who, 0, key.step);
  const int w = slot_word(slot);
  const std::uint32_t low = (w & 1) != 0 ? words.w[1] : words.w[0];
  const std::uint32_t high = (w & 1) != 0 ? words.w[3] : words.w[2];
  spins[site] = static_cast<std::uint8_t>(new_spin(spins[site], up, static_cast<int>(degree),
                                                   (w & 2) != 0 ? high : low,
                                                   flip_by_field(plan, systems, who)));
}

__global__ void __launch_bounds__(kThreads)
    update_modified(const __grid_constant__ DevicePlan plan, CellSlices cells,
                    const __grid_constant__ DeviceSystems systems, int colour, std::uint32_t first,
                    std::uint32_t last, const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  const std::uint32_t cell = first + block * kThreads + threadIdx.x;
  if (cell < last) modified_cell(plan, cells, systems, colour, who, cell);
}

std::uint64_t blocks_for(std::uint64_t items) { return (items + kThreads - 1) / kThreads; }

template <class T>
DeviceBuffer<T> upload(const std::vector<T>& host, cudaStream_t stream) {
  DeviceBuffer<T> buffer(std::span<const T>(host), stream);
  check_cuda(cudaStreamSynchronize(stream), "copying the graph to the device");
  return buffer;
}

std::vector<LocalGroup> make_groups(const Plan& plan) {
  std::vector<LocalGroup> groups(plan.groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    groups[k] = {plan.groups[k].modified, plan.groups[k].edge, 0, 0};
  }
  for (std::uint64_t site = 0; plan.lattice.dim > 0 && site < plan.sites; ++site) {
    const auto colour = static_cast<std::uint32_t>(plan.lattice.colour(static_cast<Site>(site)));
    groups[site / 32].colour |= colour << site % 32;
  }
  return groups;
}

}  // namespace

LocalCuda::LocalCuda(const Plan& plan, const DevicePlan& device, LocalUpdate update,
                     cudaStream_t stream, const Share& share)
    : update_(update),
      plan_(device),
      geometry_(Geometry::make(plan.lattice)),
      colours_(plan.graph.colours()),
      first_slice_(1, 0),
      any_regular_(plan.graph.modified_sites().size() < plan.sites),
      groups_(upload(make_groups(plan), stream)) {
  sort_cells(plan, share, stream);
}

std::uint64_t LocalCuda::bytes(const Plan& plan) {
  const std::uint64_t cells = plan.graph.modified_sites().size();
  // The last slice of a colour is as wide as its largest degree.
  const auto colours = static_cast<std::uint64_t>(plan.graph.colours());
  return plan.groups.size() * sizeof(LocalGroup) + cells * 9 + plan.entries.size() * 4 +
         128 * colours * plan.max_degree;
}

void LocalCuda::sort_cells(const Plan& plan, const Share& share, cudaStream_t stream) {
  const Graph& graph = plan.graph;
  const auto offsets = graph.offsets();
  std::vector<Site> site, neighbour;
  std::vector<std::uint32_t> degree;
  std::vector<std::uint64_t> offset;
  for (int colour = 0; colour < colours_; ++colour) {
    std::vector<std::uint32_t> cells;
    for (const std::uint32_t cell : graph.modified_of_colour(colour)) {
      if (share.has(graph.modified_sites()[cell], plan.sites)) cells.push_back(cell);
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
  site_ = upload(site, stream);
  degree_ = upload(degree, stream);
  offset_ = upload(offset, stream);
  neighbour_ = upload(neighbour, stream);
  cells_ = {site_.data(), degree_.data(), offset_.data(), neighbour_.data()};
}

void LocalCuda::sweep(const DeviceSystems& systems, cudaStream_t stream) const {
  for (int colour = 0; colour < colours_; ++colour) sweep_colour(colour, systems, stream);
}

void LocalCuda::sweep_colour(int colour, const DeviceSystems& systems, cudaStream_t stream) const {
  if (plan_.potts) return sweep_colour_potts(colour, systems, stream);
  const std::uint64_t calls =
      (plan_.sites / 2 + kSlotsPerBlock - 1) / kSlotsPerBlock * kCallsPerBlock;
  if (any_regular_) {
    with_dim(plan_.lattice.dim, [&]<int kDim>() {
      if constexpr (kDim > 0) {
        launch_share(update_regular<kDim>, blocks_for(calls), kThreads, systems, stream, plan_,
                     geometry_, groups_.data(), systems, colour, calls);
      }
    });
  }
  const auto k = static_cast<std::size_t>(colour);
  const std::uint32_t first = 32 * first_slice_[k], last = 32 * first_slice_[k + 1];
  const DeviceSystems all = systems.whole();  // the cells are the share's already
  launch_share(update_modified, blocks_for(last - first), kThreads, all, stream, plan_, cells_, all,
               colour, first, last);
}

}  // namespace rewise::single
