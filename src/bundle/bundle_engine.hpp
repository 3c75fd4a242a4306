// What the bundle engine is on every device: bundles of 32 replicas, a word per site, laid out by
// colours (layout.hpp); the thresholds of all temperatures.
#pragma once

#include <vector>

#include "src/bundle/layout.hpp"
#include "src/bundle/local/local.hpp"
#include "src/engine/engine_base.hpp"

namespace rewise::bundle {

// What a device needs to know of one engine; valid as long as that.
struct EngineView {
  const Graph& graph;
  const Layout& layout;
  const EngineSpec& spec;
  const std::vector<LocalTables>& tables;  // [T]
  const std::vector<Threshold>& bond;      // [T]
  std::uint32_t groups, bundles;
};

class BundleEngine : public EngineBase {
 public:
  BundleEngine(const Graph& graph, const EngineSpec& spec, bool every_cell = false);

  EngineView view() const { return {graph_, layout_, spec_, tables_, bond_, groups_, bundles_}; }

 protected:
  using Words = std::vector<std::uint32_t>;

  // The words of one bundle in slot order, to the host and back.
  virtual void read_words(std::uint32_t bundle, Words& out) const = 0;
  virtual void write_words(std::uint32_t bundle, const Words& words) = 0;
  // The first configuration of a bundle.
  Words start_words(std::uint32_t bundle) const;
  std::uint32_t hot_replicas() const;  // of each bundle, a bit each

  void change_cluster(ClusterUpdate cluster);

  // The place of a bundle within its next step: of a sweep, or of cluster updates.
  struct Place {
    SweepPlace sweep;
    UpdatesAhead ahead{};
  };

  const Graph& graph_;
  const Layout layout_;
  const std::uint32_t groups_, bundles_;  // R / 32; T * R / 32
  std::vector<LocalTables> tables_;       // [T]
  std::vector<Threshold> bond_;           // [T] below certainty
  std::vector<Place> places_;             // [bundles]

 private:
  void make_weighted_sums();
  void read_part(std::size_t bundle, std::span<std::uint8_t> out) const final;
  void write_part(std::size_t bundle, Bytes spins) final;
  void read_replica(std::size_t replica, std::span<std::uint8_t> out) const final;
  std::vector<std::uint64_t> save_sums() const final;
  bool restore_sums(std::span<const std::uint64_t> words) final;
  Bytes place(std::size_t bundle) const final;
  bool set_place(std::size_t bundle, Bytes bytes) final;
};

}  // namespace rewise::bundle
