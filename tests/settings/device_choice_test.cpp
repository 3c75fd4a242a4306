// The choice by --device for several simulated lists of devices. No device is needed.
#include "src/settings/device_choice.hpp"

#include <limits>

#include "src/base/error.hpp"
#include "src/search/costs.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

CudaReport none() {
  CudaReport report;
  report.built_in = true;
  report.reason_none = "no CUDA driver is installed";
  return report;
}

CudaDevice device(int index, const std::string& name, const std::string& unfit = "") {
  CudaDevice d;
  d.index = index;
  d.name = name;
  d.reason_unfit = unfit;
  return d;
}

// The first of three is too old for this build.
CudaReport three() {
  CudaReport report;
  report.built_in = true;
  report.devices = {device(0, "Old", "no kernel image is available"), device(1, "Fast"),
                    device(2, "Fast too")};
  return report;
}

std::string names(const DeviceChoice& choice) {
  std::string text;
  for (const Device& d : choice.devices) text += (text.empty() ? "" : " ") + d.name;
  return text;
}

struct Failure {
  ExitCode code = ExitCode::done;
  std::string text;
};

template <class F>
Failure failure(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.exit_code(), error.what()};
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("auto chooses a usable GPU, else the CPU, with the reason") {
  const DeviceChoice gpu = choose_devices("auto", EngineKind::multispin, "--device", three());
  CHECK(names(gpu) == "cuda:1");
  CHECK(gpu.indices() == std::vector<int>{1});
  CHECK(gpu.reason == "Fast; auto uses the first of 2 GPUs");
  CudaReport one = three();
  one.devices.pop_back();
  CHECK(choose_devices("auto", EngineKind::multispin, "--device", one).reason ==
        "Fast; auto uses the GPU");
  const DeviceChoice cpu = choose_devices("auto", EngineKind::multispin, "--device", none());
  CHECK(names(cpu) == "cpu");
  CHECK(cpu.indices() == std::vector<int>{-1});
  CHECK(cpu.reason == "auto: no CUDA driver is installed");
}

TEST_CASE("cuda and cuda:N choose the named device or end with status 69") {
  CHECK(names(choose_devices("cuda", EngineKind::multispin, "--device", three())) == "cuda:1");
  CHECK(names(choose_devices("cuda:2", EngineKind::multispin, "--device", three())) == "cuda:2");
  CHECK(names(choose_devices("cuda:2,1", EngineKind::multispin, "--device", three())) ==
        "cuda:2 cuda:1");
  CHECK(choose_devices("cuda:2,1", EngineKind::multispin, "--device", three()).reason.empty());
  for (const char* text : {"cuda", "cuda:0", "cuda:0,1"}) {
    const Failure missing =
        failure([&] { choose_devices(text, EngineKind::multispin, "s.toml: run.device", none()); });
    CHECK(missing.code == ExitCode::device);
    CHECK(contains(missing.text, "s.toml: run.device: "));
    CHECK(contains(missing.text, "no CUDA driver is installed"));
  }
  const Failure index =
      failure([] { choose_devices("cuda:7", EngineKind::multispin, "--device", three()); });
  CHECK(index.code == ExitCode::device);
  CHECK(index.text ==
        "--device: there is no cuda:7 here (usable: cuda:1 (Fast), cuda:2 (Fast too))");
  const Failure unfit =
      failure([] { choose_devices("cuda:1,0", EngineKind::multispin, "--device", three()); });
  CHECK(unfit.code == ExitCode::device);
  CHECK(contains(unfit.text, "cuda:0 (Old) cannot be used: no kernel image"));
}

TEST_CASE("the advice of a missing device stands in one pair of brackets") {
  CudaReport report;
  report.reason_none = "this build has no CUDA code (with the CUDA toolkit: cmake --preset cuda)";
  const Failure missing =
      failure([&] { choose_devices("cuda", EngineKind::multispin, "--device", report); });
  CHECK(missing.text ==
        "--device: cuda cannot be used: this build has no CUDA code (with the CUDA toolkit: cmake "
        "--preset cuda; or use cpu or auto)");
  CHECK(failure([] { choose_devices("cuda", EngineKind::multispin, "--device", none()); }).text ==
        "--device: cuda cannot be used: no CUDA driver is installed (use cpu or auto)");
}

TEST_CASE("auto chooses CUDA for every engine") {
  for (const EngineTraits& engine : engine_registry()) {
    CHECK(names(choose_devices("auto", engine.kind, "--device", three())) == "cuda:1");
    CHECK(names(choose_devices("cuda", engine.kind, "--device", three())) == "cuda:1");
  }
}

TEST_CASE("invalid devices end with status 64 on any machine") {
  for (const char* text : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1,", "cuda:1,1", "cuda:1,,2",
                           "cuda:cuda:1", "cuda1", "", "cpu,cuda"}) {
    INFO(text);
    const Failure words = failure([&] { check_device_words(text, "--device"); });
    CHECK(words.code == ExitCode::usage);
    CHECK(contains(words.text, "--device"));
    CHECK(failure([&] { choose_devices(text, EngineKind::multispin, "--device", three()); }).code ==
          ExitCode::usage);
  }
  CHECK(contains(failure([] { check_device_words("cuda1", "--device"); }).text, "mean 'cuda"));
}

TEST_CASE("a command for one device refuses several") {
  const Failure several =
      failure([] { choose_device("cuda:1,2", EngineKind::multispin, "--device", 100, three()); });
  CHECK(several.code == ExitCode::usage);
  CHECK(contains(several.text, "cuda:1,2 lists 2 devices"));
  CHECK(names(choose_device("cuda:2", EngineKind::multispin, "--device", 100, three())) ==
        "cuda:2");
}

TEST_CASE("devices joined by a plus share a system, if the command supports it") {
  const auto choose = [](const char* text, EngineKind engine, Teams teams = Teams::allowed) {
    return choose_devices(text, engine, "--device", three(), teams);
  };
  const DeviceChoice both = choose("cuda:2+1", EngineKind::bytespin);
  REQUIRE(both.devices.size() == 1);
  CHECK(both.devices.front().name == "cuda:2+1");
  CHECK(both.devices.front().index == 2);
  CHECK(both.devices.front().team == std::vector<int>{2, 1});
  EngineOptions options;
  both.devices.front().choose(options);
  CHECK(options.device == 2);
  CHECK(options.devices == std::vector<int>{2, 1});
  CHECK(choose("cuda:2", EngineKind::bytespin).devices.front().team.empty());
  CHECK(names(choose_device("cuda:1+2", EngineKind::bytespin, "--device", 100, three(),
                            Teams::allowed)) == "cuda:1+2");

  const Failure engine = failure([&] { choose("cuda:1+2", EngineKind::multispin); });
  CHECK(engine.code == ExitCode::usage);
  CHECK(contains(engine.text, "--engine bytespin"));
  const Failure dealt = failure([&] { choose("cuda:1+2", EngineKind::bytespin, Teams::rejected); });
  CHECK(dealt.code == ExitCode::usage);
  CHECK(contains(dealt.text, "cuda:0,1 distributes tasks"));
  CHECK(failure([&] { choose("cuda:1+7", EngineKind::bytespin); }).code == ExitCode::device);
  CHECK(failure([&] { choose("cuda:1+1", EngineKind::bytespin); }).code == ExitCode::usage);
  CHECK(failure([&] { choose("cuda:1+", EngineKind::bytespin); }).code == ExitCode::usage);
}

TEST_CASE("auto chooses the CPU for a task that takes less time there than the start of a GPU") {
  const DeviceChoice small =
      choose_device("auto", EngineKind::multispin, "--device", 0.02, three());
  CHECK(names(small) == "cpu");
  CHECK(contains(small.reason, "0.02 s"));
  CHECK(contains(small.reason, "less than the start of cuda:1"));
  CHECK(names(choose_device("auto", EngineKind::multispin, "--device", 2, three())) == "cuda:1");
  CHECK(names(choose_device("cuda", EngineKind::multispin, "--device", 0.02, three())) == "cuda:1");
  CHECK(choose_device("auto", EngineKind::multispin, "--device", 0.02, none()).reason ==
        "auto: no CUDA driver is installed");
}

TEST_CASE("auto uses the same rule for a study as for a task") {
  const auto choose = [](const char* text, double seconds) {
    return choose_devices(text, EngineKind::multispin, "--device", three(), Teams::rejected,
                          seconds);
  };
  CHECK(names(choose("auto", 0.02)) == "cpu");
  CHECK(contains(choose("auto", 0.02).reason, "less than the start of cuda:1"));
  CHECK(names(choose("auto", 2)) == "cuda:1");
  CHECK(names(choose("cuda:1,2", 0.02)) == "cuda:1 cuda:2");
}

TEST_CASE("estimated CPU time of a study: proportional to its work, unknown with a target") {
  const auto seconds = [](const std::string& sizes, const std::string& more) {
    return cpu_seconds(parse_study_config("[lattice]\ndim = 2\nsizes = " + sizes +
                                              "\np = [0.1]\ngraphs = 10\n[sampling]\n" + more,
                                          "s.toml"),
                       kLikelyTc, 1);
  };
  const std::string fixed = "schedule = \"1:1\"\ntemperatures = [2.6, 2.8]\nequilibrate = 100\n";
  const double small = seconds("[8, 12]", fixed + "measure = 100\nevery = 1\n");
  CHECK(small == Approx((64 + 144) * 32 * 2 * 10 * 200 * 1.2e-9));
  CHECK(small < kGpuStartSeconds);
  CHECK(seconds("[8, 12]", fixed + "measure = 1900\nevery = 1\n") == Approx(10 * small));
  CHECK(seconds("[128, 256]", fixed) > kGpuStartSeconds);
  CHECK(seconds("[8, 10]", "") < kGpuStartSeconds);
  CHECK(seconds("[8, 12]", "target_error = 1e-3\n") == std::numeric_limits<double>::infinity());
}
