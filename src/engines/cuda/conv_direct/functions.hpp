#pragma once

// Functions of elements on a device, as arguments of kernels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/operations/geometry.hpp"

struct CUstream_st;  // of CUDA

namespace spdnn::cuda {

/// A function of one element.
struct Function {
  enum class Kind : std::uint8_t { clip, leaky, sigmoid, tanh, hard_sigmoid, hard_swish, line, addition };
  Kind kind = Kind::line;
  float a = 1;                   ///< the lower limit; the slope below 0; the slope
  float b = 0;                   ///< the upper limit; the offset
  const float* other = nullptr;  ///< addition: of the same element, in the result's layout
};

inline constexpr Index kMostFunctions = 4;

/// Functions that are applied to each result, one after another.
struct Functions {
  Function all[kMostFunctions];
  Index count = 0;
};

/// y = functions(x), of `count` numbers.
void apply_functions(const float* x, std::size_t count, const Functions& functions, float* y, CUstream_st* stream);

/// Activation::Kind, for kernels.
enum class ElementFunction : std::uint8_t {
#define SPDNN_ACTIVATION(kind, ...) kind,
#include "spdnn/activations.def"
#undef SPDNN_ACTIVATION
};

/// y = the function of a mathematical library of x, of `count` numbers: one that Function does not have. `alpha`: of
/// elu.
void apply_library_function(const float* x, std::size_t count, ElementFunction function, float alpha, float* y,
                            CUstream_st* stream);

// Below, tensors consist of blocks of `together` images each: 32 in images32, or one in rows.

/// y = x where x is not below 0, else the slope of its channel times x; an image has `channels` times `plane` elements.
void apply_slopes(const float* x, std::size_t blocks, Index together, std::size_t channels, std::size_t plane,
                  const float* slopes, float* y, CUstream_st* stream);

inline constexpr Index kMostAxes = 5;  ///< of an image

/// How an operation of two operands walks over an image: by axis, the extent of the result and the step of each
/// operand, 0 where it has one element for all.
struct Broadcast {
  Index axes = 0;
  Index extents[kMostAxes]{};
  Index steps[2][kMostAxes]{};
  bool has_images[2]{};       ///< else it has one number for all images
  std::size_t elements[2]{};  ///< of an image
};

struct OperandShape {
  Shape shape;
  bool has_images = false;  ///< those of the output, on axis 0
};
/// For a result with images on axis 0. The last `inner` axes of an operand are elements of its own that the walk does
/// not reach, such as those of matrices. Empty if there are too many axes, or a constant has images.
std::optional<Broadcast> broadcast_over(const Shape& output, const std::array<OperandShape, 2>& operands, Index inner);

enum class Combination : std::uint8_t { add, subtract, multiply, divide, maximum, minimum, power };

void combine(const float* a, const float* b, std::size_t blocks, Index together, const Broadcast& broadcast,
             Combination combination, float* y, CUstream_st* stream);

/// Copies images of `outer` times `own` elements, between others: element (i, k) becomes element i `all` + `first` + k.
void join(const float* x, std::size_t blocks, Index together, std::size_t outer, std::size_t own, std::size_t all,
          std::size_t first, float* y, CUstream_st* stream);

/// Maxima or means over windows of each channel's plane.
struct Pooling : WindowAxes {
  Index pad_end[2]{};
  bool maximum = true;
  bool count_padding = false;  ///< a mean is over the padded places too
};

void pool(const float* x, std::size_t planes, Index together, const Pooling& pooling, float* y, CUstream_st* stream);
/// Numbers of fp16 in blocks of 64 images; means are computed in fp32.
void pool_halves(const std::byte* x, std::size_t planes, const Pooling& pooling, std::byte* y, CUstream_st* stream);

}  // namespace spdnn::cuda
