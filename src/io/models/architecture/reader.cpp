// The graph of a model as JSON. Weight names and layouts follow PyTorch: `NODE.weight` is output channels x input
// channels per group x window, `NODE.bias` one number per output.

#include "io/models/architecture/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/text/json_text.hpp"
#include "io/models/add_node.hpp"
#include "io/models/architecture/names.hpp"
#include "io/models/architecture/operation.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::array<std::string_view, 11> kFields{"output_names", "name",    "input",      "input_shape",
                                                   "output",       "outputs", "classes",    "bn_epsilon",
                                                   "nodes",        "note",    kWeightsField};

class ArchitectureReader {
 public:
  ArchitectureReader(const StoredWeights& weights, std::string place, const Json& json)
      : weights_(weights), place_(std::move(place)), json_(json) {}

  Model read() {
    for (const auto& [field, value] : json_.items())
      if (std::find(kFields.begin(), kFields.end(), field) == kFields.end())
        fail(fmt::format("field '{}' is not understood", field));
    if (json_.contains(kWeightsField)) check_weights();
    model_.name = json_.contains("name") ? text("name") : std::string();
    epsilon_ = epsilon();
    const ValueId input = add_value("input", input_shape());
    model_.inputs.push_back(input);
    const Json& nodes = at("nodes");
    if (!nodes.is_array() || nodes.empty()) fail(fmt::format("nodes {}, expected a list of nodes", shown(nodes)));
    for (std::size_t i = 0; i < nodes.size(); ++i) add_node(ArchitectureNode(place_, i + 1, nodes[i]));
    read_outputs();
    try {
      model_.validate();
    } catch (const std::invalid_argument& unsound) {
      fail(unsound.what());
    }
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(place_ + ": " + problem); }
  const Json& at(const char* field) const {
    if (!json_.contains(field)) fail(fmt::format("has no field '{}'", field));
    return json_[field];
  }
  std::string text(const char* field) const {
    const Json& value = at(field);
    if (!value.is_string()) fail(fmt::format("{} {}, expected a text", field, shown(value)));
    return value.get<std::string>();
  }

  /// Compares the weights with the digest in the architecture, if it has one.
  void check_weights() const {
    const Json& stated = json_[kWeightsField];
    const auto is_text = [&](const char* field) { return stated.contains(field) && stated[field].is_string(); };
    if (!stated.is_object() || stated.size() != 2 || !is_text(kFileField) || !is_text(kDigestField))
      fail(fmt::format("{} {}, expected an object of {} and {}", kWeightsField, shown(stated), kFileField,
                       kDigestField));
    if (stated[kDigestField] != weights_.digest())
      fail(
          fmt::format("it was written with weights other than those in {}: one of the two was changed, or a writer was "
                      "stopped between them; write the model again, or remove the field {}",
                      weights_.name(), kWeightsField));
  }

  float epsilon() const {
    constexpr float kUsual = 1e-5F;
    if (!json_.contains("bn_epsilon")) return kUsual;
    const Json& value = json_["bn_epsilon"];
    if (!value.is_number() || !(value.get<float>() > 0) || !(value.get<float>() < 1))
      fail(fmt::format("bn_epsilon {}, expected a number between 0 and 1", shown(value)));
    return value.get<float>();
  }

  Shape input_shape() const {
    const Json& json = at("input_shape");
    const auto is_extent = [&](const Json& extent) {
      if (&extent == &json.front() && extent == "N") return true;
      return extent.is_number_unsigned() && extent.get<std::uint64_t>() > 0 && extent.get<std::uint64_t>() <= kMaxIndex;
    };
    if (!json.is_array() || json.size() < 2 || json.size() > 4 || !std::all_of(json.begin(), json.end(), is_extent))
      fail(fmt::format("input_shape {}, expected a list such as [\"N\", channels, height, width]", shown(json)));
    Shape shape;
    for (const Json& extent : json) shape.push_back(extent.is_string() ? kBatchExtent : extent.get<Extent>());
    return shape;
  }

  /// Names the next value of the model.
  void name_value(const std::string& name) {
    if (!ids_.emplace(name, static_cast<ValueId>(model_.values.size())).second)
      fail(fmt::format("more than one node is called '{}'", name));
  }
  ValueId add_value(const std::string& name, Shape shape) {
    name_value(name);
    model_.values.push_back({name, std::move(shape), std::nullopt});
    return static_cast<ValueId>(model_.values.size() - 1);
  }

  void add_node(ArchitectureNode node) {
    if (node.op() == "constant") return add_constant(node);
    std::vector<ValueId> inputs;
    std::vector<Shape> shapes;
    for (const std::string& name : node.inputs()) {
      const auto found = ids_.find(name);
      if (found == ids_.end()) node.fail(fmt::format("input '{}' is not the output of an earlier node", name));
      inputs.push_back(found->second);
      shapes.push_back(model_.values[found->second].shape);
    }
    if (inputs.empty()) node.fail("has no inputs");
    Operation operation = operation_of(node, shapes);
    node.check_all_asked();
    name_value(node.name());
    spdnn::add_node(model_, node.place(), node.name(), node.name(), std::move(operation), std::move(inputs));
  }

  void add_constant(ArchitectureNode& node) {
    if (!node.inputs().empty()) node.fail("a constant has no inputs");
    const Shape shape = node.extents("shape");
    node.check_all_asked();
    const ValueId value = add_value(node.name(), shape);
    model_.values[value].constant = Tensor{shape, weights_.numbers(node, node.name() + ".value", shape)};
  }

  std::vector<std::string> output_names() const {
    if (!json_.contains("outputs")) return {json_.contains("output") ? text("output") : model_.nodes.back().name};
    if (json_.contains("output")) fail("has both output and outputs");
    return texts("outputs");
  }

  std::vector<std::string> texts(const char* field) const {
    const Json& names = at(field);
    const auto is_text = [](const Json& name) { return name.is_string(); };
    if (!names.is_array() || names.empty() || !std::all_of(names.begin(), names.end(), is_text))
      fail(fmt::format("{} {}, expected a list of names", field, shown(names)));
    return names.get<std::vector<std::string>>();
  }

  /// Outputs may have other names than the nodes that make them.
  void name_outputs() {
    if (!json_.contains("output_names")) return;
    const std::vector<std::string> names = texts("output_names");
    if (names.size() != model_.outputs.size())
      fail(fmt::format("{} output_names, expected {}", names.size(), model_.outputs.size()));
    for (std::size_t i = 0; i < names.size(); ++i) model_.values[model_.outputs[i]].name = names[i];
  }

  void read_outputs() {
    if (model_.nodes.empty()) fail("has no nodes but constants");
    for (const std::string& output : output_names()) {
      const auto found = ids_.find(output);
      const bool made = found != ids_.end() && output != "input" && !model_.values[found->second].constant;
      if (!made) fail(fmt::format("output '{}' is not the name of a node", output));
      if (std::find(model_.outputs.begin(), model_.outputs.end(), found->second) != model_.outputs.end())
        fail(fmt::format("output '{}' is named twice", output));
      model_.outputs.push_back(found->second);
    }
    name_outputs();
    if (!json_.contains("classes")) return;
    const Shape& shape = model_.values[model_.outputs.front()].shape;
    if (json_["classes"] != shape.back())
      fail(fmt::format("classes {}, but the output is {}", shown(json_["classes"]), shape_text(shape)));
  }

  Operation operation_of(ArchitectureNode& node, const std::vector<Shape>& inputs) {
    const std::string& op = node.op();
    if (op == "conv") return convolution(node);
    if (op == "linear") return linear(node);
    if (op == "bn") return batch_norm(node);
    if (op == "prelu") return prelu(node);
    if (const auto operation = weightless_operation(node, inputs)) return *operation;
    node.fail(fmt::format(
        "op '{}', expected one of conv, linear, bn, maxpool, avgpool, globalmax, matmul, concat, softmax, "
        "flatten, reshape, transpose, pad, resize, constant, relu6, {}, {}, {}",
        op, fmt::join(kActivationOps, ", "), fmt::join(kElementwiseOps, ", "), fmt::join(kReduceOps, ", ")));
  }

  Operation convolution(ArchitectureNode& node) const {
    const Index dims = dims_of(node, 2);
    const Index channels = node.count("cin", 1);
    const Index filters = node.count("cout", 1);
    Convolution made;
    made.groups = node.count("groups", 1, 1);
    if (channels % made.groups != 0 || filters % made.groups != 0)
      node.fail(fmt::format("{} groups do not divide {} input and {} output channels", made.groups, channels, filters));
    made.window.kernel = node.pair("kernel", dims, 1, 1);
    made.window.stride = node.pair("stride", dims, 1, 1, 1);
    made.window.dilation = node.pair("dilation", dims, 1, 1, 1);
    read_padding(node, dims, made.window);
    Shape shape{filters, channels / made.groups};
    if (dims == 2) shape.push_back(made.window.kernel[0]);
    shape.push_back(made.window.kernel[1]);
    made.weights = weights(node, shape);
    made.bias = bias(node, filters);
    return made;
  }

  Operation linear(ArchitectureNode& node) const {
    const Index inputs = node.count("cin", 1);
    const Index outputs = node.count("cout", 1);
    return Linear{.weights = weights(node, {outputs, inputs}), .bias = bias(node, outputs)};
  }

  Operation batch_norm(ArchitectureNode& node) const {
    const Shape shape{node.count("channels", 1)};
    BatchNorm made;
    made.epsilon = node.number("epsilon", epsilon_);
    made.scale = numbers(node, ".weight", shape);
    made.shift = numbers(node, ".bias", shape);
    made.mean = numbers(node, ".running_mean", shape);
    made.variance = numbers(node, ".running_var", shape);
    if (std::any_of(made.variance.begin(), made.variance.end(), [&](float v) { return !(v + made.epsilon > 0); }))
      node.fail("a variance plus epsilon is not positive");
    return made;
  }

  Operation prelu(ArchitectureNode& node) const {
    return Activation{.kind = Activation::Kind::prelu, .alphas = numbers(node, ".weight", {node.count("channels", 1)})};
  }

  std::vector<float> numbers(const ArchitectureNode& node, const char* suffix, const Shape& shape) const {
    const Array<float> values = weights_.numbers(node, node.name() + suffix, shape);
    return {values.begin(), values.end()};
  }
  Weights weights(const ArchitectureNode& node, const Shape& shape) const {
    return weights_.weights(node, node.name() + ".weight", shape);
  }
  std::vector<float> bias(ArchitectureNode& node, Index outputs) const {
    return node.truth("bias", true) ? numbers(node, ".bias", {outputs}) : std::vector<float>{};
  }

  const StoredWeights& weights_;
  std::string place_;
  const Json& json_;
  Model model_;
  std::map<std::string, ValueId> ids_;
  float epsilon_ = 0;
};

/// Formats a position in a text as `file:line:column`.
std::string place_in(const std::string& place, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t last = before.rfind('\n');
  return fmt::format("{}:{}:{}", place, line, at - (last == std::string_view::npos ? 0 : last + 1) + 1);
}

}  // namespace

Model read_architecture(const StoredWeights& weights, const std::string& place, std::string_view text) {
  Json json;
  try {
    json = parse_strict_json(text);
  } catch (const JsonProblem& problem) {
    throw DataError(place_in(place, text, problem.at) + ": " + problem.message);
  }
  if (!json.is_object()) throw DataError(fmt::format("{}: {}, expected an object", place, shown(json)));
  return ArchitectureReader(weights, place, json).read();
}

}  // namespace spdnn
