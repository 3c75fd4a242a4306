#include "experiments/console/engine_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "src/base/error.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

// Nothing for "auto".
template <class Word, std::size_t N>
std::optional<Word> word_or_auto(const std::string& text, const std::array<Word, N>& all,
                                 std::string_view what, const std::string& origin) {
  std::array<std::string_view, N + 1> known{"auto"};
  std::transform(all.begin(), all.end(), known.begin() + 1, [](Word w) { return to_string(w); });
  const std::size_t found = parse_word(text, known, what, origin);
  if (found == 0) return std::nullopt;
  return all[found - 1];
}

void check_engine_word(const std::string& engine, const std::string& origin, bool packed,
                       bool automatic) {
  if (engine == "packed" && !packed) {
    throw Error(ExitCode::usage, fmt::format("{}: the packed engine is one of 'rewise run' and "
                                             "'rewise bench' (bundle or single here)",
                                             origin));
  }
  constexpr std::array<std::string_view, 4> words{"auto", "bundle", "single", "packed"};
  parse_word(engine, std::span(words).subspan(automatic ? 0 : 1, 2u + automatic + packed), "engine",
             origin);
}

}  // namespace

Rule choose_rule(const std::string& text, const std::string& origin) {
  constexpr std::array rules{Rule::rewire, Rule::swap, Rule::add};
  std::array<std::string_view, rules.size()> known;
  std::transform(rules.begin(), rules.end(), known.begin(), [](Rule r) { return to_string(r); });
  return rules[parse_word(text, known, "rule", origin)];
}

std::optional<Schedule> schedule_or_auto(const std::string& text, const std::string& origin) {
  if (text == "auto") return std::nullopt;
  try {
    return parse_schedule(text, origin);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}; auto is allowed, too", error.what()));
  }
}

std::optional<ClusterUpdate> cluster_or_auto(const std::string& text, const std::string& origin) {
  constexpr std::array all{ClusterUpdate::wolff, ClusterUpdate::swendsen_wang,
                           ClusterUpdate::few_cluster};
  return word_or_auto(text, all, "cluster update", origin);
}

void check_extents(const std::vector<std::uint32_t>& extents, const std::string& origin) {
  try {
    Lattice::make(extents);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", origin, error.what()));
  }
}

std::optional<ClusterUpdate> choose_cluster(const std::string& text,
                                            const std::optional<Schedule>& schedule,
                                            const std::string& origin) {
  if (text.empty()) return schedule ? std::optional(ClusterUpdate::wolff) : std::nullopt;
  const auto cluster = cluster_or_auto(text, origin);
  if (cluster || !schedule) return cluster;
  throw Error(ExitCode::usage,
              fmt::format("{}: auto is weighed together with a schedule auto, not {} (wolff, "
                          "swendsen-wang or few-cluster there)",
                          origin, to_string(*schedule)));
}

LocalUpdate choose_local_update(const std::string& text, int dim, const std::string& origin) {
  constexpr std::array all{LocalUpdate::metropolis, LocalUpdate::glauber};
  return word_or_auto(text, all, "local update", origin)
      .value_or(dim == 1 ? LocalUpdate::glauber : LocalUpdate::metropolis);
}

void check_engine_name(const std::string& engine, const std::string& origin, bool packed) {
  check_engine_word(engine, origin, packed, false);
}

std::string choose_engine(const std::string& text, ModelKind model, ClusterUpdate cluster,
                          const std::string& origin, bool packed) {
  const bool potts = model == ModelKind::potts, few = cluster == ClusterUpdate::few_cluster;
  if (text == "auto") return potts || few ? "single" : "bundle";
  check_engine_word(text, origin, packed, true);
  if (text == "bundle" && potts) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: the bundle engine is for Ising only (single takes potts)", origin));
  }
  if (text == "bundle" && few) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: the bundle engine has no few-cluster updates (single has)", origin));
  }
  return text;
}

void check_states(ModelKind model, std::uint64_t q, const std::string& origin) {
  if (model == ModelKind::potts || q == 2) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {} states are for model potts (ising has 2)", origin, q));
}

void check_replicas(const std::string& engine, std::uint64_t replicas, const std::string& origin) {
  if (engine != "bundle" || (replicas > 0 && replicas % 32 == 0)) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {} replicas do not fill bundles of 32 (the next number that does is "
                          "{})",
                          origin, replicas, replicas / 32 * 32 + 32));
}

}  // namespace rewise
