// The grid of a study from its configuration: lattices, p, rules and temperatures.
#pragma once

#include "src/study/config.hpp"
#include "src/study/toml_reader.hpp"

namespace rewise {

// dim, sizes, graphs (`graphs` of each size unless given), most_graphs, more_sizes, p and rule, all
// sorted as StudyConfig has them. Error(usage).
void read_lattice(const TomlSection& section, std::uint32_t graphs, StudyConfig& config);

// Error(usage).
void read_temperatures(const TomlSection& section, StudyConfig& config);

}  // namespace rewise
