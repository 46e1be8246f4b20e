// Writes each operation as ONNX operators.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "io/models/onnx/write/graph.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::onnx_writer {

namespace {

using Numbers = std::vector<std::int64_t>;

void set(onnx::NodeProto& node, const char* name, std::int64_t number) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(number);
}
void set(onnx::NodeProto& node, const char* name, float number) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(number);
}
void set(onnx::NodeProto& node, const char* name, const char* text) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(text);
}
void set(onnx::NodeProto& node, const char* name, const Numbers& numbers) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t number : numbers) attribute.add_ints(number);
}

class NodeWriter {
 public:
  NodeWriter(GraphWriter& graph, const Node& node, const std::string& name)
      : graph_(graph), node_(node), name_(name), output_(graph.name(node.output)) {
    for (const ValueId input : node.inputs) inputs_.push_back(graph.name(input));
  }

  void operator()(const Convolution& convolution) {
    const Window& window = convolution.window;
    const Extent filters = convolution.weights.rows();
    Shape shape{filters, static_cast<Extent>(convolution.weights.cols() / (window.kernel[0] * window.kernel[1]))};
    for (const Extent length : per_axis(window.kernel)) shape.push_back(length);
    inputs_.push_back(graph_.add_weights(name_ + ".weight", shape, convolution.weights, false));
    if (!convolution.bias.empty()) inputs_.push_back(graph_.add_floats(name_ + ".bias", {filters}, convolution.bias));
    onnx::NodeProto& node = add("Conv");
    set_window(node, window);
    set(node, "dilations", per_axis(window.dilation));
    set(node, "group", std::int64_t{convolution.groups});
  }

  void operator()(const Linear& linear) {
    const Shape bias{linear.weights.rows()};
    const Shape& x = input_shape();
    if (x.size() < 2)
      graph_.fail(fmt::format("node '{}' is linear on an input of {}, expected two axes", name_, shape_text(x)));
    if (x.size() == 2) {
      const Shape shape{linear.weights.rows(), linear.weights.cols()};
      inputs_.push_back(graph_.add_weights(name_ + ".weight", shape, linear.weights, false));
      if (!linear.bias.empty()) inputs_.push_back(graph_.add_floats(name_ + ".bias", bias, linear.bias));
      return set(add("Gemm"), "transB", std::int64_t{1});
    }
    const Shape shape{linear.weights.cols(), linear.weights.rows()};
    inputs_.push_back(graph_.add_weights(name_ + ".weight", shape, linear.weights, true));
    if (linear.bias.empty()) {
      add("MatMul");
      return;
    }
    const std::string product = graph_.new_name(name_ + ".product");
    add_before(".product", "MatMul", inputs_, product);
    inputs_ = {product, graph_.add_floats(name_ + ".bias", bias, linear.bias)};
    add("Add");
  }

  void operator()(const BatchNorm& norm) {
    const Shape channels{static_cast<Extent>(norm.scale.size())};
    inputs_.push_back(graph_.add_floats(name_ + ".weight", channels, norm.scale));
    inputs_.push_back(graph_.add_floats(name_ + ".bias", channels, norm.shift));
    inputs_.push_back(graph_.add_floats(name_ + ".running_mean", channels, norm.mean));
    inputs_.push_back(graph_.add_floats(name_ + ".running_var", channels, norm.variance));
    set(add("BatchNormalization"), "epsilon", norm.epsilon);
  }

  void operator()(const Pool& pool) {
    const bool maximum = pool.kind == Pool::Kind::max;
    onnx::NodeProto& node = add(maximum ? "MaxPool" : "AveragePool");
    set_window(node, pool.window);
    const Numbers dilations = per_axis(pool.window.dilation);
    if (maximum || std::any_of(dilations.begin(), dilations.end(), [](std::int64_t one) { return one != 1; })) {
      set(node, "dilations", dilations);
      if (!maximum) graph_.need_opset(19);
    }
    set(node, "ceil_mode", std::int64_t{rounds_up(pool)});
    if (!maximum) set(node, "count_include_pad", std::int64_t{pool.count_padding});
  }

  void operator()(const GlobalPool& pool) { add(pool.kind == Pool::Kind::max ? "GlobalMaxPool" : "GlobalAveragePool"); }

  void operator()(const Activation& activation) {
    using Kind = Activation::Kind;
    static constexpr std::array kOps{
#define SPDNN_ACTIVATION(kind, name, architecture, op) op,
#include "spdnn/activations.def"
#undef SPDNN_ACTIVATION
    };
    const Kind kind = activation.kind;
    if (kind == Kind::clip) add_bounds(activation);
    if (kind == Kind::prelu) add_slopes(activation.alphas);
    onnx::NodeProto& node = add(kOps.at(static_cast<std::size_t>(kind)));
    if (kind == Kind::leaky_relu || kind == Kind::hard_sigmoid || kind == Kind::elu)
      set(node, "alpha", activation.alpha);
    if (kind == Kind::hard_sigmoid) set(node, "beta", activation.beta);
  }

  void operator()(const Elementwise& elementwise) {
    static constexpr std::array<const char*, 7> kOps{"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"};
    add(kOps.at(static_cast<std::size_t>(elementwise.kind)));
  }
  void operator()(const MatMul& product) {
    if (product.transposed) {
      const std::string turned = graph_.new_name(name_ + ".transposed");
      Numbers order(graph_.shape(node_.inputs[1]).size());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      set(add_before(".transposed", "Transpose", {inputs_[1]}, turned), "perm", order);
      inputs_[1] = turned;
    }
    add("MatMul");
  }
  void operator()(const Reduce& reduce) {
    static constexpr std::array<const char*, 4> kOps{"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"};
    const Numbers axes(reduce.axes.begin(), reduce.axes.end());
    if (reduce.kind == Reduce::Kind::sum) inputs_.push_back(graph_.add_ints(name_ + ".axes", axes));
    onnx::NodeProto& node = add(kOps.at(static_cast<std::size_t>(reduce.kind)));
    if (reduce.kind != Reduce::Kind::sum) set(node, "axes", axes);
    set(node, "keepdims", std::int64_t{1});
  }
  void operator()(const Concat& concat) { set(add("Concat"), "axis", std::int64_t{concat.axis}); }
  void operator()(const Softmax& softmax) { set(add("Softmax"), "axis", std::int64_t{softmax.axis}); }

  /// In ONNX's list, 0 stands for the input's length on that axis, and -1 for the remaining length.
  void operator()(const Reshape& reshape) {
    Numbers lengths(reshape.shape.begin(), reshape.shape.end());
    if (!lengths.empty() && lengths[0] == kBatchExtent && input_shape()[0] == kBatchExtent) lengths[0] = 0;
    inputs_.push_back(graph_.add_ints(name_ + ".shape", lengths));
    add("Reshape");
  }

  void operator()(const Transpose& transpose) {
    set(add("Transpose"), "perm", Numbers(transpose.order.begin(), transpose.order.end()));
  }

  void operator()(const Pad& pad) {
    Numbers pads(pad.begin.begin(), pad.begin.end());
    pads.insert(pads.end(), pad.end.begin(), pad.end.end());
    inputs_.push_back(graph_.add_ints(name_ + ".pads", pads));
    if (std::bit_cast<std::uint32_t>(pad.value) != 0)
      inputs_.push_back(graph_.add_floats(name_ + ".value", {}, {&pad.value, 1}));
    set(add("Pad"), "mode", "constant");
  }

  void operator()(const Resize& resize) {
    static constexpr std::array<const char*, 3> kPlaces{"half_pixel", "align_corners", "asymmetric"};
    static constexpr std::array<const char*, 4> kRoundings{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    inputs_.emplace_back();  // regions, which other modes have
    add_extents(resize);
    onnx::NodeProto& node = add("Resize");
    set(node, "mode", resize.kind == Resize::Kind::linear ? "linear" : "nearest");
    set(node, "coordinate_transformation_mode", kPlaces.at(static_cast<std::size_t>(resize.place)));
    set(node, "nearest_mode", kRoundings.at(static_cast<std::size_t>(resize.rounding)));
  }

 private:
  const Shape& input_shape() const { return graph_.shape(node_.inputs[0]); }

  /// Whether rounding up adds a window. Where it does not, other programs may disagree, and the attribute says nothing.
  bool rounds_up(const Pool& pool) const {
    const ImageExtents extents = image_extents(input_shape());
    const auto adds = [&](std::size_t axis) {
      return window_count(pool.window, axis, extents.spatial(axis), true) !=
             window_count(pool.window, axis, extents.spatial(axis), false);
    };
    return pool.round_up && (adds(0) || adds(1));
  }
  onnx::NodeProto& add(const char* op) { return graph_.add_node(name_, op, inputs_, output_); }
  /// Adds a node whose result the last one reads.
  onnx::NodeProto& add_before(const char* suffix, const char* op, const std::vector<std::string>& inputs,
                              const std::string& output) {
    return graph_.add_node(graph_.new_node_name(name_ + suffix), op, inputs, output);
  }

  /// One number each for H and W, or for W alone if the input has one spatial axis.
  template <class Number>
  Numbers per_axis(const std::array<Number, 2>& both) const {
    if (input_shape().size() == 3) return {both[1]};
    return {both[0], both[1]};
  }

  void set_window(onnx::NodeProto& node, const Window& window) const {
    set(node, "kernel_shape", per_axis(window.kernel));
    set(node, "strides", per_axis(window.stride));
    Numbers pads = per_axis(window.pad_begin);
    const Numbers ends = per_axis(window.pad_end);
    pads.insert(pads.end(), ends.begin(), ends.end());
    set(node, "pads", pads);
  }

  /// A missing bound is the largest or smallest fp32 number.
  void add_bounds(const Activation& clip) {
    constexpr float kHighest = std::numeric_limits<float>::max();
    const bool low = clip.low > -kHighest;
    const bool high = clip.high < kHighest;
    if (low || high) inputs_.push_back(low ? graph_.add_floats(name_ + ".low", {}, {&clip.low, 1}) : "");
    if (high) inputs_.push_back(graph_.add_floats(name_ + ".high", {}, {&clip.high, 1}));
  }

  /// Slopes lie on axis 1, so axes of length 1 follow.
  void add_slopes(const std::vector<float>& alphas) {
    Shape shape{static_cast<Extent>(alphas.size())};
    if (alphas.size() > 1) shape.resize(input_shape().size() - 1, 1);
    inputs_.push_back(graph_.add_floats(name_ + ".weight", shape, alphas));
  }

  /// Writes scales for all axes if they give exactly the sizes of the output, or if no sizes give these scales; readers
  /// may round the product of a length and a scale in another way.
  void add_extents(const Resize& resize) {
    const Shape& x = input_shape();
    const std::size_t axes = x.size() - 2;
    std::vector<float> scales(2, 1);
    Numbers sizes;
    bool exact = true;
    bool by_scales = true;
    bool by_sizes = true;
    for (std::size_t axis = 2 - axes; axis < 2; ++axis) {
      const Extent length = x[x.size() - 2 + axis];
      const Extent size = resize.size[axis];
      const float scale = resize.scale[axis];
      scales.push_back(scale);
      sizes.push_back(size);
      exact = exact && static_cast<double>(length) * scale == static_cast<double>(size);
      by_scales = by_scales && static_cast<Extent>(static_cast<float>(length) * scale) == size;
      by_sizes = by_sizes && static_cast<float>(size) / static_cast<float>(length) == scale;
    }
    by_sizes = by_sizes || resize.place == Resize::Place::align_corners;
    if (exact || (by_scales && !by_sizes)) {
      inputs_.push_back(graph_.add_floats(name_ + ".scales", {static_cast<Extent>(scales.size())}, scales));
      return;
    }
    if (!by_sizes)
      graph_.fail(fmt::format("node '{}' resizes {} to {} x {}, but not by {} x {}", name_, shape_text(x),
                              resize.size[0], resize.size[1], resize.scale[0], resize.scale[1]));
    inputs_.emplace_back();  // scales
    inputs_.push_back(add_sizes(sizes));
  }

  /// Writes the sizes of all axes: N and C are taken from the input at run time, because N may vary.
  std::string add_sizes(const Numbers& sizes) {
    const std::string kept = graph_.new_name(name_ + ".kept");
    std::string all = graph_.new_name(name_ + ".sizes");
    set(add_before(".kept", "Shape", {inputs_[0]}, kept), "end", std::int64_t{2});
    onnx::NodeProto& joined = add_before(".sizes", "Concat", {kept, graph_.add_ints(name_ + ".size", sizes)}, all);
    set(joined, "axis", std::int64_t{0});
    return all;
  }

  GraphWriter& graph_;
  const Node& node_;
  std::string name_;
  std::string output_;
  std::vector<std::string> inputs_;
};

}  // namespace

void write_node(GraphWriter& graph, const Node& node, const std::string& name) {
  std::visit(NodeWriter(graph, node, name), node.operation);
}

}  // namespace spdnn::onnx_writer
