// Replaces the store's system calls for as long as it lives: counts them, and makes one of them
// fail, come up short, or end the process.
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

  // The n-th call (from 1) of this kind sets errno and fails; a failing close closes all the same.
  void fail(Call call, int n, int error);
  void fail_always(Call call, int error);
  // Every link, or every rename of either kind, is made and then reported as failed (NFS).
  void mislead(Call call, int error);
  // Called before every link and rename.
  void before_publishing(std::function<void()> call);
  // Every write transfers at most this many bytes, and every second one is interrupted first.
  void shorten_writes(std::size_t bytes);
  // The process ends without a further word at its n-th call (from 1) of any kind.
  void die_at(int n);
  // It stops (SIGSTOP) before its n-th call from now on, and makes the call when it is woken.
  void stop_at(int n);

  static int calls();  // of all kinds
  static int calls(Call call);

 private:
  Syscalls before_;
};

}  // namespace rewise::test
