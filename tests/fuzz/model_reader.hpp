#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/files/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn::fuzz {

/// Reads a file of that name and size. What is read must be a sound model, whose matrices have no zeros, and small ones
/// are evaluated: then the outputs have the shapes that were inferred. False where the file is refused.
bool check_model_reader(std::size_t size, const std::string& name, const std::function<Model()>& read);
/// The same of bytes that stand for the file.
void check_model_reader(const std::uint8_t* data, std::size_t size, const std::string& name,
                        const std::function<Model(const InputFile&)>& read);

}  // namespace spdnn::fuzz
