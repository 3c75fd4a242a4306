// Help in the terminal: `rewise` without arguments, the --help of every command, `rewise help`, and
// the page of all keys.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The commands that `rewise --help` lists.
std::vector<std::string> commands(const Workplace& place) {
  std::istringstream text(place.run("--help").out);
  std::vector<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(text, line) && !(inside && line.empty());) {
    if (inside) names.push_back(line.substr(2, line.find(' ', 2) - 2));
    inside = inside || line == "Subcommands:";
  }
  return names;
}

// The examples in a help text, without "rewise", mpirun, remarks and redirections.
std::vector<std::string> examples(const std::string& help) {
  std::istringstream text(help);
  std::vector<std::string> found;
  bool goes_on = false;  // the example continues on the next line
  for (std::string line; std::getline(text, line);) {
    const bool first = line.starts_with("Example: rewise ");
    const bool begins = first || line.starts_with("  rewise ") || line.starts_with("  mpirun ");
    if (begins) {
      line.erase(0, line.find("rewise ") + 7);
      found.emplace_back();
    } else if (!goes_on || !line.starts_with("      ")) {
      goes_on = false;
      continue;
    }
    goes_on = true;
    const auto begin = line.find_first_not_of(' ');
    const std::string words =
        line.substr(begin, std::min(line.find("  ", begin), line.find(" >", begin)) - begin);
    if (begins || words.starts_with("-")) found.back() += (begins ? "" : " ") + words;
  }
  return found;
}

// The texts of the options in a help text, each on one line.
std::vector<std::string> option_texts(const std::string& help) {
  constexpr std::size_t column = 32;
  std::istringstream text(help);
  std::vector<std::string> found;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("  -")) {
      found.push_back(line.size() > column ? line.substr(column) : "");
    } else if (!found.empty() && line.starts_with(std::string(column, ' '))) {
      found.back() += " " + line.substr(column);
    }
  }
  return found;
}

// Whether two parts of a text, which semicolons separate, begin with the same two words.
bool says_twice(const std::string& text) {
  std::vector<std::string> beginnings;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    std::ranges::replace(part, ',', ' ');
    std::istringstream words(part);
    std::string first, second;
    words >> first >> second;
    const std::string both = first + " " + second;
    if (std::ranges::find(beginnings, both) != beginnings.end()) return true;
    beginnings.push_back(both);
  }
  return false;
}

}  // namespace

TEST_CASE("rewise without arguments prints three examples and where to read on") {
  const Workplace place;
  const Output output = place.run("");
  INFO(output.err);
  CHECK(output.status == 64);
  CHECK(output.out.empty());
  const auto shown = examples(output.err);
  REQUIRE(shown.size() == 3);
  CHECK(place.run(shown[0]).status == 0);
  CHECK(place.run(shown[1]).status == 0);
  CHECK(place.run(shown[2] + " --dry-run").status == 0);
  for (const char* next : {"rewise --help", "rewise COMMAND --help", "rewise help [KEY]"}) {
    CHECK(has(output.err, next));
  }
}

TEST_CASE("the help of every command begins with an example, and its examples are valid") {
  const Workplace place;
  const auto names = commands(place);
  CHECK(names.size() == 16);
  for (const auto& name : names) {
    const std::string help = place.run(name + " --help").out;
    INFO(help);
    const auto title = help.find("\n\n");
    CHECK(help.substr(title, 18 + name.size()) == "\n\nExample: rewise " + name);
    for (const auto& example : examples(help)) {
      // The unknown option is the only error of the line. It also keeps the example from running.
      const Output output = place.run(example + " --no-such-option");
      INFO(example << "\n" << output.err);
      CHECK(output.status == 64);
      CHECK(has(output.err, "unknown option '--no-such-option'"));
    }
  }
}

TEST_CASE("the help of an option says nothing twice") {
  const Workplace place;
  CHECK(says_twice("seed of updates; 0: none; seed, of graphs"));
  std::size_t options = 0;
  for (const auto& name : commands(place)) {
    for (const auto& text : option_texts(place.run(name + " --help").out)) {
      INFO(name << ": " << text);
      CHECK_FALSE(says_twice(text));
      ++options;
    }
  }
  CHECK(options > 200);
}

TEST_CASE("help explains a key: type, default, allowed values, options, example") {
  const Workplace place;
  for (const char* name : {"replicas", "sampling.replicas"}) {
    const Output output = place.run(std::string("help ") + name);
    REQUIRE(output.status == 0);
    INFO(output.out);
    CHECK(output.out.starts_with("replicas in [sampling]\n"));
    CHECK(has(output.out, "type     integer\n"));
    CHECK(has(output.out, "default  32\n"));
    CHECK(has(output.out, "allowed  1 .. 2^20\n"));
    CHECK(has(output.out, "--replicas of run, tune [0],"));
    CHECK(has(output.out, "[sampling]\n           replicas = 64\n"));
  }
  const std::string names = place.run("help name").out;  // of the study, and of the model
  CHECK(has(names, "name in [study]\n"));
  CHECK(has(names, "formerly model in [sampling], still accepted\n"));
  CHECK(has(place.run("help sampling.model").out, "name in [model]\n"));
}

TEST_CASE("help lists keys and words, or the keys of a table, and prints the help of commands") {
  const Workplace place;
  const std::string all = place.run("help").out, part = place.run("help lattice").out;
  for (const char* key : {"seed", "most_graphs", "few_cluster_tile", "keep_states"}) {
    CHECK(has(all, std::string("\n  ") + key + " "));
  }
  for (const char* word : {"T_SG", "not-converged", "total_error", "shortcut,"}) {
    CHECK(has(all, word));
    CHECK(!has(part, word));
  }
  CHECK(has(part, "\n  most_graphs "));
  CHECK(!has(part, "keep_states"));
  CHECK(place.run("help tc").out == place.run("tc --help").out);
  CHECK(place.run("help [lattice]").out == part);
}

TEST_CASE("help explains a value with the key that it belongs to") {
  const Workplace place;
  struct Known {
    const char *value, *key, *table;
  };
  for (const Known& known :
       {Known{"swap", "rule", "lattice"}, Known{"checkerboard", "parity", "lattice"},
        Known{"potts", "name", "model"}, Known{"antiferromagnet", "couplings", "model"},
        Known{"shortcuts", "on", "model"}, Known{"multispin", "engine", "sampling"},
        Known{"glauber", "local", "sampling"}, Known{"few-cluster", "cluster", "sampling"},
        Known{"tree", "method", "sampling"}}) {
    const std::string text = place.run(std::string("help ") + known.value).out;
    INFO(text);
    const std::string name = std::string(known.key) + " in [" + known.table + "]";
    CHECK(text.starts_with("'" + std::string(known.value) + "' is a value of " + name + ".\n\n" +
                           place.run(std::string("help ") + known.table + "." + known.key).out));
  }
  CHECK(has(place.run("help potts").out, "\npotts: a model\n"));
  const std::string two = place.run("help pm").out;  // of the couplings, and of the random field
  CHECK(has(two, "'pm' is a value of couplings in [model].\n"));
  CHECK(has(two, "\n'pm' is a value of field_random in [model].\n"));
  const std::string many = place.run("help auto").out;
  CHECK(many.starts_with("'auto' is a value of these keys:\n"));
  for (const char* key : {"engine", "schedule", "cluster", "temperatures", "measure", "device"}) {
    CHECK(has(many, std::string("\n  ") + key + " in ["));
  }
}

TEST_CASE("help explains the quantities of tables and files") {
  const Workplace place;
  struct Known {
    const char *word, *title, *definition;
  };
  for (const Known& known :
       {Known{"U", "U: Binder's ratio\n", "1 - [<m^4>]/(3 [<m^2>]^2)"},
        Known{"C", "C: specific heat per site\n", "N (<e^2> - <e>^2)/T^2"},
        Known{"chi", "chi: susceptibility per site\n", "N (<m^2> - <|m|>^2)/T"},
        Known{"tau", "tau: integrated autocorrelation time\n", "cycles"},
        Known{"m2", "m^2: square of the magnetisation\n", "<m^2>"},
        Known{"q", "q: overlap of two replicas", "s_i^a s_i^b"}}) {
    const Output output = place.run(std::string("help ") + known.word);
    INFO(output.out);
    CHECK(output.status == 0);
    CHECK(has(output.out, known.title));
    CHECK(has(output.out, known.definition));
    CHECK(has(output.out, "\n  unit "));
  }
  CHECK(has(place.run("help q").out, "q in [model]\n"));
  CHECK(has(place.run("help binder").out, "target_observables in [sampling]\n"));
  // All observables of `run --json` have an explanation: those of m, of m_s and of overlaps.
  const auto run = nlohmann::json::parse(
      place
          .run("run --size 4 --couplings antiferromagnet --temperature 5 --equilibrate 10 "
               "--measure 10 --schedule 1:0 --json")
          .out);
  std::size_t observables = 0;
  for (const auto& [name, value] : run["results"][0].items()) {
    if (!value.is_object() || !value.contains("error")) continue;
    INFO(name);
    CHECK(has(place.run("help " + name).out, "\n  definition  "));
    ++observables;
  }
  CHECK(observables > 12);
}

TEST_CASE("help explains the statuses of the guide with its words, and former names of engines") {
  const Workplace place;
  const auto plain = [](std::string text) {  // on one line, without marks of code
    std::string out;
    for (const char c : text) {
      if (c == '`' || c == '\\') continue;
      const bool blank = c == ' ' || c == '\n';
      if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
    }
    return out.substr(0, out.find_last_not_of(' ') + 1);
  };
  std::ifstream guide(std::string(REWISE_CONFIGS) + "/../GUIDE.md");
  std::size_t statuses = 0;
  bool inside = false;
  for (std::string line; std::getline(guide, line);) {
    if (line == "| status | meaning | what to do |") {
      inside = true;
      continue;
    }
    inside = inside && line.starts_with("|");
    if (!inside || !line.starts_with("| `")) continue;  // exit statuses have no such mark
    std::istringstream cells(line);
    std::string none, word, meaning, remedy;
    std::getline(cells, none, '|');
    std::getline(cells, word, '|');
    std::getline(cells, meaning, '|');
    std::getline(cells, remedy, '|');
    const std::string help = plain(place.run("help " + plain(word)).out);
    INFO(line << "\n" << help);
    CHECK(has(help, "meaning " + plain(meaning)));
    CHECK(has(help, "what to do " + plain(remedy)));
    ++statuses;
  }
  CHECK(statuses == 11);
  for (const char* word :
       {"ok",      "MISSED",  "first", "agrees",     "unstable",    "dropped",  "-",
        "(nan)",   "conf",    "error", "systematic", "total_error", "(theory)", "shortcut",
        "replica", "tree_tc", "best",  "best_error", "shift",       "abandoned"}) {
    INFO(word);
    const Output output = place.run(std::string("help ") + word);
    CHECK(output.status == 0);
    CHECK(output.out.starts_with(std::string(word) + ": "));
  }
  for (const auto& [old_name, name] :
       {std::pair{"bundle", "multispin"}, {"single", "bytespin"}, {"packed", "bitlattice"}}) {
    const std::string help = place.run(std::string("help ") + old_name).out;
    INFO(help);
    CHECK(has(help, std::string("is the former name of the engine '") + name + "'"));
  }
}

TEST_CASE("help explains exit statuses as the guide does, and memory") {
  const Workplace place;
  std::ifstream file(std::string(REWISE_CONFIGS) + "/../GUIDE.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  for (const char* status : {"0", "64", "65", "69", "70", "73", "74", "75"}) {
    const Output output = place.run(std::string("help ") + status);
    INFO(output.err);
    CHECK(output.status == 0);
    CHECK(output.out.starts_with(std::string(status) + ": an exit status\n"));
    CHECK(has(guide, std::string("\n| ") + status + " | "));
  }
  CHECK(has(place.run("help 75").out, "meaning     interrupted\n"));
  CHECK(has(place.run("help 137").out, "killed by signal"));
  CHECK(place.run("help 63").status == 64);
  CHECK(has(place.run("help memory").out, "--dry-run"));
}

TEST_CASE("help of a name of a command and of a key or table shows both") {
  const Workplace place;
  CHECK(place.run("help equilibrate").out ==
        place.run("equilibrate --help").out +
            "\n'equilibrate' is also a key of a study: 'rewise help sampling.equilibrate' explains "
            "it.\n");
  CHECK(has(place.run("help sampling.equilibrate").out, "equilibrate in [sampling]\n"));
  const std::string both = place.run("help run").out;
  CHECK(both.starts_with("[run]\n"));
  CHECK(has(both, place.run("run --help").out));
}

TEST_CASE("help of an unknown key suggests a near one") {
  const Workplace place;
  struct Bad {
    const char *line, *says;
  };
  for (const Bad& bad :
       {Bad{"help mesure", "'mesure' (did you mean 'measure'?)"},
        Bad{"help not-converge", "(did you mean 'not-converged'?)"},
        Bad{"help temperature", "(did you mean 'temperatures'?)"},
        Bad{"help kalentev",
            "key, value or quantity 'kalentev' (it is explained by "
            "'rewise run --help', 'rewise bench --help', 'rewise label --help')"},
        Bad{"help a", "(there are auto, add, "}, Bad{"help xyzzy", "('rewise help' lists all)"}}) {
    const Output output = place.run(bad.line);
    INFO(output.err);
    CHECK(output.status == 64);
    CHECK(output.out.empty());
    CHECK(lines(output.err) == 1);
    CHECK(has(output.err, bad.says));
    CHECK(output.err.size() < 200);
  }
}

TEST_CASE("KEYS.md equals what the program prints") {
  std::ifstream file(std::string(REWISE_CONFIGS) + "/../KEYS.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!page.empty());
  CHECK(Workplace().run("help --markdown").out == page);  // if not, write KEYS.md again
}
