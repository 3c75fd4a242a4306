// Names of version 0.1 that study files and options still accept. They are replaced where a file or
// an option is read, so all other code has the present names only. (Task files keep the engine
// names of that version: EngineTraits::stored_name.)
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/settings/schema.hpp"

namespace rewise {

// A key that was in another table or had another name.
struct OldKey {
  std::string_view table, key;          // then
  std::string_view new_table, new_key;  // now

  std::string name() const { return std::string(table) + "." + std::string(key); }
};
std::span<const OldKey> old_keys();  // parse_study_toml() replaces them (toml_reader.hpp)
// The earlier name of a key; nullptr if it has none.
const OldKey* old_key_of(const Setting& setting);

// Replaces the names of engines (bundle, single, packed) and prints a note to standard error;
// returns any other text unchanged.
std::string engine_name_now(const std::string& text, const std::string& origin);

}  // namespace rewise
