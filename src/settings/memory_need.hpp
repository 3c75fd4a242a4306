// Estimates the memory and disk space of a task (time: src/search/costs.hpp). Each engine estimates
// its own part (EngineFactory::memory) from the average numbers of rewired bonds and modified sites
// of a rule. Above 100 MiB, the sum is within about 20 % of the peak memory of a process.
#pragma once

#include <string>

#include "src/settings/task_spec.hpp"

namespace rewise {

struct MemoryNeed {
  double graph = 0;    // bytes of the finished graph
  double build = 0;    // additional bytes while it is built
  double engine = 0;   // spins and data derived from the graph
  double working = 0;  // work space of updates, of all threads
  double saving = 0;   // extra bytes while the final state or a checkpoint is written
  double series = 0;
  double device = 0;  // on a CUDA device, including its share of engine and working

  double of_task() const;     // maximum at one time, on the host
  double of_process() const;  // including the program itself
};

// Upper estimate of the bytes of a task's series in memory.
double series_bytes(const TaskSpec& spec);
MemoryNeed memory_need(const TaskSpec& spec, int threads, bool on_device, bool keeps_file);
// Bytes of the spins of all replicas.
double state_bytes(const TaskSpec& spec);
// Whether the final state is gathered from the ranks into the task's own file.
bool gathers_state(const TaskSpec& spec, FinalState wanted);
// Bytes of its files, within a factor of 2.
double disk_need(const TaskSpec& spec, FinalState wanted);

// Memory that this process may still allocate, and the limit that determines it: the machine's free
// memory, a control group, or the address space (ulimit -v).
struct MemoryRoom {
  double bytes = 0;
  std::string limit;
};
MemoryRoom memory_room();

// "3.1 GiB", "12 MiB".
std::string bytes_text(double bytes);
// One line: "about 3.1 GiB (graph 1 GiB, engine ...)".
std::string need_text(const MemoryNeed& need);
// Throws Error(device) with the figures if `tasks` concurrent tasks cannot fit. Returns a note with
// the figures if they need 1 GiB or a quarter of the available memory, else "".
std::string check_memory(const MemoryNeed& need, std::size_t tasks = 1);

}  // namespace rewise
