// The keys of a task's configuration: texts in its file, from which its identifier follows, too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <type_traits>

#include "src/base/digest.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {
namespace {

// The keys that are both written and read, except those of the model. keys(name, setting) writes a
// setting, or reads it.
template <class Keys, class Spec>
void convert(Keys&& keys, Spec& spec) {
  keys("sampling.engine", spec.engine);
  keys("sampling.local", spec.local);
  keys("sampling.cluster", spec.cluster);
  if (spec.cluster == ClusterUpdate::few_cluster) {
    keys("sampling.few_cluster_tile", spec.few_cluster.tile);
    keys("sampling.few_cluster_flip", spec.few_cluster.flip);
  }
  keys("sampling.start", spec.start);
  keys("sampling.seed", spec.seed);
  keys("sampling.schedule", spec.schedule);
  keys("sampling.exchange", spec.schedule.exchange);
  keys("sampling.houdayer", spec.schedule.houdayer);
  keys("sampling.cluster_pairs", spec.cluster_pairs);
  keys("sampling.staggered", spec.staggered);
  keys("sampling.warm_up", spec.warm_up.cycles, 0);
  if (spec.warm_up.cycles > 0) {
    keys("sampling.warm_up_schedule", spec.warm_up.updates.schedule);
    keys("sampling.warm_up_cluster", spec.warm_up.updates.cluster);
  }
  keys("sampling.equilibrate", spec.equilibrate);
  keys("sampling.measure", spec.measure);
  keys("sampling.every", spec.every);
}

struct WriteKeys {
  TextMap& map;

  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (value) map[name] = "true";
    } else if constexpr (std::is_same_v<T, EngineKind>) {
      map[name] = traits(value).stored_name;
    } else if constexpr (std::is_same_v<T, double>) {
      map[name] = number_text(value);
    } else if constexpr (std::is_integral_v<T>) {
      map[name] = fmt::format("{}", value);
    } else {
      map[name] = to_string(value);
    }
  }
  void operator()(const char* name, std::uint64_t value, std::uint64_t omitted) {
    if (value != omitted) (*this)(name, value);
  }
};

// A setting without a key keeps its value.
struct ReadKeys {
  const TextMap& map;
  const std::string& from;

  template <class T, class... Omitted>
  void operator()(const char* name, T& value, Omitted...) const {
    const auto found = map.find(name);
    if (found == map.end()) return;
    const std::string &text = found->second, origin = fmt::format("{}: {}", from, name);
    if constexpr (std::is_same_v<T, bool>) {
      value = true;
    } else if constexpr (std::is_same_v<T, EngineKind>) {
      value = parse_engine(text, origin);
    } else if constexpr (std::is_same_v<T, LocalUpdate>) {
      value = parse_local_update(text, origin);
    } else if constexpr (std::is_same_v<T, ClusterUpdate>) {
      value = parse_cluster_update(text, origin);
    } else if constexpr (std::is_same_v<T, Start>) {
      value = parse_stored_start(text, origin);
    } else if constexpr (std::is_same_v<T, Schedule>) {
      value = parse_schedule(text, origin);
    } else if constexpr (std::is_same_v<T, double>) {
      value = std::strtod(text.c_str(), nullptr);
    } else {
      value = static_cast<T>(std::strtoull(text.c_str(), nullptr, 10));
    }
  }
};

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
  map["sampling.temperatures"] = fmt::format("{}", fmt::join(temperatures, ","));
  map["sampling.replicas"] = fmt::format("{}", spec.replicas);
  for (const auto& [key, word] : spec.model.words()) map[model_key(key)] = word;
  if (spec.start_spins) map["sampling.start_hash"] = start_hash(spec);
  convert(WriteKeys{map}, spec);
  return map;
}

TaskSpec stored_spec(const TaskData& data, const std::string& origin) {
  const TextMap& map = data.configuration;
  TaskSpec spec;
  spec.temperatures = data.temperature;
  spec.replicas = data.replicas;
  spec.equilibrate = spec.measure = 0;
  ModelTexts words, origins;
  for (const char* key : kModelKeys) {
    origins[key] = fmt::format("{}: {}", origin, model_key(key));
    const auto found = map.find(model_key(key));
    if (found != map.end()) words[key] = found->second;
  }
  spec.model = parse_model(words, origins);
  convert(ReadKeys{map, origin}, spec);
  return spec;
}

}  // namespace rewise
