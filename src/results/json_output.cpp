#include "src/results/json_output.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr const char* kDigest = "digest";
constexpr int kMaxNested = 64;  // nested brackets; the writer is recursive

std::string digest_of(const Json& json) {
  const std::string text = json.dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

bool nested_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '\\') ++at;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxNested) return true;
  }
  return false;
}

// Isolated sites of an imported graph, whose bonds are all listed.
std::uint64_t isolated_sites(const GraphRecord& graph) {
  std::vector<bool> joined(graph.sites);
  for (std::size_t k = 0; k < graph.a.size(); ++k) joined[graph.a[k]] = joined[graph.b[k]] = true;
  return static_cast<std::uint64_t>(std::count(joined.begin(), joined.end(), false));
}

}  // namespace

std::string sealed_text(Json json, int indent) {
  json.erase(kDigest);
  json[kDigest] = digest_of(json);
  return json.dump(indent) + "\n";
}

SealedJson parse_sealed_json(std::string_view text) {
  if (nested_too_deep(text)) return {};
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  if (!json.contains(kDigest)) return {JsonSeal::unsealed, std::move(json)};
  const Json digest = json[kDigest];
  json.erase(kDigest);
  if (digest != digest_of(json)) return {};
  return {JsonSeal::good, std::move(json)};
}

Json number_json(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json value_json(Value v) {
  return {{"value", number_json(v.value)}, {"error", number_json(v.error)}};
}

std::string printed(const std::optional<Value>& v) {
  return v && std::isfinite(v->value) ? format_value(*v) : "-";
}

Json graph_json(const GraphRecord& graph) {
  Json json;
  const bool lattice = !graph.extents.empty();
  json["dim"] = lattice ? Json(graph.extents.size()) : Json(nullptr);
  json["extents"] = graph.extents;
  json["p"] = lattice ? Json(graph.p) : Json(nullptr);
  json["rule"] = graph.rule;
  if (!lattice) json["source"] = graph.source;
  json["seed"] = lattice ? Json(graph.seed) : Json(nullptr);
  json["sites"] = graph.sites;
  json["bonds"] = graph.bonds;
  json["modified"] = lattice ? Json(graph.modified) : Json(nullptr);
  json["rewired"] = lattice ? Json(graph.rewired()) : Json(nullptr);
  return json;
}

std::string rule_text(std::string_view name) {
  constexpr std::string_view kSuffix = "-any";
  if (!name.ends_with(kSuffix)) return std::string(name);
  name.remove_suffix(kSuffix.size());
  return fmt::format("{} with parity any", name);
}

std::string graph_title(const GraphRecord& graph) {
  if (graph.extents.empty()) {
    const std::uint64_t isolated = isolated_sites(graph);
    return fmt::format(
        "imported from {}{}", graph.source,
        isolated == 0 ? "" : fmt::format(", {} of {} sites isolated", isolated, graph.sites));
  }
  return fmt::format("{}D {}, p = {}, {}, graph seed {}{}", graph.extents.size(),
                     extents_text(graph.extents), number_text(graph.p), rule_text(graph.rule),
                     graph.seed, graph.bare ? ", without its shortcuts" : "");
}

}  // namespace rewise
