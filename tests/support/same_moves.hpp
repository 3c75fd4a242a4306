// Comparisons of two engines of the same specification on any devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "src/engine/engine.hpp"
#include "tests/support/catch.hpp"

namespace rewise::oracle {

inline void check_same(const Observation& x, const Observation& y) {
  for_each_column(
      [](const ColumnInfo& column, const auto& a, const auto& b) {
        INFO(column.name);
        CHECK(a == b);
      },
      x, y);
  CHECK(x.cluster_updates == y.cluster_updates);
}

// Checks that configurations, and sums since the last measurement, are equal.
inline void check_same(Engine& a, Engine& b) {
  CHECK(a.trajectory_hash() == b.trajectory_hash());
  Observation x, y;
  a.measure(x);
  b.measure(y);
  check_same(x, y);
}

// The configurations of an engine, its sums since the last measurement, and its checkpoint.
struct Seen {
  std::uint64_t hash;
  Observation observation;
  EngineState state;
};

inline Seen look(Engine& engine) {
  Seen seen{engine.trajectory_hash(), {}, engine.save()};
  engine.measure(seen.observation);
  return seen;
}

inline void check_seen(const Seen& x, const Seen& y) {
  CHECK(x.hash == y.hash);
  check_same(x.observation, y.observation);
  CHECK(x.state.step == y.state.step);
  CHECK(x.state.bytes == y.state.bytes);
}

inline EngineOptions with_threads(int threads) {
  EngineOptions options;
  options.threads = threads;
  return options;
}

// Checks that f throws Error(code) whose message contains `part`.
template <class F>
void expect(ExitCode code, const std::string& part, F&& f) {
  try {
    f();
    FAIL("no error");
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.exit_code() == code);
    CHECK(std::string(error.what()).find(part) != std::string::npos);
  }
}

struct LatticeCase {
  std::vector<std::uint32_t> extents;
  double p;
  Rule rule;
};

// Each shape with p = 0, 0.05, 0.5 and 1 and every rule (short chains with one rule).
inline std::vector<LatticeCase> lattice_cases(
    const std::vector<std::vector<std::uint32_t>>& shapes) {
  std::vector<LatticeCase> cases;
  for (const auto& shape : shapes) {
    for (const double p : {0.0, 0.05, 0.5, 1.0}) {
      for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
        if (p == 0.0 && rule != Rule::rewire) continue;
        if (shape.size() == 1 && shape[0] < 70 && rule != Rule::rewire) continue;
        cases.push_back({shape, p, rule});
      }
    }
  }
  return cases;
}

// Three colours: a hub of up to `spokes` bonds, odd cycles, and isolated sites at the end.
inline Graph irregular_graph(std::uint32_t sites, std::uint32_t spokes = 90) {
  std::vector<std::uint8_t> colour(sites, 0);
  for (std::uint32_t s = 1; s < sites; ++s) colour[s] = static_cast<std::uint8_t>(1 + s % 2);
  std::vector<RewiredBond> bonds;
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    if (colour[a] != colour[b]) bonds.push_back({bonds.size(), a, b});
  };
  for (std::uint32_t s = 1; s <= spokes; ++s) join(0, s * (sites / (spokes + 2)));
  for (std::uint32_t s = 1; s < sites - sites / 4; ++s) join(s, s + 1);
  for (std::uint32_t s = 1; s + 32 < sites - sites / 10; s += 2) join(s, s + 31 + (s + 32) % 2);
  return Graph(sites, bonds, colour, 3, "irregular");
}

}  // namespace rewise::oracle
