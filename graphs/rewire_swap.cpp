// Rule `swap` (Hawick & James 2006, z-preserving rewiring): pairs of bonds exchange their ends of
// colour 1 until a fraction p of the bonds has been moved; every degree stays 2d. (Exchanging the
// ends of colour 0 instead would give the same graph.)
//
// The first bond of a pair is drawn among those still at home, the second among all; a pair that
// shares a site, or whose exchange would make a double bond, is redrawn. The target is p B, rounded
// to the nearest integer; since a pair moves two bonds, at most one bond more than that is moved.
// Cost: proportional to the number of moved bonds (all bonds are listed only when half have moved).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "graphs/gaps.hpp"
#include "graphs/rules.hpp"
#include "src/base/error.hpp"
#include "src/base/stop.hpp"

namespace rewise {
namespace {

class Swapper {
 public:
  Swapper(const Lattice& lattice, const GraphSpec& spec, std::uint64_t target)
      : lattice_(lattice), seed_(spec.seed), target_(target), moved_(target), shortcuts_(target) {}

  std::vector<RewiredBond> run() {
    std::uint64_t best = 0, best_at = 0;
    StopCheck check;
    for (std::uint64_t attempt = 0; moved_.size() < target_; ++attempt) {
      check();
      const std::uint64_t idle = attempt - best_at;
      if (idle > kGiveUp) {
        throw Error(
            ExitCode::usage,
            fmt::format("rule swap: {} of {} bonds moved, and no exchange of ends moves more "
                        "(wanted: {}); a larger lattice or a smaller p is needed",
                        moved_.size(), lattice_.bonds(), target_));
      }
      // Where tiny lattices get stuck, exchanges among moved bonds free the way.
      attempt_one(attempt, idle > kStuck && idle % 2 == 0);
      if (moved_.size() > best) {
        best = moved_.size();
        best_at = attempt;
      }
    }
    std::vector<RewiredBond> rewired;
    rewired.reserve(moved_.size());
    moved_.for_each([&](Bond bond, Site one) {
      rewired.push_back({bond, lattice_.home_a(bond), lattice_.home_b(bond)});
      (lattice_.colour(rewired.back().a) == 1 ? rewired.back().a : rewired.back().b) = one;
    });
    std::ranges::sort(rewired, {}, &RewiredBond::bond);
    return rewired;
  }

 private:
  static constexpr std::uint64_t kStuck = 1000, kGiveUp = 200000;

  Site home_of_colour(Bond bond, int colour) const {
    const Site a = lattice_.home_a(bond);
    return lattice_.colour(a) == colour ? a : lattice_.home_b(bond);
  }
  Site one_of(Bond bond) const {
    const Site* one = moved_.find(bond);
    return one ? *one : home_of_colour(bond, 1);
  }
  bool joined(Site zero, Site one) const {
    return are_joined(lattice_, shortcuts_, zero, one,
                      [this](Bond bond) { return moved_.contains(bond); });
  }

  void attempt_one(std::uint64_t attempt, bool any_first) {
    const Words4 words = random_words(seed_, Stream::graph_swap, attempt, 0, 0, 0);
    const Bond second = uniform_below_wide(word64(words, 1), lattice_.bonds());
    const Bond first = any_first ? uniform_below_wide(word64(words, 0), lattice_.bonds())
                                 : unmoved(word64(words, 0));
    if (first == second || (!any_first && moved_.contains(first))) return;
    const Site zero1 = home_of_colour(first, 0), one1 = one_of(first);
    const Site zero2 = home_of_colour(second, 0), one2 = one_of(second);
    if (zero1 == zero2 || one1 == one2 || joined(zero1, one2) || joined(zero2, one1)) return;
    place(first, zero1, one1, one2);
    place(second, zero2, one2, one1);
  }

  // A bond drawn for the first of a pair. Few are moved: any bond (the caller rejects moved ones).
  // Most are moved: from the list of those at home, which forgets moved ones as it meets them.
  Bond unmoved(std::uint64_t random) {
    if (2 * moved_.size() < lattice_.bonds()) return uniform_below_wide(random, lattice_.bonds());
    if (!at_home_) {
      at_home_.emplace();
      for (Bond bond = 0; bond < lattice_.bonds(); ++bond) {
        if (!moved_.contains(bond)) at_home_->push_back(bond);
      }
    }
    const std::uint64_t place = uniform_below_wide(random, at_home_->size());
    const Bond bond = (*at_home_)[place];
    if (moved_.contains(bond)) {
      (*at_home_)[place] = at_home_->back();
      at_home_->pop_back();
    }
    return bond;
  }

  void place(Bond bond, Site zero, Site old_one, Site new_one) {
    if (moved_.contains(bond)) shortcuts_.part(zero, old_one);
    if (new_one == home_of_colour(bond, 1)) {
      moved_.erase(bond);
      at_home_.reset();  // rare: made anew when needed
    } else {
      moved_.put(bond, new_one);
      shortcuts_.join(zero, new_one);
    }
  }

  const Lattice& lattice_;
  std::uint64_t seed_;
  std::uint64_t target_;
  FlatMap<Site> moved_;  // bond -> its present end of colour 1
  Shortcuts shortcuts_;
  std::optional<std::vector<Bond>> at_home_;
};

}  // namespace

std::vector<RewiredBond> rewire_swap(const Lattice& lattice, const GraphSpec& spec) {
  const Wide half_unit = static_cast<Wide>(1) << 63;
  // p B < 2^98 in units of 2^-64.
  const Wide target = (fixed_point(spec.p) * lattice.bonds() + half_unit) >> 64;
  return Swapper(lattice, spec, static_cast<std::uint64_t>(target)).run();
}

}  // namespace rewise
