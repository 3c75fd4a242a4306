#include "experiments/figure_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "analysis/linear_fit.hpp"
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

// Of an update: nanoseconds per spin; of `flipped`, per flipped site; passes of the labelling.
struct Times {
  Value total, measured, activate, label, merge, identify, flip, flipped, passes;
};

// Of Wolff clusters: the sum over the sum, since each update flips another number of sites.
Value per_flipped_site(const std::vector<Work>& marks) {
  const auto updates = static_cast<double>(marks.size() - 1);
  const auto sites = [](const Work& a, const Work& b) {
    return static_cast<double>(b.cluster_sites - a.cluster_sites);
  };
  const double seconds = marks.back().cluster_seconds - marks.front().cluster_seconds;
  const double all = sites(marks.front(), marks.back()), mean = seconds / all;
  double off = 0;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    const double one = marks[i + 1].cluster_seconds - marks[i].cluster_seconds;
    off += std::pow(one - mean * sites(marks[i], marks[i + 1]), 2);
  }
  return {1e9 * mean, 1e9 * std::sqrt(off * updates / (updates - 1)) / all};
}

// `marks`: the engine's work before the first update and after each.
Times times_of(const std::vector<Work>& marks, double sites) {
  const auto mean = [&](double unit, auto quantity) {
    std::vector<double> values;
    for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
      values.push_back(unit * (quantity(marks[i + 1]) - quantity(marks[i])));
    }
    return mean_and_error(values);
  };
  const double ns = 1e9 / sites;
  Times times;
  times.total = mean(ns, [](const Work& w) { return w.cluster_seconds; });
  times.measured = mean(ns, [](const Work& w) { return w.cluster_seconds + w.measure_seconds; });
  times.activate = mean(ns, [](const Work& w) { return w.steps.activate; });
  times.label = mean(ns, [](const Work& w) { return w.steps.label; });
  times.merge = mean(ns, [](const Work& w) { return w.steps.merge; });
  times.identify = mean(ns, [](const Work& w) { return w.steps.label + w.steps.merge; });
  times.flip = mean(ns, [](const Work& w) { return w.steps.flip; });
  times.flipped = per_flipped_site(marks);
  times.passes = mean(1, [](const Work& w) { return static_cast<double>(w.label_passes); });
  return times;
}

// Runs at most `updates` updates, for about a second, after a few that warm up.
Times time_engine(Engine& engine, double sites, std::uint64_t updates, bool core,
                  const StopToken& stop) {
  constexpr double enough = 1;  // second
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
    return time_engine(*engine, static_cast<double>(graph_->sites()), run_.spec.measure, device < 0,
                       stop_);
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

std::string point_name(const Setting& s) {
  return fmt::format("{} q {} ratio {} {} {}", extents_text(s.extents), s.q, number_text(s.ratio),
                     s.method, tile_text(s.tile));
}

Value quotient(Value a, Value b) {
  const auto relative = [](Value v) { return std::isfinite(v.error) ? v.error / v.value : 0; };
  return {a.value / b.value, a.value / b.value * std::hypot(relative(a), relative(b))};
}

CurveSet labelling_point(const FigureRun& run, const Setting& s, const Times& t, Value core) {
  const double across = s.tile > 0 ? static_cast<double>(s.extents.front()) / s.tile : kNan;
  const std::pair<const char*, Value> columns[] = {
      {"total", t.total},
      {"measured", t.measured},
      {"activate", t.activate},
      {"label", t.label},
      {"merge", t.merge},
      {"flip", t.flip},
      {"identify", t.identify},
      {"core", core},
      {"speedup", quotient(core, t.total)},
      {"flips_per_ns", quotient({1, 0}, t.total)},
      {"flips_per_ns_measured", quotient({1, 0}, t.measured)},
      {"passes", t.passes}};
  CurveSet part;
  Curve& curve = part.table("times").curve(keys_of(s, run.axis));
  curve.append(run.axis, axis_value(s, run.axis));
  curve.append("tiles_across", across);
  MetricRow& row = part.metrics.emplace_back(MetricRow{keys_of(s, ""), {}});
  for (const auto& [name, value] : columns) {
    curve.append(name, value.value);
    curve.append(std::string(name) + "_error", value.error);
    row.add(name, value);
  }
  return part;
}

struct Best {
  std::uint32_t tile = 0;
  double identify = std::numeric_limits<double>::infinity();
};

void add_best_tiles(CurveSet& set, const FigureRun& run, const std::vector<Setting>& settings) {
  std::map<std::tuple<std::string, std::uint32_t>, Best> best;  // method, size
  for (const Setting& s : settings) {
    const double identify = find_metric(set, keys_of(s, ""), "identify", run.name).value;
    Best& least = best[{s.method, s.extents.front()}];
    if (s.tile > 0 && identify < least.identify) least = {s.tile, identify};
  }
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

// ln passes against ln(L / tile). Its errors are those of passes, and what single lattices and
// tiles are off by themselves: scaled up to chi^2 = dof where it is larger.
void add_passes_law(CurveSet& set, const FigureRun& run, const std::vector<Setting>& settings) {
  for (const auto& method : run.methods) {
    std::vector<std::array<double, 3>> points;  // ln across, ln passes, its error
    for (const Setting& s : settings) {
      const double across = s.tile > 0 ? static_cast<double>(s.extents.front()) / s.tile : 0;
      if (s.method != method || across < run.spec.fit_from) continue;
      const Value passes = find_metric(set, keys_of(s, ""), "passes", run.name);
      if (!(passes.value > 0 && passes.error > 0)) continue;
      points.push_back({std::log(across), std::log(passes.value), passes.error / passes.value});
    }
    const auto n = static_cast<Eigen::Index>(points.size());
    Eigen::MatrixXd design = Eigen::MatrixXd::Ones(n, 2), covariance = Eigen::MatrixXd::Zero(n, n);
    Eigen::VectorXd y(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto& [x, passes, error] = points[static_cast<std::size_t>(i)];
      design(i, 1) = x;
      y[i] = passes;
      covariance(i, i) = error * error;
    }
    const LinearFit fit = fit_linear(design, y, covariance);
    const double scale = fit.ok && fit.dof > 0 ? std::sqrt(std::max(1.0, fit.chi2 / fit.dof)) : 1;
    Value amplitude{kNan, kNan}, exponent{kNan, kNan};
    if (fit.ok) {
      exponent = {fit.parameter(1).value, scale * fit.parameter(1).error};
      const double a = std::exp(fit.parameter(0).value);
      amplitude = {a, a * scale * fit.parameter(0).error};
    }
    MetricRow& row = set.metrics.emplace_back(MetricRow{{{"method", method}, {"tile", "all"}}, {}});
    row.add("passes_exponent", exponent);
    row.add("passes_amplitude", amplitude);
    row.add("passes_points", {static_cast<double>(n), 0});
  }
}

}  // namespace

CurveSet measure_labelling(const FigureRun& run, const StopToken& stop, Progress& progress,
                           KeptPoints& kept) {
  CurveSet set;
  set.kind = "labelling";
  set.about = spec_json(run.spec);
  set.about["engine"] = "single";
  set.notes.push_back(run.spec.device >= 0
                          ? "speedup: one core of this machine's processor over the CUDA device"
                          : "no CUDA device here: the methods run on one core, and speedup is the "
                            "default method's time over theirs");
  const auto settings = settings_of(run);
  const double share = 1.0 / static_cast<double>(settings.size());
  Timer timer(run, stop);
  for (const Setting& s : settings) {
    Value core{kNan, kNan};
    if (run.core) {
      Setting reference = s;
      reference.method = "fast";
      reference.tile = 0;
      const CurveSet one = kept.point("core " + point_name(reference), 0, progress, [&] {
        CurveSet part;
        MetricRow& row = part.metrics.emplace_back(MetricRow{keys_of(reference, ""), {}});
        row.add("core", timer.time(reference, ClusterUpdate::swendsen_wang, -1).total);
        return part;
      });
      core = one.metrics.front().values.front().second;
    }
    append(set, kept.point(point_name(s), share, progress, [&] {
      const Times t = timer.time(s, ClusterUpdate::swendsen_wang, run.spec.device);
      progress.add(share);
      return labelling_point(run, s, t, core);
    }));
  }
  if (run.tiles.size() > 1) add_best_tiles(set, run, settings);
  if (run.fit_passes) add_passes_law(set, run, settings);
  return set;
}

CurveSet measure_few_cluster(const FigureRun& run, const StopToken& stop, Progress& progress,
                             KeptPoints& kept) {
  CurveSet set;
  set.kind = "few-cluster";
  set.about = spec_json(run.spec);
  set.about["engine"] = "single";
  const double share = 1.0 / static_cast<double>(run.sizes.size());
  Timer timer(run, stop);
  for (const auto& extents : run.sizes) {
    append(set, kept.point(extents_text(extents), share, progress, [&] {
      Setting s{extents, run.q.front(), run.ratios.front(), "", 0};
      const Value wolff = timer.time(s, ClusterUpdate::wolff, -1).flipped;
      Value few{std::numeric_limits<double>::infinity(), kNan};
      std::uint32_t tile = 0;
      for (const std::uint32_t edge : run.tiles) {
        if (edge > extents.front()) continue;
        s.tile = edge;
        const Value one = timer.time(s, ClusterUpdate::few_cluster, run.spec.device).flipped;
        if (one.value < few.value) {
          few = one;
          tile = edge;
        }
      }
      CurveSet part;
      Curve& curve = part.table("few-cluster").curve({});
      curve.append("size", extents.front());
      MetricRow& row =
          part.metrics.emplace_back(MetricRow{{{"size", fmt::format("{}", extents.front())}}, {}});
      const std::pair<const char*, Value> columns[] = {{"core", wolff},
                                                       {"few_cluster", few},
                                                       {"speedup", quotient(wolff, few)},
                                                       {"tile", {static_cast<double>(tile), 0}}};
      for (const auto& [name, value] : columns) {
        curve.append(name, value.value);
        curve.append(std::string(name) + "_error", value.error);
        row.add(name, value);
      }
      progress.add(share);
      return part;
    }));
  }
  return set;
}

}  // namespace rewise
