#include "src/settings/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/series/observables.hpp"
#include "src/base/error.hpp"
#include "src/base/words.hpp"
#include "src/settings/config_grid.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"
#include "src/settings/task_request.hpp"
#include "src/settings/toml_lists.hpp"
#include "src/settings/toml_reader.hpp"
#include "src/store/signals.hpp"

namespace rewise {
namespace {

// Cluster updates that a list may contain; every engine for studies supports them.
constexpr std::array<std::string_view, 2> kClustersOfList{"wolff", "swendsen-wang"};

// Reads the schedules, with the updates that they name ("swendsen-wang/1:4").
std::vector<GivenUpdates> read_schedules(const TomlSection& section, StudyConfig& config) {
  const auto words = read_words(section, "schedule", "auto", true);
  std::vector<GivenUpdates> named;
  for (const std::string& word : words) {
    named.push_back(parse_updates(word, section.origin("schedule"), words.size() == 1));
    if (const auto& schedule = named.back().schedule) config.schedules.push_back(*schedule);
  }
  return named;
}

// The local update: that of the schedules, if they name one, or the key `local`. nullopt: "auto".
std::optional<LocalUpdate> read_local(const TomlSection& section,
                                      const std::vector<GivenUpdates>& named) {
  const auto key = local_or_auto(section.text("local"), section.origin("local"));
  const auto& local = named.front().local;
  for (const GivenUpdates& updates : named) {
    if (updates.local == local && (!local || !key || key == local)) continue;
    throw Error(ExitCode::usage,
                fmt::format("{}: all schedules of a study have the same local update (give M:W, "
                            "and the key `local`)",
                            section.origin("schedule")));
  }
  return local ? local : key;
}

// The cluster updates: those of the schedules, if they name any, or the key `cluster`.
std::vector<std::string> cluster_words(const TomlSection& section,
                                       const std::vector<GivenUpdates>& named) {
  auto words = read_words(section, "cluster", "", true);
  const auto names = [](const GivenUpdates& updates) { return updates.cluster.has_value(); };
  if (std::ranges::none_of(named, names)) return words;
  const auto same = [&](const GivenUpdates& updates) {
    return words.size() == 1 && names(updates) && to_string(*updates.cluster) == words.front();
  };
  if (section.has("cluster") && std::ranges::all_of(named, same)) return words;
  if (section.has("cluster")) {
    throw Error(ExitCode::usage,
                fmt::format("{}: the schedules name their cluster updates already (remove this "
                            "key, or give schedules M:W)",
                            section.origin("cluster")));
  }
  words.clear();
  for (const auto& [schedule, cluster, local] : named) {
    const bool any = !cluster && schedule && schedule->cluster == 0;
    words.emplace_back(any ? "" : to_string(cluster.value_or(ClusterUpdate::wolff)));
  }
  // A schedule M:0 gets the cluster update of the first other schedule.
  const auto first = std::ranges::find_if_not(words, &std::string::empty);
  std::ranges::replace(words, "", std::string(*first));
  if (std::ranges::count(words, words.front()) == std::ssize(words)) words.resize(1);
  return words;
}

void read_clusters(const TomlSection& section, const std::vector<GivenUpdates>& named,
                   StudyConfig& config) {
  const auto words = cluster_words(section, named);
  const std::string origin = section.origin(section.has("cluster") ? "cluster" : "schedule");
  if (words.size() == 1) {
    const auto one = choose_cluster(words.front(), config.schedule(), origin);
    if (one) config.clusters = {*one};
    return;
  }
  for (const auto& word : words) {
    const auto one = parse_word(word, kClustersOfList, "cluster update in a list", origin);
    config.clusters.push_back(parse_cluster_update(kClustersOfList[one], origin));
  }
}

void read_model(const TomlSection& model, bool by_user, StudyConfig& config) {
  ModelTexts words, origin;
  for (const char* key : kModelKeys) {
    origin[key] = model.origin(key);
    if (!model.has(key)) continue;
    const std::string& type = setting(fmt::format("model.{}", key)).type;
    words[key] = type == "text"      ? model.text(key)
                 : type == "integer" ? fmt::format("{}", model.whole(key, 0))
                                     : number_text(model.number(key, 0));
  }
  config.model = parse_model(words, origin);
  if (!by_user) return;
  const auto names =
      SettingNames::keys_of_file([&](std::string_view key) { return origin.at(std::string(key)); });
  check_rounded_numbers(config.model, names);
  const bool lattice = config.files.empty() && !config.p.empty();
  if (lattice) check_shortcut_couplings(config.model, config.p.back(), names);
}

void read_sampling(const TomlSection& section, StudyConfig& config) {
  const auto names =
      SettingNames::keys_of_file([&](std::string_view key) { return section.origin(key); });
  const std::vector<GivenUpdates> named = read_schedules(section, config);
  const auto local = read_local(section, named);
  config.local_by_graph = !local;
  read_clusters(section, named, config);
  if (section.has("staggered")) config.staggered = section.flag("staggered", false);
  config.exchange = section.flag("exchange", config.exchange);
  config.houdayer = section.flag("houdayer", config.houdayer);
  TaskRequest request;
  if (!config.sizes.empty()) request.lattice.extents = config.sizes.front();
  request.model = config.model;
  request.updates = {config.schedule(), config.cluster(), local};
  if (section.has("few_cluster_tile")) {
    request.few_cluster_tile = section.whole("few_cluster_tile", 0);
  }
  if (section.has("few_cluster_flip")) {
    request.few_cluster_flip = section.number("few_cluster_flip", 0);
  }
  request.engine = section.text("engine");
  request.exchange = config.exchange;
  request.houdayer = config.houdayer;
  request.staggered = config.staggered;
  request.replicas = section.whole("replicas", config.replicas);
  static_cast<TaskSettings&>(config) = task_settings(request, names);
  read_temperatures(section, config);
  if (config.exchange && !config.temperatures.empty()) {
    check_exchange_temperatures(config.temperatures.size(), names);
  }
  config.equilibrate = section.whole_or_auto("equilibrate");
  config.measure = section.whole_or_auto("measure");
  config.every = section.whole_or_auto("every");
}

void read_target(const TomlSection& section, StudyConfig& config) {
  const auto* node = section.find("target_error");
  if (node == nullptr) return;
  if (node->is_string()) {
    const std::string word = section.text("target_error", "");
    if (word == "none") return;
    const std::string hint = number_hint(word);
    section.fail("target_error", *node,
                 fmt::format("'{}' (a number, or \"none\"{}{})", word, hint.empty() ? "" : "; ",
                             hint.empty() ? "" : hint + ", without quotes"));
  }
  config.target_error = section.number_at("target_error", *node);
}

constexpr std::array<std::string_view, 3> kMethods{"both", "crossings", "tree"};

void read_method(const TomlSection& section, StudyConfig& config) {
  if (section.find("method") == nullptr) return;
  config.method = static_cast<TcMethodWord>(
      parse_word(section.text("method", ""), kMethods, "method", section.origin("method")));
}

void read_observables(const TomlSection& section, StudyConfig& config) {
  if (section.find("target_observables") == nullptr) return;
  if (!config.target_error) {
    throw Error(ExitCode::usage,
                fmt::format("{}: requires a target_error", section.origin("target_observables")));
  }
  std::vector<std::string_view> known;
  for (const Observable& observable : observables()) known.push_back(observable.name);
  config.target_observables = read_words(section, "target_observables", "");
  for (const std::string& word : config.target_observables) {
    parse_word(word, known, "observable", section.origin("target_observables"));
  }
}

void read_run(const TomlSection& section, StudyConfig& config) {
  config.device = section.text("device");
  check_device_words(config.device, section.origin("device"));
  config.threads = static_cast<int>(section.whole("threads", 0));
  config.checkpoint =
      parse_duration(section.text("checkpoint"), section.origin("checkpoint")).count();
  config.keep_states = section.flag("keep_states", config.keep_states);
  if (const auto limit =
          parse_time_limit(section.text("time_limit"), section.origin("time_limit"))) {
    config.time_limit = limit->count();
  }
}

// The name of a study is also the name of its folder.
std::string read_name(const TomlSection& section) {
  constexpr std::size_t most = 100;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  std::string name = section.text("name");
  if (name.empty() || name.size() > most || name.front() == '.' || name.front() == '-' ||
      !std::all_of(name.begin(), name.end(), plain)) {
    throw Error(ExitCode::usage,
                fmt::format("{}: invalid study name '{}' (1 to {} characters a-z, A-Z, 0-9, '.', "
                            "'_' and '-'; the first is not '.' or '-')",
                            section.origin("name"), name, most));
  }
  return name;
}

const toml::table& table_or_empty(const TomlSection& root, std::string_view key) {
  static const toml::table empty;
  const auto* node = root.find(key);
  if (node == nullptr) return empty;
  const auto* table = node->as_table();
  if (table == nullptr) {
    throw Error(ExitCode::usage,
                fmt::format("{}:{}:{}: '{}' is {} (a table, [{}], is expected)", root.file(),
                            node->source().begin.line, node->source().begin.column, key,
                            toml_type(*node), key));
  }
  return *table;
}

}  // namespace

std::string_view to_string(TcMethodWord method) {
  return kMethods[static_cast<std::size_t>(method)];
}

StudyConfig parse_study_config(std::string_view text, const std::string& file) {
  // No note on old keys in a file that the program wrote: it updates that file itself.
  const bool by_user = !text.starts_with(kStudyHead);
  const toml::table root_table = parse_study_toml(text, file, by_user);
  std::vector<std::string_view> names;
  for (const KeyTable& table : study_keys()) names.push_back(table.table);
  const TomlSection root(root_table, "", file, names, study_keys());
  std::map<std::string_view, TomlSection> sections;
  for (const auto& [table, keys] : study_keys()) {
    sections.try_emplace(table, table_or_empty(root, table), std::string(table), file, keys,
                         study_keys());
  }
  const TomlSection &study = sections.at("study"), &sampling = sections.at("sampling");

  StudyConfig config;
  config.name = read_name(study);
  config.has_name = study.find("name") != nullptr;
  config.seed = study.whole("seed", config.seed);
  read_target(sampling, config);
  read_method(sampling, config);
  read_observables(sampling, config);
  read_lattice(sections.at("lattice"), config.target_error ? kDefaultTargetGraphs : kDefaultGraphs,
               config);
  read_model(sections.at("model"), by_user, config);
  config.reading.couplings = config.model.interactions.couplings == CouplingKind::file;
  read_sampling(sampling, config);
  read_run(sections.at("run"), config);
  return config;
}

StudyConfig one_per_p(StudyConfig config, const std::string& file) {
  const std::size_t count = config.p.size();
  const auto take = [&](auto& values, std::string_view key) {
    if (values.size() != count) {
      throw Error(ExitCode::usage, fmt::format("{}: sampling.{}: {} values for {} values of p "
                                               "(give one for all, or one for each)",
                                               file, key, values.size(), count));
    }
    const auto given = values;
    for (std::size_t at = 0; at < count; ++at) values[at] = given[config.p_given[at]];
  };
  if (config.clusters.size() > 1) {
    take(config.clusters, "cluster");
    if (config.schedules.size() == 1) config.schedules.resize(count, config.schedules.front());
  }
  if (config.schedules.size() > 1) {
    take(config.schedules, "schedule");
    config.schedule_per_p = true;
  }
  return config;
}

StudyConfig read_study_config(const std::filesystem::path& file) {
  constexpr std::uint64_t most = std::uint64_t{1} << 22;
  return parse_study_config(read_text_file(file, most), file.string());
}

}  // namespace rewise
