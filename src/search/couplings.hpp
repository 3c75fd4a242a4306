// The couplings of a study: those of its shortcuts, and whether they frustrate the spins.
#pragma once

#include "analysis/scaling/tree_condition.hpp"
#include "src/settings/config.hpp"

namespace rewise {

// J of the shortcuts in units of the J of the lattice bonds. The antiferromagnet is first mapped to
// the ferromagnet by a gauge transformation. Ignores random J of lattice bonds.
ShortcutCouplings shortcut_couplings(const StudyConfig& config);
bool some_negative(const ShortcutCouplings& couplings);
// Whether the spins may be unable to satisfy all bonds and fields. False for ferromagnets and for
// models that a gauge transformation maps to one.
bool is_frustrated(const StudyConfig& config);

}  // namespace rewise
