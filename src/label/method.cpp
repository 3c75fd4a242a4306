#include "src/label/method.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "src/base/error.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

constexpr std::array<std::string_view, kLabelMethods> kMethods{
    "fast",           "label-equivalence", "kalentev",
    "bfs+relax",      "bfs+sew",           "union-find+relax",
    "union-find+sew", "self-label+relax",  "self-label+sew"};

}  // namespace

std::string_view to_string(LabelMethod method) {
  return kMethods[static_cast<std::size_t>(method)];
}

LabelMethod parse_label_method(std::string_view word, std::string_view origin) {
  if (word.empty() || word == "union-find") return LabelMethod::fast;
  return static_cast<LabelMethod>(parse_word(word, kMethods, "labelling method", origin));
}

std::string label_methods() { return fmt::format("{}", fmt::join(kMethods, ", ")); }

std::uint32_t tile_edge(LabelMethod method, int dim, std::uint32_t asked, std::string_view origin) {
  if (asked == 0) return dim <= 2 ? 16 : dim == 3 ? 8 : 4;
  if (!is_tiled(method)) {
    throw Error(ExitCode::usage, fmt::format("{}: labelling method '{}' has no tiles (TILE+MERGE "
                                             "methods have, such as self-label+sew)",
                                             origin, to_string(method)));
  }
  if (asked < kLeastTile || asked > kMostTile) {
    throw Error(ExitCode::usage, fmt::format("{}: tile edge {} is out of range ({}..{})", origin,
                                             asked, kLeastTile, kMostTile));
  }
  return asked;
}

}  // namespace rewise
