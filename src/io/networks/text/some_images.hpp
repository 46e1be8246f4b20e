#pragma once

#include <span>

#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// The images of these ids, ascending, of a list that has been read before and found to be right. The source is at the
/// list's first line. Memory: that of these images and of a round.
ImageSet read_some_images(TextSource& source, const EntryList& list, std::span<const Index> ids);

}  // namespace spdnn
