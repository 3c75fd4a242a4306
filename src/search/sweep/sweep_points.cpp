#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "graphs/graph_io.hpp"
#include "src/search/sweep/sweep_data.hpp"
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

// "1-4", or "" if a sweep has a single schedule.
std::string schedule_label(const StudyConfig& config, const std::optional<Schedule>& schedule) {
  if (config.schedules.size() < 2) return "";
  return fmt::format("{}-{}", schedule->local, schedule->cluster);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!word.empty()) text += (text.empty() ? "" : "-") + word;
  }
  return text;
}

void add_size(const StudyConfig& config, SweepPoint& point, SizeData size) {
  size.plan = first_plan(point.schedule, point.cluster, point.p, size.samples.sites);
  // Temperatures added later do not change the plan.
  size.plan.temperatures =
      config.temperature_tasks.empty() ? config.temperatures : config.temperature_tasks[0];
  point.sizes.push_back(std::move(size));
}

}  // namespace

StudyGraphs read_study_graphs(const StudyConfig& config) {
  StudyGraphs graphs;
  for (const std::filesystem::path& file : config.files) {
    graphs.push_back(std::make_shared<const Graph>(read_graph(file.string(), config.reading)));
  }
  return graphs;
}

std::vector<SweepPoint> sweep_points(const StudyConfig& config, const StudyGraphs& graphs) {
  std::vector<SweepPoint> points;
  std::vector<std::optional<Schedule>> schedules(config.schedules.begin(), config.schedules.end());
  if (schedules.empty()) schedules.emplace_back();
  const auto open = [&](const std::optional<Schedule>& schedule) -> SweepPoint& {
    SweepPoint& point = points.emplace_back();
    point.schedule = schedule;
    point.cluster = config.cluster();
    return point;
  };
  const std::vector<std::string> names = file_labels(config.files);
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    for (const auto& schedule : schedules) {  // all schedules share the graph
      if (!schedule) check_compares_schedules(*graphs[k], "sampling.schedule");
      SweepPoint& point = open(schedule);
      point.rule = Rule::imported;
      point.label = joined({names.size() > 1 ? names[k] : "", schedule_label(config, schedule)});
      point.imported = graphs[k];
      point.local =
          config.local_by_graph ? local_update_for(*graphs[k], config.model) : config.local;
      SizeData size;
      size.name = names[k];
      size.hash = graph_hash(*graphs[k]);
      size.first_graphs = 1;
      size.samples.sites = static_cast<double>(graphs[k]->sites());
      add_size(config, point, std::move(size));
    }
  }
  for (const int dim : config.dims()) {
    for (const Rule rule : config.rules) {
      for (const auto& schedule : schedules) {
        const std::string label =
            joined({config.dims().size() > 1 ? fmt::format("{}d", dim) : "",
                    config.rules.size() > 1 ? std::string(to_string(rule)) : "",
                    schedule_label(config, schedule)});
        for (const double p : config.p) {
          SweepPoint& point = open(schedule);
          point.dim = dim;
          point.rule = rule;
          point.p = p;
          point.label = label;
          for (std::size_t k = 0; k < config.sizes.size(); ++k) {
            if (config.sizes[k].size() != static_cast<std::size_t>(dim)) continue;
            add_size(config, point, empty_size(config.sizes[k], first_graphs(config, k)));
          }
        }
      }
    }
  }
  return points;
}

}  // namespace rewise
