// Several processes of one job: `mpirun -n K rewise tc STUDY.toml`, or srun. They do not need MPI:
// environment variables of the launcher identify the process, leases in the study's folder assign
// tasks, and finished tasks reach other processes as files. One build therefore works with Open
// MPI, MPICH, Intel MPI and Slurm, and the launcher ends the job when a process dies.
//
// Ranks with the same folder share a study: the lowest of them prints, analyses and writes the
// summary. Ranks with different folders are independent. On each node, the local rank selects one
// GPU and a share of the cores.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "src/settings/device_choice.hpp"

namespace rewise {

struct Rank {
  int rank = 0, size = 1;          // in the job
  int local = 0, local_size = 1;   // on this node
  const char* size_variable = "";  // environment variable that gave `size`
};

// Looks up an environment variable; nullptr if it is not set.
using Environment = std::function<const char*(const char* name)>;
Rank rank_from(const Environment& get);
const Rank& this_rank();  // from the process's environment

// Selects the devices of this rank: one of the listed ones or, if the GPU is not specified, one of
// all usable ones. Keeps the CPU if that was chosen.
DeviceChoice share_of(const Rank& rank, DeviceChoice choice, bool listed,
                      const CudaReport& report = cuda_report());
// Threads of this rank, if this process may use `cores` of `all` cores of the machine.
int threads_of(const Rank& rank, int cores, int all);

// Registers this rank among the ranks of the job that work in one folder. Each holds a shared lock
// on one byte of DIR/.ranks.lock, at the offset of its rank, so that all can see which lower ranks
// are present. Because ranks start together, each waits up to kMeeting for lower ones, and stays
// registered for at least that time.
class RankPresence {
 public:
  static constexpr std::chrono::seconds kMeeting{1};

  RankPresence(const Rank& rank, const std::filesystem::path& folder);
  ~RankPresence();
  RankPresence(const RankPresence&) = delete;
  RankPresence& operator=(const RankPresence&) = delete;

  // Whether no lower rank arrived within kMeeting, so that this rank leads the folder's ranks. True
  // if locks do not work: two ranks that write the same result do no harm, whereas a result that no
  // rank writes is missing.
  bool led_at_start() const { return lower_rank_missing_; }
  bool lower_rank_present() const;  // now

 private:
  int rank_;
  std::chrono::steady_clock::time_point joined_at_;
  int lock_ = -1;                   // file descriptor
  bool lower_rank_missing_ = true;  // until kMeeting after joined_at_
};

// Waits until no process holds a task in the folder, for at most 15 seconds. Needed when a job is
// stopped: the launcher kills the other ranks as soon as one ends with a status other than 0.
// Returns at once if there are no other ranks.
void wait_for_other_ranks(const Rank& rank, const std::filesystem::path& study);

}  // namespace rewise
