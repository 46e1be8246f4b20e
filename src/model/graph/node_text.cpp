#include "model/graph/node_text.hpp"

namespace spdnn {

namespace {

struct OperationName {
  std::string_view operator()(const Convolution&) const { return "convolution"; }
  std::string_view operator()(const Linear&) const { return "linear"; }
  std::string_view operator()(const BatchNorm&) const { return "batch norm"; }
  std::string_view operator()(const Pool& pool) const {
    return pool.kind == Pool::Kind::max ? "max pool" : "average pool";
  }
  std::string_view operator()(const GlobalPool& pool) const {
    return pool.kind == Pool::Kind::max ? "global max pool" : "global average pool";
  }
  std::string_view operator()(const Activation& activation) const {
    switch (activation.kind) {
      case Activation::Kind::relu:
        return "relu";
      case Activation::Kind::clip:
        return "clip";
      case Activation::Kind::leaky_relu:
        return "leaky relu";
      case Activation::Kind::prelu:
        return "prelu";
      case Activation::Kind::sigmoid:
        return "sigmoid";
      case Activation::Kind::tanh:
        return "tanh";
      case Activation::Kind::hard_sigmoid:
        return "hard sigmoid";
      case Activation::Kind::hard_swish:
        return "hard swish";
      case Activation::Kind::identity:
        break;
    }
    return "identity";
  }
  std::string_view operator()(const Elementwise& elementwise) const {
    switch (elementwise.kind) {
      case Elementwise::Kind::add:
        return "add";
      case Elementwise::Kind::subtract:
        return "subtract";
      case Elementwise::Kind::multiply:
        return "multiply";
      case Elementwise::Kind::divide:
        break;
    }
    return "divide";
  }
  std::string_view operator()(const Concat&) const { return "concat"; }
  std::string_view operator()(const Softmax&) const { return "softmax"; }
  std::string_view operator()(const Reshape&) const { return "reshape"; }
  std::string_view operator()(const Transpose&) const { return "transpose"; }
  std::string_view operator()(const Pad&) const { return "pad"; }
  std::string_view operator()(const Resize&) const { return "resize"; }
};

}  // namespace

std::string_view operation_name(const Operation& operation) { return std::visit(OperationName{}, operation); }

std::string node_text(const Model& model, std::size_t node) {
  std::string text = "node " + std::to_string(node + 1);
  if (!model.nodes[node].name.empty()) text += " \"" + model.nodes[node].name + "\"";
  return text + " (" + std::string(operation_name(model.nodes[node].operation)) + ")";
}

}  // namespace spdnn
