#include "experiments/commands/label_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/shared.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {
namespace {

// beta_c of the Potts model, square lattice: ln(1 + sqrt q); cubic, q = 2: twice the Ising value,
// since the bond probabilities 1 - exp(-2 beta) and 1 - exp(-beta) are the same there.
double critical_beta(std::size_t dim, std::uint32_t q) {
  if (dim == 2) return std::log(1 + std::sqrt(static_cast<double>(q)));
  if (dim == 3 && q == 2) return 2 * 0.221654626;
  throw Error(ExitCode::usage, fmt::format("beta_c is not known for dim = {}, q = {}", dim, q));
}

EngineSpec engine_spec_of(const FigureRun& run, const LabelSetting& setting,
                          ClusterUpdate cluster) {
  const double beta = setting.ratio * critical_beta(setting.extents.size(), setting.q);
  EngineSpec spec;
  spec.model = setting.q == 2 ? ModelKind::ising : ModelKind::potts;
  spec.q = setting.q;
  spec.betas = {setting.q == 2 ? beta / 2 : beta};
  spec.replicas = 1;
  spec.seed = run.spec.seed;
  spec.cluster = cluster;
  spec.start = Start::cold;
  return spec;
}

// Of Wolff clusters: stretches of updates are the repeats, and each is a sum over a sum, since each
// update flips another number of sites.
Timing per_flipped_site(const std::vector<Work>& marks) {
  const std::size_t updates = marks.size() - 1, stretches = std::min<std::size_t>(updates, 8);
  std::vector<double> repeats;
  for (std::size_t k = 0; k < stretches; ++k) {
    const Work &first = marks[k * updates / stretches],
               &last = marks[(k + 1) * updates / stretches];
    repeats.push_back(1e9 * (last.cluster_seconds - first.cluster_seconds) /
                      static_cast<double>(last.cluster_sites - first.cluster_sites));
  }
  return timing_of(repeats);
}

// `marks`: the engine's work before the first update and after each.
Times times_of(const std::vector<Work>& marks, double sites) {
  const auto of_updates = [&](double unit, auto quantity) {
    std::vector<double> values;
    for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
      values.push_back(unit * (quantity(marks[i + 1]) - quantity(marks[i])));
    }
    return values;
  };
  const auto time = [&](double unit, auto quantity) {
    return timing_of(of_updates(unit, quantity));
  };
  const double ns = 1e9 / sites;
  Times times;
  times.total = time(ns, [](const Work& w) { return w.cluster_seconds; });
  times.measured = time(ns, [](const Work& w) { return w.cluster_seconds + w.measure_seconds; });
  times.activate = time(ns, [](const Work& w) { return w.steps.activate; });
  times.label = time(ns, [](const Work& w) { return w.steps.label; });
  times.merge = time(ns, [](const Work& w) { return w.steps.merge; });
  times.identify = time(ns, [](const Work& w) { return w.steps.label + w.steps.merge; });
  times.flip = time(ns, [](const Work& w) { return w.steps.flip; });
  times.flipped = per_flipped_site(marks);
  times.passes = mean_and_error(
      of_updates(1, [](const Work& w) { return static_cast<double>(w.label_passes); }));
  return times;
}

// Runs at most `updates` updates, for about a third of a second, after a few that warm up.
Times time_engine(Engine& engine, double sites, std::uint64_t updates, bool core,
                  const StopToken& stop) {
  constexpr double enough = 0.3;  // seconds
  const std::uint64_t warm = core ? 1 : 3, least = core ? 2 : 3;
  Observation seen;
  engine.advance({0, 1}, warm);
  engine.measure(seen);
  std::vector<Work> marks{engine.work()};
  const auto spent = [&] {
    return marks.back().cluster_seconds + marks.back().measure_seconds -
           marks.front().cluster_seconds - marks.front().measure_seconds;
  };
  while (marks.size() <= least || (marks.size() <= updates && spent() < enough)) {
    check_stop(stop);
    engine.advance({0, 1}, 1);
    engine.measure(seen);
    marks.push_back(engine.work());
  }
  return times_of(marks, sites);
}

}  // namespace

Times LabelTimer::time(const LabelSetting& setting, ClusterUpdate cluster, int device) {
  prepare(setting);
  EngineOptions options;
  options.device = device;
  options.threads = 1;
  if (cluster == ClusterUpdate::swendsen_wang) {
    options.label_method = setting.method;
    options.label_tile = setting.tile;
  }
  EngineSpec spec = engine_spec_of(run_, setting, cluster);
  if (cluster == ClusterUpdate::few_cluster) spec.few_cluster_tile = setting.tile;
  const auto engine = setting.ranks < 2 ? make_bytespin_engine(*graph_, spec, options)
                                        : engine_of_ranks(spec, setting, options);
  engine->restore(state_);
  return time_engine(*engine, static_cast<double>(graph_->sites()), run_.spec.measure, device < 0,
                     stop_);
}

std::unique_ptr<Engine> LabelTimer::engine_of_ranks(const EngineSpec& spec,
                                                    const LabelSetting& setting,
                                                    EngineOptions options) const {
  const std::vector<CudaDevice> there =
      options.device >= 0 ? cuda_devices() : std::vector<CudaDevice>{};
  for (std::size_t r = 0; r < setting.ranks && !there.empty(); ++r) {
    options.devices.push_back(there[r % there.size()].index);
  }
  return make_bytespin_crew(*graph_, spec, options, static_cast<int>(setting.ranks));
}

void LabelTimer::prepare(const LabelSetting& setting) {
  if (!graph_ || extents_ != setting.extents) {
    extents_ = setting.extents;
    graph_ = std::make_unique<Graph>(
        build_graph({extents_, run_.spec.p, run_.spec.rule, run_.spec.graph_seed}));
    q_ = 0;
  }
  if (q_ == setting.q && ratio_ == setting.ratio) return;
  q_ = setting.q;
  ratio_ = setting.ratio;
  EngineOptions options;
  options.device = run_.spec.device;
  options.threads = run_.spec.threads;
  const auto engine = make_bytespin_engine(
      *graph_, engine_spec_of(run_, setting, ClusterUpdate::swendsen_wang), options);
  for (std::uint64_t k = 0; k < run_.spec.equilibrate; ++k) {
    check_stop(stop_);
    engine->advance({0, 1}, 1);
  }
  Observation seen;
  engine->measure(seen);  // leaves no sums behind
  state_ = engine->save();
}

}  // namespace rewise
