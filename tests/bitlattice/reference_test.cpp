// The bitlattice engine against the slow reference, bit by bit after each sweep: every shape,
// update, start and instruction set. The decision function of the CUDA kernel is run on the host.
#include "tests/bitlattice/reference.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "src/bitlattice/bitlattice.hpp"
#include "src/bitlattice/decide.hpp"
#include "src/bitlattice/strip.hpp"
#include "tests/bitlattice/shapes.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/instruction_sets.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

EngineSpec spec_for(const std::vector<std::uint32_t>& extents, LocalUpdate local) {
  EngineSpec spec;
  const double tc = extents.size() == 1 ? 1.0 : 1.13 * static_cast<double>(2 * extents.size() - 2);
  spec.betas = {1 / tc, 0.45 / tc};
  spec.replicas = 2;
  spec.seed = 0x123456789ABCDEFull + extents[0];
  spec.local = local;
  return spec;
}

std::string name_of(const std::vector<std::uint32_t>& extents, LocalUpdate local) {
  std::string name(to_string(local));
  for (const auto extent : extents) name.append(" ").append(std::to_string(extent));
  return name;
}

void compare(const BitlatticeReference& reference, Engine& engine, std::size_t sites) {
  std::vector<std::uint8_t> spins(sites);
  const std::size_t replicas = 2;
  for (std::size_t replica = 0; replica < reference.replicas(); ++replica) {
    engine.spins(static_cast<std::uint32_t>(replica / replicas),
                 static_cast<std::uint32_t>(replica % replicas), spins);
    INFO("replica " << replica);
    REQUIRE(spins == reference.spins(replica));
  }
  Observation seen;
  engine.measure(seen);
  const Observation expected = reference.measure();
  CHECK(seen.bond_sum == expected.bond_sum);
  CHECK(seen.magnetisation == expected.magnetisation);
  CHECK(seen.cluster_size.empty());
}

// A sweep of replica 0 by decide_group, group by group.
template <int kDim, bool kDownhill>
void sweep_on_host(const bitlattice::Layout& layout, const bitlattice::Draws& draws,
                   std::vector<std::uint32_t>& spins) {
  using namespace bitlattice;
  for (int colour = 0; colour < 2; ++colour) {
    std::vector<std::uint32_t> fresh = spins;
    const Words all{0, layout.colour_words()};
    for (std::uint64_t which = 0; which < strips(all); ++which) {
      Strip strip;
      load_strip(layout, spins.data(), colour, strip_of(all, which), strip);
      for (std::uint32_t n = 0; n < strip.pieces; ++n) {
        const Piece& piece = strip.piece[n];
        for (std::uint32_t at = 0; at < piece.words; at += kGroupWords) {
          std::uint32_t x[kGroupWords][2 * kDim], flips[kGroupWords];
          for (std::uint32_t w = 0; w < kGroupWords; ++w) {
            for (int k = 0; k < 2 * kDim; ++k) {
              x[w][k] = piece.own[at + w] ^ piece.neighbour[k][at + w];
            }
          }
          const auto group = static_cast<std::uint32_t>((piece.first + at) / kGroupWords);
          const unsigned zeros = std::min(common_zeros(draws), (group + draws.call[0].lo) % 3);
          zeros == 0   ? decide_group<kDim, kDownhill, 0>(draws, item_of(group, colour), x, flips)
          : zeros == 1 ? decide_group<kDim, kDownhill, 1>(draws, item_of(group, colour), x, flips)
                       : decide_group<kDim, kDownhill, 2>(draws, item_of(group, colour), x, flips);
          const std::uint64_t base = (colour == 0 ? 0 : layout.colour_words()) + piece.first + at;
          for (std::uint32_t w = 0; w < kGroupWords; ++w) {
            fresh[base + w] ^= flips[w] & piece.sites[at + w];
          }
        }
      }
    }
    spins = fresh;
  }
}

void sweep_on_host(const bitlattice::Layout& layout, const bitlattice::Draws& draws,
                   LocalUpdate rule, std::vector<std::uint32_t>& spins) {
  with_lattice_dim(layout.dim, [&]<int kDim>() {
    certain_downhill(rule) ? sweep_on_host<kDim, true>(layout, draws, spins)
                           : sweep_on_host<kDim, false>(layout, draws, spins);
  });
}

}  // namespace

TEST_CASE("bitlattice engine equals the reference after every sweep") {
  for (const auto& extents : bitlattice_shapes()) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      INFO(name_of(extents, local));
      const EngineSpec spec = spec_for(extents, local);
      BitlatticeReference reference(extents, spec);
      std::size_t sites = 1;
      for (const auto extent : extents) sites *= extent;
      EngineOptions options;
      options.threads = 3;
      const auto engine = make_bitlattice_engine(extents, spec, options);
      compare(reference, *engine, sites);
      for (int n = 0; n < (sites < 3000 ? 6 : 2); ++n) {
        engine->advance({1, 0}, 1);
        reference.sweep();
        compare(reference, *engine, sites);
      }
    }
  }
}

TEST_CASE("bitlattice engine: every instruction set makes the same moves") {
  for (const auto& extents : {std::vector<std::uint32_t>{514, 12}, {66, 6, 4}}) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      const EngineSpec spec = spec_for(extents, local);
      const auto hash = [&] {
        const auto engine = make_bitlattice_engine(extents, spec, {});
        engine->advance({1, 0}, 40);
        Observation seen;
        engine->measure(seen);
        return std::pair(engine->trajectory_hash(), seen.bond_sum);
      };
      const auto expected = hash();
      for_each_instruction_set([&](const std::string& name) {
        INFO(name_of(extents, local) << ", " << name);
        CHECK(hash() == expected);
      });
    }
  }
}

TEST_CASE("bitlattice engine: the decisions of the CUDA kernel, run on the host") {
  using namespace bitlattice;
  for (const auto& extents : bitlattice_shapes()) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      INFO(name_of(extents, local));
      EngineSpec spec = spec_for(extents, local);
      spec.betas.resize(1);
      spec.replicas = 1;
      spec.start = Start::hot;
      const auto engine = make_bitlattice_engine(extents, spec, {});
      const Layout layout = Layout::make(extents);
      const EngineState state = engine->save();
      std::vector<std::uint32_t> spins(layout.words());
      std::memcpy(spins.data(), state.bytes.data(), state.bytes.size());
      const ThresholdDigits digits(layout.dim, spec.model, spec.betas[0], local);
      for (std::uint32_t step = 0; step < 12; ++step) {
        sweep_on_host(layout, make_draws(digits, spec.seed, 0, step), local, spins);
      }
      engine->advance({3, 0}, 4);
      const EngineState after = engine->save();
      CHECK(std::memcmp(spins.data(), after.bytes.data(), after.bytes.size()) == 0);
    }
  }
}
