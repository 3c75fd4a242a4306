// The program `rewise`; the Python package runs the same (src/python).
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "experiments/console/program.hpp"
#include "src/store/signals.hpp"

namespace {

// libgomp's threads spin for milliseconds where they wait for each other. Where anything else runs
// on these cores, it is those waited for that they keep from running: three runs at a time took
// four times as long as one after the other. It reads how long only when it is loaded.
void let_waiting_threads_sleep(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  // By its own name, which ps and top show.
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
  // Series and files' images come and go by the gigabyte. Given back to the system each time, most
  // of their cost would be the system's, which clears their pages, one fault each; on virtual
  // machines several times that of filling them.
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
  }
  // What one thread has given back others can have, too: with an arena for each of many threads a
  // study kept half as much memory again.
  if (!std::getenv("MALLOC_ARENA_MAX") && !std::getenv("GLIBC_TUNABLES")) {
    mallopt(M_ARENA_MAX, 8);
  }
#endif
  return rewise::program_main(argc, argv);
}
