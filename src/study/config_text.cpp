// The configuration as TOML, every default written out (config.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/base/utf8.hpp"
#include "src/study/config.hpp"

namespace rewise {
namespace {

std::string list_text(const std::vector<double>& values) {
  std::vector<std::string> parts;
  for (const double v : values) {
    std::string text = fmt::format("{}", v);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    parts.push_back(std::move(text));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// UTF-8 stays as it is; control characters are escaped.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const auto point = next_code_point(text, at);
    if (!point) {
      throw Error(ExitCode::usage, fmt::format("'{}': no UTF-8, and study.toml cannot hold it "
                                               "(rename the file, or its folder)",
                                               valid_utf8(text)));
    }
    if (*point < 0x20 || (*point >= 0x7f && *point < 0xa0)) {
      out += fmt::format("\\u{:04X}", *point);
    } else {
      if (*point == '"' || *point == '\\') out += '\\';
      out += text.substr(begin, at - begin);
    }
  }
  return out + "\"";
}

std::string number_or_auto(const std::optional<std::uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "\"auto\"";
}

// A value by itself, or the list of several.
std::string one_or_list(const std::vector<std::string>& values) {
  return values.size() == 1 ? values.front() : fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

std::vector<int> StudyConfig::dims() const {
  std::vector<int> dims;
  for (const auto& extents : sizes) dims.push_back(static_cast<int>(extents.size()));
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

std::string_view cluster_text(const StudyConfig& config) {
  return config.cluster ? to_string(*config.cluster) : "auto";
}

namespace {

// [sampling] and [run].
std::string sampling_text(const StudyConfig& config) {
  std::vector<std::string> schedules;
  for (const auto& s : config.schedules) schedules.push_back(in_quotes(to_string(s)));
  if (schedules.empty()) schedules.push_back(in_quotes("auto"));
  std::vector<std::string> clusters;
  for (const auto c : config.clusters) clusters.push_back(in_quotes(to_string(c)));
  if (clusters.empty()) clusters.push_back(in_quotes(cluster_text(config)));
  std::string out;
  out += fmt::format("[sampling]\nengine = {}\nschedule = {}\nlocal = {}\ncluster = {}\n",
                     in_quotes(to_string(config.engine)), one_or_list(schedules),
                     in_quotes(to_string(config.local)), one_or_list(clusters));
  out += fmt::format("model = {}\n", in_quotes(to_string(config.model)));
  if (config.model == ModelKind::potts) out += fmt::format("q = {}\n", config.q);
  if (config.cluster == ClusterUpdate::few_cluster) {
    out += fmt::format("few_cluster_tile = {}\nfew_cluster_flip = {}\n", config.few_cluster_tile,
                       config.few_cluster_flip);
  }
  out += fmt::format("replicas = {}\ntemperatures = {}\n", config.replicas,
                     config.temperatures.empty() ? "\"auto\"" : list_text(config.temperatures));
  if (!config.temperature_tasks.empty()) {
    std::vector<std::string> lists;
    for (const auto& list : config.temperature_tasks) lists.push_back(list_text(list));
    out += fmt::format("temperature_tasks = [{}]\n", fmt::join(lists, ", "));
  }
  out += fmt::format("equilibrate = {}\nmeasure = {}\nevery = {}\ntarget_error = {}\n",
                     number_or_auto(config.equilibrate), number_or_auto(config.measure),
                     number_or_auto(config.every),
                     config.target_error ? fmt::format("{}", *config.target_error) : "\"none\"");
  if (config.method) out += fmt::format("method = {}\n", in_quotes(to_string(*config.method)));
  if (!config.target_observables.empty()) {
    out += fmt::format("target_observables = [\"{}\"]\n",
                       fmt::join(config.target_observables, "\", \""));
  }
  out += fmt::format("\n[run]\ndevice = {}\nthreads = {}\ncheckpoint = \"{}s\"\ntime_limit = {}\n",
                     in_quotes(config.device), config.threads, config.checkpoint,
                     config.time_limit ? fmt::format("\"{}s\"", *config.time_limit) : "\"none\"");
  out += fmt::format("keep_states = {}\n", config.keep_states);
  return out;
}

}  // namespace

std::string to_toml(const StudyConfig& config) {
  std::vector<std::string> sizes;
  for (const auto& extents : config.sizes) {
    sizes.push_back(fmt::format("[{}]", fmt::join(extents, ", ")));
  }
  std::vector<std::string> dims, rules;
  for (const int dim : config.dims()) dims.push_back(fmt::format("{}", dim));
  for (const Rule rule : config.rules) rules.push_back(in_quotes(to_string(rule)));
  std::string out;
  out += fmt::format("[study]\nname = {}\nseed = {}\n\n", in_quotes(config.name), config.seed);
  if (!config.files.empty()) {
    std::vector<std::string> files;
    for (const auto& file : config.files) files.push_back(in_quotes(file.string()));
    out += fmt::format("[lattice]\nfiles = [{}]\n", fmt::join(files, ", "));
    const ReadOptions& reading = config.reading;
    if (reading.first_site != FirstSite::unsaid) {
      out += fmt::format("first_site = {}\n", reading.first_site == FirstSite::zero ? 0 : 1);
    }
    if (!reading.ignore.empty()) {
      std::vector<std::string> names;
      for (const auto& name : reading.ignore) names.push_back(in_quotes(name));
      out += fmt::format("ignore = [{}]\n", fmt::join(names, ", "));
    }
    if (reading.merge) out += "merge = true\n";
    return out + "\n" + sampling_text(config);
  }
  const std::string list = fmt::format("[{}]", fmt::join(sizes, ", "));
  const std::string graphs = fmt::format("[{}]", fmt::join(config.graphs, ", "));
  out += fmt::format("[lattice]\ndim = {}\nsizes = {}\np = {}\nrule = {}\ngraphs = {}\n",
                     one_or_list(dims), config.auto_sizes ? "\"auto\"" : list, list_text(config.p),
                     one_or_list(rules),
                     config.auto_sizes ? fmt::format("{}", config.graphs.front()) : graphs);
  out +=
      fmt::format("most_graphs = {}\nmore_sizes = {}\n\n", config.most_graphs, config.more_sizes);
  return out + sampling_text(config);
}

}  // namespace rewise
