#include "io/packed/layers.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/system/out_of_memory.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::kNone;
using packed::LayerRecord;
using packed::MatrixRecord;

namespace {

std::array<std::uint32_t, 5> sections_of(const LayerRecord& record) {
  const MatrixRecord& weights = record.weights;
  return {weights.offsets, weights.indices, weights.values, weights.palette, record.biases};
}

LayerShape shape_of(const LayerRecord& record) {
  const MatrixRecord& weights = record.weights;
  return {.inputs = weights.cols,
          .outputs = weights.rows,
          .edges = weights.entries,
          .weight = weights.value_bytes == 0 ? std::optional(weights.value) : std::nullopt,
          .bias = record.biases == kNone ? std::optional(record.bias) : std::nullopt,
          .degree = weights.offsets == kNone ? std::optional<Offset>(weights.degree) : std::nullopt};
}

std::vector<LayerShape> shapes_of(const LayerReader::Chain& chain) {
  std::vector<LayerShape> shapes;
  for (const LayerRecord& record : chain.layer_records) shapes.push_back(shape_of(record));
  return shapes;
}

/// Checks that normally happen when all layers are read together: sizes of sections, and sections used twice.
void check_sections(const PackedFile& file, const LayerReader::Chain& chain) {
  std::vector<bool> named(file.sections(), false);
  for (std::size_t k = 0; k < chain.layer_records.size(); ++k) {
    const MatrixRecord& weights = chain.layer_records[k].weights;
    for (const std::uint32_t section : sections_of(chain.layer_records[k])) {
      if (section == kNone) continue;
      file.entry(section);
      if (named[section]) file.fail(fmt::format("is corrupted: section {} is used twice", section));
      named[section] = true;
    }
    const std::uint64_t width = weights.cols > packed::kNarrowColumns ? sizeof(std::uint32_t) : sizeof(std::uint16_t);
    if (weights.entries > 0 && file.entry(weights.indices).bytes / width != weights.entries)
      file.fail(fmt::format("is corrupted: layer {}: {} columns, expected {}", k + 1,
                            file.entry(weights.indices).bytes / width, weights.entries));
    if (weights.offsets != kNone &&
        file.entry(weights.offsets).bytes / sizeof(Offset) != std::uint64_t{weights.rows} + 1)
      file.fail(fmt::format("is corrupted: layer {}: {} offsets, expected {}", k + 1,
                            file.entry(weights.offsets).bytes / sizeof(Offset), std::uint64_t{weights.rows} + 1));
  }
}

}  // namespace

PackedLayers::PackedLayers(std::unique_ptr<const PackedFile> file, LayerReader::Chain chain)
    : LayerStream(shapes_of(chain)),
      file_(std::move(file)),
      chain_(std::move(chain)),
      reader_(*file_, LayerReader::Repeats::refused, largest_layer_bytes() + std::size_t{4} * packed::kAlignment) {
  for (std::size_t k = 0; k < chain_.layer_records.size(); ++k) reader_.check_record(chain_, k);
  check_sections(*file_, chain_);
}

std::vector<Layer> PackedLayers::read_some(Index first, Index count) const {
  return with_memory_for(file_->name(), "cannot read", [&] {
    const std::lock_guard lock(one_at_a_time_);
    reader_.begin_again();
    std::vector<Layer> layers;
    for (Index k = first; k < first + count; ++k) layers.push_back(reader_.layer(chain_, k));
    reader_.run({});
    for (Index k = first; k < first + count; ++k) bytes_read_ += bytes_in_file(chain_.layer_records[k]);
    return layers;
  });
}

std::uint64_t PackedLayers::bytes_in_file(const LayerRecord& record) const {
  std::uint64_t bytes = 0;
  for (const std::uint32_t section : sections_of(record)) bytes += section == kNone ? 0 : file_->entry(section).bytes;
  return bytes;
}

std::size_t stored_plan_bytes(const Path& path) {
  const PackedFile file(path);
  LayerReader reader(file, LayerReader::Repeats::allowed);
  std::size_t bytes = 0;
  for (const packed::Kind kind : {packed::Kind::plan, packed::Kind::plan_in_order}) {
    const auto section = file.find(kind);
    if (!section) continue;
    for (const LayerRecord& record : reader.records(*section).layer_records) bytes += shape_of(record).bytes();
  }
  return bytes;
}

void refuse_empty(const std::string& name, const std::vector<LayerShape>& shapes) {
  if (shapes.empty()) throw DataError(name + ": a network without layers, expected at least one");
  for (std::size_t k = 0; k < shapes.size(); ++k)
    if (shapes[k].inputs == 0 || shapes[k].outputs == 0)
      throw DataError(fmt::format("{}: layer {} has {} inputs and {} outputs, expected at least one of each", name,
                                  k + 1, shapes[k].inputs, shapes[k].outputs));
}

NetworkStream open_packed_network(const Path& path, const NetworkRequest& request) {
  NetworkStream network = open_network(std::make_unique<const PackedFile>(path), request);
  refuse_empty(path.string(), network.layers->shapes());
  return network;
}

NetworkStream open_network(std::unique_ptr<const PackedFile> file, const NetworkRequest& request) {
  LayerReader reader(*file, LayerReader::Repeats::refused);
  LayerReader::Chain chain = network_records(*file, reader, request);
  NetworkStream network{.bias_rule = chain.bias_rule, .cap = chain.cap};
  const bool all = chain.layer_records.size() == file->header().layers;
  network.digest = all ? file->header().network_digest : 0;
  network.layers = std::make_shared<const PackedLayers>(std::move(file), std::move(chain));
  return network;
}

}  // namespace spdnn
