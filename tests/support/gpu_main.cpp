// main() of test programs that need a CUDA device. Without one the exit status is 77, "skipped".
// Listing the cases, as ctest does, needs no device.
#include <cstdio>
#include <cstring>

#include "src/cuda/devices.hpp"
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char** argv) {
  bool listing = false;
  for (int i = 1; i < argc; ++i) listing = listing || std::strncmp(argv[i], "--list", 6) == 0;
  const rewise::CudaReport report = rewise::cuda_report();
  if (!listing && !report.reason_none.empty()) {
    std::printf("skipped: %s\n", report.reason_none.c_str());
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
