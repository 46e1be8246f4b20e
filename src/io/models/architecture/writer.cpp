#include "io/models/architecture/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/json_text.hpp"
#include "core/types/shape_json.hpp"
#include "io/models/architecture/names.hpp"
#include "io/models/unique_names.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr const char* kInput = "input";

/// Sets the fields of one node and collects its tensors.
class NodeWriter {
 public:
  NodeWriter(const Model& model, const Node& node, Json& json, std::vector<StoredTensor>& tensors)
      : input_(model.values[node.inputs[0]].shape),
        output_(model.values[node.output].shape),
        json_(json),
        name_(json["name"].get<std::string>()),
        tensors_(tensors) {}

  void operator()(const Convolution& convolution) {
    const std::array<Index, 2>& kernel = convolution.window.kernel;
    const auto channels = static_cast<Extent>(convolution.weights.cols() / (kernel[0] * kernel[1]));
    json_["op"] = "conv";
    json_["cin"] = channels * convolution.groups;
    Shape shape{convolution.weights.rows(), channels};
    if (dims() == 2) shape.push_back(kernel[0]);
    shape.push_back(kernel[1]);
    json_["cout"] = convolution.weights.rows();
    set_window(convolution.window);
    json_["groups"] = convolution.groups;
    add_weights(convolution.weights, shape, convolution.bias);
  }
  void operator()(const Linear& linear) {
    json_["op"] = "linear";
    json_["cin"] = linear.weights.cols();
    json_["cout"] = linear.weights.rows();
    add_weights(linear.weights, {linear.weights.rows(), linear.weights.cols()}, linear.bias);
  }
  void operator()(const BatchNorm& norm) {
    json_["op"] = "bn";
    json_["channels"] = norm.scale.size();
    json_["epsilon"] = norm.epsilon;
    add(".weight", norm.scale);
    add(".bias", norm.shift);
    add(".running_mean", norm.mean);
    add(".running_var", norm.variance);
  }
  void operator()(const Pool& pool) {
    json_["op"] = pool.kind == Pool::Kind::max ? "maxpool" : "avgpool";
    set_window(pool.window);
    json_["round_up"] = pool.round_up;
    if (pool.kind == Pool::Kind::average) json_["count_padding"] = pool.count_padding;
  }
  void operator()(const GlobalPool& pool) { json_["op"] = pool.kind == Pool::Kind::max ? "globalmax" : "avgpool"; }
  void operator()(const Activation& activation) {
    using Of = Activation::Kind;
    const Of kind = activation.kind;
    json_["op"] = kActivationOps.at(static_cast<std::size_t>(kind));
    if (kind == Of::clip && std::isfinite(activation.low)) json_["low"] = activation.low;
    if (kind == Of::clip && std::isfinite(activation.high)) json_["high"] = activation.high;
    if (kind == Of::leaky_relu || kind == Of::hard_sigmoid || kind == Of::elu) json_["alpha"] = activation.alpha;
    if (kind == Of::hard_sigmoid) json_["beta"] = activation.beta;
    if (kind != Of::prelu) return;
    json_["channels"] = activation.alphas.size();
    add(".weight", activation.alphas);
  }
  void operator()(const Elementwise& elementwise) {
    json_["op"] = kElementwiseOps.at(static_cast<std::size_t>(elementwise.kind));
  }
  void operator()(const MatMul& product) {
    json_["op"] = "matmul";
    json_["transposed"] = product.transposed;
  }
  void operator()(const Reduce& reduce) {
    json_["op"] = kReduceOps.at(static_cast<std::size_t>(reduce.kind));
    json_["axes"] = reduce.axes;
  }
  void operator()(const Concat& concat) {
    json_["op"] = "concat";
    json_["axis"] = concat.axis;
  }
  void operator()(const Softmax& softmax) {
    json_["op"] = "softmax";
    json_["axis"] = softmax.axis;
  }
  void operator()(const Reshape& reshape) {
    if (reshape.shape == output_ && output_.size() == 2 && !input_.empty() && output_[0] == input_[0]) {
      json_["op"] = "flatten";
      return;
    }
    json_["op"] = "reshape";
    json_["shape"] = shape_json(reshape.shape);
  }
  void operator()(const Transpose& transpose) {
    json_["op"] = "transpose";
    json_["order"] = transpose.order;
  }
  void operator()(const Pad& pad) {
    json_["op"] = "pad";
    json_["begin"] = pad.begin;
    json_["end"] = pad.end;
    json_["value"] = pad.value;
  }
  void operator()(const Resize& resize) {
    json_["op"] = "resize";
    json_["kind"] = kResizeKinds.at(static_cast<std::size_t>(resize.kind));
    json_["place"] = kResizePlaces.at(static_cast<std::size_t>(resize.place));
    json_["rounding"] = kResizeRoundings.at(static_cast<std::size_t>(resize.rounding));
    json_["size"] = resize.size;
    json_["scale"] = resize.scale;
  }

 private:
  Index dims() const { return input_.size() == 3 ? 1 : 2; }
  Json pair(const std::array<Index, 2>& both) const { return dims() == 1 ? Json(both[1]) : Json(both); }

  void set_window(const Window& window) {
    json_["dims"] = dims();
    json_["kernel"] = pair(window.kernel);
    json_["stride"] = pair(window.stride);
    json_["pad"] = pair(window.pad_begin);
    if (window.pad_end != window.pad_begin) json_["pad_end"] = pair(window.pad_end);
    json_["dilation"] = pair(window.dilation);
  }
  void add(const char* suffix, const std::vector<float>& values) {
    tensors_.push_back({name_ + suffix, {static_cast<Extent>(values.size())}, nullptr, values});
  }
  void add_weights(const Weights& weights, Shape shape, const std::vector<float>& bias) {
    tensors_.push_back({name_ + ".weight", std::move(shape), &weights, {}});
    json_["bias"] = !bias.empty();
    if (!bias.empty()) add(".bias", bias);
  }

  const Shape& input_;
  const Shape& output_;
  Json& json_;
  std::string name_;
  std::vector<StoredTensor>& tensors_;
};

class ArchitectureWriter {
 public:
  ArchitectureWriter(const Model& model, std::string place)
      : model_(model), place_(std::move(place)), names_(model.values.size()) {}

  Architecture write() {
    check();
    json_["name"] = model_.name;
    json_["input_shape"] = shape_json(model_.values[model_.inputs[0]].shape);
    names_[model_.inputs[0]] = taken_.take(kInput);
    nodes_ = Json::array();
    for (const Node& node : model_.nodes) {
      add_constants(node.output);
      for (const ValueId input : node.inputs) add_if_constant(input);
      add_node(node);
    }
    add_constants(static_cast<ValueId>(model_.values.size()));
    add_outputs();
    json_["nodes"] = std::move(nodes_);
    try {
      text_of(json_);
    } catch (const UnexpectedJson&) {
      fail("a name in it is not UTF-8");
    }
    made_.json = std::move(json_);
    return std::move(made_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw DataError(fmt::format("{}: cannot hold the model '{}': {}", place_, model_.name, problem));
  }

  void check() const {
    if (model_.inputs.size() != 1) fail(fmt::format("it has {} inputs, expected one", model_.inputs.size()));
    if (model_.outputs.empty()) fail("it has no output");
    const Shape& shape = model_.values[model_.inputs[0]].shape;
    if (shape.size() < 2 || shape.size() > 4)
      fail(fmt::format("its input has the shape {}, expected 2 to 4 axes", shape_text(shape)));
    for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
      const ValueId id = model_.outputs[i];
      const Value& output = model_.values[id];
      if (id == model_.inputs[0] || output.constant)
        fail(fmt::format("its output '{}' is not computed by a node", output.name));
      if (std::count(model_.outputs.begin(), model_.outputs.begin() + static_cast<std::ptrdiff_t>(i), id) > 0)
        fail(fmt::format("its output '{}' comes twice", output.name));
    }
    for (const Node& node : model_.nodes)
      if (node.inputs.empty()) fail(fmt::format("node '{}' has no inputs", node.name));
  }

  /// A single output is `output`, which older versions of the program read, too.
  void add_outputs() {
    if (model_.outputs.size() == 1) {
      json_["output"] = names_[model_.outputs[0]];
      return;
    }
    for (const ValueId output : model_.outputs) json_["outputs"].push_back(names_[output]);
    json_["output_names"] = output_names(model_);
  }

  /// Adds the constants with ids below `until`, which keeps values in the order of the file that the model came from.
  void add_constants(ValueId until) {
    for (; next_ < until; ++next_) add_if_constant(next_);
  }

  void add_if_constant(ValueId id) {
    const Value& value = model_.values[id];
    if (!value.constant || !names_[id].empty()) return;
    names_[id] = taken_.take(value.name);
    const Shape& shape = value.constant->shape;
    nodes_.push_back({{"op", "constant"}, {"name", names_[id]}, {"inputs", Json::array()}, {"shape", shape}});
    made_.tensors.push_back({names_[id] + ".value", shape, nullptr, value.constant->values.span()});
  }

  void add_node(const Node& node) {
    names_[node.output] = taken_.take(node.name.empty() ? model_.values[node.output].name : node.name);
    Json json{{"op", ""}, {"name", names_[node.output]}, {"inputs", Json::array()}};
    for (const ValueId input : node.inputs) json["inputs"].push_back(names_[input]);
    std::visit(NodeWriter(model_, node, json, made_.tensors), node.operation);
    nodes_.push_back(std::move(json));
  }

  const Model& model_;
  std::string place_;
  std::vector<std::string> names_;  ///< of values
  ValueId next_ = 0;                ///< constants with smaller ids have been written
  UniqueNames taken_;
  Json json_;
  Json nodes_;
  Architecture made_;
};

}  // namespace

std::string text_of(const Json& architecture) { return json_text(architecture, 1) + "\n"; }

Architecture architecture_of(const Model& model, const std::string& place) {
  return ArchitectureWriter(model, place).write();
}

}  // namespace spdnn
