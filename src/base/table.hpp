// Plain tables on standard output.
#pragma once

#include <string>
#include <vector>

namespace rewise {

// Rows of equal length, columns aligned to the left, two blanks in front of each; every line ends
// in a newline.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace rewise
