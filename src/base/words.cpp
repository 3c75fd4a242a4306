#include "src/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 2, 2) + 1;
  for (const auto candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::size_t parse_word(std::string_view word, std::span<const std::string_view> known,
                       std::string_view what, std::string_view origin) {
  const auto found = std::find(known.begin(), known.end(), word);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  const auto nearest = nearest_word(word, known);
  const std::string hint = nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest);
  throw Error(ExitCode::usage, fmt::format("{}: unknown {} '{}' ({}known: {})", origin, what, word,
                                           hint, fmt::join(known, ", ")));
}

}  // namespace rewise
