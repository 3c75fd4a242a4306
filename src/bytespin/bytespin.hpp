// The bytespin engine (Ising and Potts, q <= 255): one byte per site. On a CPU a thread advances
// one replica at a time; a CUDA device advances all of them together. The engine implements every
// method of the papers.
#pragma once

#include <memory>

#include "src/engine/factory.hpp"

namespace rewise {

// `graph` must outlive the engine.
std::unique_ptr<Engine> make_bytespin_engine(const Graph& graph, const EngineSpec& spec,
                                             const EngineOptions& options);

extern const EngineFactory kBytespinFactory;

}  // namespace rewise
