#pragma once

#include <array>
#include <string_view>

namespace spdnn {

// The field of architecture.json for the .safetensors file that was written with it: its name, for people, and its
// digest (io/files/file_digest.hpp).
inline constexpr const char* kWeightsField = "weights";
inline constexpr const char* kFileField = "file";
inline constexpr const char* kDigestField = "xxh3";

// The names of Resize's enumerators in architecture.json, in their order; reader and writer share them.
inline constexpr std::array<std::string_view, 2> kResizeKinds{"nearest", "linear"};
inline constexpr std::array<std::string_view, 3> kResizePlaces{"half_pixel", "align_corners", "asymmetric"};
inline constexpr std::array<std::string_view, 4> kResizeRoundings{"half_down", "half_up", "down", "up"};

// The ops of Elementwise's and Reduce's kinds, in their order.
inline constexpr std::array<std::string_view, 7> kElementwiseOps{"add",     "subtract", "multiply", "divide",
                                                                 "maximum", "minimum",  "power"};
inline constexpr std::array<std::string_view, 4> kReduceOps{"reduce_sum", "reduce_product", "reduce_maximum",
                                                            "reduce_minimum"};

/// The op of each kind of Activation, in their order.
inline constexpr std::array kActivationOps{
#define SPDNN_ACTIVATION(kind, name, op, onnx) std::string_view(op),
#include "spdnn/activations.def"
#undef SPDNN_ACTIVATION
};

}  // namespace spdnn
