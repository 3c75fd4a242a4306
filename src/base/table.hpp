// Plain tables on standard output.
#pragma once

#include <string>
#include <vector>

namespace rewise {

// Formats rows of equal length as left-aligned columns, each preceded by two blanks. Every line
// ends with a newline.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace rewise
