#include "src/bytespin/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"
#include "src/base/whole_number.hpp"
#include "src/base/words.hpp"
#include "src/bytespin/swendsen_wang/tiles.hpp"

namespace rewise {
namespace {

struct WolffTraits {
  std::string_view name;
  bool cpu;  // runs on CPUs; false: on CUDA devices only
};

// In the order of WolffMethod, after `automatic`.
constexpr std::array kWolffMethods{WolffTraits{"frontier", true},
                                   WolffTraits{"frontier-local", false},
                                   WolffTraits{"persistent", false}, WolffTraits{"ccl", true}};

}  // namespace

std::string_view to_string(WolffMethod method) {
  if (method == WolffMethod::automatic) return "";
  return kWolffMethods[static_cast<std::size_t>(method) - 1].name;
}

WolffMethod parse_wolff_method(std::string_view word, std::string_view origin) {
  if (word.empty()) return WolffMethod::automatic;
  std::array<std::string_view, kWolffMethods.size()> known;
  std::transform(kWolffMethods.begin(), kWolffMethods.end(), known.begin(),
                 [](const WolffTraits& method) { return method.name; });
  return static_cast<WolffMethod>(1 + parse_word(word, known, "Wolff method", origin));
}

bool has_cpu(WolffMethod method) {
  return method == WolffMethod::automatic ||
         kWolffMethods[static_cast<std::size_t>(method) - 1].cpu;
}

std::string wolff_methods(bool cpu, bool cuda_alone, std::string_view between) {
  std::string list;
  for (const WolffTraits& method : kWolffMethods) {
    if (!(method.cpu ? cpu : cuda_alone)) continue;
    if (!list.empty()) list += between;
    list += method.name;
  }
  return list;
}

namespace bytespin {
namespace {

constexpr const char *kWolff = "--wolff-method", *kLabel = "--label-method", *kTile = "--tile";

std::vector<MethodOption> options() {
  return {
      {kWolff, "WORD",
       fmt::format("bytespin engine, how clusters are grown: {},\non CUDA also {} [the\nfastest "
                   "of the device]",
                   wolff_methods(true, false, " or "), wolff_methods(false, true, " or "))},
      {kLabel, "WORD",
       "bytespin engine, how clusters are labelled [fast]:\n" + label_method_help()},
      {kTile, "B",
       fmt::format("edge of the tiles of TILE+MERGE, {}..{}; 0: about\n256 sites per tile",
                   kMinTile, kMaxTile),
       true}};
}

std::string word_of(const MethodTexts& words, const char* option) {
  const auto found = words.find(option);
  return found == words.end() ? std::string() : found->second;
}

std::uint32_t tile_of(const MethodTexts& words) {
  const std::string word = word_of(words, kTile);
  const auto tile = whole_number(word.empty() ? "0" : word);
  if (tile && *tile <= kMaxTile) return static_cast<std::uint32_t>(*tile);
  throw Error(ExitCode::usage, fmt::format("{}: tile edge {} is out of range ({}..{})", kTile, word,
                                           kMinTile, kMaxTile));
}

UpdateMethods parse(const MethodTexts& words, std::optional<ClusterUpdate> cluster, int dim) {
  UpdateMethods methods;
  const std::string wolff = word_of(words, kWolff);
  if (!wolff.empty() && cluster && *cluster != ClusterUpdate::wolff) {
    throw Error(ExitCode::usage,
                fmt::format("{}: requires {}, not {}", kWolff, setting_value("cluster", "wolff"),
                            to_string(*cluster)));
  }
  methods.wolff = parse_wolff_method(wolff, kWolff);
  methods.label = parse_label_method(word_of(words, kLabel), kLabel);
  methods.label_tile = tile_of(words);
  tile_edge(methods.label, dim, methods.label_tile, kTile);
  return methods;
}

std::vector<MethodChoice> choices(const std::map<std::string, std::vector<std::string>>& lists,
                                  int dim) {
  const auto list = [&](const char* option) {
    const auto found = lists.find(option);
    return found == lists.end() ? std::vector<std::string>{""} : found->second;
  };
  std::vector<MethodChoice> all;
  for (const std::string& word : list(kWolff)) {
    UpdateMethods methods;
    methods.wolff = parse_wolff_method(word, kWolff);
    all.push_back({ClusterUpdate::wolff, std::string(to_string(methods.wolff)), methods});
  }
  const std::uint32_t tile = tile_of({{kTile, list(kTile).front()}});
  LabelMethod tiled{};  // the first tiled method: the tile is checked for it
  for (const std::string& word : list(kLabel)) {
    UpdateMethods methods;
    methods.label = parse_label_method(word, kLabel);
    if (is_tiled(methods.label)) methods.label_tile = tile;
    if (!is_tiled(tiled)) tiled = methods.label;
    all.push_back({ClusterUpdate::swendsen_wang,
                   std::string(word.empty() ? "" : to_string(methods.label)), methods});
  }
  tile_edge(tiled, dim, tile, kTile);
  return all;
}

std::string why_not(const UpdateMethods& methods, bool on_cuda, bool shared) {
  if (shared && !traits(methods.label).ranks) {
    return fmt::format("ranks that share a replica support the label method {} only, not {}",
                       label_methods(&LabelTraits::ranks, " or "), to_string(methods.label));
  }
  if (on_cuda || has_cpu(methods.wolff)) return "";
  return fmt::format("{}: '{}' needs a CUDA device (on the CPU: {})", kWolff,
                     to_string(methods.wolff), wolff_methods(true, false));
}

}  // namespace

const MethodSet kMethods{options, parse, choices, why_not};

std::string why_no_team(std::span<const std::uint32_t> extents, ClusterUpdate cluster,
                        const UpdateMethods& methods) {
  const LabelMethod label = methods.label;
  if (cluster != ClusterUpdate::swendsen_wang) {
    return fmt::format("can share a replica with sweeps and swendsen-wang updates only, not {}",
                       to_string(cluster));
  }
  if (!traits(label).ranks) {
    return fmt::format("can share a replica with the label methods {} only, not {}",
                       label_methods(&LabelTraits::ranks, " and "), to_string(label));
  }
  const bool words = extents.size() >= 2 && extents.front() % kWordSites == 0;
  if (words || label != LabelMethod::fast) return "";
  return fmt::format(
      "can share lattices of 2 to 4 dimensions whose first extent is a multiple of {} (with label "
      "method {}: any lattice)",
      kWordSites, to_string(LabelMethod::kalentev));
}

}  // namespace bytespin
}  // namespace rewise
