#include "io/models/architecture/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "io/models/architecture/names.hpp"

namespace spdnn {

namespace {

using Kind = Activation::Kind;

Operation pool(ArchitectureNode& node, const Shape& input) {
  const Index dims = dims_of(node, input.size() == 3 ? 1 : 2);
  Pool made{.kind = node.op() == "maxpool" ? Pool::Kind::max : Pool::Kind::average};
  made.window.kernel = node.pair("kernel", dims, 1, 1);
  made.window.stride = node.has("stride") ? node.pair("stride", dims, 1, 1) : made.window.kernel;
  made.window.dilation = node.pair("dilation", dims, 1, 1, 1);
  read_padding(node, dims, made.window);
  made.round_up = node.truth("round_up", false);
  if (made.kind == Pool::Kind::average) made.count_padding = node.truth("count_padding", false);
  return made;
}

Operation flatten(const ArchitectureNode& node, const Shape& input) {
  if (input.empty()) node.fail("takes no scalar");
  Shape of_image = input;
  of_image[0] = 1;
  const std::optional<Offset> count = elements(of_image);
  if (!count || *count > kMaxIndex) node.fail(fmt::format("more than 2^31-1 elements in {}", shape_text(input)));
  return Reshape{{input[0], static_cast<Extent>(*count)}};
}

std::vector<Index> indices(ArchitectureNode& node, const char* field) {
  std::vector<Index> made;
  for (const Extent axis : node.extents(field)) made.push_back(static_cast<Index>(axis));
  return made;
}

Operation pad(ArchitectureNode& node) {
  return Pad{node.offsets("begin"), node.offsets("end"), node.number("value", 0.F)};
}

Operation resize(ArchitectureNode& node) {
  Resize made{.kind = static_cast<Resize::Kind>(node.choice("kind", kResizeKinds)),
              .place = static_cast<Resize::Place>(node.choice("place", kResizePlaces)),
              .rounding = static_cast<Resize::Rounding>(node.choice("rounding", kResizeRoundings))};
  const std::array<Index, 2> size = node.pair("size", 2, 1, 1);
  made.size = {size[0], size[1]};
  made.scale = node.two_numbers("scale");
  return made;
}

/// The kind whose op that is.
template <class KindOfOps, std::size_t count>
std::optional<KindOfOps> index_of(const std::array<std::string_view, count>& ops, std::string_view op) {
  const auto found = std::find(ops.begin(), ops.end(), op);
  if (found == ops.end()) return std::nullopt;
  return static_cast<KindOfOps>(found - ops.begin());
}

std::optional<Operation> activation_of(ArchitectureNode& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kHighOfRelu6 = 6;
  const std::string& op = node.op();
  if (op == "relu6") return Activation{.kind = Kind::clip, .high = kHighOfRelu6};
  const auto kind = index_of<Kind>(kActivationOps, op);
  if (!kind || kind == Kind::prelu) return std::nullopt;  // prelu has slopes
  if (kind == Kind::clip)
    return Activation{
        .kind = Kind::clip, .low = node.number("low", -kInfinity), .high = node.number("high", kInfinity)};
  Activation made{.kind = *kind};
  if (kind == Kind::leaky_relu || kind == Kind::hard_sigmoid || kind == Kind::elu) made.alpha = node.number("alpha");
  if (kind == Kind::hard_sigmoid) made.beta = node.number("beta");
  return made;
}

}  // namespace

Index dims_of(ArchitectureNode& node, Index otherwise) {
  const Index dims = node.count("dims", 1, otherwise);
  if (dims > 2) node.fail(fmt::format("dims {}, expected 1 or 2", dims));
  return dims;
}

void read_padding(ArchitectureNode& node, Index dims, Window& window) {
  window.pad_begin = window.pad_end = node.pair("pad", dims, 0, 0, 0);
  if (node.has("pad_end")) window.pad_end = node.pair("pad_end", dims, 0, 0);
}

std::optional<Operation> weightless_operation(ArchitectureNode& node, const std::vector<Shape>& inputs) {
  const std::string& op = node.op();
  if (op == "maxpool" || (op == "avgpool" && node.has("kernel"))) return pool(node, inputs[0]);
  if (op == "avgpool") return GlobalPool{Pool::Kind::average};
  if (op == "globalmax") return GlobalPool{Pool::Kind::max};
  if (const auto kind = index_of<Elementwise::Kind>(kElementwiseOps, op)) return Elementwise{*kind};
  if (const auto kind = index_of<Reduce::Kind>(kReduceOps, op)) return Reduce{*kind, indices(node, "axes")};
  if (op == "matmul") return MatMul{node.truth("transposed", false)};
  if (op == "concat") return Concat{node.count("axis", 0, 1)};
  if (op == "softmax") return Softmax{node.count("axis", 0, 1)};
  if (op == "flatten") return flatten(node, inputs[0]);
  if (op == "reshape") return Reshape{node.extents("shape", true)};
  if (op == "transpose") return Transpose{indices(node, "order")};
  if (op == "pad") return pad(node);
  if (op == "resize") return resize(node);
  return activation_of(node);
}

}  // namespace spdnn
