// The interchangeable methods of the single engine's Wolff update. A cluster is defined by its seed
// and one draw per bond (rules.hpp), so all of them flip the same sites: they differ in speed only.
#pragma once

#include <string>
#include <string_view>

namespace rewise::single {

enum class WolffMethod {
  frontier,        // breadth first (Hawick, Leist & Playne 2010, algorithms 1-4)
  frontier_local,  // CUDA: a block goes on by itself for a while (their algorithm 5)
  persistent,      // CUDA: one kernel for all updates of a cycle (Komura & Okabe 2012)
  ccl,             // label all clusters, flip one
};

std::string_view to_string(WolffMethod method);

// Error(usage) for an unknown word, with those that there are, and for one that the device does
// not have. "" is not a method: the engine chooses then.
WolffMethod parse_wolff_method(std::string_view word, bool cuda);

// The words that parse_wolff_method() takes, for messages and --help: "frontier, ccl".
std::string wolff_methods(bool cuda);

}  // namespace rewise::single
