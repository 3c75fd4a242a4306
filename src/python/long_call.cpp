#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "src/base/error.hpp"
#include "src/base/stop.hpp"
#include "src/python/bindings.hpp"

namespace rewise::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignals{50};

std::atomic<bool> forked{false};
// The stop check of this thread, for code without a listener (building graphs, preparing engines).
thread_local const std::function<bool()>* asked_here = nullptr;

}  // namespace

LongCall::LongCall(nb::object progress)
    : progress_(std::move(progress)),
      tells_(!progress_.is_none()),
      looked_(std::chrono::steady_clock::now()),
      last_told_(looked_) {}

LongCall::~LongCall() = default;

void LongCall::done(std::uint64_t cycles) {
  told_ += cycles;
  if (!tells_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_told_ < kBetweenSignals) return;
  last_told_ = now;
  const nb::gil_scoped_acquire gil;
  progress_(std::exchange(told_, 0));
}

bool LongCall::interrupted() {
  if (ended_) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kBetweenSignals) return false;
  looked_ = now;
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  raised_ = std::make_exception_ptr(nb::python_error());
  ended_ = true;
  return true;
}

void LongCall::call(const std::function<void(const Listener&)>& f) {
  const std::thread::id caller = std::this_thread::get_id();
  const std::function<bool()> ask = [this, caller] {
    return std::this_thread::get_id() == caller ? interrupted() : ended_.load();
  };
  Listener listener;
  listener.done = [this](std::uint64_t cycles) { done(cycles); };
  listener.interrupted = ask;
  const auto* const outer = std::exchange(asked_here, &ask);
  try {
    f(listener);
  } catch (const Error& error) {
    asked_here = outer;
    if (error.exit_code() == ExitCode::interrupted && raised_) std::rethrow_exception(raised_);
    throw;
  } catch (...) {
    asked_here = outer;
    throw;
  }
  asked_here = outer;
}

void LongCall::call_in_thread(const std::function<void(const Listener&)>& f) {
  std::exception_ptr thrown;
  std::mutex mutex;
  std::condition_variable changed;
  bool finished = false;
  std::thread worker([&] {
    try {
      call(f);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    finished = true;
    changed.notify_one();
  });
  std::exception_ptr raised;
  {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kBetweenSignals, [&] { return finished; })) {
      nb::gil_scoped_acquire gil;
      if (!raised && PyErr_CheckSignals() != 0) {
        raised = std::make_exception_ptr(nb::python_error());
        ended_ = true;
      }
    }
  }
  worker.join();
  if (raised) std::rethrow_exception(raised);
  if (thrown) std::rethrow_exception(thrown);
}

void LongCall::run(const std::function<void(const Listener&)>& f) {
  {
    nb::gil_scoped_release released;
    if (forked) {
      call_in_thread(f);
    } else {
      call(f);
    }
  }
  if (tells_ && told_ > 0) progress_(std::exchange(told_, 0));
}

void bind_errors(nb::module_&) {
  ::pthread_atfork(nullptr, nullptr, [] { forked = true; });
  stop_request_hook = [] { return asked_here != nullptr && (*asked_here)(); };
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const char* name = "Error";
      switch (error.exit_code()) {
        case ExitCode::usage:
          name = "UsageError";
          break;
        case ExitCode::data:
          name = "DataError";
          break;
        case ExitCode::device:
          name = "DeviceError";
          break;
        case ExitCode::held:
          name = "HeldError";
          break;
        case ExitCode::io:
          name = "FileError";
          break;
        case ExitCode::interrupted:
          name = "Interrupted";
          break;
        default:
          break;
      }
      const nb::object errors = nb::module_::import_("rewise.errors");
      PyErr_SetObject(errors.attr(name).ptr(), errors.attr("as_arguments")(error.what()).ptr());
    }
  });
}

}  // namespace rewise::python
