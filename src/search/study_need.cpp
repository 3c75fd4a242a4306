#include "src/search/study_need.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "graphs/graph_io.hpp"
#include "src/search/costs.hpp"
#include "src/search/size_plan.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/memory_need.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

std::string assumptions(const StudyConfig& config, const LikelyCounts& likely) {
  std::string text;
  const auto assume = [&](bool automatic, const std::string& what) {
    if (automatic) text += (text.empty() ? "" : ", ") + what;
  };
  assume(config.schedules.empty(), "schedule 1:1");
  if (config.temperature_range) {
    assume(true, "temperatures as for a specific heat of 1 per site");
  } else {
    assume(config.temperatures.empty(), fmt::format("{} temperatures", likely.temperatures));
  }
  assume(!config.equilibrate, fmt::format("equilibrate {}", likely.equilibrate));
  assume(!config.measure, fmt::format("measure {}", likely.measure));
  assume(!config.every, fmt::format("every {}", likely.every));
  return text;
}

}  // namespace

StudyNeed study_need(const StudyConfig& config, std::optional<TcMethod> method,
                     const LikelyCounts& likely) {
  StudyNeed need;
  need.threads = config.threads > 0 ? config.threads : thread_count(0);
  need.cpu_seconds = cpu_seconds(config, likely, need.threads);
  if (method == TcMethod::tree) return need;
  need.assumed = assumptions(config, likely);
  const std::size_t kinds = config.rules.size() * schedules_compared(config);
  const auto add = [&](Cells row, const TaskSpec& spec, std::uint32_t graphs) {
    const std::size_t count = kinds * graphs;
    const double disk =
        disk_need(spec, config.keep_states ? FinalState::automatic : FinalState::none);
    const double memory =
        memory_need(spec, useful_threads(spec, need.threads), false, true).of_process();
    need.tasks += count;
    need.disk += static_cast<double>(count) * disk;
    row.push_back({"tasks", "tasks", count});
    row.push_back({"temperatures", "temperatures", spec.temperatures.size()});
    row.push_back({"memory_bytes", "memory each", memory, bytes_text(memory)});
    row.push_back({"disk_bytes", "disk each", disk, bytes_text(disk)});
    need.rows.push_back(std::move(row));
  };
  for (const std::filesystem::path& file : config.files) {
    const auto graph = std::make_shared<const Graph>(read_graph(file.string(), config.reading));
    const SizePlan plan = likely_plan(config, likely, 0, static_cast<double>(graph->sites()));
    TaskSpec spec = plan_task(config, 0, {}, 0, plan, "sweep");
    spec.graph = {};
    spec.imported = graph;
    add({{"graph", "graph", file.filename().string()}, {"sites", "sites", spec.imported->sites()}},
        spec, 1);
  }
  for (std::size_t k = 0; k < config.sizes.size(); ++k) {
    const std::vector<std::uint32_t>& size = config.sizes[k];
    for (std::size_t at = 0; at < config.p.size(); ++at) {
      const double p = config.p[at];
      add({{"size", "size", size, extents_text(size)}, {"p", "p", p}},
          plan_task(config, p, size, 0, likely_plan(config, likely, at, site_count(size)), "graph"),
          first_graphs(config, k));
    }
  }
  return need;
}

}  // namespace rewise
