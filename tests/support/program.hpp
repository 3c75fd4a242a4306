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
  // Starts the program in the background; call wait() afterwards.
  pid_t start(const std::string& line);
  Output wait(pid_t child) const;
  std::string errors_so_far() const;  // standard error of the last child until now

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool has(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  // Paths of all files in the folder and its subfolders, relative to the folder, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path folder_;
};

// Repeats the command until it ends with another status than 75 (interrupted). `--time-limit` is
// `limit` seconds at first and grows by `factor` at each repetition, so that the command ends on
// any machine. The number of threads cycles through 1 to `most_threads`. Returns the outputs of all
// runs; only the last run is complete.
std::vector<Output> run_in_pieces(const Workplace& place, const std::string& line, double limit,
                                  double factor, int most_threads);

// Whether the output of a study reports that it computed this number of tasks.
bool computed(const Output& output, int tasks);

// Number of newlines in the text.
std::size_t lines(const std::string& text);

}  // namespace rewise::oracle
