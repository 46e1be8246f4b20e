#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/files/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn::fuzz {

/// Reads a file of that name and size. The model must be sound, with no zeros in its matrices; small ones are
/// evaluated, and their outputs must have the inferred shapes. False if the file is refused.
bool check_model_reader(std::size_t size, const std::string& name, const std::function<Model()>& read);
/// Reads the model from the bytes of a file.
void check_model_reader(const std::uint8_t* data, std::size_t size, const std::string& name,
                        const std::function<Model(const InputFile&)>& read);

}  // namespace spdnn::fuzz
