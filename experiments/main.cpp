// The program `rewise`. The Python package calls the same program_main().
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "experiments/console/program.hpp"
#include "src/store/signals.hpp"

namespace {

// Lowers the time for which libgomp's threads spin while they wait for each other. If other
// processes run on the same cores, spinning threads keep the awaited ones from running: three runs
// at a time took four times as long as one after the other. libgomp reads this setting only when it
// is loaded, so the program starts itself again.
void let_waiting_threads_sleep(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  // The path of the program, so that ps and top show its name and not 'exe'.
  char program[4096];
  const auto length = ::readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0 || ::setenv("GOMP_SPINCOUNT", "1000", 1) != 0) return;
  program[length] = '\0';
  ::execv(program, argv);
}

}  // namespace

int main(int argc, char** argv) {
  rewise::hold_stop_signals();  // program_main() releases them
  let_waiting_threads_sleep(argv);
#ifdef __GLIBC__
  // Keeps freed memory in the process. Gigabytes of series and file images are allocated and freed
  // repeatedly. If this memory were returned to the system each time, the system would clear every
  // page again at its next access. Clearing takes longer than filling, on virtual machines several
  // times as long.
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
  }
  // Threads share arenas, so that one thread can use memory that another one has freed. With an
  // arena per thread, a study on many threads needed half as much memory again.
  if (!std::getenv("MALLOC_ARENA_MAX") && !std::getenv("GLIBC_TUNABLES")) {
    mallopt(M_ARENA_MAX, 8);
  }
#endif
  return rewise::program_main(argc, argv);
}
