#include "io/models/onnx/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "core/text/message.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/order.hpp"
#include "io/models/onnx/read/reshaping.hpp"
#include "io/models/refusals.hpp"
#include "model/graph/remove_unread.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

using namespace onnx_reader;

constexpr std::int64_t kFirstIr = 3;  // the first version with a specification
constexpr std::int64_t kLastIr = 10;

[[noreturn]] void fail(const InputFile& file, const std::string& problem) {
  throw DataError(fmt::format("{}: {}", file.name(), problem));
}

/// Parses the file by protobuf. Its nesting limit of 100 messages protects the stack, and it reads from memory, so that
/// it checks lengths against the end of the file before it allocates.
onnx::ModelProto parsed(const InputFile& file) {
  constexpr std::size_t kMostBytes = std::numeric_limits<int>::max();
  if (file.size() > kMostBytes)
    fail(file,
         fmt::format("{} bytes are more than the 2 GiB of a protobuf file; weights can be external data", file.size()));
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(file, "not an ONNX file, or a truncated one: protobuf cannot read it");
  return model;
}

/// Returns the operator set of the file; checks the format version and other requirements.
int checked_opset(const onnx::ModelProto& model, const InputFile& file) {
  if (file.size() == 0) fail(file, "the file is empty; a copy or a download may have failed");
  if (!model.has_ir_version() || !model.has_graph()) fail(file, "not an ONNX file: it has no version or no graph");
  if (model.ir_version() < kFirstIr || model.ir_version() > kLastIr)
    fail(file, fmt::format("version {} of the format (IR) is outside {}..{}", model.ir_version(), kFirstIr, kLastIr));
  if (model.functions_size() > 0) fail(file, "functions defined in the file are not supported");
  std::optional<std::int64_t> opset;
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;  // its nodes, if any, are refused
    if (opset) fail(file, "it names two versions of ONNX's operator set");
    opset = set.version();
  }
  if (!opset) fail(file, "it names no version of ONNX's operator set");
  if (*opset < kFirstOpset || *opset > kLastOpset)
    fail(file, fmt::format("operator set {} is outside {}..{}", *opset, kFirstOpset, kLastOpset));
  return static_cast<int>(*opset);
}

/// The length of an axis, or its name if it is open.
std::string axis_text(const onnx::TensorShapeProto::Dimension& axis) {
  if (axis.has_dim_value()) return fmt::format("{}", axis.dim_value());
  return axis.dim_param().empty() ? "?" : escaped(axis.dim_param());
}

/// The text on an input with open axes, with the lengths and names of all axes.
std::string open_axes_text(const onnx::TensorShapeProto& shape) {
  std::vector<std::string> all;
  std::vector<std::string> open;
  for (const auto& axis : shape.dim()) {
    all.push_back(axis_text(axis));
    if (all.size() > 1 && !axis.has_dim_value()) open.push_back(fmt::format("{} ('{}')", all.size() - 1, all.back()));
  }
  return fmt::format("{} {} of {} {} no fixed length; give the shape of the input", open.size() == 1 ? "axis" : "axes",
                     fmt::join(open, ", "), fmt::join(all, " x "), open.size() == 1 ? "has" : "have");
}

bool stores_reals(int type) {
  using onnx::TensorProto;
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16 ||
         type == TensorProto::DOUBLE;
}

/// Integers that are read as fp32 numbers, by Cast and operators that move elements.
bool stores_integers(int type) {
  using onnx::TensorProto;
  for (const int whole : {TensorProto::UINT8, TensorProto::INT8, TensorProto::UINT16, TensorProto::INT16,
                          TensorProto::INT32, TensorProto::INT64})
    if (type == whole) return true;
  return false;
}

/// The shape of an input from the file, with open axes taken from `given`.
Shape input_shape(const onnx::ValueInfoProto& input, const InputFile& file, const std::optional<Shape>& given) {
  const auto fail_input = [&](const std::string& problem) {
    fail(file, fmt::format("input '{}': {}", input.name(), problem));
  };
  if (!input.type().has_tensor_type()) fail_input("it is not a tensor");
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  if (!stores_reals(tensor.elem_type()) && !stores_integers(tensor.elem_type()))
    fail_input(fmt::format("its elements are {}, expected numbers such as FLOAT", type_name(tensor.elem_type())));
  if (!tensor.has_shape()) fail_input("it has no shape");
  const auto& axes = tensor.shape().dim();
  if (static_cast<std::size_t>(axes.size()) > kMostAxes)
    fail_input(fmt::format("{} axes are more than {}", axes.size(), kMostAxes));
  if (given && given->size() != static_cast<std::size_t>(axes.size()))
    throw UsageError("shape",
                     fmt::format("{} for input '{}' of {} axes", shape_text(*given), input.name(), axes.size()));
  Shape shape;
  for (int axis = 0; axis < axes.size(); ++axis) {
    const bool fixed = axes[axis].has_dim_value();
    const std::int64_t extent = axes[axis].dim_value();
    if (fixed && (extent < 1 || extent > std::int64_t{kMaxIndex}))
      fail_input(fmt::format("axis {} has the length {}, expected 1..{}", axis, extent, kMaxIndex));
    if (given) {
      const Extent wanted = (*given)[static_cast<std::size_t>(axis)];
      const bool batch = axis == 0 && wanted == kBatchExtent;
      if (!batch && (wanted < 1 || wanted > Extent{kMaxIndex}))
        throw UsageError("shape", fmt::format("{}, expected lengths of 1..{}", shape_text(*given), kMaxIndex));
      if (fixed && axis != 0 && wanted != extent)
        throw UsageError("shape", fmt::format("{}, but axis {} of input '{}' has the length {}", shape_text(*given),
                                              axis, input.name(), extent));
      shape.push_back(wanted);
    } else if (fixed) {
      shape.push_back(extent);
    } else if (axis == 0) {
      shape.push_back(kBatchExtent);
    } else {
      fail_input(open_axes_text(tensor.shape()));
    }
  }
  return shape;
}

/// The operator of a node, which is supported. DataError if it is not in this set.
const Operator& checked_operator(const onnx::NodeProto& proto, const NodeReader& node, int opset) {
  const Operator& found = *find_operator(proto.op_type());
  if (opset < found.first || opset > found.last)
    node.fail(fmt::format("the operator is supported in the sets {}..{}, and the file has {}", found.first, found.last,
                          opset));
  return found;
}

void read_node(Graph& graph, const onnx::NodeProto& proto, NodeReader& node, const std::set<std::string>& read_names) {
  const Operator& found = checked_operator(proto, node, graph.opset());
  if (node.inputs() < found.least_inputs || node.inputs() > found.most_inputs)
    node.fail(fmt::format("{} inputs, expected {}..{}", node.inputs(), found.least_inputs, found.most_inputs));
  if (node.outputs() == 0 || proto.output(0).empty()) node.fail("it has no first output");
  found.read(node);
  for (int i = 1; i < proto.output_size(); ++i)
    if (read_names.contains(proto.output(i)) && !graph.has(proto.output(i)))
      node.fail(fmt::format("output {} '{}' is used, but only the first is supported", i + 1, proto.output(i)));
  node.finish();
}

/// The nodes of a graph in the order of reading. Those that are not supported are refused together.
class Nodes {
 public:
  Nodes(Graph& graph, const onnx::GraphProto& proto, const std::vector<int>& order)
      : graph_(graph), proto_(proto), order_(order), refusals_(graph.file(), operator_names()) {}

  /// Finds the operators that are not supported, which needs no shapes.
  void check_operators() {
    for (const int number : order_) {
      const onnx::NodeProto& node = proto_.node(number);
      const bool of_onnx = node.domain().empty() || node.domain() == "ai.onnx";
      if (of_onnx && find_operator(node.op_type()) == nullptr) {
        refusals_.add_unsupported(node.op_type(), name_of(node, number));
        add_missing(node);
        continue;
      }
      attempt(number, [&](NodeReader& reader) {
        if (!of_onnx)
          reader.fail(fmt::format("operators of '{}' are not supported, only those of ONNX", node.domain()));
        checked_operator(node, reader, graph_.opset());
      });
    }
  }
  /// Reads the nodes; readers of a refused node's output are left out.
  void read(const std::set<std::string>& read_names) {
    for (const int number : order_) {
      const onnx::NodeProto& node = proto_.node(number);
      if (any_missing(node.output())) continue;
      if (any_missing(node.input()))
        add_missing(node);
      else
        attempt(number, [&](NodeReader& reader) { read_node(graph_, node, reader, read_names); });
    }
  }
  void throw_if_refused() const { refusals_.throw_if_any(); }

 private:
  template <class Step>
  void attempt(int number, Step step) {
    const onnx::NodeProto& node = proto_.node(number);
    try {
      NodeReader reader(graph_, node, number + 1);
      step(reader);
    } catch (const DataError& refusal) {
      refusals_.add(node.op_type(), name_of(node, number), refusal);
      add_missing(node);
    }
  }
  static std::string name_of(const onnx::NodeProto& node, int number) {
    return fmt::format("node '{}'", node.name().empty() ? fmt::format("#{}", number + 1) : node.name());
  }
  void add_missing(const onnx::NodeProto& node) {
    for (const std::string& name : node.output())
      if (!name.empty()) missing_.insert(name);
  }
  template <class Names>
  bool any_missing(const Names& names) const {
    return std::any_of(names.begin(), names.end(), [&](const auto& name) { return missing_.contains(name); });
  }

  Graph& graph_;
  const onnx::GraphProto& proto_;
  const std::vector<int>& order_;
  Refusals refusals_;
  std::set<std::string> missing_;  ///< what refused nodes would make
};

/// All names read by a node or used as an output of the graph.
std::set<std::string> names_read(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const onnx::NodeProto& node : graph.node()) names.insert(node.input().begin(), node.input().end());
  for (const onnx::ValueInfoProto& output : graph.output()) names.insert(output.name());
  names.erase("");
  return names;
}

/// The names of initializers; those of the other inputs are added to `inputs`.
std::set<std::string> names_given(const onnx::GraphProto& proto, const InputFile& file, std::set<std::string>& inputs) {
  std::set<std::string> initializers;
  const auto add = [&](const std::string& name) {
    if (name.empty() || !initializers.insert(name).second)
      fail(file, fmt::format("initializer '{}' has an empty or repeated name", name));
  };
  for (const onnx::TensorProto& tensor : proto.initializer()) add(tensor.name());
  for (const onnx::SparseTensorProto& tensor : proto.sparse_initializer()) add(tensor.values().name());
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (initializers.contains(input.name())) continue;  // before IR version 4, initializers are also listed as inputs
    if (input.name().empty() || !inputs.insert(input.name()).second)
      fail(file, fmt::format("input '{}' has an empty or repeated name", input.name()));
  }
  return initializers;
}

/// Reads the initializers that are used, and the inputs.
void read_given(Graph& graph, const onnx::GraphProto& proto, const InputFile& file, const std::set<std::string>& used,
                const std::set<std::string>& inputs, const std::optional<Shape>& shape) {
  const auto read = [&](const auto& tensor, const std::string& name) {
    if (used.contains(name)) graph.set(name, graph.tensors().read(tensor, fmt::format("initializer '{}'", name)));
  };
  for (const onnx::TensorProto& tensor : proto.initializer()) read(tensor, tensor.name());
  for (const onnx::SparseTensorProto& tensor : proto.sparse_initializer()) read(tensor, tensor.values().name());
  if (shape && inputs.size() != 1)
    throw UsageError("shape", fmt::format("a shape can be given only for a single input, and the model has {} inputs",
                                          inputs.size()));
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (!inputs.contains(input.name())) continue;
    const ValueId value = graph.add_input(input.name(), input_shape(input, file, shape));
    if (stores_integers(input.type().tensor_type().elem_type())) graph.mark_whole(value);
  }
}

}  // namespace

Model read_onnx(const InputFile& file, const std::optional<Shape>& shape) {
  const onnx::ModelProto proto = parsed(file);
  const int opset = checked_opset(proto, file);
  Budget budget(file.name(), file.size());
  TensorReader tensors(file.name(), std::filesystem::path(file.name()).parent_path(), budget);
  Graph graph(file.name(), opset, tensors, budget);
  graph.model().name = proto.graph().name();

  const std::set<std::string> used = names_read(proto.graph());
  std::set<std::string> inputs;
  std::set<std::string> given = names_given(proto.graph(), file, inputs);
  given.insert(inputs.begin(), inputs.end());
  const std::vector<int> order = order_of_nodes(proto.graph(), given, file.name());
  Nodes nodes(graph, proto.graph(), order);
  nodes.check_operators();
  try {
    read_given(graph, proto.graph(), file, used, inputs, shape);
  } catch (const DataError&) {
    nodes.throw_if_refused();
    throw;
  }
  nodes.read(used);
  nodes.throw_if_refused();
  if (proto.graph().output_size() == 0) fail(file, "the graph has no output");
  for (const onnx::ValueInfoProto& output : proto.graph().output()) graph.add_output(output.name());
  remove_unread(graph.model());
  if (graph.model().inputs.empty()) fail(file, "the graph has no input that is not a constant");
  try {
    graph.model().validate();
  } catch (const std::invalid_argument& unsound) {
    fail(file, unsound.what());
  }
  file.check_unchanged();
  tensors.check_unchanged();
  return std::move(graph.model());
}

Model read_onnx(const std::filesystem::path& path, const std::optional<Shape>& shape) {
  return read_onnx(InputFile(path), shape);
}

}  // namespace spdnn
