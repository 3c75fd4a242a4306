#include "experiments/commands/figure_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "experiments/commands/label_timer.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string tile_text(std::uint32_t tile) { return tile == 0 ? "own" : fmt::format("{}", tile); }

// All settings, sizes outermost, so that what is prepared is used as often as can be.
std::vector<LabelSetting> settings_of(const FigureRun& run) {
  std::vector<LabelSetting> all;
  for (const auto& extents : run.sizes) {
    for (const std::uint32_t q : run.q) {
      for (const double ratio : run.ratios) {
        for (const LabelMethod method : run.labels) {
          const auto tiles = is_tiled(method) ? run.tiles : std::vector<std::uint32_t>{0};
          const auto ranks = run.ranks.empty() ? std::vector<std::uint32_t>{0} : run.ranks;
          for (const std::uint32_t tile : tiles) {
            for (const std::uint32_t r : ranks) {
              all.push_back({extents, q, ratio, method, tile, r});
            }
          }
        }
      }
    }
  }
  return all;
}

CurveKeys keys_of(const LabelSetting& s, std::string_view without) {
  CurveKeys keys;
  const auto add = [&](const char* name, const std::string& value) {
    if (name != without) keys.emplace_back(name, value);
  };
  add("size", fmt::format("{}", s.extents.front()));
  add("q", fmt::format("{}", s.q));
  add("ratio", number_text(s.ratio));
  add("method", std::string(to_string(s.method)));
  add("tile", tile_text(s.tile));
  if (s.ranks > 0) add("ranks", fmt::format("{}", s.ranks));
  return keys;
}

double axis_value(const LabelSetting& s, const std::string& axis) {
  if (axis == "ratio") return s.ratio;
  if (axis == "tile") return s.tile;
  if (axis == "ranks") return s.ranks;
  return s.extents.front();
}

std::string point_name(const LabelSetting& s) {
  return fmt::format("{} q {} ratio {} {} {}{}", extents_text(s.extents), s.q, number_text(s.ratio),
                     to_string(s.method), tile_text(s.tile),
                     s.ranks > 0 ? fmt::format(" ranks {}", s.ranks) : "");
}

CurveSet labelling_point(const FigureRun& run, const LabelSetting& s, const Times& t,
                         const Timing& core) {
  const double across = s.tile > 0 ? static_cast<double>(s.extents.front()) / s.tile : kNan;
  const Timing one{{1, 0}, 1, 1};
  const std::pair<const char*, Timing> columns[] = {
      {"total", t.total},
      {"measured", t.measured},
      {"activate", t.activate},
      {"label", t.label},
      {"merge", t.merge},
      {"flip", t.flip},
      {"identify", t.identify},
      {"core", core},
      {"speedup", quotient(core, t.total)},
      {"flips_per_ns", quotient(one, t.total)},
      {"flips_per_ns_measured", quotient(one, t.measured)}};
  CurveSet part;
  Curve& curve = part.table("times").curve(keys_of(s, run.axis));
  curve.append(run.axis, axis_value(s, run.axis));
  curve.append("tiles_across", across);
  MetricRow& row = part.metrics.emplace_back(MetricRow{keys_of(s, ""), {}});
  for (const auto& [name, timing] : columns) {
    append(curve, name, timing);
    row.add(name, timing.median);
  }
  curve.append("passes", t.passes);
  row.add("passes", t.passes);
  return part;
}

struct Best {
  std::uint32_t tile = 0;
  double identify = std::numeric_limits<double>::infinity();
};

void add_best_tiles(CurveSet& set, const FigureRun& run,
                    const std::vector<LabelSetting>& settings) {
  std::map<std::tuple<LabelMethod, std::uint32_t>, Best> best;  // method, size
  for (const LabelSetting& s : settings) {
    const double identify = find_metric(set, keys_of(s, ""), "identify", run.name).value;
    Best& least = best[{s.method, s.extents.front()}];
    if (s.tile > 0 && identify < least.identify) least = {s.tile, identify};
  }
  for (const auto& [key, least] : best) {
    if (least.tile == 0) continue;
    const std::string method(to_string(std::get<0>(key)));
    const std::uint32_t size = std::get<1>(key);
    Curve& curve = set.table("best_tile").curve({{"method", method}});
    curve.append("size", size);
    curve.append("tile", least.tile);
    curve.append("identify", least.identify);
    MetricRow& row = set.metrics.emplace_back(
        MetricRow{{{"method", method}, {"size", fmt::format("{}", size)}, {"tile", "best"}}, {}});
    row.add("best_tile", {static_cast<double>(least.tile), 0});
  }
}

// Slope of y against x by least squares, all points alike; NaN where x does not vary.
double slope(const std::vector<std::array<double, 2>>& points) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [a, b] : points) {
    n += 1;
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  const double spread = n * xx - x * x;
  return spread > 1e-12 * n * xx ? (n * xy - x * y) / spread : kNan;
}

// ln passes against ln(L / tile). All tiles of one size label the same configurations, and those of
// a few updates are much alike: the error is by jackknife over sizes.
void add_passes_law(CurveSet& set, const FigureRun& run,
                    const std::vector<LabelSetting>& settings) {
  for (const LabelMethod method : run.labels) {
    std::map<std::uint32_t, std::vector<std::array<double, 2>>> points;  // by size
    for (const LabelSetting& s : settings) {
      const double across = s.tile > 0 ? static_cast<double>(s.extents.front()) / s.tile : 0;
      if (s.method != method || across < run.spec.fit_from) continue;
      const Value passes = find_metric(set, keys_of(s, ""), "passes", run.name);
      if (passes.value > 0) {
        points[s.extents.front()].push_back({std::log(across), std::log(passes.value)});
      }
    }
    const auto without = [&](std::uint32_t size) {
      std::vector<std::array<double, 2>> rest;
      for (const auto& [own, some] : points) {
        if (own != size) rest.insert(rest.end(), some.begin(), some.end());
      }
      return slope(rest);
    };
    const double all = without(0), n = static_cast<double>(points.size());
    double squares = 0;
    for (const auto& [size, some] : points) squares += std::pow(without(size) - all, 2);
    const double error = n > 1 ? std::sqrt((n - 1) / n * squares) : kNan;
    MetricRow& row = set.metrics.emplace_back(
        MetricRow{{{"method", std::string(to_string(method))}, {"tile", "all"}}, {}});
    row.add("passes_exponent", {all, error});
  }
}

}  // namespace

CurveSet measure_labelling(const FigureRun& run, const StopToken& stop, Progress& progress,
                           KeptPoints& kept) {
  CurveSet set;
  set.kind = "labelling";
  set.about = spec_json(run.spec);
  set.about["engine"] = "bytespin";
  set.notes.push_back(kTimingNote);
  set.notes.push_back(run.spec.device >= 0
                          ? "speedup: one core of this machine's processor over the CUDA device"
                          : "no CUDA device here: the methods run on one core, and speedup is the "
                            "default method's time over theirs");
  const auto settings = settings_of(run);
  const double share = 1.0 / static_cast<double>(settings.size());
  LabelTimer timer(run, stop);
  for (const LabelSetting& s : settings) {
    Timing core{{kNan, kNan}, kNan, kNan};
    if (s.extents.front() <= run.core) {
      LabelSetting reference = s;
      reference.method = LabelMethod::fast;
      reference.tile = reference.ranks = 0;
      const CurveSet one = kept.point("core " + point_name(reference), 0, progress, [&] {
        CurveSet part;
        MetricRow& row = part.metrics.emplace_back(MetricRow{keys_of(reference, ""), {}});
        const Timing time = timer.time(reference, ClusterUpdate::swendsen_wang, -1).total;
        row.add("core", time.median);
        row.add("core_low", {time.least, 0});
        row.add("core_high", {time.most, 0});
        return part;
      });
      const auto& kept_values = one.metrics.front().values;
      core = {kept_values[0].second, kept_values[1].second.value, kept_values[2].second.value};
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
  set.about["engine"] = "bytespin";
  set.notes.push_back(kTimingNote);
  const double share = 1.0 / static_cast<double>(run.sizes.size());
  LabelTimer timer(run, stop);
  for (const auto& extents : run.sizes) {
    append(set, kept.point(extents_text(extents), share, progress, [&] {
      LabelSetting s{extents, run.q.front(), run.ratios.front(), LabelMethod::fast, 0};
      const Timing wolff = timer.time(s, ClusterUpdate::wolff, -1).flipped;
      Timing few{{std::numeric_limits<double>::infinity(), kNan}, kNan, kNan};
      std::uint32_t tile = 0;
      for (const std::uint32_t edge : run.tiles) {
        if (edge > extents.front()) continue;
        s.tile = edge;
        const Timing one = timer.time(s, ClusterUpdate::few_cluster, run.spec.device).flipped;
        if (one.median.value < few.median.value) {
          few = one;
          tile = edge;
        }
      }
      CurveSet part;
      Curve& curve = part.table("few-cluster").curve({});
      curve.append("size", extents.front());
      MetricRow& row =
          part.metrics.emplace_back(MetricRow{{{"size", fmt::format("{}", extents.front())}}, {}});
      const std::pair<const char*, Timing> columns[] = {
          {"core", wolff}, {"few_cluster", few}, {"speedup", quotient(wolff, few)}};
      for (const auto& [name, timing] : columns) {
        append(curve, name, timing);
        row.add(name, timing.median);
      }
      curve.append("tile", tile);
      row.add("tile", {static_cast<double>(tile), 0});
      progress.add(share);
      return part;
    }));
  }
  return set;
}

}  // namespace rewise
