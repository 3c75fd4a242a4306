#include "src/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Optimal string alignment: rows i - 2, i - 1 and i of the usual table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// Ignores case. A word that begins with the typed letters also counts as close if it is the only
// one. A single letter is close only to itself: "T" is not a misspelt "p".
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  const std::string typed = lower_case(word);
  std::string_view best, beginning;
  std::size_t best_distance = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  bool ambiguous = false;
  for (const auto candidate : known) {
    const std::string other = lower_case(candidate);
    if (typed == other) return candidate;
    if (typed.size() < 2 || other.size() < 2) continue;
    if (other.starts_with(typed)) {
      ambiguous = !beginning.empty();
      beginning = candidate;
    }
    const std::size_t distance = edit_distance(typed, other);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best.empty() && !ambiguous ? beginning : best;
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
