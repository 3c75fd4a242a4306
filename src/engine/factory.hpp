// Functions that an engine offers to the code above it: construction, and estimates of memory and
// time. Each engine defines one EngineFactory; src/settings/engines.hpp selects one by EngineKind.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/engine/batch.hpp"
#include "src/engine/subdomain.hpp"

namespace rewise {

// Sizes of a graph, known before it is built, for memory estimates.
struct GraphSizes {
  std::vector<std::uint32_t> extents;  // empty without a lattice
  double dim = 0, sites = 0;
  double rewired = 0, removed = 0;  // shortcuts, and lattice bonds that were removed
  double modified = 0, ends = 0;    // modified sites, and entries of their neighbour lists
  double lattice_share = 1;         // fraction of the lattice's bonds that remain
  double without_shortcut = 0;      // fraction of the sites without an end of a shortcut
  bool bare = false;
};

// The properties of a task that determine its memory.
struct EngineLoad {
  GraphSizes graph;
  double temperatures = 0, replicas = 0;
  Model model;
  Schedule schedule;
  ClusterUpdate cluster = ClusterUpdate::wolff;
  std::optional<ClusterUpdate> warm_up_cluster = {};  // nullopt: no warm-up
  bool cluster_pairs = false;                         // EngineSpec::cluster_pairs

  // Couplings, fields or replica exchange.
  bool has_interactions() const { return !model.is_ferromagnet() || schedule.exchange; }
  bool has_field() const { return model.interactions.has_field(); }
  bool has_random_field() const { return model.interactions.random_field != RandomField::none; }
};

// Bytes. On a CUDA device, `engine` and `working` are host memory in addition to `device`.
struct EngineMemory {
  double engine = 0;   // spins and data derived from the graph
  double working = 0;  // work space of updates, of all threads
  double device = 0;
};

// Measured costs (tests/bench/RESULTS.md, "CPU: other updates").
struct EngineCosts {
  double ising_nanoseconds, potts_nanoseconds;  // per attempted site update of a replica
  // Work per site of a Wolff cluster and of a Swendsen-Wang update, in attempted site updates.
  double flipped, labelled;
};

// An option by which users choose a method of an engine.
struct MethodOption {
  const char* name;  // "--wolff-method"
  const char* type;  // "WORD"
  std::string help;
  bool is_detail = false;  // a detail of another choice; `tune` does not offer it
};
// Word by option; "" is the engine's default.
using MethodTexts = std::map<std::string, std::string>;

// The methods of a cluster update, with their name ("" for the default).
struct MethodChoice {
  ClusterUpdate update;
  std::string name;
  UpdateMethods methods;
};

// The methods that an engine offers for its updates. All functions except why_not() throw
// Error(usage) that names the option.
struct MethodSet {
  std::vector<MethodOption> (*options)();
  // `cluster`: the cluster update, if it is known; dim = 0: no lattice.
  UpdateMethods (*parse)(const MethodTexts& words, std::optional<ClusterUpdate> cluster, int dim);
  // Every method in the lists of words, with the cluster update to which it belongs.
  std::vector<MethodChoice> (*choices)(const std::map<std::string, std::vector<std::string>>& lists,
                                       int dim);
  // "" if the methods are available on the device and, if `shared`, on ranks that share a replica;
  // otherwise the reason.
  std::string (*why_not)(const UpdateMethods& methods, bool on_cuda, bool shared);
};

struct EngineFactory {
  // `graph` must outlive the engine. With EngineTraits::regular_only, nullptr stands for the
  // regular lattice of `extents`.
  std::unique_ptr<Engine> (*make)(const Graph* graph, const std::vector<std::uint32_t>& extents,
                                  const EngineSpec& spec, const EngineOptions& options);
  // make_distributed() makes the engine on rank 0 if ranks or devices share every replica,
  // make_subdomain() the subdomain of any rank. If the engine cannot be shared, these and
  // why_no_team are nullptr.
  std::unique_ptr<Engine> (*make_distributed)(distributed::Transport& ranks, const Graph* graph,
                                              const std::vector<std::uint32_t>& extents,
                                              const EngineSpec& spec,
                                              const EngineOptions& options) = nullptr;
  SubdomainFactory make_subdomain = nullptr;
  // "" if several CUDA devices can make such cluster updates together; otherwise the reason, as the
  // end of a message that begins with the devices.
  std::string (*why_no_team)(std::span<const std::uint32_t> extents, ClusterUpdate cluster,
                             const UpdateMethods& methods) = nullptr;
  const MethodSet* methods = nullptr;  // nullptr: there is no choice
  // nullptr: a batch is a loop over engines.
  std::unique_ptr<EngineBatch> (*make_batch)(std::span<const BatchTask> tasks,
                                             const EngineOptions& options) = nullptr;
  // Throws Error(usage) for extents of a regular lattice that the engine does not support. nullptr
  // without EngineTraits::regular_only.
  void (*check_extents)(const std::vector<std::uint32_t>& extents) = nullptr;
  EngineMemory (*memory)(const EngineLoad& load, double threads, bool on_device);
  // Length of CUDA tiles along direction k. Cluster updates are fastest on lattices of two or more
  // dimensions whose extents are multiples of these lengths. nullptr: any extents.
  std::uint32_t (*tile_length)(int dim, int k) = nullptr;
  bool can_distribute() const { return make_distributed != nullptr; }
  bool batches() const { return make_batch != nullptr; }
  EngineCosts costs;
  // Seconds per cycle and replica on a fully used CUDA device. nullptr: unknown.
  double (*cuda_seconds)(const Model& model, const Updates& updates, double p,
                         double sites) = nullptr;
};

// Bytes of the spins of all replicas.
inline double spin_bytes(EngineKind engine, const EngineLoad& load) {
  return load.graph.sites * load.temperatures * load.replicas * traits(engine).bytes_of_spin;
}
// Mean ratio of capacity to size of a vector that grows by doubling while it is filled.
inline constexpr double kGrowing = 1.5;

}  // namespace rewise
