#include "io/models/tflite/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "io/models/refusals.hpp"
#include "io/models/tflite/operators.hpp"
#include "model/graph/remove_unread.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

using namespace tflite_reader;

constexpr std::uint32_t kVersion = 3;
constexpr flatbuffers::uoffset_t kMostDepth = 16;  // a model nests seven tables
constexpr flatbuffers::uoffset_t kMostTables = 1'000'000;

[[noreturn]] void fail_in(const InputFile& file, const std::string& problem) {
  throw DataError(fmt::format("{}: {}", file.name(), problem));
}

std::vector<std::byte> bytes_of(const InputFile& file) {
  if (file.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    fail_in(file, fmt::format("{} bytes are more than the 2 GiB of a FlatBuffer", file.size()));
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  return bytes;
}

/// The file's root table, after checking that all offsets lie inside the bytes.
const tflite::Model& verified(const InputFile& file, std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  constexpr std::size_t kIdentified = 8;  // the offset of the root, and the identifier
  if (bytes.size() < kIdentified || !tflite::ModelBufferHasIdentifier(data))
    fail_in(file, "not a TensorFlow Lite file: it lacks the identifier TFL3");
  flatbuffers::Verifier verifier(data, bytes.size(), kMostDepth, kMostTables);
  if (!tflite::VerifyModelBuffer(verifier))
    fail_in(file, fmt::format("a truncated or damaged TensorFlow Lite file: tables lie outside it, or are more than {}",
                              kMostTables));
  return *tflite::GetModel(data);
}

const tflite::SubGraph& only_graph(const InputFile& file, const tflite::Model& model) {
  if (model.version() != kVersion)
    fail_in(file, fmt::format("version {} of the format is not supported, only {}", model.version(), kVersion));
  if (model.subgraphs() == nullptr || model.subgraphs()->size() == 0) fail_in(file, "it has no graph");
  if (model.subgraphs()->size() > 1)
    fail_in(file, fmt::format("{} graphs, as for conditions or loops, are not supported, only one",
                              model.subgraphs()->size()));
  return *model.subgraphs()->Get(0);
}

/// The lengths of the axes; -1 stands for an open one.
std::string signature_text(const flatbuffers::Vector<std::int32_t>& signature) {
  return fmt::format("{}", fmt::join(signature.begin(), signature.end(), " x "));
}

/// The shape of an input from the file, with open axes taken from `given`.
Shape input_shape(const Graph& graph, TensorId id, const std::optional<Shape>& given) {
  const tflite::Tensor& tensor = graph.tensor(id);
  const std::string where = graph.where(id);
  require_floats(tensor, where);
  if (tensor.type() != tflite::TensorType::FLOAT32) throw DataError(where + ": inputs of FLOAT16 are not supported");
  const Shape stated = shape_of(tensor, where);
  const std::size_t rank = stated.size();
  const auto* signature = tensor.shape_signature();
  const auto open = [&](std::size_t axis) {
    return signature != nullptr && signature->size() == rank &&
           signature->Get(static_cast<flatbuffers::uoffset_t>(axis)) == -1;
  };
  if (given && given->size() != rank)
    throw UsageError("shape", fmt::format("{} for an input of {} axes", shape_text(*given), rank));
  Shape shape(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Extent& extent = shape[axis_of_value(axis, rank)];
    if (given) {
      extent = (*given)[axis_of_value(axis, rank)];
      const bool batch = axis == 0 && extent == kBatchExtent;
      if (!batch && (extent < 1 || extent > Extent{kMaxIndex}))
        throw UsageError("shape", fmt::format("{}, expected lengths of 1..{}", shape_text(*given), kMaxIndex));
      if (axis != 0 && !open(axis) && extent != stated[axis])
        throw UsageError("shape", fmt::format("{}, but axis {} of the input has the length {}", shape_text(*given),
                                              axis_of_value(axis, rank), stated[axis]));
    } else if (!open(axis)) {
      extent = stated[axis];
    } else if (axis == 0) {
      extent = kBatchExtent;
    } else {
      throw DataError(fmt::format("{}: axis {} of {} has no fixed length; give the shape of the input", where, axis,
                                  signature_text(*signature)));
    }
  }
  return shape;
}

/// An operator as the file names it.
struct Named {
  tflite::BuiltinOperator code;
  std::string custom;  ///< the name of a custom one
  std::string name;    ///< both, for messages

  const Operator* found() const { return find_operator(code, custom); }
};

Named named(const Graph& graph, const tflite::Operator& source, std::size_t number) {
  const auto* codes = graph.source().operator_codes();
  if (codes == nullptr || source.opcode_index() >= codes->size())
    graph.fail(fmt::format("operator {}: its opcode_index {} does not exist", number, source.opcode_index()));
  const tflite::OperatorCode& code = *codes->Get(source.opcode_index());
  const auto found = std::max(code.builtin_code(), static_cast<tflite::BuiltinOperator>(code.short_code()));
  std::string name = tflite::EnumNameBuiltinOperator(found);
  if (name.empty()) name = fmt::format("number {}", static_cast<int>(found));
  const bool custom = found == tflite::BuiltinOperator::CUSTOM && code.custom_code() != nullptr;
  if (custom) name += " " + code.custom_code()->str();
  return {found, custom ? code.custom_code()->str() : "", name};
}

void read_operator(Graph& graph, const tflite::Operator& source, std::size_t number, const Named& of) {
  OperatorReader op(graph, source, number, of.name);
  const Operator& known = *of.found();
  if (op.inputs() < known.least_inputs || op.inputs() > known.most_inputs)
    op.fail(fmt::format("{} inputs, expected {}..{}", op.inputs(), known.least_inputs, known.most_inputs));
  if (op.outputs() != 1 && of.code != tflite::BuiltinOperator::SPLIT) op.fail("expected one output");
  known.read(op);
}

/// The operators of a graph. Those that are not supported are refused together.
class Operators {
 public:
  Operators(Graph& graph, const tflite::SubGraph& from)
      : graph_(graph), from_(from), refusals_(graph.file(), operator_names()) {}

  /// Finds the operators that are not supported, which needs no shapes.
  void check_codes() {
    for (std::size_t i = 0; i < size(); ++i) {
      const Named of = named(graph_, at(i), i);
      if (of.found() != nullptr) continue;
      refusals_.add_unsupported(of.name, name_of(i));
      add_missing(at(i));
    }
  }
  /// Reads the operators; readers of a refused operator's output are left out.
  void read() {
    for (std::size_t i = 0; i < size(); ++i) {
      const Named of = named(graph_, at(i), i);
      if (of.found() == nullptr) continue;
      if (reads_missing(at(i))) {
        add_missing(at(i));
        continue;
      }
      try {
        read_operator(graph_, at(i), i, of);
      } catch (const DataError& refusal) {
        refusals_.add(of.name, name_of(i), refusal);
        add_missing(at(i));
      }
    }
  }
  void throw_if_refused() const { refusals_.throw_if_any(); }

 private:
  std::size_t size() const { return from_.operators() == nullptr ? 0 : from_.operators()->size(); }
  const tflite::Operator& at(std::size_t i) const {
    return *from_.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  static std::string name_of(std::size_t i) { return fmt::format("operator {}", i); }
  void add_missing(const tflite::Operator& source) {
    if (source.outputs() != nullptr) missing_.insert(source.outputs()->begin(), source.outputs()->end());
  }
  bool reads_missing(const tflite::Operator& source) const {
    return source.inputs() != nullptr && std::any_of(source.inputs()->begin(), source.inputs()->end(),
                                                     [&](TensorId id) { return missing_.contains(id); });
  }

  Graph& graph_;
  const tflite::SubGraph& from_;
  Refusals refusals_;
  std::set<TensorId> missing_;  ///< what refused operators would make
};

}  // namespace

Model read_tflite(const InputFile& file, const std::optional<Shape>& shape) {
  const std::vector<std::byte> bytes = bytes_of(file);
  const tflite::Model& source = verified(file, bytes);
  const tflite::SubGraph& from = only_graph(file, source);
  Budget budget(file.name(), file.size());
  Graph graph(file.name(), source, from, shape.has_value(), budget);
  if (from.name() != nullptr) graph.model().name = from.name()->str();
  if (from.inputs() == nullptr || from.inputs()->size() == 0) fail_in(file, "the graph has no input");
  if (from.outputs() == nullptr || from.outputs()->size() == 0) fail_in(file, "the graph has no output");
  if (shape && from.inputs()->size() != 1)
    throw UsageError("shape", fmt::format("a shape can be given only for a single input, and the model has {} inputs",
                                          from.inputs()->size()));
  Operators operators(graph, from);
  operators.check_codes();
  try {
    for (const TensorId input : *from.inputs()) graph.add_input(input, input_shape(graph, input, shape));
  } catch (const DataError&) {
    operators.throw_if_refused();
    throw;
  }
  operators.read();
  operators.throw_if_refused();
  for (const TensorId output : *from.outputs()) graph.add_output(output);
  remove_unread(graph.model());
  try {
    graph.model().validate();
  } catch (const std::invalid_argument& unsound) {
    fail_in(file, unsound.what());
  }
  file.check_unchanged();
  return std::move(graph.model());
}

Model read_tflite(const std::filesystem::path& path, const std::optional<Shape>& shape) {
  return read_tflite(InputFile(path), shape);
}

}  // namespace spdnn
