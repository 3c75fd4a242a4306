// Exit codes are part of the program's contract (sysexits.h).
#include "src/base/error.hpp"

#include <sysexits.h>

#include "tests/support/catch.hpp"

using rewise::Error;
using rewise::ExitCode;

TEST_CASE("exit codes are those of sysexits.h") {
  CHECK(static_cast<int>(ExitCode::done) == EX_OK);
  CHECK(static_cast<int>(ExitCode::usage) == EX_USAGE);
  CHECK(static_cast<int>(ExitCode::data) == EX_DATAERR);
  CHECK(static_cast<int>(ExitCode::device) == EX_UNAVAILABLE);
  CHECK(static_cast<int>(ExitCode::internal) == EX_SOFTWARE);
  CHECK(static_cast<int>(ExitCode::held) == EX_CANTCREAT);
  CHECK(static_cast<int>(ExitCode::io) == EX_IOERR);
  CHECK(static_cast<int>(ExitCode::interrupted) == EX_TEMPFAIL);
}

TEST_CASE("an error carries its text and its exit code") {
  const Error error(ExitCode::held, "g.h5: exists");
  CHECK(std::string(error.what()) == "g.h5: exists");
  CHECK(error.exit_code() == ExitCode::held);
}
