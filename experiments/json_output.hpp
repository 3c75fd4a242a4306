// JSON forms that several subcommands print.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/statistics.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

using Json = nlohmann::ordered_json;

// {"value": x, "error": e}; null where not finite.
Json value_json(Value v);
// The "graph" object of DESIGN.md section 9; what an imported graph does not have is null.
Json graph_json(const GraphRecord& graph, std::uint64_t rewired);
// "2D 64x64, p = 0.01, rewire, graph seed 1", or the file an imported graph came from.
std::string graph_title(const GraphRecord& graph);

}  // namespace rewise
