#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/counter_random.hpp"
#include "data/model_families.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Builds a model node by node, with random weights. The options give the sparsity of each layer by its index among
/// convolutions and linear nodes.
class ModelMaker {
 public:
  /// A model with an input of any number of images of this shape: C, H, W.
  ModelMaker(const ModelFamilyOptions& options, std::string name, const Shape& image);

  ValueId input() const { return model_.inputs.front(); }
  const Shape& shape(ValueId value) const { return model_.values[value].shape; }
  Index channels(ValueId value) const { return static_cast<Index>(shape(value)[1]); }

  ValueId add(const std::string& name, Operation operation, const std::vector<ValueId>& inputs);
  ValueId constant(const std::string& name, const Shape& shape, double low, double high);
  /// A filter for each output channel, with or without bias.
  ValueId convolution(const std::string& name, ValueId x, Index filters, const Window& window, Index groups = 1,
                      bool with_bias = false);
  ValueId linear(const std::string& name, ValueId x, Index outputs);
  /// A batch norm that keeps the size of its inputs up to a factor of `scale`.
  ValueId batch_norm(const std::string& name, ValueId x, double scale = 1);
  ValueId activation(const std::string& name, ValueId x, Activation::Kind kind, float alpha = 0, float beta = 0);
  ValueId relu(const std::string& name, ValueId x) { return activation(name, x, Activation::Kind::relu); }
  ValueId flatten(const std::string& name, ValueId x);
  /// Numbers uniform between the limits.
  std::vector<float> numbers(std::size_t count, double low, double high);

  /// Random numbers that vary the shape of the model.
  RandomStream stream() const;

  /// The finished model with this output. UsageError if the options list sparsities for another number of layers.
  Model take(ValueId output);

 private:
  double sparsity(bool dense_unless_asked) const;
  CsrMatrix weights(const std::string& name, Offset rows, Offset cols, bool dense_unless_asked);

  const ModelFamilyOptions& options_;
  Model model_;
  std::uint64_t layers_ = 0;  ///< layers with weights so far
  std::uint64_t lists_ = 0;   ///< lists of other numbers so far
};

/// A square window; its padding keeps H and W if the stride is 1 and the kernel odd.
Window square_window(Index kernel, Index stride = 1);

}  // namespace spdnn
