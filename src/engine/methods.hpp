// The methods of the engines' updates. They change the speed, never the trajectory; each engine
// reads its own and ignores the others.
#pragma once

#include <cstdint>

#include "src/label/method.hpp"

namespace rewise {

// How the bytespin engine grows a Wolff cluster. A cluster is defined by its seed site and one draw
// per bond, so all methods flip the same sites.
enum class WolffMethod {
  automatic,       // the device's fastest
  frontier,        // breadth first (Hawick, Leist & Playne 2010, algorithms 1-4)
  frontier_local,  // blocks continue locally for some steps (their algorithm 5)
  persistent,      // one kernel for all updates of a cycle (Komura & Okabe 2012)
  ccl,             // label all clusters, flip one
};

// The form of Wolff updates on all replicas of a word group of the multispin engine
// (wolff/wolff.hpp). No key or option sets it: other values than `automatic` are for tests and
// benchmarks (tests/bench/wolff_forms.cpp), which compare the forms.
enum class WolffForm { automatic, dense, sparse };

struct UpdateMethods {
  WolffMethod wolff = WolffMethod::automatic;
  LabelMethod label = LabelMethod::fast;  // of the bytespin engine
  std::uint32_t label_tile = 0;           // edge of its tiles; 0: the method's own choice
  WolffForm wolff_form = WolffForm::automatic;
};

}  // namespace rewise
