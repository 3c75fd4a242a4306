// Methods of the multispin engine for Wolff clusters.
#pragma once

namespace rewise {

// The trajectory is the same.
enum class WolffForm { automatic, dense, sparse };

// EngineOptions::methods of this engine.
struct MultispinMethods {
  WolffForm wolff_form = WolffForm::automatic;
};

}  // namespace rewise
