#include "src/study/task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/setting_name.hpp"
#include "src/settings/parse.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/build_info.hpp"
#include "src/study/task_check.hpp"
#include "src/study/task_group.hpp"

namespace rewise {

TaskPaths task_paths(const std::filesystem::path& study, const TaskSpec& spec) {
  return task_paths(study, task_id(spec));
}

std::optional<TaskPaths> paths_beside(const std::string& out) {
  if (out.empty()) return std::nullopt;
  const std::filesystem::path file(out);
  if (file.extension() != ".h5" || file.stem().empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: '{}' does not end in .h5", setting_name("out"), out));
  }
  if (folder_exists(file)) {
    throw Error(ExitCode::held, fmt::format("{}: '{}' is a folder", setting_name("out"), out));
  }
  check_output_file(file);
  TaskPaths paths;
  paths.finished = file;
  paths.checkpoint = std::filesystem::path(file).replace_extension(".part.h5");
  paths.lease = std::filesystem::path(file).replace_extension(".lease");
  return paths;
}

GraphRecord regular_record(const TaskSpec& spec) {
  GraphRecord record;
  record.extents = spec.graph.extents;
  record.rule = to_string(spec.graph.rule);
  record.seed = spec.graph.seed;
  record.sites = 1;
  for (const auto extent : spec.graph.extents) record.sites *= extent;
  record.bonds = record.sites * spec.graph.extents.size();
  return record;
}

void append(TaskData& data, const Schedule& schedule, const Samples& some, std::uint64_t expected) {
  constexpr std::size_t most = std::size_t{1} << 25;  // maximum number of values to reserve
  for_each_column(
      [&](const ColumnInfo& column, auto& series, const auto& values) {
        if (values.empty() || (schedule.cluster == 0 && column.of_clusters())) return;
        // Reserve memory, because a series that grows is copied, which needs twice the memory.
        const std::size_t each = series.temperatures() * series.replicas();
        if (series.empty()) series.reserve(std::min<std::size_t>(expected, most / each));
        series.append(values);
      },
      data, some);
}

void note_origin(TextMap& note, const Engine& engine, std::optional<std::uint64_t> hash) {
  note.erase("trajectory_hash");
  if (hash) note["trajectory_hash"] = fmt::format("{:016x}", *hash);
  note["device"] = engine.device();
  note["threads"] = fmt::format("{}", engine.threads());
  note["version"] = build_info().version;
  note["revision"] = build_info().revision;
  note["compiler"] = build_info().compiler;
  note["host"] = host_name();
  note["end"] = utc_time();
}

TaskResult run_task(TaskJob job, const TaskRunOptions& run) {
  TaskResult result = std::move(run_tasks({std::move(job)}, run).front());
  if (result.error) std::rethrow_exception(result.error);
  return result;
}

std::optional<TaskData> read_finished(const TaskSpec& spec, const TaskPaths& paths) {
  auto loaded = load_finished(paths, OpenAs::reader);
  // The process that claims the task reports a damaged file.
  if (!loaded || loaded->source == previous_path(paths.finished)) return std::nullopt;
  const std::string source = loaded->source.string();
  check_same_physics(loaded->task.configuration, task_configuration(spec), kExtendableKeys, source);
  check_task(loaded->task, spec, source);
  if (loaded->task.bond_sum.time() < spec.measure) return std::nullopt;
  return std::move(loaded->task);
}

void clear_leftovers(const TaskPaths& paths, const TaskData& finished) {
  if (!file_exists(paths.lease) && !file_exists(paths.checkpoint) &&
      !file_exists(previous_path(paths.checkpoint))) {
    return;
  }
  const LeaseClaim claim = claim_lease(paths.lease);
  if (!claim.lease) return;  // in use by another process
  try {
    const auto part = load_task(paths.checkpoint, OpenAs::reader);
    if (part && part->task.bond_sum.time() <= finished.bond_sum.time()) {
      remove_sealed(paths.checkpoint, &*claim.lease);
    }
  } catch (const Error&) {
    // A damaged file is reported when more measurements are requested.
  }
}

}  // namespace rewise
