// Several processes of one job: `mpirun -n K rewise tc STUDY.toml`, or srun. They need no MPI: the
// launcher's environment says which process this is, tasks are claimed by leases in the study's
// folder, and finished tasks reach the others as files. So it works with Open MPI, MPICH, Intel MPI
// and Slurm without being built for any of them, and the launcher ends the job when a process dies.
//
// Ranks share a study if they have the same folder: the lowest of them prints, analyses and writes
// the summary. Ranks in different folders are separate processes. On a node each rank takes one
// GPU, by its local number, and its share of the cores.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "src/study/device_choice.hpp"

namespace rewise {

struct Rank {
  int rank = 0, size = 1;         // in the job
  int local = 0, local_size = 1;  // on this node
  const char* said_by = "";       // the environment variable that gives `size`
};

// Looks up environment variables by name; nullptr where there is none.
using Environment = std::function<const char*(const char* name)>;
Rank rank_from(const Environment& get);
const Rank& this_rank();  // from the process's environment

// Of the devices that a command may use, those of this rank: one of what was listed, or, where it
// is left to the program which GPU, one of all that can be used; the CPU where it is the CPU.
DeviceChoice share_of(const Rank& rank, DeviceChoice choice, bool listed,
                      const CudaReport& report = cuda_report());
// Of `cores` that this process may use of `all` in the machine.
int threads_of(const Rank& rank, int cores, int all);

// The ranks of a job that work in one folder. Each holds a shared lock on the byte of
// DIR/.ranks.lock that its number names, so that all see which lower ranks are there. Ranks start
// together: one waits for lower ones, and stays registered, for kMeeting at least.
class RanksHere {
 public:
  static constexpr std::chrono::seconds kMeeting{1};

  RanksHere(const Rank& rank, const std::filesystem::path& folder);
  ~RanksHere();
  RanksHere(const RanksHere&) = delete;
  RanksHere& operator=(const RanksHere&) = delete;

  // Whether this rank led the folder's ranks when it came. True where locks do not work: what two
  // ranks write is the same, what none writes is missing.
  bool led() const { return led_; }
  bool lower_at_work() const;

 private:
  int rank_;
  std::chrono::steady_clock::time_point came_;
  int lock_ = -1;  // descriptor
  bool led_ = true;
};

// The ranks of a job stop at the same signal: the first to end with a status other than 0 makes the
// launcher kill the rest. Waits until no process holds a task in the folder any more, for some
// seconds at most; returns at once if there are no other ranks.
void wait_for_other_ranks(const Rank& rank, const std::filesystem::path& study);

}  // namespace rewise
