// Identity tests: changes of threads, calls, stops and restarts that must not change a single bit
// of the trajectory of an engine.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "src/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sampling.hpp"

namespace rewise::oracle {

inline bool same(const Observation& a, const Observation& b) {
  bool equal = a.cluster_updates == b.cluster_updates;
  for_each_column(
      [&](const ColumnInfo&, const auto& one, const auto& other) { equal = equal && one == other; },
      a, b);
  return equal;
}

struct Trace {
  std::uint64_t hash;
  Observation seen;
};

// Advances cycle by cycle and measures after some of them.
inline std::vector<Trace> uninterrupted(Engine& engine, const Schedule& schedule, int cycles,
                                        int every) {
  std::vector<Trace> traces;
  for (int cycle = 1; cycle <= cycles; ++cycle) {
    engine.advance(schedule, 1);
    if (cycle % every != 0) continue;
    traces.push_back({engine.trajectory_hash(), {}});
    engine.measure(traces.back().seen);
  }
  return traces;
}

// The same run, but at random cycles the engine is saved, destroyed and restored into a new engine
// with other options. The state includes cluster sums that await the next measurement.
inline void check_resume(EngineMaker make, const Graph& graph, const EngineSpec& spec,
                         const Schedule& schedule, const std::vector<EngineOptions>& options,
                         std::uint64_t seed) {
  const int cycles = 24, every = 3;
  const auto first = make(graph, spec, options[0]);
  const auto expected = uninterrupted(*first, schedule, cycles, every);
  std::mt19937_64 random(seed);
  auto engine = make(graph, spec, options[0]);
  std::size_t next = 0;
  for (int cycle = 1; cycle <= cycles; ++cycle) {
    if (random() % 3 == 0) {
      const EngineState state = engine->save();
      CHECK(state.step == static_cast<std::uint64_t>(cycle - 1) * schedule.steps_per_cycle());
      engine = make(graph, spec, options[random() % options.size()]);
      if (random() % 2 == 0) engine->advance(schedule, 2);  // discarded by restore()
      engine->restore(state);
      const EngineState again = engine->save();
      CHECK(again.bytes == state.bytes);
      CHECK(again.step == state.step);
      CHECK(again.engine == state.engine);
    }
    engine->advance(schedule, 1);
    if (cycle % every != 0) continue;
    Observation seen;
    engine->measure(seen);
    INFO("cycle " << cycle);
    CHECK(same(seen, expected[next].seen));
    CHECK(engine->trajectory_hash() == expected[next].hash);
    ++next;
  }
}

// The same run, stopped at varying points within its cycles (in sweeps and in cluster updates, when
// some word groups or replicas have done more updates than others). Each time a new engine with
// other options continues. Returns the number of stops.
inline int check_stops(EngineMaker make, const Graph& graph, const EngineSpec& spec,
                       const Schedule& schedule, std::vector<EngineOptions> options,
                       std::uint64_t seed) {
  const int stretches = 4, cycles = 2;
  const auto whole = make(graph, spec, options[0]);
  std::mt19937_64 random(seed);
  std::atomic<int> asked{0};
  int next = 1, stops = 0;
  for (EngineOptions& with : options) {
    with.stop = [&] { return asked.fetch_add(1) >= next; };
    with.stop_grain = 64;
  }
  auto engine = make(graph, spec, options[0]);
  for (int stretch = 0; stretch < stretches; ++stretch) {
    CHECK(whole->advance(schedule, cycles));
    while (!engine->advance(schedule, cycles)) {
      const EngineState state = engine->save();
      CHECK(state.step ==
            static_cast<std::uint64_t>(stretch) * cycles * schedule.steps_per_cycle());
      engine = make(graph, spec, options[random() % options.size()]);
      if (random() % 2 == 0) engine->advance(schedule, 1);  // discarded by restore()
      engine->restore(state);
      CHECK((engine->save().bytes == state.bytes));
      ++stops;
      asked = 0;
      next = static_cast<int>(random() % static_cast<unsigned>(4 + stops));
    }
    Observation seen, expected;
    whole->measure(expected);
    engine->measure(seen);
    INFO("stretch " << stretch << ", " << stops << " stops");
    CHECK(same(seen, expected));
    CHECK(engine->trajectory_hash() == whole->trajectory_hash());
    CHECK((engine->save().bytes == whole->save().bytes));
  }
  return stops;
}

// advance(s, a + b) equals advance(s, a) and advance(s, b). Measuring and saving change nothing.
inline void check_cycles_add_up(EngineMaker make, const Graph& graph, const EngineSpec& spec,
                                const Schedule& schedule, const EngineOptions& options) {
  const auto at_once = make(graph, spec, options), in_parts = make(graph, spec, options);
  Observation a, b, ignored;
  at_once->advance(schedule, 6);
  in_parts->advance(schedule, 1);
  in_parts->advance(schedule, 0);
  in_parts->advance(schedule, 3);
  in_parts->save();
  in_parts->trajectory_hash();
  in_parts->advance(schedule, 2);
  CHECK(at_once->trajectory_hash() == in_parts->trajectory_hash());
  at_once->measure(a);
  in_parts->measure(b);
  CHECK(same(a, b));
  CHECK(a.cluster_updates == 6u * schedule.cluster);
  // A second measurement has empty cluster sums and the same spins.
  at_once->measure(b);
  CHECK(b.bond_sum == a.bond_sum);
  CHECK(b.magnetisation == a.magnetisation);
  CHECK(b.cluster_updates == 0);
  CHECK(b.cluster_size.empty());
}

// An engine that starts from the spins of another one continues as any engine with these spins, on
// any number of threads. Spins of one temperature, or of one replica, are those of all.
inline void check_given_spins(EngineMaker make, const Graph& graph, EngineSpec spec,
                              const Schedule& schedule, const std::vector<EngineOptions>& options) {
  const auto first = make(graph, spec, options.front());
  first->advance(schedule, 3);
  const std::size_t sites = graph.sites(), each = sites * spec.replicas;
  const auto temperatures = static_cast<std::uint32_t>(spec.betas.size());
  const auto spins_of = [&](const Engine& engine) {
    std::vector<std::uint8_t> spins(temperatures * each);
    for (std::uint32_t replica = 0; replica < temperatures * spec.replicas; ++replica) {
      engine.spins(replica / spec.replicas, replica % spec.replicas,
                   std::span(spins).subspan(replica * sites, sites));
    }
    return spins;
  };
  const std::vector<std::uint8_t> spins = spins_of(*first);
  spec.start = Start::given;
  std::uint64_t hash = 0;
  for (const EngineOptions& with : options) {
    const auto engine = make(graph, spec, with);
    engine->write_spins(spins);
    CHECK(engine->trajectory_hash() == first->trajectory_hash());
    Observation seen, expected;
    engine->measure(seen);
    first->measure(expected);
    CHECK(seen.bond_sum == expected.bond_sum);
    CHECK(seen.magnetisation == expected.magnetisation);
    engine->advance(schedule, 2);
    if (hash == 0) hash = engine->trajectory_hash();
    CHECK(engine->trajectory_hash() == hash);
  }
  for (const std::size_t size : {sites, each}) {
    const auto engine = make(graph, spec, options.front());
    engine->write_spins(std::span(spins).first(size));
    std::vector<std::uint8_t> expected;
    while (expected.size() < spins.size()) {
      expected.insert(expected.end(), spins.begin(),
                      spins.begin() + static_cast<std::ptrdiff_t>(size));
    }
    CHECK((spins_of(*engine) == expected));
    CHECK_THROWS_AS(engine->write_spins(std::span(spins).first(size - 1)), Error);
    std::vector<std::uint8_t> wrong(size, 0);
    wrong[size / 2] = static_cast<std::uint8_t>(spec.model.q);
    CHECK_THROWS_AS(engine->write_spins(wrong), Error);
    CHECK((spins_of(*engine) == expected));
  }
}

// Different seeds, temperatures and replicas give different trajectories.
inline void check_differs(EngineMaker make, const Graph& graph, const EngineSpec& spec,
                          const Schedule& schedule) {
  EngineSpec other = spec;
  other.seed = spec.seed + (std::uint64_t{1} << 32);
  const auto a = make(graph, spec, {}), b = make(graph, other, {});
  a->advance(schedule, 4);
  b->advance(schedule, 4);
  CHECK(a->trajectory_hash() != b->trajectory_hash());
  std::vector<std::uint8_t> spins(graph.sites());
  std::vector<std::string> seen;
  for (std::uint32_t t = 0; t < spec.betas.size(); ++t) {
    for (std::uint32_t r = 0; r < spec.replicas; ++r) {
      a->spins(t, r, spins);
      seen.emplace_back(spins.begin(), spins.end());
    }
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

// States of another engine or size, or with a missing byte, throw Error(data) and change nothing.
inline void check_foreign_states(EngineMaker make, const Graph& graph, const EngineSpec& spec,
                                 const Schedule& schedule) {
  const auto engine = make(graph, spec, {});
  engine->advance(schedule, 3);
  const std::uint64_t hash = engine->trajectory_hash();
  const EngineState good = engine->save();
  std::vector<EngineState> bad(5, good);
  bad[0].engine = "bitlattice";
  bad[1].bytes.pop_back();
  bad[2].bytes.push_back(0);
  bad[3].bytes.clear();
  bad[4].engine.clear();
  for (const EngineState& state : bad) {
    ExitCode code = ExitCode::done;
    try {
      engine->restore(state);
    } catch (const Error& error) {
      code = error.exit_code();
    }
    CHECK(code == ExitCode::data);
    CHECK(engine->trajectory_hash() == hash);
  }
  engine->restore(good);
  CHECK(engine->trajectory_hash() == hash);
}

// Steps have 32-bit addresses: a run up to the last one works, beyond it throws Error(usage).
inline void check_last_step(EngineMaker make, const Graph& graph, const EngineSpec& spec) {
  const auto engine = make(graph, spec, {});
  EngineState state = engine->save();
  state.step = 0xFFFFFFF0ull;
  engine->restore(state);
  engine->advance({2, 1}, 3);
  ExitCode code = ExitCode::done;
  try {
    engine->advance({2, 1}, 3);
  } catch (const Error& error) {
    code = error.exit_code();
  }
  CHECK(code == ExitCode::usage);
  CHECK(engine->save().step == 0xFFFFFFF9ull);
}

}  // namespace rewise::oracle
