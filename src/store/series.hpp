// One integer per (temperature, replica) and measurement, collected in time order.
//
// In memory [time][temperature][replica], so that a measurement is appended in one piece; in files
// [temperature][time][replica], so that one temperature's series is read in one piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {

template <class T>
class Series {
 public:
  Series() = default;
  Series(std::size_t temperatures, std::size_t replicas)
      : temperatures_(temperatures), replicas_(replicas) {}

  std::size_t temperatures() const { return temperatures_; }
  std::size_t replicas() const { return replicas_; }
  std::size_t time() const { return row() == 0 ? 0 : values_.size() / row(); }
  bool empty() const { return values_.empty(); }

  // One measurement: [temperature][replica].
  void append(std::span<const T> measurement) {
    if (measurement.size() != row()) {
      throw Error(ExitCode::internal, "Series::append: a measurement of the wrong size");
    }
    values_.insert(values_.end(), measurement.begin(), measurement.end());
  }
  void reserve(std::size_t time) { values_.reserve(time * row()); }
  // Keeps the first `time` measurements.
  void truncate(std::size_t time) {
    if (time < this->time()) values_.resize(time * row());
  }

  // Drops the first `time` measurements.
  void drop(std::size_t time) {
    const std::size_t dropped = std::min(time, this->time()) * row();
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(dropped));
  }

  T at(std::size_t temperature, std::size_t time, std::size_t replica) const {
    return values_[time * row() + temperature * replicas_ + replica];
  }
  std::span<const T> values() const { return values_; }  // [time][temperature][replica]
  // One measurement: [temperature][replica].
  std::span<const T> measurement(std::size_t time) const {
    return std::span<const T>(values_).subspan(time * row(), row());
  }
  // All of one replica: [time].
  std::vector<T> replica(std::size_t temperature, std::size_t replica) const {
    std::vector<T> series(time());
    for (std::size_t t = 0; t < series.size(); ++t) series[t] = at(temperature, t, replica);
    return series;
  }

  // The file's order, [temperature][time][replica], and back. O(size).
  std::vector<T> by_temperature() const;
  static Series from_file_order(std::size_t temperatures, std::size_t time, std::size_t replicas,
                                std::span<const T> values);

  friend bool operator==(const Series&, const Series&) = default;

 private:
  std::size_t row() const { return temperatures_ * replicas_; }

  std::size_t temperatures_ = 0, replicas_ = 0;
  std::vector<T> values_;
};

template <class T>
std::vector<T> Series<T>::by_temperature() const {
  const std::size_t steps = time();
  std::vector<T> out(values_.size());
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t k = 0; k < temperatures_; ++k) {
      for (std::size_t r = 0; r < replicas_; ++r) {
        out[(k * steps + t) * replicas_ + r] = at(k, t, r);
      }
    }
  }
  return out;
}

template <class T>
Series<T> Series<T>::from_file_order(std::size_t temperatures, std::size_t time,
                                     std::size_t replicas, std::span<const T> values) {
  if (values.size() != temperatures * time * replicas) {
    throw Error(ExitCode::internal, "Series::from_file_order: values of the wrong size");
  }
  Series series(temperatures, replicas);
  series.values_.resize(values.size());
  for (std::size_t k = 0; k < temperatures; ++k) {
    for (std::size_t t = 0; t < time; ++t) {
      for (std::size_t r = 0; r < replicas; ++r) {
        series.values_[t * series.row() + k * replicas + r] = values[(k * time + t) * replicas + r];
      }
    }
  }
  return series;
}

}  // namespace rewise
