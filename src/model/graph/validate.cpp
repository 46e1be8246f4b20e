// What a model must be so that everything behind the readers can trust it.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/all_finite.hpp"
#include "model/graph/node_text.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

namespace {

[[noreturn]] void invalid(const std::string& problem) { throw std::invalid_argument(problem); }

void require_finite(const std::vector<float>& values, const char* what) {
  if (!all_finite(values)) invalid(std::string(what) + " is not finite");
}

/// Columns of a row ascend and no stored value is zero, so that entries are the filter's non-zeros.
void require_filter_rows(const CsrMatrix& weights) {
  weights.validate();
  for (Index row = 0; row < weights.rows; ++row) {
    const auto columns = weights.row(row);
    if (!std::is_sorted(columns.begin(), columns.end(), std::less_equal<>{}))
      invalid("the columns of row " + std::to_string(row) + " of its weights do not ascend");
  }
  for (Offset k = 0; k < weights.entries(); ++k)
    if (weights.entry_value(k) == 0.0F) invalid("its weights store zeros");
}

void require_bias(const std::vector<float>& bias, const CsrMatrix& weights) {
  if (!bias.empty() && bias.size() != weights.rows)
    invalid("its bias has " + std::to_string(bias.size()) + " values for " + std::to_string(weights.rows) + " outputs");
  require_finite(bias, "its bias");
}

/// What an operation's arrays must be by themselves; what its inputs must be is output_shape()'s.
struct ArrayChecker {
  void operator()(const Convolution& convolution) const {
    const CsrMatrix& weights = convolution.weights;
    require_filter_rows(weights);
    require_bias(convolution.bias, weights);
    const Offset taps = Offset{convolution.window.kernel[0]} * convolution.window.kernel[1];
    if (taps == 0 || weights.cols % taps != 0) invalid("its filters do not have the size of its window");
    if (convolution.groups == 0 || weights.rows % convolution.groups != 0)
      invalid(std::to_string(weights.rows) + " filters do not divide into " + std::to_string(convolution.groups) +
              " groups");
  }
  void operator()(const Linear& linear) const {
    require_filter_rows(linear.weights);
    require_bias(linear.bias, linear.weights);
  }
  void operator()(const BatchNorm& norm) const {
    const std::size_t channels = norm.scale.size();
    if (norm.shift.size() != channels || norm.mean.size() != channels || norm.variance.size() != channels)
      invalid("its scale, shift, mean and variance differ in length");
    require_finite(norm.scale, "its scale");
    require_finite(norm.shift, "its shift");
    require_finite(norm.mean, "its mean");
    require_finite(norm.variance, "its variance");
    const auto positive = [&](float variance) { return double{variance} + double{norm.epsilon} > 0; };
    if (!std::isfinite(norm.epsilon) || !std::all_of(norm.variance.begin(), norm.variance.end(), positive))
      invalid("its variance and epsilon must add up to more than zero");
  }
  void operator()(const Activation& activation) const {
    require_finite({activation.alpha, activation.beta}, "its parameter");
    require_finite(activation.alphas, "its slope");
    if (activation.kind == Activation::Kind::clip && !(activation.low <= activation.high))
      invalid("its lower limit exceeds its upper one");
    if (activation.kind == Activation::Kind::prelu && activation.alphas.empty()) invalid("it has no slopes");
  }
  void operator()(const Pad& pad) const { require_finite({pad.value}, "its value"); }
  void operator()(const Resize& resize) const {
    for (const float scale : resize.scale)
      if (!std::isnormal(scale) || scale < 0) invalid("its scale must be a positive number");
  }
  template <class Other>
  void operator()(const Other&) const {}
};

/// Which values exist, and that each is made once and before it is read.
void require_graph(const Model& model) {
  const std::size_t count = model.values.size();
  if (count > kMaxIndex) invalid("more than 2^31-1 values");
  const auto text = [&](ValueId id) {
    if (id >= count) invalid("value " + std::to_string(id) + " does not exist");
    return "value \"" + model.values[id].name + "\"";
  };
  std::vector<bool> made(count);
  const auto make = [&](ValueId id) {
    const std::string name = text(id);
    if (made[id]) invalid(name + " is made more than once");
    made[id] = true;
  };
  for (ValueId id = 0; id < count; ++id)
    if (model.values[id].constant) make(id);
  for (const ValueId id : model.inputs) make(id);
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[n];
    for (const ValueId id : node.inputs) {
      const std::string name = text(id);
      if (!made[id]) invalid(node_text(model, n) + " reads " + name + " before it is made");
    }
    make(node.output);
  }
  for (const ValueId id : model.outputs) {
    const std::string name = text(id);
    if (!made[id]) invalid("the output " + name + " is never made");
  }
}

void require_constants(const Model& model) {
  for (const Value& value : model.values) {
    if (!value.constant) continue;
    if (elements(value.constant->shape) != value.constant->values.size())
      invalid("constant \"" + value.name + "\" has " + std::to_string(value.constant->values.size()) +
              " values for its shape " + shape_text(value.constant->shape));
    if (!all_finite(value.constant->values)) invalid("constant \"" + value.name + "\" has a value that is not finite");
  }
}

/// Shapes that are there are those that infer_shapes() finds.
void require_shapes(const Model& model) {
  std::vector<Shape> shapes;
  for (const Value& value : model.values) shapes.push_back(value.constant ? value.constant->shape : value.shape);
  for (const ValueId id : model.inputs)
    if (!elements(with_batch(shapes[id], 1))) invalid("an input cannot be " + shape_text(shapes[id]));
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[n];
    std::vector<Shape> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(shapes[id]);
    try {
      const Shape shape = output_shape(node.operation, inputs);
      if (!shapes[node.output].empty() && shapes[node.output] != shape)
        invalid(node_text(model, n) + ": makes " + shape_text(shape) + ", not " + shape_text(shapes[node.output]));
      shapes[node.output] = shape;
    } catch (const UsageError& error) {
      invalid(node_text(model, n) + ": " + error.what());
    }
  }
}

}  // namespace

void Model::validate() const {
  require_graph(*this);
  require_constants(*this);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    try {
      std::visit(ArrayChecker{}, nodes[n].operation);
    } catch (const std::invalid_argument& error) {
      invalid(node_text(*this, n) + ": " + error.what());
    }
  }
  require_shapes(*this);
}

}  // namespace spdnn
