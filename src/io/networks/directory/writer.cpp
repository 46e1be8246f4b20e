// Writes a network as a directory of text files.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/directory/replacement.hpp"
#include "io/networks/text/matrix_market.hpp"
#include "io/networks/text/row_order.hpp"
#include "io/networks/text/tsv_writer.hpp"
#include "io/packed/digests.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

struct Naming {
  Form form;
  Index neurons;
  bool bias;

  std::string weights(Index layer) const {
    const char* const ending = form == Form::tsv ? ".tsv" : form == Form::tsv_gz ? ".tsv.gz" : ".mtx";
    return layer_name({neurons, layer, false}, ending);
  }
  std::string biases(Index layer) const {
    return layer_name({neurons, layer, true}, form == Form::tsv_gz ? ".tsv.gz" : ".tsv");
  }
};

std::set<std::string> names_of_all(const Naming& naming, std::size_t layers) {
  std::set<std::string> names;
  for (Index k = 1; k <= layers; ++k) {
    names.insert(naming.weights(k));
    if (naming.bias) names.insert(naming.biases(k));
  }
  return names;
}

/// The digest of the weights in the order that a reader produces: ascending by input within a row.
std::uint64_t digest_when_read(const CsrMatrix& weights) {
  std::atomic<bool> ascend = true;
  parallel_ranges(weights.entries(), static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
    const auto columns = weights.indices.span().subspan(begin, end - begin);
    const bool step = begin == 0 || step_ascends(weights.indices.data(), begin, weights.offsets);
    if (!step || falls(columns) != falls_at_beginnings(begin, columns, weights.offsets)) ascend = false;
  });
  return weights_digest(ascend ? weights : transpose(transpose(weights)));
}

/// Writes the files and returns their manifest.
NetworkManifest write_files(const Path& directory, const Naming& naming, const Network& network,
                            const ProgressCallback& callback) {
  NetworkManifest manifest;
  std::mutex mutex;
  Progress progress(callback, "write layers", network.layers.size());
  std::size_t done = 0;
  const auto write = [&](std::size_t k) {
    const Layer& layer = network.layers[k];
    const auto number = static_cast<Index>(k + 1);
    const Path path = directory / naming.weights(number);
    if (naming.form == Form::matrix_market)
      write_matrix_market_layer(path, layer.weights);
    else
      write_tsv_layer(path, layer.weights);
    if (naming.bias) write_tsv_bias(directory / naming.biases(number), layer.bias, layer.outputs());
    const std::uint64_t digest = digest_when_read(layer.weights);
    const std::lock_guard lock(mutex);
    manifest.files[naming.weights(number)] = digest;
    if (naming.bias) manifest.files[naming.biases(number)] = bias_digest(layer.bias, layer.outputs());
    progress.update(++done);
  };
  // With few layers: one after another, each formatted by all threads.
  if (network.layers.size() >= static_cast<std::size_t>(host_threads()))
    parallel_for(network.layers.size(), write);
  else
    for (std::size_t k = 0; k < network.layers.size(); ++k) write(k);
  return manifest;
}

}  // namespace

bool needs_bias_files(const Network& network) {
  return std::any_of(network.layers.begin(), network.layers.end(), [&](const Layer& layer) {
    return !layer.bias.values.empty() || layer.bias.uniform != network.layers[0].bias.uniform;
  });
}

void write_layer_files(const Path& directory, Form form, const Network& network, const ProgressCallback& progress) {
  if (network.layers.empty()) throw DataError(directory.string() + ": cannot write a network without layers");
  const Naming naming{form, network.inputs(), needs_bias_files(network)};
  NetworkDirectory place(directory, names_of_all(naming, network.layers.size()));
  place.commit(write_files(place.path(), naming, network, progress));
}

}  // namespace spdnn
