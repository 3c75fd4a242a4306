// The id of a task and the check of its physics: both follow from its configuration.
#include <string>
#include <vector>

#include "src/base/error.hpp"
#include "src/store/task_file.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using rewise::test::sample_task;

TEST_CASE("the id of a task depends on its configuration only") {
  const TextMap configuration = sample_task().configuration;
  // This value must never change: studies would no longer find their files.
  CHECK(task_id(configuration) == "e899557247fe8d88");
  TextMap other = configuration;
  other["sampling.measure"] = "500";
  const std::vector<std::string> growing{"sampling.measure"};
  CHECK(task_id(other) != task_id(configuration));
  CHECK(task_id(other, growing) == task_id(configuration, growing));
  // Pairs that are equal when concatenated.
  CHECK(task_id({{"ab", "c"}}) != task_id({{"a", "bc"}}));
  const TaskPaths paths = task_paths("study", "0123456789abcdef");
  CHECK(paths.finished == "study/tasks/0123456789abcdef.h5");
  CHECK(paths.checkpoint == "study/tasks/0123456789abcdef.part.h5");
  CHECK(paths.lease == "study/tasks/0123456789abcdef.lease");
}

TEST_CASE("resuming under changed physics names the key and both values") {
  const TextMap stored = sample_task().configuration;
  const std::vector<std::string> growing{"sampling.measure"};
  TextMap wanted = stored;
  wanted["sampling.measure"] = "500";
  CHECK_NOTHROW(check_same_physics(stored, wanted, growing, "t.h5"));
  wanted["sampling.schedule"] = "2:1";
  wanted["lattice.p"] = "0.25";
  const auto refusal = [&](const TextMap& found, const TextMap& asked) {
    try {
      check_same_physics(found, asked, growing, "t.h5");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::data);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string text = refusal(stored, wanted);
  for (const char* part : {"t.h5", "lattice.p", "0.125", "0.25"}) {
    CHECK(text.find(part) != std::string::npos);
  }
  wanted = stored;
  wanted.erase("lattice.rule");
  CHECK(refusal(stored, wanted) != "");
  CHECK(refusal(wanted, stored) != "");
}
