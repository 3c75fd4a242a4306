#include "src/settings/toml_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/error.hpp"
#include "src/base/utf8.hpp"
#include "src/settings/old_names.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"

namespace rewise {
namespace {

std::string place(const std::string& file, const toml::source_region& source) {
  return fmt::format("{}:{}:{}", file, source.begin.line, source.begin.column);
}

// Rejects text that toml++ 3.3 mishandles (found by fuzzing): before it reports an error, toml++
// may look up non-ASCII letters past the end of a table, and it destroys tables nested by dots
// recursively, which exhausts the stack at about 100 000 levels. Also rejects text that no study
// needs: control characters, multi-line quotes and text of unlimited length. Converts non-ASCII
// letters in double quotes to escapes, so that toml++ reads ASCII only (columns in its errors count
// the escapes).
class CharacterCheck {
 public:
  CharacterCheck(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  // Returns the text for toml++.
  std::string run() {
    if (text_.starts_with("\x89")) {  // the first byte of HDF5 files, sealed or not, and of PNG
      throw Error(ExitCode::usage, fmt::format("{}: a binary file, not a study in TOML ('rewise "
                                               "plot' draws results)",
                                               file_));
    }
    std::string ascii;
    std::size_t copied = 0;  // bytes of the text copied so far
    if (text_.size() > kMaxText) {
      throw Error(ExitCode::usage, fmt::format("{}: the file has {} bytes (at most {})", file_,
                                               text_.size(), kMaxText));
    }
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (text_[at_] == '\n') {
        if (quote_ != 0) fail("a quote that does not end on its line");
        comment_ = false;
        dots_ = 0;
        ++line_;
        line_begin_ = at_ + 1;
      } else if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7f) {
        fail(fmt::format("control character \\x{:02x}", byte));
      } else if (byte >= 0x80 && quote_ == '"') {
        std::size_t end = at_;
        const auto point = next_code_point(text_, end);
        if (!point) fail(fmt::format("the byte \\x{:02x}, which is not UTF-8", byte));
        ascii += text_.substr(copied, at_ - copied);
        ascii += fmt::format("\\U{:08X}", *point);
        copied = end;
        at_ = end - 1;
      } else if (byte >= 0x80 && !comment_) {
        fail("a character outside of ASCII (allowed only in comments and double quotes)");
      } else if (!comment_) {
        step(text_[at_]);
      }
    }
    ascii += text_.substr(std::min(copied, text_.size()));
    return ascii;
  }

 private:
  void step(char c) {
    if (quote_ == '"' && c == '\\') {
      ++at_;  // the escaped character
      if (at_ < text_.size() && text_[at_] == '\n') --at_;
    } else if (quote_ != 0) {
      if (c == quote_) quote_ = 0;
    } else if (c == '"' || c == '\'') {
      if (text_.substr(at_, 3) == std::string(3, c)) fail("quotes over several lines");
      quote_ = c;
    } else if (c == '#') {
      comment_ = true;
    } else {
      nest(c);
    }
  }

  // Counts open brackets, and dots within one key (numbers and dates have one each).
  void nest(char c) {
    if (c == '[' || c == '{') ++brackets_;
    if ((c == ']' || c == '}') && brackets_ > 0) --brackets_;
    if (c == '.') ++dots_;
    if (c == '=' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}') dots_ = 0;
    if (brackets_ > kMaxNested) fail(fmt::format("more than {} nested brackets", kMaxNested));
    if (dots_ > kMaxNested) fail(fmt::format("more than {} dots in a key", kMaxNested));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::usage, fmt::format("{}:{}:{}: unsupported TOML: {}", file_, line_,
                                             at_ - line_begin_ + 1, what));
  }

  static constexpr std::size_t kMaxText = std::size_t{1} << 22;  // bytes
  static constexpr int kMaxNested = 16;

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, line_ = 1, line_begin_ = 0;
  int brackets_ = 0, dots_ = 0;
  char quote_ = 0;
  bool comment_ = false;
};

// number_hint() of the first number in a line that is not TOML: "write 0.05 for 0,05"; "" if no
// number has a hint. In a list, a comma is a decimal comma only before a part such as 05.
std::string hint_in(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789", kParts = "0123456789.,%";
  std::string brackets;  // those that are open
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '#') return "";
    if (c == '"' || c == '\'') at = std::min(line.find(c, at + 1), line.size());
    if (c == '[' || c == '{') brackets += c;
    if ((c == ']' || c == '}') && !brackets.empty()) brackets.pop_back();
    if (kDigits.find(c) == std::string_view::npos) continue;
    const std::size_t end = std::min(line.find_first_not_of(kParts, at), line.size());
    const std::vector<std::string> parts = split_list(line.substr(at, end - at));
    at = end - 1;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      std::string hint = number_hint(parts[k]);  // a percentage
      const bool leading_zero = parts[k].size() > 1 && parts[k][0] == '0';
      if (k > 0 && (leading_zero || (!brackets.ends_with('[') && !parts[k].empty()))) {
        hint = number_hint(parts[k - 1] + "," + parts[k]);
      }
      if (!hint.empty()) return "; " + hint;
    }
  }
  return "";
}

}  // namespace

TomlSection::TomlSection(const toml::table& table, std::string path, std::string file,
                         const std::vector<std::string_view>& known,
                         const std::vector<KeyTable>& others)
    : table_(&table), path_(std::move(path)), file_(std::move(file)) {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    std::string advice = key_advice(key.str(), known, others);
    if (!advice.empty()) advice += advice.ends_with('?') ? " " : "; ";
    throw Error(ExitCode::usage,
                fmt::format("{}: unknown key '{}'{} ({}known: {})", place(file_, key.source()),
                            printable(key.str()), path_.empty() ? "" : " in [" + path_ + "]",
                            advice, fmt::join(known, ", ")));
  }
}

const toml::node& TomlSection::need(std::string_view key) const {
  if (const auto* node = find(key)) return *node;
  throw Error(ExitCode::usage, fmt::format("{}: key '{}' is missing in [{}]", file_, key, path_));
}

std::string TomlSection::origin(std::string_view key) const {
  const auto* node = find(key);
  if (node == nullptr) return fmt::format("{}: {}.{}", file_, path_, key);
  return origin(key, *node);
}

std::string TomlSection::origin(std::string_view key, const toml::node& node) const {
  return fmt::format("{}: {}.{}", place(file_, node.source()), path_, key);
}

void TomlSection::fail(std::string_view key, const toml::node& node,
                       const std::string& message) const {
  throw Error(ExitCode::usage, fmt::format("{}: {}", origin(key, node), message));
}

std::string TomlSection::text(std::string_view key, std::string_view otherwise) const {
  const auto* node = find(key);
  if (node == nullptr) return std::string(otherwise);
  const auto* value = node->as_string();
  if (value == nullptr) {
    const Setting* known = find_setting(path_, key);
    const bool quoted = known != nullptr && known->example.starts_with('"');
    fail(key, *node,
         fmt::format("{} where text is expected{}", toml_type(*node),
                     quoted ? fmt::format(" (in quotes, such as {})", known->example) : ""));
  }
  return printable(value->get());
}

bool TomlSection::flag(std::string_view key, bool otherwise) const {
  const auto* node = find(key);
  if (node == nullptr) return otherwise;
  const auto* value = node->as_boolean();
  if (value == nullptr) {
    fail(key, *node, fmt::format("{} where true or false is expected", toml_type(*node)));
  }
  return value->get();
}

std::uint64_t TomlSection::whole_at(std::string_view key, const toml::node& node,
                                    std::uint64_t least, std::uint64_t most) const {
  constexpr double exact = 9007199254740992;  // 2^53; not all whole numbers above it are doubles
  const auto* real = node.as_floating_point();
  if (node.as_integer() == nullptr && (real == nullptr || std::trunc(real->get()) != real->get() ||
                                       std::abs(real->get()) > exact)) {
    fail(key, node,
         fmt::format("{} where a whole number is expected",
                     real == nullptr ? std::string(toml_type(node)) : number_text(real->get())));
  }
  const std::int64_t number =
      real == nullptr ? node.as_integer()->get() : static_cast<std::int64_t>(real->get());
  if (number < 0 || static_cast<std::uint64_t>(number) < least ||
      static_cast<std::uint64_t>(number) > most) {
    fail(key, node, fmt::format("{} is out of range ({}..{})", number, least, most));
  }
  return static_cast<std::uint64_t>(number);
}

double TomlSection::number_at(std::string_view key, const toml::node& node, double least,
                              double most) const {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value) {
    const auto* word = node.as_string();
    const std::string hint = word == nullptr ? "" : number_hint(word->get());
    fail(key, node,
         fmt::format("{} where a number is expected{}{}", toml_type(node),
                     hint.empty() ? word == nullptr ? "" : " (without quotes, such as 0.1)" : "; ",
                     hint));
  }
  if (!std::isfinite(*value) || *value < least || *value > most) {
    const std::string range = std::isfinite(most) ? fmt::format("{}..{}", least, most)
                                                  : fmt::format("finite, at least {}", least);
    fail(key, node, fmt::format("{} is out of range ({})", *value, range));
  }
  return *value;
}

std::uint64_t TomlSection::whole(std::string_view key, std::uint64_t least, std::uint64_t most,
                                 std::uint64_t otherwise) const {
  const auto* node = find(key);
  return node == nullptr ? otherwise : whole_at(key, *node, least, most);
}

double TomlSection::number(std::string_view key, double least, double most,
                           double otherwise) const {
  const auto* node = find(key);
  return node == nullptr ? otherwise : number_at(key, *node, least, most);
}

namespace {

const Setting& described(const std::string& table, std::string_view key) {
  return setting(fmt::format("{}.{}", table, key));
}

}  // namespace

std::string TomlSection::text(std::string_view key) const {
  const std::string& quoted = described(path_, key).standard;
  return text(key, std::string_view(quoted).substr(1, quoted.size() - 2));
}

std::uint64_t TomlSection::whole(std::string_view key, std::uint64_t otherwise) const {
  const auto* node = find(key);
  return node == nullptr ? otherwise : whole_at(key, *node);
}

double TomlSection::number(std::string_view key, double otherwise) const {
  const auto* node = find(key);
  return node == nullptr ? otherwise : number_at(key, *node);
}

std::optional<std::uint64_t> TomlSection::whole_or_auto(std::string_view key) const {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* word = node->as_string()) {
    if (word->get() == "auto") return std::nullopt;
    const Setting& known = described(path_, key);
    fail(key, *node,
         fmt::format("'{}' (a whole number {}..{}, or \"auto\")", printable(word->get()),
                     known.min_integer, known.max_integer));
  }
  return whole_at(key, *node);
}

std::uint64_t TomlSection::whole_at(std::string_view key, const toml::node& node) const {
  const Setting& known = described(path_, key);
  return whole_at(key, node, known.min_integer, known.max_integer);
}

double TomlSection::number_at(std::string_view key, const toml::node& node) const {
  const Setting& known = described(path_, key);
  return number_at(key, node, known.lowest, known.highest);
}

toml::table parse_toml(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::string ascii = CharacterCheck(text, file).run();
  try {
    return toml::parse(ascii, file);
  } catch (const toml::parse_error& error) {
    const std::vector<std::string> lines = split_list(ascii, '\n');
    const std::size_t line = error.source().begin.line;  // the first line is 1
    throw Error(ExitCode::usage,
                fmt::format("{}: not TOML: {}{}", place(file, error.source()),
                            printable(error.description()),
                            line > 0 && line <= lines.size() ? hint_in(lines[line - 1]) : ""));
  }
}

toml::table parse_study_toml(std::string_view text, const std::string& file, bool note) {
  toml::table root = parse_toml(text, file);
  for (const OldKey& old : old_keys()) {
    toml::table* const before = root[old.table].as_table();
    toml::node* const value = before == nullptr ? nullptr : before->get(old.key);
    if (value == nullptr) continue;
    if (!root.contains(old.new_table)) root.insert(old.new_table, toml::table{});
    toml::table* const now = root[old.new_table].as_table();
    if (now == nullptr) continue;  // the reader of this table reports it
    const std::string moved =
        fmt::format("{}: {}: this key is now {} in [{}]", place(file, value->source()), old.name(),
                    old.new_key, old.new_table);
    if (now->contains(old.new_key)) {
      throw Error(ExitCode::usage, fmt::format("{}, which is also set", moved));
    }
    if (note) fmt::print(stderr, "rewise: {}\n", moved);
    now->insert(old.new_key, std::move(*value));  // keeps its position in the file
    before->erase(old.key);
  }
  return root;
}

// Escapes control characters in keys and values, because messages are one line, and non-ASCII
// characters, because truncation might split them.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view toml_type(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

}  // namespace rewise
