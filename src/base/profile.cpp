#include "src/base/profile.hpp"

#include <fmt/format.h>
#ifdef REWISE_HAVE_CUDA
#include <nvtx3/nvToolsExt.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "src/base/clock.hpp"

namespace rewise::profile {
namespace {

constexpr std::array<const char*, 11> kNames{"tune",   "look",  "graph",  "prepare",
                                             "engine", "files", "reduce", "analysis",
                                             "plots",  "wait",  "device"};
constexpr int kDeviceRow = 1000;  // in the trace, rows of devices follow those of threads
constexpr std::size_t kMaxSpans = 1u << 20;  // about 100 MB; later spans are only counted

struct Event {
  Work work;
  int thread;
  double begin, end;  // seconds since start()
  std::string detail;
};

std::atomic<bool> wanted = false;
double start_time = 0;
std::mutex mutex;
std::vector<Event> events;
std::size_t dropped = 0;

// The number of the calling thread, counted from 1 in the order of first spans.
int thread_number() {
  static std::atomic<int> threads = 0;
  thread_local const int own = ++threads;
  return own;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

void keep(Event event) {
  event.begin -= start_time;
  event.end -= start_time;
  const std::lock_guard lock(mutex);
  if (events.size() == kMaxSpans) {
    ++dropped;
  } else {
    events.push_back(std::move(event));
  }
}

// Total time covered by at least one of the spans, in seconds.
double covered(std::vector<std::pair<double, double>> spans) {
  std::sort(spans.begin(), spans.end());
  double sum = 0, end = 0;
  for (const auto& [from, to] : spans) {
    sum += std::max(0.0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return sum;
}

}  // namespace

void start() {
  start_time = now();
  wanted = true;
}

bool started() { return wanted; }

Span::Span(Work work, std::string_view detail) : work_(work), kept_(wanted) {
#ifdef REWISE_HAVE_CUDA
  nvtxRangePushA(kNames[static_cast<std::size_t>(work)]);
#endif
  if (!kept_) return;
  detail_ = detail;
  begin_ = now();
}

Span::~Span() {
#ifdef REWISE_HAVE_CUDA
  nvtxRangePop();
#endif
  if (kept_) keep({work_, thread_number(), begin_, now(), std::move(detail_)});
}

void add(Work work, double begin, double end) {
  if (wanted) keep({work, kDeviceRow + thread_number(), begin, end, ""});
}

std::string chrome_trace() {
  const std::lock_guard lock(mutex);
  std::string out = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (const Event& event : events) {
    const char* const name = kNames[static_cast<std::size_t>(event.work)];
    out += fmt::format(
        "{{\"name\": \"{}\", \"cat\": \"{}\", \"ph\": \"X\", \"ts\": {:.1f}, \"dur\": {:.1f}, "
        "\"pid\": 1, \"tid\": {}, \"args\": {{}}}},\n",
        event.detail.empty() ? name : escaped(event.detail), name, 1e6 * event.begin,
        1e6 * (event.end - event.begin), event.thread);
  }
  out +=
      "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"rewise\"}}\n";
  return out + "]}\n";
}

std::string summary() {
  const std::lock_guard lock(mutex);
  const double wall = now() - start_time;
  std::array<std::vector<std::pair<double, double>>, kNames.size()> spans;
  std::vector<std::pair<double, double>> all;
  std::map<std::string, double> waits;  // seconds of all threads, by reason
  for (const Event& event : events) {
    spans[static_cast<std::size_t>(event.work)].emplace_back(event.begin, event.end);
    all.emplace_back(event.begin, event.end);
    if (event.work == Work::wait) waits[event.detail] += event.end - event.begin;
  }
  std::string out = fmt::format("wall {:.2f} s:", wall);
  const auto add = [&](const char* name, double seconds) {
    out += fmt::format(" {} {:.2f} ({:.0f}%),", name, seconds, 100 * seconds / wall);
  };
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    if (!spans[k].empty()) add(kNames[k], covered(spans[k]));
  }
  add("none of these", wall - covered(std::move(all)));
  out.back() = ';';
  const auto count = [&](Work work) { return spans[static_cast<std::size_t>(work)].size(); };
  out += fmt::format(" {} graphs built, {} files written", count(Work::graph), count(Work::files));
  for (const auto& [what, seconds] : waits) {
    if (seconds >= 0.005) out += fmt::format("; {:.2f} s for {}", seconds, what);
  }
  if (dropped > 0) out += fmt::format("; {} later spans are not in the file", dropped);
  return out;
}

}  // namespace rewise::profile
