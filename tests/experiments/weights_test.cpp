// Graphs with weights and fields on the command line: accepted, refused and exported. Also tests
// snapshots of spins and overlaps.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;
using nlohmann::json;

namespace {

json answer(const Output& output) {
  INFO(output.err);
  REQUIRE(output.status == 0);
  return json::parse(output.out);
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Energy per site of a triangle whose couplings 1 and -1 have the product `product`.
double triangle_energy(double product, double beta) {
  // s1 s2 + s2 s3 + s3 s1 of the gauge-transformed triangle is 3 (2 states) or -1 (6 states).
  const double aligned = 2 * std::exp(3 * product * beta), others = 6 * std::exp(-product * beta);
  return -product * (3 * aligned - others) / (3 * (aligned + others));
}

}  // namespace

TEST_CASE("weights of a graph file are refused without --couplings file") {
  const Workplace place;
  place.write(
      "anti.graphml",
      "<graphml><key id=\"d0\" for=\"edge\" attr.name=\"sign\" attr.type=\"integer\"/>\n"
      "<graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/><node id=\"c\"/>\n"
      "<edge source=\"a\" target=\"b\"><data key=\"d0\">-1</data></edge>"
      "<edge source=\"b\" target=\"c\"><data key=\"d0\">-1</data></edge>"
      "<edge source=\"a\" target=\"c\"><data key=\"d0\">-1</data></edge></graph></graphml>");
  place.write("two.edges", "0 1 -1\n1 2 -1\n2 0 1\n");
  place.write("ones.edges", "a b {'weight': np.float64(1.0)}\nb c {'weight': 0x1p+0}\n");
  const std::string rest = " --temperature 1 --measure 20000 --threads 1 --device cpu --json";
  for (const auto& [file, product] : {std::pair{"anti.graphml", -1.0}, {"two.edges", 1.0}}) {
    const Output refused = place.run("run --graph " + std::string(file) + rest);
    INFO(refused.err);
    CHECK(refused.status == 65);
    CHECK(refused.err.find("--couplings file") != std::string::npos);
    CHECK(refused.err.find("-1") != std::string::npos);
    const json run =
        answer(place.run("run --graph " + std::string(file) + rest + " --couplings file"));
    const json& energy = run["results"][0]["energy"];
    CHECK(std::fabs(energy["value"].get<double>() - triangle_energy(product, 1)) <
          5 * energy["error"].get<double>());
  }
  // Weights of 1 are the ferromagnet, with and without this option.
  const double exact = -2.0 / 3 * std::tanh(1.0);
  for (const char* couplings : {"", " --couplings file"}) {
    const json run = answer(place.run("run --graph ones.edges" + rest + couplings));
    const json& energy = run["results"][0]["energy"];
    CHECK(std::fabs(energy["value"].get<double>() - exact) < 5 * energy["error"].get<double>());
  }
  const json label = answer(place.run("label two.edges --json"));
  CHECK(label["components"] == 1);
}

TEST_CASE("graph exports couplings and fields, and run reads them from every format") {
  const Workplace place;
  const std::string model =
      " --couplings gaussian --coupling-seed 3 --field 0.2 --field-random pm --field-width 0.1";
  const std::string lattice = "--dim 3 --size 4 --p 0.1 ";
  const json made =
      answer(place.run("graph --json --seed 5 --out g.edges " + lattice + model))["graph"];
  CHECK(made["couplings"]["least"] < -1);
  CHECK(made["couplings"]["most"] > 1);
  CHECK(std::fabs(made["couplings"]["mean"].get<double>()) < 5 / std::sqrt(192.));
  CHECK(std::fabs(made["fields"]["most"].get<double>() - 0.3) < 1e-6);
  for (const char* name : {"g.graphml", "g.h5"}) {
    const json again = answer(place.run("graph --json --from g.edges --out " + std::string(name)));
    CHECK(again["graph"]["hash"] == made["hash"]);
    CHECK(answer(place.run("graph --json --from " + std::string(name)))["graph"]["hash"] ==
          made["hash"]);
  }
  const std::string rest =
      " --temperature 2 --measure 2000 --equilibrate 200 --threads 1 --device cpu --json";
  const json direct = answer(place.run("run --graph-seed 5 " + lattice + model + rest));
  const auto energy = [](const json& run) { return run["results"][0]["energy"]; };
  std::string hash;
  for (const char* name : {"g.edges", "g.graphml", "g.h5"}) {
    const json run = answer(place.run("run --couplings file --graph " + std::string(name) + rest));
    if (hash.empty()) hash = run["trajectory_hash"];
    CHECK(run["trajectory_hash"] == hash);
    const double error =
        std::hypot(energy(run)["error"].get<double>(), energy(direct)["error"].get<double>());
    CHECK(std::fabs(energy(run)["value"].get<double>() - energy(direct)["value"].get<double>()) <
          5 * error);
  }
  // A task file can be used as a graph file.
  CHECK(place.run("run --couplings file --graph g.h5 --out t.h5" + rest).status == 0);
  CHECK(answer(place.run("graph --json --from t.h5"))["graph"]["hash"] == made["hash"]);
  CHECK(answer(place.run("graph --json --size 8"))["graph"]["couplings"].is_null());
}

TEST_CASE("a parameter sweep uses weights of its files if its model requests them") {
  const Workplace place;
  place.write("g.edges", "0 1 -1\n1 2 -1\n2 0 -1\n");
  const auto study = [](const std::string& model) {
    return "[study]\nname = \"s\"\n[lattice]\nfiles = [\"g.edges\"]\n" + model +
           "[sampling]\ntemperatures = [1.0]\nequilibrate = 100\nmeasure = 4000\n";
  };
  place.write("plain.toml", study(""));
  const std::string glass = study("[model]\ncouplings = \"file\"\n");
  place.write("auto.toml", glass);  // no schedule
  CHECK(place.run("sweep auto.toml --no-plots --out auto").status == 64);
  place.write("glass.toml", glass + "schedule = \"1:0\"\n");
  const Output refused = place.run("sweep plain.toml --no-plots");
  INFO(refused.err);
  CHECK(refused.status == 65);
  CHECK(refused.err.find("g.edges:1: ") != std::string::npos);
  CHECK(refused.err.find("couplings = \"file\"") != std::string::npos);
  CHECK(place.run("sweep glass.toml --no-plots --out glass").status == 0);
  CHECK(place.run("sweep glass.toml --no-plots --out glass").status == 0);  // finished already
  const std::string csv = place.read("glass/summary.csv");
  const std::string heads = csv.substr(0, csv.find('\n')), row = csv.substr(csv.find('\n') + 1);
  const auto cell = [&](const std::string& name) {
    const std::size_t at = ("," + heads).find("," + name + ",");
    REQUIRE(at != std::string::npos);
    const auto column =
        std::count(heads.begin(), heads.begin() + static_cast<std::ptrdiff_t>(at), ',');
    std::size_t start = 0;
    for (std::ptrdiff_t k = 0; k < column; ++k) start = row.find(',', start) + 1;
    return std::stod(row.substr(start));
  };
  CHECK(std::fabs(cell("energy") - triangle_energy(-1, 1)) < 5 * cell("energy_error"));
}

TEST_CASE("run --snapshot writes the final spins of a replica at every temperature") {
  const Workplace place;
  const std::string run =
      "run --size 8,6 --p 0.1 --temperature 0.1,5 --start cold --schedule 1:0 --measure 10 "
      "--equilibrate 10 --device cpu ";
  for (const char* engine : {"multispin", "bytespin"}) {
    const Output done = place.run(run + "--snapshot s.npy --engine " + engine);
    INFO(done.err);
    REQUIRE(done.status == 0);
    const std::string file = contents(place / "s.npy");
    CHECK(file.starts_with("\x93NUMPY"));
    CHECK(file.find("{'descr': '|i1', 'fortran_order': False, 'shape': (2, 6, 8,), }") == 10);
    const std::size_t data = file.find('\n') + 1;
    CHECK(data % 64 == 0);
    REQUIRE(file.size() == data + 96);
    for (std::size_t k = 0; k < 96; ++k) {
      const auto spin = static_cast<signed char>(file[data + k]);
      CHECK((spin == 1 || spin == -1));
      if (k < 48) CHECK(spin == static_cast<signed char>(file[data]));  // T = 0.1, ordered start
    }
  }
}

// The only measurement is at the end of the run. Its mean of q^2 over pairs must equal that of the
// spins in the file.
TEST_CASE("run --snapshot-overlaps writes the products of the spins of every pair of replicas") {
  const Workplace place;
  const std::string run =
      "run --size 8,6 --p 0.1 --couplings pm --field-random pm --temperature 0.5,3 --replicas 32 "
      "--schedule 1:0 --measure 1 --every 1 --equilibrate 20 --device cpu --json ";
  for (const char* engine : {"multispin", "bytespin"}) {
    CAPTURE(engine);
    const json results =
        answer(place.run(run + "--snapshot-overlaps q.npy --engine " + engine))["results"];
    const std::string file = contents(place / "q.npy");
    CHECK(file.find("{'descr': '|i1', 'fortran_order': False, 'shape': (2, 16, 6, 8,), }") == 10);
    const std::size_t data = file.find('\n') + 1;
    REQUIRE(file.size() == data + 2 * 16 * 48);
    std::size_t at = data;
    for (const json& result : results) {
      double square = 0;
      for (int pair = 0; pair < 16; ++pair) {
        double sum = 0;
        for (int site = 0; site < 48; ++site) sum += static_cast<signed char>(file[at++]);
        square += sum * sum / (48 * 48) / 16;
      }
      const json& values = result["status"] == "ok" ? result : result["candidate"];
      CHECK(values["overlap_m2"]["value"].get<double>() == Approx(square));
    }
  }
}

TEST_CASE("run prints overlaps of models with negative or random settings, or on request") {
  const Workplace place;
  const std::string run =
      "run --size 4 --p 0.5 --temperature 3 --schedule 1:0 --equilibrate 20 --measure 20 --device "
      "cpu ";
  const auto prints = [&](const std::string& options) {
    return place.run(run + options).out.find("\nOverlaps q of replicas") != std::string::npos;
  };
  for (const std::string options : {"", "--field 0.1", "--field 0.1 --shortcut-strength 0.5"}) {
    INFO(options);
    CHECK(!prints(options));
  }
  for (const std::string options :
       {"--couplings pm", "--couplings antiferromagnet", "--field-random pm",
        "--shortcut-strength -1", "--field 0.1 --snapshot-overlaps q.npy"}) {
    INFO(options);
    CHECK(prints(options));
  }
}

TEST_CASE("a graph from the file of a run with couplings: a note that it has none of them") {
  const Workplace place;
  const std::string rest = " --temperature 2 --equilibrate 5 --measure 5 --device cpu";
  CHECK(place.run("run --size 4 --couplings pm --field 0.1 --out r.h5" + rest).status == 0);
  const std::string note = "note: the run of r.h5 had couplings = pm, field = 0.1";
  CHECK(place.run("run --graph r.h5" + rest).err.find(note) != std::string::npos);
  CHECK(place.run("graph --from r.h5").err.find(note) != std::string::npos);
  CHECK(place.run("run --graph r.h5 --couplings pm" + rest).err.find("note:") == std::string::npos);
}

TEST_CASE("fields and strengths that rounding would change are errors") {
  const Workplace place;
  for (const std::string option : {"--field 1e-6", "--field-random pm --field-width 1e-5",
                                   "--couplings-on shortcuts --couplings pm --p 0.1 "
                                   "--shortcut-strength 1e-6"}) {
    const Output refused = place.run("run --size 4 --temperature 2 --device cpu " + option);
    INFO(option << "\n" << refused.err);
    CHECK(refused.status == 64);
    CHECK(refused.err.find("is too small: rounding to a multiple of 2^-20") != std::string::npos);
  }
}

TEST_CASE("a run of a graph without bonds is read again") {
  const Workplace place;
  place.write("free.edges", "# sites 8\n");
  const std::string run =
      "run --graph free.edges --field 0.5 --temperature 2,3 --measure 50 --threads 1 --device cpu "
      "--json --out t.h5";
  const json first = answer(place.run(run)), again = answer(place.run(run));
  CHECK(first["results"] == again["results"]);
}
