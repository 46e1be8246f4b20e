// Writes a network as a directory of text files.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <system_error>

#include "core/parallel.hpp"
#include "io/layer_files.hpp"
#include "io/matrix_market.hpp"
#include "io/tsv_writer.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// A new directory beside its final name, removed again unless it is given that name.
class NewDirectory {
 public:
  explicit NewDirectory(const Path& target) : target_(target) {
    std::error_code error;
    for (int attempt = 0; path_.empty() && !error; ++attempt) {
      const Path name = fmt::format(".{}.{}.{}", target.filename().string(), ::getpid(), attempt);
      if (create_directory(target.parent_path() / name, error)) path_ = target.parent_path() / name;
    }
    if (error) throw DataError(fmt::format("{}: cannot write: {}", target.string(), error.message()));
  }
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;
  ~NewDirectory() {
    std::error_code ignored;
    if (!path_.empty()) remove_all(path_, ignored);
  }

  const Path& path() const { return path_; }
  void commit() {
    std::error_code error;
    rename(path_, target_, error);  // replaces an empty directory
    if (error) throw DataError(fmt::format("{}: cannot write: {}", target_.string(), error.message()));
    path_.clear();
  }

 private:
  Path target_;
  Path path_;
};

struct Naming {
  Form form;
  Index neurons;
  bool bias;

  Path weights(Index layer) const {
    const char* const ending = form == Form::tsv ? ".tsv" : form == Form::tsv_gz ? ".tsv.gz" : ".mtx";
    return layer_name({neurons, layer, false}, ending);
  }
  Path biases(Index layer) const {
    return layer_name({neurons, layer, true}, form == Form::tsv_gz ? ".tsv.gz" : ".tsv");
  }
};

void refuse_foreign_layers(const Path& directory, const Naming& naming, std::size_t layers) {
  std::set<Path> ours;
  for (Index k = 1; k <= layers; ++k) {
    ours.insert(naming.weights(k));
    if (naming.bias) ours.insert(naming.biases(k));
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const Path name = entry.path().filename();
    if (parse_layer_name(name.string()) && ours.count(name) == 0)
      throw DataError(
          fmt::format("{}: is no part of the network to be written beside it, expected a directory without it",
                      entry.path().string()));
  }
}

void write_files(const Path& directory, const Naming& naming, const Network& network, ProgressMode mode) {
  std::mutex mutex;
  Progress progress(mode, "write layers", network.layers.size());
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
    const std::lock_guard lock(mutex);
    progress.update(++done);
  };
  // Few layers: one after another, each formatted by all threads.
  if (network.layers.size() >= static_cast<std::size_t>(host_threads()))
    parallel_for(network.layers.size(), write);
  else
    for (std::size_t k = 0; k < network.layers.size(); ++k) write(k);
}

}  // namespace

bool needs_bias_files(const Network& network) {
  return std::any_of(network.layers.begin(), network.layers.end(), [&](const Layer& layer) {
    return !layer.bias.values.empty() || layer.bias.uniform != network.layers[0].bias.uniform;
  });
}

void write_layer_files(const Path& directory, Form form, const Network& network, ProgressMode progress) {
  if (network.layers.empty()) throw DataError(directory.string() + ": cannot write a network without layers");
  Path target = absolute(directory).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (exists(target)) target = canonical(target);
  if (exists(target) && !is_directory(target))
    throw DataError(directory.string() + ": cannot write: it is a file, expected a directory or a new name");
  const Naming naming{form, network.inputs(), needs_bias_files(network)};
  if (exists(target) && !is_empty(target)) {
    refuse_foreign_layers(target, naming, network.layers.size());
    write_files(target, naming, network, progress);
    return;
  }
  NewDirectory fresh(target);
  write_files(fresh.path(), naming, network, progress);
  fresh.commit();
}

}  // namespace spdnn
