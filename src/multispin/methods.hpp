// Methods of the multispin engine for Wolff clusters.
#pragma once

namespace rewise {

// The form of Wolff updates on all replicas of a word group (wolff/wolff.hpp). It does not change
// the trajectory. No key or option sets it: other values than `automatic` are for tests and
// benchmarks (tests/bench/wolff_forms.cpp), which compare the forms.
enum class WolffForm { automatic, dense, sparse };

// EngineOptions::methods of this engine.
struct MultispinMethods {
  WolffForm wolff_form = WolffForm::automatic;
};

}  // namespace rewise
