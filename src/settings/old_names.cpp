#include "src/settings/old_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/engine/registry.hpp"

namespace rewise {

std::span<const OldKey> old_keys() {
  static constexpr OldKey keys[] = {{"sampling", "model", "model", "name"},
                                    {"sampling", "q", "model", "q"}};
  return keys;
}

const OldKey* old_key_of(const Setting& setting) {
  const auto found = std::ranges::find_if(old_keys(), [&](const OldKey& old) {
    return old.new_table == setting.table && old.new_key == setting.key;
  });
  return found == old_keys().end() ? nullptr : &*found;
}

std::string engine_name_now(const std::string& text, const std::string& origin) {
  for (const EngineTraits& engine : engine_registry()) {
    if (text != engine.stored_name) continue;
    fmt::print(stderr, "rewise: {}: the engine '{}' has been renamed to '{}'\n", origin, text,
               engine.name);
    return std::string(engine.name);
  }
  return text;
}

}  // namespace rewise
