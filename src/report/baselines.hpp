#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spdnn {

/// A result of another system, from a file of baselines, never from our own runs.
struct Baseline {
  std::string system, processor;
  std::uint64_t count = 0;                            ///< of processors
  std::uint64_t neurons = 0, layers = 0, images = 0;  ///< 0: not stated
  std::optional<double> seconds, edges_per_second;    ///< as stated; at least one is given
  std::string counted;                                ///< the parts included in the time
  std::string measured;  ///< `published` by its authors, or `run by us`: their program on our machine
  std::string source;    ///< where the number is published

  /// Images x edges of an official network of this size; 0 if a size is not stated.
  double work() const;
  /// Edges per second, of all images.
  double rate() const { return edges_per_second ? *edges_per_second : work() / *seconds; }
};

/// Reads a file of baselines: CSV (RFC 4180) with the columns system, processor, count, neurons, layers, images,
/// seconds, edges_per_second, counted, measured, source. DataError (`name:line:column: ...`) if it is invalid.
std::vector<Baseline> read_baselines(const std::string& name, std::string_view text);

}  // namespace spdnn
