#include "src/model/interactions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "src/base/error.hpp"
#include "src/base/whole_number.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

constexpr std::array<std::string_view, 5> kCouplings{"ferromagnet", "antiferromagnet", "pm",
                                                     "gaussian", "file"};
constexpr std::array<std::string_view, 3> kRandomFields{"none", "pm", "gaussian"};
constexpr std::array<std::string_view, 2> kOn{"all", "shortcuts"};
// Usual notations of pm.
constexpr std::array<std::string_view, 9> kPlusMinus{"+-J",     "+-1",     "+/-J", "+/-1",   "+-",
                                                     "\u00b1J", "\u00b11", "+-h",  "bimodal"};

class Words {
 public:
  Words(const std::map<std::string, std::string>& words,
        const std::map<std::string, std::string>& origin)
      : words_(words), origin_(origin) {}

  bool has(const char* key) const { return !word(key).empty(); }
  const std::string& origin(const char* key) const { return origin_.at(key); }

  template <class Known>
  std::size_t choice(const char* key, const Known& known, const char* what) const {
    if (!has(key)) return 0;
    const std::string text = word(key);
    if (std::ranges::find(kPlusMinus, text) != kPlusMinus.end() &&
        std::ranges::find(known, "pm") != known.end()) {
      throw Error(ExitCode::usage, fmt::format("{}: unknown {} '{}' (did you mean 'pm'? known: {})",
                                               origin(key), what, text, fmt::join(known, ", ")));
    }
    return parse_word(text, known, what, origin(key));
  }
  double number(const char* key, double standard, double least, double most) const {
    if (!has(key)) return standard;
    const std::string text = word(key);
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && stop == end && value >= least && value <= most) return value;
    throw Error(ExitCode::usage,
                fmt::format("{}: '{}' is not a number in {}..{}", origin(key), text, least, most));
  }
  std::uint32_t whole(const char* key) const {
    if (!has(key)) return 0;
    const auto value = whole_number(word(key));
    if (value && *value <= std::numeric_limits<std::uint32_t>::max()) {
      return static_cast<std::uint32_t>(*value);
    }
    throw Error(ExitCode::usage, fmt::format("{}: '{}' is not a whole number in 0..{}", origin(key),
                                             word(key), std::numeric_limits<std::uint32_t>::max()));
  }
  // Throws Error(usage) if a key is given without the key that it depends on.
  void needs(const char* key, bool fits, const char* what) const {
    if (!has(key) || fits) return;
    throw Error(ExitCode::usage, fmt::format("{}: requires {}", origin(key), what));
  }

 private:
  std::string word(const char* key) const {
    const auto found = words_.find(key);
    return found == words_.end() ? std::string() : found->second;
  }

  const std::map<std::string, std::string>&words_, &origin_;
};

}  // namespace

std::string_view to_string(CouplingKind kind) { return kCouplings[static_cast<std::size_t>(kind)]; }
std::string_view to_string(RandomField field) {
  return kRandomFields[static_cast<std::size_t>(field)];
}

std::map<std::string, std::string> Interactions::words() const {
  std::map<std::string, std::string> words;
  const Interactions standard;
  const auto add = [&](const char* key, const auto& value, const auto& usual) {
    if (value != usual) words[key] = fmt::format("{}", value);
  };
  add("couplings", to_string(couplings), to_string(standard.couplings));
  if (on_shortcuts) words["on"] = kOn[1];
  add("negative", negative_fraction, standard.negative_fraction);
  add("shortcut_strength", shortcut_strength, standard.shortcut_strength);
  add("coupling_seed", seed, standard.seed);
  add("field", field, standard.field);
  add("field_random", to_string(random_field), to_string(standard.random_field));
  add("field_width", field_width, standard.field_width);
  return words;
}

Interactions parse_interactions(const std::map<std::string, std::string>& given,
                                const std::map<std::string, std::string>& origin) {
  const Words words(given, origin);
  Interactions out;
  out.couplings = static_cast<CouplingKind>(words.choice("couplings", kCouplings, "couplings"));
  out.on_shortcuts = words.choice("on", kOn, "set of bonds") == 1;
  out.negative_fraction = words.number("negative", out.negative_fraction, 0, 1);
  out.shortcut_strength = words.number("shortcut_strength", out.shortcut_strength,
                                       -kMaxShortcutStrength, kMaxShortcutStrength);
  out.seed = words.whole("coupling_seed");
  out.field = words.number("field", out.field, -kMaxField, kMaxField);
  out.random_field =
      static_cast<RandomField>(words.choice("field_random", kRandomFields, "random field"));
  out.field_width = words.number("field_width", out.field_width, 0, kMaxFieldWidth);

  const bool random = out.random_field != RandomField::none;
  words.needs("negative", out.couplings == CouplingKind::plus_minus, "couplings = \"pm\"");
  words.needs("field_width", random, "field_random = \"pm\" or \"gaussian\"");
  words.needs("coupling_seed",
              random || out.couplings == CouplingKind::plus_minus ||
                  out.couplings == CouplingKind::gaussian,
              "random couplings or a random field");
  const bool from_file = out.couplings == CouplingKind::file;
  if (from_file && (words.has("on") || words.has("shortcut_strength"))) {
    const char* key = words.has("on") ? "on" : "shortcut_strength";
    throw Error(ExitCode::usage,
                fmt::format("{}: cannot be combined with couplings = \"file\", which already "
                            "gives every coupling",
                            words.origin(key)));
  }
  return out;
}

}  // namespace rewise
