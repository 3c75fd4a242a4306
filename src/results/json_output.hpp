// JSON values that several commands print, and JSON files with a digest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "analysis/series/statistics.hpp"
#include "src/base/json.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// JSON files that later processes read as input. Their last key is a digest of the content, which
// detects damage.
enum class JsonSeal { good, unsealed, damaged };  // unsealed: JSON without a digest
struct SealedJson {
  JsonSeal state = JsonSeal::damaged;
  Json json;  // null if damaged
};
std::string sealed_text(Json json, int indent = 2);   // adds the digest; ends in a newline
SealedJson parse_sealed_json(std::string_view text);  // accepts any text without throwing

// null if not finite.
Json number_json(double x);
// The value, or null if it is unknown.
template <class T>
Json plain_json(const T& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? plain_json(*value) : Json(nullptr);
  } else if constexpr (std::is_floating_point_v<T>) {
    return number_json(value);
  } else {
    return value;
  }
}
// {"value": x, "error": e}
Json value_json(Value v);
// "2.3772(4)"; "-" if the value is unknown.
std::string printed(const std::optional<Value>& v);
// The "graph" object of src/store/FORMATS.md. Numbers that an imported graph does not have are
// null.
Json graph_json(const GraphRecord& graph);
// A rule for people: "rewire", or "rewire with parity any" for the name "rewire-any" of files.
std::string rule_text(std::string_view name);
// "2D 64x64, p = 0.01, rewire, graph seed 1", or the file of an imported graph.
std::string graph_title(const GraphRecord& graph);

}  // namespace rewise
