// Runs `rewise` as a process, in a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rewise::oracle {

struct Output {
  int status = -1;  // exit status; 128 + signal where one ended it
  std::string out, err;
};

// A folder that is removed at the end, in which the program runs.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  // `line`: the arguments, separated by blanks.
  Output run(const std::string& line) const;
  // The same in the background; wait() ends it.
  pid_t start(const std::string& line);
  Output wait(pid_t child) const;
  std::string errors_so_far() const;  // what the last child has written to standard error

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool has(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  // Names of all files below, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path folder_;
};

// The same command until it is not interrupted (status 75) any more, with `--time-limit` of `limit`
// seconds and `factor` times as long each time, so that it ends on any machine, and with 1 to
// `most_threads` threads in turn. The output of each; the last is not an interrupted one.
std::vector<Output> run_in_pieces(const Workplace& place, const std::string& line, double limit,
                                  double factor, int most_threads);

// Number of lines that end in a newline.
std::size_t lines(const std::string& text);

}  // namespace rewise::oracle
