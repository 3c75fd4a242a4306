// Which method `tc` uses for a configuration, and the checks that its settings must pass.
#pragma once

#include <string>

#include "src/search/tc_method.hpp"
#include "src/settings/config.hpp"

namespace rewise {

// The method that `tc` uses. The model decides, and among the methods that it has, sampling.method.
// With couplings, crossings of overlaps if the configuration requests crossings or the tree
// condition does not apply; otherwise the tree condition. For Ising ferromagnets, the default is
// both methods if the target error is so small that the tree condition costs little compared with
// the crossings; otherwise crossings.
TcMethod tc_method(const StudyConfig& config);

// The configuration of `tc`, with one schedule and cluster update per p, and with the method if
// that is the tree condition by default, so that study.toml states it. Throws Error(usage), with
// the name of the file, if its method does not support a setting, or if a key is for `sweep` only.
StudyConfig tc_config(const StudyConfig& config, const std::string& file);

}  // namespace rewise
