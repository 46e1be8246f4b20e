#include "prune/samples.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace spdnn {

namespace {

/// Places of an image, ascending: all of them, or one at random from each of `wanted` equal parts.
std::vector<std::size_t> chosen_places(std::size_t all, std::size_t wanted, std::size_t image) {
  std::mt19937_64 random(image);
  wanted = std::min(all, wanted);
  std::vector<std::size_t> places(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t first = i * all / wanted;
    places[i] = first + random() % ((i + 1) * all / wanted - first);
  }
  return places;
}

/// Extents of images N x C x H x W, or N x C x W with H = 1.
struct Planes {
  Extent channels;
  Extent height;
  Extent width;
};

Planes planes_of(const Shape& shape) { return {shape[1], shape.size() == 3 ? 1 : shape[2], shape.back()}; }

/// The inputs of one filter at one place. `image` holds the planes of the group's channels.
void read_window(const Window& window, const Planes& in, const float* image, Extent channels, Extent row, Extent column,
                 float* to) {
  for (Extent c = 0; c < channels; ++c)
    for (Index r = 0; r < window.kernel[0]; ++r)
      for (Index s = 0; s < window.kernel[1]; ++s) {
        const Extent h = row * window.stride[0] + Extent{r} * window.dilation[0] - window.pad_begin[0];
        const Extent w = column * window.stride[1] + Extent{s} * window.dilation[1] - window.pad_begin[1];
        const bool inside = h >= 0 && h < in.height && w >= 0 && w < in.width;
        *to++ = inside ? image[(c * in.height + h) * in.width + w] : 0.0F;
      }
}

Samples of_convolution(const Convolution& convolution, const Tensor& read, const Tensor& made, Index group,
                       std::size_t per_image, std::size_t first_image) {
  const LayerExtents layer = layer_extents(convolution);
  const Planes in = planes_of(read.shape);
  const Planes out = planes_of(made.shape);
  const Extent channels = layer.cols / layer.taps;
  const Extent filters = layer.rows / layer.groups;
  const auto places_of_plane = static_cast<std::size_t>(out.height * out.width);
  Samples samples;
  for (Extent n = 0; n < read.shape[0]; ++n) {
    const float* const image = read.values.data() + (n * in.channels + Extent{group} * channels) * in.height * in.width;
    const float* const wanted =
        made.values.data() + (n * out.channels + Extent{group} * filters) * out.height * out.width;
    for (const std::size_t place : chosen_places(places_of_plane, per_image, first_image + n)) {
      samples.inputs.resize(samples.inputs.size() + layer.cols);
      read_window(convolution.window, in, image, channels, static_cast<Extent>(place) / out.width,
                  static_cast<Extent>(place) % out.width, samples.inputs.data() + samples.inputs.size() - layer.cols);
      for (Extent k = 0; k < filters; ++k)
        samples.targets.push_back(wanted[k * out.height * out.width + static_cast<Extent>(place)]);
      ++samples.count;
    }
  }
  return samples;
}

/// The rows of the last axis are the samples.
Samples of_linear(const Linear& linear, const Tensor& read, const Tensor& made, std::size_t per_image,
                  std::size_t first_image) {
  const std::size_t cols = linear.weights.cols();
  const std::size_t rows = linear.weights.rows();
  const std::size_t all = places_of_image(linear, made.shape);
  Samples samples;
  for (Extent n = 0; n < read.shape[0]; ++n)
    for (const std::size_t place : chosen_places(all, per_image, first_image + n)) {
      const std::size_t row = n * all + place;
      samples.inputs.insert(samples.inputs.end(), read.values.begin() + row * cols,
                            read.values.begin() + (row + 1) * cols);
      samples.targets.insert(samples.targets.end(), made.values.begin() + row * rows,
                             made.values.begin() + (row + 1) * rows);
      ++samples.count;
    }
  return samples;
}

}  // namespace

LayerExtents layer_extents(const Operation& operation) {
  const Weights& weights = *weights_or_null(operation);
  LayerExtents layer{.rows = weights.rows(), .cols = weights.cols()};
  if (const auto* const convolution = std::get_if<Convolution>(&operation)) {
    layer.taps = convolution->window.kernel[0] * convolution->window.kernel[1];
    layer.groups = convolution->groups;
  }
  return layer;
}

std::size_t places_of_image(const Operation& operation, const Shape& made) {
  std::size_t places = 1;
  for (std::size_t axis = 1; axis < made.size(); ++axis) places *= static_cast<std::size_t>(made[axis]);
  return places / std::max<Index>(weights_or_null(operation)->rows(), 1);
}

Samples samples_of(const Operation& operation, const Tensor& read, const Tensor& made, Index group,
                   std::size_t per_image, std::size_t first_image) {
  if (const auto* const convolution = std::get_if<Convolution>(&operation))
    return of_convolution(*convolution, read, made, group, per_image, first_image);
  return of_linear(std::get<Linear>(operation), read, made, per_image, first_image);
}

void ColumnSquares::add(const Samples& samples) {
  for (std::size_t i = 0; i < samples.inputs.size(); ++i)
    sums_[i % sums_.size()] += double{samples.inputs[i]} * samples.inputs[i];
  count_ += samples.count;
}

std::vector<float> ColumnSquares::roots() const {
  std::vector<float> roots;
  for (const double sum : sums_)
    roots.push_back(static_cast<float>(std::sqrt(sum / static_cast<double>(std::max<std::size_t>(count_, 1)))));
  return roots;
}

}  // namespace spdnn
