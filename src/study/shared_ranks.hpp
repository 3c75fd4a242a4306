// `--share-ranks`: the ranks of one mpirun or srun share every system of a command, which rank 0
// runs as if it were alone; the others follow it (src/bitlattice/shared.hpp). Of rank 0 alone come
// output, files and the decision when to stop; a rank that fails ends all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "src/distributed/transport.hpp"
#include "src/study/device_choice.hpp"
#include "src/study/need.hpp"

namespace rewise {

// The options of the command that say on what a rank computes, and how devices send to others.
struct RankOptions {
  bool share = false;
  std::string route = "auto";
  std::string device = "cpu";
  std::uint64_t threads = 0;  // of each rank; 0: its share of the cores
};

// Runs the command: alone, or where the ranks share, on rank 0, while the others follow and return
// `done` when it has ended. Error(device) where this build has no MPI; Error(usage) where MPI has
// fewer ranks than the launcher started; ranks of different builds end with one.
ExitCode with_ranks(const RankOptions& options, const std::function<ExitCode()>& command);

// The ranks that share the systems of the command that runs; nullptr where there are none.
distributed::Transport* shared_ranks();

// The device of this rank among those that the text asks for (choose_devices); where no ranks
// share, choose_device().
DeviceChoice device_of_rank(const std::string& text, EngineKind engine, const std::string& origin,
                            double cpu_seconds);
// Of `--threads`: those of one rank; its share of the cores where it asks for none, and all of them
// where no ranks share.
int threads_of_rank(std::uint64_t asked);
// What of a run's need falls to this machine and its devices. `kept`: bytes of states in files;
// `gathers`: the final one by rank 0.
void share_need(MemoryNeed& need, double kept, bool gathers);

}  // namespace rewise
