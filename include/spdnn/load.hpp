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
  bool official = false;  ///< known to be the official network of its size, by construction or by its digest
  FileNotes notes{};
};

/// Reads or generates the network and settles its bias, rule and cap: from the specification, the files, or, for a
/// network of official form, the challenge. UsageError where none of them says what the bias is.
GivenNetwork load_network(const NetworkSpec& spec, const ProgressCallback& progress);

/// Images of so many neurons: read from a file, or the official ones made from MNIST. Without `neurons` a file says how
/// many there are; made ones need them (UsageError). Notes on the file are added to `notes`.
ImageSet load_images(const ImageSpec& spec, std::optional<Index> neurons, const ProgressCallback& progress,
                     FileNotes* notes = nullptr);

}  // namespace spdnn
