// Labelling by union-find over runs (runs-inl.hpp): method `fast` on the CPU.
#pragma once

#include <span>

#include "src/label/configuration.hpp"
#include "src/label/run_table.hpp"

namespace rewise {

// `runs` is work space for the configuration's lattice.
void label_by_runs(const BondConfiguration& configuration, RunTable& runs, std::span<Site> label);

}  // namespace rewise
