// JSON forms that several subcommands print.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analysis/series/statistics.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

using Json = nlohmann::ordered_json;

// A file that decides what is computed, or spares computing it, has a digest of the rest as its
// last key, so that damage is never taken for what was written.
enum class KeptState { good, unsealed, damaged };  // unsealed: JSON without a digest
struct KeptJson {
  KeptState state = KeptState::damaged;
  Json json;  // null where damaged
};
std::string kept_text(Json json, int indent = 2);  // to be written; ends in a newline
KeptJson parse_kept(std::string_view text);        // never throws for what the text holds

// {"value": x, "error": e}; null where not finite.
Json value_json(Value v);
// The "graph" object of README.md, "Commands"; what an imported graph does not have is null.
Json graph_json(const GraphRecord& graph, std::uint64_t rewired);
// "2D 64x64, p = 0.01, rewire, graph seed 1", or the file an imported graph came from.
std::string graph_title(const GraphRecord& graph);

}  // namespace rewise
