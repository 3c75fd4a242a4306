// The keys of a study's file.
#pragma once

#include <vector>

#include "src/study/unknown_names.hpp"

namespace rewise {

// Its tables: study, lattice, sampling and run, in this order.
std::vector<KeyTable> study_keys();

}  // namespace rewise
