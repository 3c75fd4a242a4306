#include "src/search/single_run.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "src/results/run_estimates.hpp"

namespace rewise {

CheckedTask run_checked(TaskJob job, const TaskRunOptions& run, const SettingNames& names,
                        const std::string& file, const std::string& advice) {
  std::optional<CheckedRun> checked_file;
  job.add_results = [&](TaskData& data) {
    checked_file = checked_run(data, names);
    data.results = result_record(data, *checked_file);
  };
  TaskResult result = run_task(std::move(job), run);
  switch (result.outcome) {
    case TaskOutcome::held:
      throw Error(ExitCode::held,
                  fmt::format("'{}' is in use by {}{}", file, result.message, advice));
    case TaskOutcome::lost:
    case TaskOutcome::unwritten:
      throw Error(ExitCode::interrupted, fmt::format("'{}': {}", file, result.message));
    case TaskOutcome::interrupted:
      return {std::move(result), {}};
    case TaskOutcome::already_finished:
    case TaskOutcome::finished:
      break;
  }
  CheckedRun checked = checked_file ? *std::move(checked_file) : checked_run(result.data, names);
  return {std::move(result), std::move(checked)};
}

}  // namespace rewise
