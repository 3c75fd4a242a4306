// Allocations that fail in C++ code called by a library: the program must survive them.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "experiments/console/program.hpp"
#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "src/base/json.hpp"
#include "tests/support/catch.hpp"

namespace {

// The number of calls of operator new in this thread that succeed before one fails (-1 = none
// fails). With `for_ever`, all later calls fail, too.
thread_local long calls_left = -1;
thread_local bool for_ever = false, was_refused = false;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (calls_left == 0) {
    was_refused = true;
    if (!for_ever) calls_left = -1;
    throw std::bad_alloc();
  }
  if (calls_left > 0) --calls_left;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace rewise;

namespace {

// Runs f() repeatedly and lets its first, second, .. allocation fail. Each time f() must return
// true or throw std::bad_alloc. Returns the number of allocations of f().
template <class F>
long refuse_each(bool and_later, const F& f) {
  for (long k = 0;; ++k) {
    bool right = true;
    was_refused = false;
    for_ever = and_later;
    calls_left = k;
    try {
      right = f();
    } catch (const std::bad_alloc&) {
    }
    calls_left = -1;
    if (!right) FAIL("another result without call " << k);
    if (!was_refused) return k;
  }
}

}  // namespace

TEST_CASE("HDF5 is not left locked if there is no memory for a list of names") {
  h5::File file = h5::File::create();
  h5::Group root = file.root();
  for (int k = 0; k < 5; ++k) {
    const std::string name = "an attribute or a group of a long name, number " + std::to_string(k);
    root.set(name, std::uint64_t{7});
    root.create_group(name);
  }
  for (const bool and_later : {false, true}) {
    CHECK(refuse_each(and_later, [&] { return root.names().size() == 5; }) > 5);
    CHECK(refuse_each(and_later, [&] { return root.attribute_names().size() == 5; }) > 5);
  }
  std::size_t seen = 0;
  std::thread([&] { seen = root.names().size() + root.attribute_names().size(); }).join();
  CHECK(seen == 10);
}

// The JSON library also allocates to destroy a container that is not empty. This test destroys the
// containers when no allocation fails.
TEST_CASE("JSON values become containers while allocations fail") {
  for (const bool and_later : {false, true}) {
    std::vector<Json> results;
    results.reserve(1000);
    const auto build = [&] {
      Json& list = results.emplace_back(Json::array());
      Json& json = results.emplace_back();
      json["nested"]["deeper"]["deepest"] = 1;
      Json& texts = results.emplace_back();
      texts.push_back("a text that is too long to be kept in place");
      list.push_back(2);
      return json.dump() == R"({"nested":{"deeper":{"deepest":1}}})" && texts.size() == 1;
    };
    CHECK(refuse_each(and_later, build) > 8);
    results.clear();
    for (const ReservedBlock& kept : reserved_blocks) CHECK_FALSE(kept.taken);
  }
}

namespace {

// Calls std::terminate() like an exception that leaves a noexcept function.
struct Ends {
  ~Ends() { std::terminate(); }
};

// Returns the wait status of a child process that calls `end`.
int status_after(void (*end)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    const rlimit none{};
    ::setrlimit(RLIMIT_CORE, &none);
    for (FILE* const file : {stdout, stderr}) {
      if (std::freopen("/dev/null", "w", file) == nullptr) ::_exit(1);
    }
    std::string words[] = {"rewise", "--version"};
    char* arguments[] = {words[0].data(), words[1].data(), nullptr};
    program_main(2, arguments);
    end();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("only a process that ends for lack of memory has status 69") {
  const int refused = status_after([] {
    const Ends ends;
    std::get_new_handler()();  // as operator new does if memory is exhausted
  });
  CHECK((WIFEXITED(refused) && WEXITSTATUS(refused) == 69));
  const int survived = status_after([] {
    try {
      std::get_new_handler()();
    } catch (const std::bad_alloc&) {
    }
    const Ends ends;
    throw Error(ExitCode::internal, "of another kind");
  });
  CHECK((WIFSIGNALED(survived) && WTERMSIG(survived) == SIGABRT));
}
