// The single engine on several CUDA devices that share every system (Komura & Okabe 2013): local
// sweeps and Swendsen-Wang updates, the same bits as on one device.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise::single {

// On options.devices, two or more. Error(device) where one does not exist, cannot reach the memory
// of another, or has too little; Error(usage) for systems and updates that several devices do not
// share: lattices of two to four dimensions whose rows are multiples of 64 sites, Swendsen-Wang by
// the label methods `fast` and `kalentev`.
std::unique_ptr<Engine> make_team_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

// "" where several devices can share such a run, else why not and what to do, in one line.
std::string why_no_team(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

}  // namespace rewise::single
