// FlatMap against std::map under random insertions, changes and deletions.
#include "graphs/flat_map.hpp"

#include <map>

#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using rewise::FlatMap;

TEST_CASE("FlatMap equals std::map") {
  CHECK(rewise::oracle::counterexample([] {
          FlatMap<std::uint32_t> map;
          std::map<std::uint64_t, std::uint32_t> model;
          // Few distinct keys, so that chains form and deletions leave holes in them.
          const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
              400, rc::gen::pair(rc::gen::inRange(0, 60), rc::gen::inRange(0, 3)));
          std::uint32_t value = 0;
          for (const auto& [small, action] : steps) {
            const std::uint64_t key = static_cast<std::uint64_t>(small) << (small % 40);
            if (action == 0) {
              map.erase(key);
              model.erase(key);
            } else {
              RC_ASSERT(map.put(key, ++value) == !model.contains(key));
              model[key] = value;
            }
            RC_ASSERT(map.size() == model.size());
          }
          for (const auto& [key, expected] : model) {
            RC_ASSERT(map.find(key) != nullptr);
            RC_ASSERT(*map.find(key) == expected);
          }
          std::size_t visited = 0;
          map.for_each([&](std::uint64_t key, std::uint32_t found) {
            ++visited;
            RC_ASSERT(model.at(key) == found);
          });
          RC_ASSERT(visited == model.size());
          RC_ASSERT(!map.contains(std::uint64_t{1} << 63));
        }) == "");
}
