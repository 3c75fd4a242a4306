// The single engine on several CUDA devices that share every system (Komura & Okabe 2013): local
// sweeps and Swendsen-Wang updates, the same bits as on one device.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise::single {

// On options.devices, two or more. Error(device) where one does not exist, cannot reach the memory
// of another, or has too little; Error(usage) for what several devices do not share: imported
// graphs; and by advance() for cluster updates that team.hpp says they do not.
std::unique_ptr<Engine> make_team_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::single
