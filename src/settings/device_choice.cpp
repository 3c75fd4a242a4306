#include "src/settings/device_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <span>

#include "src/base/error.hpp"
#include "src/base/whole_number.hpp"
#include "src/base/words.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr std::string_view kPrefix = "cuda:";

enum class Kind { automatic, cpu, cuda, listed };

struct DeviceRequest {
  Kind kind;
  std::vector<std::vector<int>> listed;  // indices as given; each inner list is a team

  bool has_team() const {
    return std::any_of(listed.begin(), listed.end(),
                       [](const auto& team) { return team.size() > 1; });
  }
};

// Throws Error(usage) for "0-3"; the message shows the supported form.
void reject_range(std::string_view text, std::string_view part, std::string_view origin) {
  const auto dash = part.find('-');
  if (dash == 0 || dash == std::string_view::npos) return;
  const auto first = whole_number(part.substr(0, dash)), last = whole_number(part.substr(dash + 1));
  if (!first || !last || *first >= *last || *last - *first >= 16) return;
  std::vector<std::uint64_t> all(*last - *first + 1);
  std::iota(all.begin(), all.end(), *first);
  throw Error(ExitCode::usage, fmt::format("{}: {}: '{}' is not a whole number; write cuda:{}",
                                           origin, text, part, fmt::join(all, ",")));
}

// Parses the text of a device. `more` is a further word that error messages list as allowed.
DeviceRequest parse_request(std::string_view text, std::string_view origin,
                            std::string_view more = "") {
  if (text.starts_with(kPrefix)) {
    DeviceRequest request{Kind::listed, {}};
    std::vector<int> all;
    bool joins = false;
    for (auto rest = text.substr(kPrefix.size());;) {
      const auto mark = rest.find_first_of(",+");
      reject_range(text, rest.substr(0, mark), origin);
      const auto index = static_cast<int>(
          parse_whole(rest.substr(0, mark), 0, 1023, fmt::format("{}: {}", origin, text)));
      append_once(all, index, fmt::format("{}: {}", origin, text), fmt::format("{}", index));
      if (!joins) request.listed.emplace_back();
      request.listed.back().push_back(index);
      if (mark == std::string_view::npos) return request;
      joins = rest[mark] == '+';
      rest.remove_prefix(mark + 1);
    }
  }
  const std::array<std::string_view, 6> words{"auto", "cpu", "cuda", "cuda:0", "cuda:0,1", more};
  const auto known = std::span(words).first(more.empty() ? 5 : 6);
  if (text.starts_with("gpu")) {  // suggests "cuda", since "cpu" would be the nearest known word
    throw Error(ExitCode::usage,
                fmt::format("{}: unknown device '{}' (did you mean 'cuda'? known: {})", origin,
                            text, fmt::join(known, ", ")));
  }
  return {static_cast<Kind>(parse_word(text, known, "device", origin)), {}};
}

void check_team(std::string_view text, EngineKind engine, std::string_view origin, Teams teams) {
  if (teams == Teams::rejected) {
    throw Error(ExitCode::usage,
                fmt::format("{}: {}: only 'rewise run' and 'rewise bench' let several GPUs share "
                            "a replica (cuda:0,1 distributes tasks)",
                            origin, text));
  }
  if (!factory(engine).can_distribute()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: {}: the {} engine cannot share one replica among GPUs (use "
                            "--engine {}; of cluster updates, GPUs share swendsen-wang only)",
                            origin, text, to_string(engine), engines_with(shares_replicas)));
  }
}

bool fit(const CudaDevice& device) { return device.reason_unfit.empty(); }

// "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)"
std::string usable_text(const CudaReport& report) {
  std::vector<std::string> names;
  for (const auto& device : report.devices) {
    if (fit(device)) names.push_back(fmt::format("cuda:{} ({})", device.index, device.name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// One device, or a team of devices.
Device cuda_team(const std::vector<int>& indices) {
  Device device{fmt::format("cuda:{}", fmt::join(indices, "+")), indices.front()};
  if (indices.size() > 1) device.team = indices;
  return device;
}

void check_listed(int index, std::string_view origin, const CudaReport& report) {
  const auto found = std::find_if(report.devices.begin(), report.devices.end(),
                                  [&](const CudaDevice& d) { return d.index == index; });
  if (found != report.devices.end() && fit(*found)) return;
  const std::string why =
      found == report.devices.end()
          ? fmt::format("there is no cuda:{} here", index)
          : fmt::format("cuda:{} ({}) cannot be used: {}", index, found->name, found->reason_unfit);
  throw Error(ExitCode::device,
              fmt::format("{}: {} (usable: {})", origin, why, usable_text(report)));
}

// Adds advice in brackets: "why (advice)"; if `why` ends in brackets, inside them.
std::string with_advice(std::string why, std::string_view advice) {
  const bool has_advice = why.ends_with(')');
  if (has_advice) why.pop_back();
  return fmt::format("{}{}{})", why, has_advice ? "; or " : " (", advice);
}

DeviceChoice choose_automatically(const std::string& why_not, const CudaReport& report,
                                  double cpu_seconds) {
  // Omits the advice in parentheses, which is for users who request a GPU.
  if (!why_not.empty()) {
    return {{{"cpu", -1}}, fmt::format("auto: {}", why_not.substr(0, why_not.find(" (")))};
  }
  const auto first = std::find_if(report.devices.begin(), report.devices.end(), fit);
  if (cpu_seconds < kGpuStartSeconds) {
    return {{{"cpu", -1}},
            fmt::format("auto: the task takes about {:.1g} s on the CPU, less than the start of {}",
                        cpu_seconds, cuda_device(first->index).name)};
  }
  const auto usable = std::count_if(report.devices.begin(), report.devices.end(), fit);
  std::string reason = first->name + "; auto uses the GPU";
  if (usable > 1) reason = fmt::format("{}; auto uses the first of {} GPUs", first->name, usable);
  return {{cuda_device(first->index)}, reason};
}

// Reduces the number of threads until their stacks fit into a limited address space (ulimit -v),
// because OpenMP ends the process if a thread cannot be started.
int with_room_for_stacks(int threads) {
  rlimit space{}, stack{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return threads;
  const bool limited = ::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY;
  const std::size_t each = limited ? stack.rlim_cur : std::size_t{8} << 20;
  for (; threads > 1; --threads) {
    const std::size_t bytes = 2 * each * static_cast<std::size_t>(threads);
    void* const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) continue;
    ::munmap(room, bytes);
    return threads;
  }
  return 1;
}

}  // namespace

Device cuda_device(int index) { return {fmt::format("cuda:{}", index), index}; }

std::vector<int> DeviceChoice::indices() const {
  std::vector<int> list;
  for (const Device& device : devices) list.push_back(device.index);
  return list;
}

void check_device_words(std::string_view text, std::string_view origin, std::string_view more) {
  parse_request(text, origin, more);
}

DeviceChoice choose_devices(std::string_view text, EngineKind engine, std::string_view origin,
                            const CudaReport& report, Teams teams, double cpu_seconds) {
  const DeviceRequest request = parse_request(text, origin);
  if (request.has_team()) check_team(text, engine, origin, teams);
  if (request.kind == Kind::cpu) return {{{"cpu", -1}}, ""};
  const std::string& why_not = report.reason_none;
  if (request.kind == Kind::automatic) return choose_automatically(why_not, report, cpu_seconds);
  if (!why_not.empty()) {
    throw Error(ExitCode::device, fmt::format("{}: {} cannot be used: {}", origin, text,
                                              with_advice(why_not, "use cpu or auto")));
  }
  if (request.kind == Kind::cuda) {
    return {{cuda_device(std::find_if(report.devices.begin(), report.devices.end(), fit)->index)},
            ""};
  }
  DeviceChoice choice;
  for (const auto& team : request.listed) {
    for (const int index : team) check_listed(index, origin, report);
    choice.devices.push_back(cuda_team(team));
  }
  return choice;
}

DeviceChoice choose_device(std::string_view text, EngineKind engine, std::string_view origin,
                           double cpu_seconds, const CudaReport& report, Teams teams) {
  const DeviceRequest request = parse_request(text, origin);
  if (request.listed.size() > 1) {
    throw Error(ExitCode::usage,
                fmt::format("{}: {} lists {} devices, but this command runs one task on one "
                            "device ('rewise tc' and 'rewise sweep' distribute tasks)",
                            origin, text, request.listed.size()));
  }
  return choose_devices(text, engine, origin, report, teams, cpu_seconds);
}

DeviceChoice choose_device(std::string_view text, EngineKind engine, std::string_view origin,
                           double cpu_seconds, Teams teams) {
  return choose_device(text, engine, origin, cpu_seconds, report_for(text), teams);
}

CudaReport report_for(std::string_view text, bool all) {
  if (text == "cpu") return {};
  DevicesToTest tried{all ? DevicesToTest::Which::all : DevicesToTest::Which::first};
  if (text.starts_with(kPrefix)) {
    tried.which = DevicesToTest::Which::listed;
    try {
      for (const auto& team : parse_request(text, "").listed) {
        tried.listed.insert(tried.listed.end(), team.begin(), team.end());
      }
    } catch (const Error&) {
      // choose_devices() reports the error.
    }
  }
  return cuda_report(tried);
}

void tell_device(const DeviceChoice& choice) {
  if (choice.reason.empty()) return;
  fmt::print(stderr, "device: {} ({})\n", choice.devices.front().name, choice.reason);
}

int thread_count(int requested) {
  return with_room_for_stacks(requested > 0 ? requested : omp_get_num_procs());
}

}  // namespace rewise
