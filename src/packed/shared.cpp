#include "src/packed/shared.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>
#include <type_traits>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#if defined(REWISE_HAVE_CUDA)
#include "src/packed/slab_cuda.hpp"
#endif
#include "src/packed/packed_engine.hpp"
#include "src/packed/slab.hpp"
#include "src/ranks/threads.hpp"

namespace rewise {
namespace {

using namespace packed;
using ranks::Transport;

constexpr int kWords = ranks::kFirstTag + 2;  // tag of words that are read or written
constexpr std::uint64_t kMostWords = std::uint64_t{1} << 24;  // of them at a time

enum class What : std::uint64_t { make, sweep, count, read, write, drop, dismiss };

// What rank 0 tells all.
struct Order {
  What what;
  std::uint64_t engine;       // its number
  std::uint64_t first, last;  // systems; of read and write: the system, words of a colour
  std::uint64_t a, b;  // sweep: step and steps; read, write: the colour; make: bytes that follow
};
std::span<std::uint8_t> bytes_of(Order& order) {
  return {reinterpret_cast<std::uint8_t*>(&order), sizeof order};
}

// Numbers in a row of bytes.
class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(std::uint64_t{values.size()});
    for (const T& value : values) put(value);
  }
  std::vector<std::uint8_t> bytes_;
};
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) {
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::uint64_t count = 0;
    get(count);
    values.resize(count);
    for (T& value : values) get(value);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// What slabs are made of.
struct Recipe {
  std::vector<std::uint32_t> extents;
  EngineSpec spec;
  bool cuda = false;

  template <class Stream, class F>
  static void each(Stream& s, F& r) {
    const auto one = [&](auto& value) {
      if constexpr (std::is_same_v<Stream, Writer>) {
        s.put(value);
      } else {
        s.get(value);
      }
    };
    one(r.extents);
    one(r.spec.betas);
    one(r.spec.replicas);
    one(r.spec.seed);
    one(r.spec.local);
    one(r.spec.start);
    one(r.cuda);
  }
};

std::unique_ptr<Slab> make_slab(const Recipe& recipe, Transport& transport,
                                const EngineOptions& options) {
  const Layout lattice = Layout::make(recipe.extents);
  if (!recipe.cuda) return make_cpu_slab(lattice, recipe.spec, transport, options.threads);
#if defined(REWISE_HAVE_CUDA)
  return make_cuda_slab(lattice, recipe.spec, transport, options.device);
#else
  throw Error(ExitCode::device, "this build has no CUDA engines");
#endif
}

// Makes the slabs of all ranks, or throws the error of the first rank that had one, on rank 0. The
// others return nothing then.
struct Made {
  std::unique_ptr<Slab> slab;
  int threads = 0;  // of all ranks, on rank 0
};
Made make_together(const Recipe& recipe, Transport& transport,
                   const std::function<EngineOptions(bool)>& options) {
  Made made;
  Writer report;
  std::string text;
  ExitCode code = ExitCode::done;
  try {
    made.slab = make_slab(recipe, transport, options(recipe.cuda));
    made.threads = made.slab->threads();
  } catch (const Error& error) {
    code = error.exit_code();
    text = error.what();
  } catch (const std::exception& error) {
    code = ExitCode::device;
    text = fmt::format("no memory: {}", error.what());
  }
  report.put(code);
  report.put(made.threads);
  report.put(std::vector<char>(text.begin(), text.end()));
  std::uint8_t well = 1;
  std::string failure;
  ExitCode failed = ExitCode::done;
  const auto all = transport.gather(report.bytes_);
  for (std::size_t r = 0; r < all.size(); ++r) {
    Reader reader(all[r]);
    std::vector<char> words;
    int threads = 0;
    reader.get(code);
    reader.get(threads);
    reader.get(words);
    if (r > 0) made.threads += threads;
    if (code == ExitCode::done || well == 0) continue;
    well = 0;
    failed = code;
    failure = fmt::format("rank {}: {}", r, std::string(words.begin(), words.end()));
  }
  transport.broadcast(std::span(&well, 1));
  if (well == 0) made.slab.reset();
  if (well == 0 && transport.rank() == 0) throw Error(failed, failure);
  if (made.slab) {
    const std::size_t systems = recipe.spec.betas.size() * recipe.spec.replicas;
    for (std::size_t who = 0; who < systems; ++who) made.slab->fetch_halo(who);
  }
  return made;
}

// Words [first, last) of a colour that lie with rank r.
Words share_of(const Layout& lattice, int r, int size, std::uint64_t first, std::uint64_t last) {
  const Planes planes = planes_of(lattice, r, size);
  const std::uint64_t begin = std::max(first, planes.begin * lattice.plane_words());
  return {begin, std::max(begin, std::min(last, planes.end * lattice.plane_words()))};
}

std::span<std::uint8_t> bytes_of(std::span<std::uint32_t> words) {
  return {reinterpret_cast<std::uint8_t*>(words.data()), words.size_bytes()};
}

// Ranks of this process, one for each device of a team; rank 0 is whoever has the crew.
class Crew {
 public:
  explicit Crew(const std::vector<int>& devices) : ranks_(static_cast<int>(devices.size())) {
    for (int r = 1; r < ranks_.rank(0).size(); ++r) {
      followers_.emplace_back([this, r, device = devices[static_cast<std::size_t>(r)]] {
        EngineOptions options;
        options.device = device;
        try {
          follow_packed(ranks_.rank(r), [&](bool) { return options; });
        } catch (const std::exception&) {  // the others have been told
        }
      });
    }
  }
  ~Crew() { dismiss_followers(first()); }

  Transport& first() { return ranks_.rank(0); }

 private:
  ranks::ThreadRanks ranks_;
  std::vector<std::jthread> followers_;
};

// Rank 0

class SharedEngine final : public PackedEngine {
 public:
  SharedEngine(Transport& transport, const Recipe& recipe, const EngineOptions& options,
               std::unique_ptr<Crew> crew = nullptr)
      : PackedEngine(Layout::make(recipe.extents), recipe.spec),
        crew_(std::move(crew)),
        transport_(transport),
        options_(options),
        number_(next_number()) {
    Writer writer;
    Recipe::each(writer, recipe);
    tell({What::make, number_, 0, 0, writer.bytes_.size(), 0});
    transport_.broadcast(std::span(writer.bytes_));
    made_ = make_together(recipe, transport_, [&](bool) { return options_; });
    device_ = crew_ ? fmt::format("cuda:{}", fmt::join(options.devices, "+"))
                    : fmt::format("{} x {}", transport_.size(), made_.slab->device());
  }

  // Where ranks have failed, there is nobody left to be told.
  ~SharedEngine() override {
    try {
      tell({What::drop, number_, 0, 0, 0, 0});
    } catch (const Error&) {
    }
  }

  std::string_view device() const override { return device_; }
  int threads() const override { return made_.threads; }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    return advance_systems(
        options_, schedule, cycles,
        [&](std::size_t first, std::size_t last, std::uint64_t step, std::uint64_t steps) {
          tell({What::sweep, number_, first, last, step, steps});
          guarded([&] { made_.slab->sweep(first, last, step, steps); });
        });
  }

  void measure(Observation& out) override {
    const double begin = now();
    std::vector<std::uint64_t> sums(2 * systems_);
    tell({What::count, number_, 0, 0, 0, 0});
    guarded([&] { made_.slab->count(sums); });
    transport_.sum(sums);
    std::vector<unsigned long long> unequal(systems_), up(systems_);
    for (std::size_t who = 0; who < systems_; ++who) {
      unequal[who] = sums[2 * who];
      up[who] = sums[2 * who + 1];
    }
    report(unequal.data(), up.data(), out);
    work_.measure_seconds += now() - begin;
  }

 private:
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
  }
  void tell(Order order) const { transport_.broadcast(bytes_of(order)); }

  // The others wait for this rank in the midst of an order: they must not do so for ever.
  template <class F>
  void guarded(const F& f) const {
    try {
      f();
    } catch (const Error& error) {
      transport_.abort(error);
      throw;
    }
  }

  // Calls f(colour, first, last, place in the whole), of some words of a colour at a time.
  template <class F>
  void for_pieces(std::uint64_t first, std::uint64_t count, const F& f) const {
    const std::uint64_t all = layout_.colour_words();
    for (std::uint64_t at = first; at < first + count;) {
      const std::uint64_t colour = at / all, from = at % all;
      const std::uint64_t last = std::min({all, from + kMostWords, from + first + count - at});
      f(static_cast<int>(colour), from, last, at - first);
      at += last - from;
    }
  }

  void read_words(std::size_t who, std::uint64_t first,
                  std::span<std::uint32_t> out) const override {
    for_pieces(first, out.size(),
               [&](int colour, std::uint64_t from, std::uint64_t last, std::uint64_t at) {
                 tell({What::read, number_, from, last, who, static_cast<std::uint64_t>(colour)});
                 guarded([&] {
                   const Words own = share_of(layout_, 0, transport_.size(), from, last);
                   for (int r = 1; r < transport_.size(); ++r) {
                     const Words part = share_of(layout_, r, transport_.size(), from, last);
                     if (part.first == part.last) continue;
                     transport_.post_receive(
                         r, kWords,
                         bytes_of(out.subspan(at + part.first - from, part.last - part.first)));
                   }
                   if (own.first < own.last) {
                     made_.slab->read(who, colour, own.first,
                                      out.subspan(at + own.first - from, own.last - own.first));
                   }
                   transport_.wait();
                 });
               });
  }

  void write_words(std::size_t who, std::uint64_t first,
                   std::span<const std::uint32_t> words) override {
    for_pieces(first, words.size(),
               [&](int colour, std::uint64_t from, std::uint64_t last, std::uint64_t at) {
                 tell({What::write, number_, from, last, who, static_cast<std::uint64_t>(colour)});
                 guarded([&] {
                   const Words own = share_of(layout_, 0, transport_.size(), from, last);
                   for (int r = 1; r < transport_.size(); ++r) {
                     const Words part = share_of(layout_, r, transport_.size(), from, last);
                     if (part.first == part.last) continue;
                     const auto piece =
                         words.subspan(at + part.first - from, part.last - part.first);
                     transport_.post_send(
                         r, kWords,
                         {reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size_bytes()});
                   }
                   transport_.wait();
                   if (own.first < own.last) {
                     made_.slab->write(who, colour, own.first,
                                       words.subspan(at + own.first - from, own.last - own.first));
                   }
                   made_.slab->fetch_halo(who);
                 });
               });
  }

  const std::unique_ptr<Crew> crew_;  // goes last
  Transport& transport_;
  const EngineOptions options_;
  const std::uint64_t number_;
  Made made_;
  std::string device_;
};

// The other ranks

class Follower {
 public:
  Follower(Transport& transport, const std::function<EngineOptions(bool)>& options)
      : transport_(transport), options_(options) {}

  // False once dismissed.
  bool follow() {
    Order order{};
    transport_.broadcast(bytes_of(order));
    switch (order.what) {
      case What::make:
        make(order);
        break;
      case What::sweep:
        slab(order).sweep(order.first, order.last, order.a, order.b);
        break;
      case What::count:
        count(order);
        break;
      case What::read:
      case What::write:
        move(order);
        break;
      case What::drop:
        shares_.erase(order.engine);
        break;
      case What::dismiss:
        return false;
    }
    return true;
  }

 private:
  struct Share {
    Layout lattice;
    std::size_t systems;
    std::unique_ptr<Slab> slab;
  };
  Slab& slab(const Order& order) { return *shares_.at(order.engine).slab; }

  void make(const Order& order) {
    std::vector<std::uint8_t> bytes(order.a);
    transport_.broadcast(std::span(bytes));
    Reader reader(bytes);
    Recipe recipe;
    Recipe::each(reader, recipe);
    Made made = make_together(recipe, transport_, options_);
    if (!made.slab) return;
    shares_.emplace(order.engine,
                    Share{Layout::make(recipe.extents),
                          recipe.spec.betas.size() * recipe.spec.replicas, std::move(made.slab)});
  }

  void count(const Order& order) {
    std::vector<std::uint64_t> sums(2 * shares_.at(order.engine).systems);
    slab(order).count(sums);
    transport_.sum(sums);
  }

  void move(const Order& order) {
    const Layout& lattice = shares_.at(order.engine).lattice;
    const int rank = transport_.rank(), size = transport_.size();
    const Words part = share_of(lattice, rank, size, order.first, order.last);
    const std::uint64_t own = planes_of(lattice, rank, size).begin * lattice.plane_words();
    const auto colour = static_cast<int>(order.b);
    buffer_.resize(part.last - part.first);
    const bool any = !buffer_.empty();
    if (order.what == What::read) {
      if (!any) return;
      slab(order).read(order.a, colour, part.first - own, buffer_);
      transport_.post_send(0, kWords, bytes_of(std::span(buffer_)));
      transport_.wait();
      return;
    }
    if (any) {
      transport_.post_receive(0, kWords, bytes_of(std::span(buffer_)));
      transport_.wait();
      slab(order).write(order.a, colour, part.first - own, buffer_);
    }
    slab(order).fetch_halo(order.a);
  }

  Transport& transport_;
  const std::function<EngineOptions(bool)>& options_;
  std::map<std::uint64_t, Share> shares_;
  std::vector<std::uint32_t> buffer_;
};

}  // namespace

void check_shares(const std::vector<std::uint32_t>& extents, int ranks) {
  const std::uint32_t planes = Layout::make(extents).planes();
  if (static_cast<std::uint32_t>(ranks) <= planes) return;
  throw Error(ExitCode::usage,
              fmt::format("{} ranks cannot share size {}: it has {} along its {}, and each rank "
                          "needs one (take {} ranks or fewer)",
                          ranks, fmt::join(extents, ","),
                          extents.size() == 1 ? "one row" : fmt::format("{} rows", planes),
                          extents.size() == 1 ? "only extent" : "last extent", planes));
}

std::unique_ptr<Engine> make_shared_packed_engine(Transport& transport,
                                                  const std::vector<std::uint32_t>& extents,
                                                  const EngineSpec& spec,
                                                  const EngineOptions& options) {
  check_packed_spec(spec, options);
  check_shares(extents, transport.size());
  return std::make_unique<SharedEngine>(transport, Recipe{extents, spec, options.device >= 0},
                                        options);
}

std::unique_ptr<Engine> make_packed_team(const std::vector<std::uint32_t>& extents,
                                         const EngineSpec& spec, const EngineOptions& options) {
  check_packed_spec(spec, options);
  check_shares(extents, static_cast<int>(options.devices.size()));
  auto crew = std::make_unique<Crew>(options.devices);
  EngineOptions own = options;
  own.device = options.devices.front();
  Transport& first = crew->first();
  return std::make_unique<SharedEngine>(first, Recipe{extents, spec, true}, own, std::move(crew));
}

void follow_packed(Transport& transport, const std::function<EngineOptions(bool cuda)>& options) {
  Follower follower(transport, options);
  try {
    while (follower.follow()) {
    }
  } catch (const Error& error) {
    transport.abort(error);
    throw;
  } catch (const std::exception& error) {
    transport.abort(Error(ExitCode::internal, error.what()));
    throw;
  }
}

void dismiss_followers(Transport& transport) {
  Order order{What::dismiss, 0, 0, 0, 0, 0};
  transport.broadcast(bytes_of(order));
}

}  // namespace rewise
