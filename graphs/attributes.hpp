// Attributes of sites, bonds and imported graphs (GraphML's <data>, the dictionaries of NetworkX's
// edge lists, columns of edge lists), and their meaning:
//   couplings  of bonds: weight, J, sign, coupling, interaction, ferro.., polarity, .. The value is
//              J: a number, or a word for +1 (+, positive, ferro, true) or -1 (-, negative, afm).
//              For antiferro.., negative, ..: true or 1 means J = -1, false or 0 means J = +1
//   fields     of sites: h, field, bias, .. The value is the number h. The name b, which Gephi uses
//              for blue, is an error unless the value is 0
//   others     A number or a list of numbers, whatever its declared type, is an error that names
//              the attribute, unless the name is known to be an identity or a position (x, y, z,
//              id, label, colour, ..). Errors are also: couplings of sites and graphs other than
//              +1; fields of bonds and graphs other than 0; texts at edges that name a negative
//              coupling; the edge label -1
// Readers that do not accept couplings (ReadOptions::couplings is false) accept J = 1 and h = 0
// only. Other texts and truth values are ignored, as are the names that the user lists (--ignore).
// Case,
// '_', '-' and blanks do not matter in names of couplings, fields and positions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/rounded_numbers.hpp"
#include "src/base/setting_name.hpp"

namespace rewise {

// Formats a text from a file for an error message: on one line, cut after `most` bytes.
std::string shown(std::string_view text, std::size_t most = 40);

// Converts a text to a number if it is one in any common notation: 1, 1., -1e-3, 1.0D+00, 0x1p+0,
// True, false, np.float64(1.0), Decimal('1.0').
std::optional<double> number_in(std::string_view text);

// A type whose values are numbers or truth values: int, xs:double, np.float64, bool.
bool is_number_type(std::string_view type);

// A number, a truth value or a list of numbers.
bool fits_number_type(std::string_view value);

// The settings that make rewise read couplings and fields, for error messages.
inline std::string read_couplings_setting() {
  return setting_value("couplings", "file") +
         " (in a study and in Python: couplings = \"file\") reads them as J and h";
}

// The meaning of a value.
struct Meaning {
  enum Kind { none, coupling, field } kind = none;
  std::int32_t value = 0;  // J or h in units of 2^-20
};

class Attributes {
 public:
  Attributes(const std::vector<std::string>& ignored, bool accepts_couplings)
      : ignored_(ignored), accepts_couplings_(accepts_couplings) {}

  // Examines one value of an attribute of an `owner` ("edge", "node", "graph") in a line of the
  // file (0: the file has no lines). Returns the coupling of an edge or the field of a node.
  // Without `accepts_couplings`, only J = 1 and h = 0 are accepted.
  Meaning see(std::string_view owner, std::string_view name, std::string_view value,
              std::uint64_t line);

  // Whether values of this attribute of `owner` are couplings or fields.
  static bool is_coupling_or_field(std::string_view owner, std::string_view name);

  // Records an attribute of the file, whatever its values; see() includes this.
  void add_name(std::string_view name);

  bool is_ignored(std::string_view name) const;

  // Throws Error(data) that lists all unsupported attributes, with the first value of each. With
  // `all_ignored_exist`, throws Error(usage) if an ignored name is not among the names.
  void reject_unknown(const std::string& file, bool all_ignored_exist = false) const;

 private:
  void check_ignored(const std::string& file) const;

  // The reason why an attribute is an error.
  enum class Fault { coupling_not_accepted, not_a_coupling, unknown };
  struct Found {
    std::string name, value;
    std::uint64_t line;
    Fault fault;
  };
  RoundedNumbers couplings_, fields_;
  std::vector<std::string> ignored_;
  bool accepts_couplings_;
  std::set<std::string, std::less<>> names_;  // of attributes, if any are ignored
  std::map<std::string, Found> found_;        // "edge attribute \"weight\"" -> its first such value
};

}  // namespace rewise
