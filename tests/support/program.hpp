// Runs `rewise` as a process in a temporary folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rewise::oracle {

struct Output {
  int status = -1;  // exit status, or 128 + the signal that ended it
  std::string out, err;
};

// A temporary folder in which the program runs. The destructor removes it.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  // `line`: the arguments, separated by blanks.
  Output run(const std::string& line) const;
  // The same in the background; call wait() afterwards.
  pid_t start(const std::string& line);
  Output wait(pid_t child) const;
  std::string errors_so_far() const;  // standard error of the last child until now

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool has(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  // Names of all files below, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path folder_;
};

// Repeats the command while it is interrupted (status 75). `--time-limit` is `limit` seconds, and
// `factor` times as long at each repetition, so that the command ends on any machine. The number of
// threads cycles through 1 to `most_threads`. Returns all outputs; only the last one is complete.
std::vector<Output> run_in_pieces(const Workplace& place, const std::string& line, double limit,
                                  double factor, int most_threads);

// Whether a study says at its end that it computed this number of tasks.
bool computed(const Output& output, int tasks);

// Number of lines that end in a newline.
std::size_t lines(const std::string& text);

}  // namespace rewise::oracle
