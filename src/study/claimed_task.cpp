#include "src/study/claimed_task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/settings/engines.hpp"
#include "src/settings/memory_need.hpp"
#include "src/store/state_parts.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/build_info.hpp"
#include "src/study/shared_ranks.hpp"
#include "src/study/task_check.hpp"

namespace rewise {

// Loads `file` or its `.prev`; a finished task may also be in a results archive. If no good copy is
// left, throws Error(data), or sets the file aside if the task may be recomputed. Throws
// Error(held) if a finished file belongs to another task.
std::optional<TaskData> ClaimedTask::load(const std::filesystem::path& file) {
  bool same_physics = true;
  try {
    const LoadParts parts = shared_ranks() != nullptr ? LoadParts::check : LoadParts::join;
    auto loaded = file == job_.paths->finished ? load_finished(*job_.paths, OpenAs::owner)
                                               : load_task(file, OpenAs::owner, parts);
    if (!loaded) return std::nullopt;
    lease_->raise_term_above(loaded->term);
    for (const auto& warning : loaded->warnings) say("warning: " + warning);
    try {
      check_same_physics(loaded->task.configuration, task_configuration(spec()), kExtendableKeys,
                         file.string());
    } catch (const Error& error) {
      // In a study, the file name identifies the task, so a file with another task is damaged.
      same_physics = job_.paths->of_study;
      if (same_physics) {
        throw Error(ExitCode::data,
                    fmt::format("{}: the file has the name of another task", error.what()));
      }
      if (file != job_.paths->finished) throw;
      throw Error(ExitCode::held,
                  fmt::format("{}; it would be overwritten (choose another name)", error.what()));
    }
    check_task(loaded->task, spec(), loaded->source);
    source_ = loaded->source;
    in_parts_ = in_parts_ || loaded->in_parts;
    return std::move(loaded->task);
  } catch (const Error& error) {
    const bool damaged = error.exit_code() == ExitCode::data && same_physics;
    if (!damaged) throw;
    if (!job_.recompute_damaged) throw DamagedTask(ExitCode::data, error.what());
    bool own = false;
    for (const auto& copy : {file, previous_path(file)}) {
      if (!file_exists(copy)) continue;
      own = true;
      say(fmt::format("warning: {} is set aside as {} and computed again", copy.string(),
                      set_aside(copy).string()));
    }
    if (!own) say(fmt::format("warning: {}; it is computed again", error.what()));
    return std::nullopt;
  }
}

// Returns the stored result with the most cycles, from the finished file or the checkpoint, if any.
std::optional<TaskData> ClaimedTask::load_furthest() {
  const TaskPaths& paths = *job_.paths;
  auto finished = load(paths.finished);
  // A complete result takes precedence over any checkpoint.
  if (finished && finished->bond_sum.time() >= spec().measure) return finished;
  const std::filesystem::path source = source_;
  auto part = load(paths.checkpoint);
  if (finished && finished->state.engine.empty()) {  // only the checkpoint can be resumed
    if (!part) say("its final state was not kept: it is computed again from the start");
    finished.reset();
  } else if (finished && !take_parts(*finished)) {
    finished.reset();
  }
  if (finished && (!part || part->state.cycles <= finished->state.cycles)) {
    source_ = source;
    return finished;
  }
  return part;
}

// Reads the spins of a final state that is stored in parts; if ranks share the replicas, only
// checks the parts. Returns false if parts are lost and must be recomputed.
bool ClaimedTask::take_parts(TaskData& finished) {
  StateRecord& state = finished.state;
  if (state.parts.empty()) return true;
  const std::filesystem::path folder = folder_of(job_.paths->finished);
  try {
    shared_ranks() != nullptr ? check_parts(folder, state) : join_parts(folder, state);
    return true;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::data) throw;
    const std::string what =
        fmt::format("a part of its final state is missing or damaged: {}", error.what());
    if (!job_.recompute_damaged) throw DamagedTask(ExitCode::data, what);
    say(fmt::format("warning: {}; it is computed again from the start, or from its checkpoint",
                    what));
    return false;
  }
}

// Runs a check of the stored file that needs its graph or engine, and names the file in its errors.
void ClaimedTask::check_source(const std::function<void()>& check) const {
  try {
    check();
  } catch (const Error& error) {
    std::string what = fmt::format("{}: {}", source_.string(), error.what());
    if (job_.recompute_damaged && error.exit_code() == ExitCode::data && file_exists(source_)) {
      what += fmt::format(" (set aside as {}; run the same command again to compute it)",
                          set_aside(source_).string());
    }
    throw Error(error.exit_code(), what);
  }
}

void ClaimedTask::claim() {
  check_task_engine(spec(), SettingNames::options(), shared_ranks() != nullptr);
  std::optional<TaskData> stored;
  if (job_.paths) {
    LeaseClaim claim;
    try {
      claim = claim_lease(job_.paths->lease);
    } catch (const Error& error) {
      // A read-only folder may still contain the complete result.
      std::optional<TaskData> finished;
      if (error.exit_code() == ExitCode::io) finished = read_finished(spec(), *job_.paths);
      if (!finished) throw;
      result_.has_checkpoint = true;
      result_.data = std::move(*finished);
      return close(TaskOutcome::already_finished);
    }
    if (!claim.lease) return close(TaskOutcome::held, claim.holder);
    if (!claim.note.empty()) say(claim.note);
    lease_ = std::move(claim.lease);
    stored = load_furthest();
    replaces_ = has_finished(*job_.paths);
  }
  if (stored) {
    data_ = std::move(*stored);
    cycles_ = data_.state.cycles;
    resumes_ = true;
    result_.has_checkpoint = true;
    if (complete() && replaces_) {
      result_.data = std::move(data_);
      return close(TaskOutcome::already_finished);
    }
    if (!replaces_) {  // no message if a finished task is extended
      say(measurements() > spec().measure
              ? fmt::format("the checkpoint has {} measurements, more than the {} requested",
                            measurements(), spec().measure)
              : fmt::format("continuing after {}", progress_text()));
    }
  }
  if (needs_graph(spec())) {
    graph_ = job_.graph_of(spec());
    if (job_.on_graph) job_.on_graph(*graph_);
    if (resumes_) check_source([&] { check_task_graph(data_, *graph_); });
  }
  if (resumes_) return;
  data_.graph = needs_graph(spec()) ? graph_record(*graph_) : regular_record(spec());
  data_.temperature = spec().temperatures;
  data_.replicas = spec().replicas;
  data_.shape_series();
}

EngineSpec ClaimedTask::engine_spec() const {
  EngineSpec engine = rewise::engine_spec(spec());
  if (warming()) engine.cluster = spec().warm_up.updates.cluster;
  return engine;
}

void ClaimedTask::attach(Engine& engine) {
  engine_ = &engine;
  counted_ = {};
  saved_ = std::chrono::steady_clock::now();
  if (resumes_) {
    check_source([&] {
      EngineState state{data_.state.engine, data_.state.step, data_.state.bytes};
      if (data_.state.parts.empty()) {
        engine.restore(state);
      } else {
        PartsReader spins(folder_of(source_), data_.state);
        const auto read = [&](std::uint64_t first, std::span<std::uint8_t> out) {
          spins.read(first, out);
        };
        dynamic_cast<SavesInParts&>(engine).restore_in_parts(state, spins.size(), read);
      }
      const auto hash = data_.provenance.find("trajectory_hash");
      if (source_.empty() || hash == data_.provenance.end() ||
          hash->second == fmt::format("{:016x}", engine.trajectory_hash())) {
        return;
      }
      throw Error(ExitCode::data, "its state does not match its hash");
    });
  } else {
    if (spec().start_spins) engine.write_spins(*spec().start_spins);
    data_.provenance["start"] = utc_time();
  }
  source_.clear();
  data_.configuration = task_configuration(spec());
}

// Separates the task from its warm-up engine.
void ClaimedTask::detach() {
  capture_state(FinalState::whole);
  resumes_ = warmed_up_ = true;
}

// Warm-up and equilibration end with a measurement that is discarded, which resets the cluster
// sums.
EngineCall ClaimedTask::next_call(std::uint64_t budget, std::size_t& count) const {
  count = 1;
  const std::uint64_t dropped = spec().discarded_cycles();
  std::uint64_t target = dropped + (measurements() + 1) * spec().every;
  if (equilibrating()) target = warming() ? spec().warm_up.cycles : dropped;
  const std::uint64_t left = target - cycles_;
  if (left > budget) return {budget, false};
  if (!equilibrating() && left == spec().every) {
    count = std::clamp<std::size_t>(budget / spec().every, 1, spec().measure - measurements());
  }
  return {left, true};
}

void ClaimedTask::append(const Samples& some) {
  if (open_ && !equilibrating()) rewise::append(data_, spec().schedule, some, spec().measure);
}

void ClaimedTask::count_cycles(std::uint64_t cycles) {
  cycles_ += cycles;
  if (job_.progress) job_.progress(cycles);
}

FinalState ClaimedTask::saved_at_end() const {
  const auto* ranks = dynamic_cast<const SavesInParts*>(engine_);
  const bool have_ranks = ranks != nullptr && ranks->has_ranks();
  if (job_.final_state == FinalState::none || (have_ranks && !job_.paths)) return FinalState::none;
  return have_ranks && !gathers_state(spec(), job_.final_state) ? FinalState::apart
                                                                : FinalState::whole;
}

void ClaimedTask::hand_over_result() {
  // If the state is written in parts, the lease may still turn out to be lost.
  if (!job_.on_measured || handed_over_ || saved_at_end() == FinalState::apart) return;
  note_measured();
  note_provenance(std::nullopt);
  handed_over_ = true;
  hand_over_record();
}

// Passes on a copy of the measurements; the original is written to its file.
void ClaimedTask::hand_over_record() {
  const auto record = std::make_shared<TaskRecord>(data_);
  hand_over_(
      bytes(), [on_measured = job_.on_measured, record] { on_measured(std::move(*record)); },
      Urgency::result);
}

void ClaimedTask::finish() {
  capture_state(saved_at_end(), job_.paths ? job_.paths->finished : std::filesystem::path());
  if (job_.on_measured && !handed_over_) {
    open_ = false;
    hand_over_record();
  }
  hand_to_writer(&ClaimedTask::write_finished);
}

void ClaimedTask::interrupt() {
  if (!job_.paths) return close(TaskOutcome::interrupted, progress_text());
  capture_state(FinalState::apart, job_.paths->checkpoint);
  hand_to_writer(&ClaimedTask::write_interrupted);
}

void ClaimedTask::abandon() {
  // Measurements after the last completed step are discarded.
  const std::uint64_t beyond = cycles_ - std::min(cycles_, spec().discarded_cycles());
  data_.for_each_series([&](auto& series) { series.truncate(beyond / spec().every); });
  if (!warmed_up_ || !job_.paths) return close(TaskOutcome::interrupted, progress_text());
  hand_to_writer(&ClaimedTask::write_interrupted);
}

// Hands the task to a host thread once its engine is no longer needed.
void ClaimedTask::hand_to_writer(void (ClaimedTask::*write)()) {
  open_ = false;
  // The factor 2 includes the image of the file.
  hand_over_(
      2 * bytes(), [this, write] { guarded([&] { (this->*write)(); }); }, Urgency::file);
}

void ClaimedTask::write_finished() {
  TaskOutcome outcome = TaskOutcome::finished;
  if (job_.paths) {
    try {
      wait_for_checkpoint();
      if (job_.add_results) job_.add_results(data_);
      if (replaces_) {
        save_task(job_.paths->finished, data_, &*lease_);
      } else {
        save_new_task(job_.paths->finished, data_, &*lease_);
      }
      remove_sealed(job_.paths->checkpoint, &*lease_);
      // Earlier runs of a single file may have left parts that `.prev` referred to until now.
      for (const auto& file : {job_.paths->checkpoint, job_.paths->finished}) {
        if (in_parts_ || !job_.paths->of_study) remove_unnamed_parts(file, *lease_);
      }
    } catch (const LeaseLost& lost) {
      if (!job_.on_measured) throw;
      say(lost.what());
      outcome = TaskOutcome::unwritten;
    }
  }
  if (!job_.on_measured) result_.data = std::move(data_);
  data_ = {};  // frees the memory: the group may have other tasks to write
  close(outcome);
}

void ClaimedTask::write_interrupted() {
  wait_for_checkpoint();
  write_checkpoint(data_);
  result_.has_checkpoint = true;
  close(TaskOutcome::interrupted, progress_text());
}

std::string ClaimedTask::progress_text() const {
  if (equilibrating()) {
    return fmt::format("{} of {} cycles to equilibrate", cycles_, spec().discarded_cycles());
  }
  return fmt::format("{} of {} measurements", measurements(), spec().measure);
}

void ClaimedTask::write_checkpoint(const TaskData& data) {
  save_task(job_.paths->checkpoint, data, &*lease_);
  if (in_parts_) remove_unnamed_parts(job_.paths->checkpoint, *lease_);
}

// Stores state and provenance in data_.
void ClaimedTask::capture_state(FinalState how, const std::filesystem::path& file) {
  note_measured();
  data_.state = {};
  const auto* ranks = dynamic_cast<const SavesInParts*>(engine_);
  if (how == FinalState::apart && ranks != nullptr && ranks->has_ranks())
    save_in_parts(*ranks, file);
  std::optional<std::uint64_t> hash;
  if (how != FinalState::none && data_.state.parts.empty()) {
    EngineState state = engine_->save();
    hash = engine_->trajectory_hash(&state);
    data_.state = {std::move(state.engine), state.step, cycles_, std::move(state.bytes)};
  } else if (data_.state.parts.empty() || complete()) {
    // Spins of a checkpoint are not gathered from the ranks for a hash: each part has its own
    // digest.
    hash = engine_->trajectory_hash();
  }
  note_provenance(hash);
}

void ClaimedTask::note_measured() {
  data_.configuration["sampling.measure"] =
      fmt::format("{}", std::max(spec().measure, measurements()));
}

// If this machine cannot read the files of all ranks, data_ has no state afterwards.
void ClaimedTask::save_in_parts(const SavesInParts& engine, const std::filesystem::path& file) {
  in_parts_ = true;
  const std::filesystem::path name = next_parts(file, *lease_);
  StateInParts saved = engine.save_in_parts(name.string(), write_part_file);
  data_.state = {std::move(saved.rest.engine),
                 saved.rest.step,
                 cycles_,
                 std::move(saved.rest.bytes),
                 {},
                 saved.rows,
                 saved.row_bytes};
  for (std::size_t r = 0; r < saved.parts.size(); ++r) {
    data_.state.parts.push_back({fmt::format("{}.{}", name.filename().string(), r),
                                 saved.parts[r].first, saved.parts[r].last});
  }
  if (!sees_parts(name.parent_path(), data_.state)) data_.state = {};
}

double ClaimedTask::bytes() const {
  double series = 0;
  data_.for_each_series([&](const auto& one) {
    series += static_cast<double>(one.values().size()) * one.values().bytes_each();
  });
  return series + static_cast<double>(data_.state.bytes.size()) +
         16 * static_cast<double>(data_.graph.rewired());
}

void ClaimedTask::note_provenance(std::optional<std::uint64_t> hash) {
  TextMap& note = data_.provenance;
  const WorkCounters work = engine_->work();
  const auto add = [&](const char* key, double now, double& counted) {
    note[key] = fmt::format("{:.17g}", number_at(note, key) + now - counted);
    counted = now;
  };
  add("work.seconds", seconds_, counted_.seconds);
  add("work.update_seconds", work.local_seconds + work.cluster_seconds, counted_.updating);
  add("work.measure_seconds", work.measure_seconds, counted_.measuring);
  add("work.updates", static_cast<double>(work.local_attempts + work.cluster_sites),
      counted_.updates);
  add("work.activate_seconds", work.phases.activate, counted_.phases.activate);
  add("work.label_seconds", work.phases.label, counted_.phases.label);
  add("work.merge_seconds", work.phases.merge, counted_.phases.merge);
  add("work.flip_seconds", work.phases.flip, counted_.phases.flip);
  note_origin(note, *engine_, hash);
}

void ClaimedTask::checkpoint_after(double seconds) {
  if (!job_.paths) return;
  {
    const std::lock_guard lock(checkpoint_.mutex);
    if (checkpoint_.error) std::rethrow_exception(checkpoint_.error);
    const std::chrono::duration<double> age = std::chrono::steady_clock::now() - saved_;
    if (checkpoint_.under_way || age.count() < seconds) return;
  }
  saved_ = std::chrono::steady_clock::now();
  capture_state(FinalState::apart, job_.paths->checkpoint);
  // The engine continues to add to data_, so a copy is written.
  StateRecord state = std::move(data_.state);
  const double held = 2 * bytes() + 2 * static_cast<double>(state.bytes.size());
  const auto copy = std::make_shared<TaskData>(data_);
  copy->state = std::move(state);
  std::function<void()> write = [this, copy] {
    std::exception_ptr error;
    try {
      write_checkpoint(*copy);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(checkpoint_.mutex);
    checkpoint_.under_way = false;
    checkpoint_.error = error;
    checkpoint_.ended.notify_all();
  };
  checkpoint_.under_way = true;  // no other thread reads it before the job is handed over
  try {
    hand_over_(held, std::move(write), Urgency::file);
  } catch (...) {  // no job was started
    checkpoint_.under_way = false;
    throw;
  }
}

// Jobs start in order, so the checkpoint's job has already started.
void ClaimedTask::wait_for_checkpoint() {
  std::unique_lock lock(checkpoint_.mutex);
  checkpoint_.ended.wait(lock, [this] { return !checkpoint_.under_way; });
  if (checkpoint_.error) std::rethrow_exception(checkpoint_.error);
}

}  // namespace rewise
