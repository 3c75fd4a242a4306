// The program `rewise`; the Python package runs the same (src/python).
#include <sys/resource.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "experiments/console/program.hpp"

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Series and files' images come and go by the gigabyte. Given back to the system each time, most
  // of their cost would be the system's, which clears their pages, one fault each; on virtual
  // machines several times that of filling them.
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
  }
#endif
  return rewise::program_main(argc, argv);
}
