#include "experiments/device.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <array>

#include "src/base/error.hpp"
#include "src/base/words.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {

Device choose_device(std::string_view word, std::string_view origin) {
  constexpr std::array<std::string_view, 3> words{"auto", "cpu", "cuda"};
  const auto choice = parse_word(word, words, "device", origin);
  if (choice == 1) return {"cpu", ""};
  const CudaReport report = cuda_report();
  const std::string why =
      report.reason_none.empty()
          ? fmt::format("this version's engines run on the CPU only, although there is {}",
                        report.devices.front().name)
          : report.reason_none;
  if (choice == 2) {
    throw Error(ExitCode::device,
                fmt::format("{}: cuda cannot be used: {} (use cpu or auto)", origin, why));
  }
  return {"cpu", why};
}

int thread_count(int asked) { return asked > 0 ? asked : omp_get_num_procs(); }

}  // namespace rewise
