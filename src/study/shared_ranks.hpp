// `--share-ranks`: all ranks of one mpirun or srun share each replica of a command. Rank 0 runs the
// command; the others execute its orders (src/engine/subdomain.hpp). Only rank 0 prints, decides
// when to stop and writes files, except that each rank may write its part of a state
// (src/store/state_parts.hpp). A rank that fails ends the job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "src/distributed/transport.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/memory_need.hpp"

namespace rewise {

// Options for the device of a rank and for transfers between devices.
struct RankOptions {
  bool share = false;
  std::string route = "auto";
  std::string device = "cpu";
  std::uint64_t threads = 0;  // per rank; 0: the rank's share of the cores
};

// Runs the command: normally in this process; with shared ranks on rank 0, while the others follow
// and return `done` when it has ended. Throws Error(device) if this build has no MPI, and
// Error(usage) if MPI has fewer ranks than the launcher started. Ends the job if ranks run
// different builds.
ExitCode with_ranks(const RankOptions& options, const std::function<ExitCode()>& command);

// The ranks that share the replicas of the running command, or nullptr.
distributed::Transport* shared_ranks();

// Selects the device of this rank among those that the text allows (choose_devices). Without shared
// ranks, equals choose_device().
DeviceChoice device_of_rank(const std::string& text, EngineKind engine, const std::string& origin,
                            double cpu_seconds);
// Threads of one rank for `--threads`. If 0, the rank's share of the cores, or all cores without
// shared ranks.
int threads_of_rank(std::uint64_t asked);
// Reduces a memory estimate to the share of this machine and of its devices. `kept`: bytes of
// states in files; `gathers`: rank 0 gathers the final state.
void share_need(MemoryNeed& need, double kept, bool gathers);

}  // namespace rewise
