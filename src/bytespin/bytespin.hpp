// The bytespin engine (Ising and Potts, q <= 255): one byte per site. A thread of the CPU advances
// one system at a time, CUDA devices all of them together. The plain engine that every other is
// checked against; it has all methods of labelling.
#pragma once

#include <memory>

#include "src/engine/factory.hpp"

namespace rewise {

// `graph` must outlive the engine.
std::unique_ptr<Engine> make_bytespin_engine(const Graph& graph, const EngineSpec& spec,
                                             const EngineOptions& options);

extern const EngineFactory kBytespinFactory;

}  // namespace rewise
