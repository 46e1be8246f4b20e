#pragma once

#include <span>

#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// The images of these ids, ascending, from a list that was read and checked before. The source is at the list's first
/// line. Takes the memory of these images and of one round of the source.
ImageSet read_some_images(TextSource& source, const EntryList& list, std::span<const Index> ids);

}  // namespace spdnn
