#include <fmt/format.h>

#include "core/text/amounts.hpp"
#include "io/files/claimed_size.hpp"
#include "io/packed/layers.hpp"
#include "io/packed/read_write.hpp"

namespace spdnn {

using packed::Kind;
using packed::LayerRecord;
using packed::MatrixRecord;

namespace {

/// Compares the sizes with the caller's: one width for all, or the inputs and then the outputs of each layer.
void check_sizes(const PackedFile& file, const std::vector<LayerRecord>& records, const std::vector<Index>& expected) {
  if (expected.size() > 1 && expected.size() != records.size() + 1)
    file.fail(fmt::format("{}, expected {}", counted(records.size(), "layer", "layers"), expected.size() - 1));
  for (std::size_t k = 0; !expected.empty() && k < records.size(); ++k) {
    const Index inputs = expected.size() == 1 ? expected[0] : expected[k];
    const Index outputs = expected.size() == 1 ? expected[0] : expected[k + 1];
    const MatrixRecord& weights = records[k].weights;
    if (weights.cols != inputs || weights.rows != outputs)
      file.fail(fmt::format("layer {} has {} inputs and {} outputs, expected {} and {}", k + 1, weights.cols,
                            weights.rows, inputs, outputs));
  }
}

}  // namespace

LayerReader::Chain network_records(const PackedFile& file, LayerReader& reader, const NetworkRequest& request) {
  const std::uint32_t section = file.require(Kind::network, "network");
  LayerReader::Chain chain = reader.records(section);
  const std::size_t count = request.layers.value_or(chain.record.layers);
  if (count > chain.record.layers)
    file.fail(fmt::format("holds {}, expected at least {}", counted(chain.record.layers, "layer", "layers"), count));
  Offset edges = 0;
  for (const LayerRecord& layer : chain.layer_records) edges += layer.weights.entries;
  if (edges != file.header().edges || chain.record.layers != file.header().layers)
    file.fail("is corrupted: its header does not match the layers or edges of its network");
  chain.layer_records.resize(count);
  check_sizes(file, chain.layer_records, request.neurons);
  if (request.neurons.empty() && count > 0)
    check_claimed_size(file.name(), chain.layer_records[0].weights.cols, "inputs", file.size());
  return chain;
}

NetworkFile load_network(const PackedFile& file, const NetworkRequest& request) {
  LayerReader reader(file, LayerReader::Repeats::refused);
  LayerReader::Chain chain = network_records(file, reader, request);
  reader.layers(chain, chain.layer_records.size());
  reader.run(request.progress);
  NetworkFile result{{std::move(chain.layers), chain.bias_rule, chain.cap}, true, true};
  return result;
}

NetworkFile read_packed_network(const Path& path, const NetworkRequest& request) {
  return load_network(PackedFile(path), request);
}

}  // namespace spdnn
