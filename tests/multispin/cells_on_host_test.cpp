// The device code of local updates (src/multispin/local/local_cells.cuh), compiled for the host and
// run thread by thread or warp by warp, makes the same moves as the CPU engine. This test needs no
// GPU. It does not cover the cooperation within blocks (barriers, shared memory) and sweeps within
// blocks, which are tested on a GPU only.
#include <cuda_runtime_api.h>
#include <omp.h>
#include <vector_functions.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "graphs/graph.hpp"
#include "src/multispin/multispin.hpp"
#include "src/multispin/multispin_engine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

// Stand-ins for the functions and variables of CUDA. In warp operations the lanes are 32 OpenMP
// threads. Otherwise the host runs CUDA threads one after the other and sets threadIdx before each.
namespace {

struct Place3 {
  unsigned x = 0, y = 0, z = 0;
};
thread_local Place3 threadIdx;
Place3 blockIdx, gridDim;
const Place3 blockDim{128, 1, 1};

int __popc(unsigned x) { return __builtin_popcount(x); }
unsigned shuffle_slots[32];
unsigned __shfl_sync(unsigned, unsigned value, int from) {
  shuffle_slots[threadIdx.x % 32] = value;
#pragma omp barrier
  const unsigned got = shuffle_slots[from];
#pragma omp barrier
  return got;
}
unsigned __ballot_sync(unsigned, bool mine) {
  shuffle_slots[threadIdx.x % 32] = mine;
#pragma omp barrier
  unsigned all = 0;
  for (unsigned lane = 0; lane < 32; ++lane) all |= shuffle_slots[lane] << lane;
#pragma omp barrier
  return all;
}
unsigned atomicAdd(unsigned* to, unsigned more) {
  return std::atomic_ref(*to).fetch_add(more, std::memory_order_relaxed);
}
void __syncthreads() {}
void __syncwarp() {
#pragma omp barrier
}
template <class T>
T __ldg(const T* at) {
  return *at;
}

}  // namespace

#include "src/multispin/local/local_cells.cuh"

namespace {

using namespace rewise;
using namespace rewise::multispin;
using namespace rewise::multispin::device;
using namespace rewise::oracle;

// The arrays of one graph in the layout of the device.
class Arrays {
 public:
  explicit Arrays(const EngineView& e) {
    const Layout& layout = e.layout;
    lattice.dim = layout.lattice.dim;
    lattice.half_row = layout.half_row;
    lattice.rows = layout.rows;
    lattice.sites = static_cast<std::uint32_t>(layout.sites);
    lattice.words = static_cast<std::uint32_t>(layout.words);
    if (layout.half_row > 0) lattice.per_row = FastDiv(layout.half_row);
    lattice.row_neighbour = layout.row_neighbour.data();
    lattice.row_parity = layout.row_parity.data();
    for (int c = 0; c < 2; ++c) {
      lattice.colour_base[c] = static_cast<std::uint32_t>(layout.colour_base[c]);
      lattice.regular_most[c] = lattice.sites / 2;
      if (lattice.dim == 0) continue;
      if (!layout.sign[c].empty()) lattice.sign[c] = layout.sign[c].data();
      std::vector<char> modified(lattice.sites / 2);
      for (const Site site : e.graph.modified_sites()) {
        if (layout.lattice.colour(site) == c) modified[site / 2] = 1;
      }
      for (std::uint32_t i = 0; i < lattice.sites / 2; ++i) {
        if (!modified[i]) regular_[c].push_back(i);
      }
      lattice.regular_most[c] = static_cast<std::uint32_t>(regular_[c].size());
      lattice.regular[c] = regular_[c].data();
    }
    lay_thresholds(e);
    lay_cells(layout, e.temperatures.front().local);
  }

  DeviceLattice lattice;
  DeviceCells cells;
  DeviceThresholds thresholds{};

 private:
  void lay_thresholds(const EngineView& e) {
    for (const DegreeTable& table : e.temperatures.front().local.by_degree) {
      offset_[table.degree] = thresholds.stride;
      thresholds.stride += table.classes;
    }
    thresholds.regular = offset_[static_cast<std::uint32_t>(2 * lattice.dim)];
    for (std::uint32_t b = 0; b < e.word_groups; ++b) {
      for (const DegreeTable& table : e.rules_of(b).local.by_degree) {
        for (std::uint32_t c = 0; c < table.classes; ++c) {
          table_.push_back(static_cast<std::uint32_t>(table.acceptance[c]));
          for (unsigned n = 0; n < 32; ++n) {
            digits_.push_back(threshold_digit(table.acceptance[c], n) != 0 ? ~0u : 0u);
          }
        }
      }
    }
    // Aligned, because device code reads four words at a time.
    aligned_.reset(static_cast<std::uint32_t*>(std::aligned_alloc(16, 4 * digits_.size())));
    std::copy(digits_.begin(), digits_.end(), aligned_.get());
    thresholds.table = table_.data();
    thresholds.digit_table = aligned_.get();
  }

  void lay_cells(const Layout& layout, const LocalTables& tables) {
    cells.colours = static_cast<std::uint32_t>(layout.colours);
    for (int c = 0; c <= layout.colours; ++c) {
      first_.push_back(static_cast<std::uint32_t>(slot_.size()));
      for (const ModifiedGroup& group : layout.modified) {
        if (group.colour != c) continue;
        const std::uint32_t padded = (group.cells + 31) / 32 * 32;
        for (std::uint32_t i = 0; i < padded; ++i) {
          if (i % 32 == 0) {
            warps_.push_back({neighbour_.size() + i, padded, group.degree, offset_.at(group.degree),
                              tables.of_degree(group.degree).classes,
                              std::min(group.cells - i, 32u), 0});
          }
          slot_.push_back(i < group.cells ? group.slot[i] : ~0u);
          site_.push_back(i < group.cells ? group.site[i] : ~0u);
        }
        for (std::uint32_t j = 0; j < group.degree; ++j) {
          for (std::uint32_t i = 0; i < padded; ++i) {
            const std::size_t at = std::size_t{j} * group.padded + i;
            neighbour_.push_back(i < group.cells ? group.neighbour[at] : ~0u);
          }
        }
      }
    }
    cells.warps = warps_.data();
    cells.slot = slot_.data();
    cells.site = site_.data();
    cells.neighbour = neighbour_.data();
    cells.first = first_.data();
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::map<std::uint32_t, std::uint32_t> offset_;  // degree -> offset of its thresholds
  std::vector<std::uint32_t> regular_[2], table_, digits_, slot_, site_, neighbour_, first_;
  std::vector<DeviceWarp> warps_;
  std::unique_ptr<std::uint32_t, Free> aligned_;
};

// A block of modified cells whose threads run one after the other. Each thread reads the digits of
// its acceptance thresholds from memory, as in sweeps within blocks.
template <int kVec, CellRule kRule>
struct LoneThreads : Block<kVec, 1, most_quick(kRule)> {
  static constexpr int kMax = most_quick(kRule);

  DigitsInMemory<kVec> digits(const BlockUpdate& s, const DeviceWarp& warp) const {
    return {s, warp};
  }
};

// A multispin engine whose sweeps run the device code on the host.
class HostCells final : public MultispinEngine {
 public:
  HostCells(const Graph& graph, const EngineSpec& spec, bool by_warps)
      : MultispinEngine(graph, spec),
        arrays_(view()),
        vec_(vec_of(word_groups_, kMinThreadsOfWidePacks, false)),
        by_warps_(by_warps) {
    const std::size_t words = first_word(word_groups_, layout_.words, vec_);
    spins_.reset(static_cast<std::uint32_t*>(std::aligned_alloc(16, (4 * words + 15) / 16 * 16)));
    for (std::uint32_t b = 0; b < word_groups_; ++b) write_words(b, start_words(b));
  }

  std::string_view device() const override { return "host"; }
  int threads() const override { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    for (std::uint64_t n = 0; n < schedule.local * cycles; ++n) {
      for (int colour = 0; colour < layout_.colours; ++colour) update(colour);
      ++first_step_;
    }
    return true;
  }
  void measure(Observation&) override {}

 private:
  std::uint32_t& word(std::uint32_t word_group, std::size_t slot) const {
    return spins_
        .get()[first_word(word_group, layout_.words, vec_) + slot * static_cast<std::size_t>(vec_)];
  }
  void read_words(std::uint32_t word_group, Words& out) const override {
    out.resize(layout_.words);
    for (std::size_t slot = 0; slot < out.size(); ++slot) out[slot] = word(word_group, slot);
  }
  void write_words(std::uint32_t word_group, const Words& words) override {
    for (std::size_t slot = 0; slot < words.size(); ++slot) word(word_group, slot) = words[slot];
  }

  void update(int colour) {
    DeviceSweep sweep{};
    sweep.thresholds = arrays_.thresholds;
    sweep.first_step = &first_step_;
    sweep.stream = static_cast<std::uint32_t>(local_stream(spec_.local));
    sweep.rule = cell_rule(spec_.model, spec_.local);
    sweep.field = nearest_fixed(spec_.model.interactions.field_strength());
    sweep.heat_bath = spec_.local == LocalUpdate::glauber;
    sweep.word_groups = word_groups_;
    sweep.vec = vec_;
    sweep.seeds.seed[0] = spec_.seed;
    const auto c = static_cast<std::size_t>(colour);
    const std::uint32_t listed = arrays_.cells.first[c + 1] - arrays_.cells.first[c];
    gridDim.y = word_groups_ / static_cast<unsigned>(vec_);
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
      with_vec(vec_, [&]<int kVec>() {
        with_rule(sweep.rule, [&]<CellRule kRule>() {
          const auto cell = [&](const BlockUpdate& s, auto& block, std::uint32_t k,
                                std::uint32_t* spins) {
            return any_modified_cell<kVec, kRule>(arrays_.cells, s, block,
                                                  arrays_.cells.first[c] + k, spins);
          };
          if (by_warps_) {
            blocks<kVec, ModifiedBlock<kVec, kRule>, false>(sweep, listed, cell);
          } else {
            blocks<kVec, LoneThreads<kVec, kRule>, false>(sweep, listed, cell);
          }
          if (layout_.lattice.dim == 0) return;
          with_lattice_dim(layout_.lattice.dim, [&]<int kDim>() {
            constexpr int kClasses = regular_classes(kDim, kRule);
            const auto cells_of = [&]<bool kSigned>() {
              blocks<kVec, Block<kVec, kClasses, kClasses>, true>(
                  sweep, arrays_.lattice.regular_most[colour],
                  [&](const BlockUpdate& s, const auto& block, std::uint32_t k,
                      std::uint32_t* spins) {
                    return regular_cell<kDim, kVec, kRule, kSigned>(
                        arrays_.lattice, s, block, colour,
                        regular_place(arrays_.lattice, colour, k), spins);
                  });
            };
            layout_.has_signs || kRule == CellRule::in_field
                ? cells_of.template operator()<true>()
                : cells_of.template operator()<kRule == CellRule::in_field>();
          });
        });
      });
    }
  }

  // Blocks of 128 threads with one cell per thread, like the kernels of local.cu.
  template <int kVec, class AnyBlock, bool kRegular, class Cell>
  void blocks(const DeviceSweep& sweep, std::uint32_t count, const Cell& cell) {
    auto block = std::make_unique<AnyBlock>();
    std::uint32_t* spins = spins_.get() + std::size_t{blockIdx.y} * layout_.words * kVec;
    for (std::uint32_t first = 0; first < count; first += kThreads) {
      const BlockUpdate s = block_update<kVec>(sweep);
      for (threadIdx.x = 0; threadIdx.x < kThreads; ++threadIdx.x) {
        if constexpr (kRegular) load_regular_digits(s, block->regular);
        open_block(s, *block);
      }
      for (std::uint32_t k = first; by_warps_ && k < first + kThreads; k += 32) {
        warp(*block, [&](std::uint32_t lane) {
          return k + lane < count ? cell(s, *block, k + lane, spins) : OpenCell<kVec>{};
        });
      }
      for (std::uint32_t k = first; !by_warps_ && k < std::min(first + kThreads, count); ++k) {
        const OpenCell<kVec> open = cell(s, *block, k, spins);
        for (int v = 0; v < kVec; ++v) {
          if (open.undecided[v] != 0) block->queue.put(block->waiting++, open, v);
        }
      }
      for (threadIdx.x = 0; threadIdx.x < kThreads; ++threadIdx.x) {
        decide_queue<kRegular>(s, *block, spins);
      }
    }
  }

  // The 32 threads of a warp, which queue the undecided bits of their cells.
  template <class AnyBlock, class Cell>
  static void warp(AnyBlock& block, const Cell& cell) {
    int threads = 0;
#pragma omp parallel num_threads(32)
    {
      threadIdx.x = static_cast<unsigned>(omp_get_thread_num());
#pragma omp single
      threads = omp_get_num_threads();
      if (threads == 32) queue_up(block, cell(threadIdx.x));
    }
    REQUIRE(threads == 32);
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  const Arrays arrays_;
  const int vec_;
  const bool by_warps_;
  std::uint32_t first_step_ = 0;
  std::unique_ptr<std::uint32_t, Free> spins_;
};

void compare(const Graph& graph, LocalUpdate local, std::size_t temperatures,
             std::uint32_t replicas, bool by_warps = false, const Interactions& interactions = {}) {
  EngineSpec spec;
  spec.model.interactions = interactions;
  spec.local = local;
  for (std::size_t t = 0; t < temperatures; ++t) {
    spec.betas.push_back(0.25 + 0.13 * static_cast<double>(t));
  }
  spec.replicas = replicas;
  spec.seed = 0x123456789ABCull;
  EngineOptions options;
  options.threads = 1;
  const auto cpu = make_multispin_engine(graph, spec, options);
  HostCells cells(graph, spec, by_warps);
  CHECK(cells.trajectory_hash() == cpu->trajectory_hash());
  const std::uint64_t sweeps = by_warps ? 2 : 8;
  cpu->advance({1, 0}, sweeps);
  cells.advance({1, 0}, sweeps);
  CHECK(cells.trajectory_hash() == cpu->trajectory_hash());
}

Interactions couplings_pm() {
  Interactions interactions;
  interactions.couplings = CouplingKind::plus_minus;
  return interactions;
}
Interactions in_field(double field) {
  Interactions interactions;
  interactions.field = field;
  return interactions;
}
Interactions in_random_field(double width) {
  Interactions interactions;
  interactions.random_field = RandomField::plus_minus;
  interactions.field_width = width;
  return interactions;
}

}  // namespace

TEST_CASE("device code of sweeps, run on the host, makes the moves of the CPU on lattices") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {130}, {34, 26}, {4, 6}, {64, 40}, {6, 8, 10}, {12, 4, 6}, {4, 6, 4, 8}};
  for (const auto& extents : shapes) {
    for (const double p : {0.0, 0.02, 0.3, 1.0}) {
      for (const Rule rule : {Rule::rewire, Rule::add, Rule::swap}) {
        const Graph graph = build_graph({extents, p, rule, 77});
        for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
          INFO("edge " << extents[0] << " dim " << extents.size() << " p " << p << " rule "
                       << static_cast<int>(rule) << " local " << static_cast<int>(local));
          compare(graph, local, 1, 32);
          compare(graph, local, 2, 32);
          compare(graph, local, 2, 64);
          compare(graph, local, 3, 64);
          compare(graph, local, 8, 32);
          compare(graph, local, 2, 64, false, couplings_pm());
          compare(graph, local, 2, 64, false, in_field(-0.3));
          compare(graph, local, 1, 32, false, in_field(2));
          compare(graph, local, 2, 32, false, in_random_field(0.8));
        }
      }
    }
  }
}

TEST_CASE("device code of sweeps, run on the host, makes the moves of the CPU at every degree") {
  for (const Graph& graph : {irregular_graph(200), irregular_graph(700, 300)}) {
    for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      for (const std::uint32_t replicas : {32u, 64u, 96u, 128u, 192u, 256u}) {
        compare(graph, local, 1, replicas);
        compare(graph, local, 1, replicas, false, couplings_pm());
        compare(graph, local, 1, replicas, false, in_field(0.4));
        compare(graph, local, 1, replicas, false, in_field(-3));
        compare(graph, local, 1, replicas, false, in_random_field(1.5));
      }
      compare(graph, local, 1, 128, true);
    }
  }
}

TEST_CASE("device code of sweeps, run on the host by warps, makes the moves of the CPU") {
  for (const std::vector<std::uint32_t>& extents :
       {std::vector<std::uint32_t>{18, 16}, {6, 4, 8}}) {
    const Graph graph = build_graph({extents, 0.3, Rule::rewire, 78});
    for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      for (const std::uint32_t replicas : {32u, 128u, 192u, 256u}) {
        compare(graph, local, 1, replicas, true);
        compare(graph, local, 1, replicas, true, in_field(0.4));
      }
    }
  }
}
