#include "src/bundle/wolff/device_wolff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/bundle/wolff/wolff.hpp"
#include "src/bundle/wolff/wolff_switch.hpp"

namespace rewise::bundle {
namespace {

// The mean share of sites that a cluster flips from which on a bundle takes the dense form: the
// forms break even there (tests/bench/RESULTS.md).
constexpr double kDenseShare = 0.08;

// The links of special sites by rows (wolff_cuda.hpp).
void lay_rows(const WolffGeometry& host, std::vector<uint2>& row, std::vector<uint2>& more) {
  const std::uint64_t width = link_row(host.lattice.dim);
  const std::size_t first = more.size();
  for (std::size_t k = 0; k + 1 < host.offset.size(); ++k) {
    const std::uint64_t begin = host.offset[k], end = host.offset[k + 1];
    const std::uint64_t kept = end - begin <= width ? end - begin : width - 1;
    for (std::uint64_t j = begin; j < begin + kept; ++j) {
      row.push_back(make_uint2(host.link[j].site, host.link[j].bond));
    }
    if (begin + kept < end) {
      row.push_back(make_uint2(kMoreLinks, static_cast<std::uint32_t>(more.size() - first)));
      more.push_back(make_uint2(static_cast<std::uint32_t>(end - begin - kept), 0));
      for (std::uint64_t j = begin + kept; j < end; ++j) {
        more.push_back(make_uint2(host.link[j].site, host.link[j].bond));
      }
    } else {
      row.insert(row.end(), width - kept, make_uint2(kNoLink, 0));
    }
  }
}

}  // namespace

DeviceWolffBatch::DeviceWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                                   const EngineOptions& options, cudaStream_t stream)
    : engines_(engines),
      graphs_(graphs),
      options_(options),
      replicas_(graphs.graphs() * graphs.bundles() * kReplicas),
      updates_(graphs.graphs(), 0),
      dense_bundles_(replicas_ / kReplicas, 0) {
  flipped_ = DeviceBuffer<unsigned long long>(replicas_);
  flipped_.clear(stream);
  const bool by_limit = options.wolff_form == WolffForm::automatic && options.dense_above > 0 &&
                        options.dense_above < graphs.sites();
  if (options.wolff_form == WolffForm::dense) mix_ = kDense;
  if (by_limit) {
    mix_ = kLimit;
    limit_ = static_cast<std::uint32_t>(options.dense_above);
  }
  lay_graphs(stream);
  if (mix_ != kDense) make_room(stream);
  if (mix_ != kSparse) {
    dense_ = std::make_unique<DenseWolffBatch>(engines_, graphs_, options_.device, stream);
  }
}

void DeviceWolffBatch::lay_graphs(cudaStream_t stream) {
  std::vector<uint2> special, row, more;
  std::vector<std::uint32_t> bond;
  struct Start {
    std::size_t special, row, more;
  };
  std::vector<Start> starts;
  std::uint64_t bonds = 0;
  for (const EngineView& e : engines_) {
    const WolffGeometry host(e.graph, e.layout);
    wolff_.plane_words = host.plane_words;
    starts.push_back({special.size(), row.size(), more.size()});
    for (std::size_t w = 0; w < host.special.size(); ++w) {
      special.push_back(make_uint2(host.special[w], host.special_before[w]));
    }
    lay_rows(host, row, more);
    for (std::uint32_t k = 0; k < e.bundles; ++k) {
      bond.push_back(static_cast<std::uint32_t>(e.bond[k / e.groups]));
    }
    bonds = std::max(bonds, e.graph.bonds());
  }
  special_ = DeviceBuffer<uint2>(std::span<const uint2>(special), stream);
  row_ = DeviceBuffer<uint2>(std::span<const uint2>(row), stream);
  more_ = DeviceBuffer<uint2>(std::span<const uint2>(more), stream);
  bond_threshold_ = DeviceBuffer<std::uint32_t>(std::span<const std::uint32_t>(bond), stream);
  std::vector<DeviceWolffGraph> graphs;
  for (std::size_t k = 0; k < engines_.size(); ++k) {
    graphs.push_back({engines_[k].spec.seed, special_.data() + starts[k].special,
                      row_.data() + starts[k].row, more_.data() + starts[k].more});
  }
  wolff_graphs_ = DeviceBuffer<DeviceWolffGraph>(std::span<const DeviceWolffGraph>(graphs), stream);
  check_cuda(cudaStreamSynchronize(stream), "copying graphs to the device");
  wolff_.lattice = graphs_.lattice({});
  plan_ = plan_wolff(wolff_.lattice.dim, wolff_.plane_words, replicas_, bonds);
}

// The pool of a block may have to hold every bond; large lattices get fewer blocks for it.
void DeviceWolffBatch::make_room(cudaStream_t stream) {
  planes_ = DeviceBuffer<std::uint32_t>(std::size_t{replicas_} * wolff_.plane_words);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
  const std::size_t pool_bytes = std::size_t{plan_.pool_chunks} * kChunk * sizeof(uint2);
  if (free < pool_bytes) {
    throw Error(
        ExitCode::device,
        fmt::format("cuda:{}: {:.1f} GiB are needed for a Wolff cluster's candidates, {:.1f} GiB "
                    "are free (reduce replicas, temperatures or the size)",
                    options_.device, static_cast<double>(pool_bytes) / (1ull << 30),
                    static_cast<double>(free) / (1ull << 30)));
  }
  plan_.blocks = static_cast<unsigned>(
      std::min<std::size_t>(plan_.blocks, std::max<std::size_t>(1, free / 4 / pool_bytes)));
  pool_ = DeviceBuffer<uint2>(plan_.pool_size());
  check_cuda(cudaMemsetAsync(pool_.data(), 0xFF, pool_.bytes(), stream), "clearing");
  progress_ = DeviceBuffer<unsigned>(1 + std::size_t{replicas_});
  stopped_ = DeviceBuffer<std::uint32_t>(replicas_);
  forms_ = DeviceBuffer<std::uint32_t>(dense_bundles_.size());
  if (limit_ == 0) return;
  trail_ = DeviceBuffer<std::uint32_t>(plan_.blocks * plan_.trail_length(limit_));
  later_ = DeviceBuffer<std::uint32_t>(dense_bundles_.size());
  active_ = DeviceBuffer<std::uint32_t>(dense_bundles_.size());
}

void DeviceWolffBatch::queue(const GraphRange& range, const std::uint32_t* first_step,
                             std::uint32_t step, std::uint32_t updates, std::uint32_t* spins,
                             cudaStream_t stream) {
  DenseUpdates dense;
  dense.first_step = first_step;
  dense.step = step;
  dense.updates = updates;
  dense.threshold = bond_threshold_.data();
  dense.spins = spins;
  dense.flipped = flipped_.data();
  if (mix_ == kDense) return dense_->queue(range, dense, stream);
  if (mix_ == kSparse) {
    return queue_sparse(range, first_step, step, updates, spins, false, stream);
  }
  const std::size_t bundle = std::size_t{range.first} * graphs_.bundles();
  const std::uint32_t bundles = range.count * graphs_.bundles();
  std::uint32_t* stopped = stopped_.data() + bundle * kReplicas;
  if (mix_ == kBoth) {
    launch_start_forms(forms_.data() + bundle, bundles * kReplicas, updates, stopped, stream);
    queue_sparse(range, first_step, step, updates, spins, true, stream);
    dense.active = forms_.data();
    return dense_->queue(range, dense, stream);
  }
  launch_start_forms(nullptr, bundles * kReplicas, updates, stopped, stream);
  dense.updates = 1;
  dense.later = later_.data();
  dense.active = active_.data();
  // A round brings the replicas that are behind on by one update at least.
  for (std::uint32_t round = 0; round < updates; ++round) {
    queue_sparse(range, first_step, step, updates, spins, true, stream);
    launch_pick_stopped(bundles, updates, stopped, later_.data() + bundle, active_.data() + bundle,
                        stream);
    dense_->queue(range, dense, stream);
  }
}

void DeviceWolffBatch::queue_sparse(const GraphRange& range, const std::uint32_t* first_step,
                                    std::uint32_t step, std::uint32_t updates, std::uint32_t* spins,
                                    bool continues, cudaStream_t stream) {
  const std::uint32_t per_graph = graphs_.bundles() * kReplicas;
  const std::uint32_t bundles = range.count * graphs_.bundles();
  const std::size_t replica = std::size_t{range.first} * per_graph;
  std::uint32_t* words = spins + range.first * graphs_.words();
  std::uint32_t* planes = planes_.data() + replica * wolff_.plane_words;
  launch_words_to_planes(wolff_, bundles, graphs_.vec(), words, planes, stream);
  progress_.clear(stream);
  DeviceWolffRun run{};
  run.graphs = wolff_graphs_.data() + range.first;
  run.replicas_per_graph = per_graph;
  run.replicas = range.count * per_graph;
  run.first_step = first_step;
  run.step = step;
  run.updates = updates;
  run.threshold = bond_threshold_.data() + std::size_t{range.first} * graphs_.bundles();
  run.planes = planes;
  run.pool = pool_.data();
  run.pool_chunks = plan_.pool_chunks;
  run.flipped = flipped_.data() + replica;
  run.progress = progress_.data();
  run.limit = limit_;
  run.stopped = continues ? stopped_.data() + replica : nullptr;
  run.trail = trail_.data();
  launch_wolff(wolff_, run, plan_, stream);
  launch_planes_to_words(wolff_, bundles, graphs_.vec(), planes, words, stream);
}

void DeviceWolffBatch::count(const GraphRange& range, std::uint64_t updates) {
  for (std::uint32_t k = 0; k < range.count; ++k) updates_[range.first + k] += updates;
}

void DeviceWolffBatch::learn(std::span<const unsigned long long> flipped, cudaStream_t stream) {
  if (options_.wolff_form != WolffForm::automatic || limit_ > 0 || !dense_fits_) return;
  const auto all = static_cast<double>(graphs_.sites()) * kReplicas;
  std::vector<std::uint32_t> forms = dense_bundles_;
  for (std::size_t b = 0; b < forms.size(); ++b) {
    const std::uint64_t updates = updates_[b / graphs_.bundles()];
    if (updates == 0) continue;
    double sites = 0;
    for (std::size_t r = 0; r < kReplicas; ++r) {
      sites += static_cast<double>(flipped[b * kReplicas + r]);
    }
    forms[b] = sites > kDenseShare * all * static_cast<double>(updates) ? ~0u : 0u;
  }
  std::fill(updates_.begin(), updates_.end(), 0);
  if (forms == dense_bundles_) return;
  if (!dense_) {
    const std::uint64_t least = DenseWolffBatch::least_bytes(engines_.front(), graphs_.vec());
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's memory");
    dense_fits_ = free / 2 > least;
    if (!dense_fits_) return;
    dense_ = std::make_unique<DenseWolffBatch>(engines_, graphs_, options_.device, stream);
  }
  dense_bundles_ = forms;
  forms_.copy_in(dense_bundles_, stream);
  const auto dense = std::count(forms.begin(), forms.end(), ~0u);
  mix_ = dense == 0 ? kSparse : dense == std::ssize(forms) ? kDense : kBoth;
}

}  // namespace rewise::bundle
