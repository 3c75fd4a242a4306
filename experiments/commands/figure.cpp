#include "experiments/commands/figure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <sstream>

#include "src/base/words.hpp"
#include "src/label/method.hpp"
#include "src/study/config.hpp"
#include "src/study/parse.hpp"
#include "src/study/toml_reader.hpp"

namespace rewise {
namespace {

const std::vector<std::string_view> kRunKeys{
    "name",        "kind",        "quick", "paper",   "dim",     "sizes",  "p",
    "graphs",      "points",      "steps", "origins", "measure", "linear", "engine",
    "equilibrate", "temperature", "seed",  "rule",    "prepare", "fit_to", "fit_from",
    "schedules",   "replicas",    "q",     "ratio",   "methods", "tiles",  "axis",
    "core",        "timings",     "ranks"};

const toml::array& list_of(const TomlSection& section, std::string_view key) {
  const auto* list = section.need(key).as_array();
  if (list == nullptr || list->empty()) section.fail(key, section.need(key), "a list is wanted");
  return *list;
}

std::vector<double> numbers(const TomlSection& section, std::string_view key, double least,
                            double most) {
  std::vector<double> values;
  for (const auto& node : list_of(section, key)) {
    values.push_back(section.number_at(key, node, least, most));
  }
  return values;
}

std::vector<std::string> texts(const TomlSection& section, std::string_view key) {
  std::vector<std::string> values;
  if (!section.has(key)) return values;
  for (const auto& node : list_of(section, key)) {
    const auto text = node.value<std::string>();
    if (!text) section.fail(key, node, "texts are wanted");
    values.push_back(*text);
  }
  return values;
}

// A text, or a list of its lines.
std::string paragraph(const TomlSection& section, std::string_view key) {
  const auto* node = section.find(key);
  if (node == nullptr || !node->is_array()) return section.text(key, "");
  return fmt::format("{}", fmt::join(texts(section, key), " "));
}

// The run's own keys, with those of the scale over them.
toml::table merged(const toml::table& run, const std::string& scale) {
  toml::table all = run;
  if (const auto* own = run[scale].as_table()) {
    for (const auto& [key, node] : *own) all.insert_or_assign(key, node);
  }
  all.erase("quick");
  all.erase("paper");
  return all;
}

void read_labelling(const TomlSection& s, FigureRun& run) {
  const auto whole = [&](std::string_view key, std::vector<double> otherwise, double least) {
    std::vector<std::uint32_t> values;
    for (const double x : s.has(key) ? numbers(s, key, least, 255) : otherwise) {
      values.push_back(static_cast<std::uint32_t>(x));
    }
    return values;
  };
  run.q = whole("q", {2}, 2);
  run.tiles = whole("tiles", {0}, 0);
  run.ranks = whole("ranks", {}, 1);
  run.ratios = s.has("ratio") ? numbers(s, "ratio", 1e-6, 1e6) : std::vector<double>{1};
  for (const auto& method : texts(s, "methods")) {
    run.labels.push_back(parse_label_method(method, s.origin("methods")));
  }
  if (run.labels.empty()) run.labels = {LabelMethod::fast};
  run.axis = s.text("axis", "size");
  constexpr std::array<std::string_view, 4> axes{"size", "ratio", "tile", "ranks"};
  parse_word(run.axis, axes, "axis", s.origin("axis"));
  run.core = s.whole("core", 0, 1u << 20, 1u << 20);
  run.fit_passes = s.has("fit_from");
}

FigureRun read_run(const TomlSection& s) {
  FigureRun run;
  run.name = s.text("name", "");
  run.kind = s.text("kind", "");
  const auto dim = static_cast<std::size_t>(s.whole("dim", 1, kMaxDim, 2));
  for (const double edge : numbers(s, "sizes", 4, 1e6)) {
    run.sizes.emplace_back(dim, static_cast<std::uint32_t>(edge));
    check_extents(run.sizes.back(), s.origin("sizes"));
  }
  run.ps = s.has("p") ? numbers(s, "p", 0, 1) : std::vector<double>{0.0};
  CurveSpec& spec = run.spec;
  spec.extents = run.sizes.front();
  spec.p = run.ps.front();
  spec.rule = choose_rule(s.text("rule", "rewire"), s.origin("rule"));
  spec.graphs = static_cast<std::uint32_t>(s.whole("graphs", 1, 1u << 16, 1));
  const bool labels = run.kind == "labelling" || run.kind == "few-cluster";
  if (labels) read_labelling(s, run);
  if (run.kind == "speed") {
    for (const auto& method : texts(s, "methods")) {
      run.wolffs.push_back(parse_wolff_method(method, s.origin("methods")));
    }
  }
  if (run.kind != "tc" && !labels) spec.temperatures = numbers(s, "temperature", 1e-6, 1e6);
  const auto schedules = texts(s, "schedules");
  if (!schedules.empty() || (run.kind != "tc" && !labels)) {
    spec.mixes =
        parse_mixes(schedules.empty() ? "1:1" : fmt::format("{}", fmt::join(schedules, ",")),
                    s.origin("schedules"));
  }
  spec.engine = engine_named(s.text("engine", "multispin"), s.origin("engine"));
  const std::uint64_t replicas = s.whole("replicas", 1, 1u << 20, 32);
  check_replicas(spec.engine, replicas, s.origin("replicas"));
  spec.replicas = static_cast<std::uint32_t>(replicas);
  spec.seed = s.whole("seed", 0, std::numeric_limits<std::int64_t>::max(), 1);
  spec.prepare = parse_mix(s.text("prepare", "1:8"), s.origin("prepare"));
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  spec.equilibrate = s.whole("equilibrate", 0, most, 200);
  spec.steps = s.whole("steps", 1, most, 100);
  spec.points = s.whole("points", 2, 100000, 60);
  spec.linear = s.whole("linear", 0, 1, 0) == 1;
  spec.timings = static_cast<std::uint32_t>(s.whole("timings", 1, 1000, spec.timings));
  spec.origins = s.whole("origins", 1, 1u << 20, 10);
  spec.measure = s.whole("measure", 1, most, 1000);
  spec.fit_from = s.number("fit_from", 1, 1e12, 10);
  spec.fit_to = s.number("fit_to", 0, 1e12, 0);
  return run;
}

FigureCheck read_check(const TomlSection& s) {
  FigureCheck check;
  check.claim = paragraph(s, "claim");
  check.why = paragraph(s, "why");
  check.source = s.text("source", "");
  check.relation = s.text("relation", "less");
  check.left = s.text("left", "");
  check.right = s.text("right", "");
  check.among = texts(s, "among");
  check.factor = s.number("factor", -1e12, 1e12, 1);
  check.tolerance = s.number("tolerance", 0, 1e12, 0);
  check.needs_gpu = s.whole("needs_gpu", 0, 1, 0) == 1;
  check.ratio = s.whole("ratio", 0, 1, 0) == 1;
  return check;
}

// The tables of an array of tables; none where the key is missing.
std::vector<const toml::table*> tables_of(const toml::table& root, std::string_view key) {
  std::vector<const toml::table*> tables;
  if (const auto* list = root[key].as_array()) {
    for (const auto& node : *list) {
      if (node.is_table()) tables.push_back(node.as_table());
    }
  }
  return tables;
}

// What the paper gives of a curve: points, vertical (x alone) or horizontal lines (y alone), or the
// slope of a power law.
Json read_theirs(const toml::table& table, const std::string& file) {
  const TomlSection s(table, "theirs", file, {"label", "source", "x", "y", "slope"});
  Json json{{"label", s.text("label", "theirs")}, {"source", s.text("source", "")}};
  if (json["source"].get<std::string>().empty()) {
    s.fail("source", s.need("label"),
           "name the table, figure or section that the numbers are from");
  }
  if (s.has("slope")) {
    json["slope"] = s.number("slope", -100, 100, 0);
    return json;
  }
  for (const char* key : {"x", "y"}) {
    if (s.has(key)) json[key] = numbers(s, key, -1e12, 1e12);
  }
  if (!s.has("x") && !s.has("y")) s.need("y");
  if (s.has("x") && s.has("y") && json["x"].size() != json["y"].size()) {
    s.fail("y", s.need("y"), "one y for each x is wanted");
  }
  return json;
}

Json read_panel(const toml::table& table, const std::string& file) {
  const std::vector<std::string_view> texts{"run",    "table",  "x",      "y",
                                            "title",  "also",   "xscale", "yscale",
                                            "xlabel", "ylabel", "only",   "lines"};
  std::vector<std::string_view> known = texts;
  known.push_back("theirs");
  const TomlSection s(table, "panel", file, known);
  Json panel;
  for (const auto key : texts) {
    if (s.has(key)) panel[std::string(key)] = s.text(key, "");
  }
  for (const auto* curve : tables_of(table, "theirs")) {
    panel["theirs"].push_back(read_theirs(*curve, file));
  }
  return panel;
}

}  // namespace

Figure parse_figure(const std::string& text, const std::string& name, const std::string& file,
                    const std::string& scale) {
  const toml::table root = parse_toml(text, file);
  const TomlSection s(root, "", file, {"title", "paper", "found", "note", "run", "panel", "check"});
  Figure figure;
  figure.name = name;
  figure.scale = scale;
  figure.title = s.text("title", "");
  figure.paper = s.text("paper", "");
  figure.found = paragraph(s, "found");
  figure.note = paragraph(s, "note");
  for (const auto* table : tables_of(root, "run")) {
    const toml::table all = merged(*table, scale);
    FigureRun& run = figure.runs.emplace_back(read_run(TomlSection(all, "run", file, kRunKeys)));
    std::ostringstream line;
    line << toml::json_formatter{all};
    run.parameters = line.str();
  }
  figure.panels = Json::array();
  for (const auto* table : tables_of(root, "panel")) {
    figure.panels.push_back(read_panel(*table, file));
  }
  for (const auto* table : tables_of(root, "check")) {
    const TomlSection check(*table, "check", file,
                            {"claim", "why", "source", "relation", "left", "right", "among",
                             "factor", "tolerance", "needs_gpu", "scale", "ratio"});
    if (check.text("scale", scale) == scale) figure.checks.push_back(read_check(check));
  }
  return figure;
}

}  // namespace rewise
