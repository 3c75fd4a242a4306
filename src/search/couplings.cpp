#include "src/search/couplings.hpp"

namespace rewise {

// For an antiferromagnet, flipping all spins of one sublattice (a gauge transformation) changes J
// of the lattice bonds from -1 to 1. J of a shortcut becomes 1 if it joins different colours, else
// -1. If moved ends are at sites of any colour, J = -1 has probability 1/2.
ShortcutCouplings shortcut_couplings(const StudyConfig& config) {
  const Interactions& interactions = config.model.interactions;
  ShortcutCouplings shortcuts;
  shortcuts.strength = interactions.shortcut_strength;
  shortcuts.gaussian = interactions.couplings == CouplingKind::gaussian;
  if (interactions.couplings == CouplingKind::plus_minus)
    shortcuts.negative = interactions.negative_fraction;
  if (interactions.couplings == CouplingKind::antiferromagnet) {
    const bool any = parity_of(config.rule()) == Parity::any;
    shortcuts.negative = interactions.on_shortcuts ? 1 : any ? 0.5 : 0;
  }
  return shortcuts;
}

bool some_negative(const ShortcutCouplings& couplings) {
  return couplings.gaussian || couplings.negative != (couplings.strength > 0 ? 0 : 1);
}

bool is_frustrated(const StudyConfig& config) {
  const Interactions& interactions = config.model.interactions;
  if (interactions.has_field() || interactions.couplings == CouplingKind::file) return true;
  if (interactions.couplings == CouplingKind::plus_minus && !interactions.on_shortcuts &&
      interactions.negative_fraction > 0)
    return true;
  return some_negative(shortcut_couplings(config));
}

}  // namespace rewise
