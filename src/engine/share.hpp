// One engine distributed over several ranks (src/distributed). Each rank holds a share of every
// replica. Rank 0 holds the engine, which is used like any other; the other ranks execute its
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

// `first` to `last` of systems, bytes or planes.
struct Extent {
  std::uint64_t first = 0, last = 0;
  std::uint64_t size() const { return last - first; }
};

// The range of `planes` along a lattice's slowest extent that belongs to rank r of `size` ranks.
inline Extent planes_of(std::uint64_t planes, int r, int size) {
  const auto ranks = static_cast<std::uint64_t>(size), rank = static_cast<std::uint64_t>(r);
  return {planes * rank / ranks, planes * (rank + 1) / ranks};
}
// Throws Error(usage) if a lattice has fewer planes along its slowest extent than there are ranks,
// or is one-dimensional.
void check_shares(const std::vector<std::uint32_t>& extents, int ranks);

// What all ranks do to systems: `cycles` cycles of a schedule from a step on.
struct Advance {
  Extent systems;
  std::uint64_t step = 0, cycles = 0;
  Schedule schedule;
};

// A rank's share of all replicas of an engine.
class Share {
 public:
  virtual ~Share() = default;
  virtual std::string device() const = 0;  // "cpu", "cuda"
  // Must be equal on all ranks: "cpu", or the device's model name.
  virtual std::string model() const { return device(); }
  virtual int threads() const = 0;
  // Of devices how their messages go (device_mail.hpp), once they have.
  virtual std::string route() const { return ""; }

  // All ranks make these calls together.
  //
  // What a rank holds of its neighbours' spins in a system, after the first spins or write().
  virtual void fetch(std::uint64_t who) = 0;
  virtual void advance(const Advance& what) = 0;
  // This rank's contribution to sums over all ranks, [sums()].
  virtual void count(std::span<std::uint64_t> sums) = 0;

  virtual std::uint64_t systems() const = 0;
  virtual std::uint64_t sums() const = 0;
  // A system is saved as blocks of equal length; of each the bytes that lie with a rank.
  virtual Extent part(int rank) const = 0;
  // Of these some of this rank's, counted from the block's first, to the host and back.
  virtual void read(std::uint64_t who, std::uint64_t block, std::uint64_t first,
                    std::span<std::uint8_t> out) const = 0;
  virtual void write(std::uint64_t who, std::uint64_t block, std::uint64_t first,
                     std::span<const std::uint8_t> bytes) = 0;
};

// A recipe: what shares are made of, as bytes.
class RecipeWriter {
 public:
  template <class T>
  RecipeWriter& operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
    return *this;
  }
  template <class T>
  RecipeWriter& operator()(const std::vector<T>& values) {
    (*this)(std::uint64_t{values.size()});
    for (const T& value : values) (*this)(value);
    return *this;
  }
  std::vector<std::uint8_t> bytes;
};
class RecipeReader {
 public:
  explicit RecipeReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  RecipeReader& operator()(T& value) {
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return *this;
  }
  template <class T>
  RecipeReader& operator()(std::vector<T>& values) {
    std::uint64_t count = 0;
    (*this)(count);
    values.resize(count);
    for (T& value : values) (*this)(value);
    return *this;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// The recipe of an engine's shares, by pass(stream) of a struct, with the engine before it; and the
// reverse.
template <class Recipe>
std::vector<std::uint8_t> written(EngineKind engine, Recipe recipe) {
  RecipeWriter writer;
  writer(engine);
  recipe.pass(writer);
  return writer.bytes;
}
template <class Recipe>
Recipe read_recipe(std::span<const std::uint8_t> bytes) {
  RecipeReader reader(bytes);
  EngineKind engine{};
  Recipe recipe;
  recipe.pass(reader(engine));
  return recipe;
}

// On what a rank computes: its threads, and its device where `cuda`.
using RankOptionsOf = std::function<EngineOptions(bool cuda)>;
using ShareMaker = std::function<std::unique_ptr<Share>(std::span<const std::uint8_t> recipe)>;

// Writes a new file completely and durably, or not at all; throws Error.
using FileWriter =
    std::function<void(const std::string& file, std::span<const std::uint8_t> bytes)>;

// Runs on every rank except 0: executes rank 0's orders until it is dismissed. An error ends all
// ranks. `write` writes files on orders of rank 0.
void follow(distributed::Transport& transport, const ShareMaker& make,
            const FileWriter& write = {});
// Runs on rank 0 once all engines are destroyed.
void dismiss_followers(distributed::Transport& transport);

// Ranks of this process, each a thread that makes its shares by its own maker and follows rank 0:
// that is whoever has the crew, as long as it has engines.
class Crew {
 public:
  Crew(int ranks, const std::function<ShareMaker(distributed::Transport&)>& maker_of);
  ~Crew();
  distributed::Transport& first() { return ranks_.rank(0); }

 private:
  distributed::ThreadRanks ranks_;
  std::vector<std::jthread> followers_;
};

// A state whose spins every rank has written for its own share: rows (blocks of replicas) of
// row_bytes; `parts` [ranks] gives the bytes of each row on a rank.
struct SavedApart {
  EngineState rest;  // including the data that follow the spins
  std::uint64_t rows = 0, row_bytes = 0;
  std::vector<Extent> parts;
};

// Spins of such a state, row behind row, from a byte on.
using SpinReader = std::function<void(std::uint64_t first, std::span<std::uint8_t> out)>;

// An engine whose ranks can save their shares separately.
class SavesApart {
 public:
  virtual ~SavesApart() = default;
  virtual bool has_ranks() const = 0;
  // Files `name`.0, `name`.1 and so on, by rank; rank 0's by `write`. The Error of the first rank
  // that has one.
  virtual SavedApart save_apart(const std::string& name, const FileWriter& write) const = 0;
  // The reverse, on any number of ranks: of the spins, so many bytes, rank 0 reads some at a time.
  virtual void restore_apart(const EngineState& rest, std::uint64_t spin_bytes,
                             const SpinReader& read) = 0;
};

// Rank 0's interface to the shares of one engine.
class Shares {
 public:
  // Makes them on all ranks, its own by `make`. The error of the first rank that has one;
  // Error(device) where a rank has another model of device than rank 0.
  Shares(distributed::Transport& transport, const std::vector<std::uint8_t>& recipe,
         const ShareMaker& make);
  ~Shares();
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  Share& own() { return *own_; }
  int ranks() const { return transport_.size(); }
  int threads() const { return threads_; }  // of all ranks
  // "4 x cpu", "2 x cuda by peer"
  std::string device() const;

  void advance(const Advance& what) const;
  std::vector<std::uint64_t> count() const;  // over all ranks
  // Any bytes of a block, from and to the ranks that have them.
  void read(std::uint64_t who, std::uint64_t block, std::uint64_t first,
            std::span<std::uint8_t> out) const;
  void write(std::uint64_t who, std::uint64_t block, std::uint64_t first,
             std::span<const std::uint8_t> bytes) const;
  // All blocks of all systems, as SavesApart says; `rest` goes with them.
  SavedApart save(std::uint64_t blocks, const std::string& name, const FileWriter& write,
                  EngineState rest) const;
  // And back; `check` sees what is read, multiples of `unit` bytes, before ranks have it.
  void restore(std::uint64_t blocks, std::uint64_t unit, const SpinReader& read,
               const std::function<void(std::span<const std::uint8_t>)>& check) const;

 private:
  distributed::Transport& transport_;
  const std::uint64_t number_;
  std::unique_ptr<Share> own_;
  int threads_ = 0;
};

}  // namespace rewise
