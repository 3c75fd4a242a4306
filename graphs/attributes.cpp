#include "graphs/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr std::size_t kMostFound = 8;   // that an error lists
constexpr std::size_t kMostShown = 40;  // characters of a name or a value

std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <std::size_t n>
bool holds_one_of(std::string_view word, const std::array<std::string_view, n>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return word.find(part) != std::string_view::npos;
  });
}

bool is_coupling(std::string_view word) {
  constexpr std::array<std::string_view, 5> words{"w", "j", "jij", "k", "strength"};
  constexpr std::array<std::string_view, 4> parts{"weight", "coupling", "interaction", "exchange"};
  return is_one_of(word, words) || holds_one_of(word, parts);
}

bool is_field(std::string_view word) {
  constexpr std::array<std::string_view, 3> words{"h", "hi", "b"};
  constexpr std::array<std::string_view, 2> parts{"field", "bias"};
  return is_one_of(word, words) || holds_one_of(word, parts);
}

// Where and what a site or a bond is, and how it is drawn.
bool is_harmless(std::string_view word) {
  constexpr std::array<std::string_view, 20> words{
      "id", "key", "label", "name", "index", "bond",     "colour",    "color", "x",     "y",
      "z",  "pos", "lat",   "lon",  "long",  "latitude", "longitude", "size",  "width", "layer"};
  return is_one_of(word, words);
}

// In one line of an error.
std::string shown(std::string_view text) {
  std::string result(text.substr(0, kMostShown));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  }
  return text.size() > kMostShown ? result + ".." : result;
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

void Attributes::see(std::string_view owner, std::string_view name, std::string_view value,
                     ValueKind kind, std::uint64_t line) {
  const std::string word = plain(name);
  const std::optional<double> number = number_in(value);
  bool harmless = is_harmless(word);
  if (is_coupling(word)) {
    harmless = number == 1.0;
  } else if (is_field(word)) {
    harmless = number == 0.0;
  } else if (kind == ValueKind::text || (kind == ValueKind::unknown && !number)) {
    harmless = true;
  }
  if (harmless || found_.size() > kMostFound) return;
  found_.try_emplace(fmt::format("{} attribute \"{}\"", owner, shown(name)),
                     Found{shown(value), line});
}

void Attributes::refuse(const std::string& file) const {
  if (found_.empty()) return;
  std::string list;
  std::size_t count = 0;
  for (const auto& [name, first] : found_) {
    if (count == kMostFound) {
      list += ", ..";
      break;
    }
    list +=
        fmt::format("{}{} ({} in line {})", count++ > 0 ? ", " : "", name, first.value, first.line);
  }
  throw Error(ExitCode::data,
              fmt::format("{}: {}: bonds are all alike here (J = 1) and no site has a field; write "
                          "the graph without what is to be left out",
                          file, list));
}

}  // namespace rewise
