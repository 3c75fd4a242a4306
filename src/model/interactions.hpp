// The settings of couplings J and fields h:
//   H = -sum_bonds J_ij s_i s_j - sum_sites h_i s_i
// Their values on a graph: src/engine/couplings.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/base/fixed_point.hpp"

namespace rewise {

enum class CouplingKind {
  ferromagnet,      // J = 1
  antiferromagnet,  // J = -1
  plus_minus,       // J = 1 or -1
  gaussian,         // mean 0, variance 1
  file,             // weights and fields from the file of the graph
};
enum class RandomField { none, plus_minus, gaussian };

// Largest magnitudes of a user's settings. Their sums and products stay below kMaxCoupling.
inline constexpr double kMaxShortcutStrength = kMaxCoupling / 8, kMaxField = kMaxCoupling / 2,
                        kMaxFieldWidth = kMaxCoupling / 16;

struct Interactions {
  CouplingKind couplings = CouplingKind::ferromagnet;
  bool on_shortcuts = false;       // couplings apply to shortcuts only; lattice bonds have J = 1
  double negative_fraction = 0.5;  // plus_minus: probability of J = -1
  double shortcut_strength = 1;    // factor on J of shortcuts
  std::uint32_t seed = 0;          // of couplings and fields, in addition to the seed of the graph
  double field = 0;                // h of every site
  RandomField random_field = RandomField::none;
  double field_width = 1;  // h_i = field + field_width x (1 or -1, or a normal deviate)

  friend bool operator==(const Interactions&, const Interactions&) = default;

  // True if there is a field other than those of a graph file.
  bool has_field() const { return field != 0 || random_field != RandomField::none; }
  // has_field(), but also true for couplings from graph files, which may have fields.
  bool may_have_field() const { return has_field() || couplings == CouplingKind::file; }
  // True if all fields have the same magnitude: each is h or -h. Fields of a graph file are not
  // considered.
  bool fields_have_one_magnitude() const {
    return random_field == RandomField::none ||
           (random_field == RandomField::plus_minus && field == 0);
  }
  // True if couplings may be negative or random, or fields are random. Tables then have overlaps of
  // replicas.
  bool has_negative_or_random() const {
    return couplings != CouplingKind::ferromagnet || shortcut_strength < 0 ||
           random_field != RandomField::none;
  }
  // The field of all sites or, with a random field, its magnitude. Meaningful only if
  // fields_have_one_magnitude().
  double field_strength() const { return random_field == RandomField::none ? field : field_width; }
  // True if all couplings are 1 or -1.
  bool has_unit_couplings() const {
    return couplings <= CouplingKind::plus_minus && shortcut_strength * shortcut_strength == 1;
  }
  // True if the couplings of all bonds are independent normal deviates of variance 1, without a
  // field.
  bool all_gaussian() const {
    return couplings == CouplingKind::gaussian && !on_shortcuts && shortcut_strength == 1 &&
           !has_field();
  }
  // The energy of one unit of the sums of a measurement: 1 if all couplings are 1 or -1 and there
  // is no field, else kFixedUnit.
  double energy_unit() const { return has_unit_couplings() && !has_field() ? 1 : kFixedUnit; }

  // The settings that differ from their default, as words by key.
  std::map<std::string, std::string> words() const;
};

// Throws Error(usage) for unknown words, with the nearest known one, for numbers out of range, and
// for keys that contradict others. Words and their origins as in parse_model().
Interactions parse_interactions(const std::map<std::string, std::string>& words,
                                const std::map<std::string, std::string>& origin);
std::string_view to_string(CouplingKind kind);
std::string_view to_string(RandomField field);

}  // namespace rewise
