#pragma once

#include "io/packed/model_reader.hpp"

namespace spdnn {

/// The record in the section of kind images. DataError if it is invalid.
packed::ImagesRecord images_record(const PackedFile& file, ModelReader& reader, std::uint32_t section);

}  // namespace spdnn
