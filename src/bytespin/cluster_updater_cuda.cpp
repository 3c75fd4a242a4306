#include "src/bytespin/cluster_updater_cuda.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_fused_cuda.hpp"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"
#include "src/bytespin/wolff/seed_clusters_cuda.hpp"
#include "src/bytespin/wolff/wolff_cuda.hpp"

namespace rewise::bytespin {
namespace {

// The candidates of `persistent` store a draw index in 32 bits.
constexpr std::uint64_t kMaxBondDraws = std::uint64_t{1} << 32;

// The fastest method near Tc (RESULTS.md). A block per replica is faster than labelling with at
// least kManyReplicas replicas, or with fewer than kFewSites sites. On a plain lattice a search at
// Tc takes about L levels. Shortcuts reduce their number: near Tc one rewired bond in a hundred
// sites is enough for a search to be faster than labelling all.
WolffMethod default_wolff_method(const GraphTables& tables, std::uint64_t replicas) {
  constexpr std::uint64_t kManyReplicas = 64, kFewSites = 1u << 15;
  if (tables.bond_draws > kMaxBondDraws) return WolffMethod::ccl;
  const bool search = replicas >= kManyReplicas || tables.sites < kFewSites ||
                      tables.rewired.size() * 100 >= tables.sites;
  return search ? WolffMethod::persistent : WolffMethod::ccl;
}

ClusterMethodCuda choose_seeds(const GraphTables& tables, std::uint32_t replicas,
                               const std::optional<FewClusterRule>& rule) {
  return {SeedClustersCuda::bytes(tables.view(), replicas),
          [rule](const GraphView& graph, const DeviceReplicas& all, cudaStream_t stream) {
            return std::make_unique<SeedClustersCuda>(graph, rule, all, stream);
          }};
}

ClusterMethodCuda choose_wolff(const GraphTables& tables, std::uint32_t replicas,
                               WolffMethod method) {
  if (method == WolffMethod::automatic) method = default_wolff_method(tables, replicas);
  const std::uint64_t queues = tables.sites * replicas * sizeof(Site);
  if (method == WolffMethod::ccl) return choose_seeds(tables, replicas, std::nullopt);
  if (method == WolffMethod::persistent) {
    if (tables.bond_draws > kMaxBondDraws) {
      throw Error(ExitCode::usage,
                  fmt::format("Wolff method 'persistent' supports up to {} bonds, not {} "
                              "(choose ccl or frontier-local)",
                              kMaxBondDraws, tables.bond_draws));
    }
    return {queues + tables.sites * replicas / 8,  // with the spins as bits
            [](const GraphView& graph, const DeviceReplicas& all, cudaStream_t) {
              return make_wolff_persistent(graph, all.count);
            }};
  }
  const bool local = method == WolffMethod::frontier_local;
  return {queues, [local](const GraphView& graph, const DeviceReplicas& all, cudaStream_t) {
            return make_wolff_frontier(graph, all.count, local);
          }};
}

ClusterMethodCuda choose_swendsen_wang(const GraphTables& tables, std::uint32_t replicas,
                                       LabelMethod method, std::uint32_t tile) {
  const GraphView numbers = tables.view();
  // The tiles of an imported graph contain no bonds, so `fast` has no advantage. `union_find_sew`,
  // which unites the bonds one by one, is 1.4 times as fast.
  if (method == LabelMethod::fast && tables.lattice.dim == 0) method = LabelMethod::union_find_sew;
  tile = tile_edge(method, tables.lattice.dim, tile);
  if (method != LabelMethod::fast) {
    return {SwendsenWangLabelsCuda::bytes(numbers, replicas, method, tile),
            [=](const GraphView& graph, const DeviceReplicas& all, cudaStream_t stream) {
              return std::make_unique<SwendsenWangLabelsCuda>(graph, all, method, tile, stream);
            }};
  }
  if (FusedSwendsenWang::takes(numbers)) {
    return {FusedSwendsenWang::bytes(numbers, replicas),
            [](const GraphView& graph, const DeviceReplicas& all, cudaStream_t stream) {
              return std::make_unique<FusedSwendsenWang>(graph, all.count, stream);
            }};
  }
  return {SwendsenWangCuda::bytes(numbers, replicas),
          [](const GraphView& graph, const DeviceReplicas& all, cudaStream_t stream) {
            return std::make_unique<SwendsenWangCuda>(graph, all, stream);
          }};
}

}  // namespace

ClusterMethodCuda choose_clusters(const GraphTables& tables, const EngineSpec& spec,
                                  UpdateMethods methods) {
  const auto replicas = static_cast<std::uint32_t>(spec.betas.size() * spec.replicas);
  switch (spec.cluster) {
    case ClusterUpdate::wolff:
      return choose_wolff(tables, replicas, methods.wolff);
    case ClusterUpdate::swendsen_wang:
      return choose_swendsen_wang(tables, replicas, methods.label, methods.label_tile);
    case ClusterUpdate::few_cluster:
      break;
  }
  return choose_seeds(tables, replicas, FewClusterRule(tables.graph, spec));
}

}  // namespace rewise::bytespin
