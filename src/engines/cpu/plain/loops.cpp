#include "engines/cpu/plain/loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/types/shape.hpp"
#include "engines/cpu/plain/each.hpp"
#include "model/operations/geometry.hpp"
#include "program/epilogue.hpp"

namespace spdnn::plain {

namespace {

Extent channels_of(const Shape& shape) { return shape.size() < 2 ? 1 : shape[1]; }

/// work(i, c) for each element of a shape and its channel.
template <class Work>
void with_channel(const Shape& shape, bool innermost, const Work& work) {
  const Extent channels = innermost ? shape.back() : channels_of(shape);
  const Extent inside = innermost ? 1 : elements_from(shape, 2);
  const Extent run = channels * inside;
  if (innermost)
    for_each(elements_from(shape) / std::max<Extent>(run, 1), [&](Extent pixel) {
      for (Extent c = 0; c < channels; ++c) work(pixel * channels + c, c);
    });
  else
    for_each(elements_from(shape) / std::max<Extent>(inside, 1), [&](Extent plane) {
      for (Extent i = plane * inside; i < (plane + 1) * inside; ++i) work(i, plane % channels);
    });
}

/// The offset of a row along the last axis, by its number, in an array with other strides.
template <std::size_t arrays>
std::array<Extent, arrays> row_begin(Extent row, const Shape& shape,
                                     const std::array<std::vector<Extent>, arrays>& strides) {
  std::array<Extent, arrays> begin{};
  for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
    const Extent place = row % shape[axis];
    row /= shape[axis];
    for (std::size_t a = 0; a < arrays; ++a) begin[a] += place * strides[a][axis];
  }
  return begin;
}

/// Calls with the operation of that kind on two numbers.
template <class Work>
void with_operation(Elementwise::Kind kind, const Work& work) {
  switch (kind) {
    case Elementwise::Kind::add:
      return work([](float a, float b) { return a + b; });
    case Elementwise::Kind::subtract:
      return work([](float a, float b) { return a - b; });
    case Elementwise::Kind::multiply:
      return work([](float a, float b) { return a * b; });
    case Elementwise::Kind::divide:
      return work([](float a, float b) { return a / b; });
    case Elementwise::Kind::maximum:
      return work([](float a, float b) { return std::isnan(a) || a > b ? a : b; });
    case Elementwise::Kind::minimum:
      return work([](float a, float b) { return std::isnan(a) || a < b ? a : b; });
    case Elementwise::Kind::power:
      return work([](float a, float b) { return std::pow(a, b); });
  }
}

}  // namespace

void apply_batch_norm(const BatchNorm& norm, const Shape& shape, bool innermost, const float* input, float* output) {
  std::vector<float> factors;
  for (std::size_t c = 0; c < norm.scale.size(); ++c)
    factors.push_back(norm.scale[c] / std::sqrt(norm.variance[c] + norm.epsilon));
  with_channel(shape, innermost, [&](Extent i, Extent channel) {
    const auto c = static_cast<std::size_t>(channel);
    output[i] = (input[i] - norm.mean[c]) * factors[c] + norm.shift[c];
  });
}

void activate(const Activation& activation, const Shape& shape, bool innermost, const float* input, float* output) {
  if (activation.kind == Activation::Kind::prelu && activation.alphas.size() > 1) {
    with_channel(shape, innermost, [&](Extent i, Extent channel) {
      output[i] = program::activated(activation, activation.alphas[static_cast<std::size_t>(channel)], input[i]);
    });
    return;
  }
  const float alpha = activation.kind == Activation::Kind::prelu ? activation.alphas[0] : activation.alpha;
  const Extent count = elements_from(shape);
  program::with_function(activation, alpha, [=](const auto& value_of) {
#pragma omp parallel for schedule(static)
    for (Extent i = 0; i < count; ++i) output[i] = value_of(input[i]);
  });
}

void softmax(const Shape& shape, Index axis, const float* input, float* output) {
  const Extent length = shape[axis];
  const Extent inside = elements_from(shape, axis + 1);
  for_each(elements_from(shape) / std::max<Extent>(length * inside, 1) * inside, [&](Extent line) {
    const Extent first = line / inside * length * inside + line % inside;
    float most = -std::numeric_limits<float>::infinity();
    for (Extent i = 0; i < length; ++i) most = std::max(most, input[first + i * inside]);
    float sum = 0;
    for (Extent i = 0; i < length; ++i) sum += output[first + i * inside] = std::exp(input[first + i * inside] - most);
    for (Extent i = 0; i < length; ++i) output[first + i * inside] /= sum;
  });
}

void concat(const std::vector<Shape>& shapes, Index axis, const std::vector<const float*>& inputs, float* output) {
  Extent row = 0;  // adjacent in the output
  for (const Shape& shape : shapes) row += elements_from(shape, axis);
  const Extent rows = elements_from(shapes[0]) / std::max<Extent>(elements_from(shapes[0], axis), 1);
  for_each(rows, [&](Extent number) {
    float* to = output + number * row;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Extent size = elements_from(shapes[i], axis);
      to = std::copy_n(inputs[i] + number * size, size, to);
    }
  });
}

void elementwise(Elementwise::Kind kind, const std::array<Shape, 3>& shapes, const float* first, const float* second,
                 float* output) {
  Shape to = shapes[2];
  if (to.empty()) to.push_back(1);
  // An axis along which an input is repeated is walked without moving on.
  std::array<std::vector<Extent>, 3> strides;
  for (std::size_t array = 0; array < 3; ++array) {
    Shape shape = shapes[array];
    shape.insert(shape.begin(), to.size() - shape.size(), 1);
    strides[array] = strides_of(shape);
    for (std::size_t axis = 0; axis < to.size(); ++axis)
      if (shape[axis] == 1) strides[array][axis] = 0;
  }
  strides[2] = strides_of(to);
  const Extent columns = to.back();
  with_operation(kind, [&](auto operation) {
    for_each(elements_from(to) / std::max<Extent>(columns, 1), [&](Extent row) {
      const auto [a, b, c] = row_begin(row, to, strides);
      const Extent a_step = strides[0].back();
      const Extent b_step = strides[1].back();
      for (Extent i = 0; i < columns; ++i) output[c + i] = operation(first[a + i * a_step], second[b + i * b_step]);
    });
  });
}

void transpose(const Transpose& transpose, const Shape& from, const float* input, float* output) {
  if (from.size() < 2) return void(std::copy_n(input, elements_from(from), output));
  const std::vector<Extent> strides = strides_of(from);
  Shape to;
  std::array<std::vector<Extent>, 2> walked;
  for (const Index axis : transpose.order) {
    to.push_back(from[axis]);
    walked[0].push_back(strides[axis]);
  }
  walked[1] = strides_of(to);
  // The last two axes together, the longer one innermost, because the last one may have only two elements.
  const std::size_t last = to.size() - 1;
  const std::size_t inner = to[last] < to[last - 1] ? last - 1 : last;
  const std::size_t outer = last + last - 1 - inner;
  const Shape blocks(to.begin(), to.end() - 1);
  for_each(elements_from(to) / std::max<Extent>(to[inner] * to[outer], 1), [&](Extent block) {
    const auto [source, destination] = row_begin(block, blocks, walked);
    for (Extent j = 0; j < to[outer]; ++j) {
      const float* const read = input + source + j * walked[0][outer];
      float* const written = output + destination + j * walked[1][outer];
      for (Extent i = 0; i < to[inner]; ++i) written[i * walked[1][inner]] = read[i * walked[0][inner]];
    }
  });
}

void pad(const Pad& pad, const Shape& from, const float* input, float* output) {
  Shape to = from;
  for (std::size_t axis = 0; axis < to.size(); ++axis) to[axis] += pad.begin[axis] + pad.end[axis];
  if (from.empty()) return void(*output = *input);
  // The part of the input that is kept, and its offsets in both arrays.
  const std::array<std::vector<Extent>, 2> strides{strides_of(from), strides_of(to)};
  Shape kept;
  std::array<Extent, 2> corners{};
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const Extent cut = std::max<Extent>(-pad.begin[axis], 0);
    const Extent added = std::max<Extent>(pad.begin[axis], 0);
    kept.push_back(std::max<Extent>(std::min(from[axis] - cut, to[axis] - added), 0));
    corners[0] += cut * strides[0][axis];
    corners[1] += added * strides[1][axis];
  }
  if (kept != to) std::fill_n(output, elements_from(to), pad.value);
  const Extent columns = kept.back();
  for_each(elements_from(kept) / std::max<Extent>(columns, 1), [&](Extent row) {
    const auto [source, destination] = row_begin(row, kept, strides);
    std::copy_n(input + corners[0] + source, columns, output + corners[1] + destination);
  });
}

void with_channels(Elementwise::Kind kind, const Channels& shape, const float* images, const float* factors,
                   float* output) {
  const Extent blocks = (shape.channels + shape.together - 1) / shape.together;
  with_operation(kind, [&](auto operation) {
    if (shape.together == 1) {  // rows of one element would cost more than the computation
      for_each(shape.images * shape.channels, [&](Extent plane) {
        const float factor = factors[shape.of_each_image ? plane : plane % shape.channels];
        for (Extent i = plane * shape.pixels; i < (plane + 1) * shape.pixels; ++i)
          output[i] = operation(images[i], factor);
      });
      return;
    }
    for_each(shape.images * blocks * shape.pixels, [&](Extent row) {
      const Extent block = row / shape.pixels;
      const Extent first = block % blocks * shape.together;
      const Extent used = std::min(shape.together, shape.channels - first);
      const float* const own = factors + (shape.of_each_image ? block / blocks * shape.channels : 0) + first;
      const float* const from = images + row * shape.together;
      float* const to = output + row * shape.together;
      for (Extent k = 0; k < used; ++k) to[k] = operation(from[k], own[k]);
      // Channels that only fill a block up are zeros in every image.
      std::fill(to + used, to + shape.together, 0.F);
    });
  });
}

}  // namespace spdnn::plain
