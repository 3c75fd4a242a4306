#include "src/search/run_study.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "src/base/clock.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/host_threads.hpp"
#include "src/study/ranks.hpp"

namespace rewise {
namespace {

void write_outcome(const StudyFolder& place, StudyOutcome outcome) {
  place.check_still_ours();
  outcome.summary["configuration"] = place.hash();
  write_text_file(place.path() / "summary.json", outcome.summary.dump(2) + "\n");
  write_text_file(place.path() / "summary.txt", outcome.text);
  write_text_file(place.path() / "summary.csv", outcome.csv);
  if (!outcome.tc_csv.empty()) write_text_file(place.path() / "tc.csv", outcome.tc_csv);
  if (!outcome.resamples.empty()) write_text_file(place.path() / "summary.h5", outcome.resamples);
}

// Never throws: the interruption is the error to report.
void print_partial(const StudyRequest& request, const ComputeOutcome& compute) {
  try {
    StudyOutcome so_far = compute();
    so_far.summary["partial"] = true;
    request.print_partial(so_far);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cannot print the table of the finished networks: {}\n", error.what());
  }
}

}  // namespace

DeviceChoice study_devices(const StudyRequest& request) {
  const StudyConfig& config = request.config;
  const CudaReport report = report_for(config.device, this_rank().local_size > 1);
  const double seconds = cpu_seconds(config, request.likely(), thread_count(config.threads));
  return share_of(this_rank(),
                  choose_devices(config.device, config.engine, request.device_origin, report,
                                 Teams::rejected, seconds),
                  config.device.find(':') != std::string::npos, report);
}

ExitCode run_study(const StudyRequest& request,
                   const std::function<ExitCode(const FinishedStudy&)>& show) {
  const double begin = now();
  const StudyConfig& config = request.config;
  FinishedStudy finished;
  StudyFolder place(request.folder, config, request.command());
  if (place.holds_study()) place.claim();
  if (!config.recompute_damaged && place.is_finished()) {
    if (!place.leads()) return ExitCode::done;
    place.clear_leftovers();
    finished.seconds = now() - begin;
    return show(finished);
  }
  std::optional<std::chrono::duration<double>> limit;
  if (config.time_limit) limit = std::chrono::duration<double>(*config.time_limit);
  const StopToken stop(limit);
  const DeviceChoice devices = study_devices(request);
  const StudyAnalysis analysis = request.analysis();
  place.claim();
  if (place.leads()) tell_device(devices);
  Progress progress(config.name, 0, !place.leads());
  Study study(std::move(place), devices.indices());  // may write files in the background
  const StudyFolder& ours = study.study_folder();
  const EarlyResults early{[&](const ComputeOutcome& compute) {
                             if (ours.leads()) write_outcome(ours, compute());
                           },
                           [&](const ComputeOutcome& compute) {
                             progress.close();
                             if (ours.leads()) print_partial(request, compute);
                           }};
  StudyOutcome outcome = analysis(study, stop, progress, early);
  study.complete_files(stop, progress);
  progress.close();
  if (outcome.summary.is_null()) return ExitCode::done;  // a lower rank analyses the results
  outcome.summary["seconds"] = now() - begin;
  write_outcome(ours, std::move(outcome));
  finished.requested = study.requested();
  write_last_run(ours, request.command(), finished.requested);
  ours.mark_finished();
  finished.computed = study.computed();
  finished.seconds = now() - begin;
  return show(finished);
}

}  // namespace rewise
