#include "src/search/sweep_tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "graphs/graph_io.hpp"
#include "src/search/costs.hpp"
#include "src/settings/engine_choice.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

// The last `parts` of a path, or its stem, with only characters valid in plot names and tables.
std::string end_of_path(const std::filesystem::path& file, std::size_t parts) {
  const std::vector<std::filesystem::path> all(file.begin(), file.end());
  std::string text = file.stem().string();
  if (parts > 0) {
    text = all.back().string();
    for (std::size_t k = 2; k <= std::min(parts, all.size()); ++k) {
      text.insert(0, all[all.size() - k].string() + "/");
    }
  }
  std::ranges::replace_if(
      text, [](unsigned char c) { return c == '/' || c < ' ' || c == 127; }, '_');
  return text;
}

// Labels of files in tables, summary.csv and plot names: the stem, or enough of the end of the path
// to distinguish the files. Labels are only for people: a graph is identified by its position in
// the list, a task by the hash of its graph.
std::vector<std::string> file_labels(const std::vector<std::filesystem::path>& files) {
  std::vector<std::size_t> parts(files.size(), 0);
  std::vector<std::string> labels(files.size());
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, std::size_t> count;
    for (std::size_t k = 0; k < files.size(); ++k) {
      labels[k] = end_of_path(files[k], parts[k]);
      ++count[labels[k]];
    }
    for (std::size_t k = 0; k < files.size(); ++k) {
      const auto most = static_cast<std::size_t>(std::distance(files[k].begin(), files[k].end()));
      if (count[labels[k]] == 1 || parts[k] == most) continue;
      ++parts[k];
      changed = true;
    }
  }
  std::set<std::string> used;  // "a/b" and "a_b" have equal labels
  for (std::string& label : labels) {
    const std::string first = label;
    for (int n = 2; !used.insert(label).second; ++n) label = fmt::format("{}-{}", first, n);
  }
  return labels;
}

}  // namespace

SweepTasks::SweepTasks(Study& study, const StopToken& stop, Progress& progress)
    : TaskRunner(study, stop, progress) {
  const auto dims = config().dims();
  std::vector<std::optional<Schedule>> schedules(config().schedules.begin(),
                                                 config().schedules.end());
  if (schedules.empty()) schedules.emplace_back();
  const std::vector<std::string> names = file_labels(config().files);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto graph =
        std::make_shared<const Graph>(read_graph(config().files[k].string(), config().reading));
    for (const auto& schedule : schedules) {  // all schedules share the graph
      std::string label = names.size() > 1 ? names[k] : "";
      if (schedules.size() > 1) {
        label +=
            fmt::format("{}{}-{}", label.empty() ? "" : "-", schedule->local, schedule->cluster);
      }
      open_graph(graph, names[k], schedule, label);
    }
  }
  for (const int dim : dims) {
    for (const Rule rule : config().rules) {
      for (const auto& schedule : schedules) {
        std::string label;
        if (dims.size() > 1) label += fmt::format("-{}d", dim);
        if (config().rules.size() > 1) label += fmt::format("-{}", to_string(rule));
        if (schedules.size() > 1) {
          label += fmt::format("-{}-{}", schedule->local, schedule->cluster);
        }
        if (!label.empty()) label.erase(0, 1);
        for (const double p : config().p) open(dim, rule, schedule, p, label);
      }
    }
  }
}

void SweepTasks::open(int dim, Rule rule, const std::optional<Schedule>& schedule, double p,
                      const std::string& label) {
  SweepState work;
  work.point = {dim, rule, schedule, p, label, {}, {}, {}, {}, {}, {}, {}};
  work.range = range_of(scan_range(dim, rule, p, config().model));
  for (std::size_t k = 0; k < config().sizes.size(); ++k) {
    if (config().sizes[k].size() != static_cast<std::size_t>(dim)) continue;
    SizeData size;
    size.extents = config().sizes[k];
    size.samples.sites = site_count(size.extents);
    size.plan = first_plan(schedule, config().cluster, p, size.samples.sites);
    // Temperatures added later do not change the plan.
    size.plan.temperatures =
        config().temperature_tasks.empty() ? config().temperatures : config().temperature_tasks[0];
    work.point.sizes.push_back(std::move(size));
    work.graphs.push_back(config().target_error ? std::max(config().graphs[k], kPilotGraphs)
                                                : config().graphs[k]);
  }
  work.single.resize(work.graphs.size());
  works.push_back(std::move(work));
}

Range SweepTasks::range_of(Range automatic) const {
  const auto& given = config().temperature_range;
  return given ? Range{given->from, given->to} : automatic;
}

void SweepTasks::open_graph(const std::shared_ptr<const Graph>& graph, const std::string& name,
                            const std::optional<Schedule>& schedule, const std::string& label) {
  if (!schedule) check_compares_schedules(*graph, "sampling.schedule");
  SweepState work;
  work.point = {0, Rule::imported, schedule, 0, label, {}, {}, {}, {}, {}, {}, {}};
  work.range = range_of({});
  work.imported = graph;
  work.local = config().local_by_graph ? local_update_for(*graph, config().model) : config().local;
  SizeData size;
  size.name = name;
  size.hash = graph_hash(*work.imported);
  size.samples.sites = static_cast<double>(work.imported->sites());
  size.plan = first_plan(schedule, config().cluster, 0, size.samples.sites);
  size.plan.temperatures =
      config().temperature_tasks.empty() ? config().temperatures : config().temperature_tasks[0];
  work.point.sizes.push_back(std::move(size));
  work.graphs = {1};
  work.single.resize(1);
  works.push_back(std::move(work));
}

PlannedTask SweepTasks::task_of(SweepState& work, std::size_t size, std::uint32_t graph,
                                const SizePlan& plan, const std::string& purpose) const {
  const SizeData& data = work.point.sizes[size];
  const std::string name = purpose == "graph" ? "sweep" : purpose;
  StudyConfig own = config();
  own.rule = work.point.rule;
  PlannedTask task;
  task.spec = plan_task(own, work.point.p, data.extents, graph, plan, name);
  if (work.imported != nullptr) {  // independent of the file's name
    task.spec.graph = {};
    task.spec.imported = work.imported;
    task.spec.local = work.local;
    task.spec.staggered =
        measures_staggered(own.staggered, own.model, work.imported.get(), "sampling.staggered");
    task.spec.seed =
        derived_seed(config().seed, fmt::format("run|{}|graph_{}|{}", name, data.hash, graph));
  }
  task.purpose = purpose;
  task.label =
      fmt::format("p = {}, {}{}{}, {} {}", number_text(work.point.p), size_text(data),
                  work.point.label.empty() ? "" : ", ", work.point.label, purpose, graph + 1);
  task.seconds = work.speed.of(size) * data.samples.sites *
                 static_cast<double>(plan.temperatures.size() * task.spec.cycles());
  task.on_result = work.speed.record(size);
  return task;
}

std::vector<PlannedTask> SweepTasks::tasks_of_graph(SweepState& work, std::size_t size,
                                                    std::uint32_t graph) const {
  const SizePlan& plan = work.point.sizes[size].plan;
  const auto& lists = config().temperature_tasks;
  if (lists.empty()) return {task_of(work, size, graph, plan, "graph")};
  std::vector<PlannedTask> tasks;
  for (const std::vector<double>& temperatures : lists) {
    const auto wanted = [&](double t) {
      return std::find(plan.temperatures.begin(), plan.temperatures.end(), t) !=
             plan.temperatures.end();
    };
    if (std::none_of(temperatures.begin(), temperatures.end(), wanted)) continue;
    SizePlan part = plan;
    part.temperatures = temperatures;
    tasks.push_back(task_of(work, size, graph, part, "graph"));
    if (temperatures == lists.front()) continue;
    // Word groups are numbered within a task, so an equal seed would repeat the random numbers.
    TaskSpec& spec = tasks.back().spec;
    std::vector<std::string> words{"temperatures"};
    for (const double t : temperatures) words.push_back(number_text(t));
    spec.seed = derived_seed(spec.seed, fmt::format("{}", fmt::join(words, "|")));
  }
  return tasks;
}

SizeJob SweepTasks::job(SweepState& work, std::size_t size) {
  return job(work, size, work.graphs[size]);
}

SizeJob SweepTasks::job(SweepState& work, std::size_t size, std::uint32_t graphs) {
  SizeJob job;
  job.size = &work.point.sizes[size];
  job.p = work.point.p;
  job.graphs = graphs;
  job.task = [this, &work, size](std::uint32_t graph, const SizePlan& plan,
                                 const std::string& purpose) {
    return task_of(work, size, graph, plan, purpose);
  };
  job.speed = &work.speed;
  job.tasks_of_graph = [this, &work, size](std::uint32_t graph) {
    return tasks_of_graph(work, size, graph);
  };
  job.warnings = &work.point.warnings;
  job.of_graph = &work.single[size];
  return job;
}

double SweepTasks::seconds_from(std::size_t size) const {
  double seconds = 0;
  for (const SweepState& work : works) {
    for (std::size_t other = size; other < work.point.sizes.size(); ++other) {
      const double sites = work.point.sizes[other].samples.sites;
      // The estimate does not depend on the schedule, so any p will do for the likely plan.
      const SizePlan plan = likely_plan(config(), kLikelySweep, 0, sites);
      seconds += work.speed.of(other) * sites *
                 static_cast<double>(plan.temperatures.size() *
                                     (plan.equilibrate + plan.measure * plan.every)) *
                 work.graphs[other];
    }
  }
  return seconds;
}

}  // namespace rewise
