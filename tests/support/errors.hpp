// Errors that the tested code must throw.
#pragma once

#include <string>

#include "src/base/error.hpp"
#include "tests/support/catch.hpp"

namespace rewise::oracle {

// The message of the Error(usage) that action() throws; fails the test if there is none.
template <class F>
std::string usage_error(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::usage);
    return error.what();
  }
  FAIL("accepted");
  return "";
}

}  // namespace rewise::oracle
