// Attributes of sites, bonds and imported graphs (GraphML's <data>, the dictionaries of NetworkX's
// edge lists, columns of edge lists), and what they mean:
//   couplings  of bonds: weight, J, sign, coupling, interaction, ferro.., polarity, .. The value is
//              J: a number, or a word for +1 (+, positive, ferro, true) or -1 (-, negative, afm);
//              of antiferro.., negative, ..: true or 1 for J = -1, false or 0 for J = +1
//   fields     of sites: h, field, bias, .. The value is h, a number (b, which Gephi has for blue,
//              is refused unless it is 0)
//   others     any number or list of numbers, whatever its declared type, is an error that names
//              it, unless the name is known to say where or what a site is (x, y, z, id, label,
//              colour, ..). So are couplings of sites and graphs other than +1, fields of bonds and
//              graphs other than 0; of edges texts that name a negative coupling and the label -1
// Readers that take no couplings (ReadOptions::weights is false) accept J = 1 and h = 0 alone.
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

// How the user says that weights and fields are to be taken, for error messages.
inline constexpr std::string_view kTakeWeights =
    "--couplings file (in a study and in Python couplings = \"file\") takes them as J and h";

// What a value means.
struct Meaning {
  enum Kind { none, coupling, field } kind = none;
  std::int32_t value = 0;  // J or h in units of 2^-20
};

class Attributes {
 public:
  Attributes(const std::vector<std::string>& ignored, bool weights)
      : ignored_(ignored), weights_(weights) {}

  // One value of an attribute of an `owner` ("edge", "node", "graph"), in that line (0: no lines).
  // A coupling of an edge or a field of a node is returned; without weights, only J = 1 and h = 0.
  Meaning see(std::string_view owner, std::string_view name, std::string_view value,
              std::uint64_t line);

  // Whether a value of that owner is a coupling or a field.
  static bool is_weight(std::string_view owner, std::string_view name);

  // An attribute that the file has, whatever its values; see() implies it.
  void add_name(std::string_view name);

  bool is_ignored(std::string_view name) const;

  // Error(data) that lists all unsupported attributes, with the first value of each.
  // With `all_ignored_exist`, Error(usage) if an ignored name is not among the names.
  void refuse(const std::string& file, bool all_ignored_exist = false) const;

 private:
  void check_ignored(const std::string& file) const;

  // Why an attribute is refused.
  enum class Fault { weight_not_taken, not_a_weight, unknown };
  struct Found {
    std::string name, value;
    std::uint64_t line;
    Fault fault;
  };
  std::vector<std::string> ignored_;
  bool weights_;
  std::set<std::string, std::less<>> names_;  // of attributes, if any are ignored
  std::map<std::string, Found> found_;        // "edge attribute \"weight\"" -> its first such value
};

}  // namespace rewise
