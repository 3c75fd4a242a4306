// Couplings and fields on a CUDA device: owns the memory, queues the kernels of all replicas on a
// stream.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/base/require_memory.hpp"
#include "src/bytespin/device_graph.hpp"
#include "src/bytespin/interactions/interaction_cuda.hpp"
#include "src/bytespin/interactions/interaction_engine.hpp"
#include "src/bytespin/local/observe_cuda.hpp"
#include "src/cuda/device_stream.hpp"

namespace rewise::bytespin {
namespace {

class InteractionCudaEngine final : public InteractionEngine {
 public:
  InteractionCudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);
  ~InteractionCudaEngine() override { device_.finish(); }  // queued work uses this engine's memory

  std::string_view device() const override { return device_name_; }
  int threads() const override { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    check_schedule(schedule);
    return advance_replicas(options_, schedule, cycles,
                            [this](const Schedule& part, std::uint64_t n) { run(part, n); });
  }
  void measure(Observation& out) override;

 private:
  void check_memory() const;
  void prepare_clusters();
  void run(const Schedule& schedule, std::uint64_t cycles);

  // Copy walkers and exchange counts from the device to the host, and back.
  void fetch_exchanges();
  void send_exchanges();
  void exchange();

  std::vector<std::uint64_t> save_sums() const override {
    const_cast<InteractionCudaEngine*>(this)->fetch_exchanges();
    return InteractionEngine::save_sums();
  }
  bool restore_sums(std::span<const std::uint64_t> words) override {
    const bool fits = InteractionEngine::restore_sums(words);
    send_exchanges();
    return fits;
  }
  void read_part(std::size_t replica, std::span<std::uint8_t> out) const override {
    device_.use();
    spins_.copy_out(out, device_.get(), replica * replica_stride(plan_.sites));
    device_.wait();
  }
  void write_part(std::size_t replica, Bytes spins) override {
    device_.use();
    spins_.copy_in(spins, device_.get(), replica * replica_stride(plan_.sites));
    device_.wait();
  }

  const EngineOptions options_;
  const DeviceStream device_;
  const std::string device_name_;
  std::unique_ptr<DeviceGraph> graph_;
  DeviceBuffer<std::int32_t> couplings_, fields_;
  DeviceBuffer<Boltzmann> factors_;
  DeviceBuffer<Site> sites_;
  DeviceBuffer<std::uint8_t> sublattices_;
  DeviceBuffer<std::uint8_t> spins_;  // [replicas][stride]
  // [replicas] energies, [pairs][2] overlaps of spins and of links, and with EngineSpec::staggered
  // [replicas] staggered sums
  DeviceBuffer<unsigned long long> energies_;
  // The results of launch_measure(): [replicas] unequal, [replicas][measured_counts()]
  DeviceBuffer<unsigned long long> counted_;
  InteractionPlan on_device_;
  DeviceReplicas device_replicas_;
  DeviceBuffer<Site> queue_;
  DeviceBuffer<std::uint32_t> bits_;
  DeviceBuffer<unsigned long long> visited_;
  DeviceBuffer<std::uint32_t> walkers_;
  DeviceBuffer<unsigned long long> counts_;  // [T] attempts, [T] exchanges
  DeviceBuffer<std::uint8_t> accepted_;
  DeviceBuffer<ExchangeRule> device_rules_;
  InteractionScratch scratch_;
};

InteractionCudaEngine::InteractionCudaEngine(const Graph& graph, const EngineSpec& spec,
                                             const EngineOptions& options)
    : InteractionEngine(graph, spec, options),
      options_(options),
      device_(options.device),
      device_name_(fmt::format("cuda:{}", options.device)) {
  check_memory();
  const cudaStream_t stream = device_.get();
  const std::uint64_t stride = replica_stride(plan_.sites);
  graph_ = std::make_unique<DeviceGraph>(plan_, stream);
  couplings_ = DeviceBuffer<std::int32_t>(std::span<const std::int32_t>(coupling_), stream);
  fields_ = DeviceBuffer<std::int32_t>(std::span<const std::int32_t>(field_), stream);
  factors_ = DeviceBuffer<Boltzmann>(std::span<const Boltzmann>(boltzmann_), stream);
  sites_ = DeviceBuffer<Site>(std::span<const Site>(of_colour_), stream);
  sublattices_ = DeviceBuffer<std::uint8_t>(std::span<const std::uint8_t>(sublattice_), stream);
  spins_ = DeviceBuffer<std::uint8_t>(replicas_ * stride);
  spins_.clear(stream);
  energies_ = DeviceBuffer<unsigned long long>((spec.staggered ? 2 : 1) * replicas_ + 2 * pairs());
  counted_ = DeviceBuffer<unsigned long long>(replicas_ *
                                              (1 + measured_counts(plan_.potts, plan_.states)));
  visited_ = DeviceBuffer<unsigned long long>(replicas_);
  visited_.clear(stream);
  on_device_ = {graph_->plan(),  couplings_.data(), field_.empty() ? nullptr : fields_.data(),
                factors_.data(), sites_.data(),     spec.local};
  on_device_.sublattice = sublattices_.data();
  device_replicas_.seed = spec.seed;
  device_replicas_.count = static_cast<std::uint32_t>(replicas_);
  device_replicas_.per_temperature = spec.replicas;
  device_replicas_.stride = stride;
  device_replicas_.spins = spins_.data();
  launch_start(graph_->plan(), device_replicas_, spec.start, stream);
  if (spec.exchange) {
    walkers_ = DeviceBuffer<std::uint32_t>(replicas_);
    counts_ = DeviceBuffer<unsigned long long>(2 * spec.betas.size());
    accepted_ = DeviceBuffer<std::uint8_t>(replicas_);
    device_rules_ =
        DeviceBuffer<ExchangeRule>(std::span<const ExchangeRule>(exchange_.rules()), stream);
    on_device_.exchange = device_rules_.data();
    send_exchanges();
  }
  device_.wait();
}

void InteractionCudaEngine::fetch_exchanges() {
  if (!spec_.exchange) return;
  device_.use();
  exchange_.walker = walkers_.to_host(device_.get());
  const auto counts = counts_.to_host(device_.get());
  const auto half = static_cast<std::ptrdiff_t>(spec_.betas.size());
  exchange_.attempts.assign(counts.begin(), counts.begin() + half);
  exchange_.exchanges.assign(counts.begin() + half, counts.end());
}

void InteractionCudaEngine::send_exchanges() {
  if (!spec_.exchange) return;
  device_.use();
  std::vector<unsigned long long> counts(exchange_.attempts.begin(), exchange_.attempts.end());
  counts.insert(counts.end(), exchange_.exchanges.begin(), exchange_.exchanges.end());
  walkers_.copy_in(std::span<const std::uint32_t>(exchange_.walker), device_.get());
  counts_.copy_in(std::span<const unsigned long long>(counts), device_.get());
  device_.wait();
}

void InteractionCudaEngine::exchange() {
  const cudaStream_t stream = device_.get();
  energies_.clear(stream);
  launch_interaction_bond_sums(on_device_, device_replicas_, energies_.data(), stream);
  const auto temperatures = static_cast<std::uint32_t>(spec_.betas.size());
  const ExchangeSpace space{walkers_.data(), counts_.data(), counts_.data() + temperatures,
                            accepted_.data()};
  launch_exchange(on_device_, device_replicas_, energies_.data(), space, temperatures,
                  static_cast<std::uint32_t>(exchange_.steps % 2), stream);
  ++exchange_.steps;
}

void InteractionCudaEngine::check_memory() const {
  const std::uint64_t sites = plan_.sites;
  const std::uint64_t need = DeviceGraph::bytes(plan_) + 4 * (plan_.slots + 2 * sites) + sites +
                             replicas_ * (replica_stride(sites) + 4 * sites + sites / 8 + 64) +
                             (64u << 20);
  const std::size_t free = free_device_memory();
  if (need <= free) return;
  throw Error(
      ExitCode::device,
      fmt::format("{}: {:.1f} GiB are needed for {} sites x {} replicas, but only {:.1f} GiB are "
                  "free (reduce replicas, temperatures or the size)",
                  device_name_, gib(need), sites, replicas_, gib(free)));
}

void InteractionCudaEngine::prepare_clusters() {
  if (!queue_.empty()) return;
  queue_ = DeviceBuffer<Site>(replicas_ * plan_.sites);
  bits_ = DeviceBuffer<std::uint32_t>(replicas_ * InteractionScratch::words(plan_.sites));
  bits_.clear(device_.get());
  scratch_ = {queue_.data(), bits_.data(), visited_.data()};
}

void InteractionCudaEngine::run(const Schedule& schedule, std::uint64_t cycles) {
  device_.use();
  if (schedule.cluster > 0 || schedule.houdayer) prepare_clusters();
  const cudaStream_t stream = device_.get();
  const double start = now();
  device_replicas_.step = static_cast<std::uint32_t>(step_);
  for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
    for (std::uint32_t n = 0; n < schedule.local; ++n, ++device_replicas_.step) {
      for (std::size_t colour = 0; colour + 1 < first_of_colour_.size(); ++colour) {
        launch_interaction_local(on_device_, device_replicas_, first_of_colour_[colour],
                                 first_of_colour_[colour + 1], static_cast<int>(colour), stream);
      }
    }
    if (schedule.cluster > 0 && is_wolff()) {
      launch_interaction_wolff(on_device_, device_replicas_, scratch_, schedule.cluster, stream);
      device_replicas_.step += schedule.cluster;
    } else {
      for (std::uint32_t n = 0; n < schedule.cluster; ++n, ++device_replicas_.step) {
        launch_interaction_swendsen_wang(on_device_, device_replicas_, scratch_, stream);
      }
    }
    if (schedule.houdayer) {
      launch_interaction_houdayer(on_device_, device_replicas_, scratch_, stream);
      ++device_replicas_.step;
    }
    if (schedule.exchange) {
      exchange();
      ++device_replicas_.step;
    }
  }
  std::uint64_t visited = 0;
  if (schedule.cluster > 0 && is_wolff()) {
    for (const unsigned long long sites : visited_.to_host(stream)) visited += sites;
    visited_.clear(stream);
  }
  device_.wait();
  // Local and cluster updates are not timed separately. The time is split in proportion to their
  // numbers.
  const double seconds = now() - start;
  const double local = static_cast<double>(schedule.local);
  const double share = local / std::max(local + static_cast<double>(schedule.cluster), 1.0);
  work_.local_seconds += share * seconds;
  work_.cluster_seconds += (1 - share) * seconds;
  count(schedule, cycles, visited);
  cluster_updates_ = 0;  // this engine measures no cluster sums
}

void InteractionCudaEngine::measure(Observation& out) {
  device_.use();
  const double start = now();
  const cudaStream_t stream = device_.get();
  energies_.clear(stream);
  counted_.clear(stream);
  launch_interaction_measure(on_device_, device_replicas_, energies_.data(),
                             energies_.data() + replicas_, stream);
  unsigned long long* const of_sublattices = energies_.data() + replicas_ + 2 * pairs();
  if (spec_.staggered) {
    launch_interaction_staggered(on_device_, device_replicas_, of_sublattices, stream);
  }
  launch_measure(graph_->plan(), Geometry::make(plan_.lattice), device_replicas_, counted_.data(),
                 counted_.data() + replicas_, stream);
  const auto sums = energies_.to_host(stream);
  const auto counts = counted_.to_host(stream);
  const std::size_t states = counts.size() / replicas_ - 1;
  std::vector<std::int64_t> energy, magnetisation, staggered, overlap, link_overlap;
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    energy.push_back(static_cast<std::int64_t>(sums[replica]));
    const auto* of_replica = counts.data() + replicas_ + replica * states;
    magnetisation.push_back(
        plan_.units.magnetisation(*std::max_element(of_replica, of_replica + states)));
  }
  for (std::size_t pair = 0; pair < pairs(); ++pair) {
    overlap.push_back(static_cast<std::int64_t>(sums[replicas_ + 2 * pair]));
    link_overlap.push_back(static_cast<std::int64_t>(sums[replicas_ + 2 * pair + 1]));
  }
  for (std::size_t k = replicas_ + 2 * pairs(); k < sums.size(); ++k) {
    staggered.push_back(static_cast<std::int64_t>(sums[k]));
  }
  fetch_exchanges();
  report_couplings(energy, magnetisation, staggered, overlap, link_overlap, out);
  if (spec_.exchange) counts_.clear(stream);
  work_.measure_seconds += now() - start;
}

}  // namespace

std::unique_ptr<Engine> make_interaction_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                                     const EngineOptions& options) {
  return std::make_unique<InteractionCudaEngine>(graph, spec, options);
}

}  // namespace rewise::bytespin
