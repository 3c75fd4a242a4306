#include "src/search/tc/tree_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/search/couplings.hpp"
#include "src/search/task_runner.hpp"
#include "src/search/tc/tree_criterion.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

// The sweeps cost a few hundredths of a Swendsen-Wang update and change variables that it leaves
// unchanged: tau_int of the sums over clusters falls from 0.88 updates to 0.54 (two dimensions, p =
// 0.1).
constexpr Schedule kSchedule = {2, 1};

// Computes a row from the sums of a task, as means per site. mm, md and dd are X_MM, X_MD and X_DD
// of this bare lattice (analysis/scaling/tree_condition.hpp). row.counts is computed here from the
// lattice, unless fill() has set it when the lattice was built.
void reduce_tree(const TaskSpec& spec, const TaskData& data, TreeRow& row) {
  const auto count = static_cast<Eigen::Index>(data.temperature.size());
  for (auto* x : {&row.mm, &row.md, &row.dd, &row.bond, &row.size}) x->setZero(count);
  if (row.counts.size() == 0) row.counts = control_counts(bare_counts(bare_lattice(spec.graph)));
  const double d_ends = row.counts[2];
  const std::size_t replicas = data.replicas, times = data.bond_sum.time();
  const double updates = static_cast<double>(spec.every * spec.schedule.cluster);
  const double each =
      1 / (static_cast<double>(replicas * times) * updates * static_cast<double>(data.graph.sites));
  // The sums over clusters, or over pairs of clusters of two replicas.
  const bool pairs = spec.cluster_pairs;
  const auto& squares = pairs ? data.pair_size : data.cluster_size;
  const auto& crosses = pairs ? data.pair_cross : data.cluster_cross;
  const auto& weights = pairs ? data.pair_weight : data.cluster_weight;
  const std::size_t samples = pairs ? replicas / 2 : replicas;
  const double sample_weight = each * static_cast<double>(replicas / samples);
  std::vector<double> start_sums[2];  // [cold, hot][replica], sums over clusters
  for (auto& start : start_sums) start.resize(replicas / 2);
  for (std::size_t t = 0; t < data.temperature.size(); ++t) {
    const auto at = static_cast<Eigen::Index>(t);
    Eigen::ArrayXd by_sample = Eigen::ArrayXd::Zero(static_cast<Eigen::Index>(samples));
    for (std::size_t n = 0; n < times; ++n) {
      for (std::size_t r = 0; r < replicas; ++r) {
        const auto size = static_cast<double>(data.cluster_size.at(t, n, r));
        row.size(at) += size * each;
        start_sums[r % 2][r / 2] += size;
        row.bond(at) +=
            static_cast<double>(data.bond_sum.at(t, n, r)) /
            (static_cast<double>(data.graph.bonds) * static_cast<double>(replicas * times));
      }
      for (std::size_t r = 0; r < samples; ++r) {
        const auto square = static_cast<double>(squares.at(t, n, r));
        row.mm(at) += square * sample_weight;
        by_sample(static_cast<Eigen::Index>(r)) += square;
        if (crosses.empty()) continue;
        row.md(at) += static_cast<double>(crosses.at(t, n, r)) * sample_weight;
        row.dd(at) += static_cast<double>(weights.at(t, n, r)) * sample_weight;
      }
    }
    if (data.graph.bonds == 0) row.bond(at) = std::tanh(1 / data.temperature[t]);  // of one bond
    row.dd(at) -= d_ends / static_cast<double>(data.graph.sites);
    row.thermal += (by_sample / by_sample.mean() - 1).square().sum() /
                   static_cast<double>(samples * (samples - 1) * data.temperature.size());
  }
  const Value cold = mean_and_error(start_sums[0]), hot = mean_and_error(start_sums[1]);
  const double sum = hot.value + cold.value;
  row.hot_less_cold = {(hot.value - cold.value) / sum, std::hypot(hot.error, cold.error) / sum};
}

// Combines the points of both orders: returns the one with the higher temperature, and the other
// one in its `other`. Returns only `a` if the tree condition does not apply.
TreePoint transition_of(TreePoint a, TreePoint b) {
  if (!a.why_not_applicable.empty()) return a;
  const auto ta = a.accepted_tc(), tb = b.accepted_tc();
  if (tb && (!ta || tb->value > ta->value)) std::swap(a, b);
  if (ta.has_value() != tb.has_value() && !(b.upper_bound <= a.root.tc.value)) {
    a.reasons.push_back(
        fmt::format("the temperature of the {} is unknown and may be higher", to_string(b.order)));
  }
  a.other.push_back(std::move(b));
  return a;
}

class TreeSearch {
 public:
  TreeSearch(Study& study, const StopToken& stop, Progress& progress)
      : tasks_(study, stop, progress), config_(study.config()) {
    for (const double p : config_.p) {
      for (const TreeOrder order : tree_orders(shortcut_couplings(config_))) {
        searches_.emplace_back(open_tree(config_, p, order));
      }
    }
    speeds_.resize(searches_.size());
  }

  std::vector<TreePoint> run() {
    for (auto next = cheapest(); !next.empty(); next = cheapest()) {
      fill(next);
      for (const std::size_t i : next) decide_tree(searches_[i]);
      drop_low_orders();
    }
    tasks_.stage("");
    tasks_.expect(0, 0);
    return so_far();
  }

  // Results of completed last steps. A p without one has no Tc.
  std::vector<TreePoint> so_far() const {
    std::vector<TreePoint> points;
    for (const TreeSearchState& search : searches_) {
      TreePoint point = search.data;
      if (!search.done && point.edge == 0) {
        point.reasons.push_back("stopped before the bare lattices of the last step");
      }
      const bool second = !points.empty() && points.back().p == point.p;
      if (second) {
        points.back() = transition_of(std::move(points.back()), std::move(point));
      } else {
        points.push_back(std::move(point));
      }
    }
    return points;
  }

 private:
  PlannedTask task_of(std::size_t i, std::uint32_t graph) {
    const TreeSearchState& search = searches_[i];
    PlannedTask task;
    TaskSpec& spec = task.spec;
    spec.graph = search.graph_spec();
    const std::string extents = extents_text(spec.graph.extents);
    const std::string name =
        fmt::format("{}|{}|p={}|{}|{}", search.rule.is_glass() ? "tree pairs" : "tree", extents,
                    number_text(search.rule.p), to_string(config_.rule()), graph);
    spec.graph.seed = derived_seed(config_.seed, "graph|" + name);
    spec.seed = derived_seed(config_.seed, "run|" + name);
    spec.cluster = ClusterUpdate::swendsen_wang;
    spec.cluster_pairs = search.rule.is_glass();
    spec.schedule = kSchedule;
    spec.temperatures = search.temperatures;
    spec.equilibrate = search.equilibrate;
    spec.measure = search.measure;
    task.label =
        fmt::format("p = {}, bare {}, graph {}", number_text(search.rule.p), extents, graph + 1);
    task.seconds = speeds_[i].seconds(0) * search.sites() *
                   static_cast<double>(spec.temperatures.size() * spec.cycles());
    task.purpose = search.last ? "graph" : "pilot";
    task.on_result = speeds_[i].record(0);
    task.extends = false;  // later requests have other temperatures, sizes or numbers of graphs
    return task;
  }

  // Ends the search for an order below the transition if it would need large lattices, for example
  // close to the transition of the bare lattice.
  void drop_low_orders() {
    constexpr double large = 1u << 21;
    for (TreeSearchState& search : searches_) {
      if (search.done || search.sites() < large) continue;
      for (const TreeSearchState& high : searches_) {
        const auto tc = high.data.p == search.data.p ? high.data.accepted_tc() : std::nullopt;
        if (!high.done || !tc || search.data.upper_bound > tc->value) continue;
        search.data.reasons.push_back(fmt::format(
            "its temperature is below that of the {} and requires lattices of {:.2g} sites",
            to_string(high.data.order), search.sites()));
        search.done = true;
        break;
      }
    }
  }

  // The unfinished p whose next step is cheap. Small lattices (large p) thus get their Tc before
  // the large lattices of small p occupy the device.
  std::vector<std::size_t> cheapest() const {
    constexpr double together = 8;  // times the cheapest step
    const auto cost = [](const TreeSearchState& search) {
      const double graphs = search.graphs - static_cast<double>(search.rows.size());
      return graphs * search.sites() * static_cast<double>(search.temperatures.size()) *
             static_cast<double>(search.equilibrate + search.measure);
    };
    double least = std::numeric_limits<double>::infinity();
    for (const TreeSearchState& search : searches_) {
      if (!search.done) least = std::min(least, cost(search));
    }
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (!searches_[i].done && cost(searches_[i]) <= together * least) chosen.push_back(i);
    }
    return chosen;
  }

  // Runs the missing graphs of these p.
  void fill(const std::vector<std::size_t>& active) {
    struct Target {
      std::size_t search;
      std::uint32_t graph;
    };
    std::vector<PlannedTask> tasks;
    std::vector<Target> targets;
    std::size_t pilots = 0;
    for (const std::size_t i : active) {
      TreeSearchState& search = searches_[i];
      const auto before = static_cast<std::uint32_t>(search.rows.size());
      search.rows.resize(search.graphs);
      for (std::uint32_t g = before; g < search.graphs; ++g) {
        tasks.push_back(task_of(i, g));
        tasks.back().on_graph = [&row = search.rows[g]](const Graph& bare) {
          row.counts = control_counts(bare_counts(bare));
        };
        targets.push_back({i, g});
      }
      if (!search.last) ++pilots;
    }
    tasks_.stage(pilots > 0 ? "tree condition, pilots" : "tree condition");
    tasks_.expect(seconds_of(tasks), pilots > 0 ? 9 * seconds_of(tasks) : 0);  // a guess
    tasks_.run(tasks, [&](std::size_t index, TaskData&& data) {
      reduce_tree(tasks[index].spec, data,
                  searches_[targets[index].search].rows[targets[index].graph]);
    });
  }

  TaskRunner tasks_;
  const StudyConfig& config_;
  std::vector<TreeSearchState> searches_;  // [p][order]
  std::vector<TaskSpeed> speeds_;          // [p][order]
};

}  // namespace

std::vector<TreePoint> search_tree(Study& study, const StopToken& stop, Progress& progress,
                                   const DataHandlers<std::vector<TreePoint>>& seen) {
  TreeSearch search(study, stop, progress);
  return interruptible(
      seen, [&] { return search.run(); }, [&] { return search.so_far(); });
}

}  // namespace rewise
