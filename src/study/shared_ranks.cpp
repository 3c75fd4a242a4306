#include "src/study/shared_ranks.hpp"

#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "src/base/count_text.hpp"
#include "src/base/digest.hpp"
#include "src/base/setting_name.hpp"
#include "src/base/words.hpp"
#include "src/distributed/mpi.hpp"
#include "src/settings/engines.hpp"
#include "src/store/state_parts.hpp"
#include "src/study/build_info.hpp"
#include "src/study/ranks.hpp"

namespace rewise {
namespace {

distributed::Transport* sharing = nullptr;

// Identity of the program. Ranks must run the same binary, so that they exchange compatible
// messages and make the same moves.
std::string build_identity() {
  Digest64 hash;
  std::ifstream program("/proc/self/exe", std::ios::binary);
  for (std::vector<char> piece(std::size_t{1} << 20); program;) {
    program.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hash.add(piece.data(), static_cast<std::size_t>(program.gcount()));
  }
  return fmt::format("{}, {}, {}, {:016x}", build_info().version, build_info().revision,
                     build_info().compiler, hash.value());
}

// Ends the job if a rank runs another program than rank 0.
void compare_builds(distributed::Transport& transport) {
  const std::string own = build_identity();
  const std::string line = fmt::format("{}\n{}", own, host_name());
  const auto all =
      transport.gather({reinterpret_cast<const std::uint8_t*>(line.data()), line.size()});
  for (std::size_t r = 1; r < all.size(); ++r) {
    const std::string other(all[r].begin(), all[r].end());
    const auto end = other.find('\n');
    if (other.substr(0, end) == own) continue;
    transport.abort(Error(ExitCode::usage,
                          fmt::format("rank {} on {} runs another build ({}) than rank 0 ({}): "
                                      "ranks that share replicas must run the same program",
                                      r, other.substr(end + 1), other.substr(0, end), own)));
  }
  transport.barrier();
}

// Detects processes that the launcher started together but MPI does not see as one job: each would
// simulate the whole system.
void check_job_size(const Rank& launched, const distributed::Transport& transport) {
  if (transport.size() >= launched.size) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: {} = {}, but MPI sees {}: the launcher does not belong to "
                          "the MPI that rewise was built with (use the mpirun of that MPI, "
                          "or under Slurm srun --mpi=pmix or pmi2)",
                          setting_name("share_ranks"), launched.size_variable, launched.size,
                          count_text(transport.size(), "rank")));
}

// Runs the command on rank 0. Dismisses the other ranks when it ends, also by an exception.
ExitCode lead(distributed::Transport& transport, const std::function<ExitCode()>& command) {
  struct Leading {
    explicit Leading(distributed::Transport& t) { sharing = &t; }
    ~Leading() {
      dismiss_followers(*sharing);
      sharing = nullptr;
    }
  };
  const Leading leading(transport);
  try {
    return command();
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::interrupted) throw;
    // Report at once: a launcher that was stopped as well leaves about a second, which dismissing
    // the other ranks may take.
    fmt::print(stderr, "rewise: {}\n", error.what());
    return ExitCode::interrupted;
  }
}

}  // namespace

ExitCode with_ranks(const RankOptions& options, const std::function<ExitCode()>& command) {
  if (!options.share) return command();
  constexpr std::string_view routes[]{"auto", "peer", "direct", "host"};
  const auto route = parse_word(options.route, routes, "route", setting_name("share_route"));
  const Rank launched = this_rank();  // before MPI starts, which may set environment variables
  const auto transport = distributed::join_mpi();
  check_job_size(launched, *transport);
  transport->set_device_route(static_cast<distributed::DeviceRoute>(route));
  compare_builds(*transport);
  if (transport->rank() == 0) return lead(*transport, command);
  sharing = transport.get();
  const auto on = [&](bool cuda) {
    EngineOptions own;
    own.threads = threads_of_rank(options.threads);
    if (options.device != "auto" && options.device.starts_with("cuda") != cuda) {
      throw Error(ExitCode::device,
                  fmt::format("{}: rank 0 uses {}, and all ranks that share replicas need "
                              "the same kind of device",
                              setting_value("device", options.device), cuda ? "cuda" : "cpu"));
    }
    if (!cuda) return own;
    const std::string text = options.device.starts_with("cuda") ? options.device : "cuda";
    own.device = device_of_rank(text, engine_with(shares_replicas), setting_name("device"), 0)
                     .devices.front()
                     .index;
    return own;
  };
  const auto make = [&](std::span<const std::uint8_t> spec_bytes) {
    EngineKind engine{};
    ByteReader reader(spec_bytes);
    reader(engine);
    return factory(engine).make_subdomain(spec_bytes, *transport, on);
  };
  follow_orders(*transport, make, write_part_file);
  return ExitCode::done;
}

distributed::Transport* shared_ranks() { return sharing; }

DeviceChoice device_of_rank(const std::string& text, EngineKind engine, const std::string& origin,
                            double cpu_seconds) {
  if (sharing == nullptr) return choose_device(text, engine, origin, cpu_seconds, Teams::allowed);
  return share_of(
      this_rank(),
      choose_devices(text, engine, origin, report_for(text), Teams::rejected, cpu_seconds),
      text.starts_with("cuda:"));
}

int threads_of_rank(std::uint64_t asked) {
  if (asked > 0) return static_cast<int>(asked);
  if (sharing == nullptr) return thread_count(0);
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  return threads_of(this_rank(), thread_count(0), all);
}

// The device memory is divided by the number of ranks, because each rank holds one slab.
void share_need(MemoryNeed& need, double kept, bool gathers) {
  if (sharing == nullptr) return;
  const double all = this_rank().size, here = this_rank().local_size / all;
  need.engine *= here;
  need.device /= all;
  if (!gathers) need.saving = here * kept;
}

}  // namespace rewise
