// Options shared by several subcommands: the lattice, graphs in files, the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/console/commands.hpp"
#include "graphs/graph_io.hpp"
#include "src/engine/factory.hpp"
#include "src/settings/config.hpp"
#include "src/study/task.hpp"

namespace rewise {

// Breaks text into lines for the right column of --help.
std::string help_lines(const std::string& text);
// Adds the option for a key of a study's file (src/settings/schema.hpp). Name, help and range are
// those of the key; `also` is appended to the help.
void add_key(CLI::App& app, const char* key, std::uint64_t& value, const std::string& also = "");
void add_key(CLI::App& app, const char* key, std::string& value, const std::string& also = "");
void add_key(CLI::App& app, const char* key, bool& value);
// The same with a different range.
void add_key(CLI::App& app, const char* key, std::uint64_t& value, std::uint64_t min,
             std::uint64_t max, const std::string& also = "");
// --temperature, a list or a range.
void add_temperatures(CLI::App& app, std::string& value, const std::string& also = "");

// The range of --temperature FROM:TO with --exchange, in which exchange_temperatures() chooses
// temperatures (src/search/exchange_ladder.hpp); nothing for a list. Throws Error(usage).
std::optional<TemperatureRange> exchange_range(const std::string& temperature, bool exchange);
// exchange_temperatures(); prints its progress and the temperatures to standard error.
std::vector<double> choose_temperatures(const TaskSpec& task, const TemperatureRange& range,
                                        const TaskRunOptions& run);
// The temperatures of --temperature; for a range, its two ends; none if it is not given. Throws
// Error(usage).
std::vector<double> read_temperatures(const std::string& temperature, bool exchange);

struct LatticeOptions {
  std::uint64_t dim = 2, graph_seed = 1;
  std::string size, p = "0", rule = "rewire", parity = "checkerboard";
};

// Parts of the help that differ between commands.
struct LatticeHelp {
  const char* p = "";  // after the help of --p
  const char* seed = "seed of the graph";
  std::uint64_t most_seed = kMaxSeed;
};

// --dim, --size, --p, --rule, --parity, --graph-seed.
void add_lattice_options(CLI::App& app, LatticeOptions& options, const LatticeHelp& help = {});

// Which rules for extents lattice_spec() checks. of_graphs: those of rewired lattices. of_engine:
// none, because engines for regular lattices have rules of their own (check_task_engine()).
enum class ExtentRules { of_graphs, of_engine };
// The lattice without p, which may be a list. Throws Error(usage). `instead`: the alternative to
// --size that the message names.
GraphSpec lattice_spec(const LatticeOptions& options, const std::string& instead = "",
                       ExtentRules rules = ExtentRules::of_graphs);

// Paragraph of --help of the commands that continue: signals, time limit, damaged files and their
// exit statuses.
extern const char* const kStopHelp;

// --seed without a value: TaskRequest::seed.
inline constexpr const char* kSeedHelp =
    "for spins and updates [that of the network; 1 for .edges, .graphml]: runs with the same seed "
    "share random numbers";

// How a graph's file is read.
struct GraphFileOptions {
  std::string first_site, ignore;
  bool merge = false;
};

// --first-site, --ignore and --merge. They require `file_option`, unless that is an argument.
void add_graph_file_options(CLI::App& app, GraphFileOptions& options, const char* file_option);
// The values of these options for read_graph(). `weights`: whether couplings and fields are
// accepted. Throws Error(usage).
ReadOptions read_options(const GraphFileOptions& options, bool weights);

struct ModelOptions {
  ModelTexts model = Model{}.words();
};

// The options of the keys of [model]: --model, --q, couplings and fields.
void add_model_options(CLI::App& app, ModelOptions& options);
// The model that these options describe. Throws Error(usage).
Model read_model(const ModelOptions& options);
// Reads the graph that `model` is simulated on. Prints a note if the file is that of a run with
// couplings or fields and `model` has none: they are settings of a run and are not stored with its
// graph. `weights`: as for read_options().
Graph read_graph_for(const Model& model, const std::string& path, const GraphFileOptions& reading,
                     bool weights);

// Adds the options that choose the methods of each engine. full: one word per option. lists: a list
// of words, with one row of output per word. as_run: one word, and help that refers to that of
// `run`.
enum class MethodHelp { full, lists, as_run };
void add_method_options(CLI::App& app, MethodTexts& words, MethodHelp kind);

// --share-ranks and --share-route: the ranks of one mpirun share the lattice of every replica
// (shared_ranks.hpp).
void add_share_ranks(CLI::App& app, bool& share, std::string& route);
// Throws Error(usage) if ranks cannot share the lattices of the engine.
void check_share_ranks(EngineKind engine);

}  // namespace rewise
