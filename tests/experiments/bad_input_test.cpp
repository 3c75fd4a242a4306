// Invalid input: the exit status listed in experiments/GUIDE.md, one clear line of error, and no
// file written or changed.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;

namespace {

struct Bad {
  std::string line;
  int status;
  std::string says;  // part of the message
};

// The error message without the line "device: ..", which `--device auto` prints before it.
std::string message(const std::string& err) {
  std::string text = err;
  if (text.starts_with("device: ")) text.erase(0, text.find('\n') + 1);
  return text;
}

void check(const Workplace& place, const Bad& bad) {
  const auto before = place.files();
  const Output output = place.run(bad.line);
  INFO(bad.line << "\n" << output.err);
  CHECK(output.status == bad.status);
  CHECK(output.out.empty());
  CHECK(lines(message(output.err)) == 1);
  CHECK(message(output.err).starts_with("rewise: "));
  CHECK(output.err.find(bad.says) != std::string::npos);
  CHECK(place.files() == before);
}

std::string study(const std::string& lattice, const std::string& rest = "") {
  return "[lattice]\n" + lattice + "\n" + rest;
}

}  // namespace

TEST_CASE("bad command lines end with status 64 and one line") {
  const Workplace place;
  const std::string run = "run --size 8 --temperature 2.3 ";
  for (const Bad& bad : {
           Bad{"--json", 64, "unknown option '--json'"},
           Bad{"rn", 64, "did you mean 'run'"},
           Bad{"graph --sise 8", 64, "did you mean '--size'"},
           Bad{"graph", 64, "--size is missing"},
           Bad{"graph --size 7", 64, "extent 7"},
           Bad{"graph --size 2", 64, "extent 2"},
           Bad{"graph --size 0", 64, "--size"},
           Bad{"graph --size -8", 64, "--size"},
           Bad{"graph --size 8,x", 64, "'x'"},
           Bad{"graph --size 8,8,8", 64, "3 extents"},
           Bad{"graph --dim 5 --size 8", 64, "--dim"},
           Bad{"graph --dim 0 --size 8", 64, "--dim"},
           Bad{"graph --size 65536", 64, "4294967295"},
           Bad{"graph --dim 4 --size 4294967294", 64, "4294967295"},
           Bad{"graph --size 8 --p 1.5", 64, "--p: 1.5"},
           Bad{"graph --size 8 --p -0.1", 64, "--p"},
           Bad{"graph --size 8 --p nan", 64, "nan"},
           Bad{"run --size 8 --temperature 2 --p 0,0.1", 64,
               "--p: '0,0.1': give one value; 'rewise sweep' simulates several"},
           Bad{"run --size 8 --temperature 2 --p 0,1", 64, "write 0.1 for 0,1"},
           Bad{"wolff", 64, "unknown subcommand 'wolff' (known: graph, "},
           Bad{"help tree condition", 64, "put a word with blanks in quotes"},
           Bad{"graph --size 8 --p 0.1x", 64, "0.1x"},
           Bad{"graph --size 8 --rule rewier", 64,
               "--rule: unknown rule 'rewier' (did you mean 'rewire'? known: rewire, swap, add)"},
           Bad{"graph --size 8 --rule newman-watts", 64, "(did you mean 'add'? known: rewire"},
           Bad{"graph --size 8 --rule Watts_Strogatz", 64, "(did you mean 'rewire'? known: rewire"},
           Bad{"tune --size 8 --rule imported", 64, "--rule: unknown rule 'imported'"},
           Bad{"decorrelate --size 8 --temperature 2 --rule ad", 64, "--rule: unknown rule 'ad'"},
           Bad{"graph --size 8 --seed -1", 64, "--seed"},
           Bad{"graph --size 8 --out g.png", 64, "g.png"},
           Bad{"run --size 8", 64, "--temperature is missing"},
           Bad{"run --temperature 2", 64, "--size is missing"},
           Bad{"run --size 8 --temperature 0", 64, "--temperature"},
           Bad{"run --size 8 --temperature -1", 64, "--temperature"},
           Bad{"run --size 8 --temperature nan", 64, "nan"},
           Bad{"run --size 8 --temperature inf", 64, "inf"},
           Bad{"run --size 8 --temperature 2.3,,2.4", 64, "''"},
           Bad{"run --size 8 --temperature 2.3,2.3", 64, "twice"},
           Bad{"run --size 8 --temperature 2:3:3,2.5", 64, "2.5 is given twice"},
           Bad{"run --size 8 --temperature 2:3", 64, "'2:3' is not a range FROM:TO:COUNT"},
           Bad{"run --size 8 --temperature 3:2:5", 64, "TO = 2 must be greater than FROM = 3"},
           Bad{"run --size 8 --temperature 0:1:3", 64, "0 is out of range"},
           Bad{"run --size 8 --temperature 2:3:1", 64, "'1' is not a whole number"},
           Bad{run + "--schedule 0:0", 64, "0:0"},
           Bad{run + "--schedule 1", 64, "invalid schedule"},
           Bad{run + "--schedule 1:-1", 64, "invalid schedule"},
           Bad{run + "--replicas 33", 64, "64"},
           Bad{run + "--replicas 0", 64, "--replicas"},
           Bad{run + "--measure 0", 64, "--measure"},
           Bad{run + "--every 0", 64, "--every"},
           Bad{run + "--rule ad", 64, "--rule: unknown rule 'ad'"},
           Bad{run + "--schedule aut", 64, "invalid schedule 'aut'"},
           Bad{run + "--schedule aut", 64, "auto is also allowed"},
           Bad{run + "--engine multispn", 64,
               "did you mean 'multispin'? known: auto, multispin, bytespin, bitlattice)"},
           Bad{"tune --size 8 --engine x", 64, "(known: auto, multispin, bytespin)"},
           Bad{"tune --size 8 --cluster aut", 64,
               "did you mean 'auto'? known: auto, wolff, swendsen-wang, few-cluster)"},
           Bad{"tune --size 8 --local aut", 64, "did you mean 'auto'? known: auto, metropolis"},
           Bad{"bench --device alle", 64, "did you mean 'all'"},
           Bad{run + "--engine bitlattice", 64, "bitlattice"},
           Bad{run + "--model pots", 64, "potts"},
           Bad{run + "--local metropolsi", 64, "did you mean 'metropolis'"},
           Bad{run + "--cluster wolf", 64, "did you mean 'wolff'"},
           Bad{run + "--device gpu", 64, "gpu"},
           Bad{run + "--device cuda:", 64, "cuda:"},
           Bad{run + "--device cuda:0,1", 64, "2 devices"},
           Bad{run + "--device cuda:0-3", 64, "'0-3' is not a whole number; write cuda:0,1,2,3"},
           Bad{run + "--device cuda:1,4-5", 64, "write cuda:4,5"},
           Bad{run + "--device cuda:3-0", 64, "'3-0' is not a whole number in 0..1023"},
           Bad{run + "--time-limit 2hours", 64, "(did you mean 2h? "},
           Bad{run + "--out t.txt", 64, "t.txt"},
           Bad{run + "--out t.h5 --checkpoint soon", 64, "soon"},
           Bad{run + "--checkpoint 5min", 64, "--checkpoint requires --out"},
           Bad{run + "--state none", 64, "--state requires --out"},
           Bad{run + "--share-route host", 64, "--share-route requires --share-ranks"},
           Bad{run + "--graph g.edges", 64, "--graph"},
           Bad{run + "extra", 64, "extra"},
           Bad{run + "--seed 1 --seed 2", 64, "--seed: was given more than once"},
           Bad{run + "--engine bytespin --cluster swendsen-wang --wolff-method ccl", 64,
               "--wolff-method: requires --cluster wolff"},
           Bad{run + "--engine bytespin --wolff-method persistent --device cpu", 64,
               "--wolff-method: 'persistent' needs a CUDA device (on the CPU: "
               "frontier, ccl)"},
           Bad{run + "--engine bytespin --cluster swendsen-wang --label-method kalentef", 64,
               "--label-method: unknown labelling method 'kalentef' (did you mean 'kalentev'"},
           Bad{run + "--engine bytespin --tile 8", 64,
               "--tile: labelling method 'fast' does not use tiles"},
           Bad{"tune --size 8 --engine multispin --wolff-method ccl", 64,
               "--wolff-method: requires --engine bytespin, not multispin"},
           Bad{"tune --size 8 --engine bytespin --wolff-method ccx", 64, "unknown Wolff method"},
           Bad{"bench --engine bitlattice --update wolff --p 0", 64,
               "(known: metropolis, glauber)"},
           Bad{"bench --engine bytespin --tile 8", 64, "'fast' does not use tiles"},
           Bad{"bench --engine bytespin --label-method bfs+sew --tile 3", 64, "tile edge 3"},
       }) {
    check(place, bad);
  }
}

TEST_CASE("unknown options: the error suggests the nearest one or an alternative") {
  Workplace place;
  place.write("s.toml", study("dim = 2\nsizes = [8, 12]\np = [0]"));
  const std::string run = "run --size 8 ";
  for (const Bad& bad : {
           Bad{run + "--T 2", 64, "unknown option '--T' (did you mean '--temperature'?); see"},
           Bad{run + "-T 2", 64, "unknown option '-T' (did you mean '--temperature'?)"},
           Bad{run + "--on shortcuts", 64, "(did you mean '--couplings-on'?)"},
           Bad{run + "--temperature 2 --couplings +-J", 64,
               "--couplings: unknown couplings '+-J' (did you mean 'pm'? known: ferromagnet, "},
           Bad{run + "--temperature 2 --couplings +-1", 64, "(did you mean 'pm'? "},
           Bad{run + "--temperature 2 --field-random +-1", 64, "(did you mean 'pm'? "},
           Bad{run + "--temperature 2 --couplings-on +-1", 64, "(known: all, shortcuts)"},
           Bad{run + "--temperature 2,3 --schedule 1:0 --exchange --share-ranks", 64,
               "--share-ranks: ranks cannot share systems with --exchange"},
           Bad{run + "--temperature 2 --schedule 1:0 --couplings pm --houdayer --share-ranks", 64,
               "--share-ranks: ranks cannot share systems with --houdayer"},
           Bad{run + "--temperature 2 --schedule 1:0 --houdayer", 64,
               "--houdayer: Houdayer moves require couplings or fields"},
           Bad{run + "--temperature 2 --schedule 1:0 --couplings pm --model potts --q 3 --houdayer",
               64, "--houdayer: Houdayer moves require Ising spins, not a Potts model"},
           Bad{run + "--temperature 2 --schedule 1:0 --field 1 --replicas 2 --houdayer --engine "
                     "bytespin",
               64, "--houdayer: Houdayer moves require 3 or more replicas per temperature"},
           Bad{"decorrelate --size 8 --temperature 2 --schedule 1:0 --houdayer", 64,
               "--houdayer: Houdayer moves require couplings or fields"},
           Bad{"tune --size 4 --temperature 2 --houdayer", 64, "--houdayer: needs --exchange"},
           Bad{run + "--icm", 64, "(give --houdayer, with couplings or fields"},
           Bad{"equilibrate --size 8 --temperature 2 --exchange", 64,
               "'rewise decorrelate' and studies"},
           Bad{"tune --dim 3 --size 4 --couplings pm --temperature 2", 64,
               "(use --exchange with several temperatures"},
           Bad{"tune --dim 3 --size 4 --couplings pm --exchange", 64, "--temperature is missing"},
           Bad{"tune --size 4 --exchange --temperature 2", 64, "at least two temperatures"},
           Bad{"tune --size 4 --exchange --temperature 3:2", 64, "0 < FROM < TO"},
           Bad{"tune --size 4 --exchange --temperature 2,3 --model potts --q 3", 64,
               "overlap, which is measured for Ising spins"},
           Bad{"tune --size 4 --exchange --temperature 2,3 --engine bytespin --replicas 1", 64,
               "--replicas: 1 is odd: overlaps compare pairs of replicas"},
           Bad{"tune --size 4 --exchange --temperature 2,3 --engine bytespin --replicas 3", 64,
               "--replicas: 3 is odd: overlaps compare pairs of replicas"},
           Bad{"tune --size 4 --p 0.1,0 --couplings pm --couplings-on shortcuts --exchange "
               "--temperature 2,3",
               64, "--couplings-on: a lattice with p = 0 has no shortcuts"},
           Bad{run + "--temperature 2 --couplings pm --couplings-on shortcuts", 64,
               "--couplings-on: a lattice with p = 0 has no shortcuts"},
           Bad{run + "--temperature 2 --p 0.1 --couplings-on shortcuts", 64,
               "--couplings-on: requires --couplings antiferromagnet, pm or gaussian"},
           Bad{run + "--temperature 2 --shortcut-strength 0.5", 64,
               "--shortcut-strength: a lattice with p = 0 has no shortcuts (give p > 0)"},
           Bad{"decorrelate --size 4 --temperature 2 --shortcut-strength 0.5", 64,
               "--shortcut-strength: a lattice with p = 0 has no shortcuts"},
           Bad{"graph --size 4 --shortcut-strength 0.5", 64,
               "--shortcut-strength: a lattice with p = 0 has no shortcuts"},
           Bad{"tune --size 4 --shortcut-strength 0.5", 64,
               "--shortcut-strength: a lattice with p = 0 has no shortcuts"},
           Bad{"tune --size 4 --exchange --temperature 2,3 --study s", 64,
               "--study and --exchange exclude each other"},
           Bad{"tune --size 4 --couplings pm --exchange --temperature 2,3 --engine multispin "
               "--cluster few-cluster",
               64, "the multispin engine has no few-cluster updates"},
           Bad{run + "--tempering", 64, "(give --exchange, with at least two temperatures"},
           Bad{run + "--temp=2", 64, "unknown option '--temp' (did you mean '--temperature'?)"},
           Bad{run + "--temperatures 2", 64, "did you mean '--temperature'?"},
           Bad{run + "--beta 0.4", 64, "unknown option '--beta' (give --temperature = 1/beta)"},
           Bad{run + "--J -1", 64, "unknown option '--J' (give --couplings ferromagnet"},
           Bad{run + "--coupling 2", 64, "give --couplings ferromagnet"},
           Bad{run + "--h 0.1", 64, "unknown option '--h' (give --field H)"},
           Bad{run + "--magnetic-field 0.1", 64, "give --field H"},
           Bad{run + "--lattice square", 64,
               "unknown option '--lattice' (lattices are hypercubic (--dim, --size); other graphs "
               "are read from files: --graph FILE)"},
           Bad{"graph --lattice square", 64, "other graphs are read from files: --from FILE)"},
           Bad{"decorrelate --lattice square", 64, "hypercubic (--dim, --size)); see"},
           Bad{run + "--boundary open", 64, "lattices are periodic"},
           Bad{"run --L 8", 64, "unknown option '--L' (did you mean '--size'?)"},
           Bad{"run --d 3", 64, "unknown option '--d' (did you mean '--dim'?)"},
           Bad{run + "-p 0.1", 64, "unknown option '-p' (did you mean '--p'?)"},
           Bad{run + "--P 0.1", 64, "unknown option '--P' (did you mean '--p'?)"},
           Bad{run + "--gpu", 64, "give --device cuda, cpu or auto"},
           Bad{run + "--wolff", 64, "choose updates with --local, --cluster and --schedule"},
           Bad{run + "--sweeps 100", 64, "--measure measurements, --every cycles apart"},
           Bad{run + "--burn-in 100", 64, "did you mean '--equilibrate'?"},
           Bad{run + "--x 3", 64, "unknown option '--x'; see 'rewise run --help'"},
           Bad{run + "--thermodynamics", 64, "unknown option '--thermodynamics'; see"},
           Bad{"info --T 2", 64, "unknown option '--T'; see 'rewise info --help'"},
           Bad{"label g.edges --beta 2", 64, "unknown option '--beta'; see 'rewise label"},
           Bad{"tc s.toml --size 8", 64, "(give sizes in [lattice] of the file)"},
           Bad{"sweep s.toml --T 2", 64, "(give temperatures in [sampling] of the file)"},
           Bad{"sweep s.toml --beta 2", 64, "(give temperatures = 1/beta in [sampling])"},
           Bad{"tc s.toml --outt x", 64, "unknown option '--outt' (did you mean '--out'?)"},
           Bad{"--size 8 run", 64,
               "unknown option '--size' (put the options of a subcommand after its name); see"},
           Bad{"run --size 8 8 --temperature 2", 64,
               "unexpected argument '8' (write lists as 1,2,3, without blanks)"},
           Bad{run + "s.toml", 64,
               "'s.toml' is the file of a study: use 'rewise tc s.toml' or 'rewise sweep s.toml'"},
           Bad{run + "--temperature", 64, "--temperature: its value T[,T..] is missing"},
           Bad{"tc", 64, "STUDY.toml is missing (the study's configuration); see"},
           Bad{"graph --size 8x8", 64, "'8x8': extents are separated by commas"},
           Bad{run + "--temperature 2 --device gpu", 64, "(did you mean 'cuda'? known: auto, cpu"},
           Bad{"--verion", 64, "unknown option '--verion' (did you mean '--version'?)"},
           Bad{"RUN --size 8", 64, "unknown subcommand 'RUN' (did you mean 'run'?)"},
           Bad{"x", 64, "unknown subcommand 'x' (known: graph, run, sweep, "},
           Bad{"reproduce s.toml", 64, "unknown key 'lattice' (known: title"},
           Bad{run + "--temperature 2 --cluster sw", 64, "did you mean 'swendsen-wang'?"},
       }) {
    check(place, bad);
  }
}

TEST_CASE("whole numbers with a power of ten, and ranges with a step") {
  Workplace place;
  const Output output = place.run(
      "run --size 8 --temperature 2.0:3.0:0.5 --measure 1e2 --equilibrate 2.5e1 --schedule 1e0:1 "
      "--device cpu");
  INFO(output.err);
  REQUIRE(output.status == 0);
  const Output plain = place.run(
      "run --size 8 --temperature 2,2.5,3 --measure 100 --equilibrate 25 --schedule 1:1 "
      "--device cpu");
  REQUIRE(plain.status == 0);
  const auto hash = [](const std::string& text) {
    const auto at = text.find("trajectory ");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(hash(output.out) == hash(plain.out));
  const std::string run = "run --size 8 --temperature 2 ";
  for (const Bad& bad : {
           Bad{run + "--measure 1.5e0", 64, "--measure: '1.5e0' is not a whole number in 1.."},
           Bad{run + "--measure 1e30", 64, "--measure: '1e30' is not a whole number in 1.."},
           Bad{run + "--measure 1e10", 64, "--measure: '1e10' is not a whole number in 1.."},
           Bad{run + "--schedule 1.5:1", 64, "invalid schedule '1.5:1'"},
           Bad{"run --size 8 --temperature 2.0:3.0:0.3", 64,
               "'2.0:3.0:0.3': a step of 0.3 does not lead from 2 to 3"},
           Bad{"run --size 8 --temperature 2:12:2.0", 64, "2.0 is ambiguous (a count or a step)"},
       }) {
    check(place, bad);
  }
}

TEST_CASE("files that are missing, invalid or already exist") {
  Workplace place;
  place.write("loop.edges", "0 1\n1 1\n");
  place.write("double.edges", "0 1\n1 0\n");
  place.write("bad.edges", "0 1\n1 two\n");
  place.write("damaged.h5", std::string(2000, 'x'));
  place.write("graph.edges", "0 1\n");
  place.write("one.edges", "1 2\n2 3\n");
  place.write("glass.edges", "0 1 {'weight': -1}\n1 2 {'weight': 1}\n");
  place.write("glass.graphml",
              "<graphml><key id=\"d0\" for=\"edge\" attr.name=\"J\" attr.type=\"double\"/>"
              "<graph edgedefault=\"undirected\"><node id=\"n0\"/><node id=\"n1\"/><edge "
              "source=\"n0\" target=\"n1\"><data key=\"d0\">-1.0</data></edge></graph></graphml>");
  place.write("image.pgm", "P2 1 1 1 1\n");
  place.write("notes.txt", "mine\n");
  std::filesystem::create_directory(place / "full");
  place.write("full/notes.txt", "mine\n");
  place.write("study.toml", study("dim = 2\nsizes = [8, 12]\np = [0]"));
  REQUIRE(::mkfifo((place / "pipe.toml").c_str(), 0600) == 0);
  std::filesystem::create_symlink("loop.toml", place / "loop.toml");
  place.write("long.toml", "#" + std::string(5'000'000, 'x'));
  const std::string long_name(300, 'x');
  for (const Bad& bad : {
           Bad{"graph --from loop.edges", 65, "loop.edges:2"},
           Bad{"graph --from double.edges", 65, "double.edges:2"},
           Bad{"graph --from bad.edges", 65, "bad.edges:2"},
           Bad{"graph --from absent.edges", 74, "absent.edges"},
           Bad{"graph --from one.edges", 65, "--first-site 1"},
           Bad{"run --graph one.edges --temperature 2", 65, "--first-site 1"},
           Bad{"tune --graph one.edges --temperature 2", 65, "--first-site 1"},
           Bad{"label one.edges", 65, "--first-site 1"},
           Bad{"graph --from one.edges --first-site 2", 64, "--first-site: '2'"},
           Bad{"graph --from glass.graphml --first-site 1", 64,
               "--first-site: applies to edge "
               "lists"},
           Bad{"graph --size 8 --first-site 1", 64, "--first-site requires --from"},
           Bad{"graph --size 8 --merge", 64, "--merge requires --from"},
           Bad{"run --size 8 --temperature 2 --ignore J", 64, "--ignore requires --graph"},
           Bad{"tune --graph glass.graphml --temperature 2 --ignore h", 65, "--ignore J skips"},
           Bad{"run --graph glass.edges --temperature 2 --couplings pm", 65, "--couplings file"},
           Bad{"tune --graph glass.edges --temperature 2 --couplings file", 64,
               "not an order parameter with the negative couplings of glass.edges"},
           Bad{"run --graph glass.edges --temperature 2 --couplings file --schedule auto", 64,
               "not an order parameter with the negative couplings of glass.edges"},
           Bad{"run --graph glass.graphml --temperature 2 --couplings file --ignore J", 64,
               "the graph has no weights"},
           Bad{"run --graph graph.edges --temperature 2 --couplings file", 64,
               "the graph has no weights"},
           Bad{"graph --from glass.edges --couplings pm", 65, "--couplings file"},
           Bad{"graph --size 8 --couplings file", 64, "the graph has no weights"},
           Bad{"graph --size 8 --bare --couplings pm", 64, "--bare: a lattice without its"},
           Bad{"run --size 8 --temperature 2 --snapshot s.txt", 64, "must end in .npy or .png"},
           Bad{"run --graph graph.edges --temperature 2 --snapshot s.png", 64,
               ".png requires a two-dimensional lattice"},
           Bad{"run --size 8 --temperature 2 --out s.h5 --state none --snapshot s.npy", 64,
               "--snapshot: requires the complete final state"},
           Bad{"run --size 8 --temperature 2 --engine bytespin --replicas 1 --snapshot-overlaps "
               "q.npy",
               64, "--snapshot-overlaps: requires Ising spins and at least two replicas"},
           Bad{"run --size 8 --temperature 2 --snapshot-overlaps q.txt", 64,
               "--snapshot-overlaps: 'q.txt' must end in .npy or .png"},
           Bad{"graph --from graph.edges --ignore h", 64, "(it has no attributes)"},
           Bad{"graph --from glass.graphml --ignore J,h", 64, "no such attribute (it has \"J\")"},
           Bad{"label image.pgm --merge", 64, "--merge: is for graphs"},
           Bad{"run --graph double.edges --temperature 2", 65, "--merge combines such bonds"},
           Bad{"run --graph glass.graphml --temperature 2", 65,
               "edge attribute \"J\" (-1.0 in line 1): --couplings file"},
           Bad{"run --graph glass.edges --temperature 2", 65, "\"weight\" (-1 in line 1)"},
           Bad{"graph --size 8 --full --out g.edges", 64, "--full: requires --out FILE.h5"},
           Bad{"graph --size 8 --out graph.edges", 73,
               "--out: 'graph.edges' already exists (--overwrite replaces it)"},
           Bad{"graph --size 8 --out absent/g.edges", 74, "absent"},
           Bad{"run --graph damaged.h5 --temperature 2", 65, "damaged.h5"},
           Bad{"run --size 8 --temperature 2 --out damaged.h5", 65, "damaged.h5"},
           Bad{"run --size 8 --temperature 2 --out absent/t.h5", 74,
               "folder 'absent' does not exist"},
           Bad{"label graph.edges --seed 2", 64, "--seed: requires --occupy"},
           Bad{"label graph.edges --out damaged.h5", 73,
               "already exists (--overwrite replaces it)"},
           Bad{"decorrelate --size 8 --temperature 2 --out notes.txt", 74, "notes.txt"},
           Bad{"tc absent.toml", 74, "absent.toml"},
           Bad{"tc full", 64, "'full' is a folder; give the file of a study"},
           Bad{"tc study.toml --out full", 73, "full"},
           Bad{"tc study.toml --out notes.txt", 73, "notes.txt"},
           Bad{"tc study.toml --out notes.txt/x", 74, "notes.txt"},
           Bad{"plot absent", 74, "absent"},
           Bad{"plot graph.edges", 65,
               "'graph.edges' cannot be plotted: it is a network; 'rewise graph --from "
               "graph.edges' prints its metrics (plot takes a study's folder, "},
           Bad{"plot notes.txt", 65, "'notes.txt' cannot be plotted (plot takes a study's"},
           Bad{"report absent", 74, "absent"},
           Bad{"sweep absent.toml", 74, "absent.toml"},
           Bad{"sweep study.toml --out full", 73, "full"},
           Bad{"sweep pipe.toml", 74, "cannot read 'pipe.toml': it is not a regular file"},
           Bad{"sweep /dev/zero", 74, "/dev/zero"},
           Bad{"sweep long.toml", 74, "longer than 4194304 bytes"},
           Bad{"sweep loop.toml", 74, "loop.toml"},
           Bad{"tc study.toml --out " + long_name, 74, long_name},
           Bad{"sweep " + long_name + ".toml", 74, long_name},
           Bad{"run --size 8 --temperature 2 --out " + long_name + ".h5", 74, long_name},
           Bad{"plot " + long_name, 74, long_name},
           Bad{"report " + long_name, 74, long_name},
           Bad{"graph --size 8 --out loop.toml/x.edges", 74, "loop.toml"},
       }) {
    check(place, bad);
  }
  CHECK(place.read("damaged.h5") == std::string(2000, 'x'));
  CHECK(place.read("graph.edges") == "0 1\n");
}

TEST_CASE("a missing CUDA device is an error, and the CPU does not replace it") {
  Workplace place;
  // A device index that does not exist on any machine.
  check(place, {"run --size 8 --temperature 2 --device cuda:999", 69, "cuda"});
  place.write("s.toml", study("dim = 2\nsizes = [8, 12]\np = [0.1]"));
  check(place, {"tc s.toml --out study --device cuda:0,999", 69, "cuda"});
  const Output output =
      place.run("run --size 8 --temperature 2 --measure 4 --equilibrate 4 --device auto");
  CHECK(output.status == 0);
  CHECK(output.err.find("device: c") != std::string::npos);
}

TEST_CASE("bad studies end with status 64 and one line with the file, the line and the key") {
  Workplace place;
  const std::string good = "dim = 2\nsizes = [8, 12]\np = [0.1]";
  struct BadStudy {
    std::string text, says;
  };
  for (const BadStudy& bad : {
           BadStudy{"", "dim"},
           BadStudy{"[lattice\n", "s.toml:1:"},
           BadStudy{study("dim = 2\nsizes = [8, 12]"), "'p' is missing"},
           BadStudy{study("dim = 2\nsizes = []\np = [0.1]"),
                    "s.toml:3:9: lattice.sizes: the list is empty"},
           BadStudy{study("dim = 2\nsizes = [8, 12]\np = []"),
                    "s.toml:4:5: lattice.p: the list is empty"},
           BadStudy{study("dim = 2\nsizes = [8, 13]\np = [0.1]"),
                    "s.toml:3:13: lattice.sizes: extent 13"},
           BadStudy{study("dim = 2\nsizes = [2, 12]\np = [0.1]"), "lattice.sizes"},
           BadStudy{study("dim = 2\nsizes = [8, 8]\np = [0.1]"), "twice"},
           BadStudy{study("dim = 3\nsizes = [[8, 8], 12]\np = [0.1]"), "2 extents for dim = 3"},
           BadStudy{study("dim = 5\nsizes = [8, 12]\np = [0.1]"), "lattice.dim: 5 is out of range"},
           BadStudy{study("dim = 2\nsizes = [8, 65536]\np = [0.1]"), "4294967295"},
           BadStudy{study("dim = 2\nsizes = [8, 12]\np = [1.5]"), "s.toml:4:6: lattice.p: 1.5"},
           BadStudy{study("dim = 2\nsizes = [8, 12]\np = [nan]"), "lattice.p: nan"},
           BadStudy{study("dim = 2\nsizes = [8, 12]\np = \"0.1\""), "lattice.p: text"},
           BadStudy{study("dim = 2\nsizes = \"8\"\np = [0.1]"), "lattice.sizes: text"},
           BadStudy{study(good + "\nrule = \"rewier\""),
                    "s.toml:5:8: lattice.rule: unknown rule 'rewier' (did you mean 'rewire'?"},
           BadStudy{study(good + "\ngraphs = 0"), "lattice.graphs: 0"},
           BadStudy{study(good + "\ngraphs = [8, 1]"),
                    "lattice.graphs: tc requires at least two "
                    "graphs"},
           BadStudy{study(good + "\ngraphs = [1, 2, 3]"), "3 numbers for 2 sizes"},
           BadStudy{study(good + "\nsize = [8]"), "did you mean 'sizes'"},
           BadStudy{"[latice]\ndim = 2\n", "did you mean 'lattice'"},
           BadStudy{study(good, "[sampling]\nschedule = \"0:0\""), "0:0"},
           BadStudy{study(good, "[sampling]\nschedule = 1"), "sampling.schedule: a whole number"},
           BadStudy{study(good, "[sampling]\nschedule = \"none\""), "auto is also allowed"},
           BadStudy{study(good, "[sampling]\ncluster = \"aut\""),
                    "s.toml:6:11: sampling.cluster: unknown cluster update 'aut' (did you mean "
                    "'auto'? known: auto, wolff"},
           BadStudy{study(good, "[sampling]\nlocal = \"none\""), "known: auto, metropolis"},
           BadStudy{study(good, "[sampling]\nengine = \"none\""),
                    "known: auto, multispin, bytespin)"},
           BadStudy{study(good, "[sampling]\ntarget_error = \"little\""),
                    "sampling.target_error: 'little' (a number, or \"none\")"},
           BadStudy{study(good, "[sampling]\ntarget_error = \"0.01%\""),
                    "(a number, or \"none\"; write 0.0001 for 0.01%, without quotes)"},
           BadStudy{study(good, "[sampling]\nreplicas = 20"), "32"},
           BadStudy{study(good, "[sampling]\ntemperatures = [2.0, -1.0]"), "temperatures: -1"},
           BadStudy{study(good, "[sampling]\ntemperatures = [2.0, nan]"), "temperatures: nan"},
           BadStudy{study(good, "[sampling]\ntemperatures = []"), "empty"},
           BadStudy{study(good, "[sampling]\ntemperatures = {from = 3, to = 2, count = 4}"),
                    "empty"},
           BadStudy{study(good, "[sampling]\ntemperatures = {from = 2, too = 3, count = 4}"),
                    "'to'"},
           BadStudy{study(good, "[sampling]\nmeasure = \"many\""), "\"auto\""},
           BadStudy{study(good, "[sampling]\nmeasure = -3"), "measure: -3"},
           BadStudy{study(good, "[sampling]\nengine = \"bitlattice\""), "bitlattice"},
           BadStudy{study(good, "[run]\ncheckpoint = \"soon\""), "run.checkpoint"},
           BadStudy{study(good, "[run]\ndevice = \"gpu\""), "run.device"},
           BadStudy{study(good, "[run]\ndevice = \"cuda:0,0\""), "twice"},
           BadStudy{study(good, "[run]\nthreads = -1"), "run.threads"},
           BadStudy{"lattice = 3\n", "a table"},
           BadStudy{"a" + std::string(300'000, '.') + "b = 1\n",
                    "s.toml:1:18: unsupported TOML: "
                    "more than 16 dots in a key"},
           BadStudy{"a = " + std::string(300'000, '['), "more than 16 nested brackets"},
           BadStudy{study(good, "[study]\nname = \"../../x\""),
                    "s.toml:6:8: study.name: invalid study name '../../x'"},
           BadStudy{study(good, "[study]\nname = \"..\""), "study.name: invalid study name '..'"},
           BadStudy{study(good, "[study]\nname = \"\""), "study.name: invalid study name ''"},
           BadStudy{study(good, "[study]\nname = \"-x\""), "study.name: invalid study name '-x'"},
           BadStudy{study(good, "[study]\nname = \"a b\""), "study.name: invalid study name 'a b'"},
           BadStudy{study(good, "[study]\nname = \"x\xc3\xa9\""),
                    "study.name: invalid study name 'x\\xc3\\xa9'"},
           BadStudy{study(good, "[study]\nname = 'x\xc3\xa9'"),
                    "s.toml:6:10: unsupported TOML: a character outside of ASCII (allowed only in "
                    "comments and double quotes)"},
           BadStudy{study(good, "[study]\nname = \"x\xc3\""),
                    "s.toml:6:10: unsupported TOML: the byte \\xc3, which is not UTF-8"},
           BadStudy{study(good, "[study]\nname = \"x\\u00e9\""),
                    "study.name: invalid study name 'x\\xc3\\xa9'"},
           BadStudy{study(good, "[study]\nname = \"" + std::string(101, 'x') + "\""), "1 to 100"},
           BadStudy{study(good + "\nrule = [\"rewire\", \"\\u001b[2J\"]"), "'\\x1b[2J'"},
       }) {
    place.write("s.toml", bad.text);
    check(place, {"tc s.toml --out study", 64, bad.says});
    check(place, {"tc s.toml --out study", 64, "s.toml"});
  }
  place.write("s.toml", study("dim = 2\nsizes = [8]\np = [0.1]"));
  check(place, {"tc s.toml --out study", 64, "two sizes"});
  // tc does not accept graphs from files, whatever the other settings are.
  for (const char* rest :
       {"", "[sampling]\ntemperatures = [2.5]", "[sampling]\ntarget_error = 0.1"}) {
    place.write("s.toml", study("files = [\"a.edges\"]", rest));
    check(place, {"tc s.toml --out study", 64,
                  "s.toml: lattice.files: sweep only; tc requires lattices of several sizes (dim, "
                  "sizes and p)"});
  }
}

TEST_CASE("unknown keys: the error suggests the nearest key, its table or an alternative") {
  Workplace place;
  const std::string good = "dim = 2\nsizes = [8, 12]\np = [0.1]";
  const std::string sampling = "[sampling]\n";
  struct BadStudy {
    std::string text, says;
  };
  for (const BadStudy& bad : {
           BadStudy{
               study(good, sampling + "T = [2.0]"),
               "s.toml:6:1: unknown key 'T' in [sampling] (did you mean 'temperatures'? known"},
           BadStudy{study(good, sampling + "temperature = 2"), "did you mean 'temperatures'?"},
           BadStudy{study(good, sampling + "beta = 0.4"),
                    "unknown key 'beta' in [sampling] (give temperatures = 1/beta in [sampling]; "},
           BadStudy{study(good, sampling + "J = -1"), "(give couplings = \"ferromagnet\""},
           BadStudy{study(good, sampling + "h = 0.1"), "(give field = H in [model]; known"},
           BadStudy{study(good, "[model]\nJ = 1"),
                    "s.toml:6:1: unknown key 'J' in [model] (give couplings = "},
           BadStudy{study("lattice = \"square\"\n" + good), "unknown key 'lattice' in [lattice] ("},
           BadStudy{study("L = [8, 12]\n" + good), "(did you mean 'sizes'? known"},
           BadStudy{study(good + "\ntemperatures = [2]"), "(it belongs in [sampling]; known"},
           BadStudy{study(good, sampling + "seed = 3"), "(it belongs in [study]; known"},
           BadStudy{study(good, sampling + "L = 3"), "(did you mean 'sizes' in [lattice]? known"},
           BadStudy{"dim = 2\n" + study(good), "s.toml:1:1: unknown key 'dim' (it belongs in [lat"},
           BadStudy{study(good, sampling + "x = 3"),
                    "unknown key 'x' in [sampling] (known: engine"},
           BadStudy{study(good, sampling + "temperatures = {from = 2, to = 3, step = 0.1}"),
                    "unknown key 'step' in [sampling.temperatures] (give count, the number of"},
           BadStudy{study(good, sampling + "measure = 1.5"),
                    "s.toml:6:11: sampling.measure: 1.5 where a whole number is expected"},
           BadStudy{study("dim = 2\nsizes = \"16,24\"\np = [0.1]"),
                    "lattice.sizes: text where a list of even edges is expected, such as [32, 64]"},
           BadStudy{study(good, sampling + "measure = inf"),
                    "inf where a whole number is expected"},
           BadStudy{study(good, sampling + "measure = 1e12"), "is out of range (2..4294967296)"},
       }) {
    place.write("s.toml", bad.text);
    check(place, {"tc s.toml --out study", 64, bad.says});
  }
}

TEST_CASE("help and version go to standard output with status 0") {
  const Workplace place;
  CHECK(place.run("--version").out.starts_with("rewise 0."));
  for (const std::string command :
       {"", "graph", "run", "sweep", "tc", "tune", "plot", "report", "bench", "info", "help"}) {
    const Output output = place.run(command + " --help");
    INFO(command);
    CHECK(output.status == 0);
    CHECK(output.err.empty());
    CHECK(output.out.find("xample") != std::string::npos);
  }
}
