// A rank keeps its sites where they lie among all, and beside them, after every update of a colour,
// the plane before and the plane after its own, and the far ends of the bonds of its modified
// cells: what its sites have as neighbours. Memory of other sites is never touched, so that the
// system gives none for it. Which far ends go from rank to rank follows from the graph alone and is
// known to both.
//
// Swendsen-Wang (slab_clusters.hpp): each rank labels its slab; labels of its first plane go to the
// rank before, those of ends of rewired bonds to the rank of the other end, which so knows the
// labels that bonds between slabs join. These pairs are gathered by rank 0 and united once; all get
// to know the labels that changed, and flip.
#include "src/single/shared.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/engine/registry.hpp"
#include "src/label/cluster_sums.hpp"
#include "src/single/local/local.hpp"
#include "src/single/local/observe.hpp"
#include "src/single/single_engine.hpp"
#include "src/single/swendsen_wang/slab_clusters.hpp"

namespace rewise {
namespace {

using namespace single;
using ranks::Transport;

// Tags of planes on their way to the rank after and before, and of far ends.
constexpr int kToAfter = ranks::kFirstTag, kToBefore = ranks::kFirstTag + 1,
              kFar = ranks::kFirstTag + 2, kLabels = ranks::kFirstTag + 3,
              kFarLabels = ranks::kFirstTag + 4;

// Bytes of numbers, and back.
template <class T>
std::span<std::uint8_t> bytes_of(std::vector<T>& values) {
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::vector<T> values_of(std::span<const std::uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy_n(bytes.begin(), values.size() * sizeof(T), bytes_of(values).begin());
  return values;
}

// Who has a site.
int rank_of(const Share& share, Site site) {
  int rank = 0;
  while (share.part(rank).last <= site) ++rank;
  return rank;
}

class SingleShare final : public Share {
 public:
  SingleShare(std::shared_ptr<const Plan> plan, const EngineSpec& spec, Transport& transport,
              int threads);

  std::string device() const override { return "cpu"; }
  int threads() const override { return threads_; }
  std::uint64_t systems() const override { return systems_; }
  std::uint64_t sums() const override { return systems_ * (1 + plan_->states); }
  Extent part(int rank) const override {
    const Extent planes = planes_of(all_planes_, rank, transport_.size());
    return {planes.first * plane_, planes.last * plane_};
  }

  void fetch(std::uint64_t who) override {
    for (int colour = 0; colour < 2; ++colour) exchange({who, who + 1}, colour);
  }
  void advance(const Advance& what) override;
  void count(std::span<std::uint64_t> sums) override;
  // On rank 0: of a system's Swendsen-Wang updates since the last call.
  ClusterSums take_sums(std::uint64_t who) {
    return std::exchange(sums_[static_cast<std::size_t>(who)], {});
  }
  void read(std::uint64_t who, std::uint64_t, std::uint64_t first,
            std::span<std::uint8_t> out) const override {
    std::copy_n(system(who) + first, out.size(), out.begin());
  }
  void write(std::uint64_t who, std::uint64_t, std::uint64_t first,
             std::span<const std::uint8_t> bytes) override {
    std::copy(bytes.begin(), bytes.end(), system(who) + first);
  }

 private:
  // Sites of either colour that go to another rank, or come from it: both know them in this order.
  struct Far {
    int rank;
    std::vector<Site> sent[2], received[2];
    std::vector<std::uint8_t> out, in;
  };

  std::uint8_t* system(std::uint64_t who) const { return spins_.get() + who * plan_->sites; }
  int before() const { return (transport_.rank() + transport_.size() - 1) % transport_.size(); }
  int after() const { return (transport_.rank() + 1) % transport_.size(); }
  std::uint64_t plane_before(std::uint64_t first) const {
    return (first + plan_->sites - plane_) % plan_->sites;
  }
  std::uint64_t plane_after(std::uint64_t last) const { return last % plan_->sites; }
  void find_far_ends();
  void sweep(Extent systems, std::uint64_t step);
  void swendsen_wang(std::uint64_t who, std::uint64_t step);
  void find_joining_bonds();
  std::vector<LabelPair> joined_labels(const Tables& tables, const DrawKey& key,
                                       const std::uint8_t* spins);
  void sum_up(const SlabClusters::Sums& own, const std::vector<LabelPair>& parts,
              ClusterSums& sums);
  void exchange(Extent systems, int colour);

  const std::shared_ptr<const Plan> plan_;
  const EngineSpec spec_;
  Transport& transport_;
  const int threads_;
  const std::uint64_t systems_, all_planes_, plane_;  // sites of a plane
  const Extent own_;                                  // sites
  std::vector<Far> far_;                              // by rank
  std::vector<LocalScratch> scratch_;                 // [threads]
  // Swendsen-Wang: rewired bonds between ranks, end a here or end b, by the other's rank.
  struct Joining {
    std::vector<RewiredSlot> from;  // a is here
    std::vector<Site> to;           // b is here: what is asked for
  };
  std::unique_ptr<SlabClusters> clusters_;
  std::vector<Joining> joining_;           // [ranks]
  std::vector<ClusterSums> sums_;          // [systems]
  std::unique_ptr<std::uint8_t[]> spins_;  // [systems][sites]
};

SingleShare::SingleShare(std::shared_ptr<const Plan> plan, const EngineSpec& spec,
                         Transport& transport, int threads)
    : plan_(std::move(plan)),
      spec_(spec),
      transport_(transport),
      threads_(threads > 0 ? threads : omp_get_max_threads()),
      systems_(spec.betas.size() * spec.replicas),
      all_planes_(plan_->lattice.extent[plan_->lattice.dim - 1]),
      plane_(plan_->sites / all_planes_),
      own_(part(transport.rank())),
      scratch_(static_cast<std::size_t>(threads_)),
      sums_(systems_),
      spins_(std::make_unique_for_overwrite<std::uint8_t[]>(systems_ * plan_->sites)) {
  find_far_ends();
  for (std::uint64_t who = 0; who < systems_; ++who) {
    start_spins(*plan_, spec.seed, static_cast<std::uint32_t>(who),
                starts_hot(spec.start, static_cast<std::uint32_t>(who % spec.replicas)), own_.first,
                own_.last, system(who));
  }
}

// Of own modified cells the neighbours with another rank, but those in the planes that come whole;
// and the cells themselves, which that rank likewise finds among the neighbours of its own.
void SingleShare::find_far_ends() {
  const Graph& graph = plan_->graph;
  const int size = transport_.size();
  std::vector<Far> far(static_cast<std::size_t>(size));
  const auto in_halo = [&](Site site, Extent of) {
    const std::uint64_t plane = site / plane_ * plane_;
    return plane == plane_before(of.first) || plane == plane_after(of.last);
  };
  const auto modified = graph.modified_sites();
  for (std::size_t k = 0; k < modified.size(); ++k) {
    const Site site = modified[k];
    if (site < own_.first || site >= own_.last) continue;
    for (std::uint64_t e = graph.offsets()[k]; e < graph.offsets()[k + 1]; ++e) {
      const Site end = graph.neighbours()[e];
      if (end >= own_.first && end < own_.last) continue;
      const int rank = rank_of(*this, end);
      Far& other = far[static_cast<std::size_t>(rank)];
      if (!in_halo(end, own_)) other.received[plan_->lattice.colour(end)].push_back(end);
      if (!in_halo(site, part(rank))) other.sent[plan_->lattice.colour(site)].push_back(site);
    }
  }
  for (int rank = 0; rank < size; ++rank) {
    Far& other = far[static_cast<std::size_t>(rank)];
    other.rank = rank;
    bool any = false;
    for (int colour = 0; colour < 2; ++colour) {
      for (std::vector<Site>* sites : {&other.sent[colour], &other.received[colour]}) {
        std::sort(sites->begin(), sites->end());
        sites->erase(std::unique(sites->begin(), sites->end()), sites->end());
        any = any || !sites->empty();
      }
    }
    if (any) far_.push_back(std::move(other));
  }
}

// A rank with a single plane that is both before and after its only neighbour sends it once.
void SingleShare::exchange(Extent systems, int colour) {
  if (transport_.size() == 1) return;
  const auto plane = [&](std::uint64_t who, std::uint64_t first) {
    return std::span(system(who) + first, plane_);
  };
  const bool two = transport_.size() == 2;
  for (std::uint64_t who = systems.first; who < systems.last; ++who) {
    transport_.post_receive(before(), kToAfter, plane(who, plane_before(own_.first)));
    transport_.post_send(after(), kToAfter, plane(who, own_.last - plane_));
    if (!two || part(after()).size() > plane_) {
      transport_.post_receive(after(), kToBefore, plane(who, plane_after(own_.last)));
    }
    if (!two || own_.size() > plane_) {
      transport_.post_send(before(), kToBefore, plane(who, own_.first));
    }
  }
  for (Far& far : far_) {
    far.in.resize(systems.size() * far.received[colour].size());
    far.out.clear();
    for (std::uint64_t who = systems.first; who < systems.last; ++who) {
      for (const Site site : far.sent[colour]) far.out.push_back(system(who)[site]);
    }
    if (!far.in.empty()) transport_.post_receive(far.rank, kFar, far.in);
    if (!far.out.empty()) transport_.post_send(far.rank, kFar, far.out);
  }
  transport_.wait();
  for (const Far& far : far_) {
    auto next = far.in.begin();
    for (std::uint64_t who = systems.first; who < systems.last; ++who) {
      for (const Site site : far.received[colour]) system(who)[site] = *next++;
    }
  }
}

void SingleShare::sweep(Extent systems, std::uint64_t step) {
  const std::uint64_t length = plan_->lattice.extent[0];
  const std::uint64_t first = own_.first / length, rows = own_.size() / length;
  const std::uint64_t parts = std::min(rows, static_cast<std::uint64_t>(threads_));
  for (int colour = 0; colour < 2; ++colour) {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::uint64_t k = systems.first * parts; k < systems.last * parts; ++k) {
      const std::uint64_t who = k / parts, part = k % parts;
      const DrawKey key{spec_.seed, static_cast<std::uint32_t>(who),
                        static_cast<std::uint32_t>(step)};
      local_rows(*plan_, plan_->tables[who / spec_.replicas], spec_.local, key, colour,
                 first + rows * part / parts, first + rows * (part + 1) / parts,
                 scratch_[static_cast<std::size_t>(omp_get_thread_num())], system(who));
    }
    exchange(systems, colour);
  }
}

void SingleShare::advance(const Advance& what) {
  std::uint64_t step = what.step;
  for (std::uint64_t cycle = 0; cycle < what.cycles; ++cycle) {
    for (std::uint32_t m = 0; m < what.schedule.local; ++m) sweep(what.systems, step++);
    for (std::uint32_t w = 0; w < what.schedule.cluster; ++w, ++step) {
      for (std::uint64_t who = what.systems.first; who < what.systems.last; ++who) {
        swendsen_wang(who, step);
      }
    }
  }
}

void SingleShare::find_joining_bonds() {
  joining_.resize(static_cast<std::size_t>(transport_.size()));
  const auto own = [&](Site site) { return site >= own_.first && site < own_.last; };
  for (const RewiredSlot& r : plan_->rewired) {
    if (own(r.a) == own(r.b)) continue;
    const auto other = static_cast<std::size_t>(rank_of(*this, own(r.a) ? r.b : r.a));
    if (own(r.a)) {
      joining_[other].from.push_back(r);
    } else {
      joining_[other].to.push_back(r.b);
    }
  }
}

// The labels that bonds between slabs join, whose end a, or lower end, is here.
std::vector<LabelPair> SingleShare::joined_labels(const Tables& tables, const DrawKey& key,
                                                  const std::uint8_t* spins) {
  std::vector<Site> front(plane_), behind(plane_);
  for (std::uint64_t k = 0; k < plane_; ++k) {
    front[k] = clusters_->label_of(static_cast<Site>(own_.first + k));
  }
  transport_.post_receive(after(), kLabels, bytes_of(behind));
  transport_.post_send(before(), kLabels, bytes_of(front));
  std::vector<std::vector<Site>> asked(joining_.size()), told(joining_.size());
  for (std::size_t r = 0; r < joining_.size(); ++r) {
    for (const Site site : joining_[r].to) told[r].push_back(clusters_->label_of(site));
    asked[r].resize(joining_[r].from.size());
    const auto rank = static_cast<int>(r);
    if (!asked[r].empty()) transport_.post_receive(rank, kFarLabels, bytes_of(asked[r]));
    if (!told[r].empty()) transport_.post_send(rank, kFarLabels, bytes_of(told[r]));
  }
  transport_.wait();
  std::vector<LabelPair> edges;
  clusters_->join_behind(spins, behind, edges);
  for (std::size_t r = 0; r < joining_.size(); ++r) {
    for (std::size_t k = 0; k < asked[r].size(); ++k) {
      const RewiredSlot& bond = joining_[r].from[k];
      if (spins[bond.a] != spins[bond.b]) continue;
      if (!happens(slot_draw(key, Stream::single_bond, bond.slot), tables.bond)) continue;
      edges.push_back({clusters_->label_of(bond.a), asked[r][k]});
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

// Rank 0 adds up the clusters within slabs, and those of several slabs from their parts.
void SingleShare::sum_up(const SlabClusters::Sums& own, const std::vector<LabelPair>& parts,
                         ClusterSums& sums) {
  RecipeWriter writer;
  writer(own)(parts);
  ClusterSums update;
  WideSum fourth = 0;
  std::vector<LabelPair> all;
  for (const auto& bytes : transport_.gather(writer.bytes)) {
    SlabClusters::Sums of_rank;
    std::vector<LabelPair> of_others;
    RecipeReader reader(bytes);
    reader(of_rank)(of_others);
    update.square += of_rank.square;
    fourth += of_rank.fourth;
    all.insert(all.end(), of_others.begin(), of_others.end());
  }
  if (transport_.rank() > 0) return;
  std::sort(all.begin(), all.end());
  for (std::size_t k = 0; k < all.size();) {
    std::uint64_t size = 0;
    const Site label = all[k].label;
    for (; k < all.size() && all[k].label == label; ++k) size += all[k].other;
    update.square += size * size;
    fourth += WideSum{size * size} * (size * size);
  }
  update.quartic = 3 * (WideSum{update.square} * update.square) - 2 * fourth;
  sums += update;
}

void SingleShare::swendsen_wang(std::uint64_t who, std::uint64_t step) {
  if (!clusters_) {
    clusters_ = std::make_unique<SlabClusters>(*plan_, own_.first, own_.last,
                                               static_cast<std::uint32_t>(own_.size() / plane_));
    find_joining_bonds();
  }
  const Tables& tables = plan_->tables[who / spec_.replicas];
  const DrawKey key{spec_.seed, static_cast<std::uint32_t>(who), static_cast<std::uint32_t>(step)};
  clusters_->label(tables, key, system(who));
  std::vector<LabelPair> edges = joined_labels(tables, key, system(who));
  std::vector<LabelPair> gathered;
  for (const auto& bytes : transport_.gather(bytes_of(edges))) {
    const auto of_rank = values_of<LabelPair>(bytes);
    gathered.insert(gathered.end(), of_rank.begin(), of_rank.end());
  }
  std::vector<LabelPair> united = unite_labels(gathered);
  const auto told = bytes_of(united);
  united = values_of<LabelPair>(
      transport_.broadcast(std::vector<std::uint8_t>(told.begin(), told.end())));
  std::vector<LabelPair> parts;
  const SlabClusters::Sums sums = clusters_->flip(key, united, system(who), parts);
  sum_up(sums, parts, sums_[static_cast<std::size_t>(who)]);
  fetch(who);
}

void SingleShare::count(std::span<std::uint64_t> sums) {
  const std::uint64_t each = 1 + plan_->states;
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (std::uint64_t who = 0; who < systems_; ++who) {
    count_rows(*plan_, system(who), own_.first, own_.last, sums.subspan(who * each, each));
  }
}

// What shares are made of.
struct Recipe {
  GraphSpec graph;
  EngineSpec spec;

  template <class Stream>
  void pass(Stream& stream) {
    stream(graph.extents)(graph.p)(graph.rule)(graph.seed)(graph.bare);
    stream(spec.model)(spec.q)(spec.betas)(spec.replicas)(spec.seed)(spec.local)(spec.start);
    stream(spec.cluster);
  }
};

// Rank 0

class SharedEngine final : public SingleEngine {
 public:
  SharedEngine(Transport& transport, const Graph& graph, const EngineSpec& spec,
               const EngineOptions& options)
      : SingleEngine(graph, spec),
        options_(options),
        shares_(transport, written({graph.spec(), spec}),
                [&](std::span<const std::uint8_t>) {
                  const std::shared_ptr<const Plan> plan(std::shared_ptr<void>(), &plan_);
                  auto own = std::make_unique<SingleShare>(plan, spec_, transport, options.threads);
                  own_ = own.get();
                  return own;
                }),
        device_(shares_.device()) {}

  std::string_view device() const override { return device_; }
  int threads() const override { return shares_.threads(); }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    if (schedule.cluster > 0 && !is_swendsen_wang()) {
      throw Error(ExitCode::usage,
                  fmt::format("schedule {}: ranks share sweeps and swendsen-wang updates, not {}",
                              to_string(schedule), to_string(spec_.cluster)));
    }
    return advance_systems(
        options_, schedule, cycles, [&](const Schedule& piece, std::uint64_t count_of) {
          const double begin = now();
          shares_.advance({{0, systems_}, step_, count_of, piece});
          (piece.cluster > 0 ? work_.cluster_seconds : work_.local_seconds) += now() - begin;
          count(piece, count_of, 0);
          if (piece.cluster > 0) take_sums();
        });
  }

  void measure(Observation& out) override {
    const double begin = now();
    const std::vector<std::uint64_t> sums = shares_.count();
    std::vector<unsigned long long> unequal(systems_), most(systems_);
    for (std::size_t who = 0; who < systems_; ++who) {
      const auto of = std::span(sums).subspan(who * (1 + plan_.states), 1 + plan_.states);
      unequal[who] = of[0];
      most[who] = plan_.potts ? *std::max_element(of.begin() + 1, of.end()) : of[2];
    }
    report(unequal.data(), most.data(), out);
    work_.measure_seconds += now() - begin;
  }

 private:
  void take_sums() {
    for (std::size_t who = 0; who < systems_; ++who) {
      const ClusterSums sums = own_->take_sums(who);
      cluster_size_[who] += sums.square;
      cluster_quartic_[who] += sums.quartic;
    }
  }
  static std::vector<std::uint8_t> written(Recipe recipe) {
    RecipeWriter writer;
    writer(EngineKind::single);
    recipe.pass(writer);
    return writer.bytes;
  }
  void read_part(std::size_t who, std::span<std::uint8_t> out) const override {
    shares_.read(who, 0, 0, out);
  }
  void write_part(std::size_t who, Bytes spins) override { shares_.write(who, 0, 0, spins); }

  const EngineOptions options_;
  SingleShare* own_ = nullptr;
  Shares shares_;
  const std::string device_;
};

}  // namespace

std::unique_ptr<Share> make_single_share(std::span<const std::uint8_t> bytes, Transport& transport,
                                         const RankOptionsOf& options) {
  RecipeReader reader(bytes);
  EngineKind kind{};
  Recipe recipe;
  recipe.pass(reader(kind));
  struct Whole {
    Whole(const GraphSpec& graph_spec, const EngineSpec& spec)
        : graph(build_graph(graph_spec)), plan(graph, spec) {}
    const Graph graph;
    const Plan plan;
  };
  const auto whole = std::make_shared<const Whole>(recipe.graph, recipe.spec);
  return std::make_unique<SingleShare>(std::shared_ptr<const Plan>(whole, &whole->plan),
                                       recipe.spec, transport, options(false).threads);
}

std::unique_ptr<Engine> make_shared_single_engine(Transport& transport, const Graph& graph,
                                                  const EngineSpec& spec,
                                                  const EngineOptions& options) {
  check_spec(graph, spec);
  if (graph.lattice().dim == 0 || !graph.source().empty()) {
    throw Error(ExitCode::usage,
                "ranks share lattices that every rank can build, not a graph from "
                "a file");
  }
  if (options.device >= 0) {
    throw Error(ExitCode::device,
                "ranks share the single engine's systems on CPUs (take --device "
                "cpu)");
  }
  check_shares(graph.spec().extents, transport.size());
  return std::make_unique<SharedEngine>(transport, graph, spec, options);
}

}  // namespace rewise
