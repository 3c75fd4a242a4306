// The table that `rewise tc` ends with on standard output, from the summary alone.
#pragma once

#include <string>

#include "experiments/console/json_output.hpp"

namespace rewise {

// Ends in a newline. Errors are statistical and systematic ones together.
std::string tc_headline(const Json& summary);

}  // namespace rewise
