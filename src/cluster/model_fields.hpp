#pragma once

// Which parts models and tensors have, where ranks send them to one another; see parcel.hpp.

#include "cluster/fields.hpp"
#include "spdnn/model.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<Tensor> auto& tensor) { archive(tensor.shape, tensor.values); }

void fields(auto& archive, MaybeConst<Window> auto& w) {
  archive(w.kernel, w.stride, w.dilation, w.pad_begin, w.pad_end);
}
#define SPDNN_OPERATION(Type, ...)                               \
  void fields(auto& archive, MaybeConst<Type> auto& operation) { \
    auto& [__VA_ARGS__] = operation;                             \
    archive(__VA_ARGS__);                                        \
  }
#include "spdnn/operations.def"
#undef SPDNN_OPERATION

void fields(auto& archive, MaybeConst<Node> auto& node) {
  archive(node.name, node.operation, node.inputs, node.output);
}
void fields(auto& archive, MaybeConst<Value> auto& value) { archive(value.name, value.shape, value.constant); }
void fields(auto& archive, MaybeConst<Model> auto& model) {
  archive(model.name, model.values, model.nodes, model.inputs, model.outputs);
}

}  // namespace spdnn
