// The factories of the engines agree with the table of capabilities in the registry.
#include "src/settings/engines.hpp"
#include "src/study/make_engine.hpp"

#include "src/base/error.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

TEST_CASE("every engine has the functions that belong to its capabilities") {
  for (const EngineTraits& engine : engine_registry()) {
    INFO(engine.name);
    const EngineFactory& own = factory(engine.kind);
    CHECK((own.make_subdomain != nullptr) == own.can_distribute());
    CHECK((own.why_no_team != nullptr) == own.can_distribute());
    CHECK((own.check_extents != nullptr) == engine.regular_only);
    CHECK(own.costs.ising_nanoseconds > 0);
  }
}

TEST_CASE("make_engine builds the requested engine") {
  const Graph graph = build_graph({{8, 6}, 0, Rule::rewire, 3});
  EngineSpec spec;
  spec.betas = {0.4};
  EngineOptions options;
  options.threads = 1;
  for (const EngineTraits& engine : engine_registry()) {
    CHECK(make_engine(engine.kind, graph, spec, options)->name() == engine.name);
    const BatchTask tasks[] = {{graph, spec}, {graph, spec}};
    const auto batch = make_batch(engine.kind, tasks, options);
    REQUIRE(batch->size() == 2);
    CHECK(batch->engine(1).name() == engine.name);
    if (!engine.regular_only) continue;
    CHECK(make_engine(engine.kind, nullptr, {8, 6}, spec, options)->name() == engine.name);
    CHECK_THROWS_AS(factory(engine.kind).check_extents({8, 5}), Error);
  }
}
