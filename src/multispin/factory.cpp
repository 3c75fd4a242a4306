// How the multispin engine is made, and its estimates of memory and time.
#include "src/engine/factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/error.hpp"
#include "src/cuda/devices.hpp"
#include "src/multispin/multispin.hpp"
#include "src/multispin/multispin_engine.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/label_tile.hpp"

namespace rewise {

std::unique_ptr<Engine> make_multispin_engine(const Graph& graph, const EngineSpec& spec,
                                              const EngineOptions& options) {
  if (options.device >= 0) {
#if defined(REWISE_HAVE_CUDA)
    return multispin::make_cuda_engine(graph, spec, options);
#else
    no_cuda();
#endif
  }
  return multispin::make_cpu_engine(graph, spec, options);
}

bool share_launches(const BatchTask& a, const BatchTask& b) {
  const Lattice &one = a.graph.lattice(), &other = b.graph.lattice();
  // Graphs without a lattice share launches with couplings only, and without Houdayer moves.
  const bool alike = one.dim > 0 || (!a.spec.model.is_ferromagnet() && !a.spec.houdayer);
  return alike && one.dim == other.dim && one.extent == other.extent &&
         a.graph.sites() == b.graph.sites() && a.spec.local == b.spec.local &&
         a.spec.cluster == b.spec.cluster && a.spec.model == b.spec.model &&
         a.spec.exchange == b.spec.exchange && a.spec.houdayer == b.spec.houdayer &&
         a.spec.staggered == b.spec.staggered && a.spec.cluster_pairs == b.spec.cluster_pairs &&
         a.spec.first_pair_step == b.spec.first_pair_step &&
         a.spec.betas.size() == b.spec.betas.size() && a.spec.replicas == b.spec.replicas;
}

std::unique_ptr<EngineBatch> make_multispin_batch(std::span<const BatchTask> tasks,
                                                  const EngineOptions& options) {
  if (options.device >= 0) {
#if defined(REWISE_HAVE_CUDA)
    const bool alike = std::all_of(tasks.begin(), tasks.end(), [&](const BatchTask& task) {
      return tasks.size() == 1 || share_launches(tasks.front(), task);
    });
    if (tasks.empty() || tasks.size() > kMaxBatch) {
      throw Error(ExitCode::internal, fmt::format("a batch of {} tasks is out of range (1..{})",
                                                  tasks.size(), kMaxBatch));
    }
    if (alike) return multispin::make_cuda_batch(tasks, options);
#else
    no_cuda();
#endif
  }
  std::vector<std::unique_ptr<Engine>> engines;
  for (const BatchTask& task : tasks) {
    engines.push_back(make_multispin_engine(task.graph, task.spec, options));
  }
  return make_plain_batch(std::move(engines));
}

namespace {

double word_groups(const EngineLoad& load) { return load.temperatures * load.replicas / 32; }

// The sizes of a graph as the CPU engine lays it out, which may list all cells (kListEveryCell).
GraphSizes listed(GraphSizes s) {
  if (s.dim == 0) return s;
  if (s.extents.front() >= kShortestRow && s.modified <= kListEveryCell * s.sites) return s;
  s.ends += 2 * s.dim * (s.sites - s.modified);
  s.modified = s.sites;
  return s;
}

// Whether all clusters are labelled, by Swendsen-Wang updates or Houdayer moves.
bool labels(const EngineLoad& load) {
  return load.schedule.houdayer ||
         (load.schedule.cluster > 0 && load.cluster == ClusterUpdate::swendsen_wang);
}

// Whether single clusters grow: Wolff updates.
bool grows(const EngineLoad& load) {
  return load.schedule.cluster > 0 && load.cluster == ClusterUpdate::wolff;
}

double held(const EngineLoad& load, const GraphSizes& s) {
  double bytes = 4 * s.sites * word_groups(load);
  bytes += 8 * s.modified + 4 * s.ends + kGrowing * 16 * (s.rewired + s.removed);
  if (s.dim > 0 && s.extents.front() < kShortestRow) {
    bytes += kGrowing * 12 * s.dim * s.sites;  // Layout::narrow
  }
  if (load.has_interactions()) bytes += s.sites;      // signs
  if (load.has_random_field()) bytes += 8 * s.sites;  // masks of sites of field -h
  if (labels(load)) {
    const double masks = load.has_interactions() ? 2 : 1;  // present bonds, negative ones
    bytes += masks * s.dim * s.sites / 8 + kGrowing * 28 * s.rewired + (s.bare ? 4 * s.sites : 0);
  }
  if (!grows(load)) return bytes;
  const double signs = load.has_interactions() ? s.sites + 4 * s.rewired : 0;
  return bytes + signs + s.sites / 4 + kGrowing * (8 * s.modified + 8 * s.ends) +
         (kGrowing * 12 + 32 + kGrowing * 4) * s.rewired;
}

double working(const EngineLoad& load, const GraphSizes& s, double threads) {
  const double at_once = word_groups(load) >= threads ? threads : 1;
  double bytes = at_once * 4 * s.modified;
  if (load.has_random_field()) bytes += threads * 4 * s.sites;  // the words of a measurement
  if (labels(load)) {
    // Bytes per site. Sums over pairs of clusters need the labels of two replicas and at most 44
    // bytes, which grow by an eighth (cluster_pairs.hpp).
    const double one = s.bare ? 13 : 5, label = load.cluster_pairs ? 2 * one + 50 : one;
    const double planes = s.dim + (load.has_field() ? 2 : 1);
    bytes += at_once * (4 * planes * s.sites + 4 * s.rewired) + threads * label * s.sites;
  }
  if (!grows(load)) return bytes;
  // Bytes per site: a key and, with couplings, a bit
  const double queue = load.has_interactions() ? 4.125 : 4;
  return bytes + threads * queue * s.sites + at_once * (4 * (1 + s.dim) * s.sites + 4 * s.rewired);
}

// Number of label tiles on a device, and of sites that may belong to clusters of several tiles.
struct Tiles {
  double tiles = 1, open = 0;
};
Tiles tiles_of(const GraphSizes& s) {
  const int dim = static_cast<int>(s.extents.size());
  Tiles t;
  double closed = s.without_shortcut;
  for (int k = 0; k < (dim < 2 ? 1 : dim); ++k) {
    const double extent = dim < 2 ? s.sites : s.extents[static_cast<unsigned>(k)];
    const double tiles =
        multispin::tiles_along(dim, k, static_cast<std::uint64_t>(extent), multispin::kLabelRows);
    t.tiles *= tiles;
    closed *= 1 - std::min(1.0, 2 * tiles / extent) * s.lattice_share;
  }
  t.open = (1 - closed) * s.sites;
  return t;
}

// Bytes of the tables of sums over pairs of clusters on a device.
double pair_tables(const EngineLoad& load) {
  if (!load.cluster_pairs) return 0;
  const double pairs = word_groups(load) * multispin::kReplicas / 2,
               at_once = std::max(1.0, std::min(pairs, multispin::kPairSites / load.graph.sites));
  return at_once * load.graph.sites * multispin::kPairSlotBytes;
}

// Bytes of working memory of cluster updates on a device. Swendsen-Wang: masks and labels of the
// tiles, and three or four words per replica and open site. Wolff: planes, tiles and the ends of
// bonds.
double device_working(const EngineLoad& load) {
  if (load.schedule.cluster == 0 && !load.warm_up_cluster && !load.schedule.houdayer) return 0;
  const GraphSizes& s = load.graph;
  const Tiles t = tiles_of(s);
  const bool warms = load.warm_up_cluster == ClusterUpdate::swendsen_wang;
  const double weights = s.bare ? s.removed : 0;
  const double masks = s.dim + (s.rewired > 0 ? 2 : 1) + (load.has_field() ? 1 : 0),
               words = weights > 0 ? 4 : 3;
  const double groups = word_groups(load);
  const double tables = groups * (t.tiles * (multispin::kLabelTileSites * (4 * masks + 64) + 128) +
                                  128 * words * t.open + 4 * s.rewired) +
                        (load.has_interactions() ? 512 : 256) * s.dim * t.tiles + 40 * s.rewired +
                        4 * weights + pair_tables(load);
  const double wolff = groups * (4 * (4 + s.dim) * s.sites + 24 * s.rewired) + 96 * s.modified;
  if (load.schedule.houdayer) return tables + (grows(load) ? wolff : 0);
  if (load.cluster == ClusterUpdate::swendsen_wang) return tables;
  return warms ? std::max(tables, wolff) : wolff;
}

EngineMemory memory(const EngineLoad& load, double threads, bool on_device) {
  if (!on_device) {
    const GraphSizes cells = listed(load.graph);
    return {held(load, cells), working(load, cells, threads), 0};
  }
  const GraphSizes& s = load.graph;
  const double state = spin_bytes(EngineKind::multispin, load);
  // Host memory is what the engine needs besides the spins, which are on the device.
  return {held(load, s) - state, state,
          (load.has_interactions() ? 3 : 2) * state + (load.has_random_field() ? 12 : 4) * s.sites +
              64 * s.modified + 24 * s.rewired + device_working(load)};
}

double cuda_seconds(const Model& model, const Updates& updates, double p, double sites) {
  // Microseconds per replica. The cost of a sweep is proportional to the number of sites; that of a
  // Swendsen-Wang update also has a part proportional to the number of rewired bonds. A Wolff
  // update costs the smaller of its two forms: the dense one is proportional to the number of
  // sites; the sparse one has a constant part and one proportional to the cluster, which at Tc is a
  // share 4 N^(-1/2) of the sites of a rewired lattice. With couplings or a field there is only the
  // dense form.
  constexpr double sweep = 4e-7, labels = 1e-5, per_rewired = 1.1e-4, dense = 6e-6, wait = 0.42,
                   per_flip = 3.5e-5;
  const double share = p > 0 ? std::min(1.0, 4 / std::sqrt(sites)) : 1;
  const double sparse = wait + per_flip * share * sites;
  const double wolff = model.is_ferromagnet() ? std::min(dense * sites, sparse) : dense * sites;
  const double labelling = (labels + per_rewired * p) * sites;
  const double update = updates.cluster == ClusterUpdate::swendsen_wang ? labelling : wolff;
  const Schedule& schedule = updates.schedule;
  const double moves = schedule.houdayer ? labelling / 2 : 0;  // label half of the replicas
  return 1e-6 * (schedule.local * sweep * sites + schedule.cluster * update + moves);
}

std::unique_ptr<Engine> make(const Graph* graph, const std::vector<std::uint32_t>&,
                             const EngineSpec& spec, const EngineOptions& options) {
  return make_multispin_engine(*graph, spec, options);
}

}  // namespace

const EngineFactory kMultispinFactory{
    .make = make,
    .make_batch = make_multispin_batch,
    .memory = memory,
    .tile_length = multispin::label_tile_length,
    .costs = {.ising_nanoseconds = 0.2, .potts_nanoseconds = 0.2, .flipped = 50, .labelled = 50},
    .cuda_seconds = cuda_seconds};

}  // namespace rewise
