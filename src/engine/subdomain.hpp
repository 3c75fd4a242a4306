// One engine distributed over several ranks (src/distributed). Each rank holds a subdomain of
// every replica. Rank 0 holds the engine, which is used like any other; the other ranks execute its
// orders in the same sequence, so an order may exchange messages between all ranks.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "src/distributed/threads.hpp"
#include "src/distributed/transport.hpp"
#include "src/engine/registry.hpp"

namespace rewise {

// The range [first, last) of replicas, bytes or planes.
struct IndexRange {
  std::uint64_t first = 0, last = 0;
  std::uint64_t size() const { return last - first; }
};

// The range of `planes` along a lattice's slowest extent that belongs to rank r of `size` ranks.
inline IndexRange planes_of(std::uint64_t planes, int r, int size) {
  const auto ranks = static_cast<std::uint64_t>(size), rank = static_cast<std::uint64_t>(r);
  return {planes * rank / ranks, planes * (rank + 1) / ranks};
}
// Throws Error(usage) if a lattice has fewer planes along its slowest extent than there are ranks.
// A one-dimensional lattice counts as one plane.
void check_subdomains(const std::vector<std::uint32_t>& extents, int ranks);

// An order to all ranks: run `cycles` cycles of a schedule from step `step` on a range of replicas.
struct AdvanceOrder {
  IndexRange replicas;
  std::uint64_t step = 0, cycles = 0;
  Schedule schedule;
};

// A rank's subdomain of all replicas of an engine.
class Subdomain {
 public:
  virtual ~Subdomain() = default;
  virtual std::string device() const = 0;  // "cpu", "cuda"
  // Must be equal on all ranks: "cpu", or the model name of the device.
  virtual std::string model() const { return device(); }
  virtual int threads() const = 0;
  // The route of messages between devices (device_messages_cuda.hpp), known after the first
  // messages.
  virtual std::string route() const { return ""; }

  // All ranks call the following three functions together.
  //
  // Fetches the halo of replica `replica` from neighbouring ranks. Call after initialisation and
  // write().
  virtual void fetch(std::uint64_t replica) = 0;
  virtual void advance(const AdvanceOrder& what) = 0;
  // This rank's contribution to sums over all ranks, [sums()].
  virtual void count(std::span<std::uint64_t> sums) = 0;

  virtual std::uint64_t replicas() const = 0;
  virtual std::uint64_t sums() const = 0;
  // A replica is saved as blocks of equal length. Returns the range of bytes of each block that a
  // rank holds.
  virtual IndexRange part(int rank) const = 0;
  // Copy some of the bytes that this rank holds to the host and back. `first` counts from the
  // beginning of the block.
  virtual void read(std::uint64_t replica, std::uint64_t block, std::uint64_t first,
                    std::span<std::uint8_t> out) const = 0;
  virtual void write(std::uint64_t replica, std::uint64_t block, std::uint64_t first,
                     std::span<const std::uint8_t> bytes) = 0;
};

// Converts values to bytes, one after the other.
class ByteWriter {
 public:
  template <class T>
  ByteWriter& operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
    return *this;
  }
  template <class T>
  ByteWriter& operator()(const std::vector<T>& values) {
    (*this)(std::uint64_t{values.size()});
    for (const T& value : values) (*this)(value);
    return *this;
  }
  std::vector<std::uint8_t> bytes;
};
// Reads the values of a ByteWriter in the same order.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  ByteReader& operator()(T& value) {
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return *this;
  }
  template <class T>
  ByteReader& operator()(std::vector<T>& values) {
    std::uint64_t count = 0;
    (*this)(count);
    values.resize(count);
    for (T& value : values) (*this)(value);
    return *this;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// The bytes of a specification, the settings from which all ranks make their subdomains of an
// engine. They begin with the engine. Spec::pass(stream) lists the members of the struct Spec.
template <class Spec>
std::vector<std::uint8_t> written(EngineKind engine, Spec spec) {
  ByteWriter writer;
  writer(engine);
  spec.pass(writer);
  return writer.bytes;
}
template <class Spec>
Spec read_spec(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  EngineKind engine{};
  Spec spec;
  spec.pass(reader(engine));
  return spec;
}

// The options of a rank: its threads, and its device if `cuda`.
using RankOptionsOf = std::function<EngineOptions(bool cuda)>;
using SubdomainMaker =
    std::function<std::unique_ptr<Subdomain>(std::span<const std::uint8_t> spec_bytes)>;

// Makes a rank's subdomain of an engine (EngineFactory::make_subdomain).
using SubdomainFactory = std::unique_ptr<Subdomain> (*)(std::span<const std::uint8_t> spec_bytes,
                                                        distributed::Transport& ranks,
                                                        const RankOptionsOf& options);

// Writes a new file completely and durably, or not at all; throws Error.
using FileWriter =
    std::function<void(const std::string& file, std::span<const std::uint8_t> bytes)>;

// Runs on every rank except 0: executes rank 0's orders until it is dismissed. An error ends all
// ranks. `write` writes files on orders of rank 0.
void follow_orders(distributed::Transport& transport, const SubdomainMaker& make,
                   const FileWriter& write = {});
// Runs on rank 0 once all engines are destroyed.
void dismiss_followers(distributed::Transport& transport);

// Ranks within this process. Each rank except 0 is a thread that makes its subdomains by its own
// maker and follows rank 0, the owner of this object. Must outlive all engines that use it.
class FollowerThreads {
 public:
  FollowerThreads(int ranks,
                  const std::function<SubdomainMaker(distributed::Transport&)>& maker_of);
  ~FollowerThreads();
  distributed::Transport& first() { return ranks_.rank(0); }

 private:
  distributed::ThreadRanks ranks_;
  std::vector<std::jthread> followers_;
};

// The ranks of EngineOptions::devices, or else of EngineOptions::ranks: their number, the options
// of one of them, and threads for all but rank 0.
int rank_count(const EngineOptions& options);
EngineOptions options_of_rank(const EngineOptions& options, int rank);
std::unique_ptr<FollowerThreads> follower_threads(const EngineOptions& options,
                                                  SubdomainFactory make);

// A state for which each rank has written the spins of its own subdomain to a file. The spins are
// rows (blocks of replicas) of row_bytes; parts[rank] is the range of bytes of each row on that
// rank.
struct StateInParts {
  EngineState rest;  // including the data that follow the spins
  std::uint64_t rows = 0, row_bytes = 0;
  std::vector<IndexRange> parts;
};

// Reads spins of such a state, with all rows one after the other, from byte `first`.
using SpinReader = std::function<void(std::uint64_t first, std::span<std::uint8_t> out)>;

// An engine whose ranks can save their subdomains separately.
class SavesInParts {
 public:
  virtual ~SavesInParts() = default;
  virtual bool has_ranks() const = 0;
  // Writes files `name`.0, `name`.1 and so on, one per rank; rank 0 uses `write`. Throws the Error
  // of the first rank that fails.
  virtual StateInParts save_in_parts(const std::string& name, const FileWriter& write) const = 0;
  // Restores such a state on any number of ranks. Rank 0 reads the spins, `spin_bytes` in total, by
  // several calls of `read`.
  virtual void restore_in_parts(const EngineState& rest, std::uint64_t spin_bytes,
                                const SpinReader& read) = 0;
};

// Rank 0's interface to the subdomains of one engine.
class Subdomains {
 public:
  // Makes the subdomains on all ranks, that of rank 0 by `make`. Throws the error of the first rank
  // that fails, Error(device) if a rank has another model of device than rank 0.
  Subdomains(distributed::Transport& transport, const std::vector<std::uint8_t>& spec_bytes,
             const SubdomainMaker& make);
  ~Subdomains();
  Subdomains(const Subdomains&) = delete;
  Subdomains& operator=(const Subdomains&) = delete;

  Subdomain& own() { return *own_; }
  int ranks() const { return transport_.size(); }
  int threads() const { return threads_; }  // sum over all ranks
  // "4 x cpu", "2 x cuda by peer"
  std::string device() const;

  void advance(const AdvanceOrder& what) const;
  std::vector<std::uint64_t> count() const;  // sums over all ranks
  // Copy any range of bytes of a block from and to the ranks that hold them.
  void read(std::uint64_t replica, std::uint64_t block, std::uint64_t first,
            std::span<std::uint8_t> out) const;
  void write(std::uint64_t replica, std::uint64_t block, std::uint64_t first,
             std::span<const std::uint8_t> bytes) const;
  // Saves all blocks of all replicas as SavesInParts does; `rest` becomes part of the result.
  StateInParts save(std::uint64_t blocks, const std::string& name, const FileWriter& write,
                    EngineState rest) const;
  // Restores them. Calls `check` on the bytes that were read, in multiples of `unit`, before they
  // are sent to ranks.
  void restore(std::uint64_t blocks, std::uint64_t unit, const SpinReader& read,
               const std::function<void(std::span<const std::uint8_t>)>& check) const;

 private:
  distributed::Transport& transport_;
  const std::uint64_t number_;
  std::unique_ptr<Subdomain> own_;
  int threads_ = 0;
};

}  // namespace rewise
