// Couplings, fields and replica exchange on a CUDA device.
#include "src/base/clock.hpp"
#include "src/bytespin/engine_cuda.hpp"
#include "src/bytespin/interactions/interaction_cuda.hpp"
#include "src/bytespin/interactions/interaction_engine.hpp"
#include "src/bytespin/interactions/interaction_tables.hpp"
#include "src/cuda/device_arrays.hpp"

namespace rewise::bytespin {
namespace {

class InteractionCudaEngine final : public CudaEngine {
 public:
  InteractionCudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  void measure(Observation& out) override;

 private:
  void check_schedule(const Schedule& schedule) const override {
    interactions_.check_schedule(schedule);
  }
  void sweep() override {
    const std::vector<std::size_t>& first = interactions_.first_of_colour;
    for (std::size_t colour = 0; colour + 1 < first.size(); ++colour) {
      launch_interaction_local(rules_, on_device_, first[colour], first[colour + 1],
                               static_cast<int>(colour), stream());
    }
  }
  std::unique_ptr<ClusterUpdaterCuda> make_cluster_updater() const override {
    return std::make_unique<InteractionClustersCuda>(rules_, on_device_, is_wolff(), stream());
  }
  void close_cycle(const Schedule& schedule) override;
  void exchange();

  // Copy walkers and exchange counts from the device to the host, and back.
  void fetch_exchanges();
  void send_exchanges();
  std::vector<std::uint64_t> save_sums() const override {
    const_cast<InteractionCudaEngine*>(this)->fetch_exchanges();
    std::vector<std::uint64_t> words = CudaEngine::save_sums();
    interactions_.exchange.save(words);
    return words;
  }
  bool restore_sums(std::span<const std::uint64_t> words) override {
    const bool fits = interactions_.exchange.restore(words) && CudaEngine::restore_sums(words);
    send_exchanges();
    return fits;
  }

  InteractionTables interactions_;
  DeviceArrays memory_;  // to which rules_ points
  InteractionRules rules_;
  // [replicas] energies, [pairs][2] overlaps of spins and of links, and with EngineSpec::staggered
  // [replicas] staggered sums
  DeviceBuffer<unsigned long long> energies_;
  DeviceBuffer<std::uint32_t> walkers_;
  DeviceBuffer<unsigned long long> exchange_counts_;  // [T] attempts, [T] exchanges
  DeviceBuffer<std::uint8_t> accepted_;
  const WaitAtEnd finished_{device_};  // the last member, so it is destroyed first
};

InteractionCudaEngine::InteractionCudaEngine(const Graph& graph, const EngineSpec& spec,
                                             const EngineOptions& options)
    : CudaEngine(graph, spec, options), interactions_(tables_, spec, options.methods) {
  start(4 * (tables_.bond_draws + 2 * tables_.sites) + tables_.sites +
        InteractionClustersCuda::bytes(tables_.sites, replicas_));
  rules_ = {.graph = graph_->view(),
            .coupling = memory_.upload(interactions_.coupling, stream()),
            .field = memory_.upload(interactions_.field, stream()),
            .boltzmann = memory_.upload(interactions_.boltzmann, stream()),
            .sites_by_colour = memory_.upload(interactions_.sites_by_colour, stream()),
            .local = spec.local,
            .exchange = memory_.upload(interactions_.exchange.rules(), stream()),
            .sublattice = memory_.upload(interactions_.sublattice, stream())};
  energies_ = DeviceBuffer<unsigned long long>((spec.staggered ? 2 : 1) * replicas_ +
                                               2 * interactions_.pairs());
  if (spec.exchange) {
    walkers_ = DeviceBuffer<std::uint32_t>(replicas_);
    exchange_counts_ = DeviceBuffer<unsigned long long>(2 * spec.betas.size());
    accepted_ = DeviceBuffer<std::uint8_t>(replicas_);
    send_exchanges();
  }
  device_.wait();
}

void InteractionCudaEngine::fetch_exchanges() {
  if (!spec_.exchange) return;
  device_.use();
  ReplicaExchange& exchange = interactions_.exchange;
  exchange.walker = walkers_.to_host(stream());
  const auto counts = exchange_counts_.to_host(stream());
  const auto half = static_cast<std::ptrdiff_t>(spec_.betas.size());
  exchange.attempts.assign(counts.begin(), counts.begin() + half);
  exchange.exchanges.assign(counts.begin() + half, counts.end());
}

void InteractionCudaEngine::send_exchanges() {
  if (!spec_.exchange) return;
  device_.use();
  const ReplicaExchange& exchange = interactions_.exchange;
  std::vector<unsigned long long> counts(exchange.attempts.begin(), exchange.attempts.end());
  counts.insert(counts.end(), exchange.exchanges.begin(), exchange.exchanges.end());
  walkers_.copy_in(exchange.walker, stream());
  exchange_counts_.copy_in(counts, stream());
  device_.wait();
}

void InteractionCudaEngine::close_cycle(const Schedule& schedule) {
  if (schedule.houdayer) {
    static_cast<InteractionClustersCuda&>(clusters()).houdayer_move(on_device_, stream());
    ++on_device_.step;
  }
  if (schedule.exchange) {
    exchange();
    ++on_device_.step;
  }
}

void InteractionCudaEngine::exchange() {
  energies_.clear(stream());
  launch_interaction_bond_sums(rules_, on_device_, energies_.data(), stream());
  const auto temperatures = static_cast<std::uint32_t>(spec_.betas.size());
  const ExchangeSpace space{walkers_.data(), exchange_counts_.data(),
                            exchange_counts_.data() + temperatures, accepted_.data()};
  launch_exchange(rules_, on_device_, energies_.data(), space, temperatures,
                  static_cast<std::uint32_t>(interactions_.exchange.steps % 2), stream());
  ++interactions_.exchange.steps;
}

void InteractionCudaEngine::measure(Observation& out) {
  device_.use();
  const double begin = now();
  const std::size_t pairs = interactions_.pairs();
  energies_.clear(stream());
  unsigned long long* const overlaps = energies_.data() + replicas_;
  launch_interaction_measure(rules_, on_device_, energies_.data(), overlaps, overlaps + 2 * pairs,
                             stream());
  const Counts counts = count_spins();
  const auto sums = energies_.to_host(stream());
  const auto signed_sum = [&](std::size_t k) { return static_cast<std::int64_t>(sums[k]); };
  out.clear();
  for (std::size_t replica = 0; replica < replicas_; ++replica) {
    out.bond_sum.push_back(signed_sum(replica));
    out.magnetisation.push_back(tables_.units.magnetisation(counts.largest[replica]));
  }
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    out.overlap.push_back(signed_sum(replicas_ + 2 * pair));
    out.link_overlap.push_back(signed_sum(replicas_ + 2 * pair + 1));
  }
  for (std::size_t k = replicas_ + 2 * pairs; k < sums.size(); ++k) {
    out.staggered.push_back(signed_sum(k));
  }
  fetch_exchanges();
  interactions_.complete(out);
  if (spec_.exchange) exchange_counts_.clear(stream());
  work_.measure_seconds += now() - begin;
}

}  // namespace

std::unique_ptr<Engine> make_interaction_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                                     const EngineOptions& options) {
  check_interaction_updates(spec, options.methods);  // before the device is opened
  return std::make_unique<InteractionCudaEngine>(graph, spec, options);
}

}  // namespace rewise::bytespin
