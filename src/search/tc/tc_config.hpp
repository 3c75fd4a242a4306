// Which methods `tc` uses for a configuration, and the checks that their settings must pass.
#pragma once

#include <string>

#include "src/settings/config.hpp"

namespace rewise {

// Whether `tc` uses crossings of overlaps (glass_criterion.hpp): for models with couplings, if the
// configuration requests it or the tree condition does not apply.
bool by_glass_crossings(const StudyConfig& config);

// The method of the configuration. The default is both methods if the target error is so small that
// the tree condition costs little compared with the crossings; otherwise crossings.
TcMethod tc_method(const StudyConfig& config);

// The configuration of `tc`, with one schedule and cluster update per p. With couplings, its method
// is the tree condition, unless it uses crossings of overlaps. Throws Error(usage), with the name
// of the file, if its method does not support a setting, or if a key is for `sweep` only.
StudyConfig tc_config(const StudyConfig& config, const std::string& file);

}  // namespace rewise
