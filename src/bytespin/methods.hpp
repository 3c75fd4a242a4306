// The methods of the bytespin engine's cluster updates. They change its speed, never its
// trajectory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/engine/factory.hpp"
#include "src/label/method.hpp"

namespace rewise {

// A Wolff cluster is defined by its seed site and one draw per bond, so all methods flip the same
// sites.
enum class WolffMethod {
  automatic,       // the device's fastest
  frontier,        // breadth first (Hawick, Leist & Playne 2010, algorithms 1-4)
  frontier_local,  // blocks continue locally for some steps (their algorithm 5)
  persistent,      // one kernel for all updates of a cycle (Komura & Okabe 2012)
  ccl,             // label all clusters, flip one
};

// EngineOptions::methods of this engine.
struct BytespinMethods {
  WolffMethod wolff = WolffMethod::automatic;
  LabelMethod label = LabelMethod::fast;
  std::uint32_t label_tile = 0;  // edge of its tiles; 0: the method's own choice
};

// "" for automatic.
std::string_view to_string(WolffMethod method);
// "" means automatic. Throws Error(usage) for an unknown word and names the nearest one.
WolffMethod parse_wolff_method(std::string_view word, std::string_view origin);
// Whether a CPU version exists; all methods work for Ising and Potts. None can share a replica
// among devices.
bool has_cpu(WolffMethod method);
// Names of the methods for messages and --help: "frontier, ccl".
std::string wolff_methods(bool cpu, bool cuda_alone, std::string_view between = ", ");

namespace bytespin {

extern const MethodSet kMethods;

// Implements EngineFactory::why_no_team.
std::string why_no_team(std::span<const std::uint32_t> extents, ClusterUpdate cluster,
                        const std::any& methods);

}  // namespace bytespin
}  // namespace rewise
