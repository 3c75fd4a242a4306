// The multispin engine on a CUDA device: engines are members of a batch, which owns the device's
// memory and runs them together (device_batch_cuda.hpp); an engine by itself is a batch of one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/engine/run_in_pieces.hpp"
#include "src/multispin/device_batch_cuda.hpp"
#include "src/multispin/host_tables_cuda.hpp"
#include "src/multispin/multispin_engine.hpp"

namespace rewise::multispin {
namespace {

static_assert(kMaxBatch == kMaxGraphs);

}  // namespace

class CudaEngine final : public MultispinEngine, public HasDeviceSpins {
 public:
  using Members = std::span<CudaEngine* const>;  // of one batch, in ascending order

  CudaEngine(const Graph& graph, const EngineSpec& spec) : MultispinEngine(graph, spec) {}

  // Must be called before any other member function.
  void join(std::shared_ptr<DeviceBatch> batch, std::uint32_t member) {
    batch_ = std::move(batch);
    member_ = member;
    device_name_ = fmt::format("cuda:{}", batch_->device());
  }

  void start() {
    if (layout_.flip_mask.empty()) return batch_->start(member_, hot_replicas());
    for (std::uint32_t group = 0; group < word_groups_; ++group) {
      write_words(group, start_words(group));
    }
  }

  using MultispinEngine::change_cluster;
  // These act on all members of the batch.
  void drop_cluster_tables() { batch_->drop_cluster_tables(); }
  void prepare(const Schedule& schedule) { batch_->prepare(schedule); }

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    CudaEngine* self = this;
    return advance_all({&self, 1}, schedule, cycles).front();
  }

  void measure(Observation& out) override {
    CudaEngine* self = this;
    measure_all({&self, 1}, [&](std::size_t, Observation&& one) { out = std::move(one); });
  }

  void fetch_exchange() const override {
    if (!spec_.exchange) return;
    batch_->exchange().fetch();
    batch_->exchange().read(member_, exchange_);
  }
  void send_exchange() override {
    if (!spec_.exchange) return;
    batch_->exchange().fetch();  // those of the other members, which are sent back
    batch_->exchange().write(member_, exchange_);
    batch_->exchange().send();
  }

  // Throws Error(usage) if the words on the device contain inverted spins (Layout::flip_mask).
  void check_device_spins() const {
    if (layout_.flip_mask.empty()) return;
    throw Error(ExitCode::usage,
                "the multispin engine does not give spins on the device with fields of random sign "
                "(use the bytespin engine, or spins on the host)");
  }
  DeviceSpins device_spins() override {
    check_device_spins();
    return batch_->device_spins(member_);
  }
  std::int64_t* measure_on_device() override {
    check_device_spins();
    return batch_->measure_on_device(member_, sum_units());
  }
  std::vector<std::uint32_t> device_slots() const override {
    std::vector<std::uint32_t> slots(layout_.sites);
    for (Site site = 0; site < layout_.sites; ++site) slots[site] = layout_.slot(site);
    return slots;
  }
  void wait_for_readers() override { batch_->wait_for_readers(); }

  static std::vector<bool> advance_all(Members members, const Schedule& schedule,
                                       std::uint64_t cycles);
  // Returns the number of measurements made of each member.
  static std::vector<std::size_t> sample_all(Members members, const Schedule& schedule,
                                             std::uint64_t every, std::size_t count,
                                             const SampleSink& sink);

 private:
  struct Run {
    GraphRange range;
    std::uint32_t step;
  };
  static std::vector<Run> runs_of(Members members);
  static void run_all(Members members, const Schedule& schedule, std::uint64_t cycles);
  template <class F>
  static void measure_all(Members members, const F& take);
  static void measure_overlaps(Members members, std::span<Observation> out);
  static void measure_masked(Members members, DeviceBatch::Mask mask, std::span<Observation> out);
  static void sample_chunks(Members members, const Schedule& schedule, std::uint64_t every,
                            std::size_t count, const SampleSink& sink);

  void read_words(std::uint32_t word_group, Words& out) const override {
    out.resize(layout_.words);
    batch_->read_words(std::size_t{member_} * word_groups_ + word_group, out);
  }
  void write_words(std::uint32_t word_group, const Words& words) override {
    batch_->write_words(std::size_t{member_} * word_groups_ + word_group, words);
  }

  // The sums of this member.
  Samples samples(const MeasuredSums::Sums& sums, std::uint64_t updates) const;
  std::uint64_t take_clusters(const MeasuredSums::Sums& sums);

  // Time of mixed schedules counts as local; `bench` measures its parts.
  void spend(const Schedule& schedule, double seconds) {
    (schedule.local == 0 ? work_.cluster_seconds : work_.local_seconds) += seconds;
  }

  std::shared_ptr<DeviceBatch> batch_;
  std::uint32_t member_ = 0;  // index in the batch
  std::string device_name_;
};

// Adjacent members at the same step run together.
std::vector<CudaEngine::Run> CudaEngine::runs_of(Members members) {
  std::vector<Run> runs;
  for (const CudaEngine* e : members) {
    const auto step = static_cast<std::uint32_t>(e->step_);
    if (!runs.empty() && runs.back().step == step &&
        runs.back().range.first + runs.back().range.count == e->member_) {
      ++runs.back().range.count;
    } else {
      runs.push_back({{e->member_, 1}, step});
    }
  }
  return runs;
}

std::vector<bool> CudaEngine::advance_all(Members members, const Schedule& schedule,
                                          std::uint64_t cycles) {
  if (members.empty()) return {};
  CudaEngine& first = *members.front();
  DeviceBatch& batch = *first.batch_;
  if (members.size() == 1 && !first.in_step()) {
    return {first.advance_on_cpu(make_multispin_engine, first.graph_, batch.options().stop,
                                 schedule, cycles)};
  }
  const bool alike = std::all_of(members.begin(), members.end(), [&](const CudaEngine* e) {
    return e->in_step() && e->steps_ahead_.front() == first.steps_ahead_.front();
  });
  std::vector<bool> done(members.size());
  if (!alike) {
    for (std::size_t k = 0; k < members.size(); ++k) {
      done[k] = members[k]->advance(schedule, cycles);
    }
    return done;
  }
  const std::vector<EngineBase*> engines(members.begin(), members.end());
  done.assign(
      members.size(),
      advance_together(engines, batch.step_seconds, batch.options().stop, schedule, cycles,
                       [&](const Schedule& part, std::uint64_t n) { run_all(members, part, n); }));
  return done;
}

void CudaEngine::run_all(Members members, const Schedule& schedule, std::uint64_t cycles) {
  const double start = now();
  DeviceBatch& batch = *members.front()->batch_;
  for (const Run& run : runs_of(members)) {
    batch.run(run.range, run.step, schedule, cycles);
    if (schedule.cluster > 0) batch.close_clusters(run.range);
  }
  MeasuredSums::Sums sums{};
  if (schedule.cluster > 0) {
    sums = batch.fetch(schedule.cluster * cycles);
  } else {
    batch.wait();
  }
  const double seconds = (now() - start) / static_cast<double>(members.size());
  for (CudaEngine* e : members) {
    e->count(schedule, cycles, e->take_clusters(sums));
    e->spend(schedule, seconds);
  }
}

template <class F>
void CudaEngine::measure_all(Members members, const F& take) {
  const double start = now();
  DeviceBatch& batch = *members.front()->batch_;
  for (const Run& run : runs_of(members)) batch.measure(run.range);
  const MeasuredSums::Sums sums = batch.fetch(0);  // no cluster updates since run_all()
  std::vector<Observation> all(members.size());
  for (std::size_t k = 0; k < members.size(); ++k) {
    CudaEngine& e = *members[k];
    all[k].bond_sum = sums.values<std::int64_t>(e.member_, MeasuredSums::kBondSum).wide();
    all[k].magnetisation =
        sums.values<std::int64_t>(e.member_, MeasuredSums::kMagnetisation).wide();
    e.move_cluster_sums(all[k]);
  }
  const CudaEngine& one = *members.front();
  if (!one.layout_.flip_mask.empty()) measure_masked(members, DeviceBatch::Mask::spins, all);
  if (one.spec_.staggered) measure_masked(members, DeviceBatch::Mask::staggered, all);
  if (one.has_overlaps()) measure_overlaps(members, all);
  const double seconds = (now() - start) / static_cast<double>(members.size());
  for (std::size_t k = 0; k < members.size(); ++k) {
    members[k]->work_.measure_seconds += seconds;
    take(k, std::move(all[k]));
  }
}

void CudaEngine::measure_masked(Members members, DeviceBatch::Mask mask,
                                std::span<Observation> out) {
  DeviceBatch& batch = *members.front()->batch_;
  for (const Run& run : runs_of(members)) batch.measure_masked(run.range, mask);
  const MeasuredSums::Sums sums = batch.fetch(0, false);
  for (std::size_t k = 0; k < members.size(); ++k) {
    (mask == DeviceBatch::Mask::spins ? out[k].magnetisation : out[k].staggered) =
        sums.values<std::int64_t>(members[k]->member_, MeasuredSums::kMagnetisation).wide();
  }
}

void CudaEngine::measure_overlaps(Members members, std::span<Observation> out) {
  DeviceBatch& batch = *members.front()->batch_;
  for (const Run& run : runs_of(members)) batch.measure_products(run.range);
  const MeasuredSums::Sums sums = batch.fetch(0, false);
  const bool exchanges = members.front()->spec_.exchange;
  if (exchanges) batch.exchange().fetch();
  for (std::size_t k = 0; k < members.size(); ++k) {
    CudaEngine& e = *members[k];
    const auto link = sums.values<std::int64_t>(e.member_, MeasuredSums::kBondSum).wide();
    const auto products = sums.values<std::int64_t>(e.member_, MeasuredSums::kMagnetisation).wide();
    for (std::size_t r = 0; r < e.replicas_; r += 2) {
      out[k].overlap.push_back(-products[r]);
      out[k].link_overlap.push_back(link[r]);
    }
    if (exchanges) batch.exchange().read(e.member_, e.exchange_);
    e.exchange_.move_counts(out[k]);
    if (exchanges) batch.exchange().write(e.member_, e.exchange_);
  }
  if (exchanges) batch.exchange().send();
}

std::vector<std::size_t> CudaEngine::sample_all(Members members, const Schedule& schedule,
                                                std::uint64_t every, std::size_t count,
                                                const SampleSink& sink) {
  std::vector<std::size_t> made(members.size(), 0);
  if (members.empty() || count == 0) return made;
  DeviceBatch& batch = *members.front()->batch_;
  const bool quick = batch.step_seconds.measured(schedule) &&
                     batch.step_seconds.seconds(schedule) * static_cast<double>(every * count) <=
                         2 * kPieceSeconds;
  const bool fresh = std::none_of(members.begin(), members.end(),
                                  [](const CudaEngine* e) { return e->is_mid_advance(); });
  // The first `first` measurements are made one by one: all of them if chunks cannot be used, or
  // only the first one if its cluster sums include updates of an earlier advance().
  const bool pending = std::any_of(members.begin(), members.end(),
                                   [](const CudaEngine* e) { return e->cluster_updates_ > 0; });
  const bool alone = !fresh || (batch.options().stop && !quick) || members.front()->has_overlaps();
  const std::size_t first = alone ? count : pending ? 1 : 0;
  for (std::size_t n = 0; n < first; ++n) {
    const std::vector<bool> done = advance_all(members, schedule, every);
    std::vector<CudaEngine*> arrived;
    std::vector<std::size_t> number;
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (!done[k]) continue;
      arrived.push_back(members[k]);
      number.push_back(k);
      ++made[k];
    }
    if (arrived.empty()) return made;
    measure_all(arrived, [&](std::size_t k, Observation&& one) { sink(number[k], one); });
    if (arrived.size() < members.size()) return made;
  }
  count -= first;
  if (count == 0) return made;
  for (const CudaEngine* e : members) e->check_steps(schedule, every * count);
  const double begin = now();
  sample_chunks(members, schedule, every, count, sink);
  if (batch.step_seconds.measured(schedule))
    batch.step_seconds.update(schedule, every * count, now() - begin);
  made.assign(members.size(), first + count);
  return made;
}

// The host processes a chunk of measurements while the device makes the next one.
void CudaEngine::sample_chunks(Members members, const Schedule& schedule, std::uint64_t every,
                               std::size_t count, const SampleSink& sink) {
  const double begin = now();
  DeviceBatch& batch = *members.front()->batch_;
  const std::vector<Run> runs = runs_of(members);
  const std::uint64_t steps = schedule.steps_per_cycle() * every,
                      updates = schedule.cluster * every;
  const std::size_t most = batch.sums().measurements(), chunks = (count + most - 1) / most;
  const auto measurements_of = [&](std::size_t chunk) {
    return std::min(count - chunk * most, most);
  };
  const auto queue = [&](std::size_t chunk) {
    const std::size_t measurements = measurements_of(chunk), shelf = chunk % 2;
    const auto ahead = static_cast<std::uint32_t>(chunk * most * steps);
    batch.sums().begin(shelf);
    for (const Run& run : runs) {
      batch.sample(run.range, run.step + ahead, schedule, every, measurements, shelf, chunks > 4);
    }
    batch.sums().end(shelf, measurements, updates, true);
  };
  double updating = 0;
  queue(0);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    if (chunk + 1 < chunks) queue(chunk + 1);
    const std::size_t measurements = measurements_of(chunk);
    const MeasuredSums::Sums sums = batch.sums().take(chunk % 2);
    updating += std::max(
        0.0, batch.sums().chunk_seconds(chunk % 2) -
                 batch.sums().measure_seconds(chunk % 2) * static_cast<double>(measurements));
    for (std::size_t k = 0; k < members.size(); ++k) {
      CudaEngine& e = *members[k];
      e.count(schedule, every * measurements, batch.take_flipped(e.member_, sums));
      e.cluster_updates_ = 0;  // reported with this measurement
      sink(k, e.samples(sums, updates));
    }
  }
  batch.end_chunks();
  const double all = now() - begin, each = 1 / static_cast<double>(members.size());
  updating = std::min(updating, all);
  for (CudaEngine* e : members) {
    e->spend(schedule, updating * each);
    e->work_.measure_seconds += (all - updating) * each;
  }
}

Samples CudaEngine::samples(const MeasuredSums::Sums& sums, std::uint64_t updates) const {
  const auto take = [&]<class T>(NarrowSpan<T>& list, MeasuredSums::Kind kind) {
    list = sums.values<T>(member_, kind);
  };
  Samples some;
  some.count = sums.layout.measurements;
  some.cluster_updates = updates;
  take(some.bond_sum, MeasuredSums::kBondSum);
  take(some.magnetisation, MeasuredSums::kMagnetisation);
  if (updates == 0) return some;
  take(some.cluster_size, MeasuredSums::kClusters);
  take(some.cluster_quartic_low, MeasuredSums::kQuarticLow);
  take(some.cluster_quartic_high, MeasuredSums::kQuarticHigh);
  if (!pair_sums_[0].empty()) take(some.pair_size, MeasuredSums::kPairSize);
  if (cluster_cross_.empty()) return some;  // other members of the batch may have weights
  take(some.cluster_cross, MeasuredSums::kCross);
  take(some.cluster_weight, MeasuredSums::kWeightSquare);
  if (pair_sums_[0].empty()) return some;
  take(some.pair_cross, MeasuredSums::kPairCross);
  take(some.pair_weight, MeasuredSums::kPairWeight);
  return some;
}

// Adds the cluster sums since the last call to those of the next measurement. Returns the number of
// flipped sites.
std::uint64_t CudaEngine::take_clusters(const MeasuredSums::Sums& sums) {
  if (sums.data == nullptr) return 0;
  const Samples some = samples(sums, 1);
  std::uint64_t sites = 0;
  for (std::size_t k = 0; k < replicas_; ++k) {
    sites += some.cluster_size[k];
    if (!has_cluster_sums()) continue;
    cluster_size_[k] += some.cluster_size[k];
    if (is_swendsen_wang()) {
      cluster_quartic_[k] +=
          static_cast<WideSum>(some.cluster_quartic_high[k]) << 64 | some.cluster_quartic_low[k];
    }
    if (cluster_cross_.empty()) continue;
    cluster_cross_[k] += some.cluster_cross[k];
    cluster_weight_[k] += some.cluster_weight[k];
  }
  const NarrowSpan<std::uint64_t>* pairs[] = {&some.pair_size, &some.pair_cross, &some.pair_weight};
  for (std::size_t kind = 0; kind < 3; ++kind) {
    for (std::size_t k = 0; k < pair_sums_[kind].size(); ++k) {
      pair_sums_[kind][k] += (*pairs[kind])[k];
    }
  }
  return sites;
}

namespace {

class CudaBatch final : public EngineBatch {
 public:
  CudaBatch(std::span<const BatchTask> tasks, const EngineOptions& options) {
    engines_.resize(tasks.size());
    on_all_cores(tasks.size(), tasks.size() * tasks.front().graph.sites(), [&](std::size_t k) {
      engines_[k] = std::make_unique<CudaEngine>(tasks[k].graph, tasks[k].spec);
    });
    std::vector<EngineView> views;
    for (const auto& engine : engines_) views.push_back(engine->view());
    const auto batch = std::make_shared<DeviceBatch>(std::move(views), options);
    for (std::uint32_t k = 0; k < engines_.size(); ++k) {
      engines_[k]->join(batch, k);
      engines_[k]->start();
    }
    batch->wait();
  }

  std::size_t size() const override { return engines_.size(); }
  Engine& engine(std::size_t k) override { return *engines_.at(k); }

  bool change_cluster(ClusterUpdate cluster) override {
    if (cluster == ClusterUpdate::few_cluster) return false;
    if (cluster == engines_.front()->view().spec.cluster) return true;
    for (const auto& engine : engines_) engine->change_cluster(cluster);
    engines_.front()->drop_cluster_tables();
    return true;
  }
  void prepare(const Schedule& schedule) override { engines_.front()->prepare(schedule); }
  std::vector<bool> advance(std::span<const std::size_t> chosen, const Schedule& schedule,
                            std::uint64_t cycles) override {
    return CudaEngine::advance_all(members(chosen), schedule, cycles);
  }
  using EngineBatch::sample;
  std::vector<std::size_t> sample(std::span<const std::size_t> chosen, const Schedule& schedule,
                                  std::uint64_t every, std::size_t count,
                                  const SampleSink& sink) override {
    return CudaEngine::sample_all(members(chosen), schedule, every, count, sink);
  }

  std::unique_ptr<Engine> release_only() { return std::move(engines_.front()); }

 private:
  std::vector<CudaEngine*> members(std::span<const std::size_t> chosen) const {
    std::vector<CudaEngine*> engines;
    for (const std::size_t k : chosen) engines.push_back(engines_.at(k).get());
    return engines;
  }

  std::vector<std::unique_ptr<CudaEngine>> engines_;
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options) {
  const BatchTask task{graph, spec};
  return CudaBatch({&task, 1}, options).release_only();
}

std::unique_ptr<EngineBatch> make_cuda_batch(std::span<const BatchTask> tasks,
                                             const EngineOptions& options) {
  return std::make_unique<CudaBatch>(tasks, options);
}

}  // namespace rewise::multispin
