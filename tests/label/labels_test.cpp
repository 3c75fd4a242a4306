// Every labelling method, with several tile edges, gives the labels of Boost.Graph.
#include "src/label/labeller.hpp"

#include <map>

#include "src/base/error.hpp"
#include "tests/label/shapes.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::labels_test;

namespace {

constexpr std::uint32_t kTiles[] = {4, 5, 16, 37, 64};

// The number of methods and tile edges whose labels differ from those of Boost.Graph.
int disagreements(const Sample& sample) {
  const auto expected = verified_labels(sample);
  int wrong = 0;
  for (int m = 0; m < kLabelMethods; ++m) {
    const auto method = static_cast<LabelMethod>(m);
    for (const std::uint32_t tile : kTiles) {
      if (!is_tiled(method) && tile != kTiles[0]) continue;
      const bool good =
          label_components(sample.configuration, method, is_tiled(method) ? tile : 0) == expected;
      if (!good) UNSCOPED_INFO(to_string(method) << ", tile " << tile);
      wrong += !good;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("labels of 200 random graphs equal those of Boost.Graph for every method") {
  int large = 0;
  for (const Sample& sample : random_samples(200, 20110517)) {
    INFO(sample.name << ", " << sample.configuration.sites << " sites");
    REQUIRE(disagreements(sample) == 0);
    large += sample.configuration.sites > 1000 && sample.edges.size() > 500;
  }
  CHECK(large > 20);
}

TEST_CASE("labels of spirals, combs, paths, full and empty lattices equal those of Boost.Graph") {
  for (const Sample& sample : hard_samples()) {
    INFO(sample.name << ", " << sample.configuration.sites << " sites");
    REQUIRE(disagreements(sample) == 0);
  }
}

TEST_CASE("the hard shapes have one component, nearly a tree") {
  const auto samples = hard_samples();
  for (std::size_t k = 0; k < 6; ++k) {
    INFO(samples[k].name);
    const auto components = components_of(label_components(samples[k].configuration));
    CHECK(components.size() == 1);
    CHECK(components[0].size > samples[k].configuration.sites * 2 / 5);
    // A tree, or nearly one, so that shortest paths are as long as possible.
    CHECK(samples[k].edges.size() <= components[0].size + 1);
  }
}

TEST_CASE("component sizes are counted by label") {
  for (const Sample& sample : random_samples(20, 3)) {
    const auto label = verified_labels(sample);
    std::map<std::uint32_t, std::uint32_t> size;
    for (const std::uint32_t l : label) ++size[l];
    size.erase(kNoLabel);
    const auto components = components_of(label);
    REQUIRE(components.size() == size.size());
    auto next = size.begin();
    for (const Component& c : components) {
      CHECK(c.label == next->first);
      CHECK(c.size == next->second);
      ++next;
    }
  }
}

TEST_CASE("label relaxation counts its passes, including the last one without changes") {
  const Lattice lattice = Lattice::make({64, 4});
  BondConfiguration configuration(lattice);
  std::vector<Site> label(configuration.sites);
  Labeller relax(LabelMethod::self_label_relax, lattice, configuration.sites, 4);
  relax.run(configuration, label);
  CHECK(relax.passes() == 1);  // without bonds: only the pass without changes
  const int along = lattice.extent[0] == 64 ? 0 : 1;
  Site site = 0;
  for (int step = 0; step < 63; ++step, site = lattice.forward(site, along)) {
    configuration.occupy(site, along);
  }
  relax.run(configuration, label);
  CHECK(relax.passes() == 1 + 2);
  CHECK(label[site] == 0);
  Labeller sew(LabelMethod::self_label_sew, lattice, configuration.sites, 4);
  sew.run(configuration, label);
  CHECK(sew.passes() == 0);
}

TEST_CASE("names of labelling methods, and errors for wrong ones") {
  CHECK(parse_label_method("", "--method") == LabelMethod::fast);
  CHECK(parse_label_method("union-find", "--method") == LabelMethod::fast);
  CHECK(label_methods(&LabelTraits::whole) == "fast, label-equivalence, kalentev");
  for (int m = 0; m < kLabelMethods; ++m) {
    const auto method = static_cast<LabelMethod>(m);
    CHECK(parse_label_method(to_string(method), "--method") == method);
    if (!is_tiled(method)) {
      CHECK_THROWS_AS(tile_edge(method, 2, 16, "--tile"), Error);
      continue;
    }
    CHECK(tile_edge(method, 2, 5, "--tile") == 5);
    CHECK_THROWS_AS(tile_edge(method, 2, 3, "--tile"), Error);
    CHECK_THROWS_AS(tile_edge(method, 2, 65, "--tile"), Error);
  }
  CHECK(tile_method(LabelMethod::union_find_sew) == TileMethod::union_find);
  CHECK(merge_method(LabelMethod::union_find_sew) == MergeMethod::sew);
  CHECK(tile_method(LabelMethod::self_label_relax) == TileMethod::self_label);
  CHECK(merge_method(LabelMethod::self_label_relax) == MergeMethod::relax);
  CHECK_THROWS_AS(parse_label_method("self-label", "--method"), Error);
}
