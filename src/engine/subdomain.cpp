#include "src/engine/subdomain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>

#include "src/base/error.hpp"

namespace rewise {
namespace {

using distributed::Transport;

constexpr int kBytes = distributed::kFirstTag + 8;  // tag of spins that are read or written
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 26;  // per message

enum class What : std::uint64_t { make, advance, count, read, write, save, drop, dismiss };

// A command of rank 0 to all ranks.
struct Order {
  What what{};
  std::uint64_t engine = 0;   // number of the engine
  std::uint64_t payload = 0;  // make, save: number of bytes that follow
  AdvanceOrder advance{};
  // read, write: replica and block; save: `block` is the number of blocks per replica
  std::uint64_t replica = 0, block = 0;
  IndexRange bytes{};  // range within the block
};

void tell(Transport& transport, Order order) {
  transport.broadcast({reinterpret_cast<std::uint8_t*>(&order), sizeof order});
}

// Calls f(). An exception aborts all ranks, which would otherwise wait for this rank for ever.
template <class F>
void guarded(Transport& transport, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    transport.abort(error);
    throw;
  } catch (const std::exception& error) {
    transport.abort(Error(ExitCode::internal, error.what()));
    throw;
  }
}

// The outcome of a rank's part of a common task.
struct Outcome {
  ExitCode code = ExitCode::done;
  std::string error;                 // its message
  std::vector<std::uint8_t> result;  // what the task wrote
};

// Calls task(result), which writes the result of this rank. Returns the outcomes of all ranks on
// rank 0, nothing on others. `part_of`: what is too large if the memory is too small.
template <class F>
std::vector<Outcome> gather_outcomes(Transport& transport, std::string_view part_of,
                                     const F& task) {
  ExitCode code = ExitCode::done;
  std::string text;
  ByteWriter result, report;
  try {
    task(result);
  } catch (const Error& error) {
    code = error.exit_code();
    text = error.what();
  } catch (const std::bad_alloc&) {
    code = ExitCode::device;
    text = fmt::format("not enough memory for its part of the {}", part_of);
  } catch (const std::exception& error) {
    code = ExitCode::internal;
    text = error.what();
  }
  report(code)(std::vector<char>(text.begin(), text.end()))(result.bytes);
  std::vector<Outcome> all;
  for (const auto& bytes : transport.gather(report.bytes)) {
    std::vector<char> words;
    Outcome& outcome = all.emplace_back();
    ByteReader reader(bytes);
    reader(outcome.code)(words)(outcome.result);
    if (outcome.code != ExitCode::done) {
      outcome.error =
          fmt::format("rank {}: {}", all.size() - 1, std::string(words.begin(), words.end()));
    }
  }
  return all;
}

// Makes the subdomains of all ranks. If a rank has an error or another model of device than rank 0,
// rank 0 throws the error of the first such rank and the other ranks return nullptr.
std::unique_ptr<Subdomain> make_together(Transport& transport, const SubdomainMaker& make,
                                         std::span<const std::uint8_t> spec_bytes, int& threads) {
  std::unique_ptr<Subdomain> subdomain;
  std::string model;  // of the device
  const std::vector<Outcome> all = gather_outcomes(transport, "lattice", [&](ByteWriter& result) {
    subdomain = make(spec_bytes);
    threads = subdomain->threads();
    model = subdomain->model();
    result(threads)(std::vector<char>(model.begin(), model.end()));
  });
  Outcome failed;  // that of the first rank that failed, if any
  for (std::size_t r = 0; r < all.size() && failed.code == ExitCode::done; ++r) {
    failed = all[r];
    if (failed.code != ExitCode::done) break;
    std::vector<char> its_model;
    int rank_threads = 0;
    ByteReader(failed.result)(rank_threads)(its_model);
    if (r > 0) threads += rank_threads;
    if (const std::string on(its_model.begin(), its_model.end()); on != model) {
      failed.code = ExitCode::device;
      failed.error = fmt::format(
          "rank {} uses {}, but rank 0 uses {}: ranks that share a replica require devices of the "
          "same model",
          r, on, model);
    }
  }
  std::uint8_t all_succeeded = failed.code == ExitCode::done ? 1 : 0;
  transport.broadcast(std::span(&all_succeeded, 1));
  if (all_succeeded == 0 && transport.rank() == 0) throw Error(failed.code, failed.error);
  if (all_succeeded == 0) return nullptr;
  std::exception_ptr common_error;
  guarded(transport, [&] {
    try {
      for (std::uint64_t replica = 0; replica < subdomain->replicas(); ++replica)
        subdomain->fetch(replica);
    } catch (const distributed::ErrorOfAll&) {
      common_error = std::current_exception();
    }
  });
  if (common_error && transport.rank() == 0) std::rethrow_exception(common_error);
  if (common_error) return nullptr;
  return subdomain;
}

// Writes the spins of this rank to its file. Rank 0 throws the error of the first rank that failed.
void save_together(Transport& transport, const Subdomain& subdomain, std::uint64_t blocks,
                   const std::string& name, const FileWriter& write) {
  const std::vector<Outcome> all = gather_outcomes(transport, "state", [&](ByteWriter&) {
    const IndexRange part = subdomain.part(transport.rank());
    std::vector<std::uint8_t> bytes(subdomain.replicas() * blocks * part.size());
    for (std::uint64_t row = 0; row < subdomain.replicas() * blocks && part.size() > 0; ++row) {
      subdomain.read(row / blocks, row % blocks, part.first,
                     std::span(bytes).subspan(row * part.size(), part.size()));
    }
    if (!write) throw Error(ExitCode::internal, "no writer of files was given");
    write(fmt::format("{}.{}", name, transport.rank()), bytes);
  });
  for (const Outcome& outcome : all) {
    if (outcome.code != ExitCode::done) throw Error(outcome.code, outcome.error);
  }
}

IndexRange common(IndexRange a, IndexRange b) {
  const std::uint64_t first = std::max(a.first, b.first);
  return {first, std::max(first, std::min(a.last, b.last))};
}

class Follower {
 public:
  Follower(Transport& transport, const SubdomainMaker& make, const FileWriter& write)
      : transport_(transport), make_(make), write_(write) {}

  // Executes one order. Returns false after the order `dismiss`.
  bool execute_order() {
    Order order;
    transport_.broadcast({reinterpret_cast<std::uint8_t*>(&order), sizeof order});
    switch (order.what) {
      case What::make:
        make(order);
        break;
      case What::advance:
        subdomain(order).advance(order.advance);
        break;
      case What::count:
        sums_.assign(subdomain(order).sums(), 0);
        subdomain(order).count(sums_);
        transport_.sum(sums_);
        break;
      case What::read:
      case What::write:
        move(order);
        break;
      case What::save: {
        std::vector<std::uint8_t> name(order.payload);
        transport_.broadcast(std::span(name));
        save_together(transport_, subdomain(order), order.block,
                      std::string(name.begin(), name.end()), write_);
        break;
      }
      case What::drop:
        subdomains_.erase(order.engine);
        break;
      case What::dismiss:
        return false;
    }
    return true;
  }

 private:
  Subdomain& subdomain(const Order& order) { return *subdomains_.at(order.engine); }

  void make(const Order& order) {
    std::vector<std::uint8_t> spec_bytes(order.payload);
    transport_.broadcast(std::span(spec_bytes));
    int threads = 0;
    auto subdomain = make_together(transport_, make_, spec_bytes, threads);
    if (subdomain) subdomains_.emplace(order.engine, std::move(subdomain));
  }

  void move(const Order& order) {
    const IndexRange part = common(order.bytes, subdomain(order).part(transport_.rank()));
    buffer_.resize(part.size());
    if (order.what == What::read) {
      if (part.size() == 0) return;
      subdomain(order).read(order.replica, order.block, part.first, buffer_);
      transport_.post_send(0, kBytes, buffer_);
      transport_.wait();
      return;
    }
    if (part.size() > 0) {
      transport_.post_receive(0, kBytes, buffer_);
      transport_.wait();
      subdomain(order).write(order.replica, order.block, part.first, buffer_);
    }
    subdomain(order).fetch(order.replica);
  }

  Transport& transport_;
  const SubdomainMaker& make_;
  const FileWriter& write_;
  std::map<std::uint64_t, std::unique_ptr<Subdomain>> subdomains_;
  std::vector<std::uint8_t> buffer_;
  std::vector<std::uint64_t> sums_;
};

// Sends the order for the bytes [first, first + count) of its block in pieces of at most
// kMaxBytes. f(bytes) executes each piece on rank 0.
template <class F>
void order_pieces(Transport& transport, Order order, std::uint64_t first, std::uint64_t count,
                  const F& f) {
  for (std::uint64_t at = 0; at < count; at += kMaxBytes) {
    order.bytes = {first + at, first + std::min(count, at + kMaxBytes)};
    tell(transport, order);
    guarded(transport, [&] { f(order.bytes); });
  }
}

// Calls f(rank, part) for each part of `bytes` that another rank holds.
template <class F>
void for_others(const Transport& transport, const Subdomain& own, IndexRange bytes, const F& f) {
  for (int r = 1; r < transport.size(); ++r) {
    const IndexRange part = common(bytes, own.part(r));
    if (part.size() > 0) f(r, part);
  }
}

}  // namespace

void check_subdomains(const std::vector<std::uint32_t>& extents, int ranks) {
  const std::uint32_t planes = extents.size() > 1 ? extents.back() : 1;
  if (static_cast<std::uint32_t>(ranks) <= planes) return;
  throw Error(ExitCode::usage,
              fmt::format("{} ranks cannot share size {}: it has {} along its {}, and each rank "
                          "needs one (use at most {} ranks)",
                          ranks, fmt::join(extents, ","),
                          extents.size() == 1 ? "one row" : fmt::format("{} rows", planes),
                          extents.size() == 1 ? "only extent" : "last extent", planes));
}

void follow_orders(Transport& transport, const SubdomainMaker& make, const FileWriter& write) {
  Follower follower(transport, make, write);
  guarded(transport, [&] {
    while (follower.execute_order()) {
    }
  });
}

FollowerThreads::FollowerThreads(int size,
                                 const std::function<SubdomainMaker(Transport&)>& maker_of)
    : ranks_(size) {
  guarded(first(), [&] {  // otherwise threads that have started would wait for orders for ever
    for (int r = 1; r < size; ++r) {
      followers_.emplace_back([&transport = ranks_.rank(r), make = maker_of(ranks_.rank(r))] {
        try {
          follow_orders(transport, make);
        } catch (const std::exception&) {  // all ranks have been aborted
        }
      });
    }
  });
}

FollowerThreads::~FollowerThreads() {
  try {
    dismiss_followers(first());
  } catch (const Error&) {  // a rank has failed, which ended all ranks
  }
}

int rank_count(const EngineOptions& options) {
  return options.devices.empty() ? options.ranks : static_cast<int>(options.devices.size());
}

EngineOptions options_of_rank(const EngineOptions& options, int rank) {
  EngineOptions own = options;
  own.device = options.devices.empty() ? -1 : options.devices[static_cast<std::size_t>(rank)];
  return own;
}

std::unique_ptr<FollowerThreads> follower_threads(const EngineOptions& options,
                                                  SubdomainFactory make) {
  const auto maker_of = [&](Transport& ranks) -> SubdomainMaker {
    return [own = options_of_rank(options, ranks.rank()), make,
            &ranks](std::span<const std::uint8_t> spec_bytes) {
      return make(spec_bytes, ranks, [&](bool) { return own; });
    };
  };
  return std::make_unique<FollowerThreads>(rank_count(options), maker_of);
}

void dismiss_followers(Transport& transport) { tell(transport, {.what = What::dismiss}); }

Subdomains::Subdomains(Transport& transport, const std::vector<std::uint8_t>& spec_bytes,
                       const SubdomainMaker& make)
    : transport_(transport), number_([] {
        static std::atomic<std::uint64_t> last = 0;
        return ++last;
      }()) {
  std::vector<std::uint8_t> bytes = spec_bytes;
  tell(transport_, {.what = What::make, .engine = number_, .payload = bytes.size()});
  transport_.broadcast(std::span(bytes));
  own_ = make_together(transport_, make, bytes, threads_);
}

// Ignores errors: no rank is left to receive the order if a rank has failed.
Subdomains::~Subdomains() {
  try {
    tell(transport_, {.what = What::drop, .engine = number_});
  } catch (const Error&) {
  }
}

std::string Subdomains::device() const {
  const std::string route = own_->route();
  return fmt::format("{} x {}{}{}", transport_.size(), own_->device(), route.empty() ? "" : " by ",
                     route);
}

StateInParts Subdomains::save(std::uint64_t blocks, const std::string& name,
                              const FileWriter& write, EngineState rest) const {
  std::vector<std::uint8_t> bytes(name.begin(), name.end());
  tell(transport_,
       {.what = What::save, .engine = number_, .payload = bytes.size(), .block = blocks});
  transport_.broadcast(std::span(bytes));
  save_together(transport_, *own_, blocks, name, write);
  StateInParts saved{std::move(rest), own_->replicas() * blocks, 0, {}};
  for (int r = 0; r < ranks(); ++r) saved.parts.push_back(own_->part(r));
  saved.row_bytes = saved.parts.back().last;
  return saved;
}

void Subdomains::restore(std::uint64_t blocks, std::uint64_t unit, const SpinReader& read,
                         const std::function<void(std::span<const std::uint8_t>)>& check) const {
  const std::uint64_t row_bytes = own_->part(ranks() - 1).last;
  const std::uint64_t most = std::max(kMaxBytes / unit, std::uint64_t{1}) * unit;
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t row = 0; row < own_->replicas() * blocks; ++row) {
    for (std::uint64_t first = 0; first < row_bytes; first += most) {
      bytes.resize(std::min(most, row_bytes - first));
      read(row * row_bytes + first, bytes);
      check(bytes);
      write(row / blocks, row % blocks, first, bytes);
    }
  }
}

void Subdomains::advance(const AdvanceOrder& what) const {
  tell(transport_, {.what = What::advance, .engine = number_, .advance = what});
  guarded(transport_, [&] { own_->advance(what); });
}

std::vector<std::uint64_t> Subdomains::count() const {
  std::vector<std::uint64_t> sums(own_->sums(), 0);
  tell(transport_, {.what = What::count, .engine = number_});
  guarded(transport_, [&] { own_->count(sums); });
  transport_.sum(sums);
  return sums;
}

void Subdomains::read(std::uint64_t replica, std::uint64_t block, std::uint64_t first,
                      std::span<std::uint8_t> out) const {
  const Order order{.what = What::read, .engine = number_, .replica = replica, .block = block};
  order_pieces(transport_, order, first, out.size(), [&](IndexRange bytes) {
    for_others(transport_, *own_, bytes, [&](int r, IndexRange part) {
      transport_.post_receive(r, kBytes, out.subspan(part.first - first, part.size()));
    });
    const IndexRange own = common(bytes, own_->part(0));
    if (own.size() > 0) {
      own_->read(replica, block, own.first, out.subspan(own.first - first, own.size()));
    }
    transport_.wait();
  });
}

void Subdomains::write(std::uint64_t replica, std::uint64_t block, std::uint64_t first,
                       std::span<const std::uint8_t> from) const {
  const Order order{.what = What::write, .engine = number_, .replica = replica, .block = block};
  order_pieces(transport_, order, first, from.size(), [&](IndexRange bytes) {
    for_others(transport_, *own_, bytes, [&](int r, IndexRange part) {
      transport_.post_send(r, kBytes, from.subspan(part.first - first, part.size()));
    });
    transport_.wait();
    const IndexRange own = common(bytes, own_->part(0));
    if (own.size() > 0) {
      own_->write(replica, block, own.first, from.subspan(own.first - first, own.size()));
    }
    own_->fetch(replica);
  });
}

}  // namespace rewise
