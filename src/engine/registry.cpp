#include "src/engine/registry.hpp"

#include <algorithm>
#include <array>

#include "src/base/words.hpp"

namespace rewise {
namespace {

using enum Update;

constexpr std::array kUpdateNames{std::string_view("metropolis"), std::string_view("glauber"),
                                  std::string_view("wolff"), std::string_view("swendsen-wang"),
                                  std::string_view("few-cluster")};

constexpr std::array kOfBundle{metropolis, glauber, wolff, swendsen_wang};
constexpr std::array kOfSingle{metropolis, glauber, wolff, swendsen_wang, few_cluster};
constexpr std::array kOfPacked{metropolis, glauber};

// In the order of EngineKind.
constexpr std::array<EngineTraits, 3> kEngines{{
    {.kind = EngineKind::bundle,
     .name = "bundle",
     .updates = kOfBundle,
     .potts = false,
     .any_graph = true,
     .studies = true,
     .batches = true,
     .teams = false,
     .methods = false,
     .word = 32,
     .bytes_of_spin = 0.125},
    {.kind = EngineKind::single,
     .name = "single",
     .updates = kOfSingle,
     .potts = true,
     .any_graph = true,
     .studies = true,
     .batches = false,
     .teams = true,
     .methods = true,
     .word = 1,
     .bytes_of_spin = 1},
    {.kind = EngineKind::packed,
     .name = "packed",
     .updates = kOfPacked,
     .potts = false,
     .any_graph = false,
     .studies = false,
     .batches = false,
     .teams = true,
     .methods = false,
     .word = 1,
     .bytes_of_spin = 0.125},
}};

}  // namespace

std::span<const EngineTraits> engine_registry() { return kEngines; }

const EngineTraits& traits(EngineKind engine) { return kEngines[static_cast<std::size_t>(engine)]; }

std::string_view to_string(EngineKind engine) { return traits(engine).name; }

std::string_view to_string(Update update) { return kUpdateNames[static_cast<std::size_t>(update)]; }

EngineKind parse_engine(std::string_view word, std::string_view origin) {
  std::array<std::string_view, kEngines.size()> known;
  std::transform(kEngines.begin(), kEngines.end(), known.begin(),
                 [](const EngineTraits& engine) { return engine.name; });
  return static_cast<EngineKind>(parse_word(word, known, "engine", origin));
}

Update parse_update(std::string_view word, std::string_view origin) {
  return static_cast<Update>(parse_word(word, kUpdateNames, "update", origin));
}

// By their words.
Update as_update(LocalUpdate update) { return parse_update(to_string(update), "update"); }
Update as_update(ClusterUpdate update) { return parse_update(to_string(update), "update"); }

bool has(EngineKind engine, Update update) {
  const auto& own = traits(engine).updates;
  return std::find(own.begin(), own.end(), update) != own.end();
}

std::string engines_with(Update update) {
  std::string list;
  for (const EngineTraits& engine : kEngines) {
    if (!has(engine.kind, update)) continue;
    list += list.empty() ? "" : " or ";
    list += engine.name;
  }
  return list;
}

}  // namespace rewise
