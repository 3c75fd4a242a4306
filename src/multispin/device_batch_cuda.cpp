#include "src/multispin/device_batch_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/error.hpp"
#include "src/cuda/require_memory.hpp"
#include "src/multispin/batch_cuda.hpp"
#include "src/multispin/multispin.hpp"

namespace rewise::multispin {
namespace {

constexpr std::uint32_t kMaxCycles = 64;  // in a replay; a power of 4
// In a replay: sweeps, plus launches of cluster updates (cluster_launches()).
constexpr std::uint32_t kMaxReplaySteps = 64;
constexpr std::uint64_t kMaxLaunches = 4096;  // of cluster updates in a CUDA graph
constexpr std::size_t kMaxCaptured = 64;
constexpr std::uint64_t kMaxQueued = 1024;  // approximate limit of launches in a captured group of
                                            // measurements
}  // namespace

DeviceBatch::DeviceBatch(std::vector<EngineView> engines, const EngineOptions& options)
    : options_(options), device_(options.device), engines_(std::move(engines)) {
  const PooledMemory pooled;
  check_memory();
  graphs_ = std::make_unique<DeviceGraphs>(engines_, stream());
  replicas_ = std::size_t{graphs()} * graphs_->word_groups() * kReplicas;
  sums_.emplace(engines_, *graphs_, stream());
  spins_ = DeviceBuffer<std::uint32_t>(graphs() * graphs_->words());
  step_ = DeviceBuffer<std::uint32_t>(1);
  unpacked_group_ = DeviceBuffer<std::uint32_t>(graphs_->lattice({}).words);
  spins_.clear(stream());
  if (engines_.front().spec.exchange) exchange_.emplace(engines_, *graphs_, stream());
}

// Waits only for this batch's stream, so that batches of other threads continue; waits for the
// whole device if external readers on unknown streams have addresses of the spins.
DeviceBatch::~DeviceBatch() {
  device_.finish();
  if (has_outside_readers_) cudaDeviceSynchronize();
}

// Checks the memory for spins, planes and graphs before any of it is allocated.
void DeviceBatch::check_memory() const {
  std::uint64_t need = 0, replicas = 0;
  for (const EngineView& e : engines_) {
    const std::uint64_t spins = std::uint64_t{e.word_groups} * e.layout.words * 4;
    const std::uint64_t graph = e.layout.modified_cells * 64 + e.layout.rewired.count * 24 +
                                e.layout.sites * 4 + e.layout.rows * 32ull;
    need += 2 * spins + graph + 4 * (e.second_sublattice.size() + e.layout.flip_mask.size());
    replicas += e.word_groups * kReplicas;
  }
  if (replicas > kMaxGroups * kReplicas) {
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {} replicas at all temperatures are more than {}; reduce "
                            "replicas or temperatures",
                            device(), replicas, kMaxGroups * kReplicas));
  }
  need += MeasuredSums::bytes(replicas);
  need += engines_.front().layout.sites * 4;
  require_device_memory(
      device(), fmt::format("{} sites x {} replicas", engines_.front().layout.sites, replicas),
      need, "reduce replicas, temperatures or the size");
}

void DeviceBatch::wait() { device_.wait(); }

void DeviceBatch::run(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
                      std::uint64_t cycles) {
  prepare(schedule);
  const PooledMemory pooled;
  count_clusters(range, schedule.cluster * cycles);
  if (next_step_ != step) launch_set_step(step_.data(), step, stream());
  next_step_.reset();
  const std::uint32_t together = updates_together(schedule.cluster);
  if (!schedule.exchange && schedule.local <= kMaxReplaySteps && schedule.cluster <= together) {
    replay(range, schedule, cycles);
  } else {
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      if (schedule.local > 0) replay(range, {1, 0}, schedule.local);
      for (std::uint32_t left = schedule.cluster; left > 0; left -= std::min(left, together)) {
        replay(range, {0, std::min(left, together)}, 1);
      }
      if (schedule.houdayer) replay(range, {0, 0, false, true}, 1);
      if (schedule.exchange) {
        exchange_->queue(range, spins_.data(), sums_->bonds(), step_.data());
        launch_add_steps(step_.data(), 1, stream());
      }
    }
  }
  next_step_ = static_cast<std::uint32_t>(step + schedule.steps_per_cycle() * cycles);
}

void DeviceBatch::prepare(const Schedule& schedule) {
  device_.use();
  const bool updates = schedule.cluster > 0 && !wolff_ && !swendsen_wang_;
  const bool moves = schedule.houdayer && !houdayer_;
  if (!updates && !moves) return;
  const PooledMemory pooled;
  const auto labelling = [&](ClusterMove move) {
    return std::make_unique<SwendsenWangBatch>(engines_, *graphs_, move, device(), stream());
  };
  if (moves) houdayer_ = labelling(ClusterMove::houdayer);
  if (!updates) return;
  if (is_swendsen_wang()) {
    swendsen_wang_ = labelling(ClusterMove::swendsen_wang);
  } else {
    wolff_ = std::make_unique<DeviceWolffBatch>(engines_, *graphs_, options_, stream());
    flipped_.assign(replicas_, 0);
  }
}

void DeviceBatch::drop_cluster_tables() {
  device_.use();
  device_.wait();
  captured_.clear();
  wolff_.reset();
  swendsen_wang_.reset();
  sums_->forget_kinds();
}

void DeviceBatch::count_clusters(const GraphRange& range, std::uint64_t updates) {
  if (wolff_ && updates > 0) wolff_->count(range, updates);
}

std::uint64_t DeviceBatch::cluster_launches(std::uint32_t updates) const {
  if (updates == 0) return 0;
  return is_swendsen_wang() ? std::uint64_t{updates} * swendsen_wang_->launches()
                            : wolff_->launches(updates);
}

// Limits the size of a CUDA graph, which uses memory on the host and on the device.
std::uint32_t DeviceBatch::updates_together(std::uint32_t updates) const {
  if (cluster_launches(updates) <= kMaxLaunches) return updates;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kMaxLaunches / cluster_launches(1)));
}

void DeviceBatch::replay(const GraphRange& range, const Schedule& schedule, std::uint64_t cycles) {
  const std::uint64_t steps = schedule.local + cluster_launches(schedule);
  const bool pure = schedule.cluster == 0 && !schedule.houdayer;
  if (pure && graphs_->residence(range).vec > 0) {  // one launch makes many sweeps: no CUDA graph
    const std::uint64_t most = std::max<std::uint64_t>(1, kMaxReplaySteps / steps);
    for (; cycles > 0; cycles -= std::min(cycles, most)) {
      queue_cycles(range, schedule, static_cast<std::uint32_t>(std::min(cycles, most)));
    }
  }
  for (std::uint32_t piece = kMaxCycles; piece > 0; piece /= 4) {
    if (piece > std::max<std::uint64_t>(1, kMaxReplaySteps / steps) || cycles < piece) continue;
    const CudaGraph& graph = captured(range, schedule, piece);
    for (; cycles >= piece; cycles -= piece) graph.launch(stream());
  }
}

const CudaGraph& DeviceBatch::captured(const GraphRange& range, const Schedule& schedule,
                                       std::uint32_t cycles) {
  return captured_as({range, schedule.local, schedule.cluster, schedule.houdayer, cycles, 0},
                     [&] { queue_cycles(range, schedule, cycles); });
}

const CudaGraph* DeviceBatch::captured_chunk(const GraphRange& range, const Schedule& schedule,
                                             std::uint64_t every, std::size_t shelf) {
  const std::uint64_t sweeps = graphs_->residence(range).vec > 0 ? 1 : schedule.local;
  const std::uint64_t cycle = sweeps + cluster_launches(schedule);
  const std::uint64_t most = kMaxQueued / (sums_->measurements() - 1) - 4;
  if (every > most || cycle > most / every) return nullptr;
  const Captured what{range, schedule.local, schedule.cluster, schedule.houdayer, every, shelf + 1};
  return &captured_as(what, [&] {
    std::uint32_t step = 0;
    for (std::size_t measurement = 1; measurement < sums_->measurements(); ++measurement) {
      step = queue_steps(range, step, schedule, static_cast<std::uint32_t>(every));
      queue_measurement(range, measurement, shelf);
    }
    launch_add_steps(step_.data(), step, stream());
  });
}

template <class F>
const CudaGraph& DeviceBatch::captured_as(const Captured& what, const F& queue) {
  const std::pair key{what, std::get<2>(what) > 0 && wolff_ ? wolff_->mix() : 0};
  const auto found = captured_.find(key);
  if (found != captured_.end()) return found->second;
  if (captured_.size() >= kMaxCaptured) {
    device_.wait();
    captured_.clear();
  }
  return captured_.emplace(key, CudaGraph(stream(), queue)).first->second;
}

void DeviceBatch::queue_cycles(const GraphRange& range, const Schedule& schedule,
                               std::uint32_t cycles) {
  launch_add_steps(step_.data(), queue_steps(range, 0, schedule, cycles), stream());
}

std::uint32_t DeviceBatch::queue_steps(const GraphRange& range, std::uint32_t step,
                                       const Schedule& schedule, std::uint32_t cycles) {
  // Sweeps of consecutive cycles without cluster updates can be fused.
  const bool pure = schedule.cluster == 0 && !schedule.houdayer;
  const std::uint32_t sweeps = pure ? cycles * schedule.local : schedule.local;
  for (std::uint32_t cycle = 0; cycle < (pure ? 1 : cycles); ++cycle) {
    queue_sweeps(range, step, sweeps);
    step += sweeps;
    if (pure) continue;
    if (schedule.cluster > 0 && is_swendsen_wang()) {
      swendsen_wang_->queue(range, step_.data(), step, schedule.cluster, spins_.data(), stream());
    } else if (schedule.cluster > 0) {
      wolff_->queue(range, step_.data(), step, schedule.cluster, spins_.data(), stream());
    }
    step += schedule.cluster;
    if (!schedule.houdayer) continue;
    houdayer_->queue(range, step_.data(), step, 1, spins_.data(), stream());
    ++step;
  }
  return step;
}

void DeviceBatch::queue_sweeps(const GraphRange& range, std::uint32_t step, std::uint32_t count) {
  if (count == 0) return;
  const Residence residence = graphs_->residence(range);
  if (residence.vec > 0) {
    return launch_resident(graphs_->lattice(range), graphs_->cells(range),
                           graphs_->sweep(range, spins_.data(), step_.data(), step), residence,
                           count, stream());
  }
  for (std::uint32_t n = 0; n < count; ++n) queue_sweep(range, step + n);
}

void DeviceBatch::queue_sweep(const GraphRange& range, std::uint32_t step) {
  const DeviceSweep sweep = graphs_->sweep(range, spins_.data(), step_.data(), step);
  const DeviceLattice lattice = graphs_->lattice(range);
  for (int colour = 0; colour < graphs_->colours(); ++colour) {
    const std::uint32_t modified = graphs_->most_modified(colour);
    const bool both = modified > 0 && lattice.dim > 0;
    cudaStream_t beside = both ? branch_.begin(stream()) : stream();
    launch_modified(lattice, graphs_->cells(range), sweep, colour, modified, beside);
    launch_regular(lattice, sweep, colour, stream());
    if (both) branch_.join(stream());
  }
}

void DeviceBatch::make_room_for_sums() {
  // Captured graphs contain the addresses of the counts.
  if (sums_->make_room(kinds())) captured_.clear();
}

void DeviceBatch::queue_counts(const GraphRange& range, const std::uint32_t* words,
                               std::size_t measurement, std::size_t shelf, bool with_signs) {
  const std::size_t first = range.first * graphs_->replicas();
  graphs_->measure(range, words, sums_->counts(shelf, measurement, MeasuredSums::kBondSum) + first,
                   sums_->counts(shelf, measurement, MeasuredSums::kMagnetisation) + first,
                   stream(), with_signs);
}

void DeviceBatch::queue_measurement(const GraphRange& range, std::size_t measurement,
                                    std::size_t shelf) {
  queue_counts(range, spins_.data(), measurement, shelf, true);
  queue_clusters(range, measurement, shelf);
}

void DeviceBatch::queue_clusters(const GraphRange& range, std::size_t measurement,
                                 std::size_t shelf) {
  if (!wolff_ && !swendsen_wang_) return;
  const std::size_t per_graph = std::size_t{graphs_->word_groups()} * kReplicas;
  const std::size_t first = range.first * per_graph, bytes = range.count * per_graph * 8;
  DeviceBuffer<unsigned long long>& sums =
      swendsen_wang_ ? swendsen_wang_->sums() : wolff_->flipped();
  const auto close = [&](std::size_t kind, std::size_t count) {
    unsigned long long* from = sums.data() + kind * replicas_ + first;
    check_cuda(cudaMemcpyAsync(sums_->counts(shelf, measurement, 2 + kind) + first, from, count,
                               cudaMemcpyDeviceToDevice, stream()),
               "copying cluster sums");
    check_cuda(cudaMemsetAsync(from, 0, count, stream()), "clearing");
  };
  // Kinds are stored one after the other, so one copy suffices for all graphs.
  if (range.count == graphs()) return close(0, sums.bytes());
  for (std::size_t kind = 0; kind < sums.size() / replicas_; ++kind) close(kind, bytes);
}

void DeviceBatch::measure(const GraphRange& range) {
  device_.use();
  make_room_for_sums();
  queue_measurement(range, 0, 0);
}

void DeviceBatch::measure_changed(const GraphRange& range, DeviceChange change) {
  device_.use();
  make_room_for_sums();
  if (changed_.empty()) {
    const PooledMemory pooled;
    changed_ = DeviceBuffer<std::uint32_t>(spins_.size());
  }
  change.words = range.count * graphs_->words();
  change.graph_words = graphs_->words();
  change.slots = graphs_->lattice({}).words;
  change.vec = graphs_->vec();
  const std::size_t first = range.first * graphs_->words();
  launch_change(change, spins_.data() + first, changed_.data() + first, stream());
  queue_counts(range, changed_.data(), 0, 0, false);
}

void DeviceBatch::measure_products(const GraphRange& range) { measure_changed(range, {}); }

void DeviceBatch::measure_masked(const GraphRange& range, Mask mask) {
  device_.use();
  const auto mask_of = [&](const EngineView& e) -> const std::vector<std::uint32_t>& {
    return mask == Mask::spins ? e.layout.flip_mask : e.second_sublattice;
  };
  const bool has_masks = !mask_of(engines_.front()).empty();  // else the colours are sublattices
  DeviceBuffer<std::uint32_t>& on_device = masks_[static_cast<std::size_t>(mask)];
  if (has_masks && on_device.empty()) {
    const PooledMemory pooled;
    std::vector<std::uint32_t> masks;
    for (const EngineView& e : engines_) {
      masks.insert(masks.end(), mask_of(e).begin(), mask_of(e).end());
    }
    on_device = DeviceBuffer<std::uint32_t>(std::span<const std::uint32_t>(masks), stream());
    device_.wait();
  }
  const DeviceLattice lattice = graphs_->lattice({});
  DeviceChange change;
  change.kind = has_masks ? DeviceChange::Kind::mask : DeviceChange::Kind::second_sublattice;
  change.second = lattice.colour_base[1];
  if (has_masks) change.mask = on_device.data() + std::size_t{range.first} * lattice.words;
  measure_changed(range, change);
}

void DeviceBatch::close_clusters(const GraphRange& range) {
  device_.use();
  make_room_for_sums();
  queue_clusters(range, 0, 0);
}

MeasuredSums::Sums DeviceBatch::fetch(std::uint64_t updates, bool energies) {
  device_.use();
  sums_->begin(0);
  sums_->end(0, 1, updates, energies);
  const MeasuredSums::Sums sums = sums_->take(0);
  for (std::size_t graph = 0; graph < graphs(); ++graph) take_flipped(graph, sums);
  end_chunks();
  return sums;
}

void DeviceBatch::sample(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
                         std::uint64_t every, std::size_t measurements, std::size_t shelf,
                         bool again) {
  const auto steps = static_cast<std::uint32_t>(schedule.steps_per_cycle() * every);
  for (std::size_t measurement = 0; measurement < measurements; ++measurement) {
    run(range, step, schedule, every);
    step += steps;
    make_room_for_sums();
    if (measurement == 0) sums_->begin_one(shelf);
    queue_measurement(range, measurement, shelf);
    if (measurement == 0) sums_->end_one(shelf);
    if (measurement > 0 || !again || measurements < sums_->measurements()) continue;
    const CudaGraph* rest = captured_chunk(range, schedule, every, shelf);
    if (rest == nullptr) continue;
    count_clusters(range, schedule.cluster * every * (measurements - 1));
    rest->launch(stream());
    *next_step_ += steps * static_cast<std::uint32_t>(measurements - 1);
    return;
  }
}

std::uint64_t DeviceBatch::take_flipped(std::size_t graph, const MeasuredSums::Sums& sums) {
  if (!wolff_) return 0;
  const std::size_t replicas = sums.layout.replicas;
  std::uint64_t all = 0;
  sums.values<std::uint64_t>(graph, MeasuredSums::kClusters).visit([&](const auto& sites) {
    for (std::size_t first = 0; first < sites.size(); first += replicas) {
      for (std::size_t r = 0; r < replicas; ++r) {
        flipped_[graph * replicas + r] += sites[first + r];
        all += sites[first + r];
      }
    }
  });
  return all;
}

void DeviceBatch::end_chunks() {
  device_.use();
  device_.wait();
  if (!wolff_) return;
  const PooledMemory pooled;
  wolff_->learn(flipped_, stream());
  std::fill(flipped_.begin(), flipped_.end(), 0);
}

DeviceSpins DeviceBatch::device_spins(std::uint32_t graph) {
  has_outside_readers_ = true;
  const std::uint64_t word_groups = graphs_->word_groups(), words = graphs_->lattice({}).words;
  const auto vec = static_cast<std::uint64_t>(graphs_->vec());
  return {words_of(graph * word_groups),
          device(),
          true,
          {word_groups / vec, words, vec},
          {static_cast<std::int64_t>(words * vec), static_cast<std::int64_t>(vec), 1}};
}

std::int64_t* DeviceBatch::measure_on_device(std::uint32_t graph, const SumUnits& units) {
  device_.use();
  const std::size_t replicas = std::size_t{graphs_->word_groups()} * kReplicas;
  if (graph_sums_.empty()) {
    counted_ = DeviceBuffer<unsigned long long>(2 * replicas);
    graph_sums_ = DeviceBuffer<std::int64_t>(2 * replicas);
  }
  counted_.clear(stream());
  unsigned long long *const unsatisfied = counted_.data(), *const up = unsatisfied + replicas;
  graphs_->measure({graph, 1}, spins_.data(), unsatisfied, up, stream());
  launch_report({unsatisfied, 1, up, 1}, units, static_cast<std::uint32_t>(replicas),
                graph_sums_.data(), stream());
  device_.wait();
  return graph_sums_.data();
}

std::uint32_t* DeviceBatch::words_of(std::size_t word_group) {
  return spins_.data() + first_word(static_cast<std::uint32_t>(word_group),
                                    graphs_->lattice({}).words, graphs_->vec());
}

void DeviceBatch::read_words(std::size_t word_group, std::span<std::uint32_t> out) {
  device_.use();
  launch_unpack_word_group(words_of(word_group), graphs_->lattice({}).words, graphs_->vec(),
                           unpacked_group_.data(), stream());
  unpacked_group_.copy_out(out, stream());
  device_.wait();
}

void DeviceBatch::write_words(std::size_t word_group, std::span<const std::uint32_t> words) {
  device_.use();
  unpacked_group_.copy_in(words, stream());
  launch_pack_word_group(words_of(word_group), graphs_->lattice({}).words, graphs_->vec(),
                         unpacked_group_.data(), stream());
  device_.wait();
}

void DeviceBatch::start(std::uint32_t graph, std::uint32_t hot_replicas) {
  device_.use();
  for (std::uint32_t group = 0; group < graphs_->word_groups(); ++group) {
    launch_start_group(words_of(std::size_t{graph} * graphs_->word_groups() + group),
                       graphs_->vec(), graphs_->lattice({}), engines_[graph].spec.seed, group,
                       hot_replicas, stream());
  }
}

}  // namespace rewise::multispin
