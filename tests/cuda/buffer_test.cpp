// DeviceBuffer: round trips of data, checks of ranges, moves.
#include "src/cuda/device_buffer.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include "src/cuda/devices.hpp"
#include "src/cuda/stream.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

std::vector<int> counting(std::size_t size) {
  std::vector<int> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 7);
  return numbers;
}

template <class Call>
ExitCode code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.exit_code();
  }
  return ExitCode::done;
}

}  // namespace

TEST_CASE("a device buffer returns the data it was given") {
  const CudaStream stream;
  for (const std::size_t size : {0u, 1u, 1000u, 1000003u}) {
    const auto host = counting(size);
    const DeviceBuffer<int> buffer(std::span<const int>(host), stream.get());
    CHECK(buffer.size() == size);
    CHECK(buffer.bytes() == 4 * size);
    CHECK(buffer.to_host(stream.get()) == host);
  }
}

TEST_CASE("parts of a device buffer are copied in and out, and cleared") {
  const CudaStream stream;
  const auto host = counting(100);
  DeviceBuffer<int> buffer(std::span<const int>(host), stream.get());
  const std::vector<int> patch = {-1, -2, -3};
  buffer.copy_in(patch, stream.get(), 97);
  std::vector<int> tail(4);
  buffer.copy_out(tail, stream.get(), 96);
  stream.wait();
  CHECK(tail == std::vector<int>{103, -1, -2, -3});
  buffer.clear(stream.get());
  CHECK(buffer.to_host(stream.get()) == std::vector<int>(100, 0));
}

TEST_CASE("copies beyond a device buffer are refused") {
  const CudaStream stream;
  DeviceBuffer<int> buffer(10);
  std::vector<int> host(3);
  CHECK(code_of([&] { buffer.copy_in(host, stream.get(), 8); }) == ExitCode::internal);
  CHECK(code_of([&] { buffer.copy_out(host, stream.get(), 8); }) == ExitCode::internal);
  CHECK(code_of([&] { buffer.copy_in(host, stream.get(), ~std::size_t{0}); }) ==
        ExitCode::internal);
  CHECK(code_of([&] { buffer.copy_in(host, stream.get(), 7); }) == ExitCode::done);
  stream.wait();
}

TEST_CASE("a device buffer moves") {
  const CudaStream stream;
  const auto host = counting(10);
  DeviceBuffer<int> first(std::span<const int>(host), stream.get());
  const int* const memory = first.data();
  DeviceBuffer<int> second(std::move(first));
  CHECK(second.data() == memory);
  CHECK(first.empty());
  first = std::move(second);
  CHECK(first.data() == memory);
  CHECK(first.to_host(stream.get()) == host);
}

TEST_CASE("memory from the device pool is used like any other and reused") {
  const CudaStream stream;
  const auto host = counting(1 << 20);
  const std::uint64_t before = free_memory(0);
  {
    const PooledMemory pooled;
    DeviceBuffer<int> first(std::span<const int>(host), stream.get());
    CHECK(first.to_host(stream.get()) == host);
    DeviceBuffer<int> second(std::move(first));
    CHECK(second.to_host(stream.get()) == host);
  }
  CHECK(free_memory(0) + (std::size_t{64} << 20) >= before);
  const DeviceBuffer<int> plain(std::span<const int>(host), stream.get());
  CHECK(plain.to_host(stream.get()) == host);
  const PooledMemory pooled;
  CHECK_THROWS_AS(DeviceBuffer<char>(std::size_t{1} << 50), DeviceMemoryShort);
  const DeviceBuffer<char> small(1);
  CHECK(small.data() != nullptr);
}

TEST_CASE("allocating more memory than the device has is an error that names the size") {
  try {
    const DeviceBuffer<char> buffer(std::size_t{1} << 50);
    FAIL("a petabyte was allocated");
  } catch (const DeviceMemoryShort& error) {
    CHECK(error.exit_code() == ExitCode::device);
    const std::string text = error.what();
    CHECK(text.find("1125899906842624 bytes wanted") != std::string::npos);
  }
  // The error is cleared: the next call succeeds.
  const DeviceBuffer<char> small(1);
  CHECK(small.data() != nullptr);
}
