// What the readers of edge lists and GraphML have in common: the bonds of the file, their couplings
// and the meaning of attributes. Errors name the file and the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/attributes.hpp"
#include "graphs/flat_map.hpp"
#include "graphs/graph.hpp"
#include "graphs/graph_io.hpp"

namespace rewise {

class ImportedBonds {
 public:
  // `file` and `options` must outlive this object.
  ImportedBonds(const std::string& file, const ReadOptions& options)
      : attributes(options.ignore, options.couplings), file_(file), options_(options) {}

  // Throws Error(data), "file:line: what".
  [[noreturn]] void fail(std::uint64_t line, const std::string& what) const;

  // Keeps the coupling or field that an attribute gives to the open element, if any. fail() if
  // another attribute gave a different one.
  void give(const std::string& name, const Meaning& meaning, std::uint64_t line);
  // The coupling or field of the open element, which ends.
  std::optional<std::int32_t> take_given();

  // Adds a bond. If the sites are already joined, returns the earlier bond, or fails unless
  // ReadOptions::merge is set. `title`(): the sites in messages, such as "sites 1 and 2"; `what`:
  // "bonds" or "edges".
  template <class Title>
  std::size_t join(Site a, Site b, std::uint64_t line, std::string_view what, Title&& title) {
    const std::uint64_t pair = std::uint64_t{a < b ? a : b} << 32 | (a < b ? b : a);
    if (const std::uint64_t* first = joined_.find(pair)) {
      if (!options_.merge) fail_joined(line, title(), what, lines_[*first]);
      return *first;
    }
    joined_.put(pair, bonds.size());
    bonds.push_back({bonds.size(), a, b});
    couplings_.push_back(kMissing);
    lines_.push_back(line);
    return bonds.size() - 1;
  }
  // Sets the coupling of a bond, if there is a value. fail() if a merged bond had a different one.
  void set_coupling(std::size_t bond, std::optional<std::int32_t> value, std::uint64_t line);

  // The graph of these bonds, with the fields h [sites], or none. If all given couplings are 1,
  // missing ones are 1 too; otherwise a missing one is an Error(data).
  Graph graph(std::uint64_t sites, std::vector<std::int32_t> fields);

  Attributes attributes;
  std::vector<RewiredBond> bonds;

 private:
  static constexpr std::int32_t kMissing = -0x7FFFFFFF - 1;

  [[noreturn]] void fail_joined(std::uint64_t line, const std::string& title, std::string_view what,
                                std::uint64_t first) const;
  std::vector<std::int32_t> take_couplings();

  const std::string& file_;
  const ReadOptions& options_;
  FlatMap<std::uint64_t> joined_;        // pair of sites -> its bond
  std::vector<std::int32_t> couplings_;  // [bonds], kMissing if not given
  std::vector<std::uint64_t> lines_;     // [bonds]
  std::optional<std::int32_t> given_;    // of the open element
  std::string given_by_;                 // the attribute
};

}  // namespace rewise
