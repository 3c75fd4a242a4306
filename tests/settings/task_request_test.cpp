// Settings of a user become a task, under the names of the command line, of files and of Python.
#include "src/settings/task_request.hpp"

#include <cmath>

#include "src/base/error.hpp"
#include "tests/study/small_task.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;

namespace {

TaskRequest request_of(double p) {
  TaskRequest request;
  request.lattice = {{8, 8}, p, Rule::rewire, 5};
  request.updates = {Schedule{1, 1}, ClusterUpdate::wolff, std::nullopt};
  request.temperatures = {2.3, 2.6};
  return request;
}

}  // namespace

TEST_CASE("messages name settings as they were given") {
  const auto options = SettingNames::options(), arguments = SettingNames::arguments(),
             keys = SettingNames::keys();
  CHECK(options.origin("temperatures") == "--temperature");
  CHECK(arguments.origin("temperatures") == "temperature");
  CHECK(keys.origin("temperatures") == "sampling.temperatures");
  CHECK(options.with("start", {"mixed"}) == "--start mixed");
  CHECK(arguments.with("start", {"mixed"}) == "start=\"mixed\"");
  CHECK(keys.with("local", {"glauber"}) == "local = \"glauber\"");
  CHECK(arguments.with("engine", {"a", "b", "c"}) == "engine=\"a\", \"b\" or \"c\"");
  CHECK(options.on("exchange") == "--exchange");
  CHECK(arguments.on("exchange") == "exchange=True");
  CHECK(keys.on("exchange") == "exchange = true");
  CHECK(options.model().at("on") == "--couplings-on");
  CHECK(options.model().at("name") == "--model");
  CHECK(arguments.model().at("name") == "model");
}

TEST_CASE("a request without an engine, a local update and a seed gets those of its lattice") {
  const TaskSpec spec = task_spec(request_of(0.1), SettingNames::options());
  CHECK(spec.engine == kDefaultEngine);
  CHECK(spec.seed == 5);
  CHECK(spec.local == LocalUpdate::metropolis);
  TaskRequest chain = request_of(0.1);
  chain.lattice.extents = {8};
  chain.updates.cluster = ClusterUpdate::few_cluster;
  chain.seed = 7;
  const TaskSpec other = task_spec(chain, SettingNames::options());
  CHECK(other.local == LocalUpdate::glauber);
  CHECK(other.engine == EngineKind::bytespin);
  CHECK(other.seed == 7);
}

TEST_CASE("settings that do not fit together are errors under the given names") {
  const auto refused = [](const TaskRequest& request, const std::string& said) {
    oracle::expect(ExitCode::usage, said, [&] { task_spec(request, SettingNames::arguments()); });
  };
  TaskRequest one = request_of(0);
  one.few_cluster_flip = 0.5;
  refused(one, "few_cluster_flip: requires cluster=\"few-cluster\", not wolff");
  one.updates.cluster = ClusterUpdate::few_cluster;
  for (const double flip : {0.0, 1.0, -0.5, 1e-7, std::nan("")}) {
    one.few_cluster_flip = flip;
    refused(one, " is out of range (1e-06..0.999999)");
  }
  one = request_of(0);
  one.temperatures.back() = 0;
  refused(one, "temperature: 0 is out of range (0.001..1000000)");
  one = request_of(0);
  one.replicas = 33;
  refused(one, "replicas: 33 is not a multiple of 32");
  one.replicas = 0;
  refused(one, "replicas: 0 is out of range (1..1048576)");
  one = request_of(0);
  one.exchange = true;
  one.temperatures.resize(1);
  refused(one, "exchange: requires at least two temperatures");
  one.temperatures.clear();
  refused(one, "temperature is missing");
  one = request_of(0);
  one.allowed = NamedEngines::all;
  one.engine = "bitlattice";
  refused(one, "use engine=\"multispin\" or \"bytespin\", or a schedule");
}

TEST_CASE("a stored configuration gives the settings back") {
  for (int change = 0; change < 6; ++change) {
    TaskSpec spec = oracle::small_task();
    if (change == 1) spec.schedule = {3, 2, true, true};
    if (change == 2) spec.cluster = ClusterUpdate::few_cluster;
    if (change == 2) spec.few_cluster = {3, 0.25};
    if (change == 3) spec.warm_up = {7, spec.warm_up.updates};
    if (change == 4) spec.model = {ModelKind::potts, 3};
    if (change == 4) spec.local = LocalUpdate::glauber;
    if (change == 4) spec.engine = EngineKind::bytespin;
    if (change == 5) spec.model.interactions.couplings = CouplingKind::plus_minus;
    if (change == 5) spec.staggered = true;
    if (change == 5) spec.start = Start::cold;
    TaskData data;
    data.configuration = task_configuration(spec);
    data.temperature = spec.temperatures;
    data.replicas = spec.replicas;
    TaskSpec stored = stored_spec(data);
    stored.graph = spec.graph;
    CHECK(task_configuration(stored) == data.configuration);
  }
}
