// A rank keeps its sites where they lie among all, and beside them, after every update of a colour,
// the plane before and the plane after its own, and the far ends of the bonds of its modified
// cells: what its sites have as neighbours. Memory of other sites is never touched, so that the
// system gives none for it. Which far ends go from rank to rank follows from the graph alone and is
// known to both.
#include "src/single/shared.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/engine/registry.hpp"
#include "src/single/local/local.hpp"
#include "src/single/local/observe.hpp"
#include "src/single/single_engine.hpp"

namespace rewise {
namespace {

using namespace single;
using ranks::Transport;

// Tags of planes on their way to the rank after and before, and of far ends.
constexpr int kToAfter = ranks::kFirstTag, kToBefore = ranks::kFirstTag + 1,
              kFar = ranks::kFirstTag + 2;

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
  void exchange(Extent systems, int colour);

  const std::shared_ptr<const Plan> plan_;
  const EngineSpec spec_;
  Transport& transport_;
  const int threads_;
  const std::uint64_t systems_, all_planes_, plane_;  // sites of a plane
  const Extent own_;                                  // sites
  std::vector<Far> far_;                              // by rank
  std::vector<LocalScratch> scratch_;                 // [threads]
  std::unique_ptr<std::uint8_t[]> spins_;             // [systems][sites]
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
      int rank = 0;
      while (part(rank).last <= end) ++rank;
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
  for (std::uint64_t n = 0; n < what.cycles * what.schedule.local; ++n) {
    sweep(what.systems, what.step + n);
  }
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
                  return std::make_unique<SingleShare>(plan, spec_, transport, options.threads);
                }),
        device_(shares_.device()) {}

  std::string_view device() const override { return device_; }
  int threads() const override { return shares_.threads(); }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    if (schedule.cluster > 0) {
      throw Error(ExitCode::usage,
                  fmt::format("schedule {}: ranks share the single engine's sweeps alone (take "
                              "{}:0)",
                              to_string(schedule), std::max(schedule.local, 1u)));
    }
    return advance_systems(options_, schedule, cycles,
                           [&](const Schedule& piece, std::uint64_t count_of) {
                             const double begin = now();
                             shares_.advance({{0, systems_}, step_, count_of, piece});
                             work_.local_seconds += now() - begin;
                             count(piece, count_of, 0);
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
