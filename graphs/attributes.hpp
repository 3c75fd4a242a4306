// Attributes that a graph brings from elsewhere (GraphML's <data>, the dictionaries of NetworkX's
// edge lists). Bonds are all alike here (J = 1) and no site has a field, so an attribute that would
// make another model is refused by name, never dropped without a word:
//   couplings  weight, w, J, coupling, interaction, .. with any value but 1
//   fields     h, field, bias, .. with any value but 0
//   others     any number, unless the name is known to say where or what a site is (x, y, z, id,
//              label, colour, ..); text, truth values and lists are passed over
// Names are compared without case, '_', '-' and blanks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rewise {

enum class ValueKind { number, text, unknown };  // unknown: a number where it reads as one

// The number that a text is from its first character to its last.
std::optional<double> number_in(std::string_view text);

class Attributes {
 public:
  // One value of an attribute of an `owner` ("edge", "node"), found in that line.
  void see(std::string_view owner, std::string_view name, std::string_view value, ValueKind kind,
           std::uint64_t line);

  // Error(data) that names all that were found and cannot be followed, with a first value each.
  void refuse(const std::string& file) const;

 private:
  struct Found {
    std::string value;
    std::uint64_t line;
  };
  std::map<std::string, Found> found_;  // "edge attribute \"weight\"" -> its first such value
};

}  // namespace rewise
