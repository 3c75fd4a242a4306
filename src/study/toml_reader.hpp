// Reads a TOML file into checked values. Every error is one line that names file, line, column and
// key. An unknown key is an error that suggests the nearest known one.
// Only the sources that read configurations include toml++.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// toml++ asserts in places that bad text reaches ("[#"), before it reports the error: the report is
// what users should see, in debug builds as well.
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include "src/study/unknown_names.hpp"

namespace rewise {

// One table of the file.
class TomlSection {
 public:
  // Error(usage) for a key that is not in `known`. `path` is "sampling", or "" for the root;
  // `others`: the tables of a study's file; the error names the one that has the key.
  TomlSection(const toml::table& table, std::string path, std::string file,
              const std::vector<std::string_view>& known, const std::vector<KeyTable>& others = {});

  bool has(std::string_view key) const { return table_->contains(key); }
  const toml::node* find(std::string_view key) const { return table_->get(key); }
  // Throws Error(usage) if the key is missing.
  const toml::node& need(std::string_view key) const;
  // "file:line:column: section.key"
  std::string origin(std::string_view key) const;
  std::string origin(std::string_view key, const toml::node& node) const;
  [[noreturn]] void fail(std::string_view key, const toml::node& node,
                         const std::string& message) const;

  // Readers: `otherwise` if the key is missing; errors name what is allowed.
  std::string text(std::string_view key, std::string_view otherwise) const;
  std::uint64_t whole(std::string_view key, std::uint64_t least, std::uint64_t most,
                      std::uint64_t otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  double number(std::string_view key, double least, double most, double otherwise) const;
  // The same for keys of a study: schema.hpp has their ranges, and the default of a text.
  std::string text(std::string_view key) const;
  std::uint64_t whole(std::string_view key, std::uint64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  // nullopt for the word "auto" or a missing key.
  std::optional<std::uint64_t> whole_or_auto(std::string_view key) const;

  // The same for one value inside a list.
  std::uint64_t whole_at(std::string_view key, const toml::node& node, std::uint64_t least,
                         std::uint64_t most) const;
  double number_at(std::string_view key, const toml::node& node, double least, double most) const;
  std::uint64_t whole_at(std::string_view key, const toml::node& node) const;
  double number_at(std::string_view key, const toml::node& node) const;

  const std::string& path() const { return path_; }
  const std::string& file() const { return file_; }

 private:
  const toml::table* table_;
  std::string path_, file_;
};

// Parses; Error(usage) with file:line:column for text that is not TOML.
toml::table parse_toml(std::string_view text, const std::string& file);

// At most 200 bytes of a text for a message; escapes all but plain ASCII: "x\xc3\xa9".
std::string printable(std::string_view text);

// "integer", "text", "list", .. for messages.
std::string_view toml_type(const toml::node& node);

}  // namespace rewise
