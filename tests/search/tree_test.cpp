// End-to-end tests of `rewise tc` by the tree condition: the chain, whose Tc is known exactly; both
// methods together; interrupted and repeated runs; and the errors of the command.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/search/tc/tree_search.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace rewise::oracle;
using nlohmann::json;

namespace {

std::string study(int dim, const std::string& sizes, const std::string& p, const std::string& rule,
                  const std::string& sampling) {
  return "[study]\nname = \"tree\"\nseed = 3\n[lattice]\ndim = " + std::to_string(dim) +
         "\nsizes = " + sizes + "\np = [" + p + "]\nrule = \"" + rule +
         "\"\ngraphs = 8\n[sampling]\n" + sampling + "\n[run]\ndevice = \"cpu\"\n";
}

json tree_summary(const Workplace& place, const std::string& folder) {
  return json::parse(place.read(folder + "/summary.json"));
}

}  // namespace

TEST_CASE("tc by the tree condition: Tc of the chain, interrupted and repeated") {
  Workplace place;
  place.write("s.toml",
              study(1, "\"auto\"", "0.1, 1.0", "rewire", "method = \"tree\"\ntarget_error = 1e-3"));
  const auto outputs = run_in_pieces(place, "tc s.toml --out study --no-plots", 0.3, 1.3, 2);
  INFO(outputs.back().err << outputs.back().out);
  REQUIRE(outputs.back().status == 0);
  const json summary = tree_summary(place, "study");
  CHECK(summary["method"] == "tree");
  for (const json& point : summary["points"]) {
    const double p = point["p"], known = 1 / std::atanh(1 / (1 + p - p * p / 4));
    const json& tree = point["tree"];
    INFO(point.dump());
    REQUIRE(tree["status"] == "ok");
    const double error = tree["tc"]["total_error"];
    CHECK(tree["tc_exact"].get<double>() == Approx(known).epsilon(1e-9));
    CHECK(std::abs(tree["tc"]["value"].get<double>() - known) < 4 * error);
    CHECK(error / known <= 1e-3);
    CHECK(tree["target"]["reached"] == true);
    CHECK(point["tc"].is_null());
    CHECK(point["status"] == "ok");  // although there are no crossings: none were requested
    CHECK(point["reasons"].empty());
    CHECK(point["best"]["method"] == "tree");
    CHECK(tree["lambda"].size() >= 8);
    CHECK(tree["edge"].get<double>() > 8 * tree["correlation_length"].get<double>());
  }
  CHECK(place.read("study/tc.csv").find("tree_tc") != std::string::npos);

  // Without interruption, and alone: one of the points.
  place.write("again.toml",
              study(1, "\"auto\"", "0.1", "rewire", "method = \"tree\"\ntarget_error = 1e-3"));
  const Output whole = place.run("tc again.toml --out whole --no-plots --threads 1");
  REQUIRE(whole.status == 0);
  CHECK(tree_summary(place, "whole")["points"][0] == summary["points"][0]);
  // Only the lattices of the last step enter the result.
  std::map<std::string, int> purposes;
  const json listed = json::parse(place.read("study/tasks.json"));
  for (const json& purpose : listed["tasks"]) ++purposes[purpose];
  int last = 0;
  for (const json& point : summary["points"]) last += point["tree"]["graphs"].get<int>();
  CHECK(purposes["graph"] == last);
  CHECK(purposes["pilot"] > 0);
  CHECK(purposes.size() == 2);
  const Output again = place.run("tc s.toml --out study --no-plots");
  CHECK(again.status == 0);
  CHECK(again.err.find("0 tasks computed") != std::string::npos);
}

TEST_CASE("tc by both methods: crossings have the same results as alone, and both are compared") {
  const std::string more = "schedule = \"1:1\"\n";
  Workplace place;
  place.write("both.toml", study(2, "[8, 12, 16]", "0.3", "add", more + "method = \"both\""));
  place.write("one.toml", study(2, "[8, 12, 16]", "0.3", "add", more));
  const Output both = place.run("tc both.toml --out both --no-plots");
  const Output one = place.run("tc one.toml --out one --no-plots");
  INFO(both.err << both.out << one.err);
  REQUIRE(both.status == 0);
  REQUIRE(one.status == 0);
  json with = tree_summary(place, "both"), without = tree_summary(place, "one");
  CHECK_FALSE(without["points"][0].contains("tree"));
  json& point = with["points"][0];
  REQUIRE(point["tree"]["status"] == "ok");
  if (!point["comparison"].is_null()) {
    CHECK(point["comparison"]["agree"] == (std::abs(point["comparison"]["z"].get<double>()) <= 3));
    CHECK(point["best"].is_null() != point["comparison"]["agree"].get<bool>());
  }
  CHECK(both.out.find("by the tree condition") != std::string::npos);
  for (const char* key : {"tree", "comparison", "best", "best_shift", "amplitude"}) {
    point.erase(key);
  }
  CHECK(point == without["points"][0]);
}

TEST_CASE("tc by both methods at once: same results as by each method, also if interrupted") {
  const std::string more = "schedule = \"1:1\"\ntarget_error = 1.5e-2\n";
  Workplace place;
  json alone[2];
  const std::string methods[] = {"crossings", "tree", "both"};
  for (const std::string& method : methods) {
    place.write(method + ".toml",
                study(2, "[8, 12, 16]", "1.0", "add", more + "method = \"" + method + "\""));
  }
  for (int k = 0; k < 2; ++k) {
    const Output output = place.run("tc " + methods[k] + ".toml --no-plots --out " + methods[k]);
    INFO(output.err);
    REQUIRE(output.status == 0);
    alone[k] = tree_summary(place, methods[k]);
  }
  const auto pieces = run_in_pieces(place, "tc both.toml --no-plots --out both", 0.2, 1.3, 3);
  INFO(pieces.back().err);
  REQUIRE(pieces.back().status == 0);
  const json both = tree_summary(place, "both");
  const json& point = both["points"][0];
  for (const auto& [key, value] : alone[0]["points"][0].items()) {
    INFO(key);
    CHECK(point[key] == value);
  }
  CHECK(point["tree"] == alone[1]["points"][0]["tree"]);
  CHECK(place.read("both/summary.csv") == place.read("crossings/summary.csv"));
}

TEST_CASE("tc rejects the tree condition where it does not apply") {
  Workplace place;
  place.write("s.toml", study(1, "[64, 128]", "0.1", "swap", "method = \"tree\""));
  const Output swap = place.run("tc s.toml --out study --no-plots");
  CHECK(swap.status == 64);
  CHECK(swap.err.find("Tc = 0") != std::string::npos);
  place.write("w.toml", study(2, "[8, 12]", "0.1", "add", "method = \"trees\""));
  const Output word = place.run("tc w.toml --out study --no-plots");
  CHECK(word.status == 64);
  CHECK(word.err.find("sampling.method") != std::string::npos);
}

TEST_CASE("tc of rule swap by the tree condition agrees with crossings of large sizes") {
  Workplace place;
  place.write("s.toml",
              study(2, "\"auto\"", "0.1", "swap", "method = \"tree\"\ntarget_error = 1e-3"));
  const Output output = place.run("tc s.toml --no-plots --out study");
  INFO(output.err << output.out);
  REQUIRE(output.status == 0);
  const json summary = tree_summary(place, "study");
  const json& tree = summary["points"][0]["tree"];
  REQUIRE(tree["status"] == "ok");
  const double error = tree["tc"]["total_error"];
  CHECK(error < 1e-3 * 2.6684);
  // Crossings of L = 64 to 512 give 2.66840(12).
  CHECK(std::abs(tree["tc"]["value"].get<double>() - 2.66840) < 4 * std::hypot(error, 1.2e-4));
}

TEST_CASE(
    "tc with random couplings of shortcuts: both transitions of the chain, the higher one is Tc") {
  // With t = tanh(1/T) and a fraction n of negative shortcuts, a shortcut passes on t (1 - 2n) of
  // the ferromagnetic and t^2 of the spin-glass correlation. Along the chain, these are t^r and
  // t^(2r). The order with the higher temperature sets in first.
  const double p = 0.02;
  const auto ferromagnet = [&](double negative) {
    return rewise::chain_tc({1, p, rewise::TreeNetwork::add, rewise::TreeOrder::ferromagnet,
                             rewise::ShortcutCouplings{1, negative}});
  };
  const double glass =
      rewise::chain_tc({1, p, rewise::TreeNetwork::add, rewise::TreeOrder::spin_glass,
                        rewise::ShortcutCouplings{1, 0.5}});
  Workplace place;
  for (const double negative : {0.02, 0.35}) {
    const std::string name = "n" + std::to_string(static_cast<int>(100 * negative));
    place.write(name + ".toml", study(1, "\"auto\"", "0.02", "add", "target_error = 3e-3") +
                                    "[model]\ncouplings = \"pm\"\non = \"shortcuts\"\nnegative = " +
                                    std::to_string(negative) + "\n");
    const Output output = place.run("tc " + name + ".toml --no-plots --out " + name);
    INFO(negative << ": " << output.err << output.out);
    REQUIRE(output.status == 0);
    const json point = tree_summary(place, name)["points"][0], tree = point["tree"];
    REQUIRE(tree["status"] == "ok");
    const bool is_glass = glass > ferromagnet(negative);
    CHECK(is_glass == (negative > 0.3));
    CHECK(tree["order"] == (is_glass ? "spin-glass" : "ferromagnet"));
    const double high = is_glass ? glass : ferromagnet(negative);
    CHECK(tree["tc_exact"].get<double>() == Approx(high).epsilon(1e-9));
    CHECK(std::abs(tree["tc"]["value"].get<double>() - high) <
          4 * tree["tc"]["total_error"].get<double>());
    const json& other = tree["other_order"];
    const double low = is_glass ? ferromagnet(negative) : glass;
    CHECK(other["order"] == (is_glass ? "ferromagnet" : "spin-glass"));
    CHECK(std::abs(other["tc"]["value"].get<double>() - low) <
          4 * other["tc"]["total_error"].get<double>());
    CHECK(place.read(name + "/tc.csv").find("tc_spin_glass") != std::string::npos);
  }
}

TEST_CASE("a spin glass has the same results if interrupted or with another number of threads") {
  Workplace place;
  const std::string model = "[model]\ncouplings = \"antiferromagnet\"\n";
  std::string text = study(2, "\"auto\"", "1.0", "rewire", "target_error = 3e-3");
  text.replace(text.find("graphs = 8"), 10, "graphs = 8\nparity = \"any\"");
  place.write("s.toml", text + model);
  place.write("one.toml", text + model);
  const auto pieces = run_in_pieces(place, "tc s.toml --no-plots --out pieces", 0.4, 1.4, 2);
  INFO(pieces.back().err << pieces.back().out);
  REQUIRE(pieces.back().status == 0);
  const Output one = place.run("tc one.toml --no-plots --threads 1 --out one");
  REQUIRE(one.status == 0);
  const json summary = tree_summary(place, "one");
  CHECK(summary["points"] == tree_summary(place, "pieces")["points"]);
  const json& tree = summary["points"][0]["tree"];
  REQUIRE(tree["status"] == "ok");
  CHECK(tree["order"] == "spin-glass");
  CHECK_FALSE(tree.contains("other_order"));  // the mean of J is zero
  // An independent program, which sums over pairs of labels by sorting, gives 1.7533(4).
  CHECK(std::abs(tree["tc"]["value"].get<double>() - 1.7533) <
        4 * std::hypot(tree["tc"]["total_error"].get<double>(), 4e-4));
}

TEST_CASE("tc rejects couplings and methods for which there is no tree condition") {
  Workplace place;
  const auto refused = [&](const std::string& rule, const std::string& sampling,
                           const std::string& model) {
    place.write("s.toml", study(2, "[8, 12]", "0.1", rule, sampling) + "[model]\n" + model);
    const Output output = place.run("tc s.toml --out study --no-plots");
    INFO(output.err << output.out);
    CHECK(output.status == 64);
    return output.err;
  };
  const std::string pm = "couplings = \"pm\"\n", shortcuts = pm + "on = \"shortcuts\"\n";
  CHECK(refused("add", "method = \"tree\"", pm).find("(give on = \"shortcuts\")") !=
        std::string::npos);
  CHECK(refused("add", "", shortcuts + "field = 0.1\n").find("field") != std::string::npos);
  CHECK(refused("swap", "method = \"tree\"", shortcuts).find("rings of shortcuts") !=
        std::string::npos);
  CHECK(refused("add", "method = \"both\"", shortcuts).find("sampling.method") !=
        std::string::npos);
  place.write("s.toml", study(2, "[8, 12]", "0.1", "add", "temperatures = [2.0, 2.1]") +
                            "[model]\n" + shortcuts);
  const Output sweep = place.run("sweep s.toml --out study --no-plots");
  CHECK(sweep.status == 64);
  CHECK(sweep.err.find("schedules are compared") != std::string::npos);
}

TEST_CASE("a root that comes from pilot lattices alone is not accepted") {
  // The study was stopped when the root of the last step lay outside of its window. Only the root
  // of the pilot lattices exists.
  rewise::TreePoint point;
  point.root.ok = true;
  point.root.tc = {2.5, 1e-5};
  point.rounds = 1;
  CHECK_FALSE(point.accepted());
  point.edge = 64;
  CHECK(point.accepted());
  point.reasons = {"contradicted"};
  CHECK_FALSE(point.accepted());
}
