// Attributes of sites, bonds and imported graphs (GraphML's <data>, the dictionaries of NetworkX's
// edge lists, columns of edge lists). In rewise all bonds have J = 1 and no site has a field. An
// attribute that describes another model is therefore an error that names it:
//   couplings  weight, J, sign, coupling, interaction, ferro.., polarity, .. with any value, number
//              or text, but +1 (1, +, positive, ferro, true; for antiferro.., negative: 0, false)
//   fields     h, field, bias, .. with any value but 0
//   others     any number or list of numbers, whatever its declared type, unless the name is known
//              to say where or what a site is (x, y, z, id, label, colour, ..); of edges also texts
//              that name a negative coupling (-, negative, antiferro, afm, ..) and the label -1
// Other texts and truth values are ignored, and so are the names that the user lists (--ignore).
// Case, '_', '-' and blanks do not matter in names of couplings, fields and positions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rewise {

// A text from a file, for an error message: in one line, and cut after that many bytes.
std::string shown(std::string_view text, std::size_t most = 40);

// Converts a text that is a number in any common notation: 1, 1., -1e-3, 1.0D+00, 0x1p+0, True,
// false, np.float64(1.0), Decimal('1.0').
std::optional<double> number_in(std::string_view text);

// A type whose values are numbers or truth values: int, xs:double, np.float64, bool.
bool is_number_type(std::string_view type);

// A number, a truth value or a list of numbers.
bool fits_number_type(std::string_view value);

// Whether the weight of a bond can only mean J = +1: 1, 1.0, +, true.
bool is_unit_weight(std::string_view value);

class Attributes {
 public:
  explicit Attributes(const std::vector<std::string>& ignored) : ignored_(ignored) {}

  // One value of an attribute of an `owner` ("edge", "node", "graph"), in that line (0: no lines).
  void see(std::string_view owner, std::string_view name, std::string_view value,
           std::uint64_t line);

  // An attribute that the file has, whatever its values; see() implies it.
  void add_name(std::string_view name);

  bool is_ignored(std::string_view name) const;

  // Error(data) that lists all unsupported attributes, with the first value of each.
  // With `all_ignored_exist`, Error(usage) if an ignored name is not among the names.
  void refuse(const std::string& file, bool all_ignored_exist = false) const;

 private:
  void check_ignored(const std::string& file) const;

  struct Found {
    std::string owner, name, value;
    std::uint64_t line;
  };
  std::vector<std::string> ignored_;
  std::set<std::string, std::less<>> names_;  // of attributes, if any are ignored
  std::map<std::string, Found> found_;        // "edge attribute \"weight\"" -> its first such value
};

}  // namespace rewise
