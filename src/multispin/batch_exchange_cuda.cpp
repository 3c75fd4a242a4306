#include "src/multispin/batch_exchange_cuda.hpp"

#include <algorithm>

namespace rewise::multispin {

BatchExchange::BatchExchange(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                             cudaStream_t stream)
    : engines_(engines),
      graphs_(graphs),
      stream_(stream),
      temperatures_(engines.front().spec.betas.size()),
      counts_of_graph_(1 + 2 * temperatures_) {
  std::vector<ExchangeRule> rules;
  for (const EngineView& e : engines) {
    rules.insert(rules.end(), e.exchange.rules().begin(), e.exchange.rules().end());
  }
  rules_ = DeviceBuffer<ExchangeRule>(std::span<const ExchangeRule>(rules), stream);
  const std::size_t replicas = graphs.graphs() * graphs.replicas();
  mask_ = DeviceBuffer<std::uint32_t>(replicas / kReplicas);
  walker_ = DeviceBuffer<std::uint32_t>(replicas);
  counts_ = DeviceBuffer<unsigned long long>(graphs.graphs() * counts_of_graph_);
  measured_ = DeviceBuffer<unsigned long long>(2 * replicas);
  walkers_.resize(walker_.size());
  counted_.resize(counts_.size());
  for (std::uint32_t graph = 0; graph < graphs.graphs(); ++graph) {
    write(graph, engines[graph].exchange);
  }
  send();
}

void BatchExchange::queue(const GraphRange& range, std::uint32_t* spins, const std::int64_t* bonds,
                          const std::uint32_t* step) {
  const std::size_t first = range.first * graphs_.replicas();
  measured_.clear(stream_);
  DeviceExchange e;
  e.unsatisfied = measured_.data() + first;
  e.up = measured_.data() + measured_.size() / 2 + first;
  graphs_.measure(range, spins, measured_.data() + first,
                  measured_.data() + measured_.size() / 2 + first, stream_);
  const EngineView& one = engines_.front();
  e.graphs = range.count;
  e.temperatures = static_cast<std::uint32_t>(temperatures_);
  e.groups_per_temperature = one.groups_per_temperature;
  e.vec = graphs_.vec();
  e.words = graphs_.lattice({}).words;
  e.spins = spins + range.first * graphs_.words();
  e.step = step;
  e.seeds = graphs_.seeds(range);
  e.bonds = bonds + range.first;
  e.units = one.spec.model.sum_units(0, graphs_.sites());
  e.rules = rules_.data() + range.first * (temperatures_ - 1);
  e.mask = mask_.data() + first / kReplicas;
  e.walker = walker_.data() + first;
  e.counts = counts_.data() + range.first * counts_of_graph_;
  launch_exchange(e, stream_);
}

void BatchExchange::fetch() {
  walker_.copy_out(std::span(walkers_), stream_);
  counts_.copy_out(std::span(counted_), stream_);
  check_cuda(cudaStreamSynchronize(stream_), "fetching the replica exchange");
}

void BatchExchange::send() {
  walker_.copy_in(std::span<const std::uint32_t>(walkers_), stream_);
  counts_.copy_in(std::span<const unsigned long long>(counted_), stream_);
  check_cuda(cudaStreamSynchronize(stream_), "sending the replica exchange");
}

void BatchExchange::read(std::uint32_t graph, ReplicaExchange& to) const {
  std::copy_n(walkers_.data() + graph * to.walker.size(), to.walker.size(), to.walker.data());
  const unsigned long long* counted = counted_.data() + graph * counts_of_graph_;
  to.steps = counted[0];
  std::copy_n(counted + 1, temperatures_, to.attempts.data());
  std::copy_n(counted + 1 + temperatures_, temperatures_, to.exchanges.data());
}

void BatchExchange::write(std::uint32_t graph, const ReplicaExchange& from) {
  std::copy_n(from.walker.data(), from.walker.size(), walkers_.data() + graph * from.walker.size());
  unsigned long long* counted = counted_.data() + graph * counts_of_graph_;
  counted[0] = from.steps;
  std::copy_n(from.attempts.data(), temperatures_, counted + 1);
  std::copy_n(from.exchanges.data(), temperatures_, counted + 1 + temperatures_);
}

}  // namespace rewise::multispin
