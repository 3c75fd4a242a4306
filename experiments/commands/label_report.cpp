#include "experiments/commands/label_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "experiments/commands/pgm.hpp"
#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "src/base/table.hpp"
#include "src/base/utf8.hpp"
#include "src/cuda/devices.hpp"
#include "src/settings/device_choice.hpp"
#if defined(REWISE_HAVE_CUDA)
#include "src/label/papers/components_cuda.hpp"
#endif

namespace rewise {
namespace {

bool larger(const Component& a, const Component& b) {
  return a.size != b.size ? a.size > b.size : a.label < b.label;
}

// Size -> number of components.
std::map<std::uint32_t, std::uint64_t> histogram(const LabelResult& result) {
  std::map<std::uint32_t, std::uint64_t> counts;
  for (const Component& c : result.components) ++counts[c.size];
  return counts;
}

struct Totals {
  std::uint64_t sites = 0;
  Component largest{kNoLabel, 0};
  double square = 0;
};

Totals totals_of(const LabelResult& result) {
  Totals totals;
  for (const Component& c : result.components) {
    totals.sites += c.size;
    totals.square += static_cast<double>(c.size) * c.size;
    if (totals.largest.size == 0 || larger(c, totals.largest)) totals.largest = c;
  }
  return totals;
}

std::vector<std::byte> h5_labels(const LabelInput& input, const LabelResult& result) {
  h5::File file = h5::File::create();
  h5::Group root = file.root();
  const std::uint64_t sites = result.label.size();
  std::vector<std::uint64_t> dims(input.extents.rbegin(), input.extents.rend());
  if (dims.empty()) dims = {sites};
  std::vector<std::uint64_t> chunk(dims.size(), 1);  // whole rows, about 2^18 elements
  std::uint64_t left = std::uint64_t{1} << 18;
  for (std::size_t k = dims.size(); k-- > 0;) {
    chunk[k] = std::clamp<std::uint64_t>(left, 1, dims[k]);
    left /= chunk[k];
  }
  root.write<std::uint32_t>("label", result.label, dims, {chunk, 4});
  std::vector<std::uint32_t> label, size;
  for (const Component& c : result.components) {
    label.push_back(c.label);
    size.push_back(c.size);
  }
  root.write<std::uint32_t>("component_label", label, {label.size()});
  root.write<std::uint32_t>("component_size", size, {size.size()});
  root.set_text("source", valid_utf8(input.title));
  return file.image();
}

std::string pgm_labels(const LabelInput& input, const LabelResult& result) {
  std::vector<Component> order = result.components;
  std::sort(order.begin(), order.end(), larger);
  GrayImage image;
  image.width = input.extents[0];
  image.height = input.extents[1];
  image.white = static_cast<std::uint32_t>(std::clamp<std::size_t>(order.size(), 1, 65535));
  std::vector<std::uint16_t> rank(result.label.size());  // [label of a component]
  for (std::size_t k = 0; k < order.size(); ++k) {
    rank[order[k].label] = static_cast<std::uint16_t>(std::min<std::size_t>(k + 1, 65535));
  }
  for (const Site label : result.label) {
    image.pixels.push_back(label == kNoLabel ? std::uint16_t{0} : rank[label]);
  }
  return pgm_text(image);
}

// Labels `repeats` times on the CPU and keeps the shortest time.
void label_on_cpu(const BondConfiguration& c, std::uint32_t tile, std::uint64_t repeats,
                  LabelResult& result) {
  Labeller labeller(result.method, c.lattice, c.sites, tile);
  result.label.resize(c.sites);
  for (std::uint64_t n = 0; n < repeats; ++n) {
    const LabelSeconds taken = labeller.run(c, result.label);
    const double seconds = taken.label + taken.merge;
    result.seconds = n == 0 ? seconds : std::min(result.seconds, seconds);
  }
}

// Estimated CPU time in ns per site, for the choice of `--device auto`: that of the slower methods.
constexpr double kLabelNanoseconds = 20;

}  // namespace

LabelResult label_input(const LabelInput& input, const LabelOptions& options) {
  LabelResult result;
  const BondConfiguration& c = input.configuration;
  result.method = parse_label_method(options.method, "--method");
  const auto asked = static_cast<std::uint32_t>(options.tile);
  const std::uint32_t tile = tile_edge(result.method, c.lattice.dim, asked, "--tile");
  if (is_tiled(result.method) && c.lattice.dim > 0) result.tile = tile;
  const double cpu_seconds =
      1e-9 * kLabelNanoseconds * static_cast<double>(c.sites) * static_cast<double>(options.repeat);
  const DeviceChoice choice =
      choose_device(options.device, kDefaultEngine, "--device", cpu_seconds);
  tell_device(choice);
  result.device = choice.devices.front().name;
  const int device = choice.devices.front().index;
  if (device < 0) {
    label_on_cpu(c, asked, options.repeat, result);
  } else {
#if defined(REWISE_HAVE_CUDA)
    CudaComponents found =
        label_components_cuda(c, result.method, asked, device, static_cast<int>(options.repeat));
    result.label = std::move(found.label);
    result.seconds = found.label_seconds + found.merge_seconds;
#else
    no_cuda();
#endif
  }
  result.components = components_of(result.label);
  return result;
}

Json label_json(const LabelInput& input, const LabelResult& result) {
  const Totals totals = totals_of(result);
  Json json;
  json["input"] = valid_utf8(input.title);
  json["extents"] = input.extents.empty() ? Json(nullptr) : Json(input.extents);
  json["periodic"] = input.periodic;
  json["sites"] = result.label.size();
  json["present"] = totals.sites;
  json["components"] = result.components.size();
  json["largest"] = totals.largest.size;
  json["largest_label"] = totals.largest.size > 0 ? Json(totals.largest.label) : Json(nullptr);
  json["mean_size"] =
      totals.sites > 0 ? Json(totals.square / static_cast<double>(totals.sites)) : Json(nullptr);
  json["histogram"] = Json::array();
  for (const auto& [size, count] : histogram(result)) json["histogram"].push_back({size, count});
  json["method"] = to_string(result.method);
  json["tile"] = result.tile > 0 ? Json(result.tile) : Json(nullptr);
  json["device"] = result.device;
  json["seconds"] = result.seconds;
  return json;
}

std::string label_text(const LabelInput& input, const LabelResult& result) {
  const Totals totals = totals_of(result);
  const char* unit = input.image ? "pixels" : "sites";
  std::string out = fmt::format("{}\n", input.title);
  out += fmt::format("present {:12}{} of {}\n", unit, totals.sites, result.label.size());
  out += fmt::format("components          {}\n", result.components.size());
  if (totals.sites > 0) {
    const auto sites = static_cast<double>(totals.sites);
    out += fmt::format("largest             {} {} ({:.4g} %), label {}\n", totals.largest.size,
                       unit, 100 * totals.largest.size / sites, totals.largest.label);
    out += fmt::format("mean size           {:.6g} (of the component of a random {})\n",
                       totals.square / sites, input.image ? "pixel" : "site");
  }
  // By powers of two: 1, 2-3, 4-7, ..
  std::vector<std::vector<std::string>> rows{{"size", "components", unit}};
  std::map<unsigned, std::array<std::uint64_t, 2>> bins;
  for (const auto& [size, count] : histogram(result)) {
    auto& bin = bins[static_cast<unsigned>(std::bit_width(size)) - 1];
    bin[0] += count;
    bin[1] += count * size;
  }
  for (const auto& [power, bin] : bins) {
    const std::uint64_t first = std::uint64_t{1} << power, last = 2 * first - 1;
    rows.push_back({first == last ? "1" : fmt::format("{}-{}", first, last),
                    fmt::format("{}", bin[0]), fmt::format("{}", bin[1])});
  }
  if (rows.size() > 1) out += fmt::format("\n{}", aligned_table(rows));
  out += fmt::format("\nlabelled by {} on {} in {:.3g} s\n", to_string(result.method),
                     result.device, result.seconds);
  return out;
}

void check_label_output(const LabelInput& input, const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension();
  if (ending == ".h5" || (ending == ".pgm" && input.extents.size() == 2)) return;
  throw Error(ExitCode::usage,
              fmt::format("--out: '{}' must end in .h5 or, in two dimensions, in .pgm", file));
}

void write_labels(const LabelInput& input, const LabelResult& result, const std::string& file,
                  Overwrite overwrite) {
  write_file(file, overwrite, [&](const TextSink& out) {
    if (std::filesystem::path(file).extension() == ".pgm") return out(pgm_labels(input, result));
    const std::vector<std::byte> bytes = h5_labels(input, result);
    out({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

}  // namespace rewise
