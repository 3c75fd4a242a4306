#include "experiments/engine_choice.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "src/base/error.hpp"
#include "src/base/words.hpp"

namespace rewise {

void check_extents(const std::vector<std::uint32_t>& extents, const std::string& origin) {
  try {
    Lattice::make(extents);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", origin, error.what()));
  }
}

LocalUpdate choose_local_update(const std::string& text, int dim, const std::string& origin) {
  if (text != "auto") return parse_local_update(text, origin);
  return dim == 1 ? LocalUpdate::glauber : LocalUpdate::metropolis;
}

void check_engine_name(const std::string& engine, const std::string& origin, bool packed) {
  constexpr std::array<std::string_view, 3> engines{"bundle", "single", "packed"};
  if (parse_word(engine, engines, "engine", origin) == 2 && !packed) {
    throw Error(ExitCode::usage, fmt::format("{}: the packed engine is one of 'rewise run' and "
                                             "'rewise bench' (bundle or single here)",
                                             origin));
  }
}

std::string choose_engine(const std::string& text, ModelKind model, ClusterUpdate cluster,
                          const std::string& origin, bool packed) {
  const bool potts = model == ModelKind::potts, few = cluster == ClusterUpdate::few_cluster;
  if (text == "auto") return potts || few ? "single" : "bundle";
  check_engine_name(text, origin, packed);
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
