// The bitlattice engine over ranks with CUDA devices, against the engine on the CPU: ranks that
// share a device, several devices in one process, and states that move to one process and back.
#include <string>

#include "src/bitlattice/distributed_engine.hpp"
#include "src/cuda/devices.hpp"
#include "tests/bitlattice/shapes.hpp"
#include "tests/bitlattice/shared_ranks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace shared_cuda_test {
namespace {

EngineSpec spec_of(std::size_t dim, LocalUpdate local) {
  EngineSpec spec;
  const double tc = 1.13 * static_cast<double>(2 * dim - 2);
  spec.betas = {1 / tc, 0.5 / tc};
  spec.replicas = 2;
  spec.seed = 20261122;
  spec.local = local;
  return spec;
}

EngineOptions on(int device) {
  EngineOptions options;
  options.device = device;
  options.threads = 2;
  return options;
}

std::vector<std::vector<std::uint32_t>> shapes() {
  auto shapes = bitlattice_shapes();
  std::erase_if(shapes, [](const auto& extents) { return extents.size() == 1; });
  for (const auto& more : std::vector<std::vector<std::uint32_t>>{
           {4096, 14}, {8192, 10}, {8200, 18}, {1024, 1024}, {128, 64, 32}, {4, 6, 4, 8}}) {
    shapes.push_back(more);
  }
  return shapes;
}

constexpr distributed::DeviceRoute kRoutes[]{distributed::DeviceRoute::peer,
                                             distributed::DeviceRoute::direct,
                                             distributed::DeviceRoute::host};

std::vector<std::vector<int>> teams() {
  std::vector<std::vector<int>> teams{{0, 0}, {0, 0, 0}};
  if (cuda_devices().size() > 1) teams.insert(teams.end(), {{0, 1}, {1, 0, 1, 0}});
  return teams;
}

}  // namespace

TEST_CASE("bitlattice over ranks on CUDA makes the moves of one process on the CPU", "[gpu]") {
  for (const auto& extents : shapes()) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      const EngineSpec spec = spec_of(extents.size(), local);
      const auto cpu = make_bitlattice_engine(extents, spec, on(-1));
      cpu->advance({2, 0}, 10);
      for (const int ranks : {2, 3, 4, 7}) {
        if (static_cast<std::uint32_t>(ranks) > extents.back()) continue;
        std::string name(to_string(local));
        for (const auto extent : extents) name.append(" ").append(std::to_string(extent));
        INFO(name << " on " << ranks << " ranks");
        for (const auto route : kRoutes) {
          with_ranks(
              ranks, extents, spec, on(0),
              [&](Engine& gpu) {
                gpu.advance({2, 0}, 10);
                check_same(*cpu, gpu);
              },
              route);
        }
      }
    }
  }
}

TEST_CASE("bitlattice over several devices makes the moves of one process on the CPU", "[gpu]") {
  for (const auto& extents : std::vector<std::vector<std::uint32_t>>{
           {130, 10}, {4096, 64}, {1024, 1024}, {66, 6, 8}, {128, 64, 32}, {6, 4, 8, 4}}) {
    const EngineSpec spec = spec_of(extents.size(), LocalUpdate::metropolis);
    const auto cpu = make_bitlattice_engine(extents, spec, on(-1));
    cpu->advance({1, 0}, 20);
    for (const auto& team : teams()) {
      EngineOptions options = on(team.front());
      options.devices = team;
      const auto gpus = make_bitlattice_engine(extents, spec, options);
      gpus->advance({1, 0}, 10);
      const EngineState state = gpus->save();
      gpus->advance({1, 0}, 10);
      check_same(*cpu, *gpus);
      gpus->restore(state);
      gpus->advance({1, 0}, 10);
      check_same(*cpu, *gpus);
      const auto one = make_bitlattice_engine(extents, spec, on(0));
      one->restore(state);
      one->advance({1, 0}, 10);
      check_same(*cpu, *one);
    }
  }
}

TEST_CASE("bitlattice over ranks on CUDA: a tiny case for the sanitizer", "[gpu][tiny]") {
  for (const auto& extents :
       std::vector<std::vector<std::uint32_t>>{{130, 6}, {256, 4}, {6, 4, 4}}) {
    const EngineSpec spec = spec_of(extents.size(), LocalUpdate::glauber);
    const auto cpu = make_bitlattice_engine(extents, spec, on(-1));
    cpu->advance({1, 0}, 2);
    for (const auto route : kRoutes) {
      with_ranks(
          3, extents, spec, on(0),
          [&](Engine& gpu) {
            gpu.advance({1, 0}, 2);
            check_same(*cpu, gpu);
          },
          route);
    }
  }
}

TEST_CASE("bitlattice over ranks on CUDA: a missing device is an error of its rank", "[gpu]") {
  EngineOptions options = on(0);
  options.devices = {0, 1000};
  try {
    make_bitlattice_engine({64, 64}, spec_of(2, LocalUpdate::metropolis), options);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::device);
    CHECK(std::string(error.what()).find("rank 1: --device cuda:1000") != std::string::npos);
  }
}

}  // namespace shared_cuda_test
