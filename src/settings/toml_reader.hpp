// Reads a TOML file into checked values. Every error is one line with file, line, column and key.
// An unknown key is an error that suggests the nearest known one. Only sources that read
// configurations include toml++.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// In debug builds, an assertion of toml++ may fail on invalid text ("[#") before toml++ reports the
// error. Users should see the report.
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include "src/settings/unknown_names.hpp"

namespace rewise {

// One table of the file.
class TomlSection {
 public:
  // Throws Error(usage) for a key that is not in `known`. `path`: "sampling", or "" for the root.
  // `others`: tables of a study file; if one of them has the key, the error names it.
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

  // Readers return `otherwise` if the key is missing. Errors list what is allowed.
  std::string text(std::string_view key, std::string_view otherwise) const;
  std::uint64_t whole(std::string_view key, std::uint64_t least, std::uint64_t most,
                      std::uint64_t otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  double number(std::string_view key, double least, double most, double otherwise) const;
  // The same for keys of a study; schema.hpp defines their ranges and the default of a text.
  std::string text(std::string_view key) const;
  std::uint64_t whole(std::string_view key, std::uint64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  // Returns nullopt for "auto" or a missing key.
  std::optional<std::uint64_t> whole_or_auto(std::string_view key) const;

  // The same for one value in a list.
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

// Parses TOML. Throws Error(usage) with file:line:column for invalid text.
toml::table parse_toml(std::string_view text, const std::string& file);
// The same for the file of a study, with keys of earlier versions at their present places
// (old_names.hpp). `note`: prints a note on each. Throws Error(usage) if a key has both names.
toml::table parse_study_toml(std::string_view text, const std::string& file, bool note);

// The first 200 bytes of a text for a message, with all but plain ASCII escaped: "x\xc3\xa9".
std::string printable(std::string_view text);

// "a whole number", "text", "a list", .. for messages.
std::string_view toml_type(const toml::node& node);

}  // namespace rewise
