// Rule `add` (Newman & Watts 1999): the lattice stays whole; with probability p per bond one more
// bond joins two uniformly drawn sites of opposite colour that are not yet joined. Added bonds are
// numbered from lattice.bonds() on, in the order of the bonds that brought them; a is of colour 0.
// Cost: proportional to the number of added bonds.
#include <fmt/format.h>

#include "graphs/gaps.hpp"
#include "graphs/rules.hpp"
#include "src/base/error.hpp"
#include "src/base/stop.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kTries = 256;

class Adder {
 public:
  Adder(const Lattice& lattice, const GraphSpec& spec, std::uint64_t expected)
      : lattice_(lattice), seed_(spec.seed), shortcuts_(expected) {
    added_.reserve(expected);
  }

  void add_for(Bond parent) {
    for (std::uint32_t attempt = 0; attempt < kTries; ++attempt) {
      const Words4 words = random_words(seed_, Stream::graph_add, parent, 0, 0, attempt);
      const Site a = lattice_.site_of_colour(0, uniform_below(word64(words, 0), half_));
      const Site b = lattice_.site_of_colour(1, uniform_below(word64(words, 1), half_));
      if (is_free(a, b)) return join(a, b);
    }
    add_exhaustively(parent);
  }

  std::vector<RewiredBond> take() { return std::move(added_); }

 private:
  bool is_free(Site a, Site b) const {
    return !are_joined(lattice_, shortcuts_, a, b, [](Bond) { return false; });
  }
  void join(Site a, Site b) {
    added_.push_back({lattice_.bonds() + added_.size(), a, b});
    shortcuts_.join(a, b);
  }

  // So dense a graph is small: list all pairs that are free.
  void add_exhaustively(Bond parent) {
    std::vector<std::pair<Site, Site>> free;
    for (std::uint32_t i = 0; i < half_; ++i) {
      for (std::uint32_t j = 0; j < half_; ++j) {
        const Site a = lattice_.site_of_colour(0, i), b = lattice_.site_of_colour(1, j);
        if (is_free(a, b)) free.emplace_back(a, b);
      }
    }
    if (free.empty()) {
      throw Error(
          ExitCode::usage,
          fmt::format("rule add: after {} added bonds every pair of opposite colour among the "
                      "{} sites is joined; a larger lattice or a smaller p is needed",
                      added_.size(), lattice_.sites()));
    }
    const Words4 words = random_words(seed_, Stream::graph_add, parent, 0, 0, kTries);
    const auto [a, b] = free[uniform_below_wide(word64(words, 0), free.size())];
    join(a, b);
  }

  const Lattice& lattice_;
  std::uint64_t seed_;
  std::uint32_t half_ = static_cast<std::uint32_t>(lattice_.sites() / 2);
  Shortcuts shortcuts_;
  std::vector<RewiredBond> added_;
};

}  // namespace

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

}  // namespace rewise
