// What the bundle engine keeps on any device: the specification, the layout, the step number, the
// cluster sums; saved states, hashes and configurations, all in site order.
#pragma once

#include <vector>

#include "src/bundle/digits.hpp"
#include "src/bundle/layout.hpp"
#include "src/bundle/swendsen_wang_label.hpp"
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
  // Error(usage) where these steps would pass the last addressable one; returns their number.
  std::uint64_t check_steps(const Schedule& schedule, std::uint64_t cycles) const;
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
  std::uint64_t cluster_updates_ = 0;
  std::uint64_t step_ = 0;
  Work work_;
};

}  // namespace rewise::bundle
