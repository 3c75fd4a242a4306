// The three rewiring rules and their common parts. A rule makes the rewired bonds of one graph,
// sorted by bond index. No rule makes a self-loop or double bond. All rules preserve the
// checkerboard, except with parity `any`, where ends are drawn from all sites. All draws are
// addressed by (graph seed, stream, end or bond or attempt, try).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "graphs/bare.hpp"
#include "graphs/colouring.hpp"
#include "graphs/flat_map.hpp"
#include "graphs/gaps.hpp"
#include "graphs/graph.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "src/base/stop.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

// The bonds that are not lattice bonds, by their ends.
class Shortcuts {
 public:
  explicit Shortcuts(std::uint64_t expected) : joined_(expected) {}
  void join(Site u, Site v) { joined_.put(key(u, v)); }
  void separate(Site u, Site v) { joined_.erase(key(u, v)); }
  bool joins(Site u, Site v) const { return joined_.contains(key(u, v)); }
  void fetch(Site u, Site v) const { joined_.fetch(key(u, v)); }

 private:
  static std::uint64_t key(Site u, Site v) {
    return u < v ? std::uint64_t{u} << 32 | v : std::uint64_t{v} << 32 | u;
  }
  FlatMap<std::monostate> joined_;
};

// A quick test of site numbers, without a division, that rules out nearly all pairs.
bool may_be_neighbours(const Lattice& lattice, Site u, Site v) {
  const Site apart = u < v ? v - u : u - v;
  Site stride = 1;
  for (unsigned k = 0; k < static_cast<unsigned>(lattice.dim); ++k) {
    if (apart == stride || apart == stride * (lattice.extent[k] - 1)) return true;
    stride *= lattice.extent[k];
  }
  return false;
}

// What the rules have in common: the lattice, its shortcuts so far, and the sites that ends are
// drawn from.
class Rewiring {
 protected:
  static constexpr std::uint32_t kTries = 256;

  Rewiring(const Lattice& lattice, const GraphSpec& spec, std::uint64_t expected)
      : lattice_(lattice),
        seed_(spec.seed),
        any_(parity_of(spec.rule) == Parity::any),
        choices_(static_cast<std::uint32_t>(any_ ? lattice.sites() : lattice.sites() / 2)),
        shortcuts_(expected) {}

  // Choice k < choices_ of the sites of a colour; of all sites with parity `any`.
  Site choice(std::uint32_t k, int colour) const {
    return any_ ? k : lattice_.site_of_colour(colour, k);
  }
  // Whether u and v are joined: by a shortcut, or by a lattice bond that is not gone.
  template <class Gone>
  bool are_joined(Site u, Site v, Gone&& gone) const {
    if (shortcuts_.joins(u, v)) return true;
    if (!may_be_neighbours(lattice_, u, v)) return false;
    const auto bond = lattice_.bond_between(u, v);
    return bond && !gone(*bond);
  }

  const Lattice& lattice_;
  std::uint64_t seed_;
  bool any_;               // parity
  std::uint32_t choices_;  // sites that an end is drawn from
  Shortcuts shortcuts_;
};

// Rule `rewire` (Hawick, Leist & Playne 2010): each end of each bond is independently moved with
// probability p/2 to a uniformly drawn other site of its original colour; with parity `any`, to any
// other site.
//
// Ends are processed in bond order. Bond b has end 2b at its own site and end 2b + 1 at the site
// forward of it. A target is redrawn if it is already joined to the bond's other end, or if it is
// the original site of the end. So a moved end has really moved: the number of moved ends is
// exactly Binomial(2B, p/2), and a bond is rewired with probability exactly p - p^2/4, at any N. An
// end whose other end is joined to every site of the colour (graphs of a few sites only) stays in
// place. Cost: proportional to the number of moved ends.
class EndMover : Rewiring {
 public:
  EndMover(const Lattice& lattice, const GraphSpec& spec, std::uint64_t expected)
      : Rewiring(lattice, spec, expected) {
    rewired_.reserve(expected);
  }

  // An end that will be moved: the original sites of its bond, and the first target drawn.
  struct Move {
    std::uint64_t end = 0;
    Site a = 0, b = 0, candidate = 0;
  };
  // Called some time before the end is moved: prefetches the data for checking the first target.
  Move prepare(std::uint64_t end) const {
    Move move{end, lattice_.home_a(end / 2), lattice_.home_b(end / 2)};
    const Site own = end % 2 == 0 ? move.a : move.b;
    move.candidate = candidate(end, 0, own);
    shortcuts_.fetch(move.candidate, end % 2 == 0 ? move.b : move.a);
    return move;
  }

  // Moves one end. The caller passes ends in ascending order.
  void move(const Move& move) {
    const Bond bond = move.end / 2;
    if (rewired_.empty() || rewired_.back().bond != bond) {
      rewired_.push_back({bond, move.a, move.b});
    } else {
      shortcuts_.separate(rewired_.back().a, rewired_.back().b);
    }
    RewiredBond& r = rewired_.back();
    Site& moving = move.end % 2 == 0 ? r.a : r.b;
    moving = target(move, moving, move.end % 2 == 0 ? r.b : r.a);
    if (r.a == move.a && r.b == move.b) {
      rewired_.pop_back();
    } else {
      shortcuts_.join(r.a, r.b);
    }
  }

  std::vector<RewiredBond> take() { return std::move(rewired_); }

 private:
  bool is_free(Site candidate, Site own, Site other) const {
    if (candidate == own || candidate == other) return false;
    return !are_joined(candidate, other, [this](Bond bond) {
      return std::ranges::binary_search(rewired_, bond, {}, &RewiredBond::bond);
    });
  }

  // A uniformly drawn free site (of `own`'s colour), or `own` if none is free.
  Site target(const Move& move, Site own, Site other) const {
    if (is_free(move.candidate, own, other)) return move.candidate;
    for (std::uint32_t attempt = 1; attempt < kTries; ++attempt) {
      const Site drawn = candidate(move.end, attempt, own);
      if (is_free(drawn, own, other)) return drawn;
    }
    // This many failed tries occur only in small, dense graphs: lists all free sites.
    std::vector<Site> free;
    for (std::uint32_t k = 0; k < choices_; ++k) {
      const Site site = choice(k, lattice_.colour(own));
      if (is_free(site, own, other)) free.push_back(site);
    }
    if (free.empty()) return own;
    return free[uniform_below(draw(move.end, kTries), static_cast<std::uint32_t>(free.size()))];
  }

  Site candidate(std::uint64_t end, std::uint32_t attempt, Site own) const {
    return choice(uniform_below(draw(end, attempt), choices_), lattice_.colour(own));
  }

  std::uint64_t draw(std::uint64_t end, std::uint32_t attempt) const {
    return word64(random_words(seed_, Stream::graph_target, end, 0, 0, attempt), 0);
  }

  std::vector<RewiredBond> rewired_;  // so far; ascending
};

std::vector<RewiredBond> rewire_ends(const Lattice& lattice, const GraphSpec& spec) {
  const std::uint64_t ends = 2 * lattice.bonds();
  Gaps gaps(spec.seed, fixed_point(spec.p / 2));
  EndMover mover(lattice, spec,
                 static_cast<std::uint64_t>(static_cast<double>(ends) * spec.p * 0.51));
  constexpr std::size_t kAhead = 16;  // enough to hide the memory latency
  std::array<EndMover::Move, kAhead> ahead;
  std::uint64_t prepared = 0, moved = 0;
  StopCheck check;
  for (std::uint64_t end = gaps.next(); end < ends; end += 1 + gaps.next()) {
    check();
    if (prepared >= kAhead) mover.move(ahead[moved++ % kAhead]);
    ahead[prepared++ % kAhead] = mover.prepare(end);
  }
  while (moved < prepared) mover.move(ahead[moved++ % kAhead]);
  return mover.take();
}

// Rule `swap` (Hawick & James 2006, z-preserving rewiring): pairs of bonds exchange their ends of
// colour 1 until a fraction p of the bonds has been moved; every degree stays 2d. (Exchanging the
// ends of colour 0 instead would give the same graph.) With parity `any` a randomly drawn end of
// every bond takes the role of the end of colour 1.
//
// The first bond of a pair is drawn among the unmoved bonds, the second among all. A pair that
// shares a site, or whose exchange would make a double bond, is redrawn. The target is p B, rounded
// to the nearest integer; since a pair moves two bonds, at most one bond more is moved. Cost:
// proportional to the number of moved bonds (all bonds are listed only when half have moved).
class Swapper : Rewiring {
 public:
  Swapper(const Lattice& lattice, const GraphSpec& spec, std::uint64_t target)
      : Rewiring(lattice, spec, target), target_(target), moved_(target) {}

  std::vector<RewiredBond> run() {
    std::uint64_t best = 0, best_at = 0;
    StopCheck check;
    for (std::uint64_t attempt = 0; moved_.size() < target_; ++attempt) {
      check();
      const std::uint64_t idle = attempt - best_at;
      if (idle > kGiveUp) {
        throw Error(
            ExitCode::usage,
            fmt::format("rule swap: only {} of {} bonds could be moved ({} are required); use a "
                        "larger lattice or a smaller p",
                        moved_.size(), lattice_.bonds(), target_));
      }
      // If a tiny lattice has no valid pair left, exchanges among moved bonds create new ones.
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
      (rewired.back().a == home(bond, 1) ? rewired.back().a : rewired.back().b) = one;
    });
    std::ranges::sort(rewired, {}, &RewiredBond::bond);
    return rewired;
  }

 private:
  static constexpr std::uint64_t kStuck = 1000, kGiveUp = 200000;

  // Original site of the end of a bond that stays (0), and of the end that is exchanged (1).
  Site home(Bond bond, int end) const {
    const Site a = lattice_.home_a(bond);
    const int side =
        any_ ? static_cast<int>(random_words(seed_, Stream::graph_side, bond, 0, 0, 0).w[0] & 1u)
             : lattice_.colour(a);
    return side == end ? a : lattice_.home_b(bond);
  }
  Site one_of(Bond bond) const {
    const Site* one = moved_.find(bond);
    return one ? *one : home(bond, 1);
  }
  bool joined(Site zero, Site one) const {
    return are_joined(zero, one, [this](Bond bond) { return moved_.contains(bond); });
  }

  void attempt_one(std::uint64_t attempt, bool any_first) {
    const Words4 words = random_words(seed_, Stream::graph_swap, attempt, 0, 0, 0);
    const Bond second = uniform_below_wide(word64(words, 1), lattice_.bonds());
    const Bond first = any_first ? uniform_below_wide(word64(words, 0), lattice_.bonds())
                                 : unmoved(word64(words, 0));
    if (first == second || (!any_first && moved_.contains(first))) return;
    const Site zero1 = home(first, 0), one1 = one_of(first);
    const Site zero2 = home(second, 0), one2 = one_of(second);
    if (zero1 == zero2 || one1 == one2 || zero1 == one2 || zero2 == one1) return;
    if (joined(zero1, one2) || joined(zero2, one1)) return;
    place(first, zero1, one1, one2);
    place(second, zero2, one2, one1);
  }

  // Draws the first bond of a pair. If few bonds have moved: any bond (the caller rejects moved
  // ones). If most have moved: a bond from a list of unmoved ones; moved bonds are deleted when
  // drawn.
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
    if (moved_.contains(bond)) shortcuts_.separate(zero, old_one);
    if (new_one == home(bond, 1)) {
      moved_.erase(bond);
      at_home_.reset();  // rare: rebuilt when needed
    } else {
      moved_.put(bond, new_one);
      shortcuts_.join(zero, new_one);
    }
  }

  std::uint64_t target_;
  FlatMap<Site> moved_;  // bond -> the current site of its exchanged end
  std::optional<std::vector<Bond>> at_home_;
};

std::vector<RewiredBond> rewire_swap(const Lattice& lattice, const GraphSpec& spec) {
  const Wide half_unit = static_cast<Wide>(1) << 63;
  // p B < 2^98 in units of 2^-64.
  const Wide target = (fixed_point(spec.p) * lattice.bonds() + half_unit) >> 64;
  return Swapper(lattice, spec, static_cast<std::uint64_t>(target)).run();
}

// Rule `add` (Newman & Watts 1999): the lattice is kept; with probability p per bond, one
// additional bond joins two uniformly drawn sites of opposite colour (parity `any`: two sites) that
// are not yet joined. Added bonds are numbered from lattice.bonds() on, in the order of the lattice
// bonds that caused them; a is of colour 0. Cost: proportional to the number of added bonds.
class Adder : Rewiring {
 public:
  Adder(const Lattice& lattice, const GraphSpec& spec, std::uint64_t expected)
      : Rewiring(lattice, spec, expected) {
    added_.reserve(expected);
  }

  void add_for(Bond parent) {
    for (std::uint32_t attempt = 0; attempt < kTries; ++attempt) {
      const Words4 words = random_words(seed_, Stream::graph_add, parent, 0, 0, attempt);
      const Site a = choice(uniform_below(word64(words, 0), choices_), 0);
      const Site b = choice(uniform_below(word64(words, 1), choices_), 1);
      if (is_free(a, b)) return join(a, b);
    }
    add_exhaustively(parent);
  }

  std::vector<RewiredBond> take() { return std::move(added_); }

 private:
  bool is_free(Site a, Site b) const {
    return a != b && !are_joined(a, b, [](Bond) { return false; });
  }
  void join(Site a, Site b) {
    added_.push_back({lattice_.bonds() + added_.size(), a, b});
    shortcuts_.join(a, b);
  }

  // This many failed tries occur only in small, dense graphs: lists all free pairs.
  void add_exhaustively(Bond parent) {
    std::vector<std::pair<Site, Site>> free;
    for (std::uint32_t i = 0; i < choices_; ++i) {
      for (std::uint32_t j = any_ ? i + 1 : 0; j < choices_; ++j) {
        const Site a = choice(i, 0), b = choice(j, 1);
        if (is_free(a, b)) free.emplace_back(a, b);
      }
    }
    if (free.empty()) {
      throw Error(
          ExitCode::usage,
          fmt::format("rule add: after {} added bonds every pair {}among the {} sites is joined; "
                      "use a larger lattice or a smaller p",
                      added_.size(), any_ ? "" : "of opposite colour ", lattice_.sites()));
    }
    const Words4 words = random_words(seed_, Stream::graph_add, parent, 0, 0, kTries);
    const auto [a, b] = free[uniform_below_wide(word64(words, 0), free.size())];
    join(a, b);
  }

  std::vector<RewiredBond> added_;
};

std::vector<RewiredBond> rewire_add(const Lattice& lattice, const GraphSpec& spec) {
  Gaps gaps(spec.seed, fixed_point(spec.p));
  const std::uint64_t bonds = lattice.bonds();
  Adder adder(lattice, spec,
              static_cast<std::uint64_t>(static_cast<double>(bonds) * spec.p * 1.02));
  StopCheck check;
  for (Bond bond = gaps.next(); bond < bonds; bond += 1 + gaps.next()) {
    check();
    adder.add_for(bond);
  }
  return adder.take();
}

constexpr std::array<std::string_view, 7> kRuleNames{"rewire",   "swap",    "add",     "rewire-any",
                                                     "swap-any", "add-any", "imported"};
constexpr std::size_t kBuildable = 6;  // all rules but "imported"
constexpr std::array<std::string_view, 2> kParityNames{"checkerboard", "any"};
constexpr int kAny = static_cast<int>(Rule::rewire_any);  // the first rule of parity `any`

// The lattice's colours, except at sites that a shortcut joins to a site of their own colour: for
// each such bond, in order, the second end gets the smallest colour from 2 on that none of its
// neighbours has.
Colouring lattice_colouring(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  Colouring colouring{std::vector<std::uint8_t>(graph.sites()), 2};
  for (std::uint64_t site = 0; site < graph.sites(); ++site) {
    colouring.colour[site] = static_cast<std::uint8_t>(lattice.colour(static_cast<Site>(site)));
  }
  StopCheck check;
  for (const RewiredBond& r : graph.rewired_bonds()) {
    check();
    if (colouring.colour[r.a] != colouring.colour[r.b]) continue;
    std::array<bool, kMaxColours> used{};
    graph.for_each_neighbour(r.b, [&](Site other, Bond) { used[colouring.colour[other]] = true; });
    int colour = 2;
    while (colour < kMaxColours && used[static_cast<std::size_t>(colour)]) ++colour;
    if (colour == kMaxColours) {
      throw Error(
          ExitCode::usage,
          fmt::format("the graph needs more than {} colours; use a larger lattice or a smaller p",
                      kMaxColours));
    }
    colouring.colour[r.b] = static_cast<std::uint8_t>(colour);
    colouring.count = std::max(colouring.count, colour + 1);
  }
  return colouring;
}

// A graph of parity `any`. It has no implicit lattice: all bonds are stored.
Graph without_lattice(const GraphSpec& spec) {
  const Graph rewired(Lattice::make(spec.extents), rewired_bonds(spec), spec);
  Colouring colouring = lattice_colouring(rewired);
  std::vector<RewiredBond> bonds;
  bonds.reserve(rewired.bonds());
  for_each_bond(rewired, [&](Bond bond, Site a, Site b) { bonds.push_back({bond, a, b}); });
  Graph graph(spec, std::move(bonds), std::move(colouring.colour), colouring.count);
  graph.validate();
  return graph;
}

}  // namespace

std::string_view to_string(Parity parity) { return kParityNames[static_cast<std::size_t>(parity)]; }

Parity parse_parity(std::string_view text, std::string_view origin) {
  return static_cast<Parity>(parse_word(text, kParityNames, "parity", origin));
}

Parity parity_of(Rule rule) {
  return static_cast<int>(rule) >= kAny && rule != Rule::imported ? Parity::any
                                                                  : Parity::checkerboard;
}

Rule with_parity(Rule rule, Parity parity) {
  if (rule == Rule::imported) return rule;
  const int base = static_cast<int>(rule) % kAny;
  return static_cast<Rule>(parity == Parity::any ? base + kAny : base);
}

std::string_view to_string(Rule rule) { return kRuleNames[static_cast<std::size_t>(rule)]; }

Rule parse_rule(std::string_view text) {
  return static_cast<Rule>(
      parse_word(text, std::span(kRuleNames).first<kBuildable>(), "rule", "rule"));
}

std::vector<RewiredBond> rewired_bonds(const GraphSpec& spec) {
  const Lattice lattice = Lattice::make(spec.extents);
  if (!(spec.p >= 0 && spec.p <= 1)) {
    throw Error(ExitCode::usage, fmt::format("p = {} is out of range (0..1)", spec.p));
  }
  switch (base_rule(spec.rule)) {
    case Rule::rewire:
      return rewire_ends(lattice, spec);
    case Rule::swap:
      return rewire_swap(lattice, spec);
    case Rule::add:
      return rewire_add(lattice, spec);
    default:
      break;
  }
  throw Error(ExitCode::usage,
              "rule imported: graphs of this rule are read from a file, not "
              "built");
}

Graph build_graph(const GraphSpec& spec) {
  if (spec.bare) return bare_lattice(spec);
  if (parity_of(spec.rule) == Parity::any) return without_lattice(spec);
  return Graph(Lattice::make(spec.extents), rewired_bonds(spec), spec);
}

}  // namespace rewise
