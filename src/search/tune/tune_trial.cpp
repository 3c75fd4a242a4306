#include "src/search/tune/tune_trial.hpp"

#include <fmt/format.h>
#include <time.h>

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/decorrelation.hpp"
#include "src/base/clock.hpp"
#include "src/base/constants.hpp"
#include "src/base/error.hpp"
#include "src/engine/registry.hpp"
#include "src/results/hot_cold.hpp"

namespace rewise {
namespace {

constexpr std::size_t kFirstSamples = 16;
constexpr double kMinSamples = 4;           // in a first turn
constexpr std::size_t kEnoughToJudge = 64;  // samples required to choose `every`
constexpr double kSoundLength = 20;         // minimum length of a reliable series, in tau
constexpr double kManyReplicas = 32;  // with more replicas a shorter series suffices, in proportion
constexpr double kFoundWindow = 4, kKnownWindow = 2;  // in tau
// Minimum relative error of the rate until the series is reliable.
constexpr double kUnsoundError = 0.15;
constexpr std::size_t kLags = 64;     // lags of the configuration correlation
constexpr double kWatchShare = 0.25;  // part of a turn in which configurations are compared
// Lower bound of the cost of a cycle, relative to the sum over its updates, which share launches.
constexpr double kCheaper = 0.5;

// Returns the CPU time of this thread if the engine runs on one CPU thread, since other programs
// hardly affect it; else the wall-clock time.
double working_time(const Engine& engine) {
  if (engine.device() != "cpu" || engine.threads() != 1) return now();
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Share of measurements in the time between two states of an engine's work. Engines do not time
// replica exchange as an update, so the rest then counts as updates and exchange.
double measuring_share(const WorkCounters& before, const WorkCounters& after, double seconds,
                       bool exchange) {
  const auto updates = [](const WorkCounters& w) { return w.local_seconds + w.cluster_seconds; };
  const double share = exchange ? (after.measure_seconds - before.measure_seconds) / seconds
                                : 1 - (updates(after) - updates(before)) / seconds;
  return std::clamp(share, 0.0, 1.0);
}

std::size_t even(double count) { return 2 * static_cast<std::size_t>(std::max(1.0, count / 2)); }

// A few replicas, spread over the hot and the cold half; fewer if reading them takes long.
std::vector<std::uint32_t> watched_replicas(std::uint64_t sites, std::uint32_t replicas) {
  const std::uint32_t wanted = sites <= 65536 ? 8 : 4;
  const std::uint32_t count = std::min(wanted, replicas);
  std::vector<std::uint32_t> list;
  for (std::uint32_t k = 0; k < count; ++k) list.push_back(k * replicas / count);
  return list;
}

[[noreturn]] void throw_stopped() {
  throw Error(ExitCode::interrupted, "stopped while tuning the schedule");
}

}  // namespace

void TuneEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  const std::size_t first[] = {0};
  if (!batch_->advance(first, schedule, cycles).front()) throw_stopped();
}

std::vector<Observation> TuneEngine::sample(const Schedule& schedule, std::uint64_t every,
                                            std::size_t count) {
  const std::size_t first[] = {0};
  auto taken = std::move(batch_->sample(first, schedule, every, count).front());
  if (taken.size() < count) throw_stopped();
  return taken;
}

void TuneEngine::add_q2(const Eigen::ArrayXd& q2) {
  if (samples_ == 0) q2_sum_ = Eigen::ArrayXd::Zero(q2.size());
  q2_sum_ += q2;
  ++samples_;
}

Eigen::ArrayXd squared_overlaps(const Observation& observation, double sites) {
  Eigen::ArrayXd q2(static_cast<Eigen::Index>(observation.overlap.size()));
  for (std::size_t k = 0; k < observation.overlap.size(); ++k) {
    const double q = static_cast<double>(observation.overlap[k]) / sites;
    q2[static_cast<Eigen::Index>(k)] = q * q;
  }
  return q2;
}

void TuneSeries::interrupt() {
  const auto start = static_cast<Eigen::Index>(times());
  if (starts_.empty() || starts_.back() != start) starts_.push_back(start);
}

std::size_t TuneSeries::longest_segment() const {
  std::size_t longest = 0, end = times();
  for (std::size_t k = starts_.size(); k-- > 0; end = static_cast<std::size_t>(starts_[k])) {
    longest = std::max(longest, end - static_cast<std::size_t>(starts_[k]));
  }
  return longest;
}

void TuneSeries::add(const Observation& observation, const SampleUnits& units) {
  if (starts_.empty()) interrupt();
  for (std::uint32_t r = 0; r < replicas_; ++r) {
    double e = 0, m = 0;
    units.per_site(static_cast<double>(observation.bond_sum[r]),
                   static_cast<double>(observation.magnetisation[r]), e, m);
    energy_.push_back(e);
    abs_m_.push_back(std::abs(m));
    squared_order_.push_back(m * m);
  }
  if (observation.cluster_quartic_low.empty() || observation.cluster_updates == 0) return;
  const double updates = static_cast<double>(observation.cluster_updates);
  for (std::uint32_t r = 0; r < replicas_; ++r) {
    const double square = static_cast<double>(observation.cluster_size[r]);
    const double quartic =
        std::ldexp(static_cast<double>(observation.cluster_quartic_high[r]), 64) +
        static_cast<double>(observation.cluster_quartic_low[r]);
    improved_m2_.push_back(square / (updates * std::pow(units.sites, 2)));
    improved_m4_.push_back(quartic / (updates * std::pow(units.sites, 4)));
  }
}

void TuneSeries::add_overlaps(const Eigen::ArrayXd& q2) {
  if (starts_.empty()) interrupt();
  squared_order_.insert(squared_order_.end(), q2.begin(), q2.end());
}

void TuneSeries::halve() {
  const bool improved = has_improved();
  std::vector<std::vector<double>*> lists{&squared_order_};
  if (!energy_.empty()) lists.insert(lists.end(), {&energy_, &abs_m_});
  if (improved) lists.insert(lists.end(), {&improved_m2_, &improved_m4_});
  std::vector<std::size_t> kept;  // times
  for (std::size_t k = 0; k < starts_.size(); ++k) {
    const auto begin = static_cast<std::size_t>(starts_[k]);
    const std::size_t end =
        k + 1 < starts_.size() ? static_cast<std::size_t>(starts_[k + 1]) : times();
    starts_[k] = static_cast<Eigen::Index>(kept.size());
    for (std::size_t t = begin + 1 - (end - begin) % 2; t < end; t += 2) {
      kept.push_back(t);
      if (t == begin || !improved) continue;
      for (auto* values : {&improved_m2_, &improved_m4_}) {
        for (std::size_t r = t * replicas_; r < (t + 1) * replicas_; ++r) {
          (*values)[r] = ((*values)[r] + (*values)[r - replicas_]) / 2;
        }
      }
    }
  }
  for (auto* values : lists) {
    for (std::size_t t = 0; t < kept.size(); ++t) {
      const auto from = values->begin() + static_cast<std::ptrdiff_t>(kept[t] * replicas_);
      std::copy_n(from, replicas_, values->begin() + static_cast<std::ptrdiff_t>(t * replicas_));
    }
    values->resize(kept.size() * replicas_);
  }
}

void TuneSeries::clear() {
  for (auto* values : {&energy_, &abs_m_, &squared_order_, &improved_m2_, &improved_m4_})
    values->clear();
  starts_.clear();
}

namespace {

SeriesTau tau_of(const GammaResult& gamma) {
  const double window = static_cast<double>(gamma.window);
  SeriesTau result{gamma.tau, gamma.window_found, gamma.window_found};
  if (result.found) return result;
  result.known = window >= kKnownWindow * gamma.tau.value;
  if (result.known) result.tau = with_tail(gamma.tau, window);
  result.found = window >= kFoundWindow * result.tau.value;
  return result;
}

}  // namespace

SeriesTau series_tau(const TuneSeries& series, RealSeriesRef observable) {
  return tau_of(gamma_method(observable, series.starts()));
}

SlowestTau slowest_tau(const TuneSeries& series, std::size_t temperatures) {
  const TuneSeries::View q2 = series.squared_order();
  const Eigen::Index pairs = q2.cols() / static_cast<Eigen::Index>(temperatures);
  SlowestTau slowest;
  bool found = true, known = true;
  for (std::size_t t = 0; t < temperatures; ++t) {
    const GammaResult gamma =
        gamma_method(q2.middleCols(static_cast<Eigen::Index>(t) * pairs, pairs), series.starts());
    const SeriesTau one = tau_of(gamma);
    const bool alike = gamma.replica_q * static_cast<double>(temperatures) >= kEquilibriumLevel;
    found = found && one.found && alike;
    known = known && one.known && alike;
    if (one.tau.value > slowest.tau.tau.value) slowest = {one, t};
  }
  slowest.tau.found = found;
  slowest.tau.known = known;
  return slowest;
}

namespace {

// Assumed fraction of the variance that improved estimators leave, until it is measured. It is
// below most measured values (0.4 to 0.6), so worth() of a contender with a short series is
// overestimated rather than underestimated.
constexpr double kLikelyLeft = 0.35;

// Averages over segments of equal length, for each replica: [segment * replica].
Eigen::ArrayXd segment_means(const TuneSeries& series, const RealSeries& values,
                             Eigen::Index length) {
  std::vector<double> means;
  const auto starts = series.starts();
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const Eigen::Index end = k + 1 < starts.size() ? starts[k + 1] : values.rows();
    for (Eigen::Index t = starts[k]; t + length <= end; t += length) {
      const Eigen::ArrayXd mean = values.middleRows(t, length).colwise().mean().transpose();
      means.insert(means.end(), mean.begin(), mean.end());
    }
  }
  return Eigen::Map<Eigen::ArrayXd>(means.data(), static_cast<Eigen::Index>(means.size()));
}

// Fraction of the variance of an observable's averages that remains after a fit by the controls;
// nothing if the series is too short to determine it.
std::optional<double> share_left(const TuneSeries& series, const RealSeries& observable, double tau,
                                 std::span<const RealSeries> controls) {
  // A length beyond which little of the observable's correlations extends; half of it is
  // sufficient.
  const double wished = std::max(4.0, std::ceil(6 * tau));
  const auto longest = static_cast<double>(series.longest_segment());
  if (longest < wished / 2) return std::nullopt;
  const auto length = static_cast<Eigen::Index>(std::min(wished, longest));
  Eigen::ArrayXd y = segment_means(series, observable, length);
  constexpr Eigen::Index few = 64;
  const Eigen::Index count = y.size(), k = static_cast<Eigen::Index>(controls.size());
  if (count < few) return std::nullopt;
  y -= y.mean();
  Eigen::MatrixXd x(count, k);
  for (Eigen::Index c = 0; c < k; ++c) {
    Eigen::ArrayXd one = segment_means(series, controls[static_cast<std::size_t>(c)], length);
    one -= one.mean();
    x.col(c) = one / std::max(std::sqrt(one.square().mean()), 1e-300);
  }
  const Eigen::MatrixXd normal = x.transpose() * x;
  const Eigen::VectorXd fit = normal.ldlt().solve(x.transpose() * y.matrix());
  const double left = (y.matrix() - x * fit).squaredNorm() / y.square().sum() *
                      static_cast<double>(count - 1) / static_cast<double>(count - 1 - k);
  constexpr double least = 0.05;  // a smaller fraction is not trusted
  return std::isfinite(left) ? std::clamp(left, least, 1.0) : 1;
}

}  // namespace

Value SeriesNoise::tau(double least) const {
  return {
      (std::max(least, m2.tau.value) * m2_left + std::max(least, binder.tau.value) * binder_left) /
          2,
      (m2.tau.error * m2_left + binder.tau.error * binder_left) / 2};  // not independent
}

SeriesNoise series_noise(const TuneSeries& series, bool improved) {
  const RealSeries m2 = series.squared_order(), m4 = m2.square();
  const double square = m2.mean(), fourth = m4.mean();
  const RealSeries binder = m4 / (square * square) - 2 * fourth / (square * square * square) * m2;
  SeriesNoise noise;
  noise.m2 = series_tau(series, series.squared_order());
  noise.binder = series_tau(series, binder);
  if (!improved || !series.has_improved()) return noise;
  const RealSeries controls[] = {series.improved_m2() - m2, series.improved_m4() - m4};
  const auto m2_left = share_left(series, m2, noise.m2.tau.value, controls);
  const auto binder_left = share_left(series, binder, noise.binder.tau.value, controls);
  noise.left_known = m2_left && binder_left;
  noise.m2_left = m2_left.value_or(kLikelyLeft);
  noise.binder_left = binder_left.value_or(kLikelyLeft);
  return noise;
}

TuneTrial::TuneTrial(const Updates& candidate, TuneEngine& engine, double expected, bool improved)
    : candidate_(candidate),
      engine_(engine),
      expected_(expected),
      improved_(improved),
      series_(engine.columns()),
      correlation_(watched_replicas(engine.sites(), engine.replicas()).size(), kLags),
      watched_(watched_replicas(engine.sites(), engine.replicas())) {}

Standing TuneTrial::standing() const {
  Standing standing;
  const double replicas = engine_.members();
  if (pieces_.empty() || noise_.m2.tau.value == 0) {
    // An upper bound: tau is at least half a cycle, so a cycle gives at most one independent
    // measurement. With improved estimators of Swendsen-Wang updates a measurement counts at most
    // `better` times.
    constexpr double better = 4;
    const bool labels = improved_ && candidate_.cluster == ClusterUpdate::swendsen_wang;
    standing.upper_bound = (labels ? better : 1) * replicas / (kCheaper * expected_);
    standing.shortest_turn = kMinSamples * expected_;
    return standing;
  }
  standing.rate = worth();
  const double length = kSoundLength * std::min(1.0, kManyReplicas / replicas);
  standing.sound = noise_.m2.found && noise_.binder.found && noise_.left_known &&
                   pieces_.size() >= 3 &&
                   static_cast<double>(series_.times()) >= length * noise_.m2.tau.value;
  standing.shortest_turn = 2 * sample_seconds();
  if (!standing.sound) {
    standing.rate.error = std::max(standing.rate.error, kUnsoundError * standing.rate.value);
  }
  if (worth_known()) standing.relative_error = standing.rate.error / standing.rate.value;
  return standing;
}

double TuneTrial::run(double seconds) {
  const double begin = now();
  piece_seconds_ = std::clamp(seconds / 4, 1e-3, 0.02);
  if (!engine_.enter(this)) series_.interrupt();
  const double watched = engine_.exchanged() > 0 ? 0 : kWatchShare;  // exchange moves states
  const double bulk = begin + (1 - watched) * seconds;
  do {
    // Divides the turn into several timed pieces.
    const double room = std::min((bulk - now()), seconds / 4) / sample_seconds();
    const double wished = std::max<double>(kFirstSamples, static_cast<double>(series_.times()) / 2);
    step(even(std::clamp(room, series_.times() == 0 ? kMinSamples : 2.0, wished)), false);
    adapt();
  } while (now() < bulk);
  // At least 16 samples at first, because other load on the machine may have used up the time.
  const double least = correlation_.times() == 0 && series_.times() >= kEnoughToJudge ? 16 : 0;
  const double room = (begin + seconds - now()) / (sample_seconds() + watching_seconds_);
  const double watch = std::clamp(room, least, static_cast<double>(kLags));
  if (watched > 0 && watch >= 4) {
    correlation_.interrupt();
    step(even(watch), true);
    adapt();
  }
  close_piece();
  refresh();
  return now() - begin;
}

// Times only samples that are taken in one call of the engine, as in a real run.
void TuneTrial::step(std::size_t count, bool configurations) {
  if (configurations) {
    for (std::size_t k = 0; k < count; ++k) {
      add(engine_.sample(candidate_.schedule, every_, 1).front());
      const double begin = now();
      take_configurations();
      watching_seconds_ = now() - begin;
    }
    return;
  }
  const Engine& engine = engine_.engine();
  const WorkCounters before = engine.work();
  const double begin = now(), working = working_time(engine);
  const auto taken = engine_.sample(candidate_.schedule, every_, count);
  const double share =
      measuring_share(before, engine.work(), now() - begin, engine_.exchanged() > 0);
  const double seconds = working_time(engine) - working;
  book(count, seconds, share * seconds);
  for (const Observation& observation : taken) add(observation);
}

void TuneTrial::add(const Observation& observation) {
  if (engine_.exchanged() == 0) return series_.add(observation, engine_.units());
  const RealSeries all =
      squared_overlaps(observation, static_cast<double>(engine_.sites())).transpose();
  const Eigen::ArrayXd q2 =
      member_columns(all, engine_.dependence(), static_cast<Eigen::Index>(engine_.exchanged()))
          .transpose();
  series_.add_overlaps(q2);
  engine_.add_q2(q2);
}

void TuneTrial::book(std::size_t count, double seconds, double measuring) {
  open_.cycles += static_cast<double>(count * every_);
  open_.measurements += static_cast<double>(count);
  open_.measure_seconds += measuring;
  open_.update_seconds += std::max(seconds - measuring, 1e-9);
  if (open_.update_seconds + open_.measure_seconds >= piece_seconds_) close_piece();
}

void TuneTrial::close_piece() {
  if (open_.cycles > 0) pieces_.push_back(open_);
  open_ = {};
}

void TuneTrial::take_configurations() {
  std::vector<std::uint8_t> spins(engine_.sites());
  std::vector<SpinBits> bits;
  for (const std::uint32_t r : watched_) {
    engine_.engine().spins(0, r, spins);
    bits.emplace_back(spins, engine_.states());
  }
  correlation_.add(std::move(bits));
}

// Estimated seconds of one sample of all replicas.
double TuneTrial::sample_seconds() const {
  const Piece& last = pieces_.empty() ? open_ : pieces_.back();
  if (last.cycles == 0) return expected_ * static_cast<double>(every_);
  return last.update_seconds / last.cycles * static_cast<double>(every_) +
         last.measure_seconds / last.measurements;
}

void TuneTrial::refresh() {
  if (series_.longest_segment() < 4) return;
  if (engine_.exchanged() > 0) return judge();
  noise_ = series_noise(series_, improved_);
}

void TuneTrial::judge() {
  if (series_.longest_segment() < 4) return;
  if (engine_.exchanged() > 0) {
    const SlowestTau slowest = slowest_tau(series_, engine_.exchanged());
    noise_.m2 = noise_.binder = slowest.tau;
    slowest_ = slowest.temperature;
  } else {
    noise_.m2 = series_tau(series_, series_.squared_order());
  }
}

void TuneTrial::adapt() {
  if (series_.longest_segment() < kEnoughToJudge) return;
  judge();
  if (noise_.m2.tau.value > kMaxTau || !noise_.m2.found) {
    series_.halve();
    every_ *= 2;
  } else if (noise_.m2.tau.value < kMinTau && every_ > 1) {
    series_.clear();
    every_ = std::max<std::uint64_t>(1, every_ / 4);
  } else {
    return;
  }
  correlation_.restart();
  judge();
}

// A short series may give a tau below that of white noise, which would overestimate the rate.
Value TuneTrial::rate() const {
  const double every = static_cast<double>(every_);
  const Value tau{std::max(0.5, noise_.m2.tau.value * every), noise_.m2.tau.error * every};
  return decorrelated_rate(tau, cost(false));
}

Value TuneTrial::worth() const {
  const double every = static_cast<double>(every_);
  const Value tau = noise_.tau(0.5 / every);
  const Value updates = cost(false), both = cost(true);
  const double apart = std::max(1.0, std::ceil(noise_.m2.tau.value * every));  // as in studies
  return decorrelated_rate({tau.value * every, tau.error * every},
                           {updates.value + (both.value - updates.value) / apart, both.error});
}

Value TuneTrial::cost(bool measured) const {
  std::vector<double> updates, measurements;
  for (const Piece& piece : pieces_) {
    updates.push_back(piece.update_seconds / piece.cycles);
    measurements.push_back(piece.measure_seconds / piece.measurements);
  }
  const double replicas = engine_.members();
  const Value a = typical_cost(updates), b = typical_cost(measurements);
  if (!measured) return {a.value / replicas, a.error / replicas};
  return {(a.value + b.value) / replicas, std::hypot(a.error, b.error) / replicas};
}

void TuneTrial::dropped() {
  last_ = figures();
  is_dropped_ = true;
}

TrialFigures TuneTrial::figures() const {
  if (is_dropped_) return last_;
  TrialFigures f;
  const Value unknown{kNaN, kNaN};
  f.seconds = f.seconds_measured = f.rate = f.worth = unknown;
  f.tau_energy = f.tau_abs_m = f.tau_m2 = f.tau_binder = f.tau_configuration = f.tau_q2 = unknown;
  f.every = every_;
  f.samples = series_.times();
  if (pieces_.empty() || noise_.m2.tau.value == 0) return f;
  const double every = static_cast<double>(every_);
  const auto cycles = [every](Value samples) {
    return Value{samples.value * every, samples.error * every};
  };
  f.seconds = cost(false);
  f.seconds_measured = cost(true);
  f.tau_known = noise_.m2.known;
  if (engine_.exchanged() > 0) {
    f.tau_q2 = cycles(noise_.m2.tau);
    f.slowest = slowest_;
  } else {
    f.tau_energy = cycles(series_tau(series_, series_.energy()).tau);
    f.tau_abs_m = cycles(series_tau(series_, series_.abs_m()).tau);
    f.tau_m2 = cycles(noise_.m2.tau);
    f.tau_binder = cycles(noise_.binder.tau);
  }
  f.rate = rate();
  f.worth = worth();
  f.worth_known = worth_known();
  f.m2_left = noise_.m2_left;
  f.binder_left = noise_.binder_left;
  const RealSeries curves = correlation_.curves();
  if (curves.rows() > 0) {
    const CurveTau tau = curve_tau(curves, static_cast<double>(correlation_.times()));
    if (tau.window_found) f.tau_configuration = cycles(tau.tau);
  }
  return f;
}

}  // namespace rewise
