#include "tests/support/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace rewise::oracle {
namespace {

// Outside of the folder, so that files() lists only files of the program.
std::string capture(const std::filesystem::path& folder, const char* stream) {
  return folder.string() + stream;
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void redirect(const std::string& path, int descriptor) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
}

}  // namespace

Workplace::Workplace() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rewise-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
}

Workplace::~Workplace() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  std::filesystem::remove(capture(folder_, ".out"), ignored);
  std::filesystem::remove(capture(folder_, ".err"), ignored);
}

pid_t Workplace::start(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words{REWISE_PROGRAM};
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = capture(folder_, ".out"), err = capture(folder_, ".err");
  std::error_code ignored;
  for (const auto& file : {out, err}) std::filesystem::remove(file, ignored);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  return child;
}

Output Workplace::wait(pid_t child) const {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  Output output;
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  output.out = slurp(capture(folder_, ".out"));
  output.err = slurp(capture(folder_, ".err"));
  return output;
}

std::string Workplace::errors_so_far() const { return slurp(capture(folder_, ".err")); }

Output Workplace::run(const std::string& line) const {
  return wait(const_cast<Workplace*>(this)->start(line));
}

void Workplace::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

std::string Workplace::read(const std::string& name) const {
  return slurp((folder_ / name).string());
}

std::vector<std::string> Workplace::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    std::error_code no_file;  // e.g. a circular link
    if (entry.is_regular_file(no_file)) {
      names.push_back(std::filesystem::relative(entry.path(), folder_).string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Output> run_in_pieces(const Workplace& place, const std::string& line, double limit,
                                  double factor, int most_threads) {
  std::vector<Output> outputs;
  for (; limit < 1000; limit *= factor) {
    const int threads = 1 + static_cast<int>(outputs.size()) % most_threads;
    outputs.push_back(place.run(line + " --threads " + std::to_string(threads) + " --time-limit " +
                                std::to_string(limit) + "s"));
    if (outputs.back().status != 75) break;
  }
  return outputs;
}

bool computed(const Output& output, int tasks) {
  const std::string noun = tasks == 1 ? " task" : " tasks";
  return output.err.find("\n" + std::to_string(tasks) + noun + " computed") != std::string::npos;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace rewise::oracle
