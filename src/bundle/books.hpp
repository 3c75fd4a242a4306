// What the bundle engine keeps on any device: the specification, the layout, the step number, the
// cluster sums; saved states, hashes and configurations, all in site order.
#pragma once

#include <algorithm>
#include <vector>

#include "src/bundle/layout.hpp"
#include "src/bundle/local/digits.hpp"
#include "src/bundle/local/sweep.hpp"
#include "src/bundle/swendsen_wang/swendsen_wang_label.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bundle {

// What a device needs to know of one engine; valid as long as its Books.
struct BooksView {
  const Graph& graph;
  const Layout& layout;
  const EngineSpec& spec;
  const std::vector<LocalTables>& tables;  // [T]
  const std::vector<Threshold>& bond;      // [T]
  std::uint32_t groups, bundles;
};

// How far a bundle has come on an advance() that was stopped: whole steps, then a part of the next
// one, a sweep or cluster updates.
struct Position {
  std::uint32_t steps = 0;
  SweepPlace place;
  UpdatesAhead ahead{};
  bool operator==(const Position&) const = default;
};

class Books : public Engine {
 public:
  Books(const Graph& graph, const EngineSpec& spec);

  BooksView view() const { return {graph_, layout_, spec_, tables_, bond_, groups_, bundles_}; }

  std::string_view name() const override { return "bundle"; }
  EngineState save() const override;
  void restore(const EngineState& state) override;
  void spins(std::uint32_t temperature, std::uint32_t replica,
             std::span<std::uint8_t> out) const override;
  std::uint64_t trajectory_hash() const override;
  Work work() const override { return work_; }

 protected:
  std::size_t spin_bytes() const { return std::size_t{bundles_} * layout_.sites * 4; }
  std::size_t state_bytes() const {
    return spin_bytes() + 8 * cluster_size_.size() + 16 * cluster_quartic_.size() + 8;
  }
  using Words = std::vector<std::uint32_t>;

  // The words of one bundle in slot order, to the host and back.
  virtual void read_words(std::uint32_t bundle, Words& out) const = 0;
  virtual void write_words(std::uint32_t bundle, const Words& words) = 0;
  // The first configuration of a bundle.
  Words start_words(std::uint32_t bundle) const;

  bool is_swendsen_wang() const { return spec_.cluster == ClusterUpdate::swendsen_wang; }
  std::size_t restore_positions(const EngineState& state);
  // Error(usage) where these steps would pass the last addressable one; returns their number.
  std::uint64_t check_steps(const Schedule& schedule, std::uint64_t cycles) const;
  // Stopped on the way; all bundles at the end of the same step.
  bool under_way() const { return !in_step() || positions_.front().steps > 0; }
  bool in_step() const {
    const Position first{positions_.front().steps, {}, {}};
    return std::all_of(positions_.begin(), positions_.end(),
                       [&](const Position& p) { return p == first; });
  }
  // Counts finished cycles; `sites` flipped by their Wolff updates (Swendsen-Wang visits them all).
  void book(const Schedule& schedule, std::uint64_t cycles, std::uint64_t sites);
  // Hands out the cluster sums and starts new ones.
  void close_sums(Observation& out);

  const EngineSpec spec_;
  const Graph& graph_;
  const Layout layout_;
  const std::uint32_t groups_, bundles_;     // R / 32; T * R / 32
  std::vector<LocalTables> tables_;          // [T]
  std::vector<Threshold> bond_;              // [T] below certainty
  std::vector<std::uint64_t> cluster_size_;  // [T * R] since the last measurement
  std::vector<WideSum> cluster_quartic_;     // [T * R] likewise, Swendsen-Wang only
  std::vector<Position> positions_;          // [bundles] beyond step_
  std::uint64_t cluster_updates_ = 0;
  std::uint64_t step_ = 0;  // of advances that came to an end
  Work work_;
};

}  // namespace rewise::bundle
