#include "src/multispin/device_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/error.hpp"
#include "src/cuda/use_device.hpp"
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
// Limits of the number of measurements in a group, which is kManySums / replicas.
constexpr std::size_t kMinSlots = 16, kMaxSlots = 64, kManySums = 1 << 19;

std::size_t slots_for(std::uint64_t replicas) {
  return std::clamp<std::size_t>(kManySums / replicas, kMinSlots, kMaxSlots);
}

// Page-locked memory for sums. Never destroyed, because the driver may have ended before static
// destructors run.
PinnedStock& pinned_stock() {
  static PinnedStock& stock = *new PinnedStock(16, 1u << 30);
  return stock;
}

}  // namespace

DeviceBatch::DeviceBatch(std::vector<EngineView> engines, const EngineOptions& options)
    : options_(options), device_(use_device(options.device)), engines_(std::move(engines)) {
  const PooledMemory pooled;
  check_memory();
  graphs_ = std::make_unique<DeviceGraphs>(engines_, stream_.get());
  replicas_ = std::size_t{graphs()} * graphs_->word_groups() * kReplicas;
  slots_ = slots_for(replicas_);
  std::vector<std::int64_t> bonds;
  for (const EngineView& e : engines_) bonds.push_back(static_cast<std::int64_t>(e.graph.bonds()));
  most_bonds_ = *std::max_element(bonds.begin(), bonds.end());
  bonds_ = DeviceBuffer<std::int64_t>(bonds, stream_.get());
  stream_.wait();
  spins_ = DeviceBuffer<std::uint32_t>(graphs() * graphs_->words());
  step_ = DeviceBuffer<std::uint32_t>(1);
  unpacked_group_ = DeviceBuffer<std::uint32_t>(graphs_->lattice({}).words);
  spins_.clear(stream_.get());
  make_exchange();
}

// Waits only for this batch's stream, so that batches of other threads continue; waits for the
// whole device if external readers on unknown streams have addresses of the spins.
DeviceBatch::~DeviceBatch() {
  cudaSetDevice(device_);
  if (has_outside_readers_) {
    cudaDeviceSynchronize();
  } else {
    cudaStreamSynchronize(stream_.get());
  }
  for (Shelf& shelf : shelves_) pinned_stock().give(std::move(shelf.fetched));
}

// Checks the memory for spins, planes and graphs before any of it is allocated.
void DeviceBatch::check_memory() const {
  std::uint64_t need = 0, replicas = 0;
  for (const EngineView& e : engines_) {
    const std::uint64_t spins = std::uint64_t{e.word_groups} * e.layout.words * 4;
    const std::uint64_t graph = e.layout.modified_cells * 64 + e.layout.rewired.count * 24 +
                                e.layout.sites * 4 + e.layout.rows * 32ull;
    need += 2 * spins + graph + 4 * (e.second_sublattice.size() + e.layout.turned.size());
    replicas += e.word_groups * kReplicas;
  }
  if (replicas > kMaxGroups * kReplicas) {
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {} replicas at all temperatures are more than {}; reduce "
                            "replicas or temperatures",
                            device_, replicas, kMaxGroups * kReplicas));
  }
  need += replicas * 2 * slots_for(replicas) * SumLayout::kMaxKinds * 16;
  need += engines_.front().layout.sites * 4;
  const std::size_t free = free_device_memory();
  if (need > free) {
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {:.1f} GiB are needed for {} sites x {} replicas, but only "
                            "{:.1f} GiB are free (reduce replicas, temperatures or the size)",
                            device_, static_cast<double>(need) / (1ull << 30),
                            engines_.front().layout.sites, replicas,
                            static_cast<double>(free) / (1ull << 30)));
  }
}

void DeviceBatch::wait() { stream_.wait(); }

void DeviceBatch::run(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
                      std::uint64_t cycles) {
  prepare(schedule);
  const PooledMemory pooled;
  count_clusters(range, schedule.cluster * cycles);
  if (next_step_ != step) launch_set_step(step_.data(), step, stream_.get());
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
      if (schedule.exchange) queue_exchange(range);
    }
  }
  next_step_ = static_cast<std::uint32_t>(step + schedule.steps_per_cycle() * cycles);
}

void DeviceBatch::prepare(const Schedule& schedule) {
  choose();
  const bool updates = schedule.cluster > 0 && !wolff_ && !swendsen_wang_;
  const bool moves = schedule.houdayer && !houdayer_;
  if (!updates && !moves) return;
  const PooledMemory pooled;
  const auto labelling = [&](ClusterMove move) {
    return std::make_unique<SwendsenWangBatch>(engines_, *graphs_, move, device_, stream_.get());
  };
  if (moves) houdayer_ = labelling(ClusterMove::houdayer);
  if (!updates) return;
  if (is_swendsen_wang()) {
    swendsen_wang_ = labelling(ClusterMove::swendsen_wang);
  } else {
    wolff_ = std::make_unique<DeviceWolffBatch>(engines_, *graphs_, options_, stream_.get());
    flipped_.assign(replicas_, 0);
  }
}

void DeviceBatch::drop_cluster_tables() {
  choose();
  stream_.wait();
  captured_.clear();
  wolff_.reset();
  swendsen_wang_.reset();
  kinds_ = 0;
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
    for (; cycles >= piece; cycles -= piece) graph.launch(stream_.get());
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
  const std::uint64_t most = kMaxQueued / (slots_ - 1) - 4;
  if (every > most || cycle > most / every) return nullptr;
  const Captured what{range, schedule.local, schedule.cluster, schedule.houdayer, every, shelf + 1};
  return &captured_as(what, [&] {
    std::uint32_t step = 0;
    for (std::size_t slot = 1; slot < slots_; ++slot) {
      step = queue_steps(range, step, schedule, static_cast<std::uint32_t>(every));
      queue_measurement(range, slot, shelf);
    }
    launch_add_steps(step_.data(), step, stream_.get());
  });
}

template <class F>
const CudaGraph& DeviceBatch::captured_as(const Captured& what, const F& queue) {
  const std::pair key{what, std::get<2>(what) > 0 && wolff_ ? wolff_->mix() : 0};
  const auto found = captured_.find(key);
  if (found != captured_.end()) return found->second;
  if (captured_.size() >= kMaxCaptured) {
    stream_.wait();
    captured_.clear();
  }
  return captured_.emplace(key, CudaGraph(stream_.get(), queue)).first->second;
}

void DeviceBatch::queue_cycles(const GraphRange& range, const Schedule& schedule,
                               std::uint32_t cycles) {
  launch_add_steps(step_.data(), queue_steps(range, 0, schedule, cycles), stream_.get());
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
      swendsen_wang_->queue(range, step_.data(), step, schedule.cluster, spins_.data(),
                            stream_.get());
    } else if (schedule.cluster > 0) {
      wolff_->queue(range, step_.data(), step, schedule.cluster, spins_.data(), stream_.get());
    }
    step += schedule.cluster;
    if (!schedule.houdayer) continue;
    houdayer_->queue(range, step_.data(), step, 1, spins_.data(), stream_.get());
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
                           count, stream_.get());
  }
  for (std::uint32_t n = 0; n < count; ++n) queue_sweep(range, step + n);
}

void DeviceBatch::queue_sweep(const GraphRange& range, std::uint32_t step) {
  const DeviceSweep sweep = graphs_->sweep(range, spins_.data(), step_.data(), step);
  const DeviceLattice lattice = graphs_->lattice(range);
  for (int colour = 0; colour < graphs_->colours(); ++colour) {
    const std::uint32_t modified = graphs_->most_modified(colour);
    const bool both = modified > 0 && lattice.dim > 0;
    cudaStream_t beside = both ? branch_.begin(stream_.get()) : stream_.get();
    launch_modified(lattice, graphs_->cells(range), sweep, colour, modified, beside);
    launch_regular(lattice, sweep, colour, stream_.get());
    if (both) branch_.join(stream_.get());
  }
}

void DeviceBatch::make_shelves() {
  if (kinds_ >= kinds()) return;
  const PooledMemory pooled;
  stream_.wait();
  captured_.clear();  // captured graphs contain addresses of the old sums
  kinds_ = kinds();
  for (Shelf& shelf : shelves_) {
    shelf.counts = DeviceBuffer<unsigned long long>(place(slots_, 0));
    shelf.counts.clear(stream_.get());
  }
}

void DeviceBatch::queue_measurement(const GraphRange& range, std::size_t slot, std::size_t shelf) {
  const std::size_t first = std::size_t{range.first} * graphs_->word_groups() * kReplicas;
  DeviceMeasurement m = graphs_->measurement(range, spins_.data());
  m.disagreeing = shelves_[shelf].counts.data() + place(slot, 0) + first;
  m.up = shelves_[shelf].counts.data() + place(slot, 1) + first;
  launch_measure(graphs_->lattice(range), m, stream_.get());
  queue_clusters(range, slot, shelf);
}

void DeviceBatch::queue_clusters(const GraphRange& range, std::size_t slot, std::size_t shelf) {
  if (!wolff_ && !swendsen_wang_) return;
  const std::size_t per_graph = std::size_t{graphs_->word_groups()} * kReplicas;
  const std::size_t first = range.first * per_graph, bytes = range.count * per_graph * 8;
  DeviceBuffer<unsigned long long>& sums =
      swendsen_wang_ ? swendsen_wang_->sums() : wolff_->flipped();
  const auto close = [&](std::size_t kind, std::size_t count) {
    unsigned long long* from = sums.data() + kind * replicas_ + first;
    check_cuda(cudaMemcpyAsync(shelves_[shelf].counts.data() + place(slot, 2 + kind) + first, from,
                               count, cudaMemcpyDeviceToDevice, stream_.get()),
               "copying cluster sums");
    check_cuda(cudaMemsetAsync(from, 0, count, stream_.get()), "clearing");
  };
  // Kinds are stored one after the other, so one copy suffices for all graphs.
  if (range.count == graphs()) return close(0, sums.bytes());
  for (std::size_t kind = 0; kind < sums.size() / replicas_; ++kind) close(kind, bytes);
}

void DeviceBatch::measure(const GraphRange& range) {
  choose();
  make_shelves();
  queue_measurement(range, 0, 0);
}

void DeviceBatch::measure_products(const GraphRange& range) {
  choose();
  make_shelves();
  if (products_.empty()) {
    const PooledMemory pooled;
    products_ = DeviceBuffer<std::uint32_t>(spins_.size());
  }
  const std::size_t first = range.first * graphs_->words();
  launch_products(spins_.data() + first, products_.data() + first, range.count * graphs_->words(),
                  stream_.get());
  queue_changed(range);
}

void DeviceBatch::measure_masked(const GraphRange& range, Mask mask) {
  choose();
  make_shelves();
  const PooledMemory pooled;
  if (products_.empty()) products_ = DeviceBuffer<std::uint32_t>(spins_.size());
  const auto mask_of = [&](const EngineView& e) -> const std::vector<std::uint32_t>& {
    return mask == Mask::spins ? e.layout.turned : e.second_sublattice;
  };
  const Layout& layout = engines_.front().layout;
  const DeviceLattice lattice = graphs_->lattice({});
  const bool has_masks = !mask_of(engines_.front()).empty();  // else the colours are sublattices
  DeviceBuffer<std::uint32_t>& on_device = masks_[static_cast<std::size_t>(mask)];
  if (has_masks && on_device.empty()) {
    std::vector<std::uint32_t> masks;
    for (const EngineView& e : engines_) {
      masks.insert(masks.end(), mask_of(e).begin(), mask_of(e).end());
    }
    on_device = DeviceBuffer<std::uint32_t>(std::span<const std::uint32_t>(masks), stream_.get());
    stream_.wait();
  }
  const std::size_t first = range.first * graphs_->words();
  DeviceMasking plan;
  plan.words = range.count * graphs_->words();
  plan.graph_words = graphs_->words();
  plan.slots = lattice.words;
  plan.vec = graphs_->vec();
  plan.second = static_cast<std::uint32_t>(layout.colour_base[1]);
  if (has_masks) plan.mask = on_device.data() + std::size_t{range.first} * lattice.words;
  launch_masked(plan, spins_.data() + first, products_.data() + first, stream_.get());
  queue_changed(range);
}

void DeviceBatch::queue_changed(const GraphRange& range) {
  const std::size_t replica = std::size_t{range.first} * graphs_->word_groups() * kReplicas;
  DeviceMeasurement m = graphs_->measurement(range, products_.data());
  m.with_signs = false;
  m.disagreeing = shelves_[0].counts.data() + place(0, 0) + replica;
  m.up = shelves_[0].counts.data() + place(0, 1) + replica;
  launch_measure(graphs_->lattice(range), m, stream_.get());
}

void DeviceBatch::make_exchange() {
  if (!engines_.front().spec.exchange) return;
  std::vector<ExchangeRule> rules;
  for (const EngineView& e : engines_) {
    rules.insert(rules.end(), e.exchange.rules().begin(), e.exchange.rules().end());
  }
  exchange_.rules = DeviceBuffer<ExchangeRule>(std::span<const ExchangeRule>(rules), stream_.get());
  stream_.wait();
  const std::size_t temperatures = engines_.front().spec.betas.size();
  exchange_.mask = DeviceBuffer<std::uint32_t>(replicas_ / kReplicas);
  exchange_.walker = DeviceBuffer<std::uint32_t>(replicas_);
  exchange_.counts = DeviceBuffer<unsigned long long>(graphs() * (1 + 2 * temperatures));
  exchange_.sums = DeviceBuffer<unsigned long long>(2 * replicas_);
  exchange_.walkers.resize(exchange_.walker.size());
  exchange_.counted.resize(exchange_.counts.size());
  std::vector<std::pair<std::uint32_t, ReplicaExchange*>> all;
  for (std::uint32_t graph = 0; graph < graphs(); ++graph) {
    all.emplace_back(graph, &engines_[graph].exchange);
  }
  send_exchanges(all);
}

void DeviceBatch::queue_exchange(const GraphRange& range) {
  const std::size_t of_graph = std::size_t{graphs_->word_groups()} * kReplicas;
  const std::size_t first = range.first * of_graph;
  exchange_.sums.clear(stream_.get());
  DeviceMeasurement m = graphs_->measurement(range, spins_.data());
  m.disagreeing = exchange_.sums.data() + first;
  m.up = exchange_.sums.data() + replicas_ + first;
  launch_measure(graphs_->lattice(range), m, stream_.get());
  const EngineView& one = engines_.front();
  const auto temperatures = static_cast<std::uint32_t>(one.spec.betas.size());
  DeviceExchange e;
  e.graphs = range.count;
  e.temperatures = temperatures;
  e.groups = one.groups;
  e.vec = graphs_->vec();
  e.words = graphs_->lattice({}).words;
  e.spins = spins_.data() + range.first * graphs_->words();
  e.first_step = step_.data();
  e.seeds = graphs_->seeds(range);
  e.unequal = m.disagreeing;
  e.up = m.up;
  e.bonds = bonds_.data() + range.first;
  e.units = one.spec.model.sum_units(0, graphs_->sites());
  e.rules = exchange_.rules.data() + range.first * (temperatures - 1);
  e.mask = exchange_.mask.data() + first / kReplicas;
  e.walker = exchange_.walker.data() + first;
  e.counts = exchange_.counts.data() + range.first * (1 + 2 * temperatures);
  launch_exchange(e, stream_.get());
  launch_add_steps(step_.data(), 1, stream_.get());
}

void DeviceBatch::fetch_exchanges(Exchanges of_graphs) {
  choose();
  exchange_.walker.copy_out(std::span(exchange_.walkers), stream_.get());
  exchange_.counts.copy_out(std::span(exchange_.counted), stream_.get());
  stream_.wait();
  for (const auto& [graph, to] : of_graphs) {
    const std::size_t temperatures = to->attempts.size();
    std::copy_n(exchange_.walkers.data() + graph * to->walker.size(), to->walker.size(),
                to->walker.data());
    const unsigned long long* counted = exchange_.counted.data() + graph * (1 + 2 * temperatures);
    to->steps = counted[0];
    std::copy_n(counted + 1, temperatures, to->attempts.data());
    std::copy_n(counted + 1 + temperatures, temperatures, to->exchanges.data());
  }
}

void DeviceBatch::send_exchanges(Exchanges of_graphs) {
  choose();
  for (const auto& [graph, from] : of_graphs) {
    const std::size_t temperatures = from->attempts.size();
    std::copy_n(from->walker.data(), from->walker.size(),
                exchange_.walkers.data() + graph * from->walker.size());
    unsigned long long* counted = exchange_.counted.data() + graph * (1 + 2 * temperatures);
    counted[0] = from->steps;
    std::copy_n(from->attempts.data(), temperatures, counted + 1);
    std::copy_n(from->exchanges.data(), temperatures, counted + 1 + temperatures);
  }
  exchange_.walker.copy_in(std::span<const std::uint32_t>(exchange_.walkers), stream_.get());
  exchange_.counts.copy_in(std::span<const unsigned long long>(exchange_.counted), stream_.get());
  stream_.wait();
}

void DeviceBatch::close_clusters(const GraphRange& range) {
  choose();
  make_shelves();
  queue_clusters(range, 0, 0);
}

DeviceBatch::Sums DeviceBatch::fetch(std::uint64_t updates, bool energies) {
  begin_chunk(0);
  end_chunk(1, 0, updates, energies);
  const Sums sums = take_chunk(0);
  for (std::size_t graph = 0; graph < graphs(); ++graph) take_flipped(graph, sums);
  end_chunks();
  return sums;
}

void DeviceBatch::begin_chunk(std::size_t shelf) {
  choose();
  shelves_[shelf].begun.record(stream_.get());
}

void DeviceBatch::sample(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
                         std::uint64_t every, std::size_t slots, std::size_t shelf, bool again) {
  const Shelf& on = shelves_[shelf];
  const auto steps = static_cast<std::uint32_t>(schedule.steps_per_cycle() * every);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    run(range, step, schedule, every);
    step += steps;
    make_shelves();
    if (slot == 0) on.measuring.record(stream_.get());
    queue_measurement(range, slot, shelf);
    if (slot == 0) on.measured.record(stream_.get());
    if (slot > 0 || !again || slots < slots_) continue;
    const CudaGraph* rest = captured_chunk(range, schedule, every, shelf);
    if (rest == nullptr) continue;
    count_clusters(range, schedule.cluster * every * (slots - 1));
    rest->launch(stream_.get());
    *next_step_ += steps * static_cast<std::uint32_t>(slots - 1);
    return;
  }
}

void DeviceBatch::end_chunk(std::size_t slots, std::size_t shelf, std::uint64_t updates,
                            bool energies) {
  Shelf& on = shelves_[shelf];
  on.ended.record(stream_.get());
  on.layout = layout(slots, updates);
  const std::size_t bytes = on.layout.bytes_in_all();
  if (on.sums.size() < bytes) {
    const PooledMemory pooled;
    stream_.wait();
    on.sums = DeviceBuffer<std::byte>(bytes);
  }
  if (on.fetched.size() < bytes) {
    pinned_stock().give(std::move(on.fetched));
    on.fetched = pinned_stock().take(bytes);
  }
  const Model model = energies ? engines_.front().spec.model : Model{};
  const SumUnits units = model.sum_units(0, graphs_->sites());
  launch_lay_out(on.layout, units, bonds_.data(), on.counts.data(), on.sums.data(), stream_.get());
  on.sums.copy_out(on.fetched.view().first(bytes), stream_.get());
  on.copied.record(stream_.get());
}

// The width of a kind is that of its largest possible value.
SumLayout DeviceBatch::layout(std::size_t slots, std::uint64_t updates) const {
  const auto at_most = [](double most) {
    return narrow_bytes<std::uint64_t>(
        0, most < 1.8e19 ? static_cast<std::uint64_t>(most * (1 + 1e-9)) : UINT64_MAX);
  };
  const auto either_sign = [](std::int64_t most) {
    return narrow_bytes<std::int64_t>(-most, most);
  };
  const auto sites = static_cast<double>(graphs_->sites()), many = static_cast<double>(updates);
  const double per_update = is_swendsen_wang() ? sites * sites : sites;
  const SumUnits units = engines_.front().spec.model.sum_units(0, graphs_->sites());
  const std::int64_t most_energy =
      units.unit * most_bonds_ +
      std::abs(units.field) * static_cast<std::int64_t>(graphs_->sites());
  SumLayout plan{
      graphs(),
      graphs_->word_groups() * kReplicas,
      static_cast<std::uint32_t>(slots),
      static_cast<std::uint32_t>(kinds_),
      kPairSize,
      {either_sign(most_energy), either_sign(static_cast<std::int64_t>(graphs_->sites())),
       at_most(many * per_update), 8, at_most(3 * many * std::ldexp(std::pow(sites, 4), -64)), 8, 8,
       8, 8, 8},
      {}};
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    plan.bytes_before[kind + 1] =
        plan.bytes_before[kind] + plan.bytes[kind] * plan.values(kind) / plan.replicas;
  }
  return plan;
}

DeviceBatch::Sums DeviceBatch::take_chunk(std::size_t shelf) {
  choose();
  shelves_[shelf].copied.wait();
  return {shelves_[shelf].fetched.view().data(), shelves_[shelf].layout};
}

std::uint64_t DeviceBatch::take_flipped(std::size_t graph, const Sums& sums) {
  if (!wolff_) return 0;
  const std::size_t replicas = sums.layout.replicas;
  std::uint64_t all = 0;
  sums.of<std::uint64_t>(graph, kClusters).visit([&](const auto& sites) {
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
  choose();
  stream_.wait();
  if (!wolff_) return;
  const PooledMemory pooled;
  wolff_->learn(flipped_, stream_.get());
  std::fill(flipped_.begin(), flipped_.end(), 0);
}

DeviceSpins DeviceBatch::device_spins(std::uint32_t graph) {
  has_outside_readers_ = true;
  const std::uint64_t word_groups = graphs_->word_groups(), words = graphs_->lattice({}).words;
  const auto vec = static_cast<std::uint64_t>(graphs_->vec());
  return {words_of(graph * word_groups),
          device_,
          true,
          {word_groups / vec, words, vec},
          {static_cast<std::int64_t>(words * vec), static_cast<std::int64_t>(vec), 1}};
}

std::int64_t* DeviceBatch::measure_on_device(std::uint32_t graph, const SumUnits& units) {
  choose();
  const std::size_t replicas = std::size_t{graphs_->word_groups()} * kReplicas;
  if (of_graph_.empty()) {
    counted_ = DeviceBuffer<unsigned long long>(2 * replicas);
    of_graph_ = DeviceBuffer<std::int64_t>(2 * replicas);
  }
  counted_.clear(stream_.get());
  DeviceMeasurement m = graphs_->measurement({graph, 1}, spins_.data());
  m.disagreeing = counted_.data();
  m.up = counted_.data() + replicas;
  launch_measure(graphs_->lattice({graph, 1}), m, stream_.get());
  launch_report({m.disagreeing, 1, m.up, 1}, units, static_cast<std::uint32_t>(replicas),
                of_graph_.data(), stream_.get());
  stream_.wait();
  return of_graph_.data();
}

std::uint32_t* DeviceBatch::words_of(std::size_t word_group) {
  return spins_.data() + first_word(static_cast<std::uint32_t>(word_group),
                                    graphs_->lattice({}).words, graphs_->vec());
}

void DeviceBatch::read_words(std::size_t word_group, std::span<std::uint32_t> out) {
  choose();
  launch_unpack_word_group(words_of(word_group), graphs_->lattice({}).words, graphs_->vec(),
                           unpacked_group_.data(), stream_.get());
  unpacked_group_.copy_out(out, stream_.get());
  stream_.wait();
}

void DeviceBatch::write_words(std::size_t word_group, std::span<const std::uint32_t> words) {
  choose();
  unpacked_group_.copy_in(words, stream_.get());
  launch_pack_word_group(words_of(word_group), graphs_->lattice({}).words, graphs_->vec(),
                         unpacked_group_.data(), stream_.get());
  stream_.wait();
}

void DeviceBatch::start(std::size_t word_group, const GroupStart& from) {
  choose();
  launch_start_group(words_of(word_group), graphs_->vec(), from, stream_.get());
}

}  // namespace rewise::multispin
