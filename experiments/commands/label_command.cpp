// `rewise label`: connected components of an image or a graph with occupied bonds.
#include <fmt/format.h>

#include <memory>

#include "experiments/commands/label_report.hpp"
#include "experiments/console/commands.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/label/method.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr const char* kLabelAbout =
    "Label connected components of an image or graph.\n\n"
    "Example: rewise label cells.pgm --threshold 100 --out labels.pgm\n\n"
    "Labels the connected components of a PGM image or of a graph with occupied bonds, and\n"
    "prints their number, the largest and a histogram of sizes. (Arrays of 1 to 4\n"
    "dimensions: rewise.labels() in Python.)\n"
    "A label is the number of a component's smallest site, x fastest, counted from 0.";
constexpr const char* kLabelExamples = R"(
Pixels are joined with their four neighbours along x and y. Images have open boundaries unless
--periodic is given; the lattices of graph files are periodic. All methods give the same labels.

More examples:
  rewise label segments.pgm --equal --json
  rewise label g.h5 --occupy 0.5 --seed 7
  rewise label friends.edges --bonds kept.txt)";

ExitCode run_label(const LabelOptions& options) {
  parse_label_method(options.method, "--method");  // check before the work begins
  const LabelInput input = read_label_input(options);
  if (!options.out.empty()) {
    check_label_output(input, options.out);
    reject_overwriting(options.out, options.overwrite);
  }
  const LabelResult result = label_input(input, options);
  if (!options.out.empty()) {
    write_labels(input, result, options.out, options.overwrite ? Overwrite::yes : Overwrite::no);
  }
  if (options.json) {
    fmt::print("{}\n", label_json(input, result).dump(2));
  } else {
    fmt::print("{}", label_text(input, result));
  }
  if (!options.out.empty()) fmt::print(stderr, "written to {}\n", options.out);
  return ExitCode::done;
}

}  // namespace

AddedCommand add_label_command(CLI::App& program) {
  auto options = std::make_shared<LabelOptions>();
  LabelOptions& o = *options;
  CLI::App& app = add_command(program, "label", kLabelAbout, kLabelExamples);
  add_argument(app, "file", o.file, "FILE", "image (.pgm, .pbm) or graph (.edges, .graphml, .h5)");
  begin_group(app, "Image");
  add_text(app, "--threshold", o.threshold, "V",
           "join neighbouring pixels with values of at "
           "least V\n[half of white]");
  add_flag(app, "--equal", o.equal, "join neighbouring pixels of equal value");
  add_flag(app, "--periodic", o.periodic,
           "periodic boundaries: also join the last and first pixel");
  begin_group(app, "Graph");
  add_graph_file_options(app, o.reading, "file");
  add_text(app, "--occupy", o.occupy, "P", "fraction of bonds that are occupied, at random [1]");
  add_integer(app, "--seed", o.seed, 0, kMaxSeed, "seed of the occupied bonds");
  add_text(app, "--bonds", o.bonds, "FILE",
           "text file with the numbers of the occupied bonds, from 0,\nseparated by blanks, line "
           "ends or commas");
  begin_group(app, "How");
  add_text(app, "--method", o.method, "WORD", label_method_help());
  add_integer(app, "--tile", o.tile, 0, kMaxTile,
              "edge of the tiles of TILE+MERGE, 4..64; 0: about 256\nsites per tile");
  add_text(app, "--device", o.device, "DEVICE", "auto, cpu, cuda or cuda:N");
  add_integer(app, "--repeat", o.repeat, 1, 1u << 20,
              "number of repeats; the shortest time is "
              "printed");
  begin_group(app, "Output");
  add_text(app, "--out", o.out, "FILE",
           "labels as .h5 (dataset /label), or .pgm: ranks of the\ncomponents, 1 for the largest");
  add_flag(app, "--overwrite", o.overwrite, "replace FILE if it exists");
  add_flag(app, "--json", o.json, "print one JSON object, nothing else");
  return {&app, [options, &app] {
            if (is_given(app, "--seed") && options->occupy.empty()) {
              throw Error(ExitCode::usage, "--seed: requires --occupy");
            }
            return run_label(*options);
          }};
}

}  // namespace rewise
