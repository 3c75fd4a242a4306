// The launch helper: every item is reached with any launch shape, and errors name the place of the
// launch.
#include "src/cuda/launch.hpp"

#include <numeric>
#include <vector>

#include "src/cuda/device_buffer.hpp"
#include "src/cuda/stream.hpp"
#include "tests/cuda/device_code.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

TEST_CASE("cover gives one thread per item, up to what CUDA allows") {
  CHECK(cover(0).blocks == 1);
  CHECK(cover(1).blocks == 1);
  CHECK(cover(256).blocks == 1);
  CHECK(cover(257).blocks == 2);
  CHECK(cover(1000, 100).blocks == 10);
  CHECK(cover(~std::uint64_t{0}).blocks == 1u << 30);
}

TEST_CASE("a grid-stride kernel reaches every item with any shape") {
  const CudaStream stream;
  std::vector<std::uint32_t> expected(10007);
  std::iota(expected.begin(), expected.end(), 5u);
  LaunchShape cooperative{4, 128};
  cooperative.cooperative = true;
  for (const LaunchShape& shape : {cover(10007), LaunchShape{1, 32}, LaunchShape{3, 64},
                                   LaunchShape{4, 128, 1024}, cooperative}) {
    DeviceBuffer<std::uint32_t> out(10007);
    test::queue_count_up(5, out.view(), shape, stream.get());
    CHECK(out.to_host(stream.get()) == expected);
  }
}

TEST_CASE("an invalid launch is an error that names its place") {
  const CudaStream stream;
  DeviceBuffer<std::uint32_t> out(10);
  try {
    test::queue_count_up(0, out.view(), LaunchShape{1, 4096}, stream.get());
    FAIL("4096 threads per block were launched");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::device);
    const std::string text = error.what();
    CHECK(text.find("tests/cuda/device_code.cu:") == 0);
    CHECK(text.find("launching a kernel") != std::string::npos);
  }
  test::queue_count_up(0, out.view(), cover(10), stream.get());
  CHECK(out.to_host(stream.get())[9] == 9);
}
