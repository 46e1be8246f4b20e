#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spdnn/tensor.hpp"
#include "spdnn/weights.hpp"

namespace spdnn {

/// The number of a value in Model::values.
using ValueId = Index;

/// How a window moves over the spatial axes of an image: H and W, or one axis for sequences, as H = 1. Entry 0 of each
/// array is of H, entry 1 of W.
struct Window {
  std::array<Index, 2> kernel{1, 1};
  std::array<Index, 2> stride{1, 1};
  std::array<Index, 2> dilation{1, 1};
  std::array<Index, 2> pad_begin{0, 0};  ///< rows above, columns on the left
  std::array<Index, 2> pad_end{0, 0};    ///< rows below, columns on the right
};

/// y(n,k,p,q) = bias(k) + sum over c, r, s of w(k,c,r,s) x(n, g C + c, p stride + r dilation - pad, ...), where C are
/// the channels of a group and g is the group of k. Padding is zeros.
struct Convolution {
  /// Rows: output channels. Column of (c, r, s): (c R + r) S + s, c counted within the group. Stored zeros are no
  /// entries; the entries of a row ascend.
  Weights weights;
  std::vector<float> bias;  ///< one per output channel, or empty
  Index groups = 1;
  Window window{};
};

/// The filters with their zeros, as dense libraries and files have them: output channels x input channels of a group x
/// height x width of the kernel, row-major. It takes 4 bytes for each weight, zero or not, however sparse they are.
Tensor dense_filters(const Convolution& convolution);

/// y(n,k) = bias(k) + sum over c of w(k,c) x(n,c), on the last axis of its input.
struct Linear {
  Weights weights;  ///< outputs x inputs
  std::vector<float> bias;
};

/// y = (x - mean) / sqrt(variance + epsilon) * scale + shift, each by channel (axis 1).
struct BatchNorm {
  std::vector<float> scale;
  std::vector<float> shift;
  std::vector<float> mean;
  std::vector<float> variance;
  float epsilon = 1e-5F;
};

/// Maximum or mean over windows of each channel. Padding takes no part in a maximum.
struct Pool {
  enum class Kind { max, average };
  Kind kind = Kind::max;
  Window window{};
  bool round_up = false;       ///< output extents are rounded up: windows may begin in the image and end outside
  bool count_padding = false;  ///< a mean counts the padding (Window's, not the places that rounding up adds) as zeros
};

/// Maximum or mean over all of each channel: H and W become 1.
struct GlobalPool {
  Pool::Kind kind = Pool::Kind::average;
};

/// A function of each element: spdnn/activations.def has the formulas.
struct Activation {
  enum class Kind {
#define SPDNN_ACTIVATION(kind, ...) kind,
#include "spdnn/activations.def"
#undef SPDNN_ACTIVATION
  };
  Kind kind = Kind::relu;
  float alpha = 0;
  float beta = 0;
  float low = 0;
  float high = 0;
  std::vector<float> alphas{};  ///< of prelu: one per channel, or one
};

/// Combines two values element by element; axes of length 1 are repeated as needed (NumPy's broadcasting).
struct Elementwise {
  enum class Kind { add, subtract, multiply, divide, maximum, minimum, power };
  Kind kind = Kind::add;
};

/// The product of the matrices in the last two axes of a and b; the axes before them are broadcast as by Elementwise.
struct MatMul {
  bool transposed = false;  ///< b has its last two axes exchanged
};

/// Over all elements of some axes, which keep the length 1.
struct Reduce {
  enum class Kind { sum, product, maximum, minimum };
  Kind kind = Kind::sum;
  std::vector<Index> axes;
};

/// Joins its inputs along an axis.
struct Concat {
  Index axis = 1;
};

/// exp(x) over its sum along an axis.
struct Softmax {
  Index axis = 1;
};

/// The same elements in another shape; one extent of `shape` may be kBatchExtent (axis 0).
struct Reshape {
  Shape shape;
};

/// Axis i of the output is axis order[i] of the input.
struct Transpose {
  std::vector<Index> order;
};

/// Elements around each axis, all of `value`; negative numbers of them are cut off instead.
struct Pad {
  std::vector<Extent> begin;
  std::vector<Extent> end;
  float value = 0;
};

/// H and W change to those of the output; see ONNX's operator Resize for the words.
struct Resize {
  enum class Kind { nearest, linear };
  enum class Place { half_pixel, align_corners, asymmetric };  ///< how outputs lie over inputs
  /// Which element is the nearest: ONNX's round_prefer_floor, round_prefer_ceil, floor and ceil.
  enum class Rounding { half_down, half_up, down, up };
  Kind kind = Kind::nearest;
  Place place = Place::asymmetric;
  Rounding rounding = Rounding::half_down;  ///< of nearest
  std::array<Extent, 2> size{0, 0};         ///< of the output
  std::array<float, 2> scale{1.F, 1.F};     ///< output over input, as the file states it
};

namespace detail {
template <class First, class... Others>
using VariantOfOthers = std::variant<Others...>;
}  // namespace detail

#define SPDNN_OPERATION(Type, ...) , Type
/// One of the operations that spdnn/operations.def lists.
using Operation = detail::VariantOfOthers<void
#include "spdnn/operations.def"
                                          >;
#undef SPDNN_OPERATION

/// The operation's name as messages show it: "convolution", "linear", ...
std::string_view operation_name(const Operation& operation);
/// The weights of a convolution or of a linear node; nullptr of others.
const Weights* weights_or_null(const Operation& operation);
/// The same as fp32.
const CsrMatrix* matrix_or_null(const Operation& operation);

struct Node {
  std::string name;  ///< as the file has it, for messages; need not be unique
  Operation operation;
  std::vector<ValueId> inputs;
  ValueId output = 0;
};

/// A value that nodes read or write: an input of the model, the output of one node, or a constant.
struct Value {
  std::string name;
  Shape shape;                     ///< known for all values once infer_shapes() is through
  std::optional<Tensor> constant;  ///< if it is one
};

/// A program that a model was compiled into, for one number of images on one machine, stored with it in a packed file.
struct StoredProgram {
  std::string place;  ///< as messages name it
  std::string text;   ///< JSON
};

/// Machine code that a kernel generated for a node's weights, stored with the model in a packed file.
struct StoredCode {
  std::string digest;  ///< of all that it depends on: 32 hexadecimal digits
  Array<std::byte> bytes;
};

/// A network as a graph of values and nodes: pruned CNNs. Graph Challenge networks are `Network`.
struct Model {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  ///< each after those whose outputs it reads
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// Engines run it instead of compiling one, if it was made from the same model, for the same machine, build, threads
  /// and number of images. Results do not depend on it.
  std::optional<StoredProgram> program{};
  /// By ascending digest. Engines use what they would otherwise compile, after a test. Results do not depend on it.
  std::vector<StoredCode> code{};

  /// Throws std::invalid_argument, naming the node, where ids, orders of nodes, arrays or shapes do not fit together.
  void validate() const;
};

/// The names of the model's outputs, by which users choose them and find them in files: the values' names. One without
/// a name, and one whose name an earlier output has, get the number of the output, from 1, at the end.
std::vector<std::string> output_names(const Model& model);

/// Fills the shapes of all values from those of the inputs, which have one each; axis 0 may be kBatchExtent. Throws
/// UsageError, naming the node, if an operation does not support its inputs' shapes.
void infer_shapes(Model& model);
/// The shape that an operation makes of those of its inputs.
Shape output_shape(const Operation& operation, const std::vector<Shape>& inputs);

}  // namespace spdnn
