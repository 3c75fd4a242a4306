// cuda_report() and cuda_devices(), on any machine with or without devices.
#include "src/cuda/devices.hpp"

#include "tests/support/catch.hpp"

TEST_CASE("a report names its devices or says why there are none") {
  const rewise::CudaReport report = rewise::cuda_report();
  const auto devices = rewise::cuda_devices();
  CHECK(devices.empty() == !report.reason_none.empty());
  CHECK(devices.size() <= report.devices.size());
  CHECK(report.built_in == (report.runtime >= 12000));
  CHECK(report.reason_none.find('\n') == std::string::npos);
  for (const auto& device : devices) {
    CHECK_FALSE(device.name.empty());
    CHECK(device.memory > 0);
    CHECK(device.major >= 3);
    CHECK(device.multiprocessors > 0);
    CHECK(device.reason_unfit.empty());
    const std::uint64_t free = rewise::free_memory(device.index);
    CHECK(free > 0);
    CHECK(free <= device.memory);
  }
}

TEST_CASE("a build without CUDA says so") {
  const rewise::CudaReport report = rewise::cuda_report();
#if defined(REWISE_HAVE_CUDA)
  CHECK(report.built_in);
#else
  CHECK_FALSE(report.built_in);
  CHECK(report.devices.empty());
  CHECK(report.reason_none.find("cmake --preset cuda") != std::string::npos);
#endif
}
