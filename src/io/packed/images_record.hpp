#pragma once

#include "io/packed/layer_reader.hpp"

namespace spdnn {

/// The record in the section of kind images. DataError if it is invalid.
packed::ImagesRecord images_record(const PackedFile& file, LayerReader& reader, std::uint32_t section);

}  // namespace spdnn
