// PackedWriter's contents: matrices, and the networks, plans, models and images made of them.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/entropy_coding.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/writer.hpp"

namespace spdnn {

using packed::ChainRecord;
using packed::Kind;
using packed::LayerRecord;
using packed::MatrixRecord;

namespace {

template <class T>
void append(std::vector<std::byte>& bytes, const T& record) {
  const auto view = std::as_bytes(std::span(&record, 1));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

/// The number of entries per row if it is the same for all rows; 0 otherwise, and for empty rows.
std::uint32_t regular_degree(const CsrMatrix& matrix) {
  if (matrix.rows == 0) return 0;
  const Offset degree = matrix.degree(0);
  for (std::size_t i = 0; i <= matrix.rows; ++i)
    if (matrix.offsets[i] != i * degree) return 0;
  return degree <= kMaxIndex ? static_cast<std::uint32_t>(degree) : 0;
}

/// A Fill that converts each number of `from` to the number at the same index of a section.
template <class To, class From, class Convert>
auto converting(std::span<const From> from, Convert convert) {
  return [from, convert](std::uint64_t first, std::span<std::byte> block) {
    const From* const source = from.data() + first / sizeof(To);
    To* const target = reinterpret_cast<To*>(block.data());
    std::transform(source, source + block.size() / sizeof(To), target, convert);
  };
}

/// Whether the matrix takes fewer bytes dense than as non-zeros with their columns.
bool smaller_dense(const CsrMatrix& matrix, const ValueCoding& coding) {
  const std::size_t width = matrix.cols > packed::kNarrowColumns ? sizeof(std::uint32_t) : sizeof(std::uint16_t);
  const std::size_t offsets = regular_degree(matrix) == 0 ? matrix.offsets.bytes() : 0;
  const std::size_t sparse =
      offsets + matrix.entries() * (width + coding.bytes) + coding.palette.values().size() * sizeof(float);
  return std::size_t{matrix.rows} * matrix.cols * sizeof(float) <= sparse;
}

/// A Fill that produces all numbers of a matrix, row-major.
auto dense_numbers(const CsrMatrix& matrix) {
  return [&matrix](std::uint64_t first_byte, std::span<std::byte> block) {
    const std::uint64_t first = first_byte / sizeof(float);
    const std::uint64_t end = first + block.size() / sizeof(float);
    const auto row = static_cast<Index>(first / matrix.cols);
    const std::vector<float> dense = dense_rows(matrix, row, static_cast<Index>((end + matrix.cols - 1) / matrix.cols));
    std::memcpy(block.data(), dense.data() + (first - std::uint64_t{row} * matrix.cols), block.size());
  };
}

}  // namespace

template <class T>
std::uint32_t PackedWriter::add_array(std::span<const T> values) {
  return add(Kind::data, values.size_bytes(), [values](std::uint64_t first, std::span<std::byte> block) {
    std::memcpy(block.data(), std::as_bytes(values).data() + first, block.size());
  });
}

void PackedWriter::add_values(MatrixRecord& record, const CsrMatrix& matrix, const ValueCoding& coding) {
  record.value_bytes = coding.bytes;
  record.value = coding.bytes == 0 ? coding.value : 0.0F;
  if (coding.bytes == 0) return;
  const auto values = matrix.values.span();
  if (coding.bytes == sizeof(float)) {
    record.values = add_array(values);
    return;
  }
  // The sections' functions keep the palette alive until they are written.
  const auto palette = std::make_shared<const ValueNumbers>(coding.palette);
  record.palette = add_array(std::span(palette->values()));
  const std::uint64_t bytes = matrix.entries() * coding.bytes;
  if (coding.bytes == 1)
    record.values = add(Kind::data, bytes, converting<std::uint8_t>(values, [palette](float value) {
                          return static_cast<std::uint8_t>(palette->find(value));
                        }));
  else
    record.values = add(Kind::data, bytes, converting<std::uint16_t>(values, [palette](float value) {
                          return static_cast<std::uint16_t>(palette->find(value));
                        }));
}

MatrixRecord PackedWriter::add_matrix(const CsrMatrix& matrix, const ValueCoding& coding) {
  MatrixRecord record;
  record.rows = matrix.rows;
  record.cols = matrix.cols;
  record.entries = matrix.entries();
  record.degree = regular_degree(matrix);
  if (record.degree == 0 && matrix.rows > 0) record.offsets = add_array(matrix.offsets.span());
  if (matrix.entries() > 0) {
    const auto indices = matrix.indices.span();
    if (matrix.cols > packed::kNarrowColumns)
      record.indices = add_array(indices);
    else
      record.indices = add(Kind::data, indices.size() * sizeof(std::uint16_t),
                           converting<std::uint16_t>(indices, [](Index i) { return static_cast<std::uint16_t>(i); }));
  }
  add_values(record, matrix, coding);
  return record;
}

/// The arrays of a TypedMatrix but those of its rows.
packed::TypedRecord PackedWriter::add_typed(const TypedMatrix& matrix) {
  const Values& values = matrix.values;
  packed::TypedRecord record;
  record.rows = matrix.rows;
  record.cols = matrix.cols;
  record.taps = matrix.taps;
  record.values = values.count;
  record.pattern = static_cast<std::uint8_t>(matrix.pattern);
  record.type = static_cast<std::uint8_t>(values.type);
  record.code_bits = static_cast<std::uint8_t>(values.code_bits);
  if (matrix.pattern == Pattern::csr)
    record.places =
        add_records(Kind::data, packed::huffman_coded(packed::place_bytes({matrix.offsets, matrix.indices})));
  else if (!matrix.places.empty())
    record.places = add_array(matrix.places.span());
  if (!matrix.order.empty()) record.order = add_array(matrix.order.span());
  if (!values.bytes.empty()) record.numbers = add_array(values.bytes.span());
  if (values.code_bits > 0 && values.code_bits <= packed::kMostCodedBits)
    record.codes = add_records(
        Kind::data, packed::huffman_coded(packed::one_byte_each(values.codes.span(), values.count, values.code_bits)));
  else if (!values.codes.empty())
    record.codes = add_array(values.codes.span());
  if (!values.scales.empty()) record.scales = add_array(std::span(values.scales));
  if (!values.zero_points.empty()) record.zero_points = add_array(std::span(values.zero_points));
  return record;
}

packed::TensorRecord PackedWriter::add_tensor(const StoredTensor& tensor) {
  packed::TensorRecord record;
  record.name_bytes = narrow<std::uint32_t>(tensor.name.size());
  if (tensor.weights == nullptr) {
    record.numbers = add_array(tensor.values);
    return record;
  }
  if (const TypedMatrix* const typed = tensor.weights->typed()) {
    if (typed->pattern == Pattern::two_of_four && !typed->offsets.empty())
      record.matrix =
          add_matrix({typed->rows, typed->cols, typed->offsets, typed->indices, {}}, {.value = 1, .palette = {}});
    return record;
  }
  const CsrMatrix& matrix = *tensor.weights;
  const ValueCoding coding = choose_coding(matrix);
  if (smaller_dense(matrix, coding))
    record.numbers = add(Kind::data, std::size_t{matrix.rows} * matrix.cols * sizeof(float), dense_numbers(matrix));
  else
    record.matrix = add_matrix(matrix, coding);
  return record;
}

void PackedWriter::add_graph(const std::string& architecture, std::span<const StoredTensor> tensors,
                             const std::string& program) {
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  packed::GraphRecord record;
  record.architecture = add_records(Kind::data, bytes_of(architecture));
  record.tensors = narrow<std::uint32_t>(tensors.size());
  std::vector<std::byte> tensor_records;
  std::vector<std::byte> typed_records;
  std::string names;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    append(tensor_records, add_tensor(tensors[i]));
    names += tensors[i].name;
    const TypedMatrix* const typed = tensors[i].weights == nullptr ? nullptr : tensors[i].weights->typed();
    if (typed == nullptr) continue;
    packed::TypedRecord typed_record = add_typed(*typed);
    typed_record.tensor = narrow<std::uint32_t>(i);
    append(typed_records, typed_record);
    ++record.typed;
  }
  record.names = add_records(Kind::data, bytes_of(names));
  std::vector<std::byte> records;
  append(records, record);
  records.insert(records.end(), tensor_records.begin(), tensor_records.end());
  records.insert(records.end(), typed_records.begin(), typed_records.end());
  add_records(Kind::model, std::move(records));
  if (!program.empty()) add_records(Kind::program, bytes_of(program));
  header_.version = packed::kVersionOfModels;
  header_.contents = packed::kModel | (program.empty() ? 0U : std::uint32_t{packed::kProgram});
}

void PackedWriter::add_code(std::span<const StoredCode> code) {
  if (code.empty()) return;
  std::vector<std::byte> records;
  for (const StoredCode& one : code) {
    packed::CodeRecord record;
    if (one.digest.size() != record.digest.size()) throw std::logic_error("a digest of code is not of 32 digits");
    std::copy(one.digest.begin(), one.digest.end(), record.digest.begin());
    record.bytes = add_array(one.bytes.span());
    append(records, record);
  }
  add_records(Kind::code, std::move(records));
  header_.version = packed::kVersionWithCode;
  header_.contents |= packed::kCode;
}

LayerRecord PackedWriter::add_layer(const Layer& layer, const ValueCoding& coding) {
  LayerRecord record;
  record.weights = add_matrix(layer.weights, coding);
  const Bias& bias = layer.bias;
  record.bias = bias.values.empty() ? bias.uniform : 0.0;
  if (!bias.values.empty()) record.biases = add_array(bias.values.span());
  return record;
}

void PackedWriter::add_chain(Kind kind, ChainRecord record, const std::vector<Layer>& layers,
                             const std::vector<Array<Index>>& expansion) {
  std::vector<ValueCoding> codings(layers.size());
  parallel_for(layers.size(), [&](std::size_t k) { codings[k] = choose_coding(layers[k].weights); });
  record.layers = narrow<std::uint32_t>(layers.size());
  std::vector<std::byte> records;
  append(records, record);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    LayerRecord layer = add_layer(layers[k], codings[k]);
    if (!expansion.empty() && !expansion[k].empty()) layer.expansion = add_array(expansion[k].span());
    append(records, layer);
  }
  add_records(kind, std::move(records));
}

void PackedWriter::add_network(const Network& network) {
  network.validate();
  ChainRecord record;
  record.bias_everywhere = network.bias_rule == BiasRule::everywhere ? 1 : 0;
  record.cap = network.cap.value_or(0.0);
  add_chain(Kind::network, record, network.layers, {});
  header_.contents |= packed::kNetwork;
  header_.layers = narrow<std::uint32_t>(network.layers.size());
  header_.edges = network.edges();
  header_.network_digest = network_digest(network);
}

void PackedWriter::add_network(const NetworkStream& network, const ProgressCallback& callback) {
  layers_ = network.layers;
  ChainRecord record;
  record.bias_everywhere = network.bias_rule == BiasRule::everywhere ? 1 : 0;
  record.cap = network.cap.value_or(0.0);
  record.layers = narrow<std::uint32_t>(network.depth());
  std::vector<std::byte> records;
  append(records, record);
  std::vector<std::uint64_t> digests;
  Progress progress(callback, "looking over layers", network.depth());
  for (Index k = 0; k < network.depth(); ++k) {
    const Layer layer = layers_->read(k);
    Network{{layer}, network.bias_rule, network.cap}.validate();
    const auto first = narrow<std::uint32_t>(sections_.size());
    append(records, add_layer(layer, choose_coding(layer.weights)));
    const auto end = narrow<std::uint32_t>(sections_.size());
    for (std::uint32_t i = first; i < end; ++i)
      sections_[i].fill = {};  // otherwise it would keep the layer's memory alive
    layer_sections_.push_back({first, end});
    digests.push_back(layer_digest(layer));
    header_.edges += layer.weights.entries();
    progress.update(k + 1);
  }
  add_records(Kind::network, std::move(records));
  header_.contents |= packed::kNetwork;
  header_.layers = record.layers;
  header_.network_digest = network_digest(network.bias_rule, network.cap, digests);
}

void PackedWriter::add_images(const ImageSet& images) {
  packed::ImagesRecord record;
  if (images.is_bits()) {
    record.sparse.rows = images.images();
    record.sparse.cols = images.neurons();
    record.bits = add_array(images.bits().words.span());
  } else {
    images.sparse().validate();
    record.sparse = add_matrix(images.sparse(), choose_coding(images.sparse()));
  }
  std::vector<std::byte> records;
  append(records, record);
  add_records(Kind::images, std::move(records));
  header_.contents |= packed::kImages;
}

void PackedWriter::add_plan_as(Kind kind, const Plan& plan) {
  Network{plan.layers, plan.bias_rule, plan.cap}.validate();
  ChainRecord record;
  record.bias_everywhere = plan.bias_rule == BiasRule::everywhere ? 1 : 0;
  record.cap = plan.cap.value_or(0.0);
  record.passes = packed::pass_bits(plan.passes);
  record.requested = packed::pass_bits(plan.provenance.requested);
  record.dead_from = plan.certificates.dead_from;
  record.saturated_from = plan.certificates.saturated_from;
  record.given_edges = plan.provenance.given_edges;
  record.network_digest = plan.provenance.network_digest;
  record.given_neurons = add_array(std::span(plan.provenance.given_neurons));
  if (plan.fallback) record.error_bounds = add_array(std::span(plan.fallback->error_bounds));
  std::vector<std::byte> notes;
  for (const std::string& note : plan.provenance.notes) {
    const auto text = std::as_bytes(std::span(note.c_str(), note.size() + 1));
    notes.insert(notes.end(), text.begin(), text.end());
  }
  if (!notes.empty()) record.notes = add_records(Kind::data, std::move(notes));
  add_chain(kind, record, plan.layers, plan.expansion);
}

void PackedWriter::add_plan(const Plan& plan) {
  check_plan(plan);
  add_plan_as(Kind::plan, plan);
  if (plan.fallback) add_plan_as(Kind::plan_in_order, *plan.fallback->in_order);
  header_.contents |= packed::kPlan;
}

}  // namespace spdnn
