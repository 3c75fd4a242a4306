// Which methods `tc` uses for a configuration, and the checks that their settings must pass.
#pragma once

#include <string>

#include "src/settings/config.hpp"

namespace rewise {

// How `tc` determines Tc; tc_study.hpp describes each. The model decides, and among the methods
// that it has, sampling.method.
enum class TcAnalysis { crossings, tree, both, peaks, glass };

// With couplings, crossings of overlaps if the configuration requests crossings or the tree
// condition does not apply; otherwise the tree condition. For Ising ferromagnets, the default is
// both methods if the target error is so small that the tree condition costs little compared with
// the crossings; otherwise crossings.
TcAnalysis tc_analysis(const StudyConfig& config);

// The configuration of `tc`, with one schedule and cluster update per p. With couplings, its method
// is the tree condition, unless it uses crossings of overlaps. Throws Error(usage), with the name
// of the file, if its method does not support a setting, or if a key is for `sweep` only.
StudyConfig tc_config(const StudyConfig& config, const std::string& file);

}  // namespace rewise
