// The bytespin engine on CPUs: T * R replicas side by side, each advanced by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/bytespin/bytespin_engine.hpp"
#include "src/bytespin/cluster_updater.hpp"

namespace rewise::bytespin {

// With the updates of the ferromagnet. Couplings and fields have others (InteractionCpuEngine).
class CpuEngine : public BytespinEngine {
 public:
  CpuEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  std::string_view device() const final { return "cpu"; }
  int threads() const final { return threads_; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) final;
  void measure(Observation& out) override;

 protected:
  // A sweep of a replica at temperature `t`, or the rest of one (local_sweep()). Returns false if
  // the poll stopped it.
  virtual bool local_update(std::size_t t, const DrawKey& key, StopPoll& poll,
                            LocalScratch& scratch, std::span<std::uint8_t> spins,
                            SweepPosition& position) const;
  virtual std::unique_ptr<ClusterUpdater> make_cluster_updater() const;
  // Makes the closing steps of a cycle, which are numbered from `step` on.
  virtual void close_cycle(const Schedule&, std::uint32_t) {}

  int threads_to_use() const { return threads_now(options_, threads_); }
  std::span<std::uint8_t> spins_of(std::size_t replica) {
    return {spins_.data() + replica * tables_.sites, tables_.sites};
  }
  // The updater of a thread, made when it is first needed.
  ClusterUpdater& updater_of(int thread);

  const EngineOptions options_;

 private:
  // Work space and counters of a thread.
  struct Worker {
    LocalScratch local;
    std::unique_ptr<ClusterUpdater> clusters;
    WorkCounters work;
  };

  void read_part(std::size_t replica, std::span<std::uint8_t> out) const final {
    std::copy_n(spins_.data() + replica * tables_.sites, tables_.sites, out.begin());
  }
  void write_part(std::size_t replica, Bytes spins) final {
    std::copy(spins.begin(), spins.end(), spins_of(replica).begin());
  }
  // Advances all replicas to `steps` steps beyond step_. Returns false if stopped before.
  bool advance_to(const Schedule& schedule, std::uint64_t steps);
  void advance_replica(std::size_t replica, const Schedule& schedule, std::uint64_t steps,
                       StopPoll& poll, int thread);

  const int threads_;
  std::vector<std::uint8_t> spins_;  // [T][R][sites]
  std::vector<Worker> workers_;      // [threads]
};

}  // namespace rewise::bytespin
