#pragma once

#include <optional>

#include "spdnn/files.hpp"
#include "spdnn/images.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/network.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

struct GivenNetwork {
  Network network;
  bool official = false;  ///< is the official network of its size, by construction or by its digest
  FileNotes notes{};
};

/// Reads or generates the network and fills in its bias, rule and cap: from the specification, the files, or, for a
/// network of official form, the challenge. UsageError if none of them gives the bias.
GivenNetwork load_network(const NetworkSpec& spec, const ProgressCallback& progress);

/// Images of `neurons` neurons, read from a file or made from MNIST. Without `neurons` the number is the file's; MNIST
/// needs it (UsageError). Notes on the file are added to `notes`.
ImageSet load_images(const ImageSpec& spec, std::optional<Index> neurons, const ProgressCallback& progress,
                     FileNotes* notes = nullptr);

}  // namespace spdnn
