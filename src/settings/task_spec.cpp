#include "src/settings/task_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/digest.hpp"
#include "src/base/error.hpp"
#include "src/settings/parse.hpp"

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
  ModelTexts words, origin;
  for (const char* key : kModelKeys) {
    origin[key] = "task file: " + model_key(key);
    const auto found = configuration.find(model_key(key));
    if (found != configuration.end()) words[key] = found->second;
  }
  return parse_model(words, origin);
}

Start start_of(const TaskData& data) {
  const auto key = data.configuration.find("sampling.start");
  return key == data.configuration.end() ? Start::mixed
                                         : parse_stored_start(key->second, "task file");
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

std::shared_ptr<const Graph> task_graph(const TaskSpec& spec) {
  if (spec.imported != nullptr) return spec.imported;
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

int useful_threads(const TaskSpec& spec, int available) {
  const double per_word = traits(spec.engine).bytes_of_spin < 1 ? 32 : 1;
  const double words =
      site_count(spec) * static_cast<double>(spec.temperatures.size()) * spec.replicas / per_word;
  return static_cast<int>(std::clamp(words / 16384, 1.0, static_cast<double>(available)));
}

}  // namespace rewise
