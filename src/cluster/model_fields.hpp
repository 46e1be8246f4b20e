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
void fields(auto& archive, MaybeConst<Convolution> auto& c) { archive(c.weights, c.bias, c.groups, c.window); }
void fields(auto& archive, MaybeConst<Linear> auto& linear) { archive(linear.weights, linear.bias); }
void fields(auto& archive, MaybeConst<BatchNorm> auto& b) { archive(b.scale, b.shift, b.mean, b.variance, b.epsilon); }
void fields(auto& archive, MaybeConst<Pool> auto& p) { archive(p.kind, p.window, p.round_up, p.count_padding); }
void fields(auto& archive, MaybeConst<GlobalPool> auto& p) { archive(p.kind); }
void fields(auto& archive, MaybeConst<Activation> auto& a) {
  archive(a.kind, a.alpha, a.beta, a.low, a.high, a.alphas);
}
void fields(auto& archive, MaybeConst<Elementwise> auto& e) { archive(e.kind); }
void fields(auto& archive, MaybeConst<Concat> auto& c) { archive(c.axis); }
void fields(auto& archive, MaybeConst<Softmax> auto& s) { archive(s.axis); }
void fields(auto& archive, MaybeConst<Reshape> auto& r) { archive(r.shape); }
void fields(auto& archive, MaybeConst<Transpose> auto& t) { archive(t.order); }
void fields(auto& archive, MaybeConst<Pad> auto& p) { archive(p.begin, p.end, p.value); }
void fields(auto& archive, MaybeConst<Resize> auto& r) { archive(r.kind, r.place, r.rounding, r.size, r.scale); }

void fields(auto& archive, MaybeConst<Node> auto& node) {
  archive(node.name, node.operation, node.inputs, node.output);
}
void fields(auto& archive, MaybeConst<Value> auto& value) { archive(value.name, value.shape, value.constant); }
void fields(auto& archive, MaybeConst<Model> auto& model) {
  archive(model.name, model.values, model.nodes, model.inputs, model.outputs);
}

}  // namespace spdnn
