// The single engine (Ising and, later, Potts q <= 255): one byte per site, one system per lane of
// work. The plain engine that every other is checked against; carries all labelling methods.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise {

// `graph` must outlive the engine.
std::unique_ptr<Engine> make_single_engine(const Graph& graph, const EngineSpec& spec,
                                           const EngineOptions& options);

}  // namespace rewise
