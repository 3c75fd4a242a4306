// Attributes of sites, bonds and graphs from elsewhere (GraphML's <data>, the dictionaries of
// NetworkX's edge lists, columns of edge lists). All bonds have J = 1 here and no site has a field,
// so an attribute that would make another model is refused by name and never dropped silently:
//   couplings  weight, w, J, coupling, interaction, .. with any value but 1
//   fields     h, field, bias, .. with any value but 0
//   others     any number or list of numbers, whatever its declared type, unless the name is known
//              to say where or what a site is (x, y, z, id, label, colour, ..)
// Texts and truth values of other names are passed over, and so are the names that the user lists
// (--ignore). Couplings, fields and known names are compared without case, '_', '-' and blanks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rewise {

// A text of a file in one line of an error, cut after that many bytes.
std::string shown(std::string_view text, std::size_t most = 40);

// The number that the whole text is, as people and programs write it: 1, 1., -1e-3, 1.0D+00,
// 0x1p+0, True, false, np.float64(1.0), Decimal('1.0').
std::optional<double> number_in(std::string_view text);

class Attributes {
 public:
  explicit Attributes(const std::vector<std::string>& ignored) : ignored_(ignored) {}

  // One value of an attribute of an `owner` ("edge", "node", "graph"), in that line (0: no lines).
  void see(std::string_view owner, std::string_view name, std::string_view value,
           std::uint64_t line);

  bool is_ignored(std::string_view name) const;

  // Error(data) that names all attributes that cannot be followed, with the first value of each.
  void refuse(const std::string& file) const;

 private:
  struct Found {
    std::string owner, name, value;
    std::uint64_t line;
  };
  std::vector<std::string> ignored_;
  std::map<std::string, Found> found_;  // "edge attribute \"weight\"" -> its first such value
};

}  // namespace rewise
