// The model: Hamiltonian, probabilities of the updates, energy and order parameter (k_B = 1). All
// engines, on host and device, use these definitions.
//   Ising  H = -sum_bonds J_ij s_i s_j - sum_sites h_i s_i
//   Potts  H = -sum_bonds J_ij delta(s_i, s_j)
// The default Interactions are the ferromagnet, J = 1 and h = 0. The functions below that count
// neighbours hold for the ferromagnet only; boltzmann.hpp has those for other couplings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/model/interactions.hpp"
#include "src/model/sums.hpp"
#include "src/random/threshold.hpp"

namespace rewise {

enum class ModelKind { ising, potts };
enum class LocalUpdate { metropolis, glauber };
inline constexpr std::string_view kLocalUpdates[] = {"metropolis", "glauber"};

// The keys of a model, which are also those of [model] in a study file.
inline constexpr const char* kModelKeys[] = {
    "name",          "q",     "couplings",    "on",         "negative", "shortcut_strength",
    "coupling_seed", "field", "field_random", "field_width"};
using ModelTexts = std::map<std::string, std::string>;

struct Model {
  ModelKind kind = ModelKind::ising;
  std::uint32_t q = 2;  // states, 2..255; Ising has 2
  Interactions interactions = {};

  friend bool operator==(const Model&, const Model&) = default;

  bool is_potts() const { return kind == ModelKind::potts; }
  bool is_ferromagnet() const { return interactions == Interactions{}; }
  // Throws Error(usage) if q is out of range.
  void check() const;
  // The name, q, and all other keys that differ from their default.
  ModelTexts words() const;

  // The energy difference between a bond of unequal spins and one of equal spins.
  int bond_energy() const { return is_potts() ? 1 : 2; }

  // The probability of a move after which a site has `fewer_equal` fewer equal neighbours, so that
  // the energy rises by E = bond_energy() * fewer_equal. Ising: fewer_equal is s h, h the sum of
  // the neighbours.
  //   Metropolis et al. 1953: min(1, exp(-beta E))
  //   Glauber 1963: 1 / (1 + exp(beta E)), the heat bath of two states. Its result does not depend
  //   on the old state. With more states the heat bath draws by heat_bath_weight() instead.
  // In a field, h includes the field, so `fewer_equal` is not an integer.
  double acceptance(LocalUpdate rule, double beta, double fewer_equal) const;
  Threshold flip_threshold(LocalUpdate rule, double beta, int fewer_equal) const {
    return threshold(acceptance(rule, beta, fewer_equal));
  }
  // acceptance() as a threshold for engines that compare 32 binary digits.
  Threshold capped_flip_threshold(LocalUpdate rule, double beta, double fewer_equal) const {
    return capped_threshold(acceptance(rule, beta, fewer_equal));
  }

  // Potts: the weight of a state that has `fewer_equal` fewer equal neighbours than the most
  // frequent state, 2^40 exp(-beta fewer_equal).
  std::uint64_t heat_bath_weight(double beta, int fewer_equal) const;

  // The probability of a bond between equal spins in a cluster update (Fortuin & Kasteleyn 1972):
  // 1 - exp(-2 beta), Potts 1 - exp(-beta).
  double bond_probability(double beta) const;

  // The definition of the integer sums of a measurement, and their conversion to values per site.
  SumUnits sum_units(std::uint64_t bonds, std::uint64_t sites) const {
    SumUnits units{static_cast<std::int64_t>(bonds), static_cast<std::int64_t>(sites), q,
                   bond_energy()};
    if (interactions.energy_unit() == 1) return units;
    units.unit = kFixedOne;
    units.field = nearest_fixed(interactions.field_strength());
    return units;
  }
  SampleUnits sample_units(double sites) const {
    return {sites, sites * (q - 1), interactions.energy_unit()};
  }
};

// True if moves that do not raise the energy are always accepted, so that they need no draw. For
// the other rules acceptance(-E) is 1 - acceptance(E).
constexpr bool certain_downhill(LocalUpdate rule) { return rule == LocalUpdate::metropolis; }

// "ising", "potts with q = 3", "ising with couplings = pm, field = 0.5".
std::string to_string(const Model& model);
std::string_view to_string(ModelKind kind);
std::string_view to_string(LocalUpdate update);
// Missing keys take their default values. Throws Error(usage) for unknown words, with the nearest
// known one, and for a q that is invalid for the model. `origin`: the option or the position of
// each key.
Model parse_model(const ModelTexts& words, const ModelTexts& origin);
// Throws Error(usage) as above; `origin` is an option or a key.
LocalUpdate parse_local_update(std::string_view text, std::string_view origin);

}  // namespace rewise
