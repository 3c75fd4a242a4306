#include "src/label/run_table.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/label/runs.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/label/runs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

struct OccupiedBonds {
  const BondConfiguration& configuration;

  std::uint64_t word(std::uint64_t a, std::uint64_t, int direction, std::uint64_t count,
                     std::uint64_t) const {
    return configuration.bits_from(a, direction) & (~std::uint64_t{0} >> (64 - count));
  }
};

void label_runs(const BondConfiguration& configuration, RunTable& runs, Site* label) {
  const OccupiedBonds bonds{configuration};
  RunJoiner<OccupiedBonds> joiner(configuration.lattice, runs, bonds);
  joiner.join();
  for (const SitePair& bond : configuration.extra) {
    joiner.join_places(runs.place(bond.a), runs.place(bond.b));
  }
  // parent[run] is a smaller run, so its entry already is the smallest site of the component.
  std::uint32_t* const parent = runs.parent.get();
  std::uint32_t run = 0;
  std::uint64_t open = 0;  // start of the previous run
  Site smallest = 0;
  for (std::uint64_t row = 0; row < runs.rows; ++row) {
    for (std::uint64_t w = 0; w < runs.row_words; ++w) {
      for (std::uint64_t starts = runs.words[row * runs.row_words + w].starts; starts != 0;
           starts &= starts - 1, ++run) {
        const std::uint64_t begin =
            row * runs.length + 64 * w + static_cast<unsigned>(std::countr_zero(starts));
        std::fill(label + open, label + begin, smallest);
        smallest = parent[run] == run ? static_cast<Site>(begin) : parent[parent[run]];
        parent[run] = smallest;
        open = begin;
      }
    }
  }
  std::fill(label + open, label + configuration.sites, smallest);
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {

HWY_EXPORT(label_runs);

void label_by_runs(const BondConfiguration& configuration, RunTable& runs, std::span<Site> label) {
  HWY_DYNAMIC_DISPATCH(label_runs)(configuration, runs, label.data());
}

}  // namespace rewise
#endif
