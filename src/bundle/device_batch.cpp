#include "src/bundle/device_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/base/profile.hpp"
#include "src/bundle/batch_cuda.hpp"
#include "src/cuda/use_device.hpp"

namespace rewise::bundle {
namespace {

constexpr std::uint32_t kMostCycles = 64;  // of one replay, a power of 4
constexpr std::uint32_t kMostSteps = 64;   // of one replay; the cluster updates of a cycle are one
constexpr std::size_t kMostCaptured = 64;
constexpr std::uint64_t kMostQueued = 512;  // launches of a captured group of measurements, about
// Kinds of sums, and measurements of a group: many of few replicas.
constexpr std::size_t kMostKinds = 7, kLeastSlots = 16, kMostSlots = 64, kManySums = 1 << 18;

std::size_t slots_for(std::uint64_t replicas) {
  return std::clamp<std::size_t>(kManySums / replicas, kLeastSlots, kMostSlots);
}

// Page-locked memory of batches that have gone, for those to come: making it takes a millisecond
// per 4 MiB, and giving it back waits for the device.
class PinnedStock {
 public:
  using Buffer = PinnedBuffer<unsigned long long>;

  Buffer take(std::size_t size) {
    const std::lock_guard lock(mutex_);
    for (Buffer& kept : kept_) {
      if (kept.size() < size || kept.size() > 4 * size) continue;
      std::swap(kept, kept_.back());
      Buffer buffer = std::move(kept_.back());
      kept_.pop_back();
      return buffer;
    }
    return Buffer(size);
  }
  void give(Buffer buffer) {
    if (buffer.size() == 0) return;
    const std::lock_guard lock(mutex_);
    if (kept_.size() < kMost) kept_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  std::vector<Buffer> kept_;
};

// Never taken down: the driver may be gone by then.
PinnedStock& pinned_stock() {
  static PinnedStock& stock = *new PinnedStock;
  return stock;
}

// Host times of a device's events.
class DeviceClock {
 public:
  explicit DeviceClock(cudaStream_t stream) {
    zero_.record(stream);
    zero_.wait();
    zero_time_ = now();
  }
  double time_of(const CudaEvent& event) const {  // reached
    return zero_time_ + event.seconds_since(zero_);
  }
  // Of the current device, `device`; never taken down.
  static const DeviceClock& of(int device, cudaStream_t stream) {
    static auto& clocks = *new std::map<int, DeviceClock>;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    return clocks.try_emplace(device, stream).first->second;
  }

 private:
  CudaEvent zero_{true};
  double zero_time_ = 0;
};

}  // namespace

DeviceBatch::DeviceBatch(std::vector<EngineView> engines, const EngineOptions& options)
    : options_(options), device_(use_device(options.device)), engines_(std::move(engines)) {
  const PooledMemory pooled;
  check_memory();
  graphs_ = std::make_unique<DeviceGraphs>(engines_, stream_.get());
  replicas_ = std::size_t{graphs()} * graphs_->bundles() * kReplicas;
  slots_ = slots_for(replicas_);
  spins_ = DeviceBuffer<std::uint32_t>(graphs() * graphs_->words());
  step_ = DeviceBuffer<std::uint32_t>(1);
  apart_ = DeviceBuffer<std::uint32_t>(graphs_->lattice({}).words);
  spins_.clear(stream_.get());
}

// Other threads' batches go on: nothing here waits for the device as a whole, unless spins were
// lent to readers whose streams are not known.
DeviceBatch::~DeviceBatch() {
  cudaSetDevice(device_);
  if (lent_) {
    cudaDeviceSynchronize();
  } else {
    cudaStreamSynchronize(stream_.get());
  }
  for (Shelf& shelf : shelves_) pinned_stock().give(std::move(shelf.fetched));
}

// Spins, planes, graphs; before anything is allocated.
void DeviceBatch::check_memory() const {
  std::uint64_t need = 0, replicas = 0;
  for (const EngineView& e : engines_) {
    const std::uint64_t spins = std::uint64_t{e.bundles} * e.layout.words * 4;
    const std::uint64_t graph = e.layout.modified_cells * 64 + e.layout.rewired.count() * 24 +
                                e.layout.sites * 4 + e.layout.rows * 32ull;
    need += 2 * spins + graph;
    replicas += e.bundles * kReplicas;
  }
  need += replicas * 2 * slots_for(replicas) * kMostKinds * 8;
  need += engines_.front().layout.sites * 4;
  const std::size_t free = free_device_memory();
  if (need > free) {
    throw Error(ExitCode::device,
                fmt::format("cuda:{}: {:.1f} GiB are needed for {} sites x {} replicas, {:.1f} GiB "
                            "are free (reduce replicas, temperatures or the size)",
                            device_, static_cast<double>(need) / (1ull << 30),
                            engines_.front().layout.sites, replicas,
                            static_cast<double>(free) / (1ull << 30)));
  }
}

void DeviceBatch::begin_piece() {
  if (busy_ || !profile::started()) return;
  DeviceClock::of(device_, stream_.get());
  begun_.record(stream_.get());
  busy_ = true;
}

void DeviceBatch::wait() {
  if (busy_) ended_.record(stream_.get());
  stream_.wait();
  end_piece();
}

void DeviceBatch::end_piece() {
  if (!std::exchange(busy_, false)) return;
  const DeviceClock& clock = DeviceClock::of(device_, stream_.get());
  profile::add(profile::Work::device, clock.time_of(begun_), clock.time_of(ended_));
}

void DeviceBatch::run(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
                      std::uint64_t cycles) {
  choose();
  begin_piece();
  const PooledMemory pooled;
  if (schedule.cluster > 0) prepare_clusters(range, schedule.cluster * cycles);
  if (next_step_ != step) launch_set_step(step_.data(), step, stream_.get());
  next_step_.reset();
  if (schedule.local <= kMostSteps) {
    replay(range, schedule, cycles);
  } else {
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      replay(range, {1, 0}, schedule.local);
      if (schedule.cluster > 0) replay(range, {0, schedule.cluster}, 1);
    }
  }
  next_step_ = static_cast<std::uint32_t>(step + schedule.steps_per_cycle() * cycles);
}

void DeviceBatch::prepare_clusters(const GraphRange& range, std::uint64_t updates) {
  if (is_swendsen_wang()) {
    if (swendsen_wang_) return;
    swendsen_wang_ =
        std::make_unique<SwendsenWangBatch>(engines_, *graphs_, device_, stream_.get());
    return;
  }
  if (!wolff_) {
    wolff_ = std::make_unique<DeviceWolffBatch>(engines_, *graphs_, options_, stream_.get());
  }
  wolff_->count(range, updates);
}

std::uint32_t DeviceBatch::cluster_launches(std::uint32_t updates) const {
  if (updates == 0) return 0;
  return is_swendsen_wang() ? updates * swendsen_wang_->launches() : wolff_->launches(updates);
}

void DeviceBatch::replay(const GraphRange& range, const Schedule& schedule, std::uint64_t cycles) {
  const std::uint32_t steps = schedule.local + cluster_launches(schedule.cluster);
  for (std::uint32_t piece = kMostCycles; piece > 0; piece /= 4) {
    if (piece > std::max(1u, kMostSteps / steps) || cycles < piece) continue;
    const CudaGraph& graph = captured(range, schedule, piece);
    for (; cycles >= piece; cycles -= piece) graph.launch(stream_.get());
  }
}

const CudaGraph& DeviceBatch::captured(const GraphRange& range, const Schedule& schedule,
                                       std::uint32_t cycles) {
  return captured_as({range, schedule.local, schedule.cluster, cycles, 0},
                     [&] { queue_cycles(range, schedule, cycles); });
}

const CudaGraph* DeviceBatch::captured_group(const GraphRange& range, const Schedule& schedule,
                                             std::uint64_t every, std::size_t shelf) {
  const std::uint64_t sweeps = graphs_->residence(range).vec > 0 ? 1 : schedule.local;
  const std::uint64_t cycle = sweeps + cluster_launches(schedule.cluster);
  const std::uint64_t most = kMostQueued / (slots_ - 1) - 4;
  if (every > most || cycle > most / every) return nullptr;
  return &captured_as({range, schedule.local, schedule.cluster, every, shelf + 1}, [&] {
    for (std::size_t slot = 1; slot < slots_; ++slot) {
      queue_cycles(range, schedule, static_cast<std::uint32_t>(every));
      queue_measurement(range, slot, shelf);
    }
  });
}

template <class F>
const CudaGraph& DeviceBatch::captured_as(const Captured& what, const F& queue) {
  const std::pair key{what, std::get<2>(what) > 0 && wolff_ ? wolff_->mix() : 0};
  const auto found = captured_.find(key);
  if (found != captured_.end()) return found->second;
  if (captured_.size() >= kMostCaptured) {
    stream_.wait();
    captured_.clear();
  }
  return captured_.emplace(key, CudaGraph(stream_.get(), queue)).first->second;
}

void DeviceBatch::queue_cycles(const GraphRange& range, const Schedule& schedule,
                               std::uint32_t cycles) {
  // Cycles without cluster updates run into one another.
  const bool pure = schedule.cluster == 0;
  const std::uint32_t sweeps = pure ? cycles * schedule.local : schedule.local;
  std::uint32_t step = 0;
  for (std::uint32_t cycle = 0; cycle < (pure ? 1 : cycles); ++cycle) {
    queue_sweeps(range, step, sweeps);
    step += sweeps;
    if (pure) continue;
    if (is_swendsen_wang()) {
      swendsen_wang_->queue(range, step_.data(), step, schedule.cluster, spins_.data(),
                            stream_.get());
    } else {
      wolff_->queue(range, step_.data(), step, schedule.cluster, spins_.data(), stream_.get());
    }
    step += schedule.cluster;
  }
  launch_add_steps(step_.data(), step, stream_.get());
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
  captured_.clear();  // which have the places of the sums
  kinds_ = kinds();
  for (Shelf& shelf : shelves_) {
    pinned_stock().give(std::move(shelf.fetched));
    shelf.sums = DeviceBuffer<unsigned long long>(place(slots_, 0));
    shelf.fetched = pinned_stock().take(shelf.sums.size());
    shelf.sums.clear(stream_.get());
  }
}

void DeviceBatch::queue_measurement(const GraphRange& range, std::size_t slot, std::size_t shelf) {
  const std::size_t first = std::size_t{range.first} * graphs_->bundles() * kReplicas;
  DeviceMeasurement m = graphs_->measurement(range, spins_.data());
  m.disagreeing = shelves_[shelf].sums.data() + place(slot, 0) + first;
  m.up = shelves_[shelf].sums.data() + place(slot, 1) + first;
  launch_measure(graphs_->lattice(range), m, stream_.get());
  queue_clusters(range, slot, shelf);
}

void DeviceBatch::queue_clusters(const GraphRange& range, std::size_t slot, std::size_t shelf) {
  if (!wolff_ && !swendsen_wang_) return;
  const std::size_t per_graph = std::size_t{graphs_->bundles()} * kReplicas;
  const std::size_t first = range.first * per_graph, bytes = range.count * per_graph * 8;
  DeviceBuffer<unsigned long long>& sums =
      swendsen_wang_ ? swendsen_wang_->sums() : wolff_->flipped();
  const auto close = [&](std::size_t kind, std::size_t count) {
    unsigned long long* from = sums.data() + kind * replicas_ + first;
    check_cuda(cudaMemcpyAsync(shelves_[shelf].sums.data() + place(slot, 2 + kind) + first, from,
                               count, cudaMemcpyDeviceToDevice, stream_.get()),
               "copying cluster sums");
    check_cuda(cudaMemsetAsync(from, 0, count, stream_.get()), "clearing");
  };
  // Kinds lie one behind the other.
  if (range.count == graphs()) return close(0, sums.bytes());
  for (std::size_t kind = 0; kind < sums.size() / replicas_; ++kind) close(kind, bytes);
}

void DeviceBatch::measure(const GraphRange& range) {
  choose();
  begin_piece();
  make_shelves();
  queue_measurement(range, 0, 0);
}

void DeviceBatch::close_clusters(const GraphRange& range) {
  choose();
  make_shelves();
  queue_clusters(range, 0, 0);
}

DeviceBatch::Sums DeviceBatch::fetch() {
  begin_group(0);
  end_group(1, 0);
  const Sums sums = take_group(1, 0).front();
  end_groups();
  return sums;
}

void DeviceBatch::begin_group(std::size_t shelf) {
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
    const CudaGraph* rest = captured_group(range, schedule, every, shelf);
    if (rest == nullptr) continue;
    if (schedule.cluster > 0) prepare_clusters(range, schedule.cluster * every * (slots - 1));
    rest->launch(stream_.get());
    *next_step_ += steps * static_cast<std::uint32_t>(slots - 1);
    return;
  }
}

void DeviceBatch::end_group(std::size_t slots, std::size_t shelf) {
  Shelf& on = shelves_[shelf];
  on.ended.record(stream_.get());
  const std::size_t size = place(slots, 0);
  on.sums.copy_out(on.fetched.view().first(size), stream_.get());
  check_cuda(cudaMemsetAsync(on.sums.data(), 0, size * 8, stream_.get()), "clearing");
  on.copied.record(stream_.get());
  if (busy_) ended_.record(stream_.get());
}

std::vector<DeviceBatch::Sums> DeviceBatch::take_group(std::size_t slots, std::size_t shelf) {
  choose();
  shelves_[shelf].copied.wait();
  const auto host = shelves_[shelf].fetched.view();
  std::vector<Sums> taken;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto kind = [&](std::size_t k) { return k < kinds() ? &host[place(slot, k)] : nullptr; };
    taken.push_back({kind(0), kind(1), kind(2), kind(3), kind(4), kind(5), kind(6)});
  }
  if (wolff_) {
    flipped_.resize(replicas_, 0);
    for (const Sums& sums : taken) {
      for (std::size_t k = 0; k < replicas_; ++k) flipped_[k] += sums.clusters[k];
    }
  }
  return taken;
}

void DeviceBatch::end_groups() {
  choose();
  stream_.wait();
  end_piece();
  if (!wolff_) return;
  const PooledMemory pooled;
  wolff_->learn(flipped_, stream_.get());
  std::fill(flipped_.begin(), flipped_.end(), 0);
}

DeviceSpins DeviceBatch::device_spins(std::uint32_t graph) {
  lent_ = true;
  const std::uint64_t bundles = graphs_->bundles(), words = graphs_->lattice({}).words;
  const auto vec = static_cast<std::uint64_t>(graphs_->vec());
  return {bundle_words(graph * bundles),
          device_,
          true,
          {bundles / vec, words, vec},
          {static_cast<std::int64_t>(words * vec), static_cast<std::int64_t>(vec), 1}};
}

std::int64_t* DeviceBatch::measure_on_device(std::uint32_t graph, const SumUnits& units) {
  choose();
  const std::size_t replicas = std::size_t{graphs_->bundles()} * kReplicas;
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

std::uint32_t* DeviceBatch::bundle_words(std::size_t bundle) {
  const auto vec = static_cast<std::size_t>(graphs_->vec());
  return spins_.data() + bundle / vec * graphs_->lattice({}).words * vec + bundle % vec;
}

void DeviceBatch::read_words(std::size_t bundle, std::span<std::uint32_t> out) {
  choose();
  launch_take_bundle(bundle_words(bundle), graphs_->lattice({}).words, graphs_->vec(),
                     apart_.data(), stream_.get());
  apart_.copy_out(out, stream_.get());
  stream_.wait();
}

void DeviceBatch::write_words(std::size_t bundle, std::span<const std::uint32_t> words) {
  choose();
  apart_.copy_in(words, stream_.get());
  launch_put_bundle(bundle_words(bundle), graphs_->lattice({}).words, graphs_->vec(), apart_.data(),
                    stream_.get());
  stream_.wait();
}

}  // namespace rewise::bundle
