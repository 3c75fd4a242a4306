// Replaces the system calls of the store during its lifetime. Counts the calls, and lets calls
// fail, transfer fewer bytes, or stop or end the process.
#pragma once

#include <functional>
#include <string>

#include "src/store/syscalls.hpp"

namespace rewise::test {

enum class Call { open, read, write, fsync, close, link, rename, rename_new, unlink, flock };
constexpr int kCalls = 10;
std::string to_string(Call call);

class Faults {
 public:
  Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
  ~Faults();

  // The n-th call (from 1) of this kind sets errno and fails. A failing close closes the file
  // nevertheless.
  void fail(Call call, int n, int error);
  void fail_always(Call call, int error);
  // Every link or rename of this kind succeeds but is reported as failed, as by NFS.
  void mislead(Call call, int error);
  // `call` is called before every link and rename.
  void before_publishing(std::function<void()> call);
  // Every write transfers at most this many bytes, and every second one is interrupted first.
  void shorten_writes(std::size_t bytes);
  // The process ends at once at its n-th call (from 1) of any kind.
  void die_at(int n);
  // The process stops (SIGSTOP) before its n-th call from now on. It makes the call when continued.
  void stop_at(int n);

  static int calls();  // of all kinds
  static int calls(Call call);

 private:
  Syscalls before_;
};

}  // namespace rewise::test
