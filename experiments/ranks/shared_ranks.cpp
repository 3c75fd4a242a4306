#include "experiments/ranks/shared_ranks.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <memory>
#include <new>
#include <thread>

#include "experiments/console/build_info.hpp"
#include "experiments/study/ranks.hpp"
#include "src/base/words.hpp"
#include "src/packed/shared.hpp"
#include "src/ranks/mpi.hpp"
#include "src/single/shared.hpp"
#include "src/store/state_parts.hpp"

namespace rewise {
namespace {

ranks::Transport* sharing = nullptr;

// What ranks must have in common so that they understand each other and make the same moves: the
// program, byte for byte.
std::string build_identity() {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash(XXH3_createState(),
                                                                      &XXH3_freeState);
  if (!hash) throw std::bad_alloc();
  XXH3_64bits_reset(hash.get());
  std::ifstream program("/proc/self/exe", std::ios::binary);
  for (std::vector<char> piece(std::size_t{1} << 20); program;) {
    program.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    XXH3_64bits_update(hash.get(), piece.data(), static_cast<std::size_t>(program.gcount()));
  }
  return fmt::format("{}, {}, {}, {:016x}", build_info().version, build_info().revision,
                     build_info().compiler, XXH3_64bits_digest(hash.get()));
}

// Ends the job where a rank runs another program than rank 0.
void compare_builds(ranks::Transport& transport) {
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
                                      "ranks that share a system must run the same program",
                                      r, other.substr(end + 1), other.substr(0, end), own)));
  }
  transport.barrier();
}

// Processes that the launcher started together, and that MPI does not know as one job, would each
// simulate the whole system.
void check_job_size(const Rank& launched, const ranks::Transport& transport) {
  if (transport.size() >= launched.size) return;
  throw Error(ExitCode::usage,
              fmt::format("--share-ranks: {} = {}, but MPI sees {} rank(s): the launcher is not of "
                          "the MPI that rewise was built with (start it with that MPI's mpirun, "
                          "or under Slurm with srun --mpi=pmix or pmi2)",
                          launched.said_by, launched.size, transport.size()));
}

// Rank 0's part: whatever way it ends, the others are told.
ExitCode lead(ranks::Transport& transport, const std::function<ExitCode()>& command) {
  struct Leading {
    explicit Leading(ranks::Transport& t) { sharing = &t; }
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
    // Now: a launcher that was stopped, too, gives a second, in which the others are dismissed.
    fmt::print(stderr, "rewise: {}\n", error.what());
    return ExitCode::interrupted;
  }
}

}  // namespace

void add_share_ranks(CLI::App& app, bool& share, std::string& route) {
  add_flag(app, "--share-ranks", share,
           "under mpirun or srun: the ranks share every system,\n"
           "each a slab on its GPU or its cores (packed engine;\n"
           "single engine: sweeps, Swendsen-Wang)");
  add_text(app, "--share-route", route, "WORD",
           "how spins go from a rank's GPU to another's: auto, the\n"
           "first of these that there is: peer (one copies from\n"
           "the other's memory: one machine), direct (MPI that takes\n"
           "addresses on a GPU: auto asks the library), host");
  require(app, "--share-route", "--share-ranks");
}

ExitCode with_ranks(const RankOptions& options, const std::function<ExitCode()>& command) {
  if (!options.share) return command();
  constexpr std::string_view routes[]{"auto", "peer", "direct", "host"};
  const auto route = parse_word(options.route, routes, "route", "--share-route");
  const Rank launched = this_rank();  // before MPI, which may set variables of its own
  const auto transport = ranks::join_mpi();
  check_job_size(launched, *transport);
  transport->set_device_route(static_cast<ranks::DeviceRoute>(route));
  compare_builds(*transport);
  if (transport->rank() == 0) return lead(*transport, command);
  sharing = transport.get();
  const auto on = [&](bool cuda) {
    EngineOptions own;
    own.threads = threads_of_rank(options.threads);
    if (options.device != "auto" && options.device.starts_with("cuda") != cuda) {
      throw Error(ExitCode::device,
                  fmt::format("--device {}: rank 0 is on {}, and ranks that share a system need "
                              "devices of one kind",
                              options.device, cuda ? "cuda" : "cpu"));
    }
    if (!cuda) return own;
    const std::string text = options.device.starts_with("cuda") ? options.device : "cuda";
    own.device = device_of_rank(text, EngineKind::packed, "--device", 0).devices.front().index;
    return own;
  };
  const auto make = [&](std::span<const std::uint8_t> recipe) {
    EngineKind engine{};
    RecipeReader reader(recipe);
    reader(engine);
    return engine == EngineKind::packed ? make_packed_share(recipe, *transport, on)
                                        : make_single_share(recipe, *transport, on);
  };
  follow(*transport, make, write_part_file);
  return ExitCode::done;
}

ranks::Transport* shared_ranks() { return sharing; }

DeviceChoice device_of_rank(const std::string& text, EngineKind engine, const std::string& origin,
                            double cpu_seconds) {
  if (sharing == nullptr) return choose_device(text, engine, origin, cpu_seconds, Teams::allowed);
  return share_of(
      this_rank(),
      choose_devices(text, engine, origin, report_for(text), Teams::refused, cpu_seconds),
      text.starts_with("cuda:"));
}

int threads_of_rank(std::uint64_t asked) {
  if (asked > 0) return static_cast<int>(asked);
  if (sharing == nullptr) return thread_count(0);
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  return threads_of(this_rank(), thread_count(0), all);
}

// Ranks on one device each hold their slab there.
void share_need(MemoryNeed& need, double kept, bool gathers) {
  if (sharing == nullptr) return;
  const double all = this_rank().size, here = this_rank().local_size / all;
  need.engine *= here;
  need.device /= all;
  if (!gathers) need.saving = here * kept;
}

}  // namespace rewise
