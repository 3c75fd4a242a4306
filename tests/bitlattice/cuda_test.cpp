// The bitlattice engine makes the same moves on CUDA as on the CPU, bit for bit, and each continues
// from the states of the other.
#include <memory>
#include <string>

#include "src/bitlattice/bitlattice.hpp"
#include "tests/bitlattice/shapes.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace cuda_test {
namespace {

EngineSpec spec_of(std::size_t dim, LocalUpdate local) {
  EngineSpec spec;
  const double tc = dim == 1 ? 1.0 : 1.13 * static_cast<double>(2 * dim - 2);
  spec.betas = {1 / tc, 0.5 / tc};
  spec.replicas = 2;
  spec.seed = 20261121;
  spec.local = local;
  return spec;
}

std::unique_ptr<Engine> on(int device, const std::vector<std::uint32_t>& extents,
                           const EngineSpec& spec) {
  EngineOptions options;
  options.device = device;
  options.threads = 4;
  return make_bitlattice_engine(extents, spec, options);
}

std::vector<std::vector<std::uint32_t>> shapes() {
  auto shapes = bitlattice_shapes();
  shapes.push_back({8192, 16});  // several blocks along a row
  shapes.push_back({8200, 18});
  shapes.push_back({1024, 1024});
  shapes.push_back({128, 64, 32});
  return shapes;
}

}  // namespace

TEST_CASE("bitlattice engine: same moves on CUDA and CPU over shapes and updates", "[gpu]") {
  std::size_t cases = 0;
  for (const auto& extents : shapes()) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      std::string name(to_string(local));
      for (const auto extent : extents) name.append(" ").append(std::to_string(extent));
      INFO(name);
      const EngineSpec spec = spec_of(extents.size(), local);
      const auto cpu = on(-1, extents, spec), gpu = on(0, extents, spec);
      check_same(*cpu, *gpu);
      cpu->advance({2, 0}, 10);
      gpu->advance({2, 0}, 10);
      check_same(*cpu, *gpu);
      ++cases;
    }
  }
  CHECK(cases >= 80);
}

TEST_CASE("bitlattice engine: checkpoints cross devices", "[gpu]") {
  for (const auto& extents : std::vector<std::vector<std::uint32_t>>{{514, 20}, {66, 6, 8}}) {
    const EngineSpec spec = spec_of(extents.size(), LocalUpdate::metropolis);
    const auto whole = on(-1, extents, spec);
    whole->advance({1, 0}, 30);
    auto engine = on(0, extents, spec);
    for (const int device : {-1, 0, -1}) {
      engine->advance({1, 0}, 10);
      const EngineState state = engine->save();
      engine = on(device, extents, spec);
      engine->restore(state);
    }
    check_same(*whole, *engine);
  }
}

TEST_CASE("bitlattice engine: a tiny case for the sanitizer", "[gpu][tiny]") {
  for (const auto& extents :
       std::vector<std::vector<std::uint32_t>>{{130, 6}, {256, 4}, {6, 4, 4}}) {
    const EngineSpec spec = spec_of(extents.size(), LocalUpdate::metropolis);
    const auto cpu = on(-1, extents, spec), gpu = on(0, extents, spec);
    cpu->advance({1, 0}, 2);
    gpu->advance({1, 0}, 2);
    check_same(*cpu, *gpu);
  }
}

TEST_CASE("bitlattice engine: stopped on one device and continued on the other", "[gpu]") {
  const std::vector<std::uint32_t> extents{514, 20};
  const EngineSpec spec = spec_of(2, LocalUpdate::metropolis);
  const auto whole = on(-1, extents, spec);
  whole->advance({2, 0}, 3);
  int stops = 0;
  EngineOptions options;
  options.stop = [] { return true; };
  options.device = 0;
  auto engine = make_bitlattice_engine(extents, spec, options);
  while (!engine->advance({2, 0}, 3)) {
    const EngineState state = engine->save();
    options.device = ++stops % 2 == 0 ? 0 : -1;
    engine = make_bitlattice_engine(extents, spec, options);
    engine->restore(state);
  }
  CHECK(stops == 2 * 3 * 4 - 1);
  check_same(*whole, *engine);
}

}  // namespace cuda_test
