// A time series of integers, one per temperature, replica and measurement.
//
// Layout in memory: [time][temperature][replica], so that appending a measurement is one copy.
// Every value is stored in as few bytes as the largest one needs (narrow.hpp). Layout in files:
// [temperature][time][replica], 8 bytes each, so that one temperature is contiguous.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/error.hpp"
#include "src/base/narrow.hpp"

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
  bool empty() const { return values_.size() == 0; }

  // Appends measurements, each [temperature][replica].
  void append(const NarrowSpan<T>& measurements) {
    if (row() == 0 ? !measurements.empty() : measurements.size() % row() != 0) {
      throw Error(ExitCode::internal, "Series::append: a measurement of the wrong size");
    }
    values_.append(measurements);
  }
  void reserve(std::size_t time) { values_.reserve(time * row()); }
  // Keeps the first `time` measurements.
  void truncate(std::size_t time) {
    if (time < this->time()) values_.keep(0, time * row());
  }

  // Drops the first `time` measurements.
  void drop(std::size_t time) {
    values_.keep(std::min(time, this->time()) * row(), values_.size());
  }

  T at(std::size_t temperature, std::size_t time, std::size_t replica) const {
    return values()[time * row() + temperature * replicas_ + replica];
  }
  NarrowSpan<T> values() const { return values_.view(); }  // [time][temperature][replica]
  // One measurement: [temperature][replica].
  NarrowSpan<T> measurement(std::size_t time) const {
    return values().subspan(time * row(), row());
  }
  // The series of one replica: [time].
  std::vector<T> replica(std::size_t temperature, std::size_t replica) const {
    std::vector<T> series(time());
    for (std::size_t t = 0; t < series.size(); ++t) series[t] = at(temperature, t, replica);
    return series;
  }

  // Conversion to the file's layout, [temperature][time][replica], and back. O(size).
  std::vector<T> by_temperature() const;
  static Series from_file_order(std::size_t temperatures, std::size_t time, std::size_t replicas,
                                std::span<const T> values);

  friend bool operator==(const Series&, const Series&) = default;

 private:
  std::size_t row() const { return temperatures_ * replicas_; }

  std::size_t temperatures_ = 0, replicas_ = 0;
  NarrowVector<T> values_;
};

template <class T>
std::vector<T> Series<T>::by_temperature() const {
  const std::size_t steps = time();
  std::vector<T> out(values_.size());
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t k = 0; k < temperatures_; ++k) {
      measurement(t).subspan(k * replicas_, replicas_).copy_to(&out[(k * steps + t) * replicas_]);
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
  series.reserve(time);
  std::vector<T> row(series.row());
  for (std::size_t t = 0; t < time; ++t) {
    for (std::size_t k = 0; k < temperatures; ++k) {
      const auto from = values.subspan((k * time + t) * replicas, replicas);
      std::copy(from.begin(), from.end(), row.begin() + static_cast<std::ptrdiff_t>(k * replicas));
    }
    series.append(row);
  }
  return series;
}

}  // namespace rewise
