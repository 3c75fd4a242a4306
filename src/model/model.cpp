#include "src/model/model.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "src/base/error.hpp"
#include "src/base/whole_number.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

constexpr std::array<std::string_view, 2> kModels{"ising", "potts"};
constexpr std::uint32_t kMaxStates = 255;

}  // namespace

void Model::check() const {
  if (q < 2 || q > kMaxStates || (q > 2 && !is_potts())) {
    throw Error(
        ExitCode::usage,
        fmt::format("q = {} is out of range (2..{} for potts, 2 for ising)", q, kMaxStates));
  }
}

double Model::acceptance(LocalUpdate rule, double beta, double fewer_equal) const {
  const double cost = beta * (bond_energy() * fewer_equal);
  if (rule == LocalUpdate::glauber) return 1.0 / (1.0 + std::exp(cost));
  return fewer_equal <= 0 ? 1.0 : std::exp(-cost);
}

std::uint64_t Model::heat_bath_weight(double beta, int fewer_equal) const {
  return static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::exp(-beta * fewer_equal), 40)));
}

double Model::bond_probability(double beta) const { return -std::expm1(-bond_energy() * beta); }

std::string to_string(const Model& model) {
  std::string text(to_string(model.kind));
  const char* before = " with ";
  const auto add = [&](const std::string& key, const std::string& word) {
    text += fmt::format("{}{} = {}", before, key, word);
    before = ", ";
  };
  if (model.is_potts()) add("q", fmt::format("{}", model.q));
  for (const auto& [key, word] : model.interactions.words()) add(key, word);
  return text;
}

std::string_view to_string(ModelKind kind) { return kModels[static_cast<std::size_t>(kind)]; }
std::string_view to_string(LocalUpdate update) {
  return kLocalUpdates[static_cast<std::size_t>(update)];
}

ModelTexts Model::words() const {
  ModelTexts words = interactions.words();
  words["name"] = to_string(kind);
  words["q"] = fmt::format("{}", q);
  return words;
}

Model parse_model(const ModelTexts& words, const ModelTexts& origin) {
  Model model;
  const auto word = [&](const char* key) {
    const auto found = words.find(key);
    return found == words.end() ? std::string() : found->second;
  };
  if (const std::string name = word("name"); !name.empty()) {
    model.kind = static_cast<ModelKind>(parse_word(name, kModels, "model", origin.at("name")));
  }
  model.interactions = parse_interactions(words, origin);
  if (model.is_potts() && model.interactions.has_field()) {
    const char* key = model.interactions.field != 0 ? "field" : "field_random";
    throw Error(ExitCode::usage,
                fmt::format("{}: the model potts has no fields (use ising)", origin.at(key)));
  }
  const std::string states = word("q");
  if (states.empty() && model.is_potts()) {
    throw Error(ExitCode::usage, fmt::format("{} is missing, which the model potts requires: the "
                                             "number of states (2..{})",
                                             origin.at("q"), kMaxStates));
  }
  if (states.empty()) return model;
  const auto q = whole_number(states);
  if (q && *q != 2 && !model.is_potts()) {
    throw Error(ExitCode::usage, fmt::format("{}: {} states require the model potts (ising has 2)",
                                             origin.at("q"), *q));
  }
  if (!q || *q < 2 || *q > kMaxStates) {
    throw Error(ExitCode::usage,
                fmt::format("{}: {} is out of range (2..{})", origin.at("q"), states, kMaxStates));
  }
  model.q = static_cast<std::uint32_t>(*q);
  return model;
}

LocalUpdate parse_local_update(std::string_view text, std::string_view origin) {
  return static_cast<LocalUpdate>(parse_word(text, kLocalUpdates, "local update", origin));
}

}  // namespace rewise
