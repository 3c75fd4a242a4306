// Which methods the bytespin engine has (src/engine/methods.hpp), and their words.
#pragma once

#include <string>
#include <string_view>

#include "src/engine/factory.hpp"

namespace rewise {

// "" for automatic.
std::string_view to_string(WolffMethod method);
// "" means automatic. Throws Error(usage) for an unknown word and names the nearest one.
WolffMethod parse_wolff_method(std::string_view word, std::string_view origin);
// Whether a CPU version exists; all methods work for Ising and Potts. None can share a replica
// among devices.
bool has_cpu(WolffMethod method);
// Names of methods for messages and --help, such as "frontier, ccl". `cpu`: those with a CPU
// version, `cuda_alone`: those without.
std::string wolff_methods(bool cpu, bool cuda_alone, std::string_view between = ", ");

namespace bytespin {

extern const MethodSet kMethods;

// Implements EngineFactory::why_no_team.
std::string why_no_team(std::span<const std::uint32_t> extents, ClusterUpdate cluster,
                        const UpdateMethods& methods);

}  // namespace bytespin
}  // namespace rewise
