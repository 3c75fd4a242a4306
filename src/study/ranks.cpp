#include "src/study/ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;

// Parses the integer at the beginning of the text: 4 of "4" and of Slurm's "4(x2)".
std::optional<int> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc{} || end == text || value < 0) return std::nullopt;
  return value;
}

// Environment variables with the rank, the number of ranks, and both within the node.
constexpr std::array<std::array<const char*, 4>, 3> kLaunchers{{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},                                  // Open MPI
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},  // MPICH, Intel MPI
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},  // srun
}};

bool has_leases(const std::filesystem::path& study) {
  std::error_code error;
  std::filesystem::directory_iterator entry(study / "tasks", error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".lease") return true;
  }
  return false;
}

}  // namespace

Rank rank_from(const Environment& get) {
  for (const auto& names : kLaunchers) {
    const auto rank = number(get(names[0])), size = number(get(names[1]));
    if (!rank || !size || *rank >= *size) continue;
    const int local_size = std::clamp(number(get(names[3])).value_or(*size), 1, *size);
    return {*rank, *size, number(get(names[2])).value_or(*rank % local_size), local_size, names[1]};
  }
  return {};
}

const Rank& this_rank() {
  static const Rank rank = rank_from([](const char* name) { return std::getenv(name); });
  return rank;
}

DeviceChoice share_of(const Rank& rank, DeviceChoice choice, bool listed,
                      const CudaReport& report) {
  if (rank.local_size == 1 || choice.devices.front().index < 0) return choice;
  std::vector<Device> usable = choice.devices;
  if (!listed) {
    usable.clear();
    for (const CudaDevice& device : report.devices) {
      if (!device.reason_unfit.empty()) continue;
      usable.push_back(cuda_device(device.index));
    }
  }
  choice.devices = {usable[static_cast<std::size_t>(rank.local) % usable.size()]};
  choice.reason = fmt::format("each rank of a node uses one of {} GPUs", usable.size());
  return choice;
}

int threads_of(const Rank& rank, int cores, int all) {
  return std::max(1, std::min(cores, all / rank.local_size));
}

RankPresence::RankPresence(const Rank& rank, const std::filesystem::path& folder)
    : rank_(rank.rank), joined_at_(std::chrono::steady_clock::now()) {
  if (rank.size == 1) return;
  lock_ = open_lock_file(folder / ".ranks.lock");
  if (lock_ < 0) return;
  struct flock byte {};
  byte.l_type = F_RDLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = rank_;
  byte.l_len = 1;
  ::fcntl(lock_, F_OFD_SETLK, &byte);
  while (rank_ > 0 && lower_rank_missing_ &&
         std::chrono::steady_clock::now() - joined_at_ < kMeeting) {
    lower_rank_missing_ = !lower_rank_present();
    if (lower_rank_missing_) std::this_thread::sleep_for(10ms);
  }
}

RankPresence::~RankPresence() {
  if (lock_ < 0) return;
  std::this_thread::sleep_until(joined_at_ + kMeeting);
  ::close(lock_);
}

bool RankPresence::lower_rank_present() const {
  if (rank_ == 0 || lock_ < 0) return false;
  struct flock lower {};
  lower.l_type = F_WRLCK;
  lower.l_whence = SEEK_SET;
  lower.l_len = rank_;
  return ::fcntl(lock_, F_OFD_GETLK, &lower) == 0 && lower.l_type != F_UNLCK;
}

void wait_for_other_ranks(const Rank& rank, const std::filesystem::path& study) {
  constexpr auto max_wait = 15s;
  if (rank.size == 1) return;
  const auto begin = std::chrono::steady_clock::now();
  while (has_leases(study) && std::chrono::steady_clock::now() - begin < max_wait) {
    std::this_thread::sleep_for(50ms);
  }
}

}  // namespace rewise
