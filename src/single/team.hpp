// What several CUDA devices share in the single engine (engine_team.hpp), for those who ask before
// there is an engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/engine/engine.hpp"

namespace rewise::single {

// "" where they make such cluster updates together, else why not and what they do, for a message
// that names the devices before it. Sweeps they share on every lattice. `label_method`: as
// EngineOptions has it.
std::string why_no_team(std::span<const std::uint32_t> extents, ClusterUpdate cluster,
                        std::string_view label_method);

}  // namespace rewise::single
