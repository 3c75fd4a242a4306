// The grid of a study from its configuration: lattices, p, rules and temperatures.
#pragma once

#include "src/settings/config.hpp"
#include "src/settings/toml_reader.hpp"

namespace rewise {

// Reads dim, sizes, graphs (`graphs` per size unless given), most_graphs, more_sizes, p and rule,
// all in the order of StudyConfig. Throws Error(usage).
void read_lattice(const TomlSection& section, std::uint32_t graphs, StudyConfig& config);

// Throws Error(usage).
void read_temperatures(const TomlSection& section, StudyConfig& config);

}  // namespace rewise
