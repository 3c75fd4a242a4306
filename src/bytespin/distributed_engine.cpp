// The subdomains on CPUs, and the engine of rank 0 (distributed_engine.hpp).
//
// Each rank stores its sites at their usual positions, and beside them its halo: the plane before
// and the plane after its own, and the far ends of the bonds of its modified cells, updated after
// every update of a colour. Memory of other sites is never touched, so the operating system does
// not allocate it. Sender and receiver derive the same lists of far ends from the graph.
//
// Swendsen-Wang (slab_clusters.hpp): each rank labels its slab. It sends the labels of its first
// plane to the previous rank, and the labels of ends of rewired bonds to the ranks of the other
// ends. The receiver lists the pairs of labels that bonds between slabs join. Rank 0 gathers and
// unites these pairs once and sends the changed labels to all; then the clusters flip. With
// `kalentev` (Komura & Okabe 2013) nothing is gathered: ranks exchange labels with their neighbours
// until none changes.
#include "src/bytespin/distributed_engine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/bytespin/bytespin_engine.hpp"
#include "src/bytespin/local/local.hpp"
#include "src/bytespin/local/observe.hpp"
#include "src/bytespin/methods.hpp"
#include "src/bytespin/subdomain.hpp"
#include "src/cuda/devices.hpp"
#include "src/engine/registry.hpp"

namespace rewise {
namespace {

using namespace bytespin;
using distributed::Transport;

class CpuSubdomain final : public BytespinSubdomain {
 public:
  CpuSubdomain(std::shared_ptr<const GraphTables> tables, const EngineSpec& spec,
               Transport& transport, int threads, LabelMethod method);

  std::string device() const override { return "cpu"; }
  int threads() const override { return threads_; }

  void fetch(std::uint64_t replica) override {
    for (int colour = 0; colour < 2; ++colour) exchange({replica, replica + 1}, colour);
  }
  void advance(const AdvanceOrder& what) override;
  void count(std::span<std::uint64_t> sums) override;
  void read(std::uint64_t replica, std::uint64_t, std::uint64_t first,
            std::span<std::uint8_t> out) const override {
    std::copy_n(spins_of(replica) + first, out.size(), out.begin());
  }
  void write(std::uint64_t replica, std::uint64_t, std::uint64_t first,
             std::span<const std::uint8_t> bytes) override {
    std::copy(bytes.begin(), bytes.end(), spins_of(replica) + first);
  }

 private:
  std::uint8_t* spins_of(std::uint64_t replica) const {
    return spins_.get() + replica * tables_->sites;
  }
  void sweep(IndexRange replicas, std::uint64_t step);
  void swendsen_wang(std::uint64_t replica, std::uint64_t step);
  std::vector<std::vector<LabelPair>> joined_labels(const Thresholds& thresholds,
                                                    const DrawKey& key, const std::uint8_t* spins);
  void exchange(IndexRange replicas, int colour);

  const int threads_;
  const LabelMethod label_method_;
  struct Messages {
    std::vector<std::uint8_t> out, in;
  };
  std::vector<Messages> far_messages_;      // as far_
  std::vector<LocalScratch> scratch_;       // [threads]
  std::unique_ptr<SlabClusters> clusters_;  // from the first Swendsen-Wang update on
  std::unique_ptr<std::uint8_t[]> spins_;   // [replicas][sites]
};

CpuSubdomain::CpuSubdomain(std::shared_ptr<const GraphTables> tables, const EngineSpec& spec,
                           Transport& transport, int threads, LabelMethod method)
    : BytespinSubdomain(std::move(tables), spec, transport, 1),
      threads_(threads > 0 ? threads : omp_get_max_threads()),
      label_method_(method),
      far_messages_(far_.size()),
      scratch_(static_cast<std::size_t>(threads_)),
      spins_(std::make_unique_for_overwrite<std::uint8_t[]>(replicas_ * tables_->sites)) {
  for (std::uint64_t replica = 0; replica < replicas_; ++replica) {
    start_spins(*tables_, spec.seed, static_cast<std::uint32_t>(replica),
                starts_hot(spec.start, static_cast<std::uint32_t>(replica % spec.replicas)),
                own_.first, own_.last, spins_of(replica));
  }
}

// With two ranks, the previous and the next rank are the same: a slab of one plane sends it once.
void CpuSubdomain::exchange(IndexRange replicas, int colour) {
  if (transport_.size() == 1) return;
  const auto plane = [&](std::uint64_t replica, std::uint64_t first) {
    return std::span(spins_of(replica) + first, plane_);
  };
  const bool two = transport_.size() == 2;
  for (std::uint64_t replica = replicas.first; replica < replicas.last; ++replica) {
    transport_.post_receive(previous_rank(), kToNext, plane(replica, previous_plane(own_.first)));
    transport_.post_send(next_rank(), kToNext, plane(replica, own_.last - plane_));
    if (!two || part(next_rank()).size() > plane_) {
      transport_.post_receive(next_rank(), kToPrevious, plane(replica, next_plane(own_.last)));
    }
    if (!two || own_.size() > plane_) {
      transport_.post_send(previous_rank(), kToPrevious, plane(replica, own_.first));
    }
  }
  for (std::size_t k = 0; k < far_.size(); ++k) {
    auto& [out, in] = far_messages_[k];
    in.resize(replicas.size() * far_[k].received[colour].size());
    out.clear();
    for (std::uint64_t replica = replicas.first; replica < replicas.last; ++replica) {
      for (const Site site : far_[k].sent[colour]) out.push_back(spins_of(replica)[site]);
    }
    if (!in.empty()) transport_.post_receive(far_[k].rank, kFar, in);
    if (!out.empty()) transport_.post_send(far_[k].rank, kFar, out);
  }
  transport_.wait();
  for (std::size_t k = 0; k < far_.size(); ++k) {
    auto next = far_messages_[k].in.begin();
    for (std::uint64_t replica = replicas.first; replica < replicas.last; ++replica) {
      for (const Site site : far_[k].received[colour]) spins_of(replica)[site] = *next++;
    }
  }
}

void CpuSubdomain::sweep(IndexRange replicas, std::uint64_t step) {
  const std::uint64_t length = tables_->lattice.extent[0];
  const std::uint64_t first = own_.first / length, rows = own_.size() / length;
  const std::uint64_t parts = std::min(rows, static_cast<std::uint64_t>(threads_));
  for (int colour = 0; colour < 2; ++colour) {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::uint64_t k = replicas.first * parts; k < replicas.last * parts; ++k) {
      const std::uint64_t replica = k / parts, part = k % parts;
      const DrawKey key{spec_.seed, static_cast<std::uint32_t>(replica),
                        static_cast<std::uint32_t>(step)};
      local_rows(*tables_, tables_->thresholds[replica / spec_.replicas], spec_.local, key, colour,
                 first + rows * part / parts, first + rows * (part + 1) / parts,
                 scratch_[static_cast<std::size_t>(omp_get_thread_num())], spins_of(replica));
    }
    exchange(replicas, colour);
  }
}

void CpuSubdomain::advance(const AdvanceOrder& what) {
  std::uint64_t step = what.step;
  for (std::uint64_t cycle = 0; cycle < what.cycles; ++cycle) {
    for (std::uint32_t m = 0; m < what.schedule.local; ++m) sweep(what.replicas, step++);
    for (std::uint32_t w = 0; w < what.schedule.cluster; ++w, ++step) {
      for (std::uint64_t replica = what.replicas.first; replica < what.replicas.last; ++replica) {
        swendsen_wang(replica, step);
      }
    }
  }
}

// Pairs of labels that bonds between slabs join, by the rank of the other label: lattice bonds to
// the next slab, and rewired bonds whose end a is here.
std::vector<std::vector<LabelPair>> CpuSubdomain::joined_labels(const Thresholds& thresholds,
                                                                const DrawKey& key,
                                                                const std::uint8_t* spins) {
  std::vector<Site> labels;
  for (std::uint64_t k = 0; k < plane_; ++k) {
    labels.push_back(clusters_->label_of(static_cast<Site>(own_.first + k)));
  }
  for (const JoiningBonds& with : joining()) {
    for (const IndexedBond& bond : with.to) labels.push_back(clusters_->label_of(bond.b));
  }
  const std::vector<Site> far_labels = exchange_labels(labels);
  std::vector<std::vector<LabelPair>> edges(joining().size());
  clusters_->join_to_next_slab(spins, std::span(far_labels).first(plane_),
                               edges[static_cast<std::size_t>(next_rank())]);
  const Site* far_label = far_labels.data() + plane_;
  for (std::size_t r = 0; r < edges.size(); ++r) {
    for (const IndexedBond& bond : joining()[r].from) {
      const Site label = *far_label++;
      if (spins[bond.a] != spins[bond.b]) continue;
      if (!is_below(draw_at(key, Stream::bytespin_bond, bond.draw_index), thresholds.bond))
        continue;
      edges[r].push_back({clusters_->label_of(bond.a), label});
    }
  }
  return edges;
}

void CpuSubdomain::swendsen_wang(std::uint64_t replica, std::uint64_t step) {
  if (!clusters_) {
    clusters_ = std::make_unique<SlabClusters>(*tables_, own_, plane_, label_method_);
  }
  const Thresholds& thresholds = tables_->thresholds[replica / spec_.replicas];
  const DrawKey key{spec_.seed, static_cast<std::uint32_t>(replica),
                    static_cast<std::uint32_t>(step)};
  clusters_->label(thresholds, key, spins_of(replica));
  std::vector<std::vector<LabelPair>> edges = joined_labels(thresholds, key, spins_of(replica));
  std::vector<LabelPair> united;
  if (label_method_ == LabelMethod::kalentev) {
    united = relax(std::move(edges));
  } else {
    for (const auto& with : edges) united.insert(united.end(), with.begin(), with.end());
    united = unite(std::move(united));
  }
  std::vector<LabelPair> parts;
  const SlabClusters::Sums sums = clusters_->flip(key, united, spins_of(replica), parts);
  sum_up(replica, sums, parts);
  fetch(replica);
}

void CpuSubdomain::count(std::span<std::uint64_t> sums) {
  const std::uint64_t each = 1 + tables_->states;
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (std::uint64_t replica = 0; replica < replicas_; ++replica) {
    count_spins(*tables_, spins_of(replica), own_.first, own_.last,
                sums.subspan(replica * each, each));
  }
}

// The rewired bonds that a rank needs: those that end in its slab or were removed there. Cells
// beyond the slab may lack neighbours; they are not used.
std::vector<RewiredBond> bonds_of_rank(std::span<const RewiredBond> bonds, const GraphSpec& spec,
                                       int rank, int ranks) {
  // An upper bound: slabs on CUDA devices end at tile borders, fewer planes than this from the ends
  // that planes_of() gives.
  constexpr std::uint64_t kTilePlanes = 64;
  const Lattice lattice = Lattice::make(spec.extents);
  const std::uint64_t plane = lattice.sites() / spec.extents.back();
  const IndexRange own = planes_of(spec.extents.back(), rank, ranks);
  const auto is_near = [&](Site site) {
    return site / plane + kTilePlanes >= own.first && site / plane < own.last + kTilePlanes;
  };
  std::vector<RewiredBond> needed;
  for (const RewiredBond& r : bonds) {
    const bool replaces = r.bond < lattice.bonds();
    if (is_near(r.a) || is_near(r.b) ||
        (replaces && (is_near(lattice.home_a(r.bond)) || is_near(lattice.home_b(r.bond))))) {
      needed.push_back(r);
    }
  }
  return needed;
}

Graph graph_of_rank_0(const Graph& graph, int ranks) {
  return Graph::part(Lattice::make(graph.spec().extents),
                     bonds_of_rank(graph.rewired_bonds(), graph.spec(), 0, ranks), graph.spec(),
                     graph.bonds());
}

// Rank 0, which has the whole graph, sends all bonds to all ranks, in batches. An empty batch marks
// the end.
void send_bonds(const Graph& graph, Transport& transport) {
  constexpr std::size_t kBondsAtOnce = 1u << 16;
  auto rest = graph.rewired_bonds();
  for (bool more = true; more;) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(rest.data());
    const std::size_t count = std::min(kBondsAtOnce, rest.size());
    transport.broadcast(std::vector<std::uint8_t>(first, first + count * sizeof(RewiredBond)));
    rest = rest.subspan(count);
    more = count > 0;
  }
}

// Receives all messages even if memory runs out, so that rank 0 can receive the error afterwards.
std::vector<RewiredBond> receive_bonds(const GraphSpec& spec, Transport& transport) {
  std::vector<RewiredBond> all;
  bool fits = true;
  for (;;) {
    const std::vector<std::uint8_t> bytes = transport.broadcast(std::vector<std::uint8_t>());
    if (bytes.empty()) break;
    try {
      const auto some = values_of<RewiredBond>(bytes);
      const auto own = bonds_of_rank(some, spec, transport.rank(), transport.size());
      if (fits) all.insert(all.end(), own.begin(), own.end());
    } catch (const std::bad_alloc&) {
      fits = false;
    }
  }
  if (!fits) throw std::bad_alloc();
  return all;
}

// A base class of the engine on rank 0, so that the graph exists before BytespinEngine is
// constructed.
struct RankGraph {
  const Graph of_rank;
};

// The data from which the ranks' subdomains are made.
struct SubdomainSpec {
  GraphSpec graph;
  std::uint64_t bonds = 0;  // of the whole graph
  EngineSpec spec;
  LabelMethod label{};
  bool cuda = false;

  template <class Stream>
  void pass(Stream& stream) {
    stream(graph.extents)(graph.p)(graph.rule)(graph.seed)(bonds);
    stream(spec.model)(spec.betas)(spec.replicas)(spec.seed)(spec.local)(spec.start);
    stream(spec.cluster)(label)(cuda);
  }
};

std::unique_ptr<BytespinSubdomain> make_subdomain(std::shared_ptr<const GraphTables> tables,
                                                  const EngineSpec& spec, Transport& transport,
                                                  LabelMethod label, bool cuda,
                                                  const EngineOptions& options) {
  if (!cuda) {
    return std::make_unique<CpuSubdomain>(std::move(tables), spec, transport, options.threads,
                                          label);
  }
#if defined(REWISE_HAVE_CUDA)
  return make_cuda_subdomain(std::move(tables), spec, transport, label, options.device);
#else
  no_cuda();
#endif
}

// Rank 0

class DistributedEngine final : private RankGraph, public BytespinEngine, public SavesInParts {
 public:
  DistributedEngine(Transport& transport, const Graph& graph, const EngineSpec& spec,
                    const EngineOptions& options,
                    std::unique_ptr<FollowerThreads> followers = nullptr)
      : RankGraph{graph_of_rank_0(graph, transport.size())},
        BytespinEngine(of_rank, spec),
        followers_(std::move(followers)),
        options_(options),
        subdomains_(transport,
                    written(EngineKind::bytespin,
                            SubdomainSpec{graph.spec(), graph.bonds(), spec, options.methods.label,
                                          options.device >= 0}),
                    [&](std::span<const std::uint8_t>) {
                      send_bonds(graph, transport);
                      const std::shared_ptr<const GraphTables> tables(std::shared_ptr<void>(),
                                                                      &tables_);
                      auto own = make_subdomain(tables, spec_, transport, options.methods.label,
                                                options.device >= 0, options);
                      own_ = own.get();
                      return own;
                    }),
        device_(subdomains_.device()) {}

  std::string_view device() const override { return device_; }
  int threads() const override { return subdomains_.threads(); }

  bool has_ranks() const override { return !followers_; }
  StateInParts save_in_parts(const std::string& name, const FileWriter& write) const override {
    return subdomains_.save(1, name, write, save_state(false));
  }
  void restore_in_parts(const EngineState& rest, std::uint64_t spin_bytes,
                        const SpinReader& read) override {
    restore_without_spins(rest, spin_bytes);
    subdomains_.restore(1, 1, read, [this](Bytes spins) { check_spins(spins); });
  }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    if (schedule.cluster > 0 && !is_swendsen_wang()) {
      throw Error(
          ExitCode::usage,
          fmt::format("schedule {}: ranks can share sweeps and swendsen-wang updates, not {}",
                      to_string(schedule), to_string(spec_.cluster)));
    }
    if (const std::string why = own_->why_no_clusters(); schedule.cluster > 0 && !why.empty()) {
      throw Error(ExitCode::usage, why);
    }
    if (!in_step()) {  // the CPU engine may leave a sweep unfinished
      const Graph whole = build_graph(of_rank.spec());
      return advance_on_cpu(make_bytespin_engine, whole, options_.stop, schedule, cycles);
    }
    return advance_replicas(
        options_, schedule, cycles, [&](const Schedule& piece, std::uint64_t count_of) {
          const double begin = now();
          subdomains_.advance({{0, replicas_}, step_, count_of, piece});
          (piece.cluster > 0 ? work_.cluster_seconds : work_.local_seconds) += now() - begin;
          count(piece, count_of, 0);
          if (piece.cluster > 0) take_sums();
        });
  }

  void measure(Observation& out) override {
    const double begin = now();
    const std::vector<std::uint64_t> sums = subdomains_.count();
    std::vector<unsigned long long> unequal(replicas_), most(replicas_);
    for (std::size_t replica = 0; replica < replicas_; ++replica) {
      const auto counts =
          std::span(sums).subspan(replica * (1 + tables_.states), 1 + tables_.states);
      unequal[replica] = counts[0];
      most[replica] = largest_count(tables_, counts);
    }
    fill_observation(unequal.data(), most.data(), out);
    work_.measure_seconds += now() - begin;
  }

 private:
  void take_sums() {
    work_.label_passes += own_->take_passes();
    for (std::size_t replica = 0; replica < replicas_; ++replica) {
      const ClusterSums sums = own_->take_sums(replica);
      cluster_size_[replica] += sums.square;
      cluster_quartic_[replica] += sums.quartic;
    }
  }
  void read_part(std::size_t replica, std::span<std::uint8_t> out) const override {
    subdomains_.read(replica, 0, 0, out);
  }
  void write_part(std::size_t replica, Bytes spins) override {
    subdomains_.write(replica, 0, 0, spins);
  }

  const std::unique_ptr<FollowerThreads> followers_;  // destroyed last
  const EngineOptions options_;
  BytespinSubdomain* own_ = nullptr;
  Subdomains subdomains_;
  const std::string device_;
};

void check_shared(const Graph& graph, const EngineSpec& spec, const EngineOptions& options,
                  int ranks) {
  check_spec(EngineKind::bytespin, spec, graph);
  if (has_interactions(spec)) {
    throw Error(ExitCode::usage,
                "ranks cannot share replicas with couplings, fields or replica exchange");
  }
  if (graph.lattice().dim == 0 || !graph.source().empty()) {
    throw Error(
        ExitCode::usage,
        "ranks can share lattices with a checkerboard only, not a graph from a file or with "
        "parity any");
  }
  const std::string why = kMethods.why_not(options.methods, options.device >= 0, true);
  if (!why.empty()) throw Error(ExitCode::usage, why);
  check_subdomains(graph.spec().extents, ranks);
}

}  // namespace

std::unique_ptr<Subdomain> make_bytespin_subdomain(std::span<const std::uint8_t> bytes,
                                                   Transport& transport,
                                                   const RankOptionsOf& options) {
  const auto settings = read_spec<SubdomainSpec>(bytes);
  struct Part {
    Part(const SubdomainSpec& settings, Transport& transport)
        : graph(Graph::part(Lattice::make(settings.graph.extents),
                            receive_bonds(settings.graph, transport), settings.graph,
                            settings.bonds)),
          tables(graph, settings.spec) {}
    const Graph graph;
    const GraphTables tables;
  };
  const auto part = std::make_shared<const Part>(settings, transport);
  return make_subdomain(std::shared_ptr<const GraphTables>(part, &part->tables), settings.spec,
                        transport, settings.label, settings.cuda, options(settings.cuda));
}

std::unique_ptr<Engine> make_distributed_bytespin_engine(Transport& transport, const Graph& graph,
                                                         const EngineSpec& spec,
                                                         const EngineOptions& options) {
  check_shared(graph, spec, options, transport.size());
  return std::make_unique<DistributedEngine>(transport, graph, spec, options);
}

std::unique_ptr<Engine> make_bytespin_on_threads(const Graph& graph, const EngineSpec& spec,
                                                 const EngineOptions& options) {
  const EngineOptions own = options_of_rank(options, 0);
  check_shared(graph, spec, own, rank_count(options));
  auto followers = follower_threads(options, make_bytespin_subdomain);
  Transport& first = followers->first();
  return std::make_unique<DistributedEngine>(first, graph, spec, own, std::move(followers));
}

}  // namespace rewise
