#include "src/label/method.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "src/base/error.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

// In the order of LabelMethod: name, whole, ranks.
constexpr std::array<LabelTraits, kLabelMethods> kMethods{{
    {"fast", true, true},
    {"label-equivalence", true, false},
    {"kalentev", true, true},
    {"bfs+relax", false, false},
    {"bfs+sew", false, false},
    {"union-find+relax", false, false},
    {"union-find+sew", false, false},
    {"self-label+relax", false, false},
    {"self-label+sew", false, false},
}};

}  // namespace

const LabelTraits& traits(LabelMethod method) { return kMethods[static_cast<std::size_t>(method)]; }

LabelMethod parse_label_method(std::string_view word, std::string_view origin) {
  if (word.empty() || word == "union-find") return LabelMethod::fast;
  std::array<std::string_view, kLabelMethods> known;
  std::transform(kMethods.begin(), kMethods.end(), known.begin(),
                 [](const LabelTraits& method) { return method.name; });
  return static_cast<LabelMethod>(parse_word(word, known, "labelling method", origin));
}

std::string label_methods(bool LabelTraits::*trait, std::string_view between) {
  std::vector<std::string_view> names;
  for (const LabelTraits& method : kMethods) {
    if (method.*trait) names.push_back(method.name);
  }
  return fmt::format("{}", fmt::join(names, between));
}

std::string label_method_help() {
  return fmt::format(
      "{}, or TILE+MERGE:\nbfs, union-find or self-label, then relax or sew, such as\nbfs+sew",
      label_methods(&LabelTraits::whole));
}

std::uint32_t tile_edge(LabelMethod method, int dim, std::uint32_t edge, std::string_view origin) {
  if (edge == 0) return dim <= 2 ? 16 : dim == 3 ? 8 : 4;
  if (!is_tiled(method)) {
    throw Error(ExitCode::usage,
                fmt::format("{}: labelling method '{}' does not use tiles (TILE+MERGE "
                            "methods do, such as self-label+sew)",
                            origin, to_string(method)));
  }
  if (edge < kMinTile || edge > kMaxTile) {
    throw Error(ExitCode::usage, fmt::format("{}: tile edge {} is out of range ({}..{})", origin,
                                             edge, kMinTile, kMaxTile));
  }
  return edge;
}

}  // namespace rewise
