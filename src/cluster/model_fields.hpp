#pragma once

// Which parts models and tensors have, where ranks send them to one another; see parcel.hpp.

#include <utility>

#include "cluster/fields.hpp"
#include "spdnn/model.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<Tensor> auto& tensor) { archive(tensor.shape, tensor.values); }

void fields(auto& archive, MaybeConst<Window> auto& w) {
  archive(w.kernel, w.stride, w.dilation, w.pad_begin, w.pad_end);
}
void fields(auto& archive, MaybeConst<Values> auto& v) {
  archive(v.type, v.count, v.bytes, v.code_bits, v.codes, v.scales, v.zero_points);
}
void fields(auto& archive, MaybeConst<TypedMatrix> auto& m) {
  archive(m.rows, m.cols, m.pattern, m.taps, m.offsets, m.indices, m.places, m.order, m.values);
}
/// In the form that they have: each rank decodes its own.
void fields(auto& archive, const Weights& weights) {
  const bool typed = weights.typed() != nullptr;
  archive(typed);
  if (typed)
    archive(*weights.typed());
  else
    archive(weights.csr());
}
void fields(auto& archive, Weights& weights) {
  bool typed = false;
  archive(typed);
  const auto made = [&]<class Form>(Form form) {
    archive(form);
    return Weights(std::move(form));
  };
  weights = typed ? made(TypedMatrix()) : made(CsrMatrix());
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
void fields(auto& archive, MaybeConst<StoredProgram> auto& program) { archive(program.place, program.text); }
void fields(auto& archive, MaybeConst<StoredCode> auto& code) { archive(code.digest, code.bytes); }
void fields(auto& archive, MaybeConst<Model> auto& model) {
  archive(model.name, model.values, model.nodes, model.inputs, model.outputs, model.program, model.code);
}

}  // namespace spdnn
