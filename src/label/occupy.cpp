#include "src/label/occupy.hpp"

#include "src/random/philox.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kRewiredCall = 255;  // `call` of random_words() for rewired bonds

// Returns 64 draws: bit x is set if the draw of site 64 * word + x is below the probability.
std::uint64_t draw_word(std::uint64_t word, Threshold probability, const SampleKey& key,
                        Stream stream, std::uint32_t call) {
  std::uint64_t bits = 0;
  for (std::uint64_t k = 0; k < 16; ++k) {
    const Words4 words =
        random_words(key.seed, stream, 16 * word + k, key.series, call, key.sample);
    for (unsigned j = 0; j < 4; ++j) {
      bits |= std::uint64_t{is_below(words.w[j], probability)} << (4 * k + j);
    }
  }
  return bits;
}

void draw_mask(std::uint64_t sites, Threshold probability, const SampleKey& key, Stream stream,
               std::uint32_t call, std::vector<std::uint64_t>& mask) {
  for (std::uint64_t word = 0; 64 * word < sites; ++word) {
    mask[word] = draw_word(word, probability, key, stream, call);
  }
  if (sites % 64 != 0) mask[sites / 64] &= (std::uint64_t{1} << sites % 64) - 1;
}

// Clears the lattice bonds that rewiring has moved elsewhere.
void remove_gone(const Graph& graph, BondConfiguration& out) {
  const auto d = static_cast<unsigned>(graph.lattice().dim);
  graph.for_each_gone([&](Bond bond) {
    const std::uint64_t site = bond / d;
    out.bonds[bond % d][site / 64] &= ~(std::uint64_t{1} << site % 64);
  });
}

}  // namespace

void draw_bonds(const Graph& graph, Threshold probability, const SampleKey& key,
                BondConfiguration& out) {
  const Stream stream = Stream::percolation_bond;
  out.present_sites.clear();
  out.extra.clear();
  for (int k = 0; k < graph.lattice().dim; ++k) {
    draw_mask(graph.sites(), probability, key, stream, static_cast<std::uint32_t>(k),
              out.bonds[static_cast<std::size_t>(k)]);
  }
  remove_gone(graph, out);
  for (const RewiredBond& r : graph.rewired_bonds()) {
    const Words4 words =
        random_words(key.seed, stream, r.bond / 4, key.series, kRewiredCall, key.sample);
    if (is_below(words.w[r.bond % 4], probability)) out.extra.push_back({r.a, r.b});
  }
}

}  // namespace rewise
