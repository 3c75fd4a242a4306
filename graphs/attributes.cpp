#include "graphs/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/setting_name.hpp"

namespace rewise {
namespace {

constexpr std::size_t kMaxFound = 64;  // stored attributes
constexpr std::size_t kMaxListed = 8;  // attributes listed with their values in an error
constexpr std::size_t kMaxName = 256;  // longest name that --ignore accepts

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

// Whether a name denotes a coupling, and the sign that the truth value "true" stands for.
enum class Coupling { no, ferromagnetic, antiferromagnetic };

Coupling coupling_of(std::string_view word) {
  constexpr std::array<std::string_view, 5> minus_words{"af", "afm", "anti", "neg", "minus"};
  constexpr std::array<std::string_view, 4> minus_parts{"antiferro", "negative", "repulsive",
                                                        "inhibit"};
  if (is_one_of(word, minus_words) || holds_one_of(word, minus_parts))
    return Coupling::antiferromagnetic;
  constexpr std::array<std::string_view, 12> words{
      "w", "j", "jij", "k", "strength", "sign", "signs", "signij", "signed", "signum", "sgn", "fm"};
  constexpr std::array<std::string_view, 9> parts{"weight",   "coupling", "interaction",
                                                  "exchange", "ferro",    "polarity",
                                                  "edgesign", "bondsign", "linksign"};
  return is_one_of(word, words) || holds_one_of(word, parts) ? Coupling::ferromagnetic
                                                             : Coupling::no;
}

bool is_field(std::string_view word) {
  constexpr std::array<std::string_view, 3> words{"h", "hi", "b"};
  constexpr std::array<std::string_view, 2> parts{"field", "bias"};
  return is_one_of(word, words) || holds_one_of(word, parts);
}

// Names of identities, positions and drawing properties, which are no part of the model.
bool is_harmless(std::string_view word) {
  constexpr std::array<std::string_view, 26> words{
      "id",       "nodeid",      "edgeid", "key",   "label", "nodelabel", "edgelabel",
      "name",     "description", "url",    "index", "bond",  "colour",    "color",
      "x",        "y",           "z",      "pos",   "lat",   "lon",       "long",
      "latitude", "longitude",   "size",   "width", "layer"};
  return is_one_of(word, words);
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Removes quotes, or the name of a type and its parentheses, around a number.
std::string_view plain_number(std::string_view text) {
  for (text = trimmed(text); text.size() > 1; text = trimmed(text)) {
    const std::size_t open = text.find('(');
    const bool typed = open != std::string_view::npos && text.back() == ')' &&
                       (open == 0 || is_number_type(text.substr(0, open)));
    const bool quoted = text.back() == text.front() && (text[0] == '"' || text[0] == '\'');
    if (!typed && !quoted) break;
    text.remove_prefix(typed ? open + 1 : 1);
    text.remove_suffix(1);
  }
  return text;
}

bool is_truth_value(std::string_view text) {
  const std::string word = plain(text.substr(text.rfind('.') + 1));  // np.True_
  return word == "true" || word == "false";
}

// A number, or a list of numbers: "1, -1", "[1 2]", "array([1., 2.])".
bool holds_numbers(std::string_view text) {
  if (is_truth_value(text)) return false;
  if (number_in(text)) return true;
  constexpr std::string_view kBetween = " \t\r\n,;()[]";
  if (text.ends_with(')') || text.ends_with(']')) {
    const auto is_letter = [](char c) {
      return is_word(c) && !std::isdigit(static_cast<unsigned char>(c));
    };
    while (!text.empty() && is_letter(text.front())) text.remove_prefix(1);
  }
  bool any = false;
  for (std::size_t at = 0; (at = text.find_first_not_of(kBetween, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    if (!number_in(text.substr(at, end - at))) return false;
    any = true;
    at = end;
  }
  return any;
}

// In lower case, without quotes.
std::string lower_case(std::string_view text) {
  std::string letters(plain_number(text));
  for (char& c : letters) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

// Words for the sign of a coupling.
bool is_word_for_minus(std::string_view text) {
  constexpr std::array<std::string_view, 12> words{"-",
                                                   "\xE2\x88\x92" /* U+2212 */,
                                                   "\xE2\x80\x93" /* U+2013 */,
                                                   "-j",
                                                   "af",
                                                   "afm",
                                                   "anti",
                                                   "neg",
                                                   "negative",
                                                   "minus",
                                                   "repulsive",
                                                   "inhibitory"};
  const std::string word = lower_case(text);
  return is_one_of(word, words) || plain(word).starts_with("antiferro");
}

bool is_word_for_plus(std::string_view text) {
  constexpr std::array<std::string_view, 8> words{"+",    "+j", "pos", "positive",
                                                  "plus", "fm", "yes", "attractive"};
  const std::string word = lower_case(text);
  return is_one_of(word, words) || word.starts_with("ferro");
}

// The coupling J given by the value of an attribute whose name denotes couplings.
std::optional<double> coupling_in(Coupling coupling, std::string_view value) {
  const std::optional<double> number = number_in(value);
  if (coupling == Coupling::antiferromagnetic) {
    if (number == 0.0 || lower_case(value) == "no") return 1;
    if (number == 1.0 || lower_case(value) == "yes") return -1;
    return std::nullopt;
  }
  if (!number && is_word_for_plus(value)) return 1;
  if (!number && is_word_for_minus(value)) return -1;
  // A truth value states that a coupling exists, not its value: "false" is not a number.
  if (number == 0.0 && is_truth_value(plain_number(value))) return std::nullopt;
  return number;
}

// Quotes a name as an argument of --ignore on a command line.
std::string as_argument(const std::string& text) {
  const bool simple = std::all_of(text.begin(), text.end(), [](char c) {
    return is_word(c) || c == '-' || c == ',' || static_cast<unsigned char>(c) >= 0x80;
  });
  return simple ? text : fmt::format("'{}'", text);
}

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::size_t end = std::min(most, text.size());
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  std::string result(text.substr(0, end));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  }
  return end < text.size() ? result + ".." : result;
}

std::optional<double> number_in(std::string_view given) {
  given = plain_number(given);
  if (is_truth_value(given)) return plain(given).ends_with("true") ? 1 : 0;
  std::string text(given);
  constexpr std::string_view kMinus = "\xE2\x88\x92";  // U+2212
  if (text.starts_with(kMinus)) text.replace(0, kMinus.size(), "-");
  if (text.starts_with('+')) text.erase(0, 1);
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  std::chars_format format = std::chars_format::general;
  if (text.substr(sign, 2) == "0x" || text.substr(sign, 2) == "0X") {
    format = std::chars_format::hex;
    text.erase(sign, 2);
  } else if (const auto at = text.find_first_of("dD"); at != std::string::npos) {
    text[at] = 'e';  // Fortran's exponent
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (stop != text.data() + text.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  return error == std::errc{} ? value : std::numeric_limits<double>::quiet_NaN();  // 1e999
}

bool is_number_type(std::string_view type) {
  constexpr std::array<std::string_view, 8> kTypes{"int",   "uint", "float",   "double",
                                                   "short", "long", "decimal", "bool"};
  const std::size_t prefix = type.find_last_of(".:");  // "np.", "xs:"
  const std::string word = plain(type.substr(prefix == std::string_view::npos ? 0 : prefix + 1));
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](std::string_view known) { return word.starts_with(known); });
}

bool fits_number_type(std::string_view value) {
  return number_in(value).has_value() || holds_numbers(value);
}

void Attributes::add_name(std::string_view name) {
  if (ignored_.empty() || names_.size() >= kMaxFound) return;
  if (names_.find(name) == names_.end()) names_.emplace(name);
}

bool Attributes::is_ignored(std::string_view name) const {
  return std::find(ignored_.begin(), ignored_.end(), name) != ignored_.end();
}

namespace {

// Whether it is the name of a coupling of edges or a field of nodes.
bool is_value_word(std::string_view owner, std::string_view word, Coupling coupling) {
  if (owner == "edge") return coupling != Coupling::no;
  // A node attribute "b" may be the blue component of its colour.
  return owner == "node" && coupling == Coupling::no && word != "b" && is_field(word);
}

}  // namespace

bool Attributes::is_coupling_or_field(std::string_view owner, std::string_view name) {
  const std::string word = plain(name);
  return is_value_word(owner, word, coupling_of(word));
}

Meaning Attributes::see(std::string_view owner, std::string_view name, std::string_view value,
                        std::uint64_t line) {
  add_name(name);
  if (is_ignored(name)) return {};
  const std::string word = plain(name);
  const Coupling coupling = coupling_of(word);
  const bool is_value = is_value_word(owner, word, coupling);
  Fault fault = Fault::unknown;
  bool harmless = false;
  if (coupling != Coupling::no || is_field(word)) {
    const bool is_coupling = coupling != Coupling::no;
    const std::optional<double> number =
        is_coupling ? coupling_in(coupling, value) : number_in(value);
    harmless = number == (is_coupling ? 1.0 : 0.0);
    if (is_value) {
      const std::optional<std::int32_t> fixed = number ? to_fixed(*number) : std::nullopt;
      if (fixed && (accepts_couplings_ || harmless)) {
        (is_coupling ? couplings_ : fields_).add(*number, *fixed);
        return {is_coupling ? Meaning::coupling : Meaning::field, *fixed};
      }
      fault = fixed ? Fault::coupling_not_accepted : Fault::not_a_coupling;
    }
  } else if (owner == "edge" &&
             (is_word_for_minus(value) || (word.ends_with("label") && number_in(value) == -1.0))) {
    harmless = false;
  } else {
    harmless = is_harmless(word) || !holds_numbers(value);
  }
  if (harmless || found_.size() >= kMaxFound) return {};
  found_.try_emplace(
      fmt::format("{} attribute \"{}\"", owner, shown(name)),
      Found{shown(name, kMaxName), value.empty() ? "no value" : shown(value), line, fault});
  return {};
}

void Attributes::reject_unknown(const std::string& file, bool all_ignored_exist) const {
  couplings_.check(fmt::format("{}: all couplings", file));
  fields_.check(fmt::format("{}: all fields", file));
  if (found_.empty()) {
    if (all_ignored_exist) check_ignored(file);
    return;
  }
  std::string list, names;
  std::size_t count = 0;
  bool not_taken = false, not_couplings = false, unknown = false;
  for (const auto& [title, first] : found_) {
    if (count++ < kMaxListed) {
      const std::string place = first.line > 0 ? fmt::format(" in line {}", first.line) : "";
      list += fmt::format("{}{} ({}{})", count > 1 ? ", " : "", title, first.value, place);
    }
    names += (count > 1 ? "," : "") + first.name;
    not_taken = not_taken || first.fault == Fault::coupling_not_accepted;
    not_couplings = not_couplings || first.fault == Fault::not_a_coupling;
    unknown = unknown || first.fault == Fault::unknown;
  }
  if (count > kMaxListed) list += ", ..";
  std::string why;
  if (not_couplings) {
    why = fmt::format(
        "couplings and fields must be 0 or from {} to {} in absolute value (couplings also words "
        "such as positive, negative); ",
        kMinCoupling, kMaxCoupling);
  } else if (not_taken) {
    why = read_couplings_setting() + (unknown ? ", and the other attributes are unknown; " : "; ");
  } else {
    why =
        "unknown attribute (known: couplings of bonds, such as weight or J, and fields of sites, "
        "such as h); ";
  }
  throw Error(ExitCode::data,
              fmt::format("{}: {}: {}{} skips attributes that are not part of the model", file,
                          list, why, setting_value("ignore", as_argument(names))));
}

void Attributes::check_ignored(const std::string& file) const {
  if (names_.size() >= kMaxFound) return;  // the list of names is incomplete
  std::string list;
  for (const std::string& name : names_)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", shown(name));
  for (const std::string& name : ignored_) {
    if (names_.find(name) != names_.end()) continue;
    throw Error(ExitCode::usage,
                fmt::format("{}: {}: the file has no such attribute ({})", file,
                            setting_value("ignore", as_argument(shown(name))),
                            list.empty() ? "it has no attributes" : "it has " + list));
  }
}

}  // namespace rewise
