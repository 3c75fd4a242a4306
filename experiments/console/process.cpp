#include "experiments/console/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "src/base/error.hpp"

namespace rewise {
namespace {

// If descriptor 0, 1 or 2 is closed, the next file opened would get its number, and messages would
// be written into result files. Opens /dev/null in their place; writing to a closed standard output
// remains an error.
void occupy_standard_descriptors() {
  constexpr std::array<int, 3> modes{O_RDONLY, O_RDONLY, O_WRONLY};
  for (int file = 0; file < 3; ++file) {
    if (::fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", modes[static_cast<std::size_t>(file)]);
    if (opened >= 0 && opened != file) ::close(opened);
  }
}

// Errors in writing to standard error are ignored (a full disk under a batch log, a pipe without a
// reader): losing a message is better than losing the run.
ssize_t write_if_possible(void*, const char* text, std::size_t size) {
  sigset_t broken_pipe, before;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  for (std::size_t done = 0; done < size;) {
    const ssize_t written = ::write(STDERR_FILENO, text + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) {
      const timespec at_once{};
      sigtimedwait(&broken_pipe, nullptr, &at_once);
    }
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return static_cast<ssize_t>(size);
}

// After this call no output to stderr fails, neither ours nor that of a library.
void ignore_stderr_errors() {
#ifdef __GLIBC__  // elsewhere stderr cannot be replaced, and fmt::print may throw
  cookie_io_functions_t functions{};
  functions.write = write_if_possible;
  if (FILE* const stream = ::fopencookie(nullptr, "w", functions)) {
    std::setvbuf(stream, nullptr, _IONBF, 0);
    stderr = stream;
  }
#endif
}

std::terminate_handler terminate_before = nullptr;
std::atomic<int> memory_failures = 0;  // existing MemoryFailure exceptions, thrown or stored

class MemoryFailure : public std::bad_alloc {
 public:
  MemoryFailure() { ++memory_failures; }
  MemoryFailure(const MemoryFailure& other) : std::bad_alloc(other) { ++memory_failures; }
  ~MemoryFailure() override { --memory_failures; }
};

[[noreturn]] void throw_memory_failure() { throw MemoryFailure(); }

// If an allocation fails where no exception may leave (threads of a parallel region, noexcept
// functions of the standard library), the process ends with a message instead of a crash. Files are
// intact, and leases count as those of a dead process.
[[noreturn]] void end_without_memory() {
  // If the exception reached an inlined noexcept function, std::current_exception() is null, and
  // only these counts tell what was thrown.
  bool no_memory = memory_failures > 0 && std::uncaught_exceptions() > 0;
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    no_memory = true;
  } catch (...) {
  }
  if (no_memory) {
    constexpr std::string_view message = "rewise: not enough memory\n";
    static_cast<void>(write_if_possible(nullptr, message.data(), message.size()));
    ::_exit(static_cast<int>(ExitCode::device));
  }
  terminate_before();
  std::abort();
}

}  // namespace

void prepare_process() {
  occupy_standard_descriptors();
  ignore_stderr_errors();
  terminate_before = std::set_terminate(end_without_memory);
  std::set_new_handler(throw_memory_failure);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write()
}

void require_address_space() {
  constexpr std::size_t least = std::size_t{96} << 20;
  void* const room = ::mmap(nullptr, least, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    throw Error(ExitCode::device, fmt::format("not enough memory: less than {} MB of address space "
                                              "are left (a limit such as ulimit -v)",
                                              least >> 20));
  }
  ::munmap(room, least);
}

}  // namespace rewise
