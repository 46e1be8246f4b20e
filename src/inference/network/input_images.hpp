#pragma once

#include <functional>
#include <span>

#include "spdnn/images.hpp"
#include "spdnn/inference.hpp"

namespace spdnn {

/// Some of a run's images, by ascending ids.
using SomeImages = std::function<ImageSet(std::span<const Index> ids)>;

/// Images as one process reads them from the input, for the root of several ranks to verify with: nothing of what the
/// ranks have read, dealt and sent one another is used. A file stays open, so that it is read again even where its name
/// is another file's by then. Packed files are read where the images lie; text is parsed from its beginning at each
/// call; images made of MNIST's are made again at the first call, all of them. `images`: how many there are in the run.
SomeImages images_of_input(const ImageSpec& spec, Index neurons, Index images);

}  // namespace spdnn
