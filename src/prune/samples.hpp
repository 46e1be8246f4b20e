#pragma once

#include <cstddef>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// A convolution or linear node as a matrix that is multiplied by the samples of its input.
struct LayerExtents {
  Index rows = 0;    ///< output channels
  Index cols = 0;    ///< weights of one, zeros included
  Index taps = 1;    ///< places of the kernel: a column is input x taps + tap
  Index groups = 1;  ///< of channels
};
/// Of a node with weights.
LayerExtents layer_extents(const Operation& operation);

/// The inputs of the filters of one group at some places, and their wanted outputs there, row-major: sample by sample.
struct Samples {
  std::size_t count = 0;
  std::vector<float> inputs;   ///< count x LayerExtents::cols
  std::vector<float> targets;  ///< count x (rows / groups)
};

/// At most `per_image` places of each image, at random but the same at each call for the same `first_image`, the number
/// of the tensors' first image. `read` is the node's input, `made` its wanted output.
Samples samples_of(const Operation& operation, const Tensor& read, const Tensor& made, Index group,
                   std::size_t per_image, std::size_t first_image);

/// How many places an image of the node's output has.
std::size_t places_of_image(const Operation& operation, const Shape& made);

/// The root mean square of each column of the inputs, added up over several calls of add().
class ColumnSquares {
 public:
  explicit ColumnSquares(Index columns) : sums_(columns) {}
  void add(const Samples& samples);
  std::vector<float> roots() const;

 private:
  std::vector<double> sums_;
  std::size_t count_ = 0;
};

}  // namespace spdnn
