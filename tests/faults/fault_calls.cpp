// A library for LD_PRELOAD that makes one call of a C library function fail, whatever code makes
// the call. (The table of system calls, src/store/syscalls.hpp, only covers calls by the store.)
//
//   REWISE_FAULT=NAME:K:WHAT    affects the K-th call of NAME in the process, counted from 1; "K+":
//                               also all later calls. WHAT is one of
//                                 ERRNO      the call fails with this error number
//                                 stop, kill SIGSTOP or SIGKILL
//                                 slowMS     the call takes MS milliseconds longer
//                                 madeERRNO  link or rename succeeds but reports the error, as NFS
//                                            does if a reply was lost
//   REWISE_FAULT_COUNTS=FILE    writes lines "NAME COUNT" at the end of the process
//
// NAME is one of kNames. A close() that fails closes the file nevertheless, as on Linux. "malloc"
// stands for all allocations, including operator new, after the start of main(). Excluded are
// allocations by HDF5 (also through the C library), because HDF5 1.10 crashes if they fail, and by
// libgomp, which then ends the process with its own message and status. "c_malloc" stands for the
// allocations by `c_libraries` alone. These libraries then return a null pointer that rewise has to
// check.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Name {
  kOpen,
  kFopen,
  kRead,
  kWrite,
  kFsync,
  kClose,
  kLink,
  kRename,
  kUnlink,
  kStat,
  kFstat,
  kMkdir,
  kOpendir,
  kReaddir,
  kUtimensat,
  kFlock,
  kThread,
  kMalloc,
  kCMalloc,
  kNumber
};
constexpr std::array<const char*, kNumber> kNames{
    "open",      "fopen",  "read",           "write",  "fsync",   "close",   "link",
    "rename",    "unlink", "stat",           "fstat",  "mkdir",   "opendir", "readdir",
    "utimensat", "flock",  "pthread_create", "malloc", "c_malloc"};

std::array<std::atomic<long>, kNumber> counts;
std::atomic<int> chosen{-1};
long fault_at = 0;
bool all_later = false;
int fault_errno = 0, fault_signal = 0;
long fault_delay = 0;      // milliseconds
bool fault_after = false;  // "made": the call succeeds, but reports the error

std::atomic<bool> in_main{false};

// Runs before main().
__attribute__((constructor)) void read_fault() {
  const char* fault = std::getenv("REWISE_FAULT");
  if (fault == nullptr) return;
  for (int name = 0; name < kNumber; ++name) {
    const std::size_t length = std::strlen(kNames[static_cast<std::size_t>(name)]);
    if (std::strncmp(fault, kNames[static_cast<std::size_t>(name)], length) != 0 ||
        fault[length] != ':') {
      continue;
    }
    char* end = nullptr;
    fault_at = std::strtol(fault + length + 1, &end, 10);
    all_later = *end == '+';
    const char* what = std::strchr(end, ':') + 1;
    if (std::strcmp(what, "stop") == 0) {
      fault_signal = SIGSTOP;
    } else if (std::strcmp(what, "kill") == 0) {
      fault_signal = SIGKILL;
    } else if (std::strncmp(what, "slow", 4) == 0) {
      fault_delay = std::strtol(what + 4, nullptr, 10);
    } else if (std::strncmp(what, "made", 4) == 0) {
      fault_after = true;
      fault_errno = static_cast<int>(std::strtol(what + 4, nullptr, 10));
    } else {
      fault_errno = static_cast<int>(std::strtol(what, nullptr, 10));
    }
    chosen = name;
    return;
  }
  std::abort();  // an unknown name would cause no fault, and every test would pass
}

// Counts a call. Returns true, with errno set, if it has to fail.
bool fails(Name name) {
  const long count = ++counts[static_cast<std::size_t>(name)];
  if (chosen != name || count < fault_at || (count > fault_at && !all_later)) return false;
  if (fault_signal != 0) {
    ::raise(fault_signal);  // returns only after SIGCONT
    return false;
  }
  if (fault_delay > 0) {
    ::usleep(static_cast<useconds_t>(1000 * fault_delay));
    return false;
  }
  errno = fault_errno;
  return true;
}

// Makes the call, unless it has to fail. With "made", makes the call and reports the error.
template <class Call>
int with_fault(Name name, const Call& call) {
  if (!fails(name)) return call();
  if (fault_after) call();
  errno = fault_errno;
  return -1;
}

// Libraries, and the address ranges of their code.
template <std::size_t kCount>
struct Libraries {
  std::array<const char*, kCount> names;
  std::array<std::uintptr_t, kCount> begin{}, end{};

  void find(const dl_phdr_info& library) {
    for (std::size_t which = 0; which < kCount; ++which) {
      if (std::strstr(library.dlpi_name, names[which]) == nullptr || end[which] != 0) continue;
      for (int k = 0; k < library.dlpi_phnum; ++k) {
        const auto& part = library.dlpi_phdr[k];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        begin[which] = library.dlpi_addr + part.p_vaddr;
        end[which] = begin[which] + part.p_memsz;
      }
    }
  }
  bool contain(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (std::size_t which = 0; which < kCount; ++which) {
      if (at >= begin[which] && at < end[which]) return true;
    }
    return false;
  }
};

// Allocations by these libraries never fail. HDF5 also allocates through the C library.
Libraries<3> exempt{{"/libhdf5", "/libc.so", "/libgomp"}};
Libraries<3> c_libraries{{"/libxxhash", "/libdeflate", "/libexpat"}};

int find_libraries(dl_phdr_info* library, std::size_t, void*) {
  exempt.find(*library);
  c_libraries.find(*library);
  return 0;
}

bool no_memory(const void* caller) {
  if (!in_main.load(std::memory_order_relaxed)) return false;
  if (exempt.contain(caller)) return false;
  bool failing = fails(kMalloc);
  if (c_libraries.contain(caller)) failing = fails(kCMalloc) || failing;
  if (failing) errno = ENOMEM;
  return failing;
}

int (*real_main)(int, char**, char**) = nullptr;
int counted_main(int count, char** words, char** environment) {
  ::dl_iterate_phdr(find_libraries, nullptr);
  in_main = true;
  return real_main(count, words, environment);
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define REAL(name) static const auto next = real<decltype(&::name)>(#name)

extern "C" {

// glibc's own names of its allocation functions. dlsym() is not usable here, since it allocates.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* before, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  return no_memory(__builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return no_memory(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* before, std::size_t size) noexcept {
  return no_memory(__builtin_return_address(0)) ? nullptr : __libc_realloc(before, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return no_memory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (no_memory(__builtin_return_address(0))) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*init)(),
                      void (*fini)(), void (*linker_fini)(), void* stack_end) {
  real_main = main;
  const auto next = real<decltype(&__libc_start_main)>("__libc_start_main");
  return next(counted_main, count, words, init, fini, linker_fini, stack_end);
}

__attribute__((destructor)) void write_counts() {
  const char* file = std::getenv("REWISE_FAULT_COUNTS");
  if (file == nullptr) return;
  in_main = false;
  chosen = -1;
  std::FILE* out = std::fopen(file, "w");
  if (out == nullptr) return;
  for (std::size_t name = 0; name < kNumber; ++name) {
    std::fprintf(out, "%s %ld\n", kNames[name], counts[name].load());
  }
  std::fclose(out);
}

static mode_t mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  REAL(open);
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return fails(kOpen) ? -1 : next(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  REAL(open64);
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return fails(kOpen) ? -1 : next(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  REAL(openat);
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return fails(kOpen) ? -1 : next(folder, path, flags, mode);
}
std::FILE* fopen(const char* path, const char* mode) {
  REAL(fopen);
  return fails(kFopen) ? nullptr : next(path, mode);
}
std::FILE* fopen64(const char* path, const char* mode) {
  REAL(fopen64);
  return fails(kFopen) ? nullptr : next(path, mode);
}
ssize_t read(int file, void* bytes, std::size_t count) {
  REAL(read);
  return fails(kRead) ? -1 : next(file, bytes, count);
}
ssize_t write(int file, const void* bytes, std::size_t count) {
  REAL(write);
  return fails(kWrite) ? -1 : next(file, bytes, count);
}
ssize_t writev(int file, const iovec* parts, int count) {
  REAL(writev);
  return fails(kWrite) ? -1 : next(file, parts, count);
}
int fsync(int file) {
  REAL(fsync);
  return fails(kFsync) ? -1 : next(file);
}
int close(int file) {
  REAL(close);
  const bool failing = fails(kClose);
  const int error = errno, result = next(file);
  if (!failing) return result;
  errno = error;
  return -1;
}
int link(const char* from, const char* to) noexcept {
  REAL(link);
  return with_fault(kLink, [=] { return next(from, to); });
}
int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return with_fault(kRename, [=] { return next(from, to); });
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  REAL(renameat2);
  return with_fault(kRename, [=] { return next(a, from, b, to, flags); });
}
int unlink(const char* path) noexcept {
  REAL(unlink);
  return fails(kUnlink) ? -1 : next(path);
}
int stat(const char* path, struct stat* status) noexcept {
  static const auto next = real<int (*)(const char*, struct stat*)>("stat");
  return fails(kStat) ? -1 : next(path, status);
}
int stat64(const char* path, struct stat64* status) noexcept {
  static const auto next = real<int (*)(const char*, struct stat64*)>("stat64");
  return fails(kStat) ? -1 : next(path, status);
}
int lstat(const char* path, struct stat* status) noexcept {
  static const auto next = real<int (*)(const char*, struct stat*)>("lstat");
  return fails(kStat) ? -1 : next(path, status);
}
int lstat64(const char* path, struct stat64* status) noexcept {
  static const auto next = real<int (*)(const char*, struct stat64*)>("lstat64");
  return fails(kStat) ? -1 : next(path, status);
}
int fstat(int file, struct stat* status) noexcept {
  static const auto next = real<int (*)(int, struct stat*)>("fstat");
  return fails(kFstat) ? -1 : next(file, status);
}
int fstat64(int file, struct stat64* status) noexcept {
  static const auto next = real<int (*)(int, struct stat64*)>("fstat64");
  return fails(kFstat) ? -1 : next(file, status);
}
int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  return fails(kMkdir) ? -1 : next(path, mode);
}
DIR* opendir(const char* path) {
  REAL(opendir);
  return fails(kOpendir) ? nullptr : next(path);
}
dirent* readdir(DIR* folder) {
  REAL(readdir);
  return fails(kReaddir) ? nullptr : next(folder);
}
dirent64* readdir64(DIR* folder) {
  REAL(readdir64);
  return fails(kReaddir) ? nullptr : next(folder);
}
int utimensat(int folder, const char* path, const timespec times[2], int flags) noexcept {
  REAL(utimensat);
  return fails(kUtimensat) ? -1 : next(folder, path, times, flags);
}
// Has another name in C++, because flock is also the name of a struct.
int preloaded_flock(int file, int operation) noexcept __asm__("flock");
int preloaded_flock(int file, int operation) noexcept {
  static const auto next = real<int (*)(int, int)>("flock");
  return fails(kFlock) ? -1 : next(file, operation);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*start)(void*),
                   void* argument) noexcept {
  REAL(pthread_create);
  return fails(kThread) ? errno : next(thread, how, start, argument);
}

}  // extern "C"
