// The quantities in tables, files and plots, as `rewise help` explains them.
#pragma once

#include <span>
#include <string_view>

namespace rewise {

struct Symbol {
  std::string_view symbol;  // in tables
  std::string_view names;   // keys in JSON, CSV and HDF5, and other spellings, comma-separated
  std::string_view meaning;
  std::string_view definition;
  std::string_view unit;    // "1": a pure number
  std::string_view source;  // paper; "": a textbook definition
};

// J = k_B = 1. <.> is a thermal average, [.] an average over networks.
std::span<const Symbol> symbols();

// Whether a word is the symbol or one of its names.
bool is_called(const Symbol& symbol, std::string_view word);

}  // namespace rewise
