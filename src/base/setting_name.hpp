// How messages name a setting to its user. Code that does not know who calls gives the key of the
// setting, such as "first_site", and the message has the option of the program. The Python package
// replaces options in messages by its arguments (analysis/rewise/errors.py); src/settings/ names
// settings in the words of the caller (setting_names.hpp).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace rewise {

// "--first-site"
inline std::string setting_name(std::string_view key) {
  std::string name = "--" + std::string(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// "--share-route auto"
inline std::string setting_value(std::string_view key, std::string_view value) {
  return setting_name(key) + " " + std::string(value);
}

}  // namespace rewise
