// The exception type for all errors that a user can cause or see. The text is one line: what is
// wrong, the value, what is allowed, and where the value came from. Only program_main() turns
// `exit_code` into an exit status (sysexits.h).
#pragma once

#include <stdexcept>
#include <string>

namespace rewise {

enum class ExitCode : int {
  done = 0,
  usage = 64,        // command line or configuration
  data = 65,         // damaged or invalid input data
  device = 69,       // no such device, or its memory is too small
  internal = 70,     // a defect of rewise
  held = 73,         // a result is held by another process, or would be overwritten
  io = 74,           // input/output
  interrupted = 75,  // checkpoint written, run again
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
  ExitCode exit_code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace rewise
