// The division of a replica among several devices: every item belongs to exactly one part.
#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/bytespin/swendsen_wang/border_bonds.hpp"
#include "src/cuda/device_part.hpp"
#include "tests/support/catch.hpp"

namespace {

using namespace rewise;
using namespace rewise::bytespin;

// The graph of a lattice with `rewired` rewired bonds.
GraphView graph_of(const std::vector<std::uint32_t>& extents, std::uint64_t rewired) {
  GraphView graph;
  graph.lattice = Lattice::make(extents);
  graph.sites = graph.lattice.sites();
  graph.rewired_count = rewired;
  return graph;
}

using Seam = std::tuple<Site, Site, int>;

// Appends the bonds across tiles of a part to `seams`, and the numbers of its rewired bonds to
// `rewired`.
template <int kDim>
void list_bonds(const GraphView& graph, const DevicePart& part, std::vector<Seam>& seams,
                std::vector<std::uint64_t>& rewired) {
  const Geometry geometry = Geometry::make(graph.lattice);
  const Tiles tiles = Tiles::make<kDim>(graph.lattice, graph.sites);
  const BorderBonds lists = BorderBonds::make<kDim>(graph, tiles, geometry, part);
  for (std::uint64_t n = 0; n < lists.first[kDim]; ++n) {
    const BorderBond bond = border_bond<kDim>(geometry, lists, graph.sites, n);
    if (bond.exists) seams.emplace_back(bond.a, bond.b, bond.direction);
  }
  for (std::uint64_t n = lists.first[kDim]; n < lists.first[kDim + 1]; ++n) {
    rewired.push_back(lists.rewired<kDim>(n));
  }
}

template <int kDim>
void check_parts(const std::vector<std::uint32_t>& extents) {
  for (const std::uint64_t rewired : {0u, 1u, 77u}) {
    const GraphView graph = graph_of(extents, rewired);
    std::vector<Seam> whole;
    std::vector<std::uint64_t> whole_rewired;
    list_bonds<kDim>(graph, {}, whole, whole_rewired);
    CHECK(whole_rewired.size() == rewired);
    for (std::uint32_t parts = 1; parts <= 8; ++parts) {
      INFO("dim " << kDim << " x " << extents[0] << " in " << parts << " parts");
      std::vector<Seam> seams;
      std::vector<std::uint64_t> bonds;
      for (std::uint32_t part = 0; part < parts; ++part) {
        list_bonds<kDim>(graph, {part, parts}, seams, bonds);
      }
      std::sort(seams.begin(), seams.end());
      std::sort(bonds.begin(), bonds.end());
      std::vector<Seam> expected = whole;
      std::sort(expected.begin(), expected.end());
      CHECK(seams == expected);
      CHECK(bonds == whole_rewired);
    }
  }
}

}  // namespace

TEST_CASE("the parts of several devices cover every item once") {
  for (const std::uint64_t count : {0ull, 1ull, 5ull, 64ull, 1000003ull, 4294967295ull}) {
    for (std::uint32_t parts = 1; parts <= 9; ++parts) {
      std::uint64_t next = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        const DevicePart mine{part, parts};
        CHECK(mine.begin(count) == next);
        next = mine.end(count);
        CHECK(next >= mine.begin(count));
        CHECK_FALSE(mine.has(next, count));
        if (next > mine.begin(count)) CHECK(mine.has(next - 1, count));
      }
      CHECK(next == count);
    }
  }
}

TEST_CASE("the blocks of all parts cover the blocks of all replicas once") {
  for (const std::uint64_t blocks : {1ull, 2ull, 7ull, 100ull}) {
    for (const std::uint32_t replicas : {1u, 3u}) {
      for (std::uint32_t parts = 1; parts <= 8; ++parts) {
        std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
        std::uint64_t launched = 0;
        for (std::uint32_t part = 0; part < parts; ++part) {
          const ReplicaBlocks mine(blocks, replicas, {part, parts});
          launched += mine.count();
          for (std::uint32_t n = 0; n < mine.count(); ++n) {
            const ReplicaBlocks::Position place = mine.position(n);
            CHECK(place.replica < replicas);
            CHECK(place.block < blocks);
            seen.emplace(place.replica, place.block);
          }
        }
        CHECK(launched == blocks * replicas);
        CHECK(seen.size() == launched);
      }
    }
  }
}

TEST_CASE("the bonds across tiles of all parts cover those of the lattice once") {
  check_parts<2>({64, 4});
  check_parts<2>({64, 32});
  check_parts<2>({192, 70});
  check_parts<2>({640, 100});
  check_parts<3>({64, 8, 6});
  check_parts<3>({128, 34, 18});
  check_parts<4>({64, 4, 6, 4});
}

TEST_CASE("the blocks of each rank cover all of its items") {
  for (const std::uint64_t planes : {1ull, 3ull, 10ull, 33ull, 1000ull}) {
    for (const std::uint64_t plane : {2ull, 6ull, 64ull, 1000ull}) {
      for (const std::uint64_t block : {1ull, 32ull, 1024ull, 8192ull}) {
        const std::uint64_t blocks = (planes * plane + block - 1) / block;
        for (std::uint32_t first = 0; first < planes; first += 1 + first / 3) {
          for (std::uint32_t count = 1; first + count <= planes; count += 1 + count / 2) {
            const DevicePart part{first, static_cast<std::uint32_t>(planes), count, true};
            const ReplicaBlocks mine(blocks, 1, part);
            const std::uint64_t last = mine.first + mine.count();
            CHECK(part.begin(planes * plane) == first * plane);
            CHECK(part.end(planes * plane) == (first + count) * plane);
            CHECK(mine.first * block <= first * plane);
            CHECK(std::min(last * block, planes * plane) >= (first + count) * plane);
            CHECK(last <= blocks);
          }
        }
      }
    }
  }
}

template <int kDim>
void check_slabs(const std::vector<std::uint32_t>& extents) {
  const GraphView graph = graph_of(extents, 77);
  std::vector<Seam> whole;
  std::vector<std::uint64_t> whole_rewired;
  list_bonds<kDim>(graph, {}, whole, whole_rewired);
  std::sort(whole.begin(), whole.end());
  const std::uint32_t planes = extents.back(), tile = 1u << tile_bits<kDim>(kDim - 1);
  const std::uint64_t plane = graph.sites / planes;
  for (std::uint32_t first = 0; first < planes; first += tile) {
    for (std::uint32_t last = first + tile; last < planes + tile; last += tile) {
      const std::uint32_t end = std::min(last, planes);
      const auto here = [&](Site site) { return site >= first * plane && site < end * plane; };
      const auto inside = [&](const std::vector<Seam>& seams) {
        std::vector<Seam> some;
        for (const Seam& seam : seams) {
          if (here(std::get<0>(seam)) && here(std::get<1>(seam))) some.push_back(seam);
        }
        return some;
      };
      std::vector<Seam> seams;
      std::vector<std::uint64_t> rewired;
      list_bonds<kDim>(graph, {first, planes, end - first, true}, seams, rewired);
      std::sort(seams.begin(), seams.end());
      CHECK(inside(seams) == inside(whole));
      CHECK(rewired == whole_rewired);
    }
  }
}

TEST_CASE("the bonds across tiles within a slab are listed once by its rank") {
  check_slabs<2>({64, 32});
  check_slabs<2>({192, 70});
  check_slabs<2>({640, 100});
  check_slabs<3>({64, 8, 6});
  check_slabs<3>({128, 34, 18});
  check_slabs<4>({64, 4, 6, 4});
  check_slabs<4>({128, 10, 6, 8});
}

TEST_CASE("updates and methods that several devices can share") {
  const auto why = [](std::vector<std::uint32_t> extents, ClusterUpdate cluster,
                      LabelMethod method) {
    return bytespin::why_no_team(extents, cluster, {.label = method});
  };
  CHECK(why({64, 32}, ClusterUpdate::swendsen_wang, LabelMethod::fast).empty());
  CHECK(why({128, 4, 4}, ClusterUpdate::swendsen_wang, LabelMethod::fast).empty());
  CHECK(why({36, 36}, ClusterUpdate::swendsen_wang, LabelMethod::kalentev).empty());
  CHECK(why({64}, ClusterUpdate::swendsen_wang, LabelMethod::kalentev).empty());
  CHECK(why({36, 36}, ClusterUpdate::swendsen_wang, LabelMethod::fast).find("multiple of 64") !=
        std::string::npos);
  CHECK(why({64}, ClusterUpdate::swendsen_wang, LabelMethod::fast).find("2 to 4 dimensions") !=
        std::string::npos);
  CHECK(why({64, 64}, ClusterUpdate::wolff, LabelMethod::fast).find("not wolff") !=
        std::string::npos);
  CHECK(why({64, 64}, ClusterUpdate::swendsen_wang, LabelMethod::self_label_sew)
            .find("fast and kalentev") != std::string::npos);
}
