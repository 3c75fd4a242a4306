#include "experiments/sweep/sweep_tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "experiments/console/options.hpp"
#include "experiments/tasks/equilibrium.hpp"
#include "graphs/graph_io.hpp"

namespace rewise {
namespace {

// Short, where that tells it from the others.
std::string file_name(const std::filesystem::path& file,
                      const std::vector<std::filesystem::path>& all) {
  const auto alike = std::count_if(all.begin(), all.end(),
                                   [&](const auto& other) { return other.stem() == file.stem(); });
  std::string name = alike > 1 ? file.string() : file.stem().string();
  // It stands in tables, in summary.csv and in names of plots.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ',' || c == '/' || c == '"' || c <= ' '; },
      '_');
  return name;
}

void note_speed(SweepWork& work, const TaskSpec& spec, const TaskData& data) {
  const auto seconds = data.provenance.find("work.seconds");
  if (seconds == data.provenance.end()) return;
  const double cycles =
      configured(data, "sampling.warm_up", 0) + configured(data, "sampling.equilibrate", 0) +
      configured(data, "sampling.measure", 0) * configured(data, "sampling.every", 1);
  const double units = cycles * static_cast<double>(data.graph.sites) *
                       static_cast<double>(spec.temperatures.size());
  work.seconds_per_site_cycle = std::strtod(seconds->second.c_str(), nullptr) / units;
}

}  // namespace

SweepTasks::SweepTasks(Study& study, const StopToken& stop, Progress& progress)
    : study_(study), config_(study.config()), stop_(stop), progress_(progress) {
  const auto dims = config_.dims();
  std::vector<std::optional<Schedule>> schedules(config_.schedules.begin(),
                                                 config_.schedules.end());
  if (schedules.empty()) schedules.emplace_back();
  for (const auto& file : config_.files) {
    for (const auto& schedule : schedules) {
      std::string label = config_.files.size() > 1 ? file_name(file, config_.files) : "";
      if (schedules.size() > 1) {
        label +=
            fmt::format("{}{}-{}", label.empty() ? "" : "-", schedule->local, schedule->cluster);
      }
      open_file(file, schedule, label);
    }
  }
  for (const int dim : dims) {
    for (const Rule rule : config_.rules) {
      for (const auto& schedule : schedules) {
        std::string label;
        if (dims.size() > 1) label += fmt::format("-{}d", dim);
        if (config_.rules.size() > 1) label += fmt::format("-{}", to_string(rule));
        if (schedules.size() > 1) {
          label += fmt::format("-{}-{}", schedule->local, schedule->cluster);
        }
        if (!label.empty()) label.erase(0, 1);
        for (const double p : config_.p) open(dim, rule, schedule, p, label);
      }
    }
  }
}

void SweepTasks::open(int dim, Rule rule, const std::optional<Schedule>& schedule, double p,
                      const std::string& label) {
  SweepWork work;
  work.point = {dim, rule, schedule, p, label, {}, {}, {}, {}, {}};
  work.range = scan_range(dim, rule, p, config_.model, config_.q);
  for (std::size_t k = 0; k < config_.sizes.size(); ++k) {
    if (config_.sizes[k].size() != static_cast<std::size_t>(dim)) continue;
    SizeData size;
    size.extents = config_.sizes[k];
    size.samples.sites = site_count(size.extents);
    size.plan = first_plan(config_, schedule, p, size.samples.sites);
    // Those that were added later change no plan: the first ones choose it.
    size.plan.temperatures =
        config_.temperature_tasks.empty() ? config_.temperatures : config_.temperature_tasks[0];
    work.point.sizes.push_back(std::move(size));
    work.graphs.push_back(config_.target_error ? std::max(config_.graphs[k], kPilotGraphs)
                                               : config_.graphs[k]);
  }
  work.single.resize(work.graphs.size());
  works.push_back(std::move(work));
}

void SweepTasks::open_file(const std::filesystem::path& file,
                           const std::optional<Schedule>& schedule, const std::string& label) {
  SweepWork work;
  work.point = {0, Rule::imported, schedule, 0, label, {}, {}, {}, {}, {}};
  // Several schedules share a graph.
  for (const SweepWork& other : works) {
    if (other.point.sizes.front().name == file_name(file, config_.files)) {
      work.imported = other.imported;
    }
  }
  if (work.imported == nullptr) {
    const FirstSite first = !config_.first_site        ? FirstSite::unsaid
                            : *config_.first_site == 0 ? FirstSite::zero
                                                       : FirstSite::one;
    work.imported = std::make_shared<const Graph>(read_graph(file.string(), first));
  }
  SizeData size;
  size.name = file_name(file, config_.files);
  size.hash = graph_hash(*work.imported);
  size.samples.sites = static_cast<double>(work.imported->sites());
  size.plan = first_plan(config_, schedule, 0, size.samples.sites);
  size.plan.temperatures =
      config_.temperature_tasks.empty() ? config_.temperatures : config_.temperature_tasks[0];
  work.point.sizes.push_back(std::move(size));
  work.graphs = {1};
  work.single.resize(1);
  works.push_back(std::move(work));
}

StudyTask SweepTasks::task_of(const SweepWork& work, std::size_t size, std::uint32_t graph,
                              const SizePlan& plan, const std::string& purpose) const {
  const SizeData& data = work.point.sizes[size];
  StudyConfig config = config_;
  config.rule = work.point.rule;
  StudyTask task;
  task.spec = plan_task(config, work.point.p, data.extents, graph, plan, purpose);
  if (work.imported != nullptr) {  // whatever its file is called
    task.spec.graph = {};
    task.spec.imported = work.imported;
    task.spec.seed =
        derived_seed(config_.seed, fmt::format("run|{}|graph_{}|{}", purpose, data.hash, graph));
  }
  if (purpose != "sweep") task.purpose = purpose;
  task.label = fmt::format("p = {}, {}{}{}, {} {}", number_text(work.point.p), size_text(data),
                           work.point.label.empty() ? "" : ", ", work.point.label,
                           purpose == "sweep" ? "graph" : purpose, graph + 1);
  task.seconds = work.seconds_per_site_cycle * data.samples.sites *
                 static_cast<double>(plan.temperatures.size() * task.spec.cycles());
  return task;
}

std::vector<StudyTask> SweepTasks::graph_tasks(const SweepWork& work, std::size_t size,
                                               std::uint32_t graph) const {
  const SizePlan& plan = work.point.sizes[size].plan;
  if (config_.temperature_tasks.empty()) return {task_of(work, size, graph, plan, "sweep")};
  std::vector<StudyTask> tasks;
  for (const std::vector<double>& temperatures : config_.temperature_tasks) {
    const auto wanted = [&](double t) {
      return std::find(plan.temperatures.begin(), plan.temperatures.end(), t) !=
             plan.temperatures.end();
    };
    if (std::none_of(temperatures.begin(), temperatures.end(), wanted)) continue;
    SizePlan part = plan;
    part.temperatures = temperatures;
    tasks.push_back(task_of(work, size, graph, part, "sweep"));
    if (temperatures == config_.temperature_tasks.front()) continue;
    // Bundles are numbered within their task, so that the same seed would give the same draws.
    TaskSpec& spec = tasks.back().spec;
    std::vector<std::string> words{"temperatures"};
    for (const double t : temperatures) words.push_back(number_text(t));
    spec.seed = derived_seed(spec.seed, fmt::format("{}", fmt::join(words, "|")));
  }
  return tasks;
}

void SweepTasks::run(const std::vector<StudyTask>& tasks, const std::vector<SweepWork*>& owners,
                     const TaskHandler& handle) {
  study_.run(tasks, stop_, progress_, [&](std::size_t index, TaskData&& data) {
    {
      const std::lock_guard lock(speed_);  // several tasks may end at once
      note_speed(*owners[index], tasks[index].spec, data);
    }
    handle(index, std::move(data));
  });
}

std::vector<SweepTasks::Missing> SweepTasks::missing(const SweepCell& cell) const {
  const SizeData& size = cell.work->point.sizes[cell.size];
  const auto& graphs = size.samples.graphs;
  std::vector<Missing> list;
  for (std::uint32_t g = 0; g < std::max<std::size_t>(cell.graphs, graphs.size()); ++g) {
    const std::uint64_t done = g < graphs.size() ? graphs[g].discarded + graphs[g].measurements : 0;
    if (done == size.plan.discard + size.plan.measure) continue;
    list.push_back({graph_tasks(*cell.work, cell.size, g), g});
    if (done == 0) continue;
    for (StudyTask& task : list.back().tasks) {  // it goes on where it was
      task.seconds *=
          static_cast<double>((size.plan.discard + size.plan.measure - done) * task.spec.every) /
          static_cast<double>(task.spec.cycles());
    }
  }
  return list;
}

double SweepTasks::seconds_to_fill(std::span<const SweepCell> cells) const {
  double seconds = 0;
  for (const SweepCell& cell : cells) {
    for (const Missing& one : missing(cell)) {
      for (const StudyTask& task : one.tasks) seconds += task.seconds;
    }
  }
  return seconds;
}

void SweepTasks::fill(std::span<const SweepCell> cells) {
  fill_once(cells);
  if (config_.equilibrate) return;
  while (true) {  // what the pilots missed
    std::vector<SweepCell> again;
    for (const SweepCell& cell : cells) {
      SizeData& size = cell.work->point.sizes[cell.size];
      if (!compare_halves(size).agree && discard_more(size.plan)) again.push_back(cell);
    }
    if (again.empty()) return;
    fill_once(again);
  }
}

void SweepTasks::fill_once(std::span<const SweepCell> cells) {
  std::vector<StudyTask> tasks;
  std::vector<SweepWork*> owners;
  // A graph is complete once all of its tasks are.
  struct Place {
    std::size_t size = 0;
    std::uint32_t graph = 0;
    std::vector<TaskData> parts;
    std::size_t tasks = 0;
  };
  std::vector<Place> places;
  std::vector<std::size_t> place_of;  // [task]
  for (const SweepCell& cell : cells) {
    for (Missing& one : missing(cell)) {
      for (StudyTask& task : one.tasks) {
        tasks.push_back(std::move(task));
        owners.push_back(cell.work);
        place_of.push_back(places.size());
      }
      places.push_back({cell.size, one.graph, {}, one.tasks.size()});
    }
    SizeData& size = cell.work->point.sizes[cell.size];
    size.samples.graphs.resize(std::max<std::size_t>(size.samples.graphs.size(), cell.graphs));
    size.samples.spec = task_of(*cell.work, cell.size, 0, size.plan, "sweep").spec.graph;
  }
  run(tasks, owners, [&](std::size_t index, TaskData&& data) {
    Place& place = places[place_of[index]];
    const std::size_t k = place.size;
    SizeData& size = owners[index]->point.sizes[k];
    keep_first(data, tasks[index].spec.measure);
    if (!config_.temperature_tasks.empty()) {
      const std::lock_guard lock(speed_);  // the graph's tasks may end at once
      place.parts.push_back(std::move(data));
      if (place.parts.size() < place.tasks) return;
      data = at_temperatures(std::move(place.parts), size.plan.temperatures);
    }
    drop_first(data, size.plan.discard);
    if (size.samples.graphs.size() == 1) owners[index]->single[k] = results_of(data);
    GraphSample sample =
        reduce(tasks[index].spec, std::move(data), {}, config_.target_error.has_value());
    sample.discarded = size.plan.discard;
    size.samples.graphs[place.graph] = std::move(sample);
  });
}

void SweepTasks::expect(double now, double later, bool guessed) {
  planned_ += now;
  progress_.set_total(planned_ + later, guessed ? later : 0);
}

double SweepTasks::seconds_after(std::size_t size) const {
  double seconds = 0;
  for (const SweepWork& work : works) {
    for (std::size_t other = size + 1; other < work.point.sizes.size(); ++other) {
      const double cycles =
          static_cast<double>(config_.equilibrate.value_or(60) +
                              config_.measure.value_or(kSweepMeasure) * config_.every.value_or(5));
      const double temperatures =
          config_.temperatures.empty() ? 13 : static_cast<double>(config_.temperatures.size());
      seconds += work.seconds_per_site_cycle * work.point.sizes[other].samples.sites * cycles *
                 temperatures * work.graphs[other];
    }
  }
  return seconds;
}

}  // namespace rewise
