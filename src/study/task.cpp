#include "src/study/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "src/base/digest.hpp"
#include "src/base/error.hpp"
#include "src/base/profile.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/build_info.hpp"
#include "src/study/halves.hpp"
#include "src/study/parse.hpp"
#include "src/study/task_check.hpp"
#include "src/study/task_group.hpp"

namespace rewise {

namespace {

std::string model_key(const std::string& key) {
  return key == "name" ? "sampling.model" : "sampling." + key;
}

// Hash of the spins of all replicas, [T][R][sites]. Spins that are given once for all temperatures
// or replicas are repeated.
std::string start_hash(const TaskSpec& spec) {
  const std::vector<std::uint8_t>& spins = *spec.start_spins;
  const std::size_t all =
      spec.temperatures.size() * spec.replicas * static_cast<std::size_t>(site_count(spec));
  Digest64 hash;
  for (std::size_t done = 0; done < all && !spins.empty(); done += spins.size()) {
    hash.add(spins.data(), spins.size());
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace

TextMap task_configuration(const TaskSpec& spec) {
  TextMap map;
  if (spec.imported != nullptr) {
    map["graph.hash"] = graph_hash(*spec.imported);
  } else {
    map["lattice.size"] = extents_text(spec.graph.extents);
    map["lattice.p"] = number_text(spec.graph.p);
    map["lattice.rule"] = to_string(spec.graph.rule);
    if (spec.graph.bare) map["lattice.bare"] = "true";
    map["lattice.graph_seed"] = fmt::format("{}", spec.graph.seed);
  }
  std::vector<std::string> temperatures;
  for (const double t : spec.temperatures) temperatures.push_back(number_text(t));
  map["sampling.engine"] = traits(spec.engine).stored_name;
  for (const auto& [key, word] : spec.model.words()) map[model_key(key)] = word;
  map["sampling.local"] = to_string(spec.local);
  map["sampling.cluster"] = to_string(spec.cluster);
  if (spec.cluster == ClusterUpdate::few_cluster) {
    map["sampling.few_cluster_tile"] = fmt::format("{}", spec.few_cluster.tile);
    map["sampling.few_cluster_flip"] = number_text(spec.few_cluster.flip);
  }
  map["sampling.temperatures"] = fmt::format("{}", fmt::join(temperatures, ","));
  map["sampling.replicas"] = fmt::format("{}", spec.replicas);
  map["sampling.start"] = to_string(spec.start);
  if (spec.start_spins) map["sampling.start_hash"] = start_hash(spec);
  map["sampling.seed"] = fmt::format("{}", spec.seed);
  map["sampling.schedule"] = to_string(spec.schedule);
  if (spec.schedule.exchange) map["sampling.exchange"] = "true";
  if (spec.schedule.houdayer) map["sampling.houdayer"] = "true";
  if (spec.cluster_pairs) map["sampling.cluster_pairs"] = "true";
  if (spec.staggered) map["sampling.staggered"] = "true";
  if (spec.warm_up.cycles > 0) {
    map["sampling.warm_up"] = fmt::format("{}", spec.warm_up.cycles);
    map["sampling.warm_up_schedule"] = to_string(spec.warm_up.updates.schedule);
    map["sampling.warm_up_cluster"] = to_string(spec.warm_up.updates.cluster);
  }
  map["sampling.equilibrate"] = fmt::format("{}", spec.equilibrate);
  map["sampling.measure"] = fmt::format("{}", spec.measure);
  map["sampling.every"] = fmt::format("{}", spec.every);
  return map;
}

void TaskSpec::set(const Updates& updates) {
  schedule.local = updates.schedule.local;
  schedule.cluster = updates.schedule.cluster;
  cluster = updates.cluster;
  local = updates.local.value_or(local);
}

Updates updates_of(const TextMap& configuration, std::string_view origin) {
  Updates updates{parse_schedule(configuration.at("sampling.schedule"), origin),
                  parse_cluster_update(configuration.at("sampling.cluster"), origin)};
  updates.schedule.exchange = configuration.contains("sampling.exchange");
  updates.schedule.houdayer = configuration.contains("sampling.houdayer");
  const auto local = configuration.find("sampling.local");
  if (local != configuration.end()) updates.local = parse_local_update(local->second, origin);
  return updates;
}

Model model_of(const TextMap& configuration) {
  ModelWords words, origin;
  for (const char* key : kModelKeys) {
    origin[key] = "task file: " + model_key(key);
    const auto found = configuration.find(model_key(key));
    if (found != configuration.end()) words[key] = found->second;
  }
  return parse_model(words, origin);
}

TaskSpec stored_spec(const TaskData& data) {
  const TextMap& stored = data.configuration;
  const auto text = [&](const char* key, std::string_view otherwise) {
    const auto found = stored.find(key);
    return found == stored.end() ? std::string(otherwise) : found->second;
  };
  const auto whole = [&](const char* key, const char* otherwise) {
    return std::strtoull(text(key, otherwise).c_str(), nullptr, 10);
  };
  const char* const origin = "task file";
  TaskSpec spec;
  spec.engine = parse_engine(text("sampling.engine", to_string(kDefaultEngine)), origin);
  spec.model = model_of(stored);
  spec.local = parse_local_update(text("sampling.local", to_string(spec.local)), origin);
  spec.cluster = parse_cluster_update(text("sampling.cluster", to_string(spec.cluster)), origin);
  spec.schedule = parse_schedule(text("sampling.schedule", "1:1"), origin);
  spec.schedule.exchange = stored.contains("sampling.exchange");
  spec.schedule.houdayer = stored.contains("sampling.houdayer");
  spec.few_cluster.tile = static_cast<std::uint32_t>(whole("sampling.few_cluster_tile", "0"));
  spec.few_cluster.flip = std::strtod(text("sampling.few_cluster_flip", "0.9").c_str(), nullptr);
  spec.temperatures = data.temperature;
  spec.replicas = data.replicas;
  spec.start = start_of(data);
  spec.seed = whole("sampling.seed", "1");
  spec.warm_up = {
      whole("sampling.warm_up", "0"),
      {parse_schedule(text("sampling.warm_up_schedule", "1:1"), origin),
       parse_cluster_update(text("sampling.warm_up_cluster", "swendsen-wang"), origin)}};
  spec.equilibrate = whole("sampling.equilibrate", "0");
  spec.measure = whole("sampling.measure", "0");
  spec.every = whole("sampling.every", "1");
  spec.cluster_pairs = stored.contains("sampling.cluster_pairs");
  spec.staggered = stored.contains("sampling.staggered");
  return spec;
}

std::string task_id(const TaskSpec& spec) {
  return task_id(task_configuration(spec), kExtendableKeys);
}

TaskPaths task_paths(const std::filesystem::path& study, const TaskSpec& spec) {
  return task_paths(study, task_id(spec));
}

std::optional<TaskPaths> paths_beside(const std::string& out) {
  if (out.empty()) return std::nullopt;
  const std::filesystem::path file(out);
  if (file.extension() != ".h5" || file.stem().empty()) {
    throw Error(ExitCode::usage, fmt::format("--out: '{}' does not end in .h5", out));
  }
  if (folder_exists(file)) {
    throw Error(ExitCode::held, fmt::format("--out: '{}' is a folder", out));
  }
  check_output_file(file);
  TaskPaths paths;
  paths.finished = file;
  paths.checkpoint = std::filesystem::path(file).replace_extension(".part.h5");
  paths.lease = std::filesystem::path(file).replace_extension(".lease");
  return paths;
}

std::shared_ptr<const Graph> task_graph(const TaskSpec& spec) {
  if (spec.imported != nullptr) return spec.imported;
  const profile::Span span(profile::Work::graph);
  return std::make_shared<const Graph>(build_graph(spec.graph));
}

EngineSpec engine_spec(const TaskSpec& spec) {
  EngineSpec engine;
  engine.model = spec.model;
  for (const double t : spec.temperatures) engine.betas.push_back(1 / t);
  engine.replicas = spec.replicas;
  engine.seed = spec.seed;
  engine.local = spec.local;
  engine.cluster = spec.cluster;
  engine.few_cluster = spec.few_cluster;
  engine.exchange = spec.schedule.exchange;
  engine.houdayer = spec.schedule.houdayer;
  engine.start = spec.start;
  engine.cluster_pairs = spec.cluster_pairs;
  engine.staggered = spec.staggered;
  engine.first_pair_step = spec.equilibrate * spec.schedule.steps_per_cycle();
  return engine;
}

bool measures_staggered(std::optional<bool> requested, const Model& model, const Graph* imported,
                        const std::string& origin) {
  if (!requested) {
    return model.interactions.couplings == CouplingKind::antiferromagnet && !model.is_potts() &&
           (imported == nullptr || imported->has_sublattices());
  }
  if (!*requested) return false;
  try {
    check_staggered(model, imported);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", origin, error.what()));
  }
  return true;
}

double site_count(const TaskSpec& spec) {
  return spec.imported != nullptr ? static_cast<double>(spec.imported->sites())
                                  : site_count(spec.graph.extents);
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

int useful_threads(const TaskSpec& spec, int available) {
  const double per_word = traits(spec.engine).bytes_of_spin < 1 ? 32 : 1;
  const double words =
      site_count(spec) * static_cast<double>(spec.temperatures.size()) * spec.replicas / per_word;
  return static_cast<int>(std::clamp(words / 16384, 1.0, static_cast<double>(available)));
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

std::optional<TaskData> read_finished(const TaskSpec& spec, const std::filesystem::path& file) {
  return read_finished(spec, TaskPaths{file, {}, {}});
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
