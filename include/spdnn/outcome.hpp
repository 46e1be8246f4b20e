#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "spdnn/categories.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The type in which activations are computed. tf32: tensor cores round factors to 11 significant bits, sums are fp32.
/// fp16: activations between layers are rounded to 11 bits, too, and factors only on tensor cores; sums are fp32.
/// bf16: factors and activations are rounded to 8 significant bits. fp16_sums: convolutions are computed in fp16, sums
/// of all products included, where a kernel for that is predicted to be the fastest.
enum class Precision { bf16, fp16, tf32, fp32, fp64, fp16_sums };
/// Whether it is less exact than fp32: the report then compares the run with one in fp32.
constexpr bool below_fp32(Precision precision) { return precision != Precision::fp32 && precision != Precision::fp64; }
/// The kind of processor on which an engine runs.
enum class Device { cpu, cuda };

std::string_view to_string(Precision precision);
std::string_view to_string(Device device);

/// An image in which a sum, its bias included, became infinite or NaN, and the first such layer (0-based).
/// From there on its activations depend on the order of summation: cap and ReLU hide the overflow, they do not undo it.
struct Overflow {
  Index image = 0;
  Index layer = 0;

  bool operator==(const Overflow&) const = default;
};

/// Everything known once the last layer has been run.
struct Outcome {
  Categories categories;  ///< 0-based within the images that were run
  /// Images not all zero after each layer, without those in `borderline`; empty if the engine does not count them.
  std::vector<std::int64_t> alive;
  /// Images that were still computed after each layer, neither retired nor a duplicate; -1 if the engine did not count.
  /// Empty if it never does.
  std::vector<std::int64_t> active = {};
  /// Numbers of images retired at the cap, and of images that became a duplicate of another. Both depend on which
  /// images an engine happens to compare, and may differ from run to run.
  std::int64_t saturated = 0;
  std::int64_t identical = 0;
  std::vector<Index> borderline;        ///< images for which `merge` could not decide: to be run without it
  std::vector<Overflow> overflow = {};  ///< ascending by image; only recorded if a sum may overflow
  /// After the last layer, images x output neurons of the given network, without zeros, in fp32; see
  /// InferenceSpec::activations. Those of an image that overflows depend on the order of summation.
  std::optional<CsrMatrix> activations = {};
};

}  // namespace spdnn
