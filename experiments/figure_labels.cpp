#include "experiments/figure_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "experiments/options.hpp"
#include "graphs/graph.hpp"
#include "src/single/single.hpp"

namespace rewise {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Setting {
  std::vector<std::uint32_t> extents;
  std::uint32_t q = 2;
  double ratio = 1;  // beta / beta_c
  std::string method;
  std::uint32_t tile = 0;  // 0: the method's own
};

// beta_c of the Potts model, square lattice: ln(1 + sqrt q); cubic, q = 2: twice the Ising value,
// since the bond probabilities 1 - exp(-2 beta) and 1 - exp(-beta) are the same there.
double critical_beta(std::size_t dim, std::uint32_t q) {
  if (dim == 2) return std::log(1 + std::sqrt(static_cast<double>(q)));
  if (dim == 3 && q == 2) return 2 * 0.221654626;
  throw Error(ExitCode::usage, fmt::format("beta_c is not known for dim = {}, q = {}", dim, q));
}

EngineSpec engine_spec_of(const FigureRun& run, const Setting& setting, ClusterUpdate cluster) {
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

// Nanoseconds per spin of one update.
struct Times {
  double total = kNan, measured = kNan, activate = kNan, label = kNan, merge = kNan, flip = kNan;
  double flipped = kNan;  // total, per flipped site
};

// Runs at most `updates` updates, for about a second, after a few that warm up.
Times time_engine(Engine& engine, double sites, std::uint64_t updates, const StopToken& stop) {
  constexpr double enough = 1;  // second
  constexpr std::uint64_t least = 3;
  Observation seen;
  engine.advance({0, 1}, least);
  engine.measure(seen);
  const Work before = engine.work();
  Work after = before;
  for (std::uint64_t done = 0; done < updates; ++done) {
    check_stop(stop);
    engine.advance({0, 1}, 1);
    engine.measure(seen);
    after = engine.work();
    const double spent = after.cluster_seconds + after.measure_seconds - before.cluster_seconds -
                         before.measure_seconds;
    if (done + 1 >= least && spent > enough) break;
  }
  const double all = static_cast<double>(after.cluster_updates - before.cluster_updates) * sites;
  const auto per_spin = [all](double seconds) { return 1e9 * seconds / all; };
  Times times;
  const double cluster = after.cluster_seconds - before.cluster_seconds;
  times.total = per_spin(cluster);
  times.measured = per_spin(cluster + after.measure_seconds - before.measure_seconds);
  times.activate = per_spin(after.steps.activate - before.steps.activate);
  times.label = per_spin(after.steps.label - before.steps.label);
  times.merge = per_spin(after.steps.merge - before.steps.merge);
  times.flip = per_spin(after.steps.flip - before.steps.flip);
  times.flipped = 1e9 * cluster / static_cast<double>(after.cluster_sites - before.cluster_sites);
  return times;
}

class Timer {
 public:
  Timer(const FigureRun& run, const StopToken& stop) : run_(run), stop_(stop) {}

  // From a state that the default method has equilibrated once per size, q and ratio.
  Times time(const Setting& setting, ClusterUpdate cluster, int device) {
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
    const auto engine = make_single_engine(*graph_, spec, options);
    engine->restore(state_);
    return time_engine(*engine, static_cast<double>(graph_->sites()), run_.spec.measure, stop_);
  }

 private:
  void prepare(const Setting& setting) {
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
    const auto engine = make_single_engine(
        *graph_, engine_spec_of(run_, setting, ClusterUpdate::swendsen_wang), options);
    for (std::uint64_t k = 0; k < run_.spec.equilibrate; ++k) {
      check_stop(stop_);
      engine->advance({0, 1}, 1);
    }
    Observation seen;
    engine->measure(seen);  // leaves no sums behind
    state_ = engine->save();
  }

  const FigureRun& run_;
  const StopToken& stop_;
  std::vector<std::uint32_t> extents_;
  std::unique_ptr<Graph> graph_;
  std::uint32_t q_ = 0;
  double ratio_ = 0;
  EngineState state_;
};

std::string tile_text(std::uint32_t tile) { return tile == 0 ? "own" : fmt::format("{}", tile); }

// All settings, sizes outermost, so that what is prepared is used as often as can be.
std::vector<Setting> settings_of(const FigureRun& run) {
  std::vector<Setting> all;
  for (const auto& extents : run.sizes) {
    for (const std::uint32_t q : run.q) {
      for (const double ratio : run.ratios) {
        for (const auto& method : run.methods) {
          const bool tiled = method.find('+') != std::string::npos;
          const auto tiles = tiled ? run.tiles : std::vector<std::uint32_t>{0};
          for (const std::uint32_t tile : tiles) all.push_back({extents, q, ratio, method, tile});
        }
      }
    }
  }
  return all;
}

CurveKeys keys_of(const Setting& s, std::string_view without) {
  CurveKeys keys;
  const auto add = [&](const char* name, const std::string& value) {
    if (name != without) keys.emplace_back(name, value);
  };
  add("size", fmt::format("{}", s.extents.front()));
  add("q", fmt::format("{}", s.q));
  add("ratio", number_text(s.ratio));
  add("method", s.method);
  add("tile", tile_text(s.tile));
  return keys;
}

double axis_value(const Setting& s, const std::string& axis) {
  if (axis == "ratio") return s.ratio;
  if (axis == "tile") return s.tile;
  return s.extents.front();
}

struct Best {
  std::uint32_t tile = 0;
  double identify = std::numeric_limits<double>::infinity();
};

}  // namespace

CurveSet measure_labelling(const FigureRun& run, const StopToken& stop, Progress& progress) {
  CurveSet set;
  set.kind = "labelling";
  set.about = spec_json(run.spec);
  set.about["engine"] = "single";
  set.notes.push_back(run.spec.device >= 0
                          ? "speedup: one core of this machine's processor over the CUDA device"
                          : "no CUDA device here: the methods run on one core, and speedup is the "
                            "default method's time over theirs");
  const auto settings = settings_of(run);
  Timer timer(run, stop);
  std::map<std::tuple<std::uint32_t, std::uint32_t, double>, double> core;
  std::map<std::tuple<std::string, std::uint32_t>, Best> best;  // method, size
  for (const Setting& s : settings) {
    const auto at = std::tuple(s.extents.front(), s.q, s.ratio);
    if (core.count(at) == 0) {
      Setting reference = s;
      reference.method = "fast";
      reference.tile = 0;
      core[at] = timer.time(reference, ClusterUpdate::swendsen_wang, -1).total;
    }
    const Times t = timer.time(s, ClusterUpdate::swendsen_wang, run.spec.device);
    const double identify = t.label + t.merge;
    const std::pair<const char*, double> columns[] = {
        {"total", t.total},           {"measured", t.measured}, {"activate", t.activate},
        {"label", t.label},           {"merge", t.merge},       {"flip", t.flip},
        {"identify", identify},       {"core", core[at]},       {"speedup", core[at] / t.total},
        {"flips_per_ns", 1 / t.total}};
    Curve& curve = set.table("times").curve(keys_of(s, run.axis));
    curve.append(run.axis, axis_value(s, run.axis));
    MetricRow& row = set.metrics.emplace_back(MetricRow{keys_of(s, ""), {}});
    for (const auto& [name, value] : columns) {
      curve.append(name, value);
      row.add(name, {value, 0});
    }
    Best& least = best[{s.method, s.extents.front()}];
    if (s.tile > 0 && identify < least.identify) least = {s.tile, identify};
    progress.add(1.0 / static_cast<double>(settings.size()));
  }
  if (run.tiles.size() > 1) {
    for (const auto& [key, least] : best) {
      if (least.tile == 0) continue;
      const auto& [method, size] = key;
      Curve& curve = set.table("best_tile").curve({{"method", method}});
      curve.append("size", size);
      curve.append("tile", least.tile);
      curve.append("identify", least.identify);
      MetricRow& row = set.metrics.emplace_back(
          MetricRow{{{"method", method}, {"size", fmt::format("{}", size)}, {"tile", "best"}}, {}});
      row.add("best_tile", {static_cast<double>(least.tile), 0});
    }
  }
  return set;
}

CurveSet measure_few_cluster(const FigureRun& run, const StopToken& stop, Progress& progress) {
  CurveSet set;
  set.kind = "few-cluster";
  set.about = spec_json(run.spec);
  set.about["engine"] = "single";
  Timer timer(run, stop);
  Curve& curve = set.table("few-cluster").curves.emplace_back(Curve{{}, {}});
  for (const auto& extents : run.sizes) {
    Setting s{extents, run.q.front(), run.ratios.front(), "", 0};
    const double wolff = timer.time(s, ClusterUpdate::wolff, -1).flipped;
    double few = std::numeric_limits<double>::infinity();
    std::uint32_t tile = 0;
    for (const std::uint32_t edge : run.tiles) {
      if (edge > extents.front()) continue;
      s.tile = edge;
      const double one = timer.time(s, ClusterUpdate::few_cluster, run.spec.device).flipped;
      if (one < few) tile = edge;
      few = std::min(few, one);
    }
    curve.append("size", extents.front());
    curve.append("core", wolff);
    curve.append("few_cluster", few);
    curve.append("speedup", wolff / few);
    curve.append("tile", tile);
    MetricRow& row =
        set.metrics.emplace_back(MetricRow{{{"size", fmt::format("{}", extents.front())}}, {}});
    row.add("core_ns", {wolff, 0});
    row.add("few_cluster_ns", {few, 0});
    row.add("speedup", {wolff / few, 0});
    row.add("tile", {static_cast<double>(tile), 0});
    progress.add(1.0 / static_cast<double>(run.sizes.size()));
  }
  return set;
}

}  // namespace rewise
