#include "experiments/device.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <array>

#include "src/base/error.hpp"
#include "src/base/words.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {

Device choose_device(std::string_view word, std::string_view engine, std::string_view origin) {
  constexpr std::array<std::string_view, 3> words{"auto", "cpu", "cuda"};
  const auto choice = parse_word(word, words, "device", origin);
  if (choice == 1) return {"cpu", "", -1};
  const CudaReport report = cuda_report();
  std::string why = report.reason_none;
  if (why.empty() && engine != "bundle") {
    why = fmt::format("the {} engine runs on the CPU only", engine);
  }
  if (choice == 2) {
    if (why.empty()) {
      const int index = cuda_devices().front().index;
      return {fmt::format("cuda:{}", index), "", index};
    }
    throw Error(ExitCode::device,
                fmt::format("{}: cuda cannot be used: {} (use cpu or auto)", origin, why));
  }
  if (why.empty()) {
    why = fmt::format("auto takes the CPU; --device cuda takes {}", report.devices.front().name);
  }
  return {"cpu", why, -1};
}

int thread_count(int asked) { return asked > 0 ? asked : omp_get_num_procs(); }

}  // namespace rewise
