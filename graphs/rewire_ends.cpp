// Rule `rewire` (Hawick, Leist & Playne 2010): each end of each bond is independently moved with
// probability p/2 to a uniformly drawn other site of the colour that end had.
//
// Ends are processed in bond order (end 2 bond: at the bond's own site; 2 bond + 1: at the site
// forward of it). A target that the bond's other end is already joined to is redrawn, and so is the
// end's own place: a moved end has moved, so that the number of moved ends is exactly
// Binomial(2B, p/2) and a bond is rewired with probability exactly p - p^2/4, at any N. An end
// whose other end is joined to every site of the colour (graphs of a few sites only) stays where it
// is. Cost: proportional to the number of moved ends.
#include <algorithm>

#include "graphs/gaps.hpp"
#include "graphs/rules.hpp"
#include "src/base/stop.hpp"

namespace rewise {
namespace {

class EndMover {
 public:
  EndMover(const Lattice& lattice, const GraphSpec& spec, std::uint64_t expected)
      : lattice_(lattice), seed_(spec.seed), shortcuts_(expected) {
    rewired_.reserve(expected);
  }

  // Moves one end; ends come in ascending order.
  void move(std::uint64_t end) {
    const Bond bond = end / 2;
    if (rewired_.empty() || rewired_.back().bond != bond) {
      rewired_.push_back({bond, lattice_.home_a(bond), lattice_.home_b(bond)});
    } else {
      shortcuts_.part(rewired_.back().a, rewired_.back().b);
    }
    RewiredBond& r = rewired_.back();
    Site& moving = end % 2 == 0 ? r.a : r.b;
    moving = target(end, moving, end % 2 == 0 ? r.b : r.a);
    if (r.a == lattice_.home_a(bond) && r.b == lattice_.home_b(bond)) {
      rewired_.pop_back();
    } else {
      shortcuts_.join(r.a, r.b);
    }
  }

  std::vector<RewiredBond> take() { return std::move(rewired_); }

 private:
  static constexpr std::uint32_t kTries = 256;

  bool is_free(Site candidate, Site own, Site other) const {
    if (candidate == own) return false;
    return !are_joined(lattice_, shortcuts_, candidate, other, [this](Bond bond) {
      return std::ranges::binary_search(rewired_, bond, {}, &RewiredBond::bond);
    });
  }

  // A uniformly drawn free site of `own`'s colour, or `own` where none is free.
  Site target(std::uint64_t end, Site own, Site other) const {
    const int colour = lattice_.colour(own);
    const auto half = static_cast<std::uint32_t>(lattice_.sites() / 2);
    for (std::uint32_t attempt = 0; attempt < kTries; ++attempt) {
      const Site candidate =
          lattice_.site_of_colour(colour, uniform_below(draw(end, attempt), half));
      if (is_free(candidate, own, other)) return candidate;
    }
    // So dense a graph is small: list what is free.
    std::vector<Site> free;
    for (std::uint32_t k = 0; k < half; ++k) {
      const Site candidate = lattice_.site_of_colour(colour, k);
      if (is_free(candidate, own, other)) free.push_back(candidate);
    }
    if (free.empty()) return own;
    return free[uniform_below(draw(end, kTries), static_cast<std::uint32_t>(free.size()))];
  }

  std::uint64_t draw(std::uint64_t end, std::uint32_t attempt) const {
    return word64(random_words(seed_, Stream::graph_target, end, 0, 0, attempt), 0);
  }

  const Lattice& lattice_;
  std::uint64_t seed_;
  Shortcuts shortcuts_;
  std::vector<RewiredBond> rewired_;  // so far; ascending
};

}  // namespace

std::vector<RewiredBond> rewire_ends(const Lattice& lattice, const GraphSpec& spec) {
  const std::uint64_t ends = 2 * lattice.bonds();
  Gaps gaps(spec.seed, fixed_point(spec.p / 2));
  EndMover mover(lattice, spec,
                 static_cast<std::uint64_t>(static_cast<double>(ends) * spec.p * 0.51));
  StopCheck check;
  for (std::uint64_t end = gaps.next(); end < ends; end += 1 + gaps.next()) {
    check();
    mover.move(end);
  }
  return mover.take();
}

}  // namespace rewise
