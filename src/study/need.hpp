// Estimates of the memory and disk space of a task (time: src/search/costs.hpp). Each engine
// estimates its own part (EngineFactory::memory) from the numbers of rewired bonds and modified
// sites that a rule makes on average. The sum is within some 20 % of the peak of a process where
// that is more than 100 MiB.
#pragma once

#include <cstdint>
#include <string>

#include "src/study/task.hpp"

namespace rewise {

struct MemoryNeed {
  double graph = 0;    // bytes, when it is there
  double build = 0;    // more while it is built
  double engine = 0;   // spins, and what it derives from the graph
  double working = 0;  // of updates under way, by all threads
  double saving = 0;   // at the end, and while a checkpoint is written
  double series = 0;
  double device = 0;  // on a CUDA device, with engine and working on it

  double of_task() const;  // at a time, on the host
  double most() const;     // with the program itself
};

// Of its series in memory, about: at most.
double series_bytes(const TaskSpec& spec);
MemoryNeed memory_need(const TaskSpec& spec, int threads, bool on_device, bool keeps_file);
// Of the spins of its systems.
double state_bytes(const TaskSpec& spec);
// Whether ranks that share its systems gather the final state for the task's own file.
bool gathers_state(const TaskSpec& spec, FinalState wanted);
// Bytes of its files, uncompressed.
double disk_need(const TaskSpec& spec, FinalState wanted = FinalState::automatic);

// What this process can still have, and by which limit: the machine's free memory, a control
// group's, or an address space's (ulimit -v).
struct MemoryRoom {
  double bytes = 0;
  std::string limit;
};
MemoryRoom memory_room();

// "3.1 GiB", "12 MiB".
std::string bytes_text(double bytes);
// One line: "about 3.1 GiB (graph 1 GiB, engine ...)".
std::string need_text(const MemoryNeed& need);
// Error(device) with the figures where `tasks` tasks at a time cannot fit; a line to tell where
// they take much of what there is, else "".
std::string check_memory(const MemoryNeed& need, std::size_t tasks = 1);

}  // namespace rewise
